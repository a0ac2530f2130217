"""Elementary functions by arithmetic and roots alone, with the same bits on every processor.

Those of C libraries differ in their last bits: they use fused operations where a processor has some. The
polynomials are short, and compiled code holds them without a call. Those near zero take arrays as well: the
same functions of arrays are in `pegasus.base.elementary_arrays`.
"""

import math

from pegasus.base.step_types import (
    Real,
    Word,
    bits_of,
    floor,
    magnitude,
    maximum,
    minimum,
    number_of,
    sqrt,
)

_LARGEST = 1.7976931348623157e308
_PI, HALF_PI, QUARTER_PI = math.pi, math.pi / 2.0, math.pi / 4.0
BY_HALF_PI = 2.0 / math.pi
HALF_PI_1, HALF_PI_2, HALF_PI_3 = 1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21
"""Parts of pi / 2 of 33 bits, the last one of all that remain."""
BY_LN_2, HALF_LN_2 = 1.4426950408889634, 0.5 * math.log(2.0)
LN_2_HIGH, LN_2_LOW = 0.6931471803691238, 1.9082149292705877e-10
"""Parts of the logarithm of 2; the first has 33 bits."""
ROOT_2 = math.sqrt(2.0)
NARROW = 0.4
"""Slope up to which the series of the arc tangent is used."""
_BIAS = 1023.0
_MANTISSA, _UNIT_EXPONENT = Word(52), Word(1 << 52)
_HALF, _UNIT_HALF = Word(32), Word(1 << 32)
_CUBE_SEED = 1430186707.0
"""Upper half of the bits of x^(-1/3), and a third of that of x."""
_LEAST, _GREATEST, _SCALE = 2.0**-1000, 2.0**1000, 2.0**100


def exp(x: Real) -> Real:
    """Return the exponential to 1e-16 of it; infinite where it is too large.

    exp(k ln 2 + r) = 2^k exp(r) with |r| <= ln(2) / 2.
    """
    r = x
    first = 1.0
    second = 1.0
    # Not for a value that is not a number, which has no exponent.
    if magnitude(x) > HALF_LN_2:
        near = minimum(maximum(x, -760.0), 720.0)
        k = floor(near * BY_LN_2 + 0.5)
        r = near - k * LN_2_HIGH - k * LN_2_LOW
        # In two factors, which alone are neither 0 nor infinite.
        half = floor(0.5 * k)
        first = _power_of_2(half)
        second = _power_of_2(k - half)
    return (1.0 + expm1_series(r)) * first * second


def expm1_series(r: Real) -> Real:
    """Return exp(r) - 1 = r + r^2 q(r) with |r| <= ln(2) / 2, also of arrays; q is exact to 2e-17."""
    s = r * r
    f = s * s
    q = (0.5 + r * 0.16666666666666669) + s * (0.04166666666662413 + r * 0.008333333333330062)
    q += f * ((0.0013888888917213717 + r * 0.00019841269863053618)
              + s * (2.4801521295954376e-05 + r * 2.7557268459997064e-06)
              + f * (2.7620088445409746e-07 + r * 2.510038549551032e-08))  # fmt: skip
    return r + s * q


def expm1(x: Real) -> Real:
    """Return exp(x) - 1 to 3e-16 of it, also near 0."""
    if magnitude(x) > HALF_LN_2:
        return exp(x) - 1.0
    return expm1_series(x)


def _power_of_2(k: Real) -> Real:
    """Return 2^k of a whole number from -1022 to 1023."""
    return number_of(Word(int(k + _BIAS)) * _UNIT_EXPONENT)


def log(x: Real) -> Real:
    """Return the natural logarithm to 1e-16 of it; minus infinity at 0, NaN below it.

    log(2^k (1 + f)) with 1 + f between the roots of 1/2 and 2 by s = f / (2 + f): log(1 + f) = 2 artanh(s).
    Source: e_log.c of FDLIBM (Sun Microsystems 1993).
    """
    inner = x
    shift = 0.0
    if not x < _GREATEST:
        if not x <= _LARGEST:
            return x
        inner = x * (1.0 / _SCALE)
        shift = 100.0
    elif x < _LEAST:
        if x < 0.0:
            return sqrt(x)
        if x == 0.0:
            return -_LARGEST * _GREATEST
        inner = x * _SCALE
        shift = -100.0
    k = Real(bits_of(inner) >> _MANTISSA) - _BIAS
    mantissa = inner * _power_of_2(-k)
    if mantissa > ROOT_2:
        mantissa = 0.5 * mantissa
        k += 1.0
    return logarithm(mantissa, k + shift)


def logarithm(mantissa: Real, k: Real) -> Real:
    """Return log(2^k mantissa) of a mantissa between the roots of 1/2 and 2, also of arrays."""
    f = mantissa - 1.0
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    even = w * (0.3999999999940942 + w * (0.22222198432149784 + w * 0.15313837699209373))
    odd = 0.2857142874366239 + w * (0.1818357216161805 + w * 0.14798198605116586)
    series = even + z * (0.6666666666666735 + w * odd)
    half = 0.5 * f * f
    return k * LN_2_HIGH - ((half - (s * (half + series) + k * LN_2_LOW)) - f)


def power(base: Real, exponent: Real) -> Real:
    """Return a power; NaN for a negative base and an exponent that is not whole.

    Its relative error is 2e-16 times the magnitude of exponent log(base), at least 2e-16.
    """
    if exponent == 0.0 or base == 1.0:
        return 1.0
    size = exp(exponent * log(magnitude(base)))
    if base < 0.0:
        if floor(exponent) != exponent:
            return sqrt(base)
        if floor(0.5 * exponent) != 0.5 * exponent:
            return -size
    return size


def squared(x: Real) -> Real:
    """Return the square; the power operator of Python calls that of the C library."""
    return x * x


def inverse_cube_root(x: Real) -> Real:
    """Return x^(-1/3) of a number above 1e-300, to 4e-16 of it.

    A guess from its bits, off by at most 4 %, and twice the series of (1 - r)^(-1/3) with r = 1 - x y^3.
    """
    y = number_of(Word(int(_CUBE_SEED - Real(bits_of(x) >> _HALF) / 3.0)) * _UNIT_HALF)
    for _ in range(2):
        r = 1.0 - x * y * y * y
        y = y + y * r * (0.3333333333333333 + r * (0.2222222222222222 + r * 0.1728395061728395))
    return y


def _quadrant(x: Real) -> tuple[Real, Real, Real]:
    """Return the nearest multiple of pi / 2 as a number from 0 to 3, and sine and cosine of what remains."""
    r = x
    quadrant = 0.0
    if magnitude(x) > QUARTER_PI:
        k = floor(x * BY_HALF_PI + 0.5)
        r = x - k * HALF_PI_1 - k * HALF_PI_2 - k * HALF_PI_3
        quadrant = k - 4.0 * floor(0.25 * k)
    sine, cosine = near_sine_and_cosine(r)
    return quadrant, sine, cosine


def near_sine_and_cosine(r: Real) -> tuple[Real, Real]:
    """Return sine and cosine of an angle up to pi / 4, also of arrays.

    Source: k_sin.c and k_cos.c of FDLIBM (Sun Microsystems 1993).
    """
    z = r * r
    w = z * z
    sine = (0.008333333333322490 + z * -0.00019841269829857949) + w * (
        (2.7557313707070068e-06 + z * -2.5050760253406863e-08) + w * 1.58969099521155010e-10
    )
    cosine = (0.0416666666666666019 + z * -0.00138888888888741096) + w * (
        (2.48015872894767294e-05 + z * -2.75573143513906633e-07)
        + w * (2.08757232129817483e-09 + z * -1.13596475577881948e-11))  # fmt: skip
    return r + r * z * (-0.16666666666666632 + z * sine), 1.0 - (0.5 * z - w * cosine)


def sin(x: Real) -> Real:
    """Return the sine of an angle [rad], to 2e-16 up to a million; NaN of an infinite one."""
    quadrant, sine, cosine = _quadrant(x)
    if quadrant == 0.0:
        return sine
    if quadrant == 1.0:
        return cosine
    if quadrant == 2.0:
        return -sine
    return -cosine


def cos(x: Real) -> Real:
    """Return the cosine of an angle [rad], to 2e-16 up to a million; NaN of an infinite one."""
    quadrant, sine, cosine = _quadrant(x)
    if quadrant == 0.0:
        return cosine
    if quadrant == 1.0:
        return -sine
    if quadrant == 2.0:
        return -cosine
    return sine


def tan(x: Real) -> Real:
    """Return the tangent of an angle [rad]; NaN of an infinite one."""
    quadrant, sine, cosine = _quadrant(x)
    if quadrant == 1.0 or quadrant == 3.0:
        return -cosine / sine
    return sine / cosine


def atan2(y: Real, x: Real) -> Real:
    """Return the angle of a point (x, y) [rad], 0 at the origin."""
    if x != x or y != y:
        return x + y
    wide = magnitude(x)
    high = magnitude(y)
    larger = maximum(wide, high)
    if larger == 0.0:
        return 0.0
    ratio = minimum(wide, high) / larger
    angle = 0.0
    if ratio > NARROW:
        ratio = (ratio - 1.0) / (ratio + 1.0)
        angle = QUARTER_PI
    angle += near_arc_tangent(ratio)
    if high > wide:
        angle = HALF_PI - angle
    if x < 0.0:
        angle = _PI - angle
    if y < 0.0:
        return -angle
    return angle


def near_arc_tangent(ratio: Real) -> Real:
    """Return the arc tangent of a number up to 0.43, also of arrays.

    Source: the series of s_atan.c of FDLIBM (Sun Microsystems 1993).
    """
    return ratio - ratio * bent_arc_tangent(ratio * ratio)


def bent_arc_tangent(z: Real) -> Real:
    """Return 1 - atan(x) / x by z = x^2 of a number x up to 0.43, also of arrays; see `near_arc_tangent`."""
    w = z * z
    even = 0.04976877994615932 + w * 0.016285820115365782
    even = 0.09090887133436507 + w * (0.06661073137387531 + w * even)
    even = z * (0.3333333333333293 + w * (0.14285714272503466 + w * even))
    odd = 0.058335701337905735 + w * 0.036531572744216916
    odd = w * (0.19999999999876483 + w * (0.11111110405462356 + w * (0.0769187620504483 + w * odd)))
    return even - odd


def asin(x: Real) -> Real:
    """Return the arc sine [rad]; NaN beyond -1 to 1."""
    return atan2(x, sqrt((1.0 - x) * (1.0 + x)))
