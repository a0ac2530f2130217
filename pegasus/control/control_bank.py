"""Bank of controllers: one table of missions, and one of each compiled step, for all vehicles."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.contracts.backend import BackendBank
from pegasus.control.control_step import ControlStep, launch_of
from pegasus.control.mission import Course
from pegasus.control.mission_step import BLOCK, START, motion_arrays, setpoint_arrays
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
    is_arranged: bool
    """False after a change of a mission."""
    _next_look_up: float
    _missions: MissionTable

    def __init__(self, driven: Sequence[Driven], bodies: Mapping[str, Array], rate: float) -> None:
        self._driven, self._bodies, self._rate = list(driven), bodies, rate
        self._elapsed, self._fault = np.zeros(1), np.zeros(1)
        self._batches = [(vehicle, controller) for vehicle, controller, _ in driven if vehicle.count > 1]
        self._alone = [vehicle for vehicle, controller, _ in driven if controller.step is None]
        self._arrange()

    def renew(self, courses: Collection[Course]) -> None:
        """Begin courses that were restarted anew at the next `publish`.

        Args:
            courses: The courses.
        """
        self._missions.renew(courses)

    def publish(self, step: int, t: float) -> None:
        """Advance all missions, and look up gravity and air where they are due.

        Args:
            step: Number of the step.
            t: Simulation time [s].
        """
        for vehicle, controller in self._batches:
            if controller.mission.split(vehicle.feedback):
                self.is_arranged = False
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
                controller.reset(np.flatnonzero(controller.mission.mode == START))
        self._elapsed[0] = dt
        for launch in self._launches:
            launch()
        for command, speed in self._copied:
            command[...] = speed
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
        missions = [(c.mission, v.feedback, part) for (v, c, _), part in zip(self._driven, rows, strict=True)]
        self._missions = MissionTable(missions, self._bodies)
        found: dict[Any, list[tuple[ControlStep, Mapping[str, Array]]]] = {}
        self._copied: list[tuple[Array, Array]] = []
        for (vehicle, controller, _), part in zip(self._driven, rows, strict=True):
            controller.bank_in_use = self
            step = controller.step
            if step is not None:
                shared = motion_arrays(self._bodies, part) | setpoint_arrays(controller.mission.reference)
                shared |= {"mode": controller.mission.mode}
                shared |= {"elapsed": self._elapsed, "fault": self._fault}
                command = vehicle.columns["command"]
                if command.flags.c_contiguous:
                    shared["rotor_speed"] = command
                else:
                    # Of a vehicle that has fewer rotors than others.
                    self._copied.append((command, step.arrays["rotor_speed"]))
                found.setdefault(step.kind, []).append((step, shared))
        self._launches = [launch_of(steps).run for steps in found.values()]
