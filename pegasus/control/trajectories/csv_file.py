"""Trajectories from CSV tables."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.contracts.trajectory import TimedPath, points_of
from pegasus.control.trajectories.smoothing import is_smooth, smoothed
from pegasus.control.trajectories.spline import Spline
from pegasus.core.track_table import COLUMNS, read_track_table

_GROUPS = (COLUMNS[1:4], COLUMNS[4:7], COLUMNS[7:10], COLUMNS[10:13])
_LEAST = 4
"""Least number of rows."""
_WITHIN = 9
"""Instants of each step whose height is compared with the ground."""
_GAP = 1.5
_REGULAR = 0.02
_QUANTITIES = ("position", "velocity", "acceleration")


@dataclass(frozen=True, eq=False)
class Csv(TimedPath):
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

    def samples(self, times: Array) -> tuple[Array, Array]:
        """Return the points at several times; see `Trajectory.samples`."""
        return self._table.samples(times)


class _Table:
    """Validated rows of a file and the curve through them."""

    def __init__(self, file: Path, tolerance: float, ground: float) -> None:
        self._table = table = read_track_table(file)
        columns = table.columns
        if len(columns["time"]) < _LEAST:
            raise ConfigError(
                f"holds {len(columns['time'])} rows of numbers", file=file, remedy="at least four are needed"
            )
        self._check_columns(columns)
        self.time: Array = columns["time"] - columns["time"][0]
        self._given = [
            np.stack([columns[c] for c in group], axis=1) for group in _GROUPS if group[0] in columns
        ]
        self._check_ground(self._given[0][:, 2], ground)
        if not table.has_pieces:
            self._check_gaps(columns["time"])
            self._check_derivatives(tolerance)
        steps = np.diff(self.time)
        self._spline: Spline | None = None
        self._highest = len(self._given) - 1
        if self._highest < 3:
            self._add_derivatives(steps)
        pieces = [_cubics(a, b, steps) for a, b in pairwise(self._given)]
        if self._spline is None:
            pieces.append(_lines(self._given[3]))
        self._headed = "yaw" in columns
        if self._headed:
            yaw, rate = self._turning(columns)
            pieces += [_cubics(yaw, rate, steps), _lines(rate)]
        # Cubic coefficients of all quantities over the elapsed share of each step.
        self._pieces = np.concatenate(pieces, axis=1)
        self._check_ground(self._heights().min(axis=1), ground)

    def samples(self, times: Array) -> tuple[Array, Array]:
        t = np.minimum(np.maximum(times, 0.0), self.time[-1])
        row = np.minimum(np.searchsorted(self.time, t, side="right"), len(self.time) - 1) - 1
        x = ((t - self.time[row]) / (self.time[row + 1] - self.time[row]))[:, None]
        a, b, c, d = self._pieces[row].transpose(2, 0, 1)
        values = ((d * x + c) * x + b) * x + a
        motion = [values[:, k : k + 3] for k in range(0, 12, 3)]
        if self._spline is not None:
            curve = self._spline.at(t)
            motion[self._highest :] = [curve[:, k] for k in range(4 - self._highest)]
        yaw, rate = (values[:, -2], values[:, -1]) if self._headed else (None, 0.0)
        return points_of(len(t), motion, yaw, rate)

    def _resolution(self, names: Sequence[str]) -> Array:
        return np.array([self._table.resolution[name] for name in names])

    def _add_derivatives(self, steps: Array) -> None:
        """Add those that are not given: of the smoothed positions, or of the curve through the last given."""
        last, group = self._given[-1], _GROUPS[self._highest]
        if not is_smooth(self.time, last, self._resolution(group), order=3 - self._highest):
            motion = smoothed(self.time, self._given[0], self._resolution(_GROUPS[0]))
            if motion is not None:
                self._given = list(motion)
                return
        self._spline = Spline(last, steps, free_ends=True)
        self._given.append(self._spline.states[:, 1])

    def _turning(self, columns: dict[str, Array]) -> tuple[Array, Array]:
        """Return the headings [rad] and their rates [rad/s], shape (K, 1)."""
        yaw = np.unwrap(columns["yaw"])[:, None]
        if "yaw_rate" in columns:
            return yaw, columns["yaw_rate"][:, None]
        resolution = self._resolution(["yaw"])
        if not is_smooth(self.time, yaw, resolution, order=2):
            motion = smoothed(self.time, yaw, resolution)
            if motion is not None:
                return motion[0], motion[1]
        return yaw, np.gradient(yaw, self.time, axis=0)

    def _heights(self) -> Array:
        """Return heights of the path in each step [m], shape (K - 1, n)."""
        x = np.linspace(0.0, 1.0, _WITHIN)
        a, b, c, d = self._pieces[:, 2, :, None].transpose(1, 0, 2)
        heights: Array = ((d * x + c) * x + b) * x + a
        if self._spline is not None and self._highest == 0:
            heights = self._spline.on_grid(_WITHIN)[:, :, 0, 2]
        return heights

    def _check_ground(self, heights: Array, ground: float) -> None:
        low = np.flatnonzero(heights < ground)
        if len(low):
            row = int(low[0])
            raise self._table.wrong(
                row,
                "z",
                float(heights[row]),
                f"is below the ground, z = {ground:g} m",
                "raise it, or set ground to the lowest height of the world's terrain",
            )

    def _check_columns(self, columns: dict[str, Array]) -> None:
        highest = max(k for k, group in enumerate(_GROUPS) if any(name in columns for name in group))
        wanted = [name for group in _GROUPS[: highest + 1] for name in group]
        wanted += ["yaw"] if "yaw_rate" in columns else []
        missing = [name for name in wanted if name not in columns]
        if missing:
            raise ConfigError(
                f"has no column {missing[0]}",
                file=self._table.file,
                remedy="give time, x, y, z, and derivatives with all components and lower orders",
            )

    def _check_gaps(self, time: Array) -> None:
        steps = np.diff(time)
        usual = float(np.median(steps))
        regular = float((np.abs(steps - usual) < _REGULAR * usual).mean())
        gaps = np.flatnonzero(steps > _GAP * usual)
        # Rows without a fixed rate may have any spacing.
        if regular > 0.5 and len(gaps):
            k = int(gaps[0]) + 1
            raise self._table.wrong(
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
            allowed += self._table.resolution[_GROUPS[k][axis]] / float(steps[row, 0])
            if missed[row, axis] > allowed:
                column, rate = _GROUPS[k][axis], f"{found[row, axis]:.4g}, not at {expected[row, axis]:.4g}"
                raise self._table.wrong(
                    int(row) + 1,
                    _GROUPS[k + 1][axis],
                    float(rates[row + 1, axis]),
                    f"is not the rate of {column}, which changes from the previous row at {rate} "
                    f"(allowed difference {allowed:.2g})",
                    f"correct the {_QUANTITIES[k + 1]}, omit its columns, or raise tolerance",
                )


def _cubics(values: Array, rates: Array, steps: Array) -> Array:
    """Return the Hermite cubics between rows (K, n), shape (K - 1, n, 4)."""
    change = np.diff(values, axis=0)
    first, last = rates[:-1] * steps[:, None], rates[1:] * steps[:, None]
    return np.stack([values[:-1], first, 3 * change - 2 * first - last, first + last - 2 * change], axis=-1)


def _lines(values: Array) -> Array:
    """Return the straight lines between rows (K, n) as cubics, shape (K - 1, n, 4)."""
    none = np.zeros_like(values[1:])
    return np.stack([values[:-1], np.diff(values, axis=0), none, none], axis=-1)
