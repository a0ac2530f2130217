"""Warnings of commands that keep a vehicle on the ground, or that are beyond the limits of its channels."""

import logging
from typing import Any

import numpy as np

from pegasus.contracts.backend import Backend
from pegasus.contracts.vehicle import Vehicle

_log = logging.getLogger(__name__)

_PATIENCE = 5.0
"""Time without a command after which it is warned [s]."""
_FEW = 100
"""Number of commands other than zero that are looked at."""
_SLOW = 0.02
"""Share of the upper limit of a channel that a throttle of 1 must not reach to be taken for one."""


class CommandWatch:
    """Looks at the first commands of a driving backend: none at all, too large, or throttles for speeds."""

    def __init__(self) -> None:
        self.is_open = True
        """True until it has seen enough commands."""
        self._first: float | None = None
        self._seen = self._throttles = 0

    def see(self, answer: Any, driver: Backend, vehicle: Vehicle, t: float) -> None:
        """Look at a command, and warn once.

        Args:
            answer: What the backend returned.
            driver: The backend.
            vehicle: The vehicle.
            t: Simulation time [s].
        """
        self._first = t if self._first is None or t < self._first else self._first
        name, channels = type(driver).__name__, vehicle.channels
        if answer is None:
            if t - self._first >= _PATIENCE:
                self.is_open = False
                _log.warning(
                    "command of %s for vehicle %r has returned None for %g s: it gets the commands at rest; "
                    "return an array of shape (%d, %d), for each copy %s",
                    *(name, vehicle.name, _PATIENCE, vehicle.count, len(channels)),
                    ", ".join(map(str, channels)),
                )
            return
        command = np.asarray(answer)
        if command.dtype.kind not in "fiu" or command.shape != (vehicle.count, len(channels)):
            self.is_open = False
        elif command.any():
            self._seen += 1
            low, high = np.array([(channel.low, channel.high) for channel in channels]).T
            slow = high * _SLOW >= 1.0
            speeds = command[:, slow]
            self._throttles += bool(speeds.any() and (speeds >= 0.0).all() and (speeds <= 1.0).all())
            beyond = np.isfinite(command) & ((command < low) | (command > high))
            if beyond.any():
                self.is_open = False
                copy, k = (int(found[0]) for found in np.nonzero(beyond))
                _log.warning(
                    "command of %s for vehicle %r at t = %g s, copy %d: %.4g is beyond %s, and clipped",
                    *(name, vehicle.name, t, copy, command[copy, k], channels[k]),
                )
            elif self._seen == _FEW:
                self.is_open = False
                if self._throttles == _FEW:
                    _log.warning(
                        "all commands of %s for vehicle %r are from 0 to 1, like throttles; it takes %s",
                        *(name, vehicle.name, channels[int(slow.argmax())]),
                    )
