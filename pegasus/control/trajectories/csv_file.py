"""Trajectories from CSV tables."""

import csv
import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.control.trajectories.spline import Spline
from pegasus.core.trajectory import Point, Trajectory

COLUMNS = (
    *("time", "x", "y", "z", "vx", "vy", "vz", "ax", "ay", "az", "jx", "jy", "jz"),
    *("yaw", "yaw_rate"),
)
"""Names of columns, in the order of a file without a header."""
_GROUPS = (COLUMNS[1:4], COLUMNS[4:7], COLUMNS[7:10], COLUMNS[10:13])
_BARE_COUNTS = (4, 7, 10, 13, 14, 15)
_GAP = 1.5
_REGULAR = 0.02
_QUANTITIES = ("position", "velocity", "acceleration")


@dataclass(frozen=True, eq=False)
class Csv(Trajectory):
    """Trajectory from a CSV file of time, position, velocity, acceleration, jerk, yaw and yaw rate.

    Derivatives may be omitted from the highest down; they are then those of the minimum-snap curve through
    the given values. Between rows, values are interpolated consistently with their derivatives.
    """

    name = "csv"

    file: Path
    """Path of the file; in a scenario relative to the scenario file."""
    tolerance: float = 0.2
    """Largest difference between a column's rate of change and its derivative, by the largest derivative."""
    ground: float = 0.0
    """Least height of all positions [m]."""
    duration: float = field(init=False)

    def __post_init__(self) -> None:
        require(self.tolerance > 0, "tolerance", self.tolerance, "must be above 0")
        object.__setattr__(self, "file", Path(self.file).expanduser())
        object.__setattr__(self, "duration", float(self._table.time[-1]))

    @cached_property
    def _table(self) -> "_Table":
        return _Table(self.file, self.tolerance, self.ground)

    def sample(self, t: float) -> Point:
        """Return the point at a time since the start [s]."""
        return self._table.sample(t)


class _Table:
    """Validated rows of a file and the curve through them."""

    def __init__(self, file: Path, tolerance: float, ground: float) -> None:
        self._file = file
        columns = self._read()
        self._check_times(columns["time"])
        self.time: Array = columns["time"] - columns["time"][0]
        self._given = [
            np.stack([columns[c] for c in group], axis=1) for group in _GROUPS if group[0] in columns
        ]
        low = np.flatnonzero(self._given[0][:, 2] < ground)
        if len(low):
            raise self._wrong(
                int(low[0]),
                "z",
                float(self._given[0][low[0], 2]),
                f"is below the ground, z = {ground:g} m",
                "raise it, or set ground to the lowest height of the world's terrain",
            )
        self._check_derivatives(tolerance)
        self._times: list[float] = self.time.tolist()
        steps = np.diff(self.time)
        self._spline: Spline | None = None
        self._highest = len(self._given) - 1
        if self._highest < 3:
            self._spline = Spline(self._given[-1], steps, free_ends=True)
            self._given.append(self._spline.states[:, 1])
        pieces = [_cubics(a, b, steps) for a, b in pairwise(self._given)]
        if self._spline is None:
            pieces.append(_lines(self._given[3]))
        self._headed = "yaw" in columns
        if self._headed:
            yaw = np.unwrap(columns["yaw"])
            rate = columns["yaw_rate"] if "yaw_rate" in columns else np.gradient(yaw, self.time)
            pieces += [_cubics(yaw[:, None], rate[:, None], steps), _lines(rate[:, None])]
        # Cubic coefficients of all quantities over the elapsed share of each step.
        self._pieces = np.concatenate(pieces, axis=1)

    def sample(self, t: float) -> Point:
        row = min(max(bisect_right(self._times, t) - 1, 0), len(self._times) - 2)
        begin, end = self._times[row], self._times[row + 1]
        x = min(max((t - begin) / (end - begin), 0.0), 1.0)
        values = [((d * x + c) * x + b) * x + a for a, b, c, d in self._pieces[row].tolist()]
        yaw, yaw_rate = values[-2:] if self._headed else (None, 0.0)
        motion: list[Sequence[float]] = [values[k : k + 3] for k in range(0, 12, 3)]
        if self._spline is not None:
            motion[self._highest :] = self._spline.at(t)[: 4 - self._highest].tolist()
        p, v, a, j = motion
        return Point(p, v, a, j, yaw, yaw_rate)

    def _read(self) -> dict[str, Array]:
        """Return the columns by name."""
        try:
            with self._file.open(newline="", encoding="utf-8-sig") as stream:
                lines = [
                    (n, row) for n, row in enumerate(csv.reader(stream), 1) if any(c.strip() for c in row)
                ]
        except OSError as error:
            raise ConfigError(
                f"cannot be read: {error.strerror}",
                field="file",
                value=str(self._file),
                remedy="check the path",
            ) from None
        except UnicodeDecodeError:
            raise ConfigError(
                "is not a text file", field="file", value=str(self._file), remedy="give a CSV"
            ) from None
        names = self._names(lines[0][1] if lines else [])
        if names is None:
            count = len(lines[0][1]) if lines else 0
            if count not in _BARE_COUNTS:
                raise ConfigError(
                    f"has no header and {count} columns",
                    file=self._file,
                    remedy=f"add a header, or give the first 4, 7, 10, 13, 14 or 15 of {', '.join(COLUMNS)}",
                )
            names = list(COLUMNS[:count])
        else:
            lines = lines[1:]
        self._check_names(names)
        self._rows = [n for n, _ in lines]
        if len(lines) < 4:
            raise ConfigError(
                f"holds {len(lines)} rows of numbers", file=self._file, remedy="at least four are needed"
            )
        values = np.array([self._numbers(k, row, names) for k, (_, row) in enumerate(lines)])
        if "time" in names and values[0, names.index("time")] > values[-1, names.index("time")]:
            values, self._rows = values[::-1], self._rows[::-1]
        return {name: values[:, k].copy() for k, name in enumerate(names)}

    def _names(self, row: list[str]) -> list[str] | None:
        """Return the column names in a row, or None if it holds numbers."""
        try:
            [float(cell) for cell in row]
        except ValueError:
            return [cell.strip().lower() for cell in row]
        return None

    def _check_names(self, names: list[str]) -> None:
        for k, name in enumerate(names):
            if name not in COLUMNS or name in names[:k]:
                raise ConfigError(
                    "is not a known column" if name not in COLUMNS else "is given twice",
                    file=self._file,
                    field=f"row 1, column {k + 1}",
                    value=name,
                    remedy=f"known are {', '.join(COLUMNS)}",
                )
        wanted = ["time", *COLUMNS[1:4]]
        highest = max((k for k, group in enumerate(_GROUPS) if set(group) & set(names)), default=0)
        wanted += [name for group in _GROUPS[1 : highest + 1] for name in group]
        wanted += ["yaw"] if "yaw_rate" in names else []
        missing = [name for name in wanted if name not in names]
        if missing:
            raise ConfigError(
                f"has no column {missing[0]}",
                file=self._file,
                remedy="give time, x, y, z, and derivatives with all components and lower orders",
            )

    def _numbers(self, index: int, row: list[str], names: list[str]) -> list[float]:
        if len(row) != len(names):
            raise ConfigError(
                f"has {len(row)} columns, must have {len(names)}",
                file=self._file,
                field=f"row {self._rows[index]}",
                remedy="complete the row or remove it",
            )
        numbers = []
        for name, cell in zip(names, row, strict=True):
            try:
                number = float(cell)
            except ValueError:
                number = math.nan
            if not math.isfinite(number):
                raise self._wrong(
                    index, name, cell.strip(), "must be a finite number", "correct or remove the row"
                )
            numbers.append(number)
        return numbers

    def _check_times(self, time: Array) -> None:
        steps = np.diff(time)
        back = np.flatnonzero(steps <= 0)
        if len(back):
            k = int(back[0]) + 1
            raise self._wrong(k, "time", float(time[k]), "must be later than the row before", "sort the rows")
        usual = float(np.median(steps))
        regular = float((np.abs(steps - usual) < _REGULAR * usual).mean())
        gaps = np.flatnonzero(steps > _GAP * usual)
        # Rows without a fixed rate may have any spacing.
        if regular > 0.5 and len(gaps):
            k = int(gaps[0]) + 1
            raise self._wrong(
                k,
                "time",
                float(time[k]),
                f"comes {steps[k - 1]:.4g} s after the row before, where {usual:.4g} s are usual",
                "add the missing rows, or use the wider spacing for all rows",
            )

    def _check_derivatives(self, tolerance: float) -> None:
        """Compare the change of position and velocity over each step with the integral of their derivatives.

        Jerk is not compared, because acceleration may have steps.
        """
        steps = np.diff(self.time)[:, None]
        for k in range(min(len(self._given) - 1, 2)):
            values, rates = self._given[k], self._given[k + 1]
            expected = 0.5 * (rates[1:] + rates[:-1])
            if len(self._given) > k + 2:
                expected = expected - steps / 12.0 * np.diff(self._given[k + 2], axis=0)
            found = np.diff(values, axis=0) / steps
            missed = np.abs(found - expected)
            row, axis = np.unravel_index(int(missed.argmax()), missed.shape)
            allowed = tolerance * float(np.abs(rates).max()) + 1e-9
            if missed[row, axis] > allowed:
                column, rate = _GROUPS[k][axis], f"{found[row, axis]:.4g}, not at {expected[row, axis]:.4g}"
                raise self._wrong(
                    int(row) + 1,
                    _GROUPS[k + 1][axis],
                    float(rates[row + 1, axis]),
                    f"is not the rate of {column}, which changes from the previous row at {rate} "
                    f"(allowed difference {allowed:.2g})",
                    f"correct the {_QUANTITIES[k + 1]}, omit its columns, or raise tolerance",
                )

    def _wrong(self, index: int, column: str, value: object, problem: str, remedy: str) -> ConfigError:
        place = f"row {self._rows[index]}, column {column}"
        return ConfigError(problem, file=self._file, field=place, value=value, remedy=remedy)


def _cubics(values: Array, rates: Array, steps: Array) -> Array:
    """Return the Hermite cubics between rows (K, n), shape (K - 1, n, 4)."""
    change = np.diff(values, axis=0)
    first, last = rates[:-1] * steps[:, None], rates[1:] * steps[:, None]
    return np.stack([values[:-1], first, 3 * change - 2 * first - last, first + last - 2 * change], axis=-1)


def _lines(values: Array) -> Array:
    """Return the straight lines between rows (K, n) as cubics, shape (K - 1, n, 4)."""
    none = np.zeros_like(values[1:])
    return np.stack([values[:-1], np.diff(values, axis=0), none, none], axis=-1)
