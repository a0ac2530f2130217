"""Missions: flights of N vehicles along trajectories, through spin-up, take-off and touch-down."""

import copy
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pegasus.base.arrays import Array, IntArray
from pegasus.base.components import annotations_of
from pegasus.contracts.estimator import Estimator
from pegasus.contracts.state import Plan, Reference, VehicleState
from pegasus.control.mission_step import (
    BLOCK,
    FLY,
    FOLLOW,
    IDLE,
    OVER,
    PHASE,
    REST,
    SETTLE,
    STAND,
    START,
    WIDE,
    WIDTH,
    Motion,
    Start,
    arrays_of,
    setpoint_arrays,
)
from pegasus.control.trajectories import Point, Profile, Trajectory, hold, sequence

ON_THE_GROUND = Point((0.0, 0.0, 0.0), yaw=0.0, idle=True)

_FREE_FALL = 0.3
"""Descent during spin-up that shows that a vehicle is in the air [m]."""
_SAME_POSE = 1e-6
"""Difference of starts below which copies share a flight [m], [rad]; it fades out."""
_SAME_INSTANT = 1e-6
"""Tolerance of equal times [s]."""


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
        self.reference.idle[...], self.reference.segment = True, "idle"
        self.mode = np.full(count, IDLE)
        """States of the rotors, such as `FLY`, shape (N,)."""
        self.landed = np.zeros(count, dtype=bool)
        """Vehicles that have completed the last landing, shape (N,)."""
        self.start = arrays_of(Start, count)
        """Columns of `Start`."""
        self.estimator: Estimator | None = None
        """Estimator for which vehicles that fly on estimates wait on the ground."""
        self.interval = 0.0
        """Time from one `update` to the next [s], 0 if unknown: points are made ahead for many updates."""
        flights = [trajectory] if isinstance(trajectory, Trajectory) else list(trajectory)
        times = [spin_up] if isinstance(spin_up, float | int) else list(spin_up)
        size = count if len(flights) == 1 else 1
        self.rows = slice(0, count)
        """All vehicles."""
        self.courses = [
            Course(self, slice(k, k + size), flight, relative=relative, spin_up=time)
            for k, (flight, time) in enumerate(zip(flights, times, strict=True))
        ]
        """Courses of the vehicles: one for all, or one of each; none if `update` gives the references."""
        self._alone: Any = None

    @property
    def members(self) -> Sequence[Any]:
        """Courses of the vehicles; itself without any."""
        return self.courses or [self]

    @property
    def begun(self) -> bool:
        """Whether all have been updated since their start; until then they wait for an estimator."""
        return all(course.begun for course in self.courses)

    @property
    def airborne(self) -> bool:
        """True if at least one vehicle follows the reference; the others idle on the ground."""
        return bool((self.mode >= FLY).any())

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

    def waits(self, rows: slice = slice(None)) -> bool:
        """Return whether vehicles wait for estimates of their states."""
        return self.estimator is not None and not self.estimator.ready[rows].all()

    def arrays(self, bodies: Mapping[str, Any], rows: slice) -> dict[str, Array]:
        """Return arrays by the names of columns of its step, with rows of the states of many vehicles."""
        own = {f"start.{name}": array for name, array in self.start.items()} | {"mode": self.mode}
        motion = {f"motion.{name}": bodies[name][rows] for name in annotations_of(Motion)}
        return own | motion | setpoint_arrays(self.reference)

    def split(self, state: VehicleState) -> bool:
        """Return whether vehicles with one course get their own, as they start from different poses."""
        differs = len(self.courses) == 1 and self.courses[0].differs(state)
        if differs:
            self._split()
        return differs

    def _split(self) -> None:
        (whole,) = self.courses
        self.courses = [whole.alone(self, slice(k, k + 1)) for k in range(len(self.mode))]

    def restart(self, rows: IntArray) -> Sequence["Course"]:
        """Begin the courses of some vehicles, by index, anew at the next update, and return them."""
        if len(self.courses) == 1 and len(rows) < len(self.mode):
            self._split()
        courses = [self.courses[k] for k in rows] if len(self.courses) > 1 else self.courses
        for course in courses:
            course.restart()
        self.name_segment()
        return courses

    def update(self, t: float, state: VehicleState) -> None:
        """Advance the reference to simulation time t [s], by the true state."""
        if self._alone is None:
            # Not at the top: it imports Warp, which is not needed to plan missions.
            from pegasus.control.mission_table import MissionTable

            own = self._state = VehicleState.at_rest(len(self.mode), 0)
            self._alone = MissionTable([(self, own, self.rows)], vars(own), splits=False)
            self._step, self._expected = 0, -math.inf
        for name in ("position", "velocity", "rotation", "orientation"):
            getattr(self._state, name)[...] = getattr(state, name)
        if abs(t - self._expected) > _SAME_INSTANT:
            self._alone.renew(self.courses)
        ahead = self.interval * np.arange(float(BLOCK) if self.interval else 1.0)
        self._alone.update(self._step, t, lambda: t + ahead)
        self._step, self._expected = self._step + 1, t + self.interval

    def plan(self, t: float) -> Plan | None:
        """Return the rest of the flights at simulation time t [s]; None if none has one."""
        plans = [course.plan(t) for course in self.courses]
        first = next((plan for plan in plans if plan is not None), None)
        if first is None or len(plans) == 1:
            return first
        place, position = hold(position=(0.0, 0.0, 0.0), duration=1.0), self.reference.position.copy()
        stays = [plan or Plan(place, 1.0, position[k : k + 1]) for k, plan in enumerate(plans)]
        origin = np.concatenate([plan.origin for plan in stays])
        return Plan(first.trajectory, first.clock, origin, tuple(stays))

    def name_segment(self) -> None:
        """Update the segment of the reference after a change of a course; `mixed` if they differ."""
        names = {course.reference.segment for course in self.courses} or {"idle"}
        self.reference.segment = names.pop() if len(names) == 1 else "mixed"


class Course:
    """Flight of some vehicles of a mission along one trajectory.

    Args:
        mission: The mission, whose arrays it uses.
        rows: The vehicles.
        trajectory: The trajectory.
        relative: Whether it is relative to the start position of each vehicle.
        spin_up: Idle time before take-off [s].
    """

    def __init__(
        self, mission: Mission, rows: slice, trajectory: Trajectory, *, relative: bool, spin_up: float
    ) -> None:
        self._trajectory, self._relative, self._spin_up = trajectory, relative, spin_up
        self.outline = sequence(trajectory, start=ON_THE_GROUND)
        """The flight of a vehicle that starts at the trajectory's origin."""
        self.width = WIDTH if self.outline.attitudes(np.zeros(1)) is None else WIDE
        """Numbers of a step."""
        self.duration = spin_up + self.outline.duration
        """Time from the start to the end of the trajectory [s]; exact from take-off on."""
        self._use(mission, rows)
        self.restart()

    def _use(self, mission: Mission, rows: slice) -> None:
        """Use rows of the arrays of a mission."""
        self.rows, self.reference = rows, mission.reference.of(rows)
        self.mode, self.landed = mission.mode[rows], mission.landed[rows]
        self.start = {name: array[rows] for name, array in mission.start.items()}
        self._mission = mission

    def alone(self, mission: Mission, rows: slice) -> "Course":
        """Return a course of some of the vehicles, as far as this one."""
        made = copy.copy(self)
        made._use(mission, rows)
        made.reference.segment = self.reference.segment
        return made

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
        self.landed[...], self.reference.segment = False, "idle"
        self.show_modes()

    @property
    def begun(self) -> bool:
        """Whether it has been updated since its start; until then it waits for an estimator."""
        return not math.isnan(self._begin)

    @property
    def end(self) -> float:
        """Simulated time at which the trajectory ends [s]; exact from take-off on."""
        return self.duration + (self._begin if self.begun else 0.0)

    def differs(self, state: VehicleState) -> bool:
        """Return whether the vehicles need courses of their own: they are to start from different poses."""
        if len(self.mode) == 1 or self._plan is not None:
            return False
        from_here = self._relative and not self.begun
        place = state.position[:, 2:] if from_here else state.position - self.start["origin"]
        spread = np.abs(place - place[0]).max()
        if not np.isnan(self.outline.ahead(np.zeros(1))[0][0, 12]):
            spread = max(spread, np.abs(_turn(state.heading, state.heading[0])).max())
        return bool(spread > _SAME_POSE)

    def origin_of(self, state: VehicleState) -> Array:
        """Return the origins in the world of flights that start where vehicles stand [m], shape (N, 3)."""
        origin: Array = state.position * (1.0, 1.0, 0.0) * float(self._relative)
        return origin

    def flight_from(self, state: VehicleState, row: int) -> sequence:
        """Return the flight of a vehicle, by index, from where it stands."""
        place = (state.position - self.origin_of(state))[row]
        return self._flight(place, float(state.heading[row]), grounded=self._spin_up > 0)

    def plan(self, t: float) -> Plan | None:
        """Return the rest of the flight at simulation time t [s]; None before take-off and after the end."""
        if self._plan is None or self.finished:
            return None
        return Plan(self._plan, t - self._plan_begin, self.start["origin"].copy())

    def show_modes(self) -> bool:
        """Write the states of the rotors; return whether the vehicles lift off."""
        lifts_off = self.airborne and not (self.mode >= FLY).any()
        if self.airborne:
            self.mode[...] = START if lifts_off else FLY
            if self.landing:
                self.mode[self.landed] = REST
        else:
            self.mode[...] = REST if self.finished else IDLE
        self.reference.idle[...] = self.mode < FLY
        return lifts_off

    def advance(self, times: Array, state: VehicleState) -> Array:
        """Return the numbers of the coming steps, as far as they do not depend on the state, (n, `WIDTH`).

        The times of these steps [s], and of some behind them, are given with the state at the first one.
        """
        if not self.begun and self._mission.waits(self.rows):
            return np.zeros((1, self.width))
        if self._plan is None:
            waiting = self._waiting(times, state)
            if waiting:
                return np.zeros((waiting, self.width))
        assert self._plan is not None
        plan, clock = self._plan, times - self._plan_begin
        if self.finished and plan.lands:
            return np.zeros((len(times), self.width))
        points, idle, segment = plan.ahead(clock)
        over = clock[: len(points)] - plan.duration
        ended, phase = bool(over[0] >= 0), FOLLOW
        n = _leading((idle == idle[0]) & ((over >= 0) == ended))
        if idle[0]:
            self._stand(state)
            self.finished, phase = ended, STAND
        else:
            if not self.airborne:
                self._lift_off(float(times[0]), points[0], state)
            self.reference.segment = segment
            if ended and plan.lands:
                phase = STAND if self._touched_down(state) else SETTLE
            elif ended:
                points[:, 3:12] = points[:, 13] = 0.0
                self.reference.segment, self.finished = "hold", True
        ahead = np.zeros((n, self.width))
        if self.width > WIDTH:
            ahead[:, WIDTH:] = plan.attitudes(clock[:n])
            ahead[over[:n] > 0, WIDTH + 4 :] = 0.0
        ahead[:, :14], ahead[:, OVER], ahead[:, PHASE] = points[:n], over[:n], phase
        return self._faded(ahead, times[:n])

    def _waiting(self, times: Array, state: VehicleState) -> int:
        """Return the number of steps until the plan begins, which is made when it does."""
        start, t = self.start, float(times[0])
        if not self.begun:
            self._begin = t
            start["floor"][...] = state.position[:, 2] - _FREE_FALL
            start["heading"][...] = self.reference.yaw[...] = state.heading
            start["origin"][...] = self.origin_of(state)
        fell = bool((state.position[:, 2] < start["floor"]).any())
        waiting = int((times - self._begin < self._spin_up).sum())
        if waiting and not fell:
            return waiting
        # The vehicles start alike: they have been split if not.
        place, heading = (state.position - start["origin"])[0], float(start["heading"][0])
        self._plan = self._flight(place, heading, grounded=self._spin_up > 0 and not fell)
        self._plan_begin, self.duration = t, t - self._begin + self._plan.duration
        start["floor"][...] = -math.inf
        return 0

    def _flight(self, place: Array, heading: float, *, grounded: bool) -> sequence:
        return sequence(self._trajectory, start=Point(place.tolist(), yaw=heading, idle=grounded))

    def _stand(self, state: VehicleState) -> None:
        """Set the reference to the vehicles' headings on the ground."""
        if self.airborne:
            self.airborne, self.reference.segment = False, "idle"
            self.reference.yaw[...] = state.heading

    def _lift_off(self, t: float, point: Array, state: VehicleState) -> None:
        """Start at each vehicle's true position and fade out its offset from the trajectory."""
        self.airborne, self._lift_off_time = True, t
        offset, turn, yaw = self.start["offset"], self.start["turn"], float(point[12])
        offset[...] = state.position - (self.start["origin"] + point[:3])
        turn[...] = 0.0 if math.isnan(yaw) else _turn(state.heading, yaw)
        farthest = float(max(np.abs(offset).max(), np.abs(turn).max()))
        self._fade = Profile(farthest, rate=1.0, acceleration=1.0)

    def _faded(self, ahead: Array, times: Array) -> Array:
        """Return numbers of steps with the share of the offsets that is left, until they have faded out."""
        if self._fade is None:
            return ahead
        elapsed = times - self._lift_off_time
        elapsed = elapsed[elapsed < self._fade.duration]
        if not len(elapsed):
            self._fade = None
            return ahead
        faded = np.stack(self._fade.at(elapsed), axis=1) / self._fade.distance
        ahead[: len(elapsed), 14:OVER] = np.array([1.0, 0.0, 0.0, 0.0]) - faded
        return ahead[: len(elapsed)]

    def _touched_down(self, state: VehicleState) -> bool:
        """Note the vehicles that have landed; return whether all have."""
        if self.landing:
            self.landed |= self.mode == REST
        self.landing, self.finished = True, bool(self.landed.all())
        if self.finished:
            self._stand(state)
        return self.finished


def _leading(same: Array) -> int:
    """Return the number of true values before the first false one."""
    return len(same) if same.all() else int(same.argmin())


def _turn(heading: Array, yaw: float) -> Array:
    """Return the angles from a heading to others, from -pi to pi [rad]."""
    turn: Array = np.remainder(heading - yaw + math.pi, 2 * math.pi) - math.pi
    return turn
