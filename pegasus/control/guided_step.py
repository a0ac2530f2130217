"""Compiled step of guided flight: the reference of each copy, which follows its command within limits."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pegasus.base.step_math import (
    Column,
    Quat,
    Real,
    Vec3,
    atan2,
    clamped,
    cos,
    dot,
    magnitude,
    maximum,
    minimum,
    norm,
    rotate,
    sin,
    wrapped,
)
from pegasus.control.approach import eased
from pegasus.control.mission_step import FLY, IDLE, REST, START

Flags = npt.NDArray[np.int32]
"""Whole numbers of copies, such as 1 for yes and 0 for no, shape (N,)."""

STANDING, RISING, FLYING = 0, 1, 2
"""Phases of a copy: on the ground, on the ground and to take off, in the air."""

TARGET, VELOCITY, LAND, ATTITUDE, BODY_RATES = 0, 1, 2, 3, 4
"""Commands that a copy follows."""

NO_AUTOPILOT, DISARMED = -1, 0
"""Values of `armed`: a copy that lands where it touches the ground, and one whose autopilot has landed."""

_APPROACH = 1.6
"""Position gain of the reference: velocity per distance from the target [1/s]."""
_RESPONSE = 4.3
"""Velocity gain of the reference: acceleration per velocity error [1/s]."""
_TARGET_RESPONSE = 6.7
"""Velocity gain of the reference on the way to a target [1/s]. With the lag of the acceleration the
stability indices of its position are 2.5 and 4.2; see `pegasus.control.tuning`."""
_BRAKING_SHARE = 0.7
"""Share of the acceleration planned to stop at the target."""
_ACCELERATION_LAG = 0.1
"""Time constant of the reference's acceleration [s]."""
_LEASH = 1.5
"""Maximum lead of the reference, such as over a vehicle blocked by a wall [m]."""
_SINK_RATE = 0.5
_SETTLED_LEAD = 0.3
"""Distance of the reference below a vehicle at rest that means ground contact [m]."""
_CLIMBED = 0.1
"""Distance from the target at which a climb is complete [m]."""
_TURN, _TURN_RATE = 2.0, 1.0
"""Yaw rate per yaw error [1/s], and its maximum [rad/s]."""


@dataclass
class GuidedRows:
    """Copies of guided vehicles: their states, commands and references."""

    event: Column[int]
    """Set to 1 if a copy has lifted off or landed."""
    position: Column[Vec3]
    velocity: Column[Vec3]
    orientation: Column[Quat]
    phase: Column[int]
    """Phase of a copy, such as `FLYING`."""
    command: Column[int]
    """Command that it follows, such as `TARGET`."""
    ready: Column[int]
    """1 if it can take off."""
    armed: Column[int]
    """1 if its autopilot is armed, `DISARMED`, or `NO_AUTOPILOT`."""
    waiting: Column[int]
    """1 until the spin-up of its rotors begins."""
    begin: Column[Real]
    """Time when that began [s]."""
    climbing: Column[int]
    """1 until its climb after take-off is complete."""
    place: Column[Vec3]
    """Position that it climbs from [m]."""
    climb: Column[Real]
    """Height of this climb [m]."""
    target: Column[Vec3]
    """Point that it flies to [m]."""
    speed: Column[Real]
    """Maximum speed towards the target [m/s]."""
    turns: Column[int]
    """1 if it turns to `goal`."""
    goal: Column[Real]
    """Heading that it turns to [rad]."""
    flow: Column[Vec3]
    """Commanded velocity [m/s]."""
    turn_rate: Column[Real]
    """Commanded yaw rate [rad/s]."""
    in_body: Column[int]
    """1 if the commanded velocity is forward, left and up."""
    wanted: Column[Vec3]
    """Velocity towards which the reference accelerates [m/s]."""
    wanted_position: Column[Vec3]
    wanted_velocity: Column[Vec3]
    wanted_acceleration: Column[Vec3]
    wanted_jerk: Column[Vec3]
    wanted_yaw: Column[Real]
    wanted_yaw_rate: Column[Real]
    mode: Column[Real]
    """State of a copy's rotors, such as `FLY`."""


def govern(
    i: int, rows: GuidedRows, t: Real, dt: Real, spin_up: Real, speed: Real, acceleration: Real
) -> None:
    """Advance the reference of a copy to time t [s], by a step [s].

    Args:
        i: Its row.
        rows: The copies.
        t: Time [s].
        dt: Time since the last call [s].
        spin_up: Idle time of the rotors before take-off [s].
        speed: Maximum speed of a climb after take-off [m/s].
        acceleration: Maximum acceleration of the reference [m/s^2].
    """
    if rows.phase[i] == FLYING:
        move(i, rows, dt, acceleration)
        if rows.command[i] >= ATTITUDE:
            stay(i, rows, rows.velocity[i])
            look(i, rows)
        lead = rows.wanted_position[i] - rows.position[i]
        rows.wanted_position[i] = rows.position[i] + lead * minimum(1.0, _LEASH / (norm(lead) + 1e-12))
        if touches_down(i, rows, lead):
            rows.phase[i] = STANDING
            rows.event[0] = 1
    if rows.phase[i] != FLYING:
        stay(i, rows, Vec3(0.0, 0.0, 0.0))
        rows.wanted[i] = Vec3(0.0, 0.0, 0.0)
        if rows.phase[i] == RISING:
            rise(i, rows, t, spin_up, speed)
    if rows.phase[i] == FLYING:
        if rows.mode[i] < FLY:
            rows.mode[i] = START
            rows.event[0] = 1
        else:
            rows.mode[i] = FLY
    elif rows.phase[i] == RISING:
        rows.mode[i] = IDLE
    else:
        rows.mode[i] = REST


def stay(i: int, rows: GuidedRows, velocity: Vec3) -> None:
    """Keep the reference of a copy at its place, with a velocity [m/s]."""
    rows.wanted_position[i] = rows.position[i]
    rows.wanted_velocity[i] = velocity
    rows.wanted_acceleration[i] = Vec3(0.0, 0.0, 0.0)
    rows.wanted_jerk[i] = Vec3(0.0, 0.0, 0.0)
    rows.wanted_yaw_rate[i] = 0.0


def look(i: int, rows: GuidedRows) -> None:
    """Turn the reference of a copy to its heading."""
    forward = rotate(rows.orientation[i], Vec3(1.0, 0.0, 0.0))
    rows.wanted_yaw[i] = atan2(forward[1], forward[0])


def rise(i: int, rows: GuidedRows, t: Real, spin_up: Real, speed: Real) -> None:
    """Let a copy lift off once its rotors have spun up."""
    if rows.waiting[i] == 1:
        look(i, rows)
        if rows.ready[i] == 1:
            rows.begin[i] = t
            rows.waiting[i] = 0
    rows.target[i] = rows.place[i] + Vec3(0.0, 0.0, rows.climb[i])
    if rows.waiting[i] == 0 and t - rows.begin[i] >= spin_up:
        rows.phase[i] = FLYING
        rows.climbing[i] = 1
        rows.speed[i] = speed
        rows.turns[i] = 0


def move(i: int, rows: GuidedRows, dt: Real, acceleration: Real) -> None:
    """Advance the reference of a copy in the air by a step [s]."""
    position = rows.wanted_position[i]
    velocity = rows.wanted_velocity[i]
    way = rows.target[i] - position
    if maximum(maximum(magnitude(way[0]), magnitude(way[1])), magnitude(way[2])) < _CLIMBED:
        rows.climbing[i] = 0
    distance = norm(way)
    speed = _APPROACH * eased(distance, _APPROACH, _BRAKING_SHARE * acceleration)
    wanted = way * (minimum(speed, rows.speed[i]) / (distance + 1e-12))
    yaw = rows.wanted_yaw[i]
    yaw_rate = 0.0
    if rows.turns[i] == 1:
        yaw_rate = clamped(_TURN * wrapped(rows.goal[i] - yaw), -_TURN_RATE, _TURN_RATE)
    if rows.command[i] == VELOCITY:
        wanted = rows.flow[i]
        if rows.in_body[i] == 1:
            c = cos(yaw)
            s = sin(yaw)
            wanted = Vec3(c * wanted[0] - s * wanted[1], s * wanted[0] + c * wanted[1], wanted[2])
        yaw_rate = rows.turn_rate[i]
    if rows.command[i] == LAND:
        wanted = Vec3(0.0, 0.0, -_SINK_RATE)
    response = _RESPONSE
    if rows.command[i] == TARGET:
        response = _TARGET_RESPONSE
    # The velocity once the lagging acceleration has died away: it approaches the wanted one without
    # overshoot, and the velocity is its mean over the lag, so neither exceeds the speed.
    lag = maximum(_ACCELERATION_LAG, dt)
    coming = velocity + rows.wanted_acceleration[i] * (lag - dt)
    asked = limited((wanted - coming) * minimum(response, 1.0 / dt), acceleration)
    jerk = (asked - rows.wanted_acceleration[i]) * (1.0 / lag)
    gained = rows.wanted_acceleration[i] + jerk * dt
    velocity = velocity + gained * dt
    rows.wanted[i] = wanted
    rows.wanted_jerk[i] = jerk
    rows.wanted_acceleration[i] = gained
    rows.wanted_velocity[i] = velocity
    rows.wanted_position[i] = position + velocity * dt
    rows.wanted_yaw[i] = yaw + yaw_rate * dt
    rows.wanted_yaw_rate[i] = yaw_rate


def touches_down(i: int, rows: GuidedRows, lead: Vec3) -> bool:
    """Return whether a copy in the air, over which the reference has a lead [m], has landed."""
    if rows.armed[i] != NO_AUTOPILOT:
        return rows.armed[i] == DISARMED
    moving = rows.velocity[i]
    at_rest = dot(moving, moving) < (0.5 * _SINK_RATE) * (0.5 * _SINK_RATE)
    return rows.command[i] == LAND and at_rest and lead[2] < -_SETTLED_LEAD


def limited(vector: Vec3, most: Real) -> Vec3:
    """Return a vector limited to a length."""
    return vector * minimum(1.0, most / (norm(vector) + 1e-12))


def guided_columns(count: int) -> dict[str, Any]:
    """Return the columns of copies that stand on the ground, without those of their references.

    Args:
        count: Number of copies N.
    """
    vectors = ("position", "velocity", "target", "flow", "wanted")
    numbers = ("begin", "climb", "speed", "goal", "turn_rate")
    flags = ("phase", "command", "waiting", "climbing", "turns", "in_body")
    ones = np.ones(count, dtype=np.int32)
    columns: dict[str, Any] = {
        "event": np.zeros(1, dtype=np.int32),
        **{name: np.zeros((count, 3)) for name in vectors},
        **{name: np.zeros(count) for name in numbers},
        **{name: np.zeros(count, dtype=np.int32) for name in flags},
        "orientation": np.tile([0.0, 0.0, 0.0, 1.0], (count, 1)),
        "ready": ones,
        "armed": ones * NO_AUTOPILOT,
    }
    return columns | {"place": columns["position"]}
