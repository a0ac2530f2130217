"""Step of guided flight: the reference of each copy, which follows its command within limits."""

from dataclasses import dataclass, replace

from pegasus.base.step_math import (
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
from pegasus.base.tracing import Signal
from pegasus.control.approach import eased
from pegasus.control.mission_step import FLY, IDLE, REST, START, Setpoint

STANDING, RISING, FLYING = 0.0, 1.0, 2.0
"""Phases of a copy: on the ground, on the ground and to take off, in the air."""

TARGET, VELOCITY, LAND, ATTITUDE, BODY_RATES = 0, 1, 2, 3, 4
"""Commands that a copy follows."""

NO_AUTOPILOT, DISARMED = -1.0, 0.0
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

_ZERO = Vec3(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Pose:
    """State of a copy."""

    position: Vec3
    velocity: Vec3
    orientation: Quat


@dataclass(frozen=True)
class Orders:
    """What a copy is to do."""

    command: Real
    """Command that it follows, such as `TARGET`."""
    ready: Real
    """1 if it can take off."""
    armed: Real
    """1 if its autopilot is armed, `DISARMED`, or `NO_AUTOPILOT`."""
    place: Vec3
    """Position that it climbs from [m]."""
    climb: Real
    """Height of this climb [m]."""
    goal: Real
    """Heading that it turns to [rad]."""
    flow: Vec3
    """Commanded velocity [m/s]."""
    turn_rate: Real
    """Commanded yaw rate [rad/s]."""
    in_body: Real
    """1 if the commanded velocity is forward, left and up."""


@dataclass(frozen=True)
class Progress:
    """How far a copy has come with its command."""

    phase: Real
    """Its phase, such as `FLYING`."""
    waiting: Real
    """1 until the spin-up of its rotors begins."""
    begin: Real
    """Time when that began [s]."""
    climbing: Real
    """1 until its climb after take-off is complete."""
    target: Vec3
    """Point that it flies to [m]."""
    speed: Real
    """Maximum speed towards the target [m/s]."""
    turns: Real
    """1 if it turns to `goal`."""
    wanted: Vec3
    """Velocity towards which the reference accelerates [m/s]."""


@dataclass(frozen=True)
class Bounds:
    """Limits of the reference of all copies."""

    spin_up: float
    """Idle time of the rotors before take-off [s]."""
    speed: float
    """Maximum speed of a climb after take-off [m/s]."""
    acceleration: float
    """Maximum acceleration [m/s^2]."""


def govern(
    orders: Orders,
    progress: Progress,
    pose: Pose,
    setpoint: Setpoint,
    mode: Real,
    bounds: Bounds,
    t: Real,
    dt: Real,
) -> tuple[Progress, Setpoint, Real, Signal]:
    """Return progress, reference and state of the rotors of a copy, and whether it lifts off or has landed.

    Args:
        orders: What it is to do.
        progress: Its progress at the last call.
        pose: Its state.
        setpoint: Its reference at the last call.
        mode: State of its rotors at the last call, such as `FLY`.
        bounds: Limits of the reference.
        t: Time [s].
        dt: Time since the last call [s].
    """
    event = 0.0
    if progress.phase == FLYING:
        progress, setpoint = moved(orders, progress, setpoint, dt, bounds.acceleration)
        if orders.command >= ATTITUDE:
            setpoint = replace(resting(setpoint, pose), velocity=pose.velocity, yaw=heading_of(pose))
        lead = setpoint.position - pose.position
        held = pose.position + lead * minimum(1.0, _LEASH / (norm(lead) + 1e-12))
        setpoint = replace(setpoint, position=held)
        if touches_down(orders, pose, lead):
            progress = replace(progress, phase=STANDING)
            event = 1.0
    if progress.phase != FLYING:
        setpoint = resting(setpoint, pose)
        progress = replace(progress, wanted=_ZERO)
        if progress.phase == RISING:
            if progress.waiting == 1.0:
                setpoint = replace(setpoint, yaw=heading_of(pose))
            progress = risen(orders, progress, bounds, t)
    if progress.phase == FLYING:
        if mode < FLY:
            mode = START
            event = 1.0
        else:
            mode = FLY
    else:
        mode = IDLE if progress.phase == RISING else REST
    return progress, setpoint, mode, Signal(event)


def resting(setpoint: Setpoint, pose: Pose) -> Setpoint:
    """Return a reference at rest at the place of a copy, which keeps its heading."""
    return Setpoint(pose.position, _ZERO, _ZERO, _ZERO, setpoint.yaw, 0.0)


def heading_of(pose: Pose) -> Real:
    """Return the heading of a copy [rad]."""
    forward = rotate(pose.orientation, Vec3(1.0, 0.0, 0.0))
    return atan2(forward[1], forward[0])


def risen(orders: Orders, progress: Progress, bounds: Bounds, t: Real) -> Progress:
    """Return the progress of a copy that lifts off once its rotors have spun up."""
    if progress.waiting == 1.0 and orders.ready == 1.0:
        progress = replace(progress, begin=t, waiting=0.0)
    progress = replace(progress, target=orders.place + Vec3(0.0, 0.0, orders.climb))
    if progress.waiting == 0.0 and t - progress.begin >= bounds.spin_up:
        progress = replace(progress, phase=FLYING, climbing=1.0, speed=bounds.speed, turns=0.0)
    return progress


def moved(
    orders: Orders, progress: Progress, setpoint: Setpoint, dt: Real, acceleration: Real
) -> tuple[Progress, Setpoint]:
    """Return progress and reference of a copy in the air after a step [s]."""
    way = progress.target - setpoint.position
    climbing = progress.climbing
    if maximum(maximum(magnitude(way[0]), magnitude(way[1])), magnitude(way[2])) < _CLIMBED:
        climbing = 0.0
    distance = norm(way)
    speed = _APPROACH * eased(distance, _APPROACH, _BRAKING_SHARE * acceleration)
    wanted = way * (minimum(speed, progress.speed) / (distance + 1e-12))
    yaw_rate = 0.0
    if progress.turns == 1.0:
        yaw_rate = clamped(_TURN * wrapped(orders.goal - setpoint.yaw), -_TURN_RATE, _TURN_RATE)
    response = _RESPONSE
    if orders.command == TARGET:
        response = _TARGET_RESPONSE
    if orders.command == VELOCITY:
        wanted = orders.flow
        if orders.in_body == 1.0:
            c = cos(setpoint.yaw)
            s = sin(setpoint.yaw)
            wanted = Vec3(c * wanted[0] - s * wanted[1], s * wanted[0] + c * wanted[1], wanted[2])
        yaw_rate = orders.turn_rate
    if orders.command == LAND:
        wanted = Vec3(0.0, 0.0, -_SINK_RATE)
    # The velocity once the lagging acceleration has died away: it approaches the wanted one without
    # overshoot, and the velocity is its mean over the lag, so neither exceeds the speed.
    lag = maximum(_ACCELERATION_LAG, dt)
    coming = setpoint.velocity + setpoint.acceleration * (lag - dt)
    asked = limited((wanted - coming) * minimum(response, 1.0 / dt), acceleration)
    jerk = (asked - setpoint.acceleration) * (1.0 / lag)
    gained = setpoint.acceleration + jerk * dt
    velocity = setpoint.velocity + gained * dt
    position, yaw = setpoint.position + velocity * dt, setpoint.yaw + yaw_rate * dt
    return (
        replace(progress, climbing=climbing, wanted=wanted),
        Setpoint(position, velocity, gained, jerk, yaw, yaw_rate),
    )


def touches_down(orders: Orders, pose: Pose, lead: Vec3) -> bool:
    """Return whether a copy in the air, over which the reference has a lead [m], has landed."""
    if orders.armed != NO_AUTOPILOT:
        return orders.armed == DISARMED
    at_rest = dot(pose.velocity, pose.velocity) < (0.5 * _SINK_RATE) * (0.5 * _SINK_RATE)
    return orders.command == LAND and at_rest and lead[2] < -_SETTLED_LEAD


def limited(vector: Vec3, most: Real) -> Vec3:
    """Return a vector limited to a length."""
    return vector * minimum(1.0, most / (norm(vector) + 1e-12))
