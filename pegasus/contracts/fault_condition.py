"""Conditions for the beginning of faults: regions of the world, and comparisons of a vehicle's quantity."""

import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.components import require, require_vector
from pegasus.base.errors import ConfigError, did_you_mean
from pegasus.contracts.vehicle import EquippedVehicle

_COMPARISON = re.compile(r"\s*([a-z_.]+)\s*(<=|>=|<|>)\s*([-+0-9.eE]+)\s*")
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _speed(vehicle: EquippedVehicle) -> Array:
    velocity = vehicle.state.velocity
    speed: Array = np.sqrt((velocity * velocity).sum(axis=1))
    return speed


def _rate(vehicle: EquippedVehicle) -> Array:
    rate = vehicle.state.angular_velocity
    size: Array = np.sqrt((rate * rate).sum(axis=1))
    return size


def _battery(name: str) -> Callable[[EquippedVehicle], Array]:
    return lambda vehicle: vehicle.columns[name]


QUANTITIES: dict[str, Callable[[EquippedVehicle], Array]] = {
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

    def __call__(self, vehicle: EquippedVehicle) -> Any:
        """Return for which copies it holds, shape (N,)."""
        return _OPERATORS[self.comparison](QUANTITIES[self.quantity](vehicle), self.number)

    def fit(self, vehicle: EquippedVehicle) -> None:
        """Raise a ConfigError if the vehicle does not have the quantity."""
        needs = self.quantity.startswith("battery.")
        require(
            not needs or vehicle.battery is not None,
            "when",
            self.quantity,
            f"needs a battery, which {vehicle.name!r} does not have",
        )


@dataclass(frozen=True, kw_only=True)
class Region:
    """Part of the world; a place is in it that fulfils everything that is given."""

    box: tuple[tuple[float, float, float], tuple[float, float, float]] | None = None
    """Two opposite corners [m]."""
    center: tuple[float, float, float] | None = None
    """Centre of a sphere [m]."""
    radius: float | None = None
    """Radius of the sphere [m]."""
    lowest: float | None = None
    """Least height above the world's origin [m]."""
    highest: float | None = None
    """Largest height above the world's origin [m]."""

    def __post_init__(self) -> None:
        given = (self.box, self.center, self.lowest, self.highest)
        require(
            any(part is not None for part in given),
            "where",
            {},
            "must have a box, a center and radius, a lowest or a highest height",
        )
        if self.box is not None:
            require(len(self.box) == 2, "box", self.box, "must hold two corners")
            for corner in self.box:
                require_vector("box", corner, unit="m")
        require(
            (self.center is None) == (self.radius is None),
            "center",
            self.center,
            "must be given together with radius",
        )
        if self.center is not None:
            require_vector("center", self.center, unit="m")
        radius = self.radius
        require(radius is None or 0 < radius < math.inf, "radius", radius, "must be above 0 m and finite")

    def contains(self, position: Array) -> BoolArray:
        """Return whether places are in the region, shape (N,).

        Args:
            position: Places in the world [m], shape (N, 3).
        """
        inside = np.ones(len(position), dtype=bool)
        if self.box is not None:
            corners = np.array(self.box, dtype=np.float64)
            low, high = corners.min(axis=0), corners.max(axis=0)
            inside &= ((position >= low) & (position <= high)).all(axis=1)
        if self.center is not None and self.radius is not None:
            away = position - np.array(self.center, dtype=np.float64)
            inside &= (away * away).sum(axis=1) <= self.radius * self.radius
        if self.lowest is not None:
            inside &= position[:, 2] >= self.lowest
        if self.highest is not None:
            inside &= position[:, 2] <= self.highest
        return inside
