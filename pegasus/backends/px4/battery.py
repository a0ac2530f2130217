"""Battery of a vehicle as BATTERY_STATUS to its PX4s."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from pegasus.backends.mavlink.link import Link, LinkClosedError
from pegasus.backends.mavlink.messages import encode, make_message
from pegasus.dynamics.battery_state import BatteryState

OWN_BATTERY = "SIM_BAT_ENABLE"
"""PX4 parameter: 1 for a battery that PX4 simulates itself, 0 for one that it is told of."""
_INTERVAL = 0.2
"""Simulated time between messages [s]."""
_SAME_INSTANT = 1e-6
"""Tolerance of equal times [s]."""
_COMPONENT = 180
"""Component id of a battery; PX4 accepts the message only from another component of its own system."""
_MAX_CELLS, _NO_CELL = 10, 65535
_MAX_INT16 = 32767
_UNKNOWN_TEMPERATURE = _MAX_INT16
_ALL_FUNCTIONS, _LITHIUM_POLYMER = 1, 1


class BatteryTelemetry:
    """Sender of the batteries of a vehicle's N copies, each to its PX4.

    Args:
        links: Function that opens a link to each autopilot.
        systems: System id of each.
        battery: The batteries.
    """

    def __init__(
        self, links: Sequence[Callable[[], Link]], systems: Sequence[int], battery: BatteryState
    ) -> None:
        self._links = [open_link() for open_link in links]
        self._systems, self._battery = systems, battery
        self._sequence = 0
        self.due = -math.inf
        """Time of the next message [s]."""

    def update(self, t: float, *, present: Sequence[bool]) -> None:
        """Send the messages that are due at time t.

        Args:
            t: Simulation time [s].
            present: Whether each autopilot is connected.
        """
        if t < self.due:
            return
        self.due = t + _INTERVAL - _SAME_INSTANT
        battery = self._battery
        columns = (battery.voltage.tolist(), battery.current.tolist(), battery.charge.tolist())
        for copy, state in enumerate(zip(*columns, strict=True)):
            if not present[copy]:
                continue
            pack = battery.battery
            message = battery_message(*state, cell_count=pack.cell_count, capacity=pack.capacity)
            data = encode(message, sequence=self._sequence, system=self._systems[copy], component=_COMPONENT)
            try:
                self._links[copy].send(data)
            except LinkClosedError:
                continue
        self._sequence += 1

    def close(self) -> None:
        """Close the links."""
        for link in self._links:
            link.close()


def battery_message(
    voltage: float, current: float, charge: float, *, cell_count: int, capacity: float
) -> Any:
    """Return the BATTERY_STATUS of a battery; more than ten cells are sent as ten of the same total voltage.

    Args:
        voltage: Voltage of the pack under load [V].
        current: Current [A].
        charge: State of charge, 0 to 1.
        cell_count: Number of cells in series.
        capacity: Charge when full [A h].
    """
    count = min(cell_count, _MAX_CELLS)
    cell = max(0, min(round(1e3 * voltage / count), _NO_CELL - 1))
    return make_message(
        "BATTERY_STATUS",
        current_consumed=round(1e3 * capacity * (1.0 - charge)),
        energy_consumed=-1,
        temperature=_UNKNOWN_TEMPERATURE,
        voltages=(*[cell] * count, *[_NO_CELL] * (_MAX_CELLS - count)),
        current_battery=max(-_MAX_INT16, min(round(100.0 * current), _MAX_INT16)),
        id=0,
        battery_function=_ALL_FUNCTIONS,
        type=_LITHIUM_POLYMER,
        battery_remaining=round(100.0 * charge),
    )
