"""Forming filters of von Karman's turbulence.

With the frequency w in units of V / L and x = 1.339 w, the spectra by unit intensity are

    along   (2 / pi) (1 + x^2)^(-5/6)
    across  (1 / pi) (1 + 8/3 x^2) (1 + x^2)^(-11/6)

(MIL-F-8785C, sec. 3.7.1.1). The rational filters of two and three poles in common use hold half of the power
at 100 V / L and less beyond. Here the spectra are sums of those of independent processes: of the first order,
1 / (1 + (w / c)^2), and in front, across the motion, Dryden's (1 + 3 (w / c)^2) / (1 + (w / c)^2)^2. Poles c
and shares were fitted to the logarithm of the spectra up to 5000 V / L, for the least largest error of 5.2 %;
each process is discretised exactly.
"""

from pegasus.base.random_numbers import normal_vector
from pegasus.base.step_math import Real, Vec3, exp
from pegasus.environment.turbulence import (
    PI,
    Filters,
    Passage,
    TurbulenceParameters,
    airspeed,
    dryden_across,
    in_world,
    low_passed,
    next_pair,
    roll_intensity,
    scales,
    settled,
)

ALONG_0, ALONG_1, ALONG_2, ALONG_3 = 0.903441, 9.47600, 123.211, 1648.30
"""Poles c of the processes along the motion."""
ALONG_SHARE_0, ALONG_SHARE_1, ALONG_SHARE_2, ALONG_SHARE_3 = 0.930936, 0.335300, 0.142479, 0.0615955
"""Their standard deviations, by that of the turbulence."""
ACROSS_0, ACROSS_1, ACROSS_2, ACROSS_3 = 0.879660, 11.0236, 135.787, 1722.88
"""Poles c of the processes across it, the first of Dryden's form."""
ACROSS_SHARE_0, ACROSS_SHARE_1, ACROSS_SHARE_2, ACROSS_SHARE_3 = 0.915098, 0.364818, 0.157555, 0.0694747
"""Their standard deviations, by that of the turbulence."""


def relaxed(x: Vec3, noise: Vec3, horizontal: Real, vertical: Real) -> Vec3:
    """Return three processes of the first order and unit variance after a step.

    Args:
        x: Their values before.
        noise: Standard normal numbers.
        horizontal: Length of the step by the time constant, for the first two.
        vertical: That for the third.
    """
    keep = exp(-horizontal)
    drive = settled(keep)
    rise = exp(-vertical)
    return Vec3(
        keep * x[0] + drive * noise[0],
        keep * x[1] + drive * noise[1],
        rise * x[2] + settled(rise) * noise[2],
    )


def across_output(x0: Vec3, y0: Vec3, x1: Vec3, x2: Vec3, x3: Vec3) -> Vec3:
    """Return the velocities across the motion, by unit intensity, from their states."""
    return (
        dryden_across(x0, y0) * ACROSS_SHARE_0
        + x1 * ACROSS_SHARE_1
        + x2 * ACROSS_SHARE_2
        + x3 * ACROSS_SHARE_3
    )


def von_karman(p: TurbulenceParameters, last: Filters, flown: Passage) -> tuple[Filters, Vec3, Vec3]:
    """Return the turbulence of a vehicle after a step, with the filters of von Karman.

    Args:
        p: Parameters.
        last: States of the filters before the step.
        flown: The step.

    Returns:
        States of the filters, velocity [m/s] and angular velocity [rad/s] of the air in the world.
    """
    length_h, length_w, sigma_h, sigma_w = scales(p, flown.height)
    travelled = airspeed(p, flown.through_air) * flown.dt
    key, copy, count = flown.key, flown.copy, flown.count
    x0, y0, x1, x2, x3 = last.gust_4, last.gust_5, last.gust_6, last.gust_7, last.gust_8
    before = across_output(x0, y0, x1, x2, x3)
    roll = 0.25 * travelled * (PI / flown.span)
    roll_decay = exp(-roll)
    theta = travelled / length_h
    theta_w = travelled / length_w
    roll_theta = roll
    if count == 0:
        # The first state is drawn from the stationary distribution: all of the past is forgotten.
        theta = 1e3
        theta_w = 1e3
        roll_theta = 1e3
    # Each process along the motion has two components; the third of the first one is the roll.
    n0 = normal_vector(key, copy, count, 0)
    n1 = normal_vector(key, copy, count, 1)
    n2 = normal_vector(key, copy, count, 2)
    a0 = relaxed(last.gust_0, n0, ALONG_0 * theta, roll_theta)
    a1 = relaxed(last.gust_1, Vec3(n1[0], n1[1], 0.0), ALONG_1 * theta, 0.0)
    a2 = relaxed(last.gust_2, Vec3(n1[2], n2[0], 0.0), ALONG_2 * theta, 0.0)
    a3 = relaxed(last.gust_3, Vec3(n2[1], n2[2], 0.0), ALONG_3 * theta, 0.0)
    n3 = normal_vector(key, copy, count, 3)
    n4 = normal_vector(key, copy, count, 4)
    x0, y0 = next_pair(x0, y0, n3, n4, ACROSS_0 * theta, ACROSS_0 * theta_w)
    x1 = relaxed(x1, normal_vector(key, copy, count, 5), ACROSS_1 * theta, ACROSS_1 * theta_w)
    x2 = relaxed(x2, normal_vector(key, copy, count, 6), ACROSS_2 * theta, ACROSS_2 * theta_w)
    x3 = relaxed(x3, normal_vector(key, copy, count, 7), ACROSS_3 * theta, ACROSS_3 * theta_w)
    across = across_output(x0, y0, x1, x2, x3)
    low = low_passed(last.gust_9, before, across, roll, roll_decay)
    if count == 0:
        low = across
    along = a0 * ALONG_SHARE_0 + a1 * ALONG_SHARE_1 + a2 * ALONG_SHARE_2 + a3 * ALONG_SHARE_3
    rolling = roll_intensity(sigma_w, length_w, flown.span) * a0[2]
    gust, rate = in_world(p, flown.through_air, flown.span, sigma_h, sigma_w, along, across, low, rolling)
    return Filters(a0, a1, a2, a3, x0, y0, x1, x2, x3, low), gust, rate
