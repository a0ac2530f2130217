"""Bank of controllers: one table of missions, and one of each compiled step, for all vehicles."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.contracts.backend import BackendBank
from pegasus.control.control_step import STATE, ControlStep, ControlTable
from pegasus.control.mission import Mission
from pegasus.control.mission_step import BLOCK, REFERENCE, START, MissionTable
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
    is_arranged: bool
    """False after a change of a mission."""
    _next_look_up: float
    _missions: MissionTable

    def __init__(self, driven: Sequence[Driven], bodies: Mapping[str, Array], rate: float) -> None:
        self._driven, self._bodies, self._rate = list(driven), bodies, rate
        self._elapsed, self._fault = np.zeros(1), np.zeros(1, dtype=np.int32)
        self._batches = [(vehicle, controller) for vehicle, controller, _ in driven if vehicle.count > 1]
        self._alone = [vehicle for vehicle, controller, _ in driven if controller.step is None]
        self._arrange()

    def renew(self, missions: Collection[Mission]) -> None:
        """Begin missions that were restarted anew at the next `publish`.

        Args:
            missions: The missions.
        """
        self._missions.renew(missions)

    def publish(self, step: int, t: float) -> None:
        """Advance all missions, and look up gravity and air where they are due.

        Args:
            step: Number of the step.
            t: Simulation time [s].
        """
        for vehicle, controller in self._batches:
            controller.split_mission(vehicle.feedback)
        if not self.is_arranged:
            self._arrange()
        if t >= self._next_look_up:
            self._next_look_up = min(c.look_up(t, vehicle.feedback) for vehicle, c, _ in self._driven)
        self._missions.update(step, t, lambda: (step + np.arange(BLOCK)) / self._rate)

    def command(self, t: float, dt: float) -> None:
        """Write the rotor speeds of all vehicles.

        Args:
            t: Simulation time [s].
            dt: Time since the previous command [s].

        Raises:
            ConfigError: If one is not finite.
        """
        for k in self._missions.started:
            controller = self._driven[k][1]
            if controller.step is not None:
                controller.reset(np.flatnonzero(controller.mission.columns["mode"] == START))
        self._elapsed[0] = dt
        for table in self._tables:
            table.run()
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
        self._next_look_up = -math.inf
        rows = [slice(first, first + vehicle.count) for vehicle, _, first in self._driven]
        found: dict[Any, list[tuple[ControlStep, slice]]] = {}
        for (_, controller, _), part in zip(self._driven, rows, strict=True):
            controller.join(self)
            step = controller.step
            if step is not None:
                found.setdefault(step.compiled if step.is_joinable else step, []).append((step, part))
        missions = [(c.mission, v.feedback, part) for (v, c, _), part in zip(self._driven, rows, strict=True)]
        self._missions = MissionTable(missions, self._bodies)
        shared: dict[str, Any] = {
            **{name: self._bodies[name] for name in STATE},
            **{name: self._missions.columns[name] for name in (*REFERENCE, "mode")},
            "rotor_speed": self._bodies["command"],
        }
        signals: dict[str, Any] = {"elapsed": self._elapsed, "fault": self._fault}
        self._tables = [ControlTable(steps, shared, signals) for steps in found.values()]
