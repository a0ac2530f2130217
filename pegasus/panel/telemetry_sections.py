"""Sections of the panel for telemetry: figures, actuators, plots, readings and camera images."""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from pegasus.base.arrays import Array
from pegasus.cameras import CameraReading
from pegasus.panel.fields import Bars, Check, Draft, Fold, Images, Item, Lines, Plot, Section, Table
from pegasus.panel.panel import Panel
from pegasus.panel.telemetry import Actuator, Telemetry, filled_reference
from pegasus.session.snapshot import Snapshot

Row = tuple[str, ...]
_PLOT_SAMPLES, _LONGEST_VALUE = 300, 6


def telemetry(panel: Panel) -> Section:
    """Return figures, actuators, estimate, readings and plots of the followed vehicle."""

    def of(rows: Callable[[Telemetry], Sequence[Row]]) -> Callable[[], Sequence[Row]]:
        def get() -> Sequence[Row]:
            return [] if (found := panel.telemetry) is None else rows(found)

        return get

    def actuators() -> Sequence[Actuator]:
        return [] if panel.telemetry is None else panel.telemetry.actuators

    def columns() -> Mapping[str, Array] | None:
        return plotted(panel.history.columns())

    position = {name: name for name in ("x", "y", "z")}
    attitude = {name: name for name in ("roll", "pitch", "yaw")}
    items: list[Item] = [
        Lines(lambda: ["There is no vehicle."] if panel.telemetry is None else [], live=True),
        Table(of(lambda found: figures(found, panel.snapshot)), live=True),
        Bars(actuators, live=True),
        Fold("Estimated and true", [Table(of(estimated), live=True)]),
        Fold("Readings", [Table(of(readings), live=True)], open=False),
        Plot("Position [m]", position, {f"{n} ref": f"reference_{n}" for n in position}, columns, live=True),
        Plot("Attitude [deg]", attitude, {"yaw ref": "reference_yaw"}, columns, live=True),
    ]
    return Section("Telemetry", frozenset(), items)


def cameras(panel: Panel) -> Section:
    """Return camera images of the followed vehicle, rendered only while the box is checked."""
    wanted = Draft(lambda: False)

    def images() -> tuple[Mapping[str, CameraReading], int]:
        followed = panel.view.followed_vehicle(panel.snapshot) if wanted.get() else None
        if followed is None:
            return {}, 0
        return {
            f"{sensor} {part}".strip(): camera
            for sensor, reading in followed[0].readings.items()
            for part, camera in getattr(reading, "cameras", {}).items()
            if isinstance(camera, CameraReading) and "rgb" in camera.outputs
        }, followed[1]

    def words() -> list[str]:
        return ["The vehicle has no camera with an image yet."] if wanted.get() and not images()[0] else []

    items = [
        Check("Show camera images", wanted.get, wanted.set),
        Lines(words, live=True),
        Images(images, live=True),
    ]
    return Section("Cameras", frozenset(), items)


def plotted(columns: Mapping[str, Array]) -> dict[str, Array] | None:
    """Return the columns of a history for plots, with angles in degrees; None if they are too short.

    Args:
        columns: Columns of the history, shape (K,) each.
    """
    count = len(columns["time"])
    if count < 2:
        return None
    shown = {name: column[:: max(1, count // _PLOT_SAMPLES)] for name, column in columns.items()}
    for name in ("x", "y", "z", "yaw"):
        shown[f"reference_{name}"] = filled_reference(shown[f"reference_{name}"], shown[name])
    return shown | {name: np.degrees(shown[name]) for name in ("roll", "pitch", "yaw", "reference_yaw")}


def figures(telemetry: Telemetry, snapshot: Snapshot) -> list[Row]:
    """Return the state of a vehicle, and the rate of the simulation."""
    roll, pitch, yaw = map(_degrees, telemetry.attitude.tolist())
    rows: list[Row] = [
        ("vehicle", telemetry.name),
        ("backend", telemetry.pilot or "none"),
        ("position", f"{_vector(telemetry.position)} m"),
        ("altitude", f"{telemetry.altitude:.2f} m"),
        ("height", f"{telemetry.position[2]:.2f} m"),
        ("speed", f"{telemetry.speed:.2f} m/s, climb {telemetry.climb:.2f} m/s"),
        ("attitude", f"roll {roll}, pitch {pitch}, heading {yaw}"),
    ]
    if (battery := telemetry.battery) is not None:
        rows.append(
            ("battery", f"{battery.voltage:.2f} V, {battery.current:.1f} A, {100 * battery.charge:.0f} %")
        )
    if telemetry.segment:
        rows.append(("segment", telemetry.segment))
    if telemetry.reference is not None and telemetry.error is not None:
        rows.append(("reference", f"{_vector(telemetry.reference)} m"))
        rows.append(("error", f"{telemetry.error:.2f} m"))
    if snapshot.time > 0.0:
        rows.append(("physics", f"{snapshot.step_count / snapshot.time:.0f} Hz"))
    return rows


def estimated(telemetry: Telemetry) -> list[Row]:
    """Return an autopilot's estimate, the GPS position, and their errors."""
    estimate = telemetry.estimate
    rows: list[Row] = []
    if estimate is not None:
        angles = ", ".join(map(_degrees, estimate.attitude.tolist()))
        rows = [
            ("", "estimated", "error"),
            ("position [m]", _vector(estimate.position), _vector(estimate.position_error)),
            ("velocity [m/s]", _vector(estimate.velocity), _vector(estimate.velocity_error)),
            ("attitude", angles, _degrees(estimate.attitude_error)),
            ("age", f"{estimate.age:.2f} s", ""),
        ]
    if telemetry.measured is not None:
        error = telemetry.measured - telemetry.position
        rows.append(("GPS [m]", _vector(telemetry.measured), _vector(error)))
    return rows or [("The backend uses the true state.",)]


def readings(telemetry: Telemetry) -> list[Row]:
    """Return the last readings of all sensors."""
    return [
        (sensor, field, _vector(value))
        for sensor, values in telemetry.readings.items()
        for field, value in values.items()
        if value.size <= _LONGEST_VALUE
    ]


def _degrees(radians: float) -> str:
    return f"{math.degrees(radians):.1f}°"


def _vector(values: Array) -> str:
    return ", ".join(f"{value:.7g}" if abs(value) > 1e3 else f"{value:.3f}" for value in np.ravel(values))
