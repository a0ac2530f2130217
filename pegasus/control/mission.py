"""Missions: reference of N vehicles through spin-up, take-off, trajectory and touch-down."""

import copy
import math

import numpy as np

from pegasus.base.arrays import Array
from pegasus.contracts.state import Plan, Reference, VehicleState
from pegasus.control.mission_step import (
    FLY,
    FOLLOW,
    IDLE,
    REFERENCE,
    REST,
    SETTLE,
    STAND,
    START,
    Block,
    OwnTable,
    mission_columns,
    rows_of,
)
from pegasus.control.trajectories import Point, Profile, Trajectory, sequence

_FREE_FALL = 0.3
"""Descent during spin-up that shows that a vehicle is in the air [m]."""

_SAME_POSE = 1e-6
"""Difference of starts below which copies share a flight [m], [rad]; it fades out."""

_ON_THE_GROUND = Point((0.0, 0.0, 0.0), yaw=0.0, idle=True)


class Mission:
    """A flight of N vehicles along a trajectory.

    The vehicles first idle on the ground. Then they climb, fly to the start of the trajectory, follow it and
    hold its end. After a landing the reference sinks until each vehicle has landed.

    Args:
        trajectory: The trajectory.
        count: Number of vehicles N.
        relative: Whether the trajectory is relative to each vehicle's start position, or in world
            coordinates.
        spin_up: Idle time before take-off [s]; 0 for a vehicle that starts in the air.
    """

    def __init__(self, trajectory: Trajectory, *, count: int, relative: bool, spin_up: float) -> None:
        self._trajectory, self._count, self._relative, self._spin_up = trajectory, count, relative, spin_up
        self.columns = mission_columns(count)
        """References and what they depend on by name, one row per copy; see `MissionRows`."""
        parts = {name.removeprefix("wanted_"): self.columns[name] for name in REFERENCE}
        self.reference = Reference(**parts, idle=np.ones(count, dtype=bool), segment="idle")
        """Reference of the vehicles at the last `update`; live arrays."""
        self.landed = np.zeros(count, dtype=bool)
        """Vehicles that have completed the last landing, shape (N,)."""
        self.outline = sequence(trajectory, start=_ON_THE_GROUND)
        """The flight of a vehicle that starts at the trajectory's origin."""
        self.duration = spin_up + self.outline.duration
        """Time from the start to the end of the trajectory [s]; exact from take-off on."""
        self._alone: OwnTable | None = None
        self.restart()

    def restart(self) -> None:
        """Begin anew at the next `update`: idle, then climb from where the vehicles stand then."""
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
        self.columns["mode"][...] = IDLE
        self._motion[1:] = self.reference.yaw_rate[...] = 0.0
        self.reference.idle[...], self.reference.segment = True, "idle"

    def differs(self, state: VehicleState) -> bool:
        """Return whether the vehicles need missions of their own: they are to start from different poses.

        Args:
            state: True state.
        """
        if self._count == 1 or self._plan is not None or not self.has_points:
            return False
        from_here = self._relative and not self.begun
        place = state.position[:, 2:] if from_here else state.position - self.columns["origin"]
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

    def split(self) -> list["Mission"]:
        """Return a mission of each vehicle alone, all as far as this one."""
        return [self._part(slice(k, k + 1)) for k in range(self._count)]

    def update(self, t: float, state: VehicleState) -> None:
        """Advance the reference to time t.

        Args:
            t: Simulation time [s].
            state: True state at t.
        """
        if self._alone is None:
            self._alone = OwnTable(self, self._count)
        self._alone.update(t, state)

    def plan(self, t: float) -> Plan | None:
        """Return the rest of the flight plan at time t; None before take-off and after the end.

        Args:
            t: Simulation time [s].
        """
        if self._plan is None or self.finished:
            return None
        return Plan(self._plan, t - self._plan_begin, self.columns["origin"].copy())

    @property
    def begun(self) -> bool:
        """Whether it has been updated since its start; until then it waits for an estimator."""
        return not math.isnan(self._begin)

    @property
    def end(self) -> float:
        """Simulated time at which the trajectory ends [s]; exact from take-off on."""
        return self.duration + (self._begin if self.begun else 0.0)

    @property
    def has_points(self) -> bool:
        """Whether `advance` gives its references; False if a subclass overrides `update`."""
        return type(self).update is Mission.update

    @property
    def members(self) -> list[tuple["Mission", slice]]:
        """Missions that it consists of, with the rows of their copies: itself."""
        return [(self, slice(0, self._count))]

    def name_segment(self) -> None:
        """Update the segment of the reference after a change of a member's."""

    def attach(self, columns: dict[str, Array]) -> None:
        """Use other arrays for the references and what they depend on; values are kept.

        Args:
            columns: The arrays, one row per copy.
        """
        for name, values in self.columns.items():
            columns[name][...] = values
        self.columns, self._alone = columns, None
        for name in REFERENCE:
            setattr(self.reference, name.removeprefix("wanted_"), columns[name])

    def show_modes(self) -> bool:
        """Write the modes of the rotors into the column `mode`; return whether the vehicles lift off."""
        mode = self.columns["mode"]
        if not self.airborne:
            mode[...] = REST if self.finished else IDLE
            return False
        lifts_off = not (mode >= FLY).any()
        mode[...] = START if lifts_off else FLY
        if self.landing:
            mode[self.landed] = REST
        return lifts_off

    def advance(self, times: Array, state: VehicleState) -> Block:
        """Return the coming steps, as far as they do not depend on the state.

        Args:
            times: Times of these steps [s], shape (n,).
            state: True state at the first one.
        """
        t = float(times[0])
        if self._plan is None:
            if math.isnan(self._begin):
                self._arrive(t, state)
            fell = bool((state.position[:, 2] < self.columns["floor"]).any())
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
        return Block(phase, n, points[:n], over[:n], fade)

    def _part(self, own: slice) -> "Mission":
        part = copy.copy(self)
        part._count, part._alone, part.landed = 1, None, self.landed[own].copy()
        part.columns = rows_of(self.columns, own)
        rows = {name: array[own] for name, array in vars(self.reference).items() if name != "segment"}
        part.reference = Reference(**rows, segment=self.reference.segment)
        return part

    @property
    def _motion(self) -> Array:
        """Position, velocity, acceleration and jerk of the reference, shape (4, N, 3)."""
        return self.columns["motion"]

    def _arrive(self, t: float, state: VehicleState) -> None:
        columns, self._begin = self.columns, t
        columns["floor"][...] = state.position[:, 2] - _FREE_FALL
        columns["heading"][...] = self.reference.yaw[...] = state.heading
        columns["origin"][...] = 0.0
        if self._relative:
            columns["origin"][:, :2] = state.position[:, :2]

    def _planned(self, t: float, state: VehicleState, *, grounded: bool) -> sequence:
        """Return the flight from the vehicles' pose; those of a controller `differs` have split before."""
        self._plan_begin = t
        self.columns["floor"][...] = -math.inf
        position: list[float] = (state.position[0] - self.columns["origin"][0]).tolist()
        here = Point(position, yaw=float(self.columns["heading"][0]), idle=grounded)
        plan = sequence(self._trajectory, start=here)
        self.duration = t - self._begin + plan.duration
        return plan

    def _stand(self, state: VehicleState) -> None:
        """Set the reference to the vehicles' headings on the ground."""
        if self.airborne:
            self.airborne = False
            self._motion[1:] = 0.0
            self.reference.yaw[...] = state.heading
            self.reference.yaw_rate[...] = 0.0
            self.reference.idle[...] = True
            self.reference.segment = "idle"

    def _lift_off(self, t: float, point: Array, state: VehicleState) -> None:
        """Start at each vehicle's true position and fade out its offset from the trajectory."""
        self.airborne = True
        self.reference.idle[...] = False
        self._lift_off_time = t
        offset, turn, yaw = self.columns["offset"], self.columns["turn"], point[12]
        offset[...] = state.position - (self.columns["origin"] + point[:3])
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
            self.landed |= self.columns["mode"] == REST
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
