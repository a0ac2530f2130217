"""Bank of controllers: the missions of all vehicles in a table, compiled laws by their kinds."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.contracts.backend import BackendBank
from pegasus.contracts.state import VehicleState
from pegasus.control.control_step import ControlStep, launch_of
from pegasus.control.mission import Course, Mission
from pegasus.control.mission_step import BLOCK, START
from pegasus.control.mission_table import MissionTable
from pegasus.core.backend_bank import Driven
from pegasus.core.backend_group import not_finite


class ControlBank(BackendBank):
    """Controllers of several vehicles: missions and compiled laws in tables, the rest one by one.

    Args:
        driven: The vehicles with their controllers, in the order of their rows.
        bodies: Columns of all copies of all vehicles by name, M rows each.
        rate: Physics rate [Hz].
    """

    saved_as = "nothing"
    _missions: MissionTable
    _next_look_up: float

    def __init__(self, driven: Sequence[Driven], bodies: Mapping[str, Array], rate: float) -> None:
        self._driven, self._bodies, self._rate = list(driven), bodies, rate
        self._elapsed, self._fault = np.zeros(1), np.zeros(1)
        self._alone = [vehicle for vehicle, controller, _ in driven if controller.step is None]
        self._arrange()

    def renew(self, courses: Collection[Course]) -> None:
        """Begin courses that were restarted anew at the next `publish`."""
        self._missions.renew(courses)

    def publish(self, step: int, t: float) -> None:
        """Advance all missions, and look up gravity and air where they are due; see `BackendBank.publish`."""
        if not self.is_arranged:
            self._arrange()
        if t >= self._next_look_up:
            self._next_look_up = min(c.look_up(t, vehicle.feedback) for vehicle, c, _ in self._driven)
        self._missions.update(step, t, lambda: (step + np.arange(BLOCK)) / self._rate)

    def command(self, t: float, dt: float) -> None:
        """Write the rotor speeds of all vehicles; see `BackendBank.command`.

        Raises:
            ConfigError: If one is not finite.
        """
        for k in self._missions.started:
            controller = self._driven[k][1]
            if controller.step is not None:
                controller.reset(np.flatnonzero(controller.mission.mode == START))
        self._elapsed[0] = dt
        for launch in self._launches:
            launch()
        if self._fault[0]:
            self._fault[0] = 0
            for vehicle, controller, _ in self._driven:
                command = vehicle.columns["command"]
                if not np.isfinite(command).all():
                    raise not_finite(controller, vehicle, command, t)
        for vehicle in self._alone:
            vehicle.columns["command"][...] = vehicle.backends.command(vehicle, t)

    def _arrange(self) -> None:
        """Make the tables; missions, states and references are kept."""
        self.is_arranged = True
        """False after a change of a mission."""
        self._next_look_up = -math.inf
        missions: list[tuple[Mission, VehicleState, slice]] = []
        found: dict[Any, list[tuple[ControlStep, Mapping[str, Array]]]] = {}
        for vehicle, controller, first in self._driven:
            rows, mission = slice(first, first + vehicle.count), controller.mission
            missions.append((mission, vehicle.feedback, rows))
            controller.bank_in_use = self
            if controller.step is not None:
                arrays = mission.arrays(self._bodies, rows)
                arrays |= {"elapsed": self._elapsed, "fault": self._fault}
                # The command of a vehicle with fewer rotors than others has room at the end of its rows.
                arrays["rotor_speed"] = vehicle.columns["command"]
                found.setdefault(controller.step.kind, []).append((controller.step, arrays))
        self._missions = MissionTable(missions, self._bodies)
        self._launches = [launch_of(steps).run for steps in found.values()]
