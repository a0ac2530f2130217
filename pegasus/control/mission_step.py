"""Compiled step of missions: the references of all vehicles from points made ahead."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.step_math import Column, Real, Table, Vec3
from pegasus.contracts.state import Reference, VehicleState

BLOCK = 512
"""Largest number of steps for which points are made ahead."""

_NEVER = 2**62
"""Step at which the next points are due of a mission without any."""
_SAME_INSTANT = 1e-6
"""Tolerance of equal times [s]."""

REST, IDLE, FLY, START = 0, 1, 2, 3
"""Rotors of a copy: at rest, idling, controlled, and controlled for the first time."""

STAND, FOLLOW, SETTLE = 0, 1, 2
"""Phases: on the ground, along the trajectory, sinking after a landing."""

_SINK_RATE = 0.1
"""Sink rate of the reference after a landing until ground contact [m/s]."""

_SETTLING = 0.5
"""Time for a vehicle to follow this sink rate before it counts as landed [s]."""


@dataclass
class MissionRows:
    """Copies of vehicles with their references, their missions, and the points of the missions."""

    step: Column[int]
    """Number of the step."""
    event: Column[int]
    """Set to 1 if a copy has left the ground during spin-up, or has landed."""
    called: Column[int]
    """Set to 1 for the mission of such a copy."""
    position: Column[Vec3]
    velocity: Column[Vec3]
    mission: Column[int]
    """Number of a copy's mission; -1 without one."""
    mode: Column[int]
    """State of a copy's rotors, such as `FLY`."""
    floor: Column[Real]
    """Height below which a standing copy has left the ground [m]."""
    origin: Column[Vec3]
    """Origin of the trajectory [m]."""
    heading: Column[Real]
    """Heading of a copy where the trajectory has none [rad]."""
    offset: Column[Vec3]
    """Offset from the trajectory at lift-off [m], which fades out."""
    turn: Column[Real]
    """Offset of the heading at lift-off [rad]."""
    wanted_position: Column[Vec3]
    wanted_velocity: Column[Vec3]
    wanted_acceleration: Column[Vec3]
    wanted_jerk: Column[Vec3]
    wanted_yaw: Column[Real]
    wanted_yaw_rate: Column[Real]
    phase: Column[int]
    """Phase of each mission, such as `FOLLOW`."""
    first_step: Column[int]
    """Step of the first point of each mission."""
    headed: Column[int]
    """1 if the points of a mission have a heading."""
    fading: Column[int]
    """1 while the offsets of a mission fade out."""
    point: Table[Real]
    """Position to jerk, heading and its rate, `BLOCK` rows for each mission."""
    fade: Table[Real]
    """Share of the offsets that is left, and its first three derivatives."""
    over: Column[Real]
    """Time since the end of the trajectory [s]."""


def follow(i: int, rows: MissionRows) -> None:
    """Write the reference of a copy."""
    m = rows.mission[i]
    if m >= 0:
        if rows.phase[m] == STAND:
            rows.wanted_position[i] = rows.position[i]
            if rows.position[i][2] < rows.floor[i]:
                rows.event[0] = 1
                rows.called[m] = 1
        else:
            follow_point(i, m, m * BLOCK + rows.step[0] - rows.first_step[m], rows)


def follow_point(i: int, m: int, k: int, rows: MissionRows) -> None:
    """Write the reference of a copy from row k of the points of mission m."""
    position = point_of(rows.point, k, 0) + rows.origin[i]
    velocity = point_of(rows.point, k, 3)
    acceleration = point_of(rows.point, k, 6)
    jerk = point_of(rows.point, k, 9)
    yaw = rows.heading[i]
    if rows.headed[m] == 1:
        yaw = rows.point[k, 12]
    yaw_rate = rows.point[k, 13]
    if rows.fading[m] == 1:
        position = position + rows.fade[k, 0] * rows.offset[i]
        velocity = velocity + rows.fade[k, 1] * rows.offset[i]
        acceleration = acceleration + rows.fade[k, 2] * rows.offset[i]
        jerk = jerk + rows.fade[k, 3] * rows.offset[i]
        yaw = yaw + rows.fade[k, 0] * rows.turn[i]
        yaw_rate = yaw_rate + rows.fade[k, 1] * rows.turn[i]
    if rows.phase[m] == SETTLE:
        # A copy that does not follow is on the ground.
        position = Vec3(position[0], position[1], position[2] - _SINK_RATE * rows.over[k])
        velocity = Vec3(velocity[0], velocity[1], -_SINK_RATE)
        moving = rows.velocity[i]
        square = moving[0] * moving[0] + moving[1] * moving[1] + moving[2] * moving[2]
        slow = square < (0.5 * _SINK_RATE) * (0.5 * _SINK_RATE)
        if rows.over[k] >= _SETTLING and slow and rows.mode[i] != REST:
            rows.mode[i] = REST
            rows.event[0] = 1
            rows.called[m] = 1
        if rows.mode[i] == REST:
            position = rows.position[i]
            velocity = Vec3(0.0, 0.0, 0.0)
    rows.wanted_position[i] = position
    rows.wanted_velocity[i] = velocity
    rows.wanted_acceleration[i] = acceleration
    rows.wanted_jerk[i] = jerk
    rows.wanted_yaw[i] = yaw
    rows.wanted_yaw_rate[i] = yaw_rate


def point_of(table: Table[Real], k: int, first: int) -> Vec3:
    """Return three numbers of a row as a vector."""
    return Vec3(table[k, first], table[k, first + 1], table[k, first + 2])


REFERENCE = tuple(
    f"wanted_{name}" for name in ("position", "velocity", "acceleration", "jerk", "yaw", "yaw_rate")
)
"""Columns of the reference."""


def mission_columns(count: int) -> dict[str, Array]:
    """Return the own columns of copies: their references, and what these depend on.

    Args:
        count: Number of copies N.
    """
    motion, turning = np.zeros((4, count, 3)), np.zeros((2, count))
    return {
        **dict(zip(REFERENCE, (*motion, *turning), strict=True)),
        "motion": motion,
        "mode": np.zeros(count, dtype=np.int32),
        "floor": np.full(count, -np.inf),
        **{name: np.zeros((count, 3)) for name in ("origin", "offset")},
        **{name: np.zeros(count) for name in ("heading", "turn")},
    }


def rows_of(columns: Mapping[str, Array], part: slice) -> dict[str, Array]:
    """Return some rows of the columns of copies, as views.

    Args:
        columns: Columns as those of `mission_columns`.
        part: The rows.
    """
    return {name: array[:, part] if name == "motion" else array[part] for name, array in columns.items()}


class Block(NamedTuple):
    """Coming steps of a mission; see `MissionRows`."""

    phase: int
    """Phase of these steps."""
    length: int
    """Number of steps n."""
    points: Array | float = 0.0
    """Points of the trajectory, shape (n, 14); their heading is NaN without one."""
    over: Array | float = 0.0
    """Time since its end [s], shape (n,)."""
    fade: Array | None = None
    """Share of the offsets that is left, and its derivatives, shape (n, 4); None without offsets."""


class SharedMission(Protocol):
    """Mission of the copies of a vehicle, which may consist of several."""

    @property
    def has_points(self) -> bool:
        """Whether `advance` gives its references."""

    @property
    def members(self) -> Sequence[tuple["OneMission", slice]]:
        """Missions that it consists of, with the rows of their copies."""

    @property
    def columns(self) -> Mapping[str, Array]:
        """References and what they depend on by name, one row per copy."""

    def attach(self, columns: dict[str, Array]) -> None:
        """Use other arrays for them; values are kept."""

    def name_segment(self) -> None:
        """Update the segment of the reference after a change of a member's."""


class OneMission(Protocol):
    """Mission whose copies fly one trajectory."""

    @property
    def reference(self) -> Reference:
        """Reference of the present step."""

    @property
    def columns(self) -> Mapping[str, Array]:
        """References and what they depend on by name, one row per copy."""

    @property
    def begun(self) -> bool:
        """Whether it has been updated since its start."""

    def advance(self, times: Array, state: VehicleState) -> Block:
        """Return the coming steps, as far as they do not depend on the state."""

    def update(self, t: float, state: VehicleState) -> None:
        """Set the reference of a step."""

    def show_modes(self) -> bool:
        """Write the modes of the rotors into the column `mode`; return whether the vehicles lift off."""


class MissionTable:
    """Missions of several vehicles, their points, and the launch of their step.

    Args:
        vehicles: The missions of the vehicles with their states, and the rows of their copies.
        bodies: Columns `position` and `velocity` of M copies.
    """

    def __init__(
        self,
        vehicles: Sequence[tuple[SharedMission, VehicleState, slice]],
        bodies: Mapping[str, Array],
    ) -> None:
        rows = len(bodies["position"])
        self.columns = mission_columns(rows)
        """Columns of the copies by name, M rows each."""
        number: Array = np.full(rows, -1, dtype=np.int32)
        self._missions: list[tuple[OneMission, VehicleState, slice]] = []
        self._vehicles: list[tuple[int, SharedMission]] = []
        self._steered: list[int] = []
        for owner, (whole, state, part) in enumerate(vehicles):
            if whole.has_points:
                whole.attach(rows_of(self.columns, part))
            for mission, copies in whole.members:
                k, own = len(self._missions), slice(part.start + copies.start, part.start + copies.stop)
                if whole.has_points:
                    number[own] = k
                else:
                    self._steered.append(k)
                self._missions.append((mission, state.of(copies), own))
                self._vehicles.append((owner, whole))
        count = len(self._missions)
        self._step, self._event = np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.int32)
        self._points = np.zeros((count, BLOCK, 14))
        self._fades, self._over = np.zeros((count, BLOCK, 4)), np.zeros((count, BLOCK))
        names = ("phase", "first_step", "headed", "fading")
        self._signals = {name: np.zeros(count, dtype=np.int32) for name in names}
        self._called = np.zeros(count, dtype=np.int32)
        self._due = np.zeros(count, dtype=np.int64)
        self._due[self._steered] = _NEVER
        self._arrays: dict[str, Any] = {
            **self.columns,
            **self._signals,
            **{name: bodies[name] for name in ("position", "velocity")},
            **{"step": self._step, "event": self._event, "called": self._called, "mission": number},
            "point": self._points.reshape(-1, 14),
            "fade": self._fades.reshape(-1, 4),
            "over": self._over.reshape(-1),
        }
        self._next = 0
        self._ready = bodies.get("ready")
        self._launch: Callable[[], None] | None = None
        modes = [whole.columns["mode"] for whole, _, _ in vehicles]
        self.started = {owner for owner, mode in enumerate(modes) if (mode == START).any()}
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
        self._step[0] = step
        self._run()
        if self._event[0]:
            # The missions of these copies go on otherwise, so that the references are made again.
            self._advance(np.flatnonzero(self._called).tolist(), step, times())
            self._run()
            self._event[0] = self._called[...] = 0
        for k in self._steered:
            self._steer(k, t)

    def renew(self, missions: Collection[OneMission]) -> None:
        """Make the points of missions that were restarted anew at the next update.

        Args:
            missions: The missions.
        """
        self._due[[k for k, (mission, _, _) in enumerate(self._missions) if mission in missions]] = 0
        self._next = 0

    def _advance(self, numbers: Sequence[int], step: int, times: Array) -> None:
        """Make the points of missions ahead; those of many missions end at different steps."""
        count = len(self._missions)
        for k in numbers:
            mission, state, part = self._missions[k]
            segment = mission.reference.segment
            if self._waits(mission, part):
                block = Block(STAND, 1)
            else:
                block = mission.advance(times[: BLOCK - (step + k * BLOCK // count) % BLOCK], state)
            self._show(k, segment)
            n = block.length
            if block.phase != STAND:
                self._points[k, :n], self._over[k, :n] = block.points, block.over
            if block.fade is not None:
                self._fades[k, :n] = block.fade
            headed, fading = not np.isnan(self._points[k, 0, 12]), block.fade is not None
            for name, value in zip(self._signals, (block.phase, step, headed, fading), strict=True):
                self._signals[name][k] = value
            self._due[k] = step + n
        self._next = int(self._due.min())

    def _steer(self, k: int, t: float) -> None:
        """Copy the reference of a mission that overrides `update`."""
        mission, state, part = self._missions[k]
        if self._waits(mission, part):
            return
        mission.update(t, state)
        self._show(k, mission.reference.segment)
        for name in ("wanted_yaw", "wanted_yaw_rate", "mode"):
            self.columns[name][part] = mission.columns[name]
        self.columns["motion"][:, part] = mission.columns["motion"]

    def _waits(self, mission: OneMission, part: slice) -> bool:
        """Return whether a mission that has not begun waits for estimates of its copies."""
        return self._ready is not None and not mission.begun and not self._ready[part].all()

    def _show(self, k: int, segment: str) -> None:
        """Show the modes of a mission, and its segment if that is not the one before."""
        mission, (owner, whole) = self._missions[k][0], self._vehicles[k]
        if mission.show_modes():
            self.started.add(owner)
        if mission.reference.segment != segment:
            whole.name_segment()

    def _run(self) -> None:
        if self._launch is None:
            # Not at the top: it imports Warp, which is not needed to plan missions.
            from pegasus.base.compiler import Rows, shared_kernel

            rows = Rows(MissionRows, self._arrays)
            self._launch = shared_kernel(follow).launch(rows, len(self._arrays["mission"]))
        self._launch()


class OwnTable:
    """Table of one vehicle that is updated one time after another.

    Args:
        mission: The mission.
        count: Number of copies N.
    """

    saved_as = "nothing"

    def __init__(self, mission: SharedMission, count: int) -> None:
        self._state, self._update_count = VehicleState.at_rest(count, 0), 0
        bodies = {"position": self._state.position, "velocity": self._state.velocity}
        self._table = MissionTable([(mission, self._state, slice(0, count))], bodies)
        self._mission, self._interval, self._expected = mission, 0.0, 0.0

    def update(self, t: float, state: VehicleState, interval: float = 0.0) -> None:
        """Advance the references to a time.

        Args:
            t: Simulation time [s].
            state: True state at t.
            interval: Time until the next update [s], 0 if unknown: points are made ahead for many updates.
        """
        for name in ("position", "velocity", "rotation"):
            getattr(self._state, name)[...] = getattr(state, name)
        if self._interval and abs(t - self._expected) > _SAME_INSTANT:
            self._table.renew([member for member, _ in self._mission.members])
        self._interval, self._expected = interval, t + interval
        count = BLOCK if interval else 1
        self._table.update(self._update_count, t, lambda: t + interval * np.arange(count, dtype=np.float64))
        self._update_count += 1
