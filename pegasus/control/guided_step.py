"""Step of guided flight: the reference of each copy, which follows its command within limits."""

import math
from dataclasses import dataclass, replace

from pegasus.base.step_math import (
    Quat,
    Real,
    Vec3,
    atan2,
    clamped,
    conjugated,
    cos,
    dot,
    magnitude,
    maximum,
    minimum,
    norm,
    normalized,
    quaternion_product,
    rotate,
    rotation_quaternion,
    sin,
    wrapped,
)
from pegasus.base.tracing import Signal, column, uniform
from pegasus.control.approach import eased
from pegasus.control.full_pose import asks
from pegasus.control.mission_step import FLY, IDLE, REST, START, Motion, Setpoint

STANDING, RISING, FLYING = 0.0, 1.0, 2.0
"""Phases of a copy: on the ground, on the ground and to take off, in the air."""

TARGET, VELOCITY, LAND, ATTITUDE, BODY_RATES = 0.0, 1.0, 2.0, 3.0, 4.0
"""Directives: what a copy follows. Those before `ATTITUDE` give a reference, the others replace it."""

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
class Order:
    """Present command of a copy, and its progress."""

    directive: Real
    """Kind of the command, such as `TARGET`."""
    phase: Real
    """Its phase, such as `FLYING`."""
    ready: Real
    """1 if it can take off."""
    armed: Real
    """1 if its autopilot is armed, `DISARMED`, or `NO_AUTOPILOT`."""
    begin: Real
    """Time when the spin-up of its rotors began [s]; NaN before."""
    base: Vec3
    """Position that it climbs from [m]."""
    climb: Real
    """Height of this climb [m]."""
    climbing: Real
    """1 until its climb after take-off is complete."""
    target: Vec3
    """Point that it flies to [m]."""
    speed: Real
    """Maximum speed towards the target [m/s]."""
    heading: Real
    """Heading that it turns to [rad]; NaN to keep the present one."""
    velocity: Vec3
    """Commanded velocity [m/s]."""
    yaw_rate: Real
    """Commanded yaw rate [rad/s]."""
    in_body: Real
    """1 if the commanded velocity is forward, left and up."""
    wanted: Vec3
    """Velocity towards which the reference accelerates [m/s], world frame."""
    attitude: Quat
    """Commanded attitude, unit quaternion, body to world."""
    rates: Vec3
    """Commanded angular velocity in the body frame [rad/s]."""
    lift: Real
    """Commanded thrust along the body's z axis [N]."""
    pose: Quat
    """Attitude that it turns to and keeps in flight, unit quaternion; zeros for none."""


@dataclass(frozen=True)
class Bounds:
    """Time, and limits of the reference of all copies."""

    t: float
    """Time [s]."""
    dt: float
    """Time since the last call [s]."""
    spin_up: float
    """Idle time of the rotors before take-off [s]."""
    speed: float
    """Maximum speed of a climb after take-off [m/s]."""
    acceleration: float
    """Maximum acceleration [m/s^2]."""


def govern(
    order: Order, motion: Motion, setpoint: Setpoint, mode: Real, bounds: Bounds
) -> tuple[Order, Setpoint, Real, Signal]:
    """Return order, reference and state of the rotors of a copy, and whether it lifts off or has landed.

    Args:
        order: What it is to do, as far as it was at the last call.
        motion: Its state.
        setpoint: Its reference at the last call.
        mode: State of its rotors at the last call, such as `FLY`.
        bounds: Time, and limits of the reference.
    """
    event = 0.0
    if order.phase == FLYING:
        pose, turning = turned(order, setpoint, motion, bounds.dt)
        order, setpoint = moved(order, setpoint, bounds.dt, bounds.acceleration)
        setpoint = replace(setpoint, attitude=pose, body_rates=turning)
        if order.directive >= ATTITUDE:
            setpoint = replace(resting(setpoint, motion), velocity=motion.velocity, yaw=heading_of(motion))
        lead = setpoint.position - motion.position
        held = motion.position + lead * minimum(1.0, _LEASH / (norm(lead) + 1e-12))
        setpoint = replace(setpoint, position=held)
        if touches_down(order, motion, lead):
            order = replace(order, phase=STANDING)
            event = 1.0
    if order.phase != FLYING:
        setpoint = resting(setpoint, motion)
        order = replace(order, wanted=_ZERO)
        if order.phase == RISING:
            if order.begin != order.begin:
                setpoint = replace(setpoint, yaw=heading_of(motion))
            order = risen(order, bounds)
    if order.phase == FLYING:
        if mode < FLY:
            mode = START
            event = 1.0
        else:
            mode = FLY
    else:
        mode = IDLE if order.phase == RISING else REST
    return order, setpoint, mode, Signal(event)


ARGUMENTS = (
    *(column("order", Order), column("motion", Motion), column("setpoint", Setpoint), column("mode")),
    uniform("bounds", Bounds(0.0, 0.0, 0.0, 0.0, 0.0)),
)
RESULTS = ("order", "setpoint", "mode", "event")
"""Arguments and results of `govern` in a launch."""


def resting(setpoint: Setpoint, motion: Motion) -> Setpoint:
    """Return a reference at rest at the place of a copy, which keeps its heading."""
    return Setpoint(motion.position, _ZERO, _ZERO, _ZERO, setpoint.yaw, 0.0)


def heading_of(motion: Motion) -> Real:
    """Return the heading of a copy [rad]."""
    forward = rotate(motion.orientation, Vec3(1.0, 0.0, 0.0))
    return atan2(forward[1], forward[0])


def risen(order: Order, bounds: Bounds) -> Order:
    """Return the order of a copy that lifts off once its rotors have spun up."""
    if order.begin != order.begin and order.ready == 1.0:
        order = replace(order, begin=bounds.t)
    order = replace(order, target=order.base + Vec3(0.0, 0.0, order.climb))
    if bounds.t - order.begin >= bounds.spin_up:
        order = replace(order, phase=FLYING, climbing=1.0, speed=bounds.speed, heading=math.nan)
    return order


def moved(order: Order, setpoint: Setpoint, dt: Real, acceleration: Real) -> tuple[Order, Setpoint]:
    """Return order and reference of a copy in the air after a step [s]."""
    way = order.target - setpoint.position
    climbing = order.climbing
    if maximum(maximum(magnitude(way[0]), magnitude(way[1])), magnitude(way[2])) < _CLIMBED:
        climbing = 0.0
    distance = norm(way)
    speed = _APPROACH * eased(distance, _APPROACH, _BRAKING_SHARE * acceleration)
    wanted = way * (minimum(speed, order.speed) / (distance + 1e-12))
    yaw_rate = 0.0
    if order.heading == order.heading:
        yaw_rate = clamped(_TURN * wrapped(order.heading - setpoint.yaw), -_TURN_RATE, _TURN_RATE)
    response = _RESPONSE
    if order.directive == TARGET:
        response = _TARGET_RESPONSE
    if order.directive == VELOCITY:
        wanted = order.velocity
        if order.in_body == 1.0:
            wanted = turned_about_z(wanted, setpoint.yaw)
        yaw_rate = order.yaw_rate
    if order.directive == LAND:
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
        replace(order, climbing=climbing, wanted=wanted),
        Setpoint(position, velocity, gained, jerk, yaw, yaw_rate),
    )


def turned(order: Order, setpoint: Setpoint, motion: Motion, dt: Real) -> tuple[Quat, Vec3]:
    """Return attitude and body rates of the reference of a copy after a step [s]; zeros for none."""
    attitude, rates = Quat(0.0, 0.0, 0.0, 0.0), _ZERO
    if order.directive <= VELOCITY and asks(order.pose):
        here = setpoint.attitude if asks(setpoint.attitude) else motion.orientation
        way = quaternion_product(conjugated(here), order.pose)
        # Twice the vector part is the way along the axis, for small angles.
        side = -2.0 if way[3] < 0.0 else 2.0
        error = Vec3(way[0], way[1], way[2]) * side
        rates = limited(error * minimum(_TURN, 1.0 / dt), _TURN_RATE)
        attitude = normalized(quaternion_product(here, rotation_quaternion(rates * dt)))
    return attitude, rates


def touches_down(order: Order, motion: Motion, lead: Vec3) -> bool:
    """Return whether a copy in the air, over which the reference has a lead [m], has landed."""
    if order.armed != NO_AUTOPILOT:
        return order.armed == DISARMED
    at_rest = dot(motion.velocity, motion.velocity) < (0.5 * _SINK_RATE) * (0.5 * _SINK_RATE)
    return order.directive == LAND and at_rest and lead[2] < -_SETTLED_LEAD


def limited(vector: Vec3, most: Real) -> Vec3:
    """Return a vector limited to a length."""
    return vector * minimum(1.0, most / (norm(vector) + 1e-12))


def turned_about_z(v: Vec3, angle: Real) -> Vec3:
    """Return a vector turned about the world's z axis by an angle [rad]."""
    c = cos(angle)
    s = sin(angle)
    return Vec3(c * v[0] - s * v[1], s * v[0] + c * v[1], v[2])
