"""Courses: flights along a trajectory through spin-up, take-off and touch-down."""

import copy
import math
from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array, BoolArray
from pegasus.contracts.state import Plan, Reference, VehicleState
from pegasus.control.mission_step import FLY, FOLLOW, IDLE, REST, SETTLE, STAND, START, Block
from pegasus.control.trajectories import Point, Profile, Trajectory, sequence

_FREE_FALL = 0.3
"""Descent during spin-up that shows that a vehicle is in the air [m]."""
_SAME_POSE = 1e-6
"""Difference of starts below which copies share a flight [m], [rad]; it fades out."""

ON_THE_GROUND = Point((0.0, 0.0, 0.0), yaw=0.0, idle=True)


@dataclass(frozen=True, eq=False)
class Copies:
    """Arrays of the copies of a mission, N rows each."""

    reference: Reference
    """Their references at the last update; live arrays."""
    mode: Array
    """States of their rotors, such as `FLY`."""
    landed: BoolArray
    """Copies that have completed the last landing."""
    start: dict[str, Array]
    """Columns of `Start`."""

    @classmethod
    def standing(cls, count: int) -> "Copies":
        """Return those of N copies before their first update."""
        reference = Reference.hold(np.zeros((count, 3)), np.zeros(count))
        reference.idle[...], reference.segment = True, "idle"
        start: dict[str, Array] = {name: np.zeros((count, 3)) for name in ("origin", "offset")}
        start |= {name: np.zeros(count) for name in ("floor", "heading", "turn")}
        return cls(reference, np.full(count, IDLE), np.zeros(count, dtype=bool), start)

    def of(self, rows: slice) -> "Copies":
        """Return those of some copies, as views."""
        own = {name: array[rows] for name, array in vars(self.reference).items() if name != "segment"}
        start = {name: array[rows] for name, array in self.start.items()}
        reference = Reference(**own, segment=self.reference.segment)
        return Copies(reference, self.mode[rows], self.landed[rows], start)


class Course:
    """Flight of some copies of a mission along one trajectory.

    Args:
        copies: All copies of the mission.
        rows: Those that fly.
        trajectory: The trajectory.
        relative: Whether it is relative to the start position of each copy.
        spin_up: Idle time before take-off [s].
    """

    def __init__(
        self, copies: Copies, rows: slice, trajectory: Trajectory, *, relative: bool, spin_up: float
    ) -> None:
        self._trajectory, self._relative, self._spin_up = trajectory, relative, spin_up
        self.outline = sequence(trajectory, start=ON_THE_GROUND)
        """The flight of a vehicle that starts at the trajectory's origin."""
        self.duration = spin_up + self.outline.duration
        """Time from the start to the end of the trajectory [s]; exact from take-off on."""
        self._show(copies, rows)
        self.restart()

    def _show(self, copies: Copies, rows: slice) -> None:
        """Use rows of the arrays of a mission."""
        own = copies.of(rows)
        self.rows, self.reference, self.mode = rows, own.reference, own.mode
        self.landed, self.start = own.landed, own.start

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

    def split(self, copies: Copies) -> "list[Course]":
        """Return a course of each copy alone, all as far as this one.

        Args:
            copies: All copies of the mission.
        """
        parts = [copy.copy(self) for _ in range(self.rows.start, self.rows.stop)]
        for k, part in enumerate(parts, self.rows.start):
            part._show(copies, slice(k, k + 1))
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


def _leading(same: Array) -> int:
    """Return the number of true values before the first false one."""
    return len(same) if same.all() else int(same.argmin())


def _turn(heading: Array, yaw: float) -> Array:
    """Return the angles from a heading to others, from -pi to pi [rad]."""
    turn: Array = np.remainder(heading - yaw + math.pi, 2 * math.pi) - math.pi
    return turn
