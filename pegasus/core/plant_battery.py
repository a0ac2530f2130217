"""Batteries of all vehicles, and their step."""

from collections.abc import Mapping, Sequence
from typing import Any

from pegasus.base.tracing import column, uniform, uniform_values
from pegasus.contracts.vehicle import EquippedVehicle
from pegasus.core.programs import Numbers, arrays_on, model_argument, runs_of_one_code
from pegasus.dynamics.battery_step import Demand, Supply, drawn, updated


class Batteries:
    """Batteries of vehicles, drained step by step.

    Args:
        vehicles: The vehicles, in the order of their rows.
        columns: Columns of all rows.
        device: Device of the columns; on a GPU they are those of one vehicle.
    """

    def __init__(
        self, vehicles: Sequence[EquippedVehicle], columns: Mapping[str, Any], device: str = "cpu"
    ) -> None:
        # Not at the top: it imports Warp, which is not needed to build vehicles.
        from pegasus.base.tracing.launches import Part, Program, program_of

        self._event, due = Numbers(device, event=0.0), Numbers(device, due=0.0)
        self._numbers, self._dt = Numbers(device, dt=0.0), 0.0
        self._is_due = due.arrays["due"] if device == "cpu" else None
        shared = self._event.arrays | due.arrays | self._numbers.arrays
        draws: dict[Program, list[Part]] = {}
        updates: dict[Program, list[Part]] = {}
        first = 0
        for vehicle in vehicles:
            cells = vehicle.battery.cells if vehicle.battery is not None else []
            for start, stop in runs_of_one_code(cells):
                count = vehicle.count if len(cells) == 1 else stop - start
                rows = slice(first + start, first + start + count)
                argument = model_argument("cells", cells[start:stop])
                alone = len(vehicles) == 1 and count == vehicle.count
                own = columns if alone else {name: values[rows] for name, values in columns.items()}
                part = Part({**own, **shared} | arrays_on(device, uniform_values(argument)), 0, count)
                inputs = argument, column("", Supply), column("", Demand), uniform("dt", 0.0)
                for law, outputs, parts in ((drawn, ("",), draws), (updated, ("", "event"), updates)):
                    program = program_of(law, *inputs, outputs=outputs, count=count, device=device)
                    parts.setdefault(program, []).append(part)
            first += vehicle.count
        # A thousand rows take less time than to wake a thread.
        self._draws = [program.launch_parts(parts, apart=False).run for program, parts in draws.items()]
        self._updates = [program.launch_parts(parts).run for program, parts in updates.items()]

    def drain(self, dt: float) -> bool:
        """Draw the power of the rotors over a step from the batteries. Return whether there may be an event.

        Args:
            dt: Length of the step [s].
        """
        if dt != self._dt:
            self._dt = dt
            self._numbers.set("dt", dt)
        for launch in self._draws:
            launch()
        # A GPU is not waited for: it looks for itself.
        if self._is_due is not None:
            if not self._is_due[0]:
                return False
            self._is_due[0] = 0.0
        for launch in self._updates:
            launch()
        return True

    def take_event(self) -> bool:
        """Return whether a battery has become low or has stopped its rotors since this was last asked."""
        happened = self._event.get("event") != 0.0
        if happened:
            self._event.set("event", 0.0)
        return happened
