"""Conditions that vehicles fulfil or not: comparisons of their quantities with numbers, and regions."""

import math
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.components import require, require_vector
from pegasus.base.errors import ConfigError, did_you_mean
from pegasus.contracts.vehicle import EquippedVehicle

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_COMPARISON = re.compile(
    rf"\s*(?:(?P<low>{_NUMBER})\s*(?P<above><=?)\s*)?(?P<negated>not\s+)?(?P<name>[A-Za-z_][\w.\[\]-]*)"
    rf"(?:\s*(?P<sign><=|>=|<|>)\s*(?P<number>{_NUMBER}))?\s*"
)
_AND = re.compile(r"\band\b")
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
"""Comparisons by their signs."""


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
class Comparison:
    """Comparison of a quantity with numbers, or a quantity that is true or not."""

    quantity: str
    """Name of the quantity."""
    bounds: tuple[tuple[str, float], ...] = ()
    """Signs <, <=, > or >= with their numbers; none of a truth value."""
    negated: bool = False
    """True for `not`: the truth value must be false."""

    def holds(self, value: Array) -> BoolArray:
        """Return where it holds, shape (N,).

        Args:
            value: Values of the quantity, shape (N,).
        """
        held: BoolArray = np.ones(len(value), dtype=bool) if self.bounds else value.astype(bool)
        for sign, number in self.bounds:
            held = held & OPERATORS[sign](value, number)
        return ~held if self.negated else held


@dataclass(frozen=True)
class Condition:
    """Comparisons that must all hold."""

    comparisons: tuple[Comparison, ...]

    @classmethod
    def parsed(cls, text: str, *, field: str = "when", known: Iterable[str] | None = None) -> "Condition":
        """Return the condition that a text states.

        Args:
            text: Such as `battery.charge < 0.3`, `0.5 < height < 3 and speed < 2`, or `not landed`.
            field: Name of the text in errors.
            known: Names of quantities; any if None.

        Raises:
            ConfigError: If it is no comparison of a known quantity with numbers.
        """
        return cls(tuple(_comparison(part, text, field, known) for part in _AND.split(text)))

    def __call__(self, vehicle: EquippedVehicle) -> Any:
        """Return for which copies it holds, shape (N,)."""
        return self.holds([QUANTITIES[part.quantity](vehicle) for part in self.comparisons])

    def holds(self, values: Sequence[Array]) -> BoolArray:
        """Return where all comparisons hold, shape (N,).

        Args:
            values: Values of the quantity of each comparison, shape (N,).
        """
        held = [part.holds(value) for part, value in zip(self.comparisons, values, strict=True)]
        return held[0] if len(held) == 1 else np.logical_and.reduce(held)

    def fit(self, vehicle: EquippedVehicle) -> None:
        """Raise a ConfigError if the vehicle does not have a quantity."""
        for part in self.comparisons:
            needs = part.quantity.startswith("battery.")
            require(
                not needs or vehicle.battery is not None,
                "when",
                part.quantity,
                f"needs a battery, which {vehicle.name!r} does not have",
            )


def _comparison(part: str, text: str, field: str, known: Iterable[str] | None) -> Comparison:
    found = _COMPARISON.fullmatch(part)
    bounds = []
    if found and found["low"]:
        bounds.append((found["above"].replace("<", ">"), float(found["low"])))
    if found and found["sign"]:
        bounds.append((found["sign"], float(found["number"])))
    named = ", ".join(known or ())
    if found is None or (bounds and found["negated"]) or (known is not None and not bounds):
        remedy = "such as battery.charge < 0.3" + (f"; quantities are {named}" if named else "")
        raise ConfigError("must compare a quantity with a number", field=field, value=text, remedy=remedy)
    name = found["name"]
    if known is not None and name not in known:
        close = " ".join(did_you_mean(name, known)) or None
        raise ConfigError(f"has no known quantity; there are {named}", field=field, value=text, remedy=close)
    return Comparison(name, tuple(bounds), bool(found["negated"]))


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
