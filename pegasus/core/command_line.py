"""Commands of a vehicle on their way to its drives, where faults delay or hold them."""

from collections.abc import Mapping

import numpy as np

from pegasus.base.arrays import Array, IntArray
from pegasus.contracts.vehicle import Vehicle


def resting(vehicle: Vehicle) -> Array:
    """Return the commands of a vehicle at rest, in the units of its channels, shape (N, U).

    Args:
        vehicle: The vehicle.
    """
    return np.tile([channel.idle for channel in vehicle.channels], (vehicle.count, 1))


class CommandLine:
    """Commands of a vehicle since the first fault began that acts now, in the units of its channels.

    Args:
        vehicle: The vehicle, of N copies with U channels.
    """

    def __init__(self, vehicle: Vehicle) -> None:
        self._vehicle = vehicle
        self._sent: list[Array] = []
        """Commands of the last steps, the newest last, shape (N, U) each."""
        self._lag: IntArray = np.zeros((vehicle.count, 0), dtype=np.int64)
        self._reached: Array = np.zeros((vehicle.count, 0))
        """Commands that the drives had in the last step, shape (N, U)."""

    def clear(self) -> None:
        """Forget all commands."""
        self._sent = []

    def begin(self, command: Array) -> None:
        """Note the commands of the last step when a fault begins.

        Args:
            command: The commands, shape (N, U).
        """
        if not self._sent:
            self._sent, self._reached = [command.copy()], command.copy()
            self._lag = np.zeros(command.shape, dtype=np.int64)

    def forget(self, rows: IntArray) -> None:
        """Take the drives of copies as at rest, without commands on their way.

        Args:
            rows: Indices of the copies.
        """
        if not self._sent:
            return
        rest = resting(self._vehicle)[rows]
        for values in (*self._sent, self._reached):
            values[rows] = rest
        self._lag[rows] = 0

    def pass_on(self, columns: Mapping[str, Array]) -> None:
        """Set the commands that reach the drives in place of the given ones.

        A command is late by the sum of the delays, and none comes twice: a delay that begins or grows is felt
        as commands that fail to come. A drive that holds its command holds that which reached it last.

        Args:
            columns: `command`, `command_delay`, `command_held` and `override` by name.
        """
        delay, held = columns["command_delay"], columns["command_held"] != 0.0
        if not delay.any() and not held.any():
            self.clear()
            return
        self._lag = np.minimum(self._lag + 1, delay.astype(np.int64))
        self._sent = [*self._sent, columns["command"].copy()][-1 - int(delay.max()) :]
        arrived = self._sent[-1].copy()
        for lag in np.unique(self._lag[self._lag > 0]).tolist():
            late = self._lag == lag
            arrived[late] = self._sent[-1 - lag][late]
        self._reached = np.where(held, self._reached, arrived)
        override = columns["override"]
        # A servo that is stuck does not wait for commands.
        late = np.isnan(override) & (held | (self._lag > 0))
        override[late] = self._reached[late]
