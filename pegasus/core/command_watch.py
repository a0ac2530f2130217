"""Warnings of commands that keep a vehicle on the ground."""

import logging
from typing import Any

import numpy as np

from pegasus.contracts.backend import Backend
from pegasus.contracts.vehicle import Vehicle

_log = logging.getLogger(__name__)

_PATIENCE = 5.0
"""Time without a command after which it is warned [s]."""
_FEW = 100
"""Number of commands that are looked at."""
_SLOW = 0.02
"""Share of the maximum rotor speed that a throttle of 1 must not reach to be taken for one."""


class CommandWatch:
    """Looks at the first commands of a driving backend: none at all, or throttles in place of speeds."""

    def __init__(self) -> None:
        self.is_open = True
        """True until it has seen enough commands."""
        self._first: float | None = None
        self._throttles = 0

    def see(self, answer: Any, driver: Backend, vehicle: Vehicle, t: float) -> None:
        """Look at a command, and warn once.

        Args:
            answer: What the backend returned.
            driver: The backend.
            vehicle: The vehicle.
            t: Simulation time [s].
        """
        self._first = t if self._first is None or t < self._first else self._first
        name = type(driver).__name__
        shape = vehicle.state.rotor_speed.shape
        if answer is None:
            if t - self._first >= _PATIENCE:
                self.is_open = False
                _log.warning(
                    "command of %s for vehicle %r has returned None for %g s: its rotors are at rest; "
                    "return rotor speeds [rad/s], shape %s",
                    *(name, vehicle.name, _PATIENCE, shape),
                )
            return
        command = np.asarray(answer)
        is_throttle = command.dtype.kind in "fiu" and bool((command >= 0.0).all() and (command <= 1.0).all())
        if not is_throttle or vehicle.motor.max_speed * _SLOW < 1.0:
            self.is_open = False
        elif command.any():
            self._throttles += 1
            if self._throttles == _FEW:
                self.is_open = False
                _log.warning(
                    "all rotor speeds that %s has commanded for vehicle %r are from 0 to 1 rad/s: "
                    "a command is in rad/s (at most %.4g here), not a throttle",
                    *(name, vehicle.name, vehicle.motor.max_speed),
                )
