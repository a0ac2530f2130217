"""Step of missions: the references of all vehicles from points of their trajectories made ahead."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.step_math import Real, Reals, Vec3, dot
from pegasus.base.tracing import Signal, column, sequence
from pegasus.contracts.state import Reference, VehicleState

BLOCK = 512
"""Largest number of steps for which points are made ahead."""
_NEVER = 2**62
"""Step at which the next points are due of a mission without any."""

REST, IDLE, FLY, START = 0.0, 1.0, 2.0, 3.0
"""Rotors of a copy: at rest, idling, controlled, and controlled for the first time."""

STAND, FOLLOW, SETTLE = 0.0, 1.0, 2.0
"""Phases: on the ground, along the trajectory, sinking after a landing."""

_SINK_RATE = 0.1
"""Sink rate of the reference after a landing until ground contact [m/s]."""
_SETTLING = 0.5
"""Time for a vehicle to follow this sink rate before it counts as landed [s]."""

_POINT, _FADE, _OVER, _PHASE = slice(0, 14), slice(14, 18), 18, 19
_WIDTH = 20
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
    ahead: Reals, position: Vec3, velocity: Vec3, start: Start, setpoint: Setpoint, mode: Real
) -> tuple[Setpoint, Real, Real, Signal]:
    """Return the reference of a copy, the state of its rotors, and whether its course goes on otherwise.

    Args:
        ahead: Numbers of its course at this step.
        position: Position of the copy [m].
        velocity: Its velocity [m/s].
        start: Where it started.
        setpoint: Its last reference.
        mode: State of its rotors, such as `FLY`.
    """
    called = 0.0
    if ahead[19] == STAND:
        setpoint = replace(setpoint, position=position)
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
                velocity=Vec3(0.0, 0.0, 0.0) if mode == REST else sinking,
            )
    return setpoint, mode, called, Signal(called)


_ARGUMENTS = (
    sequence("ahead", _WIDTH, BLOCK),
    *(column("position", Vec3), column("velocity", Vec3), column("start", Start)),
    *(column("setpoint", Setpoint), column("mode")),
)

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


class OneCourse(Protocol):
    """Copies of a mission that fly along one trajectory."""

    rows: slice
    reference: Reference

    @property
    def begun(self) -> bool:
        """Whether it has been updated since its start."""

    def advance(self, times: Array, state: VehicleState) -> Block:
        """Return the coming steps, as far as they do not depend on the state."""

    def show_modes(self) -> bool:
        """Write the states of the rotors; return whether the copies lift off."""


class AnyMission(Protocol):
    """Mission of the copies of a vehicle."""

    reference: Reference
    mode: Array
    start: dict[str, Array]
    lifts_off: bool

    @property
    def begun(self) -> bool:
        """Whether it has been updated since its start."""

    @property
    def courses(self) -> Sequence[OneCourse]:
        """Its courses; none if `update` gives its references."""

    def update(self, t: float, state: VehicleState) -> None:
        """Set the reference of a step."""

    def name_segment(self) -> None:
        """Update the segment of the reference after a change of a course."""


class MissionTable:
    """Missions of several vehicles, and the launch of their step.

    Args:
        vehicles: The missions of the vehicles with their states, and the rows of their copies.
        bodies: Columns `position` and `velocity` of all copies, and `ready` where they fly on estimates.
    """

    def __init__(
        self, vehicles: Sequence[tuple[AnyMission, VehicleState, slice]], bodies: Mapping[str, Array]
    ) -> None:
        self._guided = [(k, *vehicle) for k, vehicle in enumerate(vehicles) if not vehicle[0].courses]
        self._ready = bodies.get("ready")
        self._courses: list[tuple[int, AnyMission, OneCourse, VehicleState, slice, dict[str, Array]]] = []
        self._event = np.zeros(1)
        for owner, (mission, state, part) in enumerate(vehicles):
            shared = {
                **{name: bodies[name][part] for name in ("position", "velocity")},
                **{f"start.{name}": array for name, array in mission.start.items()},
                **setpoint_arrays(mission.reference),
                **{"mode": mission.mode, "called": np.zeros(len(mission.mode)), "event": self._event},
            }
            for course in mission.courses:
                rows = slice(part.start + course.rows.start, part.start + course.rows.stop)
                arrays = {**shared, "ahead": np.zeros((BLOCK, _WIDTH))}
                self._courses.append((owner, mission, course, state.of(course.rows), rows, arrays))
        self._due = np.zeros(len(self._courses), dtype=np.int64)
        self._next = 0 if self._courses else _NEVER
        self._launch: Callable[..., None] | None = None
        self.started = {k for k, (mission, _, _) in enumerate(vehicles) if (mission.mode == START).any()}
        """Numbers of the vehicles of which copies have lifted off at the last update."""

    def update(self, step: int, t: float, times: Callable[[], Array]) -> None:
        """Set the references of a step.

        Args:
            step: Number of the step.
            t: Simulation time [s].
            times: Function that returns the times of this step and of those after it [s], up to `BLOCK`.
        """
        if self.started:
            self.started = set()
        if step >= self._next:
            self._advance(np.flatnonzero(self._due <= step).tolist(), step, times())
        if self._courses:
            if self._launch is None:
                self._launch = self._prepared()
            self._launch(step=step)
        if self._event[0]:
            # The courses of these copies go on otherwise, so that the references are made again.
            called = [k for k, (*_, c, _, _, a) in enumerate(self._courses) if a["called"][c.rows].any()]
            self._advance(called, step, times())
            assert self._launch is not None
            self._launch(step=step)
            self._event[0] = 0.0
        for owner, mission, state, part in self._guided:
            if self._ready is None or mission.begun or self._ready[part].all():
                mission.update(t, state)
                if mission.lifts_off:
                    self.started.add(owner)

    def renew(self, courses: Collection[OneCourse]) -> None:
        """Make the points of courses that were restarted anew at the next update.

        Args:
            courses: The courses.
        """
        self._due[[k for k, (_, _, course, *_) in enumerate(self._courses) if course in courses]] = 0
        self._next = 0 if self._courses else _NEVER

    def _advance(self, numbers: Sequence[int], step: int, times: Array) -> None:
        """Make the points of courses ahead; those of many courses end at different steps."""
        count = len(self._courses)
        for k in numbers:
            owner, mission, course, state, rows, arrays = self._courses[k]
            segment = course.reference.segment
            if self._ready is None or course.begun or self._ready[rows].all():
                block = course.advance(times[: BLOCK - (step + k * BLOCK // count) % BLOCK], state)
            else:
                # It waits for estimates of its copies.
                block = Block(STAND, 1)
            if course.show_modes():
                self.started.add(owner)
            if course.reference.segment != segment:
                mission.name_segment()
            ahead = np.zeros((block.length, _WIDTH))
            ahead[:, _POINT], ahead[:, _FADE] = block.points, block.fade
            ahead[:, _OVER], ahead[:, _PHASE] = block.over, block.phase
            arrays["ahead"][(step + np.arange(block.length)) % BLOCK] = ahead
            self._due[k] = step + block.length
        self._next = int(self._due.min())

    def _prepared(self) -> Callable[..., None]:
        # Not at the top: it imports Warp, which is not needed to plan missions.
        from pegasus.base.tracing.launches import Part, lanes_for, shared_program

        parts = [Part(a, c.rows.start, c.rows.stop) for _, _, c, _, _, a in self._courses]
        outputs = ("setpoint", "mode", "called", "event")
        launch: Callable[..., None] = shared_program(
            follow, _ARGUMENTS, outputs, lanes=lanes_for(parts)
        ).launch_parts(parts)
        return launch
