"""References: what each copy follows, and the step that makes it from points of a trajectory made ahead."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import annotations_of
from pegasus.base.step_math import Quat, Real, Reals, Vec3, dot, length
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

OVER, PHASE, WIDTH = 18, 19, 20
"""Numbers of a course at a step: position to jerk, heading (NaN without one) and its rate, share of the
offsets that is left and its first three derivatives, time since the end [s], and phase."""

WIDE = WIDTH + 7
"""Numbers of a course that asks for attitudes: also attitude and body rates, see `Trajectory.attitudes`."""

SHAPES: dict[Any, tuple[int, ...]] = {float: (), Vec3: (3,), Quat: (4,)}
"""Shapes of rows of arrays by kind."""


@dataclass
class Motion:
    """State of one vehicle."""

    position: Vec3
    """Origin of the body frame in the world [m]."""
    orientation: Quat
    """Unit quaternion xyzw, body to world."""
    velocity: Vec3
    """Velocity of the body frame's origin in the world [m/s]."""
    angular_velocity: Vec3
    """Angular velocity in the body frame [rad/s]."""


@dataclass(frozen=True)
class Setpoint:
    """Reference of one vehicle, in the world frame; see `Reference`."""

    position: Vec3
    velocity: Vec3
    acceleration: Vec3
    jerk: Vec3
    yaw: Real
    yaw_rate: Real
    attitude: Quat = field(default_factory=lambda: Quat(0.0, 0.0, 0.0, 0.0))
    body_rates: Vec3 = field(default_factory=lambda: Vec3(0.0, 0.0, 0.0))


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
    ahead: Reals, motion: Motion, start: Start, yaw: Real, mode: Real
) -> tuple[Setpoint, Real, Real, Signal]:
    """Return the reference of a copy, the state of its rotors, and whether its course goes on otherwise.

    Args:
        ahead: Numbers of its course at this step.
        motion: State of the copy.
        start: Where it started.
        yaw: Heading of its last reference [rad].
        mode: State of its rotors, such as `FLY`.
    """
    called = 0.0
    still = Vec3(0.0, 0.0, 0.0)
    position = motion.position
    if ahead[PHASE] == STAND:
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
        if length(ahead) > WIDTH:
            setpoint = replace(
                setpoint,
                attitude=Quat(ahead[WIDTH], ahead[WIDTH + 1], ahead[WIDTH + 2], ahead[WIDTH + 3]),
                body_rates=Vec3(ahead[WIDTH + 4], ahead[WIDTH + 5], ahead[WIDTH + 6]),
            )
        if ahead[PHASE] == SETTLE:
            # A copy that does not follow is on the ground.
            slow = dot(motion.velocity, motion.velocity) < (0.5 * _SINK_RATE) * (0.5 * _SINK_RATE)
            if ahead[OVER] >= _SETTLING and slow and mode != REST:
                mode = REST
                called = 1.0
            x, y, z = setpoint.position[0], setpoint.position[1], setpoint.position[2]
            sinking = Vec3(setpoint.velocity[0], setpoint.velocity[1], -_SINK_RATE)
            lower = Vec3(x, y, z - _SINK_RATE * ahead[OVER])
            setpoint = replace(
                setpoint,
                position=position if mode == REST else lower,
                velocity=still if mode == REST else sinking,
            )
    return setpoint, mode, called, Signal(called)


ARGUMENTS = tuple(
    (
        sequence("ahead", width, BLOCK),
        *(column("motion", Motion), column("start", Start), column("setpoint.yaw"), column("mode")),
    )
    for width in (WIDTH, WIDE)
)
RESULTS = ("setpoint", "mode", "called", "event")
"""Arguments of `follow` in a launch of courses of either width, and its results."""


def arrays_of(kind: Any, count: int) -> dict[str, Array]:
    """Return arrays of zeros for the fields of a dataclass of numbers and vectors, `count` rows each."""
    return {name: np.zeros((count, *SHAPES[hint])) for name, hint in annotations_of(kind).items()}


def setpoint_arrays(reference: Reference) -> dict[str, Array]:
    """Return the arrays of a reference by the names of the columns of a `Setpoint`."""
    return {f"setpoint.{name}": getattr(reference, name) for name in annotations_of(Setpoint)}
