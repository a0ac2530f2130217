"""Measurements of the velocity through the air: the pressure of a pitot tube, and the drag of the vehicle."""

from pegasus.base.step_math import Vec3, cross, dot, maximum, norm, rotate, rotate_inverse, sqrt
from pegasus.estimation.covariance import Gradient, assimilate, gain_of, innovation_variance, markov, observe
from pegasus.estimation.filter_rows import AIRSPEED, DRAG, FORCE_BIAS, FilterRows
from pegasus.estimation.measurements import gate_of, unit
from pegasus.estimation.strapdown import without_errors

_MEAN_SIZE = 0.6366197723675814
"""2 / pi, the squared mean size of a normal number by its variance."""

_LAW_ERROR = 0.03
"""Standard deviation of the error of the law of the drag, by the drag."""


def through_air(i: int, rows: FilterRows) -> Vec3:
    """Return the velocity through the air, world frame [m/s]; vertical wind is taken as none."""
    first = rows.p[0].wind
    return rows.v[i] - Vec3(rows.error[i, first], rows.error[i, first + 1], 0.0)


def use_airspeed(i: int, rows: FilterRows) -> None:
    """Correct the state by the pressure of a pitot tube, rho s |s| / 2 with the speed s along it.

    The pressure is far from linear over the first spread of the wind: slope and mean are those over the
    spread of s, to which the square of its deviation adds a variance. Source: Gelb 1974, "Applied optimal
    estimation", sec. 6.1 (second-order filter) and 6.2 (statistical linearization).
    """
    e = rows.airspeed[0]
    for _ in range(rows.passed[AIRSPEED]):
        markov(i, rows, e.first, e.phi, e.drive)
    wind = rows.p[0].wind
    none = Vec3(0.0, 0.0, 0.0)
    density = rows.air_density[i]
    velocity = through_air(i, rows)
    axis = rotate(rows.q[i], e.axis)
    speed = dot(axis, velocity)
    h = Gradient(cross(axis, velocity), axis, none, -1, 0.0, -1, 0.0, wind)
    spread = innovation_variance(i, rows, h, 0.0)
    expected = 0.5 * density * speed * sqrt(speed * speed + 2.0 * spread) + rows.error[i, e.first]
    slope = density * sqrt(speed * speed + _MEAN_SIZE * spread)
    h = Gradient(cross(axis, velocity) * slope, axis * slope, none, e.first, 1.0, -1, 0.0, wind)
    variance = e.white_variance + 0.5 * density * density * spread * spread
    innovation = rows.pressure_difference[i] - expected
    rows.nis[i, AIRSPEED] = observe(i, rows, AIRSPEED, innovation, h, variance, gate_of(i, rows, AIRSPEED))


def use_drag(i: int, rows: FilterRows) -> None:
    """Correct the state by the specific force across the z axis of a vehicle, which is that of its drag.

    Along each axis it is -(c sqrt(f_z / g) + d |u|) u by mass, with the velocity u through the air across z,
    as the drag of rotors grows with their speed: `pegasus.control.drag_compensation`. The noise of the
    reading is in the velocity as well, to which it has added itself times a few milliseconds; left out here.
    """
    e = rows.air[0]
    none = Vec3(0.0, 0.0, 0.0)
    gate = gate_of(i, rows, DRAG)
    total = 0.0
    for k in range(2):
        bias = rows.force_bias[i]
        force = without_errors(rows, rows.force[i, rows.oldest[0]], gain_of(i, rows, 3), bias)
        velocity = through_air(i, rows)
        local = rotate_inverse(rows.q[i], velocity)
        level = Vec3(local[0], local[1], 0.0)
        speed = maximum(norm(level), 1e-6)
        turning = sqrt(maximum(force[2], 0.0) / norm(rows.gravity[i]))
        gain = e.linear[k] * turning + e.quadratic[k] * speed
        slope = rotate(rows.q[i], (unit(k) * gain + level * (e.quadratic[k] * level[k] / speed)) * -1.0)
        h = Gradient(cross(slope, velocity), slope, none, FORCE_BIAS + k, 1.0, -1, 0.0, rows.p[0].wind)
        spread = innovation_variance(i, rows, h, 0.0)
        # What the square of the speed's deviation adds where the wind is hardly known yet.
        bent = e.quadratic[k] * spread / maximum(gain * gain, 1e-9)
        off = _LAW_ERROR * gain * speed
        variance = e.drag_variance + off * off + 2.0 * bent * bent
        innovation = force[k] + gain * level[k]
        total += assimilate(i, rows, DRAG, innovation, h, variance, spread + variance, gate)
    rows.nis[i, DRAG] = total
