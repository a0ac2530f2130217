"""Measurements in the world: GPS, barometer, magnetometer and distances to anchors."""

from pegasus.base.step_math import Real, Vec3, cross, dot, maximum, norm, rotate, rotate_inverse, sqrt
from pegasus.environment.atmosphere import AtmosphereParameters, pressure_altitude_at
from pegasus.environment.geodesy import convergence, level_turn
from pegasus.estimation.covariance import (
    Gradient,
    assimilate,
    forget,
    innovation_variance,
    markov,
    observe,
    tie,
)
from pegasus.estimation.filter_rows import ANCHORS, FIELD, FIX, POSITION, PRESSURE, REST, FilterRows

_EARTH_RADIUS = 6_356_766.0
"""Radius of the Earth in the standard atmosphere's conversion of altitudes [m]."""
_ANY_POSITION = 1e6
"""Variance of a horizontal position that is begun anew [m^2]."""
_DOUBTED = 2.0
"""Innovation of a distance to an anchor, in standard deviations, beyond which its influence grows no more."""
STANDSTILL = 1e-8
"""Variance of the velocity of a vehicle that stands [m^2/s^2]."""


def unit(k: int) -> Vec3:
    """Return the unit vector of an axis."""
    if k == 0:
        return Vec3(1.0, 0.0, 0.0)
    if k == 1:
        return Vec3(0.0, 1.0, 0.0)
    return Vec3(0.0, 0.0, 1.0)


def gate_of(i: int, rows: FilterRows, source: int) -> Real:
    """Return the square of the gate of a source; there is none for its first reading."""
    if rows.used_count[i, source] == 0:
        return 1e300
    return rows.p[0].gate


def forget_gps(i: int, rows: FilterRows) -> None:
    """Begin the errors of a GPS anew, as stationary ones."""
    e = rows.gps[0]
    for axis in range(3):
        a = e.first + axis
        square = e.scale[axis] * e.scale[axis]
        forget(i, rows, a, square)
        forget(i, rows, a + 3, square * e.variance)
        tie(i, rows, a, a + 3, square * e.covariance)
        rows.error[i, a] = 0.0
        rows.error[i, a + 3] = 0.0


def advance_gps(i: int, rows: FilterRows) -> None:
    """Predict the errors of a GPS over one of its readings; see `pegasus.sensors.gps.error_coefficients`."""
    e = rows.gps[0]
    n = rows.p[0].size
    for axis in range(3):
        a = e.first + axis
        b = a + 3
        for k in range(n):
            rows.covariance[i, a * n + k] = (
                e.keep_position * rows.covariance[i, a * n + k] + e.coupling * rows.covariance[i, b * n + k]
            )
            rows.covariance[i, b * n + k] = e.keep_velocity * rows.covariance[i, b * n + k]
        for k in range(n):
            rows.covariance[i, k * n + a] = (
                e.keep_position * rows.covariance[i, k * n + a] + e.coupling * rows.covariance[i, k * n + b]
            )
            rows.covariance[i, k * n + b] = e.keep_velocity * rows.covariance[i, k * n + b]
        square = e.scale[axis] * e.scale[axis]
        rows.covariance[i, a * n + a] = rows.covariance[i, a * n + a] + square * e.drive_position
        rows.covariance[i, a * n + b] = rows.covariance[i, a * n + b] + square * e.drive_shared
        rows.covariance[i, b * n + a] = rows.covariance[i, b * n + a] + square * e.drive_shared
        rows.covariance[i, b * n + b] = rows.covariance[i, b * n + b] + square * e.drive_velocity
        rows.error[i, a] = e.keep_position * rows.error[i, a] + e.coupling * rows.error[i, b]
        rows.error[i, b] = e.keep_velocity * rows.error[i, b]


def use_gps(i: int, rows: FilterRows) -> None:
    """Correct the state by a solution of the GPS: position and velocity, with their slow errors as states."""
    e = rows.gps[0]
    for _ in range(rows.passed[FIX]):
        advance_gps(i, rows)
    if rows.gps_changed[i] == 1:
        forget_gps(i, rows)
    if rows.gps_valid[i] == 0:
        return
    none = Vec3(0.0, 0.0, 0.0)
    age = rows.age[FIX]
    # A receiver gives its velocity in local axes, which differ from the map's far from the origin.
    cosine, sine = convergence(rows.origin[0], rows.gps_position[i])
    velocity = level_turn(rows.gps_velocity[i], cosine, -sine)
    gate = gate_of(i, rows, FIX)
    total = 0.0
    beyond = 0
    for axis in range(3):
        along = unit(axis)
        state = e.first + axis
        spread = rows.gps_spread[i][axis]
        share = rows.gps_share[i][axis]
        expected = rows.r[i][axis] - age * rows.v[i][axis] + share * rows.error[i, state]
        h = Gradient(none, along * (-age), along, state, share, -1, 0.0, -1)
        variance = e.position_variance[axis] + spread * spread
        square = observe(i, rows, FIX, rows.gps_position[i][axis] - expected, h, variance, gate)
        if axis < 2 and not square <= gate:
            beyond = 1
        total += square
        state = e.first + 3 + axis
        expected = rows.v[i][axis] + share * rows.error[i, state]
        h = Gradient(none, along, none, state, share, -1, 0.0, -1)
        variance = e.velocity_variance[axis] + 0.01 * spread * spread
        total += observe(i, rows, FIX, velocity[axis] - expected, h, variance, gate)
    rows.nis[i, FIX] = total
    rows.gps_refusals[i] = beyond * (rows.gps_refusals[i] + 1)
    if beyond == 1 and rows.gps_refusals[i] == rows.p[0].gps_refusals:
        # The receiver stays elsewhere: the next solution gives the position.
        rows.gps_refusals[i] = 0
        forget_gps(i, rows)
        for axis in range(2):
            forget(i, rows, POSITION + axis, _ANY_POSITION)


def altitude_of(p: AtmosphereParameters, pressure: Real) -> Real:
    """Return the altitude above mean sea level at which the standard atmosphere has a pressure [m].

    Args:
        p: The standard atmosphere.
        pressure: Pressure [Pa].
    """
    height = pressure_altitude_at(p, pressure)
    return _EARTH_RADIUS * height / (_EARTH_RADIUS - height)


def use_barometer(i: int, rows: FilterRows) -> None:
    """Correct the state by the altitude of a barometer, with the weather as a state."""
    e = rows.barometer[0]
    for _ in range(rows.passed[PRESSURE]):
        markov(i, rows, e.first, e.phi, e.drive)
    none = Vec3(0.0, 0.0, 0.0)
    measured = altitude_of(e.standard, rows.pressure[i]) - e.origin_altitude
    innovation = measured - rows.r[i][2] - rows.error[i, e.first]
    h = Gradient(none, none, Vec3(0.0, 0.0, 1.0), e.first, 1.0, -1, 0.0, -1)
    gate = gate_of(i, rows, PRESSURE)
    rows.nis[i, PRESSURE] = observe(i, rows, PRESSURE, innovation, h, e.white_variance, gate)


def use_magnetometer(i: int, rows: FilterRows, measured: Vec3, variance: Real, gate: Real) -> None:
    """Correct the state by a magnetic field.

    Args:
        i: Number of the row.
        rows: Columns.
        measured: Measured field [T].
        variance: Variance of its white noise [T^2].
        gate: Square of the gate.
    """
    e = rows.magnetometer[0]
    none = Vec3(0.0, 0.0, 0.0)
    earth = rows.earth_field[i]
    total = 0.0
    for axis in range(3):
        soft = e.soft_x
        if axis == 1:
            soft = e.soft_y
        if axis == 2:
            soft = e.soft_z
        state = e.first + axis
        expected = dot(soft, rotate_inverse(rows.q[i], earth)) + e.hard[axis] + rows.error[i, state]
        h = Gradient(cross(rotate(rows.q[i], soft), earth), none, none, state, 1.0, -1, 0.0, -1)
        total += observe(i, rows, FIELD, measured[axis] - expected, h, variance, gate)
    rows.nis[i, FIELD] = total


def advance_magnetometer(i: int, rows: FilterRows) -> None:
    """Predict the bias of a magnetometer up to its reading."""
    e = rows.magnetometer[0]
    for _ in range(rows.passed[FIELD]):
        for axis in range(3):
            markov(i, rows, e.first + axis, e.phi, e.drive)


def use_uwb(i: int, rows: FilterRows) -> None:
    """Correct the state by distances to anchors, of which those to hidden anchors are too long.

    There is no gate: it would shut out right distances once wrong ones have led the state away. Instead the
    variance of a large innovation is raised, so that its influence is bounded. Source: Huber 1964, "Robust
    estimation of a location parameter".
    """
    e = rows.uwb[0]
    age = rows.age[ANCHORS]
    total = 0.0
    measured = 0.0
    for k in range(e.count):
        if rows.uwb_valid[i, k] == 1:
            arm = rotate(rows.q[i], e.place)
            away = rows.r[i] - rows.v[i] * age + arm - rows.anchor[k]
            distance = maximum(norm(away), 1e-3)
            along = away * (1.0 / distance)
            h = Gradient(cross(arm, along), along * (-age), along, -1, 0.0, -1, 0.0, -1)
            innovation = rows.uwb_distance[i, k] - distance
            square = innovation * innovation
            expected = innovation_variance(i, rows, h, e.variance)
            more = maximum(sqrt(square * expected) / _DOUBTED - expected, 0.0)
            assimilate(i, rows, ANCHORS, innovation, h, e.variance + more, expected + more, 1e300)
            total += square / expected
            measured += 1.0
    if measured > 0.0:
        # As of all anchors, also where the distances to some are missing.
        rows.nis[i, ANCHORS] = total * Real(e.count) / measured


def use_rest(i: int, rows: FilterRows) -> None:
    """Correct the state by the knowledge that the vehicle stands."""
    none = Vec3(0.0, 0.0, 0.0)
    for axis in range(3):
        h = Gradient(none, unit(axis), none, -1, 0.0, -1, 0.0, -1)
        observe(i, rows, REST, -rows.v[i][axis], h, STANDSTILL, 1e300)
