"""Telemetry of the followed vehicle in the window: figures, actuator bars, plots and camera images."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import omni.ui as ui

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.cameras import CameraReading
from pegasus.isaac import fields
from pegasus.panel.panel import Panel
from pegasus.panel.telemetry import Telemetry, filled_reference
from pegasus.session.snapshot import Snapshot

# Kit's colours are in the order alpha, blue, green, red: references have the paler ones.
_PALE, _FULL = (0xFF9090E0, 0xFF90C890, 0xFFE0B090), (0xFF3131E0, 0xFF449E2F, 0xFFC27119)
_PLOT_SAMPLES, _LONGEST_VALUE, _WIDEST, _LISTED = 300, 6, 320, 12
_POSITION, _ATTITUDE = ("x", "y", "z"), ("roll", "pitch", "yaw")


class TelemetrySection:
    """Figures, actuator bars, plots of the last minute and readings of the followed vehicle."""

    def __init__(self, panel: Panel) -> None:
        self._panel = panel
        self._figures = fields.line("")
        self._rotors = fields.Bars()
        self._position = fields.Curves((*_PALE, *_FULL))
        self._attitude = fields.Curves((_PALE[2], *_FULL))
        self._estimate = fields.line("")
        with ui.CollapsableFrame("Readings", collapsed=True, height=0):
            self._readings = fields.line("")

    def update(self) -> None:
        """Update figures, plots and readings."""
        telemetry = self._panel.telemetry
        if telemetry is None:
            self._figures.text = "There is no vehicle."
            self._estimate.text = self._readings.text = ""
            return
        self._figures.text = "\n".join(figures(telemetry, self._panel.snapshot))
        self._rotors.show(np.array([actuator.share for actuator in telemetry.actuators]))
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
        position = [filled_reference(kept[f"reference_{name}"], kept[name]) for name in _POSITION]
        position += [kept[name] for name in _POSITION]
        lowest, highest = limits(position)
        caption = f"x red, y green, z blue; pale: reference. {lowest:.1f} to {highest:.1f} m, last {length}"
        self._position.show(caption, position, lowest, highest)
        attitude = [
            filled_reference(kept["reference_yaw"], kept["yaw"]),
            *(kept[name] for name in _ATTITUDE),
        ]
        attitude = [np.degrees(angle) for angle in attitude]
        lowest, highest = limits(attitude)
        caption = f"roll red, pitch green, heading blue. {lowest:.0f} to {highest:.0f} deg, last {length}"
        self._attitude.show(caption, attitude, lowest, highest)


class CameraSection:
    """Images of the cameras of the followed vehicle, rendered only while they are enabled."""

    def __init__(self, panel: Panel) -> None:
        self._panel = panel
        self._enabled = False
        self._labels: tuple[str, ...] = ()
        self._images: dict[str, fields.LiveImage] = {}
        self._stamps: dict[str, float] = {}
        fields.check("Show camera images", False, self._enable)
        self._problem = fields.line("")
        self._frame: Any = ui.Frame(height=0)
        self._frame.set_build_fn(self._build)

    def update(self) -> None:
        """Show new images."""
        cameras, copy = self._cameras()
        if tuple(cameras) != self._labels:
            # The images are created with the next frame.
            self._labels, self._images, self._stamps = tuple(cameras), {}, {}
            self._frame.rebuild()
        if self._enabled and not cameras:
            self._problem.text = "The vehicle has no camera with an image yet."
        for label, camera in cameras.items():
            stamp = float(np.max(camera.stamp))
            if label in self._images and self._stamps.get(label) != stamp:
                self._stamps[label] = stamp
                self._draw(label, camera, copy)

    def _enable(self, on: bool) -> None:
        self._enabled = on
        self._problem.text = ""

    def _build(self) -> None:
        with ui.VStack(height=0):
            self._images = {label: fields.LiveImage(label) for label in self._labels}

    def _cameras(self) -> tuple[dict[str, CameraReading], int]:
        followed = self._panel.view.followed_vehicle(self._panel.snapshot) if self._enabled else None
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
            self._problem.text = str(error)
            return
        self._problem.text = ""
        step = max(1, -(-image.shape[1] // _WIDEST))
        self._images[label].show(image[::step, ::step])


def fleet(snapshot: Snapshot) -> list[str]:
    """Return a line of text for each vehicle: model, state and height."""
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
    """Return lines of text with the state of a vehicle and the rates of the simulation."""
    roll, pitch, yaw = (math.degrees(angle) for angle in telemetry.attitude.tolist())
    lines = [
        f"{telemetry.name}, flown by {telemetry.pilot or 'nobody'} {telemetry.segment}".rstrip(),
        f"position {_vector(telemetry.position)} m, altitude {telemetry.altitude:.1f} m",
        f"speed {telemetry.speed:.2f} m/s, climb {telemetry.climb:.2f} m/s",
        f"roll {roll:.1f}, pitch {pitch:.1f}, heading {yaw:.1f} deg",
        ", ".join(f"{actuator.name} {actuator.text}" for actuator in telemetry.actuators),
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
    """Return lines of text with an autopilot's estimate, the GPS position, and their errors."""
    estimate = telemetry.estimate
    lines = []
    if estimate is not None:
        angles = ", ".join(f"{math.degrees(angle):.1f}" for angle in estimate.attitude.tolist())
        lines = [
            f"estimated, {estimate.age:.2f} s ago:",
            f"position {_vector(estimate.position)} m, error {_vector(estimate.position_error)} m",
            f"velocity {_vector(estimate.velocity)} m/s, error {_vector(estimate.velocity_error)} m/s",
            f"attitude {angles} deg, error {math.degrees(estimate.attitude_error):.1f} deg",
        ]
    if telemetry.measured is not None:
        error = telemetry.measured - telemetry.position
        lines.append(f"GPS {_vector(telemetry.measured)} m, error {_vector(error)} m")
    return lines or ["Its pilot uses the true state."]


def limits(curves: Sequence[Array]) -> tuple[float, float]:
    """Return the lowest and highest plotted value of curves, shape (K,) each, with a margin above 0."""
    lowest = float(min(curve.min() for curve in curves))
    highest = float(max(curve.max() for curve in curves))
    margin = max(0.05 * (highest - lowest), 0.05)
    return lowest - margin, highest + margin


def _vector(values: Array) -> str:
    return ", ".join(f"{value:.7g}" if abs(value) > 1e3 else f"{value:.2f}" for value in np.ravel(values))
