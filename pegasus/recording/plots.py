"""Plots of recorded flights."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, IntArray
from pegasus.base.errors import ConfigError
from pegasus.base.frames import euler_from_quaternion
from pegasus.recording.log import Log
from pegasus.recording.verdict import Verdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colours distinguishable by colour-blind readers (Okabe and Ito 2008).
_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1", "#4d4d4d")
_SHADES = ("#dbe9f6", "#fde8d7", "#dff2e3", "#f3e2ef", "#fbf3d0", "#e4e4e4")
_RED = "#c1272d"
# Maximum number of paths; more would hide each other.
_PATH_LIMIT = 16
# Maximum number of points of a curve; more exceed the pixels.
_POINT_LIMIT = 4000


@dataclass(frozen=True, eq=False)
class _Flight:
    """Recorded states of a vehicle, and the reference and error of its first copy."""

    name: str
    count: int
    time: Array
    paths: Array
    attitude: Array
    rotor_speed: Array
    reference_time: Array
    reference: Array
    error: Array
    segment: npt.NDArray[np.str_]
    faults: tuple[tuple[str, float, float], ...] = ()
    """Name, start and end time of each fault."""
    missed: tuple[tuple[float, str], ...] = ()
    """Time and text of each expectation that failed."""

    def segments(self) -> Iterator[tuple[str, float, float]]:
        """Yield name, start and end time of each segment."""
        if not len(self.segment):
            return
        starts = np.flatnonzero(np.r_[True, self.segment[1:] != self.segment[:-1]])
        ends = np.r_[self.reference_time[starts[1:]], self.reference_time[-1]]
        yield from zip(self.segment[starts].tolist(), self.reference_time[starts], ends, strict=True)


def plot_flight(
    log: Log,
    path: str | Path | None = None,
    *,
    vehicle: str | None = None,
    verdicts: Sequence[Verdict] = (),
) -> "Figure":
    """Plot a flight and return the figure, 1600 x 1200 pixels: path, errors, attitude, rotor speeds.

    The 3D plot shows the first copies of the vehicle; the time plots show the first copy.

    Args:
        log: The recorded run.
        path: PNG file to write; none if left out.
        vehicle: Name of the vehicle; the first of the log when None.
        verdicts: Verdicts, of which those that failed on the vehicle are drawn at their times.

    Raises:
        ConfigError: If the log has no states of the vehicle, or the file cannot be written.
    """
    # Slow to import.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    flight = _flight(log, vehicle)
    missed = [each for each in verdicts if each.vehicle == flight.name and not each.passed]
    times = [(each.time, each.expected) for each in missed if each.time >= 0]
    flight = replace(flight, missed=tuple(times))
    figure = Figure(figsize=(16, 12), dpi=100, layout="constrained", facecolor="white")
    canvas = FigureCanvasAgg(figure)
    copies = f", copy 1 of {flight.count}" if flight.count > 1 else ""
    world = log.metadata.get("world", "")
    figure.suptitle(f"{flight.name}{copies}" + (f" in {world}" if world else ""), fontsize=18, weight="bold")
    grid = figure.add_gridspec(2, 2, width_ratios=(1.0, 1.15), hspace=0.06, wspace=0.04)
    _draw_path(figure, grid[0, 0], flight)
    errors = figure.add_subplot(grid[0, 1])
    _draw_errors(errors, flight)
    attitude = figure.add_subplot(grid[1, 0], sharex=errors)
    _draw_curves(attitude, flight, np.degrees(flight.attitude), ("roll", "pitch", "yaw"), "Attitude", "[deg]")
    rotors = figure.add_subplot(grid[1, 1], sharex=errors)
    count = flight.rotor_speed.shape[1]
    names = tuple(f"rotor {i}" if count <= 4 else f"{i}" for i in range(count))
    _draw_curves(rotors, flight, flight.rotor_speed, names, "Rotor speeds", "[rad/s]")
    if path is None:
        return figure
    try:
        canvas.print_png(path)  # type: ignore[no-untyped-call]
    except OSError as error:
        raise ConfigError(
            f"cannot be written: {error.strerror}", file=path, remedy="give a writable folder"
        ) from None
    return figure


def _flight(log: Log, vehicle: str | None) -> _Flight:
    """Return one vehicle's flight from a log, reduced to the resolution of the plot."""
    flown = [name for name in log.vehicles if f"{name}/state" in log and len(log[f"{name}/state"])]
    name = vehicle if vehicle is not None else next(iter(flown), "")
    if name not in flown:
        known = f"choose one of {', '.join(flown)}" if flown else "record a run of at least one step"
        raise ConfigError(
            "has no recorded states", file=log.path, field="vehicle", value=name or None, remedy=known
        )
    state = log[f"{name}/state"]
    kept = _thinned(len(state))
    error_time, reference = np.empty(0), np.empty((0, 3))
    error, segment = np.empty((0, 3)), np.empty(0, dtype=np.str_)
    if f"{name}/reference" in log:
        followed = log[f"{name}/reference"]
        error_time, at_state, at_reference = np.intersect1d(state.time, followed.time, return_indices=True)
        thin = _thinned(len(error_time))
        error_time, at_state, at_reference = error_time[thin], at_state[thin], at_reference[thin]
        reference = followed.position[at_reference, 0]
        error, segment = state.position[at_state, 0] - reference, followed.segment[at_reference]
    return _Flight(
        name=name,
        count=log.vehicles[name],
        time=state.time[kept],
        paths=state.position[kept, :_PATH_LIMIT],
        attitude=np.unwrap(euler_from_quaternion(state.orientation[kept, 0]), axis=0),
        rotor_speed=state.rotor_speed[kept, 0],
        reference_time=error_time,
        reference=reference,
        error=error,
        segment=segment,
        faults=fault_spans(log, name),
    )


def fault_spans(log: Log, vehicle: str) -> tuple[tuple[str, float, float], ...]:
    """Return name, start and end time of each fault of a vehicle, in the order of their starts.

    Args:
        log: The recorded run.
        vehicle: Name of the vehicle.
    """
    if f"{vehicle}/faults" not in log or not len(log[f"{vehicle}/faults"]):
        return ()
    recorded = log[f"{vehicle}/faults"]
    last = float(log[f"{vehicle}/state"].time[-1])
    spans: list[tuple[str, float, float]] = []
    begun: dict[str, float] = {}
    for time, names in zip(recorded.time.tolist(), recorded.names.tolist(), strict=True):
        acting = [name for name in names.split("; ") if name]
        for name in [name for name in begun if name not in acting]:
            spans.append((name, begun.pop(name), time))
        for name in acting:
            begun.setdefault(name, time)
    spans += [(name, start, max(last, start)) for name, start in begun.items()]
    return tuple(sorted(spans, key=lambda span: span[1:]))


def _thinned(count: int) -> IntArray:
    return np.arange(0, count, max(1, -(-count // _POINT_LIMIT)))


def _draw_path(figure: "Figure", place: Any, flight: _Flight) -> None:
    axes: Any = figure.add_subplot(place, projection="3d", computed_zorder=False)
    if len(flight.reference):
        # Wide and light below the flown path, to remain visible with good tracking.
        axes.plot(*flight.reference.T, color="#f0b95c", linewidth=5.0, label="reference", zorder=1)
    for i in reversed(range(flight.paths.shape[1])):
        label = None if i else "flown" if flight.count == 1 else "flown, copy 1"
        width, alpha, order = (1.0, 0.6, 2) if i else (1.8, 1.0, 3)
        color = _COLORS[i % len(_COLORS)]
        axes.plot(*flight.paths[:, i].T, color=color, linewidth=width, alpha=alpha, label=label, zorder=order)
    first, last = flight.paths[0, 0], flight.paths[-1, 0]
    axes.scatter(*first, color="#009e73", s=130, label="start", depthshade=False, zorder=4)
    axes.scatter(*last, color="#d55e00", s=45, marker="s", label="end", depthshade=False, zorder=4)
    _scale(axes, np.concatenate([flight.paths.reshape(-1, 3), flight.reference]))
    axes.set_title("Path", loc="left", fontsize=14, weight="bold")
    axes.set_xlabel("east [m]", fontsize=11)
    axes.set_ylabel("north [m]", fontsize=11)
    axes.set_zlabel("up [m]", fontsize=11)
    axes.view_init(elev=28, azim=-60)
    for axis, name in ((axes.xaxis, "x"), (axes.yaxis, "y"), (axes.zaxis, "z")):
        axes.locator_params(axis=name, nbins=5)
        axis.set_pane_color((0.97, 0.97, 0.97, 1.0))
        axis._axinfo["grid"]["color"] = "#d5d5d5"
    axes.legend(loc="upper left", fontsize=11, frameon=True, framealpha=0.9)


def _scale(axes: Any, points: Array) -> None:
    """Scale east and north equally, and exaggerate the height of low flights."""
    low, high = np.nanmin(points, axis=0), np.nanmax(points, axis=0)
    reach = max(float((high - low).max()), 1.0)
    half = 0.52 * np.maximum(high - low, (0.4 * reach, 0.4 * reach, 0.5))
    center = (low + high) / 2
    axes.set_xlim(center[0] - half[0], center[0] + half[0])
    axes.set_ylim(center[1] - half[1], center[1] + half[1])
    axes.set_zlim(center[2] - half[2], center[2] + half[2])
    axes.set_box_aspect((half[0], half[1], max(half[2], 0.25 * reach)), zoom=1.12)


def _draw_errors(axes: "Axes", flight: _Flight) -> None:
    if not len(flight.error):
        axes.text(0.5, 0.5, "no reference recorded", ha="center", va="center", transform=axes.transAxes)
        _decorate(axes, flight, "Position error", "[m]", names=True)
        return
    for i, name in enumerate(("east", "north", "up")):
        axes.plot(flight.reference_time, flight.error[:, i], color=_COLORS[i], linewidth=1.4, label=name)
    distance = np.sqrt((flight.error**2).sum(axis=1))
    axes.plot(
        flight.reference_time, distance, color="#222222", linewidth=1.0, linestyle=":", label="distance"
    )
    # Space for the segment names above the curves.
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.25 * (high - low))
    _decorate(axes, flight, "Position error", "[m]", names=True)


def _draw_curves(
    axes: "Axes", flight: _Flight, values: Array, names: tuple[str, ...], title: str, unit: str
) -> None:
    for i, name in enumerate(names):
        axes.plot(flight.time, values[:, i], color=_COLORS[i % len(_COLORS)], linewidth=1.3, label=name)
    _decorate(axes, flight, title, unit)


def _decorate(axes: "Axes", flight: _Flight, title: str, unit: str, *, names: bool = False) -> None:
    """Shade and optionally name the segments; add title, labels, grid and legend."""
    shades: dict[str, str] = {}
    for segment, start, end in flight.segments():
        shade = shades.setdefault(segment, _SHADES[len(shades) % len(_SHADES)])
        axes.axvspan(start, end, color=shade, linewidth=0, zorder=0)
        if names and end - start > 0.02 * (flight.time[-1] - flight.time[0]):
            axes.text(
                (start + end) / 2,
                0.985,
                segment,
                transform=axes.get_xaxis_transform(),
                ha="center",
                va="top",
                rotation=90,
                fontsize=10,
                color="#555555",
            )
    for _, start, end in flight.faults:
        axes.axvspan(start, end, color=_RED, alpha=0.1, linewidth=0, zorder=0)
        axes.axvline(end, color=_RED, linewidth=1.2, linestyle=":")
    events = [(start, fault) for fault, start, _ in flight.faults]
    events += [(time, f"failed: {expected}") for time, expected in flight.missed]
    for k, (time, event) in enumerate(events):
        axes.axvline(time, color=_RED, linewidth=1.2)
        if names:
            late = time > 0.6 * flight.time[-1]
            axes.text(
                time,
                0.02 + 0.05 * (k % 8),
                f" {event} ",
                transform=axes.get_xaxis_transform(),
                ha="right" if late else "left",
                va="bottom",
                fontsize=10,
                color=_RED,
            )
    axes.set_title(title, loc="left", fontsize=14, weight="bold")
    axes.set_xlabel("time [s]", fontsize=12)
    axes.set_ylabel(unit, fontsize=12)
    axes.margins(x=0)
    axes.grid(visible=True, color="#c8c8c8", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(
            loc="lower right",
            bbox_to_anchor=(1.0, 1.0),
            ncols=8,
            fontsize=11,
            frameon=False,
            borderaxespad=0.2,
        )
