"""Missions of the copies of one vehicle that differ: one for each copy."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array, BoolArray
from pegasus.contracts.state import Plan, Reference, VehicleState
from pegasus.control.mission import Mission
from pegasus.control.mission_step import REFERENCE, OwnTable, mission_columns, rows_of
from pegasus.control.trajectories import hold

_SEVERAL = "mixed"
"""Segment of a reference whose copies fly different segments."""


class MissionGroup:
    """Missions of N vehicles, one of each, with the attributes of a `Mission`.

    Args:
        missions: The missions, of one vehicle each.
    """

    has_points = True

    def __init__(self, missions: Sequence[Mission]) -> None:
        self.missions = tuple(missions)
        """The missions, in the order of the copies."""
        count = len(self.missions)
        self.members = [(mission, slice(k, k + 1)) for k, mission in enumerate(self.missions)]
        """The missions with the rows of their copies."""
        idle = np.ones(count, dtype=bool)
        for mission, part in self.members:
            idle[part] = mission.reference.idle
            mission.reference.idle = idle[part]
        self.columns = mission_columns(count)
        parts = {name.removeprefix("wanted_"): self.columns[name] for name in REFERENCE}
        self.reference = Reference(**parts, idle=idle, segment="idle")
        """Reference of the vehicles at the last `update`; live arrays."""
        self._alone: OwnTable | None = None
        self._attach_members()
        self.name_segment()

    @property
    def begun(self) -> bool:
        """Whether all missions have been updated since their start."""
        return all(mission.begun for mission in self.missions)

    @property
    def airborne(self) -> bool:
        """True if at least one vehicle follows the reference."""
        return any(mission.airborne for mission in self.missions)

    @property
    def landing(self) -> bool:
        """True if at least one vehicle has ended its last landing, and settles or stands."""
        return any(mission.landing for mission in self.missions)

    @property
    def landed(self) -> BoolArray:
        """Vehicles that have completed the last landing, shape (N,)."""
        return np.concatenate([mission.landed for mission in self.missions])

    @property
    def finished(self) -> bool:
        """True if every mission is finished."""
        return all(mission.finished for mission in self.missions)

    @property
    def duration(self) -> float:
        """Longest time from the start to the end of a trajectory [s]."""
        return max(mission.duration for mission in self.missions)

    def update(self, t: float, state: VehicleState) -> None:
        """Advance the references to time t.

        Args:
            t: Simulation time [s].
            state: True state at t.
        """
        if self._alone is None:
            self._alone = OwnTable(self, len(self.missions))
        self._alone.update(t, state)

    def plan(self, t: float) -> Plan | None:
        """Return the rest of the flights at time t; None if none has one.

        Args:
            t: Simulation time [s].
        """
        plans = [mission.plan(t) for mission in self.missions]
        first = next((plan for plan in plans if plan is not None), None)
        if first is None:
            return None
        position = self.reference.position.copy()
        stays = [
            _staying(position[part]) if plan is None else plan
            for plan, (_, part) in zip(plans, self.members, strict=True)
        ]
        origin = np.concatenate([plan.origin for plan in stays])
        return GroupPlan(first.trajectory, first.clock, origin, tuple(stays))

    def attach(self, columns: dict[str, Array]) -> None:
        """Use other arrays for the references and what they depend on; values are kept.

        Args:
            columns: The arrays, one row per copy.
        """
        self.columns, self._alone = columns, None
        for name in REFERENCE:
            setattr(self.reference, name.removeprefix("wanted_"), columns[name])
        self._attach_members()

    def name_segment(self) -> None:
        """Update the segment of the reference after a change of a member's."""
        names = {mission.reference.segment for mission in self.missions}
        self.reference.segment = names.pop() if len(names) == 1 else _SEVERAL

    def _attach_members(self) -> None:
        for mission, part in self.members:
            mission.attach(rows_of(self.columns, part))


@dataclass(frozen=True, eq=False)
class GroupPlan(Plan):
    """Remaining flights of N vehicles; trajectory and clock are those of the first vehicle that has one."""

    plans: tuple[Plan, ...]
    """Remaining flight of each vehicle."""

    def path(self, copy: int = 0, *, horizon: float = 30.0, interval: float = 0.2) -> Array:
        """Return the coming points of the path of one vehicle [m], shape (K, 3).

        Args:
            copy: Index of the vehicle.
            horizon: Longest time up to the last point [s].
            interval: Time from one point to the next [s].
        """
        return self.plans[copy].path(horizon=horizon, interval=interval)


def _staying(position: Array) -> Plan:
    """Return the plan of a vehicle without a flight ahead."""
    place = hold(position=(0.0, 0.0, 0.0), duration=1.0)
    return Plan(place, place.duration, position)
