"""Bank of controllers of planes: their laws in one launch for each structure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.step_math import Vec3
from pegasus.base.tracing import column, structure, uniform, uniform_values
from pegasus.base.tracing.launches import Part, program_of, rows_of
from pegasus.contracts.backend import BackendBank
from pegasus.control.fixed_wing.legs import Leg
from pegasus.control.fixed_wing.wind import Pitot, WindState, observed_wind
from pegasus.control.mission_step import Motion, setpoint_arrays
from pegasus.core.backend_bank import Driven
from pegasus.core.backend_group import not_finite


class PlaneBank(BackendBank):
    """Controllers of several planes, whose laws run in one launch for each structure.

    Args:
        driven: The vehicles with their controllers, in the order of their rows.
        bodies: Columns of all copies of all vehicles by name, M rows each.
        rate: Physics rate [Hz].
    """

    saved_as = "nothing"

    def __init__(self, driven: Sequence[Driven], bodies: Mapping[str, Array], rate: float) -> None:
        self._driven, self._bodies = list(driven), bodies
        self._elapsed, self._event, self._fault = np.zeros(1), np.zeros(1), np.zeros(1)
        self._arrange()

    def publish(self, step: int, t: float) -> None:
        """Begin flights that are to begin; see `BackendBank.publish`."""
        if any(controller.rearranged for _, controller, _ in self._driven):
            self._arrange()
        for vehicle, controller, _ in self._driven:
            controller.begin_step(t, vehicle.feedback)

    def command(self, t: float, dt: float) -> None:
        """Write the commands of all vehicles; see `BackendBank.command`.

        Raises:
            ConfigError: If one is not finite.
        """
        self._elapsed[0] = dt if math.isfinite(dt) else 0.0
        for launch in (*self._observers, *self._launches):
            launch()
        if self._fault[0]:
            self._fault[0] = 0.0
            for vehicle, controller, _ in self._driven:
                if not np.isfinite(vehicle.columns["command"]).all():
                    raise not_finite(controller, vehicle, vehicle.columns["command"], t)
        if self._event[0]:
            self._event[0] = 0.0
            for (_, controller, _), over in zip(self._driven, self._over, strict=True):
                controller.go_on(over)

    def _arrange(self) -> None:
        found: dict[Any, tuple[Any, Any, list[Part]]] = {}
        observed: dict[Any, tuple[Any, list[Part]]] = {}
        self._over = []
        for vehicle, controller, first in self._driven:
            controller.rearranged = False
            count, rows = vehicle.count, slice(first, first + vehicle.count)
            given = uniform("own", controller.gains), uniform("p", controller.figures)
            over = np.zeros(count)
            self._over.append(over)
            arrays = {
                **{name: array for argument in given for name, array in uniform_values(argument).items()},
                **{f"leg.{name}": array for name, array in controller.mission.columns.items()},
                **{f"motion.{f.name}": self._bodies[f.name][rows] for f in fields(Motion)},
                "wind": controller.air["state.wind"] if controller.air else self._bodies["wind"][rows],
                **{name: self._bodies[name][rows] for name in ("air_density", "gravity")},
                **{f"state.{name}": array for name, array in controller.columns.items()},
                **setpoint_arrays(controller.reference),
                **{"elapsed": self._elapsed, "command": vehicle.columns["command"], "over": over},
                **{"event": self._event, "fault": self._fault},
            }
            if controller.observes:
                numbers = uniform("axes", controller.flight_axes), uniform("p", controller.wings)
                names = "position", "orientation", "velocity", "angular_velocity", "air_density", "gravity"
                seen = {
                    name: array for name, array in arrays.items() if name.removeprefix("motion.") in names
                }
                seen |= {
                    **uniform_values(numbers[0]),
                    **uniform_values(numbers[1]),
                    **controller.air,
                    "elapsed": self._elapsed,
                }
                observed.setdefault(tuple(map(structure, numbers)), (numbers, []))[1].append(
                    Part(seen, 0, count)
                )
            kind = controller.law, *map(structure, given)
            found.setdefault(kind, (controller, given, []))[2].append(Part(arrays, 0, count))
        self._observers = []
        for numbers, parts in observed.values():
            program = program_of(
                observed_wind,
                *numbers,
                *(column("motion", Motion), column("pitot", Pitot), column("air_density")),
                *(column("gravity", Vec3), column("state", WindState), uniform("elapsed", 0.0)),
                outputs=("state",),
                count=rows_of(parts),
            )
            self._observers.append(program.launch_parts(parts).run)
        self._launches = []
        for controller, given, parts in found.values():
            program = program_of(
                controller.law,
                *given,
                *(column("leg", Leg), column("motion", Motion), column("wind", Vec3), column("air_density")),
                *(column("gravity", Vec3), column("state", controller.law_state), uniform("elapsed", 0.0)),
                outputs=("command", "setpoint", "state", "over", "event", "fault"),
                count=rows_of(parts),
            )
            self._launches.append(program.launch_parts(parts).run)
