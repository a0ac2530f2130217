"""Sine and cosine by additions and multiplications alone, with the same bits on every processor.

The last bits of a C library's sine differ with the processor: it uses fused operations where there are some.
"""

from pegasus.base.step_types import Real, wrapped


def sine_ratio(square: Real) -> Real:
    """Return sin(x) / x of an angle from -pi/2 to pi/2, by its Taylor series; takes arrays as well.

    Args:
        square: Square of the angle x [rad^2].
    """
    total = 1.9572941063391263e-20
    total = total * square - 8.22063524662433e-18
    total = total * square + 2.8114572543455206e-15
    total = total * square - 7.647163731819816e-13
    total = total * square + 1.6059043836821613e-10
    total = total * square - 2.505210838544172e-08
    total = total * square + 2.7557319223985893e-06
    total = total * square - 0.0001984126984126984
    total = total * square + 0.008333333333333333
    total = total * square - 0.16666666666666666
    return total * square + 1.0


def cosine_of(square: Real) -> Real:
    """Return the cosine of an angle from -pi/2 to pi/2, by its Taylor series; takes arrays as well.

    Args:
        square: Square of the angle [rad^2].
    """
    total = -8.896791392450574e-22
    total = total * square + 4.110317623312165e-19
    total = total * square - 1.5619206968586225e-16
    total = total * square + 4.779477332387385e-14
    total = total * square - 1.1470745597729725e-11
    total = total * square + 2.08767569878681e-09
    total = total * square - 2.755731922398589e-07
    total = total * square + 2.48015873015873e-05
    total = total * square - 0.001388888888888889
    total = total * square + 0.041666666666666664
    total = total * square - 0.5
    return total * square + 1.0


def wide_sine_ratio(square: Real) -> Real:
    """Return sin(x) / x of an angle from -pi to pi; takes arrays as well.

    Args:
        square: Square of the angle x [rad^2].
    """
    quarter = 0.25 * square
    return sine_ratio(quarter) * cosine_of(quarter)


def wide_cosine_of(square: Real) -> Real:
    """Return the cosine of an angle from -pi to pi; takes arrays as well.

    Args:
        square: Square of the angle [rad^2].
    """
    ratio = sine_ratio(0.25 * square)
    return 1.0 - 0.5 * square * ratio * ratio


def sine_and_cosine(angle: Real) -> tuple[Real, Real]:
    """Return sine and cosine of any angle [rad]."""
    near = wrapped(angle)
    square = near * near
    return near * wide_sine_ratio(square), wide_cosine_of(square)
