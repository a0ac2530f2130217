"""The window's sections for what a vehicle says: figures, rotor bars, plots, pictures of its cameras."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import omni.ui as ui

from pegasus.arrays import Array
from pegasus.cameras import CameraReading
from pegasus.errors import ConfigError
from pegasus.isaac import fields
from pegasus.panel.panel import Panel
from pegasus.panel.snapshot import Snapshot
from pegasus.panel.telemetry import Telemetry, hidden_where_unknown

# Kit's colours are in the order alpha, blue, green, red: references are the paler ones.
_PALE, _FULL = (0xFF9090E0, 0xFF90C890, 0xFFE0B090), (0xFF3131E0, 0xFF449E2F, 0xFFC27119)
_PLOT_SAMPLES, _LONGEST_VALUE, _WIDEST, _LISTED = 300, 6, 320, 12
_POSITION, _ATTITUDE = ("x", "y", "z"), ("roll", "pitch", "yaw")


class TelemetrySection:
    """Figures of the followed vehicle, its rotors as bars, its last minute as plots, its last readings.

    Args:
        panel: The panel.
    """

    def __init__(self, panel: Panel) -> None:
        self._panel = panel
        self._figures = fields.line("")
        self._rotors = fields.Bars()
        self._position = fields.Curves((*_PALE, *_FULL))
        self._attitude = fields.Curves((_PALE[2], *_FULL))
        self._estimate = fields.line("")
        with ui.CollapsableFrame("Readings", collapsed=True, height=0):
            self._readings = fields.line("")

    def look(self) -> None:
        """Show what changes by itself."""
        telemetry = self._panel.telemetry
        if telemetry is None:
            self._figures.text = "There is no vehicle to look at."
            self._estimate.text = self._readings.text = ""
            return
        self._figures.text = "\n".join(figures(telemetry, self._panel.snapshot))
        self._rotors.show(np.clip(telemetry.rotor_share, 0.0, 1.0))
        self._estimate.text = "\n".join(estimated(telemetry))
        self._readings.text = "\n".join(
            f"{sensor} {field}: {_vector(value)}"
            for sensor, values in telemetry.readings.items()
            for field, value in values.items()
            if value.size <= _LONGEST_VALUE
        )
        columns = self._panel.history.columns()
        count = len(columns["time"])
        if count < 2:
            return
        kept = {name: column[:: max(1, count // _PLOT_SAMPLES)] for name, column in columns.items()}
        length = f"{columns['time'][-1] - columns['time'][0]:.0f} s"
        position = [hidden_where_unknown(kept[f"reference_{name}"], kept[name]) for name in _POSITION]
        position += [kept[name] for name in _POSITION]
        lowest, highest = limits(position)
        said = f"x red, y green, z blue; pale: reference. {lowest:.1f} to {highest:.1f} m, last {length}"
        self._position.show(said, position, lowest, highest)
        attitude = [
            hidden_where_unknown(kept["reference_yaw"], kept["yaw"]),
            *(kept[name] for name in _ATTITUDE),
        ]
        attitude = [np.degrees(angle) for angle in attitude]
        lowest, highest = limits(attitude)
        said = f"roll red, pitch green, heading blue. {lowest:.0f} to {highest:.0f} deg, last {length}"
        self._attitude.show(said, attitude, lowest, highest)


class CameraSection:
    """What the cameras of the followed vehicle see; nothing is drawn until it is asked for.

    Args:
        panel: The panel.
    """

    def __init__(self, panel: Panel) -> None:
        self._panel = panel
        self._wanted = False
        self._labels: tuple[str, ...] = ()
        self._pictures: dict[str, fields.Pixels] = {}
        self._stamps: dict[str, float] = {}
        fields.check("Show pictures", False, self._want)
        self._trouble = fields.line("")
        self._frame: Any = ui.Frame(height=0)
        self._frame.set_build_fn(self._build)

    def look(self) -> None:
        """Show pictures that are new."""
        cameras, copy = self._cameras()
        if tuple(cameras) != self._labels:
            # The pictures are made with the next frame.
            self._labels, self._pictures, self._stamps = tuple(cameras), {}, {}
            self._frame.rebuild()
        if self._wanted and not cameras:
            self._trouble.text = "The vehicle has no camera that has seen anything."
        for label, camera in cameras.items():
            stamp = float(np.max(camera.stamp))
            if label in self._pictures and self._stamps.get(label) != stamp:
                self._stamps[label] = stamp
                self._draw(label, camera, copy)

    def _want(self, on: bool) -> None:
        self._wanted = on
        self._trouble.text = ""

    def _build(self) -> None:
        with ui.VStack(height=0):
            self._pictures = {label: fields.Pixels(label) for label in self._labels}

    def _cameras(self) -> tuple[dict[str, CameraReading], int]:
        followed = self._panel.view.followed_vehicle(self._panel.snapshot) if self._wanted else None
        if followed is None:
            return {}, 0
        return {
            f"{sensor} {part}".strip(): camera
            for sensor, reading in followed[0].readings.items()
            for part, camera in getattr(reading, "cameras", {}).items()
            if isinstance(camera, CameraReading) and "rgb" in camera.outputs
        }, followed[1]

    def _draw(self, label: str, camera: CameraReading, copy: int) -> None:
        try:
            image = camera.image("rgb", copy)
        except ConfigError as error:
            self._trouble.text = str(error)
            return
        self._trouble.text = ""
        step = max(1, -(-image.shape[1] // _WIDEST))
        self._pictures[label].show(image[::step, ::step])


def fleet(snapshot: Snapshot) -> list[str]:
    """Return what the vehicles of a simulation are doing, line by line.

    Args:
        snapshot: The simulation.
    """
    lines = []
    for vehicle in snapshot.vehicles[:_LISTED]:
        model = f"{vehicle.count} x {vehicle.model}" if vehicle.count > 1 else vehicle.model
        state = vehicle.segment or (
            "on the ground" if vehicle.in_contact.all() else vehicle.pilot or "unflown"
        )
        lines.append(f"{vehicle.name}: {model}, {state}, {vehicle.position[0, 2]:.1f} m")
    more = len(snapshot.vehicles) - _LISTED
    return [*lines, f"and {more} more"] if more > 0 else lines


def figures(telemetry: Telemetry, snapshot: Snapshot) -> list[str]:
    """Return what there is to say of a vehicle and of how fast its simulation goes, line by line.

    Args:
        telemetry: The vehicle.
        snapshot: The simulation.
    """
    roll, pitch, yaw = (math.degrees(angle) for angle in telemetry.attitude.tolist())
    lines = [
        f"{telemetry.name}, flown by {telemetry.pilot or 'nobody'} {telemetry.segment}".rstrip(),
        f"position {_vector(telemetry.position)} m, altitude {telemetry.altitude:.1f} m",
        f"speed {telemetry.speed:.2f} m/s, climb {telemetry.climb:.2f} m/s",
        f"roll {roll:.1f}, pitch {pitch:.1f}, heading {yaw:.1f} deg",
        f"rotors {', '.join(f'{speed:.0f}' for speed in telemetry.rotor_speed.tolist())} rad/s",
    ]
    if telemetry.reference is not None and telemetry.error is not None:
        lines.append(f"reference {_vector(telemetry.reference)} m, off by {telemetry.error:.2f} m")
    if telemetry.battery is not None:
        battery = telemetry.battery
        lines.append(
            f"battery {battery.voltage:.2f} V, {battery.current:.1f} A, {100 * battery.charge:.0f} %"
        )
    if snapshot.time > 0.0:
        rate = snapshot.step_count / snapshot.time
        lines.append(f"physics {rate:.0f} Hz, {snapshot.real_time_factor:.2f} times real time")
    return lines


def estimated(telemetry: Telemetry) -> list[str]:
    """Return what an autopilot believes beside what is true, line by line.

    Args:
        telemetry: The vehicle.
    """
    said = telemetry.estimate
    lines = []
    if said is not None:
        angles = ", ".join(f"{math.degrees(angle):.1f}" for angle in said.attitude.tolist())
        lines = [
            f"estimated, {said.age:.2f} s ago:",
            f"position {_vector(said.position)} m, error {_vector(said.position_error)} m",
            f"velocity {_vector(said.velocity)} m/s, error {_vector(said.velocity_error)} m/s",
            f"attitude {angles} deg, error {math.degrees(said.attitude_error):.1f} deg",
        ]
    if telemetry.measured is not None:
        error = telemetry.measured - telemetry.position
        lines.append(f"GPS {_vector(telemetry.measured)} m, error {_vector(error)} m")
    return lines or ["Its pilot knows the truth."]


def limits(curves: Sequence[Array]) -> tuple[float, float]:
    """Return between which values curves are drawn: all of them, with some room, and never nothing.

    Args:
        curves: Shape (K,) each.
    """
    lowest = float(min(curve.min() for curve in curves))
    highest = float(max(curve.max() for curve in curves))
    room = max(0.05 * (highest - lowest), 0.05)
    return lowest - room, highest + room


def _vector(values: Array) -> str:
    return ", ".join(f"{value:.7g}" if abs(value) > 1e3 else f"{value:.2f}" for value in np.ravel(values))
