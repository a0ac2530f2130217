"""Missions: references of N vehicles along their trajectories."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasus.base.arrays import Array, IntArray
from pegasus.contracts.state import Plan, VehicleState
from pegasus.control.course import Copies, Course
from pegasus.control.mission_step import (
    ARGUMENTS,
    BLOCK,
    RESULTS,
    STAND,
    START,
    WIDTH,
    Block,
    follow,
    setpoint_arrays,
)
from pegasus.control.trajectories import Trajectory, hold

_NEVER = 2**62
"""Step at which the next points are due of a mission without any."""
_SAME_INSTANT = 1e-6
"""Tolerance of equal times [s]."""
_SEVERAL = "mixed"
"""Segment of a reference whose copies fly different segments."""


class Mission:
    """Flights of N vehicles along a trajectory, or each along its own.

    The vehicles first idle on the ground. Then they climb, fly to the start of the trajectory, follow it and
    hold its end. After a landing the reference sinks until each vehicle has landed.

    Args:
        trajectory: The trajectory, or one for each vehicle.
        count: Number of vehicles N.
        relative: Whether the trajectory is relative to each vehicle's start position, or in world
            coordinates.
        spin_up: Idle time before take-off [s]; 0 for a vehicle that starts in the air. One for each vehicle
            if there are several trajectories.
    """

    lifts_off = False

    def __init__(
        self,
        trajectory: Trajectory | Sequence[Trajectory],
        *,
        count: int,
        relative: bool,
        spin_up: float | Sequence[float],
    ) -> None:
        self.copies = Copies.standing(count)
        """Arrays of the vehicles, which courses and others share."""
        self.reference, self.mode = self.copies.reference, self.copies.mode
        """Reference of the vehicles at the last `update`, and states of the rotors; live arrays."""
        self.landed = self.copies.landed
        """Vehicles that have completed the last landing, shape (N,)."""
        self.interval = 0.0
        """Time from one `update` to the next [s], 0 if unknown: points are made ahead for many updates."""
        self.courses: list[Course] = []
        """Courses of the vehicles: one for all, or one of each; none if `update` gives the references."""
        if type(self).update is Mission.update:
            shared = isinstance(trajectory, Trajectory)
            rows = [slice(0, count)] if shared else [slice(k, k + 1) for k in range(count)]
            flights = [trajectory] if isinstance(trajectory, Trajectory) else trajectory
            times = [spin_up] if isinstance(spin_up, float | int) else spin_up
            self.courses = [
                Course(self.copies, part, flight, relative=relative, spin_up=time)
                for part, flight, time in zip(rows, flights, times, strict=True)
            ]
        self._alone: MissionTable | None = None
        self.name_segment()

    @property
    def members(self) -> Sequence[tuple[Any, slice]]:
        """Courses, with the rows of their copies."""
        return [(course, course.rows) for course in self.courses]

    @property
    def begun(self) -> bool:
        """Whether all have been updated since their start; until then they wait for an estimator."""
        return all(course.begun for course in self.courses)

    @property
    def airborne(self) -> bool:
        """True if at least one vehicle follows the reference; the others idle on the ground."""
        return any(course.airborne for course in self.courses)

    @property
    def landing(self) -> bool:
        """True if at least one vehicle has ended its last landing, and settles or stands."""
        return any(course.landing for course in self.courses)

    @property
    def finished(self) -> bool:
        """Whether all trajectories are over and, if they end with a landing, all vehicles have landed."""
        return all(course.finished for course in self.courses)

    @property
    def duration(self) -> float:
        """Longest time from the start to the end of a trajectory [s]; exact from take-off on."""
        return max(course.duration for course in self.courses)

    def split(self, state: VehicleState) -> bool:
        """Give each vehicle its own course if they share one, and are to start from different poses.

        Args:
            state: True state.

        Returns:
            Whether there are other courses than before.
        """
        return len(self.courses) == 1 and self.courses[0].differs(state) and self._split()

    def restart(self, rows: IntArray) -> Sequence[Course]:
        """Begin the courses of some vehicles anew at the next update, and return them.

        Args:
            rows: Indices of the vehicles.
        """
        if len(self.courses) == 1 and len(rows) < len(self.mode):
            self._split()
        several = len(self.courses) > 1
        courses = [self.courses[k] for k in rows] if several else self.courses
        for course in courses:
            course.restart()
        self.name_segment()
        return courses

    def update(self, t: float, state: VehicleState) -> None:
        """Advance the reference to time t.

        Args:
            t: Simulation time [s].
            state: True state at t.
        """
        if self._alone is None:
            own = self._state = VehicleState.at_rest(len(self.mode), 0)
            bodies = {"position": own.position, "velocity": own.velocity}
            self._alone = MissionTable([(self, own, slice(0, len(self.mode)))], bodies)
            self._updates, self._expected = 0, -math.inf
        for name in ("position", "velocity", "rotation"):
            getattr(self._state, name)[...] = getattr(state, name)
        if abs(t - self._expected) > _SAME_INSTANT:
            self._alone.renew(self.courses)
        self._expected = t + self.interval
        count = BLOCK if self.interval else 1
        self._alone.update(self._updates, t, lambda: t + self.interval * np.arange(float(count)))
        self._updates += 1

    def plan(self, t: float) -> Plan | None:
        """Return the rest of the flights at time t; None if none has one.

        Args:
            t: Simulation time [s].
        """
        plans = [course.plan(t) for course in self.courses]
        first = next((plan for plan in plans if plan is not None), None)
        if first is None or len(plans) == 1:
            return first
        position = self.reference.position.copy()
        stays = [_staying(position[k : k + 1]) if plan is None else plan for k, plan in enumerate(plans)]
        origin = np.concatenate([plan.origin for plan in stays])
        return GroupPlan(first.trajectory, first.clock, origin, tuple(stays))

    def name_segment(self) -> None:
        """Update the segment of the reference after a change of a course."""
        names = {course.reference.segment for course in self.courses} or {"idle"}
        self.reference.segment = names.pop() if len(names) == 1 else _SEVERAL

    def _split(self) -> bool:
        self.courses, self._alone = self.courses[0].split(self.copies), None
        return True


@dataclass(frozen=True)
class _Entry:
    """Course in a table, with the number of its vehicle, the rows of its copies, and its columns."""

    owner: int
    mission: Mission
    course: Course
    state: VehicleState
    rows: slice
    arrays: dict[str, Array]


class MissionTable:
    """Missions of several vehicles, and the launch of their step.

    Args:
        vehicles: The missions of the vehicles with their states, and the rows of their copies.
        bodies: Columns `position` and `velocity` of all copies, and `ready` where they fly on estimates.
    """

    def __init__(
        self, vehicles: Sequence[tuple[Mission, VehicleState, slice]], bodies: Mapping[str, Array]
    ) -> None:
        self._guided = [(k, *vehicle) for k, vehicle in enumerate(vehicles) if not vehicle[0].courses]
        self._ready = bodies.get("ready")
        self._courses: list[_Entry] = []
        self._event = np.zeros(1)
        for owner, (mission, state, part) in enumerate(vehicles):
            shared = {
                **{name: bodies[name][part] for name in ("position", "velocity")},
                **{f"start.{name}": array for name, array in mission.copies.start.items()},
                **setpoint_arrays(mission.reference),
                **{"mode": mission.mode, "called": np.zeros(len(mission.mode)), "event": self._event},
            }
            for course in mission.courses:
                rows = slice(part.start + course.rows.start, part.start + course.rows.stop)
                arrays = {**shared, "ahead": np.zeros((BLOCK, WIDTH))}
                self._courses.append(_Entry(owner, mission, course, state.of(course.rows), rows, arrays))
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
            called = [k for k, e in enumerate(self._courses) if e.arrays["called"][e.course.rows].any()]
            self._advance(called, step, times())
            assert self._launch is not None
            self._launch(step=step)
            self._event[0] = 0.0
        for owner, mission, state, part in self._guided:
            if self._ready is None or mission.begun or self._ready[part].all():
                mission.update(t, state)
                if mission.lifts_off:
                    self.started.add(owner)

    def renew(self, courses: Collection[Course]) -> None:
        """Make the points of courses that were restarted anew at the next update.

        Args:
            courses: The courses.
        """
        self._due[[k for k, entry in enumerate(self._courses) if entry.course in courses]] = 0
        self._next = 0 if self._courses else _NEVER

    def _advance(self, numbers: Sequence[int], step: int, times: Array) -> None:
        """Make the points of courses ahead; those of many courses end at different steps."""
        count = len(self._courses)
        for k in numbers:
            entry = self._courses[k]
            course, segment = entry.course, entry.course.reference.segment
            if self._ready is None or course.begun or self._ready[entry.rows].all():
                block = course.advance(times[: BLOCK - (step + k * BLOCK // count) % BLOCK], entry.state)
            else:
                # It waits for estimates of its copies.
                block = Block(STAND, 1)
            if course.show_modes():
                self.started.add(entry.owner)
            if course.reference.segment != segment:
                entry.mission.name_segment()
            ahead = np.zeros((block.length, WIDTH))
            ahead[:, :14], ahead[:, 14:18] = block.points, block.fade
            ahead[:, 18], ahead[:, 19] = block.over, block.phase
            entry.arrays["ahead"][(step + np.arange(block.length)) % BLOCK] = ahead
            self._due[k] = step + block.length
        self._next = int(self._due.min())

    def _prepared(self) -> Callable[..., None]:
        # Not at the top: it imports Warp, which is not needed to plan missions.
        from pegasus.base.tracing.launches import Part, program_of, rows_of

        parts = [Part(e.arrays, e.course.rows.start, e.course.rows.stop) for e in self._courses]
        program = program_of(follow, *ARGUMENTS, outputs=RESULTS, count=rows_of(parts))
        return program.launch_parts(parts)


@dataclass(frozen=True, eq=False)
class GroupPlan(Plan):
    """Remaining flights of N vehicles; trajectory and clock are those of the first vehicle that has one."""

    plans: tuple[Plan, ...]
    """Remaining flight of each vehicle."""

    def path(self, copy: int = 0, *, horizon: float = 30.0, interval: float = 0.2) -> Array:
        """Return the coming points of the path of one vehicle [m], shape (K, 3); see `Plan.path`."""
        return self.plans[copy].path(horizon=horizon, interval=interval)


def _staying(position: Array) -> Plan:
    """Return the plan of a vehicle without a flight ahead."""
    place = hold(position=(0.0, 0.0, 0.0), duration=1.0)
    return Plan(place, place.duration, position)
