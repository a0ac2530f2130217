"""Missions: reference of N vehicles through spin-up, take-off, trajectory and touch-down."""

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasus.base.arrays import Array, IntArray
from pegasus.contracts.state import Plan, Reference, VehicleState
from pegasus.control.mission_step import (
    BLOCK,
    FLY,
    FOLLOW,
    IDLE,
    REST,
    SETTLE,
    STAND,
    START,
    Block,
    MissionTable,
)
from pegasus.control.trajectories import Point, Profile, Trajectory, hold, sequence

_FREE_FALL = 0.3
"""Descent during spin-up that shows that a vehicle is in the air [m]."""
_SAME_POSE = 1e-6
"""Difference of starts below which copies share a flight [m], [rad]; it fades out."""
_SAME_INSTANT = 1e-6
"""Tolerance of equal times [s]."""
_SEVERAL = "mixed"
"""Segment of a reference whose copies fly different segments."""

_ON_THE_GROUND = Point((0.0, 0.0, 0.0), yaw=0.0, idle=True)


class Course:
    """Flight of some copies of a mission along one trajectory.

    Args:
        mission: The mission.
        rows: The copies.
        trajectory: The trajectory.
        relative: Whether it is relative to the start position of each copy.
        spin_up: Idle time before take-off [s].
    """

    def __init__(
        self, mission: "Mission", rows: slice, trajectory: Trajectory, *, relative: bool, spin_up: float
    ) -> None:
        self._trajectory, self._relative, self._spin_up = trajectory, relative, spin_up
        self.outline = sequence(trajectory, start=_ON_THE_GROUND)
        """The flight of a vehicle that starts at the trajectory's origin."""
        self.duration = spin_up + self.outline.duration
        """Time from the start to the end of the trajectory [s]; exact from take-off on."""
        self._show(mission, rows)
        self.restart()

    def _show(self, mission: "Mission", rows: slice) -> None:
        """Use rows of the arrays of a mission."""
        self.rows = rows
        """The copies."""
        own = {name: array[rows] for name, array in vars(mission.reference).items() if name != "segment"}
        self.reference = Reference(**own, segment=mission.reference.segment)
        """Reference of the copies at the last update; live arrays."""
        self.mode, self.landed = mission.mode[rows], mission.landed[rows]
        self.start = {name: array[rows] for name, array in mission.start.items()}

    def restart(self) -> None:
        """Begin anew at the next update: idle, then climb from where the vehicles stand then."""
        self.airborne = False
        """True if at least one vehicle follows the reference; the others idle on the ground."""
        self.landing = False
        """Whether the last landing is over and the vehicles settle; `landed` is then valid."""
        self.finished = False
        """Whether the trajectory is over and, if it ends with a landing, all vehicles have landed."""
        self._plan: sequence | None = None
        self._fade: Profile | None = None
        self._begin = math.nan
        self.landed[...] = False
        self.mode[...] = IDLE
        self._rest()

    def split(self, mission: "Mission") -> "list[Course]":
        """Return a course of each copy alone, all as far as this one.

        Args:
            mission: The mission.
        """
        parts = [copy.copy(self) for _ in range(self.rows.start, self.rows.stop)]
        for k, part in enumerate(parts, self.rows.start):
            part._show(mission, slice(k, k + 1))
            part.reference.segment = self.reference.segment
        return parts

    def differs(self, state: VehicleState) -> bool:
        """Return whether the copies need courses of their own: they are to start from different poses.

        Args:
            state: True state of the copies.
        """
        if len(self.mode) == 1 or self._plan is not None:
            return False
        from_here = self._relative and not self.begun
        place = state.position[:, 2:] if from_here else state.position - self.start["origin"]
        spread = np.abs(place - place[0]).max()
        if not np.isnan(self.outline.ahead(np.zeros(1))[0][0, 12]):
            spread = max(spread, np.abs(_turn(state.heading, state.heading[0])).max())
        return bool(spread > _SAME_POSE)

    def flight_from(self, state: VehicleState, copy: int) -> tuple[sequence, Array]:
        """Return the flight of a copy from where it stands, and its origin in the world [m], shape (3,).

        Args:
            state: True state.
            copy: Index of the copy.
        """
        origin = self.origin_of(state, copy)
        position = (state.position[copy] - origin).tolist()
        here = Point(position, yaw=float(state.heading[copy]), idle=self._spin_up > 0)
        return sequence(self._trajectory, start=here), origin

    def origin_of(self, state: VehicleState, copy: int) -> Array:
        """Return the origin of a copy's flight that starts where the copy stands [m], shape (3,)."""
        origin: Array = state.position[copy] * (1.0, 1.0, 0.0) * float(self._relative)
        return origin

    def plan(self, t: float) -> Plan | None:
        """Return the rest of the flight plan at time t; None before take-off and after the end.

        Args:
            t: Simulation time [s].
        """
        if self._plan is None or self.finished:
            return None
        return Plan(self._plan, t - self._plan_begin, self.start["origin"].copy())

    @property
    def begun(self) -> bool:
        """Whether it has been updated since its start; until then it waits for an estimator."""
        return not math.isnan(self._begin)

    @property
    def end(self) -> float:
        """Simulated time at which the trajectory ends [s]; exact from take-off on."""
        return self.duration + (self._begin if self.begun else 0.0)

    def show_modes(self) -> bool:
        """Write the states of the rotors; return whether the vehicles lift off."""
        if not self.airborne:
            self.mode[...] = REST if self.finished else IDLE
            return False
        lifts_off = not (self.mode >= FLY).any()
        self.mode[...] = START if lifts_off else FLY
        if self.landing:
            self.mode[self.landed] = REST
        return lifts_off

    def advance(self, times: Array, state: VehicleState) -> Block:
        """Return the coming steps, as far as they do not depend on the state.

        Args:
            times: Times of these steps [s], shape (n,).
            state: True state of the copies at the first one.
        """
        t = float(times[0])
        if self._plan is None:
            if math.isnan(self._begin):
                self._arrive(t, state)
            fell = bool((state.position[:, 2] < self.start["floor"]).any())
            waiting = int((times - self._begin < self._spin_up).sum())
            if waiting and not fell:
                return Block(STAND, waiting)
            self._plan = self._planned(t, state, grounded=self._spin_up > 0 and not fell)
        plan, clock = self._plan, times - self._plan_begin
        if self.finished and plan.lands:
            return Block(STAND, len(times))
        points, idle, segment = plan.ahead(clock)
        over = clock[: len(points)] - plan.duration
        ended = bool(over[0] >= 0)
        n = _leading((idle == idle[0]) & ((over >= 0) == ended))
        if idle[0]:
            self._stand(state)
            self.finished = ended
            return Block(STAND, n)
        if not self.airborne:
            self._lift_off(t, points[0], state)
        self.reference.segment, phase = segment, FOLLOW
        if ended and plan.lands:
            phase = SETTLE
            if self._touched_down(state):
                return Block(STAND, n)
        elif ended:
            points[:, 3:12] = points[:, 13] = 0.0
            self.reference.segment, self.finished = "hold", True
        fade = self._faded(times[:n])
        n = n if fade is None else len(fade)
        return Block(phase, n, points[:n], over[:n], 0.0 if fade is None else fade)

    def _rest(self) -> None:
        reference = self.reference
        for array in (reference.velocity, reference.acceleration, reference.jerk, reference.yaw_rate):
            array[...] = 0.0
        reference.idle[...], reference.segment = True, "idle"

    def _arrive(self, t: float, state: VehicleState) -> None:
        start, self._begin = self.start, t
        start["floor"][...] = state.position[:, 2] - _FREE_FALL
        start["heading"][...] = self.reference.yaw[...] = state.heading
        start["origin"][...] = 0.0
        if self._relative:
            start["origin"][:, :2] = state.position[:, :2]

    def _planned(self, t: float, state: VehicleState, *, grounded: bool) -> sequence:
        """Return the flight from the vehicles' pose; those of a controller `differs` have split before."""
        self._plan_begin = t
        self.start["floor"][...] = -math.inf
        position: list[float] = (state.position[0] - self.start["origin"][0]).tolist()
        here = Point(position, yaw=float(self.start["heading"][0]), idle=grounded)
        plan = sequence(self._trajectory, start=here)
        self.duration = t - self._begin + plan.duration
        return plan

    def _stand(self, state: VehicleState) -> None:
        """Set the reference to the vehicles' headings on the ground."""
        if self.airborne:
            self.airborne = False
            self.reference.yaw[...] = state.heading
            self._rest()

    def _lift_off(self, t: float, point: Array, state: VehicleState) -> None:
        """Start at each vehicle's true position and fade out its offset from the trajectory."""
        self.airborne = True
        self.reference.idle[...] = False
        self._lift_off_time = t
        offset, turn, yaw = self.start["offset"], self.start["turn"], point[12]
        offset[...] = state.position - (self.start["origin"] + point[:3])
        turn[...] = 0.0
        if not math.isnan(yaw):
            turn[...] = _turn(state.heading, yaw)
        farthest = float(max(np.abs(offset).max(), np.abs(turn).max()))
        self._fade = Profile(farthest, rate=1.0, acceleration=1.0)

    def _faded(self, times: Array) -> Array | None:
        """Return the share of the offsets that is left and its derivatives, until they have faded out."""
        if self._fade is None:
            return None
        elapsed = times - self._lift_off_time
        elapsed = elapsed[elapsed < self._fade.duration]
        if not len(elapsed):
            self._fade = None
            return None
        faded = np.stack(self._fade.at(elapsed), axis=1) / self._fade.distance
        left: Array = np.array([1.0, 0.0, 0.0, 0.0]) - faded
        return left

    def _touched_down(self, state: VehicleState) -> bool:
        """Note the vehicles that have landed; return whether all have."""
        if self.landing:
            self.landed |= self.mode == REST
        self.landing = True
        self.reference.idle[...] = self.landed
        self.finished = bool(self.landed.all())
        if self.finished:
            self._stand(state)
        return self.finished


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
        self.reference = Reference.hold(np.zeros((count, 3)), np.zeros(count))
        """Reference of the vehicles at the last `update`; live arrays."""
        self.reference.idle[...] = True
        self.mode = np.full(count, IDLE)
        """States of the rotors, such as `FLY`, shape (N,)."""
        self.landed = np.zeros(count, dtype=bool)
        """Vehicles that have completed the last landing, shape (N,)."""
        vectors, numbers = ("origin", "offset"), ("heading", "turn")
        self.start: dict[str, Array] = {
            "floor": np.full(count, -np.inf),
            **{name: np.zeros((count, 3)) for name in vectors},
            **{name: np.zeros(count) for name in numbers},
        }
        """Columns of `Start`."""
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
                Course(self, part, flight, relative=relative, spin_up=time)
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
        self.courses, self._alone = self.courses[0].split(self), None
        return True


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


def _leading(same: Array) -> int:
    """Return the number of true values before the first false one."""
    return len(same) if same.all() else int(same.argmin())


def _turn(heading: Array, yaw: float) -> Array:
    """Return the angles from a heading to others, from -pi to pi [rad]."""
    turn: Array = np.remainder(heading - yaw + math.pi, 2 * math.pi) - math.pi
    return turn
