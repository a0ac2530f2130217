"""Step of missions: the reference of a copy from points of its trajectory made ahead."""

from dataclasses import dataclass, replace
from typing import NamedTuple

from pegasus.base.arrays import Array
from pegasus.base.step_math import Real, Reals, Vec3, dot
from pegasus.base.tracing import Signal, column, sequence
from pegasus.contracts.state import Reference

BLOCK = 512
"""Largest number of steps for which points are made ahead."""

REST, IDLE, FLY, START = 0.0, 1.0, 2.0, 3.0
"""Rotors of a copy: at rest, idling, controlled, and controlled for the first time."""

STAND, FOLLOW, SETTLE = 0.0, 1.0, 2.0
"""Phases: on the ground, along the trajectory, sinking after a landing."""

_SINK_RATE = 0.1
"""Sink rate of the reference after a landing until ground contact [m/s]."""
_SETTLING = 0.5
"""Time for a vehicle to follow this sink rate before it counts as landed [s]."""

WIDTH = 20
"""Numbers of a course at a step: position to jerk, heading (NaN without one) and its rate, share of the
offsets that is left and its first three derivatives, time since the end [s], and phase."""


@dataclass(frozen=True)
class Setpoint:
    """Reference of one vehicle, in the world frame; see `Reference`."""

    position: Vec3
    velocity: Vec3
    acceleration: Vec3
    jerk: Vec3
    yaw: Real
    yaw_rate: Real


@dataclass(frozen=True)
class Start:
    """Where a copy starts, on which its reference depends."""

    floor: Real
    """Height below which a standing copy has left the ground [m]."""
    origin: Vec3
    """Origin of the trajectory [m]."""
    heading: Real
    """Heading of a copy where the trajectory has none [rad]."""
    offset: Vec3
    """Offset from the trajectory at lift-off [m], which fades out."""
    turn: Real
    """Offset of the heading at lift-off [rad]."""


def follow(
    ahead: Reals, position: Vec3, velocity: Vec3, start: Start, yaw: Real, mode: Real
) -> tuple[Setpoint, Real, Real, Signal]:
    """Return the reference of a copy, the state of its rotors, and whether its course goes on otherwise.

    Args:
        ahead: Numbers of its course at this step.
        position: Position of the copy [m].
        velocity: Its velocity [m/s].
        start: Where it started.
        yaw: Heading of its last reference [rad].
        mode: State of its rotors, such as `FLY`.
    """
    called = 0.0
    still = Vec3(0.0, 0.0, 0.0)
    if ahead[19] == STAND:
        setpoint = Setpoint(position, still, still, still, yaw, 0.0)
        if position[2] < start.floor:
            called = 1.0
    else:
        yaw = start.heading if ahead[12] != ahead[12] else ahead[12]
        setpoint = Setpoint(
            Vec3(ahead[0], ahead[1], ahead[2]) + start.origin + ahead[14] * start.offset,
            Vec3(ahead[3], ahead[4], ahead[5]) + ahead[15] * start.offset,
            Vec3(ahead[6], ahead[7], ahead[8]) + ahead[16] * start.offset,
            Vec3(ahead[9], ahead[10], ahead[11]) + ahead[17] * start.offset,
            yaw + ahead[14] * start.turn,
            ahead[13] + ahead[15] * start.turn,
        )
        if ahead[19] == SETTLE:
            # A copy that does not follow is on the ground.
            slow = dot(velocity, velocity) < (0.5 * _SINK_RATE) * (0.5 * _SINK_RATE)
            if ahead[18] >= _SETTLING and slow and mode != REST:
                mode = REST
                called = 1.0
            x, y, z = setpoint.position[0], setpoint.position[1], setpoint.position[2]
            sinking = Vec3(setpoint.velocity[0], setpoint.velocity[1], -_SINK_RATE)
            lower = Vec3(x, y, z - _SINK_RATE * ahead[18])
            setpoint = replace(
                setpoint,
                position=position if mode == REST else lower,
                velocity=still if mode == REST else sinking,
            )
    return setpoint, mode, called, Signal(called)


ARGUMENTS = (
    sequence("ahead", WIDTH, BLOCK),
    *(column("position", Vec3), column("velocity", Vec3), column("start", Start)),
    *(column("setpoint.yaw"), column("mode")),
)

RESULTS = ("setpoint", "mode", "called", "event")
"""Arguments and results of `follow` in a launch."""

REFERENCE = ("position", "velocity", "acceleration", "jerk", "yaw", "yaw_rate")


def setpoint_arrays(reference: Reference) -> dict[str, Array]:
    """Return the arrays of a reference by the names of the columns of a `Setpoint`."""
    return {f"setpoint.{name}": getattr(reference, name) for name in REFERENCE}


class Block(NamedTuple):
    """Coming steps of a course; see `follow`."""

    phase: float
    """Phase of these steps."""
    length: int
    """Number of steps n."""
    points: Array | float = 0.0
    """Points of the trajectory, shape (n, 14); their heading is NaN without one."""
    over: Array | float = 0.0
    """Time since its end [s], shape (n,)."""
    fade: Array | float = 0.0
    """Share of the offsets that is left, and its derivatives, shape (n, 4); 0 without offsets."""
