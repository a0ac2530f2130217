"""Tables of JSBSim, read at the even steps of a common grid."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.base.text_files import is_number
from pegasus.base.xml_files import Element
from pegasus.dynamics.wings.derivatives import Coefficient

_ANGLES = {
    "aero/alpha-rad": ("alpha", 1.0),
    "aero/alpha-deg": ("alpha", math.pi / 180.0),
    "aero/beta-rad": ("beta", 1.0),
    "aero/beta-deg": ("beta", math.pi / 180.0),
    "aero/mag-beta-rad": ("magnitude", 1.0),
}
"""Properties of angles, with the unit of each [rad]."""
_FEWEST, _MOST = 60, 180
"""Smallest and largest number of steps of an axis of the grid."""
_EQUAL = 1e-9
"""Difference of numbers that are taken for equal, by the largest."""


@dataclass(frozen=True)
class Grid:
    """Angles at which tables are read."""

    alpha: Array
    """Angles of attack [rad], shape (A, 1)."""
    beta: Array
    """Angles of sideslip [rad], shape (1, B)."""

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of angles of attack and of sideslip."""
        return self.alpha.size, self.beta.size

    @classmethod
    def of_tables(cls, root: Element) -> "Grid":
        """Return the grid that holds the angles of all tables."""
        points: dict[str, list[Array]] = {"alpha": [], "beta": []}
        for table in (*root.every("table"), *root.every("t")):
            for k, (name, _) in enumerate(_variables(table)):
                kind, unit = _ANGLES.get(name, ("", 1.0))
                for data in table.every("tableData") if kind else ():
                    lines = _numbers(data)
                    given = lines[0] if k == 1 else [row[0] for row in lines[len(_variables(table)) - 1 :]]
                    places = np.array(given) * unit
                    points["alpha" if kind == "alpha" else "beta"] += [places] if kind != "magnitude" else [
                        places, -places
                    ]  # fmt: skip
        return cls(_even(points["alpha"])[:, None], _even(points["beta"])[None, :])

    def ranges(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return the first and last angle of attack, and of sideslip [rad]."""
        a, b = self.alpha.ravel().tolist(), self.beta.ravel().tolist()
        return (a[0], a[-1]), (b[0], b[-1])

    def coefficient(self, values: Array) -> Coefficient:
        """Return values over the grid as a number, or a table over the angles that they depend on."""
        allowed = _EQUAL * float(np.abs(values).max())
        if np.ptp(values) <= allowed:
            return float(values[0, 0])
        if float(np.ptp(values, axis=1).max()) <= allowed:
            return tuple(values[:, 0].tolist())
        if float(np.ptp(values, axis=0).max()) <= allowed:
            return (tuple(values[0].tolist()),)
        return tuple(map(tuple, values.tolist()))


def looked_up(table: Element, grid: Grid, held: Mapping[str, float], path: Path) -> Array:
    """Return a table over the angles of a grid, of its shape.

    Args:
        table: The table, of one or two variables.
        grid: The grid.
        held: Values of properties other than angles.
        path: File for error messages.

    Raises:
        ConfigError: If a variable is not known, or the table is not one of numbers.
    """

    def error(element: Element, problem: str, remedy: str | None = None) -> ConfigError:
        return ConfigError(f"line {element.line}: {problem}", file=path, remedy=remedy)

    variables = _variables(table)
    if len(variables) not in (1, 2):
        raise error(table, f"a table of {len(variables)} variables is not understood; one or two are")
    data = next(table.every("tableData"), None)
    if data is None:
        raise error(table, "the table has no tableData")
    places = []
    for name, element in variables:
        if name in _ANGLES:
            kind, unit = _ANGLES[name]
            angle = grid.alpha if kind == "alpha" else grid.beta
            places.append((np.abs(angle) if kind == "magnitude" else angle) / unit + np.zeros(grid.shape))
        elif name in held:
            places.append(np.full(grid.shape, held[name]))
        else:
            remedy = "hold it at a value by held"
            raise error(element, f"a table over {name} is not understood", remedy)
    if words := [word for word in data.text.split() if not is_number(word)]:
        raise error(data, f"{words[0]!r} is not a number")
    rows = _numbers(data)
    columns = rows.pop(0) if len(variables) == 2 else [0.0]
    if not rows or {len(row) for row in rows} != {len(columns) + 1}:
        raise error(data, f"each row must have {len(columns) + 1} numbers")
    points = np.array([row[0] for row in rows])
    if not (np.diff(points) > 0).all() or not (np.diff(columns) > 0).all():
        raise error(data, "the points must rise")
    values = np.array([row[1:] for row in rows])
    if len(variables) == 1:
        return _bilinear(places[0], np.zeros(grid.shape), points, np.zeros(1), values)
    return _bilinear(places[0], places[1], points, np.array(columns), values)


def _bilinear(x: Array, y: Array, points: Array, columns: Array, values: Array) -> Array:
    """Return values of a table between its points, held beyond its ends."""

    def cell(place: Array, at: Array) -> tuple[Any, Any, Array]:
        low = np.clip(np.searchsorted(at, place, side="right") - 1, 0, max(at.size - 2, 0))
        high = np.minimum(low + 1, at.size - 1)
        gap = np.where(high > low, at[high] - at[low], 1.0)
        return low, high, np.clip((place - at[low]) / gap, 0.0, 1.0)

    row, next_row, share = cell(x, points)
    column, next_column, along = cell(y, columns)
    first = values[row, column] + along * (values[row, next_column] - values[row, column])
    second = values[next_row, column] + along * (values[next_row, next_column] - values[next_row, column])
    found: Array = first + share * (second - first)
    return found


def _variables(table: Element) -> list[tuple[str, Element]]:
    """Return the variables of a table in the order row, column."""
    found = [(e.text.strip(), e) for e in table.every("independentVar")]
    order = {"row": 0, "column": 1, "table": 2}
    found.sort(key=lambda item: order.get(item[1].attributes.get("lookup", "row"), 0))
    return found


def _numbers(data: Element) -> list[list[float]]:
    lines = [[float(word) for word in line.split() if is_number(word)] for line in data.text.splitlines()]
    return [line for line in lines if line]


def _even(groups: list[Array]) -> Array:
    """Return even steps over all points, at most half of the smallest gap in a group, and at least 60."""
    inner = [group for group in groups if group.size > 1]
    if not inner:
        # Linear, and linear in the magnitude, over all angles.
        return np.array([-math.pi, 0.0, math.pi])
    low = max(min(float(g.min()) for g in inner), -math.pi)
    high = min(max(float(g.max()) for g in inner), math.pi)
    gap = min(float(np.diff(np.sort(g)).min()) for g in inner)
    count = math.ceil(2.0 * (high - low) / max(gap, 1e-9) - _EQUAL)
    count = min(count * math.ceil(_FEWEST / count), _MOST)
    return np.linspace(low, high, count + 1)
