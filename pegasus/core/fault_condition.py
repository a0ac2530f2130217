"""Conditions under which faults begin: comparisons of a quantity of a vehicle with a number."""

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from pegasus.core.multirotor import Multirotor

_COMPARISON = re.compile(r"\s*([a-z_.]+)\s*(<=|>=|<|>)\s*([-+0-9.eE]+)\s*")
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _speed(vehicle: "Multirotor") -> Array:
    velocity = vehicle.state.velocity
    speed: Array = np.sqrt((velocity * velocity).sum(axis=1))
    return speed


def _rate(vehicle: "Multirotor") -> Array:
    rate = vehicle.state.angular_velocity
    size: Array = np.sqrt((rate * rate).sum(axis=1))
    return size


def _battery(name: str) -> Callable[["Multirotor"], Array]:
    return lambda vehicle: vehicle.columns[name]


QUANTITIES: dict[str, Callable[["Multirotor"], Array]] = {
    "x": lambda vehicle: vehicle.state.position[:, 0],
    "y": lambda vehicle: vehicle.state.position[:, 1],
    "height": lambda vehicle: vehicle.state.position[:, 2],
    "speed": _speed,
    "climb_rate": lambda vehicle: vehicle.state.velocity[:, 2],
    "turn_rate": _rate,
    "uprightness": lambda vehicle: vehicle.state.rotation[:, 2, 2],
    "battery.charge": _battery("charge"),
    "battery.voltage": _battery("voltage"),
    "battery.current": _battery("current"),
}
"""Quantities of the true state by name: positions and height above the world's origin [m], speeds [m/s], size
of the angular velocity [rad/s], cosine of the tilt, charge from 0 to 1, voltage [V], current [A]."""


@dataclass(frozen=True)
class Condition:
    """Comparison of a quantity of a vehicle with a number."""

    quantity: str
    """Name in `QUANTITIES`."""
    comparison: str
    """Comparison: <, <=, > or >=."""
    number: float

    @classmethod
    def parsed(cls, text: str) -> "Condition":
        """Return the condition that a text states.

        Args:
            text: Such as `battery.charge < 0.3`.

        Raises:
            ConfigError: If it is no comparison of a known quantity with a number.
        """
        known = ", ".join(QUANTITIES)
        found = _COMPARISON.fullmatch(text)
        try:
            number = float(found[3]) if found else 0.0
        except ValueError:
            found = None
        if found is None:
            raise ConfigError(
                "must compare a quantity with a number",
                field="when",
                value=text,
                remedy=f"such as battery.charge < 0.3; quantities are {known}",
            )
        if found[1] not in QUANTITIES:
            remedy = " ".join(did_you_mean(found[1], QUANTITIES)) or None
            raise ConfigError(
                f"has no known quantity; there are {known}", field="when", value=text, remedy=remedy
            )
        return cls(found[1], found[2], number)

    def __call__(self, vehicle: "Multirotor") -> Any:
        """Return for which copies it holds, shape (N,)."""
        return _OPERATORS[self.comparison](QUANTITIES[self.quantity](vehicle), self.number)

    def fit(self, vehicle: "Multirotor") -> None:
        """Raise a ConfigError if the vehicle does not have the quantity."""
        needs = self.quantity.startswith("battery.")
        require(
            not needs or vehicle.battery is not None,
            "when",
            self.quantity,
            f"needs a battery, which {vehicle.name!r} does not have",
        )
