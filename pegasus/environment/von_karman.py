"""Forming filters of von Karman's turbulence by the rational approximations of the military standards.

The filters, with s in units of V / L, are

    along   sqrt(2) (1 + 0.25 s) / (1 + 1.357 s + 0.1987 s^2)
    across  (1 + 2.7478 s + 0.3398 s^2) / (1 + 2.9958 s + 1.9754 s^2 + 0.1539 s^3)

for white noise of unit two-sided density (after Ly and Chan 1980, "Time-domain computation of aircraft gust
covariance matrices", AIAA 80-1615). Each is a sum of first-order filters
g / (s + c) of the same noise, which are discretised exactly.
"""

from pegasus.base.random_numbers import normal_vector
from pegasus.base.step_math import Real, Vec3, exp, maximum, sqrt
from pegasus.environment.turbulence import (
    PI,
    ROOT_2,
    GustRows,
    TurbulenceParameters,
    airspeed,
    in_world,
    low_passed,
    roll_intensity,
    scales,
    settled,
)

ALONG_0, ALONG_1 = 0.8403154269119582, 5.989075614859557
"""Poles c of the filter along the motion."""
ALONG_GAIN_0, ALONG_GAIN_1 = 0.7721171643264071, 0.48606099370076955
ACROSS_0, ACROSS_1, ACROSS_2 = 0.48010621319320934, 1.2148211586395532, 11.14068016552916
"""Poles c of the filter across it."""
ACROSS_GAIN_0, ACROSS_GAIN_1, ACROSS_GAIN_2 = -0.19985685820680124, 1.6364088446375715, 0.7713752390403148


def factor(q00: Real, q10: Real, q11: Real, q20: Real, q21: Real, q22: Real) -> tuple[Vec3, Vec3]:
    """Return the Cholesky factor of a covariance: entries 00, 11, 22, and 10, 20, 21.

    A pivot that is lost to rounding is zero: its share of the variance is below 1e-15.
    """
    l00 = sqrt(maximum(q00, 1e-300))
    l10 = q10 / l00
    l20 = q20 / l00
    l11 = sqrt(maximum(q11 - l10 * l10, 0.0))
    l21 = 0.0
    if l11 > 0.0:
        l21 = (q21 - l20 * l10) / l11
    l22 = sqrt(maximum(q22 - l20 * l20 - l21 * l21, 0.0))
    return Vec3(l00, l11, l22), Vec3(l10, l20, l21)


def across_filter(theta: Real) -> tuple[Vec3, Vec3, Vec3]:
    """Return decays and noise of the states across the motion over a step.

    Args:
        theta: Length of the step in units of L / V; infinite for the stationary covariance.

    Returns:
        Decays, and the two parts of `factor`.
    """
    e0 = exp(-ACROSS_0 * theta)
    e1 = exp(-ACROSS_1 * theta)
    e2 = exp(-ACROSS_2 * theta)
    diagonal, below = factor(
        (1.0 - e0 * e0) / (2.0 * ACROSS_0),
        (1.0 - e1 * e0) / (ACROSS_1 + ACROSS_0),
        (1.0 - e1 * e1) / (2.0 * ACROSS_1),
        (1.0 - e2 * e0) / (ACROSS_2 + ACROSS_0),
        (1.0 - e2 * e1) / (ACROSS_2 + ACROSS_1),
        (1.0 - e2 * e2) / (2.0 * ACROSS_2),
    )
    return Vec3(e0, e1, e2), diagonal, below


def along_filter(theta: Real) -> tuple[Vec3, Vec3]:
    """Return the decays of the states along the motion (two), and the entries 00, 10, 11 of their noise."""
    e0 = exp(-ALONG_0 * theta)
    e1 = exp(-ALONG_1 * theta)
    l00 = sqrt(maximum((1.0 - e0 * e0) / (2.0 * ALONG_0), 1e-300))
    l10 = (1.0 - e1 * e0) / (ALONG_1 + ALONG_0) / l00
    l11 = sqrt(maximum((1.0 - e1 * e1) / (2.0 * ALONG_1) - l10 * l10, 0.0))
    return Vec3(e0, e1, 0.0), Vec3(l00, l10, l11)


def across_output(x0: Vec3, x1: Vec3, x2: Vec3) -> Vec3:
    """Return the velocities across the motion, by unit intensity, from their states."""
    return x0 * ACROSS_GAIN_0 + x1 * ACROSS_GAIN_1 + x2 * ACROSS_GAIN_2


def von_karman(
    i: int, rows: GustRows, p: TurbulenceParameters, span: Real, height: Real, through_air: Vec3, dt: Real
) -> None:
    """Advance the turbulence of a vehicle by a step, with the filters of von Karman.

    Args:
        i: Row of the vehicle.
        rows: The rows.
        p: Parameters.
        span: Width of the vehicle [m].
        height: Height above the ground [m].
        through_air: Velocity of the vehicle through the mean wind, world [m/s].
        dt: Length of the step [s].
    """
    length_h, length_w, sigma_h, sigma_w = scales(p, height)
    travelled = airspeed(p, through_air) * dt
    count = rows.gust_step[i]
    key = rows.gust_key[i]
    copy = rows.gust_copy[i]
    n0 = normal_vector(key, copy, count, 0)
    n1 = normal_vector(key, copy, count, 1)
    n2 = normal_vector(key, copy, count, 2)
    n3 = normal_vector(key, copy, count, 3)
    n4 = normal_vector(key, copy, count, 4)
    a0 = rows.gust_0[i]
    a1 = rows.gust_1[i]
    x0 = rows.gust_2[i]
    x1 = rows.gust_3[i]
    x2 = rows.gust_4[i]
    low = rows.gust_5[i]
    before = across_output(x0, x1, x2)
    theta = travelled / length_h
    theta_w = travelled / length_w
    roll = 0.25 * travelled * (PI / span)
    roll_decay = exp(-roll)
    roll_noise = settled(roll_decay)
    if count == 0:
        # The first state is drawn from the stationary distribution: all of the past is forgotten.
        theta = 1e3
        theta_w = 1e3
        roll_decay = 0.0
        roll_noise = 1.0
    decays, noise = along_filter(theta)
    e, diagonal, below = across_filter(theta)
    f, diagonal_w, below_w = across_filter(theta_w)
    a0 = Vec3(
        decays[0] * a0[0] + noise[0] * n0[0],
        decays[0] * a0[1] + noise[0] * n0[1],
        roll_decay * a0[2] + roll_noise * n0[2],
    )
    a1 = Vec3(
        decays[1] * a1[0] + noise[1] * n0[0] + noise[2] * n1[0],
        decays[1] * a1[1] + noise[1] * n0[1] + noise[2] * n1[1],
        0.0,
    )
    x0 = Vec3(
        e[0] * x0[0] + diagonal[0] * n2[0],
        e[0] * x0[1] + diagonal[0] * n2[1],
        f[0] * x0[2] + diagonal_w[0] * n2[2],
    )
    x1 = Vec3(
        e[1] * x1[0] + below[0] * n2[0] + diagonal[1] * n3[0],
        e[1] * x1[1] + below[0] * n2[1] + diagonal[1] * n3[1],
        f[1] * x1[2] + below_w[0] * n2[2] + diagonal_w[1] * n3[2],
    )
    x2 = Vec3(
        e[2] * x2[0] + below[1] * n2[0] + below[2] * n3[0] + diagonal[2] * n4[0],
        e[2] * x2[1] + below[1] * n2[1] + below[2] * n3[1] + diagonal[2] * n4[1],
        f[2] * x2[2] + below_w[1] * n2[2] + below_w[2] * n3[2] + diagonal_w[2] * n4[2],
    )
    across = across_output(x0, x1, x2)
    low = low_passed(low, before, across, roll, roll_decay)
    if count == 0:
        low = across
    rows.gust_step[i] = count + 1
    rows.gust_0[i] = a0
    rows.gust_1[i] = a1
    rows.gust_2[i] = x0
    rows.gust_3[i] = x1
    rows.gust_4[i] = x2
    rows.gust_5[i] = low
    along = (a0 * ALONG_GAIN_0 + a1 * ALONG_GAIN_1) * ROOT_2
    rolling = roll_intensity(sigma_w, length_w, span) * a0[2]
    gust, rate = in_world(p, through_air, span, sigma_h, sigma_w, along, across, low, rolling)
    rows.gust_velocity[i] = gust
    rows.gust_rate[i] = rate
