"""Batteries of all vehicles, and their step."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pegasus.base.tracing import column, uniform, uniform_values
from pegasus.contracts.vehicle import Vehicle
from pegasus.core.programs import Numbers, arrays_on, model_argument
from pegasus.dynamics.battery_step import Demand, Supply, drained


class Batteries:
    """Batteries of vehicles, drained step by step.

    Args:
        vehicles: The vehicles, in the order of their rows.
        columns: Columns of all rows.
        device: Device of the columns; on a GPU they are those of one vehicle.
    """

    def __init__(self, vehicles: Sequence[Vehicle], columns: Mapping[str, Any], device: str = "cpu") -> None:
        # Not at the top: it imports Warp, which is not needed to build vehicles.
        from pegasus.base.tracing.launches import Part, Program, program_of

        self._event, self._numbers = Numbers(device, event=0.0), Numbers(device, dt=0.0)
        parts: dict[Program, list[Part]] = {}
        first = 0
        for vehicle in vehicles:
            end = first + vehicle.count
            if vehicle.battery is not None:
                cells = model_argument("cells", vehicle.battery.cells)
                inputs = cells, column("", Supply), column("", Demand), uniform("dt", 0.0)
                program = program_of(
                    drained, *inputs, outputs=("", "event"), count=vehicle.count, device=device
                )
                own = columns if len(vehicles) == 1 else {n: c[first:end] for n, c in columns.items()}
                given = self._event.arrays | self._numbers.arrays | arrays_on(device, uniform_values(cells))
                parts.setdefault(program, []).append(Part({**own, **given}, 0, vehicle.count))
            first = end
        self._launches: list[Callable[[], None]] = [p.launch_parts(own).run for p, own in parts.items()]
        self._dt = 0.0

    def drain(self, dt: float) -> None:
        """Draw the power of the rotors over a step from the batteries.

        Args:
            dt: Length of the step [s].
        """
        if dt != self._dt:
            self._dt = dt
            self._numbers.set("dt", dt)
        for launch in self._launches:
            launch()

    def take_event(self) -> bool:
        """Return whether a battery has become low or has stopped its rotors since this was last asked."""
        happened = self._event.get("event") != 0.0
        if happened:
            self._event.set("event", 0.0)
        return happened
