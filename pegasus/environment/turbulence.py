"""Turbulence of the military standards: scale lengths, intensities, and the forming filters of Dryden.

Source: MIL-F-8785C (1980), sec. 3.7.1 to 3.7.3, and MIL-HDBK-1797 (1997), appendix A, sec. 4.9. The scale
lengths L_v and L_w of the handbook are half those of the specification, and its spectra hold twice theirs in
their place: both give the same turbulence. Lengths here are those of the specification.
"""

import math
from dataclasses import dataclass, replace

from pegasus.base.elementary import inverse_cube_root
from pegasus.base.random_numbers import normal_vector
from pegasus.base.step_math import (
    Column,
    Real,
    Vec3,
    Word,
    exp,
    interpolate,
    maximum,
    minimum,
    sqrt,
)

FOOT = 0.3048
"""Length of a foot [m]."""

PI = math.pi
_LOW, _MEDIUM = 1000.0, 2000.0
"""Heights [ft] below which the turbulence is that of the wind, and above which that of the table."""
_LOWEST = 10.0
_FIRST, _SECOND = math.sqrt(3.0 / 2.0), (1.0 - math.sqrt(3.0)) / math.sqrt(2.0)
"""Shares of the states in the output of Dryden's filter across the motion."""
_ROLL = 0.9542558980759803
"""pi (0.1)^(1/2) (pi / 4)^(1/6)."""


@dataclass(frozen=True, eq=False)
class TurbulenceParameters:
    """Parameters of `dryden` and `von_karman`."""

    wind_at_20_ft: float
    """Speed of the mean wind 20 ft above the ground [m/s]."""
    heights: tuple[float, ...]
    """Heights above the ground [ft] of the intensities at medium and high altitude."""
    intensities: tuple[float, ...]
    """These intensities [m/s]."""
    scale_length: float
    """Scale length of all components at medium and high altitude [m]."""
    least_airspeed: float
    """Airspeed at which turbulence passes a vehicle that is at rest in the air [m/s]."""
    ground: float
    """Height of the ground in the world [m]."""


@dataclass
class GustState:
    """State of the turbulence at each vehicle, and the gust that follows from it."""

    gust_step: Column[int]
    """Number of steps of the turbulence; the first draws the state."""
    gust_0: Column[Vec3]
    """States of the filters, of unit variance; `dryden` has fewer."""
    gust_1: Column[Vec3]
    gust_2: Column[Vec3]
    gust_3: Column[Vec3]
    gust_4: Column[Vec3]
    gust_5: Column[Vec3]
    gust_6: Column[Vec3]
    gust_7: Column[Vec3]
    gust_8: Column[Vec3]
    gust_9: Column[Vec3]
    gust_velocity: Column[Vec3]
    """Velocity of the air beyond the mean wind, world [m/s]."""
    gust_rate: Column[Vec3]
    """Angular velocity of the air as its velocity varies over the airframe, world [rad/s]."""


@dataclass(frozen=True)
class Filters:
    """States of the filters of one vehicle, as in `GustState`."""

    gust_0: Vec3
    gust_1: Vec3
    gust_2: Vec3
    gust_3: Vec3
    gust_4: Vec3
    gust_5: Vec3
    gust_6: Vec3
    gust_7: Vec3
    gust_8: Vec3
    gust_9: Vec3


@dataclass(frozen=True)
class Passage:
    """How a vehicle passes through turbulence in a step."""

    key: Word
    """Key of the random numbers of its copies."""
    copy: int
    """Index among its copies."""
    count: int
    """Number of steps before this one; the first draws the state."""
    span: Real
    """Width of the vehicle [m]."""
    height: Real
    """Height above the ground [m]."""
    through_air: Vec3
    """Velocity through the mean wind, world [m/s]."""
    dt: Real
    """Length of the step [s]."""


def scales(p: TurbulenceParameters, height: Real) -> tuple[Real, Real, Real, Real]:
    """Return horizontal and vertical scale length [m], horizontal and vertical intensity [m/s].

    Source: MIL-F-8785C, sec. 3.7.2.1, fig. 7, and sec. 3.7.3.4, fig. 10 and 11; linear from 1000 to 2000 ft.

    Args:
        p: Parameters.
        height: Height above the ground [m].
    """
    h = maximum(height / FOOT, _LOWEST)
    low = minimum(h, _LOW)
    fifth = inverse_fifth_root(0.177 + 0.000823 * low)
    ratio = fifth * fifth
    length_w = FOOT * low
    length_h = length_w * (ratio * ratio * ratio)
    sigma_w = 0.1 * p.wind_at_20_ft
    sigma_h = sigma_w * ratio
    if h > _LOW:
        share = minimum((h - _LOW) / (_MEDIUM - _LOW), 1.0)
        sigma = interpolate(maximum(h, _MEDIUM), p.heights, p.intensities)
        length_h += share * (p.scale_length - length_h)
        length_w += share * (p.scale_length - length_w)
        sigma_h += share * (sigma - sigma_h)
        sigma_w += share * (sigma - sigma_w)
    return length_h, length_w, sigma_h, sigma_w


def inverse_fifth_root(x: Real) -> Real:
    """Return x^(-1/5) of a number from 0.18 to 1, to 4e-16 of it.

    A polynomial, off by at most 7e-4, and the series of (1 - r)^(-1/5) with r = 1 - x y^5.
    """
    y = 1.81227 + x * (-3.27888 + x * (7.21546 + x * (-9.37102 + x * (6.36889 - x * 1.74695))))
    square = y * y
    r = 1.0 - x * y * (square * square)
    return y + y * r * (0.2 + r * (0.12 + r * (0.088 + r * (0.0704 + r * 0.059136))))


def roll_intensity(sigma_w: Real, length_w: Real, span: Real) -> Real:
    """Return the standard deviation of the roll rate of the air [rad/s].

    Its square is the integral of s_w^2 / (V L_w) 0.8 (pi L_w / 4 b)^(1/3) / (1 + (4 b w / pi V)^2) over w:
    0.1 pi^2 (pi / 4)^(1/3) s_w^2 / (b^2 L_w)^(2/3).

    Args:
        sigma_w: Vertical intensity [m/s].
        length_w: Vertical scale length [m].
        span: Width b of the vehicle [m].
    """
    return sigma_w * _ROLL * inverse_cube_root(span * span * length_w)


def settled(decay: Real) -> Real:
    """Return the standard deviation of what white noise adds to a first-order state of unit variance.

    Args:
        decay: Part of the state that is left after the step.
    """
    return sqrt(maximum(1.0 - decay * decay, 0.0))


def ramped(low: Real, before: Real, after: Real, theta: Real, decay: Real) -> Real:
    """Return a first-order low-pass after a step over which its input is linear in time.

    Args:
        low: Its value before.
        before: Input before.
        after: Input after.
        theta: Length of the step by the time constant.
        decay: exp(-theta).
    """
    left = (1.0 - decay) / theta
    return decay * low + (1.0 - decay) * before + (after - before) * (1.0 - left)


def dryden_pair(theta: Real) -> tuple[Real, Real, Real, Real]:
    """Return the decay and the noise of the two states of a lateral filter over a step.

    The states follow T x1' = -x1 + sqrt(2 T) n and T x2' = x1 - x2, with white noise n. The Cholesky factor
    of the covariance of what the noise adds is returned.

    Args:
        theta: Length of the step by T = L / V.

    Returns:
        Decay exp(-theta), and the entries 11, 21 and 22 of the factor.
    """
    decay = exp(-theta)
    left = decay * decay
    q11 = 1.0 - left
    q21 = 0.5 - left * (theta + 0.5)
    q22 = 0.5 - left * (theta * theta + theta + 0.5)
    l11 = sqrt(maximum(q11, 1e-300))
    l21 = q21 / l11
    return decay, l11, l21, sqrt(maximum(q22 - l21 * l21, 0.0))


def next_pair(x1: Vec3, x2: Vec3, n1: Vec3, n2: Vec3, theta: Real, theta_w: Real) -> tuple[Vec3, Vec3]:
    """Return the states of three lateral filters after a step; see `dryden_pair`.

    Args:
        x1: First state of each before.
        x2: Second state of each before.
        n1: Standard normal numbers.
        n2: Further ones.
        theta: Length of the step by T, for the first two filters.
        theta_w: That for the third.
    """
    decay, l11, l21, l22 = dryden_pair(theta)
    decay_w, w11, w21, w22 = dryden_pair(theta_w)
    return (
        Vec3(decay * x1[0] + l11 * n1[0], decay * x1[1] + l11 * n1[1], decay_w * x1[2] + w11 * n1[2]),
        Vec3(
            decay * (theta * x1[0] + x2[0]) + l21 * n1[0] + l22 * n2[0],
            decay * (theta * x1[1] + x2[1]) + l21 * n1[1] + l22 * n2[1],
            decay_w * (theta_w * x1[2] + x2[2]) + w21 * n1[2] + w22 * n2[2],
        ),
    )


def dryden_across(x1: Vec3, x2: Vec3) -> Vec3:
    """Return the outputs of unit variance of (1 + sqrt(3) T s) / (1 + T s)^2 from their states."""
    return x1 * _FIRST + x2 * _SECOND


def dryden(p: TurbulenceParameters, last: Filters, flown: Passage) -> tuple[Filters, Vec3, Vec3]:
    """Return the turbulence of a vehicle after a step, with the filters of Dryden discretised exactly.

    Source: MIL-F-8785C, sec. 3.7.1.2: spectra 2 s^2 L / (pi V) / (1 + (L w / V)^2) along the motion, and
    s^2 L / (pi V) (1 + 3 (L w / V)^2) / (1 + (L w / V)^2)^2 across it.

    Args:
        p: Parameters.
        last: States of the filters before the step.
        flown: The step.

    Returns:
        States of the filters, velocity [m/s] and angular velocity [rad/s] of the air in the world.
    """
    length_h, length_w, sigma_h, sigma_w = scales(p, flown.height)
    speed = airspeed(p, flown.through_air)
    key, copy, count = flown.key, flown.copy, flown.count
    n0 = normal_vector(key, copy, count, 0)
    n1 = normal_vector(key, copy, count, 1)
    n2 = normal_vector(key, copy, count, 2)
    a, x1, x2, low = last.gust_0, last.gust_1, last.gust_2, last.gust_3
    if count == 0:
        a = n0
        x1 = n1
        x2 = (n1 + n2) * 0.5
        low = dryden_across(x1, x2)
    else:
        travelled = speed * flown.dt
        theta = travelled / length_h
        roll = 0.25 * travelled * (PI / flown.span)
        roll_decay = exp(-roll)
        before = dryden_across(x1, x2)
        decay = exp(-theta)
        drive = settled(decay)
        a = Vec3(
            decay * a[0] + drive * n0[0],
            decay * a[1] + drive * n0[1],
            roll_decay * a[2] + settled(roll_decay) * n0[2],
        )
        x1, x2 = next_pair(x1, x2, n1, n2, theta, travelled / length_w)
        low = low_passed(low, before, dryden_across(x1, x2), roll, roll_decay)
    across = dryden_across(x1, x2)
    rolling = roll_intensity(sigma_w, length_w, flown.span) * a[2]
    gust, rate = in_world(p, flown.through_air, flown.span, sigma_h, sigma_w, a, across, low, rolling)
    return replace(last, gust_0=a, gust_1=x1, gust_2=x2, gust_3=low), gust, rate


def airspeed(p: TurbulenceParameters, through_air: Vec3) -> Real:
    """Return the speed at which turbulence passes [m/s]."""
    square = through_air[0] * through_air[0] + through_air[1] * through_air[1]
    return maximum(sqrt(square + through_air[2] * through_air[2]), p.least_airspeed)


def low_passed(low: Vec3, before: Vec3, after: Vec3, roll: Real, roll_decay: Real) -> Vec3:
    """Return the velocities across the motion after the low-pass of yaw (two) and pitch (one).

    Args:
        low: Its value before the step.
        before: Velocities before.
        after: Velocities after.
        roll: Length of the step by the time constant of pitch, 4 b / (pi V); that of yaw is 3/4 of it.
        roll_decay: exp(-roll).
    """
    yaw = roll * (4.0 / 3.0)
    yaw_decay = exp(-yaw)
    return Vec3(
        ramped(low[0], before[0], after[0], yaw, yaw_decay),
        ramped(low[1], before[1], after[1], yaw, yaw_decay),
        ramped(low[2], before[2], after[2], roll, roll_decay),
    )


def in_world(
    p: TurbulenceParameters,
    through_air: Vec3,
    span: Real,
    sigma_h: Real,
    sigma_w: Real,
    along: Vec3,
    across: Vec3,
    low: Vec3,
    rolling: Real,
) -> tuple[Vec3, Vec3]:
    """Return velocity [m/s] and angular velocity [rad/s] of the air in the world, from the filters.

    The horizontal outputs are vectors fixed in the world. The component along the horizontal motion through
    the air is taken from `along`, that across it from `across`, so that a turn of the vehicle does not turn
    the air. Below the least airspeed the two are mixed so that variances are kept and nothing jumps where the
    direction of motion is undefined. A field frozen in the air has v = r x and w = -q x along the motion:
    r = dv/dt / V and q = -dw/dt / V, with the low-pass of the standard, 3 b / (pi V) and 4 b / (pi V).

    Args:
        p: Parameters.
        through_air: Velocity through the mean wind, world [m/s].
        span: Width of the vehicle [m].
        sigma_h: Horizontal intensity [m/s].
        sigma_w: Vertical intensity [m/s].
        along: East and north of the filter along the motion.
        across: East, north and up of the filters across it.
        low: `across` after the low-pass.
        rolling: Angular velocity about the direction of motion [rad/s].
    """
    speed = sqrt(through_air[0] * through_air[0] + through_air[1] * through_air[1])
    share = minimum(speed / p.least_airspeed, 1.0)
    east = 0.0
    north = 0.0
    if speed > 0.0:
        by_speed = 1.0 / speed
        east = through_air[0] * by_speed
        north = through_air[1] * by_speed
    mixed = share * (along[0] * east + along[1] * north)
    mixed += (sqrt(1.0 - share * share) - 1.0) * (across[0] * east + across[1] * north)
    gust = Vec3(
        sigma_h * (across[0] + mixed * east), sigma_h * (across[1] + mixed * north), sigma_w * across[2]
    )
    turn = PI / span
    pitching = -0.25 * turn * sigma_w * (across[2] - low[2]) * share
    yawing = (across[1] - low[1]) * east - (across[0] - low[0]) * north
    yawing = yawing * share * sigma_h * (turn * (1.0 / 3.0))
    rolling = rolling * share
    return gust, Vec3(rolling * east - pitching * north, rolling * north + pitching * east, yawing)
