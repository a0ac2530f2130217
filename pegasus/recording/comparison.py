"""Comparison of two flown paths: Hausdorff, Frechet and RMS distances."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.core.track_table import read_track_table
from pegasus.recording.reader import read_log

if TYPE_CHECKING:
    from rich.table import Table

Alignment = Literal["none", "start", "pose"]
"""Change of the second path before the comparison: none; its first point and time to those of the first path;
the translation and the rotation about the vertical that fit its points best at equal times."""

_POINTS = 2000
"""Points of each path for the Frechet distance."""
_BLOCK = 32
"""Points whose distances to a path are computed at once."""
TEXT_SUFFIXES = (".csv", ".txt", ".tum")
"""Suffixes of text files with a track."""


@dataclass(frozen=True, eq=False)
class Track:
    """Positions over time.

    Raises:
        ConfigError: If there are fewer than two points, or the times do not rise.
    """

    name: str
    """Name in messages and tables."""
    time: Array
    """Rising times [s], shape (T,)."""
    position: Array
    """Positions [m], shape (T, 3)."""

    def __post_init__(self) -> None:
        require(len(self.time) >= 2, f"track {self.name}", len(self.time), "must have at least two points")
        back = np.flatnonzero(np.diff(self.time) <= 0)
        if len(back):
            k = int(back[0]) + 1
            raise ConfigError(
                f"must be later than the {self.time[k - 1]:g} s before",
                field=f"time of point {k + 1} of track {self.name}",
                value=float(self.time[k]),
                remedy="sort the points by time",
            )

    @property
    def length(self) -> float:
        """Length of the path [m]."""
        return float(np.linalg.norm(np.diff(self.position, axis=0), axis=1).sum())

    @property
    def duration(self) -> float:
        """Time from the first to the last point [s]."""
        return float(self.time[-1] - self.time[0])

    def at(self, time: Array) -> Array:
        """Return positions at times, linear between the points, shape (K, 3).

        Args:
            time: Times within those of the track [s], shape (K,).
        """
        return np.stack([np.interp(time, self.time, self.position[:, k]) for k in range(3)], axis=1)

    def moved(self, rotation: Array, translation: Array, delay: float = 0.0) -> "Track":
        """Return the track rotated, then translated, and delayed.

        Args:
            rotation: Rotation matrix, shape (3, 3).
            translation: Translation [m], shape (3,).
            delay: Delay [s].
        """
        turned = (self.position[:, None, :] * rotation).sum(axis=-1)
        return Track(self.name, self.time + delay, turned + translation)


@dataclass(frozen=True)
class PathDistances:
    """Distances of two paths [m]."""

    hausdorff: float
    """Symmetric Hausdorff distance: largest distance of a point of either path to the other path."""
    frechet: float
    """Frechet distance: smallest possible largest distance while both paths are travelled forwards."""
    rms: float | None
    """Root mean square distance at equal times; None if the tracks have no time in common."""
    largest: float | None
    """Largest distance at equal times; None if the tracks have no time in common."""
    common_time: float
    """Time that both tracks cover [s]."""

    def __rich__(self) -> "Table":
        from rich.table import Table

        table = Table(box=None, pad_edge=False)
        for title, justify in (("distance", "left"), ("[m]", "right")):
            table.add_column(title.replace("[", r"\["), justify=justify)  # type: ignore[arg-type]
        rows = (
            ("Hausdorff", self.hausdorff),
            ("Frechet", self.frechet),
            ("RMS at equal times", self.rms),
            ("largest at equal times", self.largest),
        )
        for title, value in rows:
            table.add_row(title, "no common time" if value is None else f"{value:.4f}")
        return table


def read_track(path: str | Path, *, vehicle: str | None = None, copy: int = 0) -> Track:
    """Return the path of a vehicle from a log, or the track of a text file.

    A text file (.csv, .txt, .tum) is one of those that `pegasus.core.track_table.read_track_table` reads, as
    for the trajectory `csv`: named columns, EuRoC, TUM RGB-D, KITTI, or polynomial pieces.

    Args:
        path: A log, the folder of a run, or a text file.
        vehicle: Vehicle of a log; may be left out if it has only one.
        copy: Index of the copy of that vehicle.

    Raises:
        ConfigError: If the file cannot be read, or there is no such vehicle or copy.
    """
    path = Path(path)
    if path.suffix.lower() in TEXT_SUFFIXES:
        if vehicle is not None:
            raise ConfigError(
                "is for logs", field="vehicle", value=vehicle, remedy=f"leave it out for {path}"
            )
        columns = read_track_table(path).columns
        return Track(str(path), columns["time"], np.stack([columns[axis] for axis in "xyz"], axis=1))
    log = read_log(path, verify=True)
    flown = [name for name in log.vehicles if f"{name}/state" in log and len(log[f"{name}/state"]) > 1]
    if vehicle is None and len(flown) == 1:
        vehicle = flown[0]
    if vehicle not in flown:
        raise ConfigError(
            "must name one of several vehicles" if vehicle is None and flown else "has no recorded states",
            file=log.path,
            field="vehicle",
            value=vehicle,
            remedy=f"choose one of {', '.join(flown)}" if flown else "record a run of at least two states",
        )
    state, count = log[f"{vehicle}/state"], log.vehicles[vehicle]
    require(0 <= copy < count, "copy", copy, f"must be from 0 to {count - 1} for vehicle {vehicle!r}")
    name = vehicle if count == 1 else f"{vehicle} {copy}"
    return Track(f"{path} ({name})", state.time, state.position[:, copy])


def compare_tracks(first: Track, second: Track, *, align: Alignment = "none") -> PathDistances:
    """Return the distances of two tracks.

    The Hausdorff distance is that of the points of each to the straight pieces of the other. The Frechet
    distance is the discrete one (Eiter and Mannila 1994) of both paths at 2000 points that are equally far
    apart along each path; it exceeds the continuous one by at most the larger spacing. The others are those
    at the times of the points of both in the time that they have in common, each point weighted by the time
    it stands for.

    Args:
        first: The reference.
        second: The other track.
        align: How the second one is moved before.

    Raises:
        ConfigError: If the alignment is unknown, or needs a common time that is missing.
    """
    require(align in get_args(Alignment), "align", align, f"must be one of {', '.join(get_args(Alignment))}")
    if align == "start":
        shift = first.position[0] - second.position[0]
        second = second.moved(np.eye(3), shift, float(first.time[0] - second.time[0]))
    elif align == "pose":
        second = _fitted(first, second)
    farthest = max(
        distances_to_path(first.position, second.position).max(),
        distances_to_path(second.position, first.position).max(),
    )
    frechet = discrete_frechet(_evenly(first.position, _POINTS), _evenly(second.position, _POINTS))
    rms = largest = None
    time = _common_times(first, second)
    if len(time) > 1:
        apart = np.linalg.norm(first.at(time) - second.at(time), axis=1)
        square = 0.5 * (apart[1:] ** 2 + apart[:-1] ** 2) * np.diff(time)
        rms, largest = math.sqrt(square.sum() / (time[-1] - time[0])), float(apart.max())
    common = float(time[-1] - time[0]) if len(time) > 1 else 0.0
    return PathDistances(float(farthest), frechet, rms, largest, common)


def distances_to_path(points: Array, path: Array) -> Array:
    """Return the distance of each point to the nearest straight piece of a path [m], shape (K,).

    Args:
        points: Points [m], shape (K, 3).
        path: Corners of the path [m], shape (T, 3), T >= 2.
    """
    # By component: NumPy is slow at sums over a last axis of three numbers.
    start, piece = path[:-1].T, np.diff(path, axis=0).T
    square = np.maximum(_dot(piece, piece), 1e-300)
    nearest = np.empty(len(points))
    for k in range(0, len(points), _BLOCK):
        away = points[k : k + _BLOCK].T[..., None] - start[:, None]
        share = np.clip(_dot(away, piece) / square, 0.0, 1.0)
        rest = away - share * piece[:, None]
        nearest[k : k + _BLOCK] = np.sqrt(_dot(rest, rest).min(axis=1))
    return nearest


def _dot(a: Array, b: Array) -> Array:
    """Return the scalar products of vectors whose components are along the first axis."""
    product: Array = a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
    return product


def discrete_frechet(first: Array, second: Array) -> float:
    """Return the discrete Frechet distance of two sequences of points [m].

    Source: Eiter and Mannila, Computing discrete Frechet distance, TU Vienna 1994; here by antidiagonals.

    Args:
        first: Points [m], shape (K, 3).
        second: Points [m], shape (L, 3).
    """
    rows, columns = len(first), len(second)
    # Largest distance of the best travel to (i, j), by i, on the last two antidiagonals i + j.
    before, last = np.full(rows, np.inf), np.full(rows, np.inf)
    for total in range(rows + columns - 1):
        i = np.arange(max(0, total - columns + 1), min(total, rows - 1) + 1)
        apart = np.linalg.norm(first[i] - second[total - i], axis=1)
        reached = np.full(rows, np.inf)
        if total == 0:
            reached[i] = apart
        else:
            below = np.where(i > 0, np.minimum(last[i - 1], before[i - 1]), np.inf)
            reached[i] = np.maximum(apart, np.minimum(last[i], below))
        before, last = last, reached
    return float(last[-1])


def _evenly(path: Array, count: int) -> Array:
    """Return points at even distances along a path, shape (count, 3)."""
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))])
    places = np.linspace(0.0, along[-1], count)
    return np.stack([np.interp(places, along, path[:, k]) for k in range(3)], axis=1)


def _common_times(first: Track, second: Track) -> Array:
    """Return the times of the points of both tracks within the time that both cover [s], rising."""
    begin, end = max(first.time[0], second.time[0]), min(first.time[-1], second.time[-1])
    times = np.unique(np.concatenate([first.time, second.time, [begin, end]]))
    return times[(times >= begin) & (times <= end)] if begin < end else np.empty(0)


def _fitted(first: Track, second: Track) -> Track:
    """Return the second track, moved by the translation and rotation about the vertical that fit best."""
    time = _common_times(first, second)
    if len(time) < 2:
        raise ConfigError(
            "needs a time that both tracks cover",
            field="align",
            value="pose",
            remedy=f"{first.name} is from {first.time[0]:g} to {first.time[-1]:g} s, {second.name} from "
            f"{second.time[0]:g} to {second.time[-1]:g} s",
        )
    target, moving = first.at(time), second.at(time)
    middle, center = target.mean(axis=0), moving.mean(axis=0)
    a, b = moving - center, target - middle
    angle = math.atan2((a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]).sum(), (a[:, :2] * b[:, :2]).sum())
    c, s = math.cos(angle), math.sin(angle)
    rotation = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    return second.moved(rotation, middle - (rotation * center).sum(axis=1))
