"""Health of the autopilots' estimators by their own messages ESTIMATOR_STATUS."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from pegasus.backends.mavlink.link import Link, LinkClosedError
from pegasus.backends.mavlink.messages import Decoder, dialect
from pegasus.contracts.backend import EstimatorHealth

_INTERVAL = 0.5
"""Simulated time between two looks at what has come [s]; PX4 sends the message once or more a second."""
_RATIOS = {
    "vel_ratio": "velocity",
    "pos_horiz_ratio": "horizontal_position",
    "pos_vert_ratio": "height",
    "mag_ratio": "heading",
    "hagl_ratio": "height_above_ground",
    "tas_ratio": "airspeed",
}
"""Names of the innovation test ratios by their field of the message."""
_FLAGS, _PREFIX = "ESTIMATOR_STATUS_FLAGS", "ESTIMATOR_"


class HealthListener:
    """Listener for the health of N estimators.

    Args:
        links: Function that opens a link to each autopilot.
        vehicle: Name of their vehicle.
        autopilots: Name of each.
    """

    def __init__(self, links: Sequence[Callable[[], Link]], vehicle: str, autopilots: Sequence[str]) -> None:
        self._lines = [(open_link(), Decoder("ESTIMATOR_STATUS")) for open_link in links]
        self.health = [EstimatorHealth(vehicle, autopilot) for autopilot in autopilots]
        """Health of each estimator."""
        self.due = -math.inf
        """Time of the next look [s]."""

    def update(self, t: float, *, armed: Sequence[bool]) -> None:
        """Read what has come.

        Args:
            t: Simulation time [s].
            armed: Whether each autopilot is armed.
        """
        if t < self.due:
            return
        self.due = t + _INTERVAL
        for row, (link, decoder) in enumerate(self._lines):
            try:
                data = link.receive()
            except LinkClosedError:
                continue
            for status in decoder.feed(data):
                self.health[row] = updated(self.health[row], status, t, armed=armed[row])

    def close(self) -> None:
        """Close the links."""
        for link, _ in self._lines:
            link.close()


def updated(health: EstimatorHealth, status: Any, t: float, *, armed: bool) -> EstimatorHealth:
    """Return the health after a message.

    Args:
        health: Health before it.
        status: ESTIMATOR_STATUS.
        t: Simulation time [s].
        armed: Whether the autopilot is armed: ratios of an estimator that settles are not kept.
    """
    ratios = {name: float(getattr(status, field)) for field, name in _RATIOS.items()}
    largest = health.largest_ratios
    if armed:
        # Maxima ignore ratios that are not a number: those of what the estimator does not use.
        largest = {name: max(largest.get(name, 0.0), ratio) for name, ratio in ratios.items()}
    names, bits = dialect().enums[_FLAGS], (1 << k for k in range(16))
    set_bits = [bit for bit in bits if bit in names and status.flags & bit]
    flags = [names[bit].name.removeprefix(_PREFIX).lower() for bit in set_bits]
    return replace(health, time=t, flags=flags, ratios=ratios, largest_ratios=largest)
