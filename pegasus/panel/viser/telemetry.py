"""Page sections for telemetry: figures, actuators, plots, readings and camera images."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import viser
from viser import uplot

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.cameras import CameraReading
from pegasus.panel.panel import Panel
from pegasus.panel.telemetry import Actuator, Telemetry, filled_reference
from pegasus.panel.viser.fields import Section, paragraph, set_content, table
from pegasus.panel.viser.run import degrees
from pegasus.session.snapshot import Snapshot

_FIGURES_PERIOD, _PLOT_PERIOD, _IMAGE_PERIOD = 6, 8, 6
_PLOT_SAMPLES = 300
_COLORS = ("#e03131", "#2f9e44", "#1971c2")
_LONGEST_VALUE = 6
_WIDEST = 480


class FiguresSection(Section):
    """Figures, actuators, estimate and last readings of the followed vehicle."""

    def __init__(self, gui: viser.GuiApi, panel: Panel) -> None:
        self._panel = panel
        self._figures = gui.add_html("")
        self._rotors = gui.add_html("")
        with gui.add_folder("Estimated and true"):
            self._estimate = gui.add_html("")
        with gui.add_folder("Readings", expand_by_default=False):
            self._readings = gui.add_html("")

    def tick(self, snapshot: Snapshot, number: int) -> None:
        """Display the state of the simulation."""
        if number % _FIGURES_PERIOD:
            return
        telemetry = self._panel.telemetry
        if telemetry is None:
            for part in (self._rotors, self._estimate, self._readings):
                set_content(part, "")
            set_content(self._figures, paragraph("There is no vehicle."))
            return
        set_content(self._figures, table(_figures(telemetry)))
        set_content(self._rotors, bars(telemetry.actuators))
        set_content(self._estimate, _estimated(telemetry))
        set_content(self._readings, table(_readings(telemetry)))


class PlotSection(Section):
    """Plots of position and attitude with their references over the last minute."""

    def __init__(self, gui: viser.GuiApi, panel: Panel) -> None:
        self._panel = panel
        self._position = _plot(gui, "Position [m]", ("x", "y", "z"), ("x ref", "y ref", "z ref"))
        self._attitude = _plot(gui, "Attitude [deg]", ("roll", "pitch", "yaw"), ("yaw ref",))
        self._empty = True

    def tick(self, snapshot: Snapshot, number: int) -> None:
        """Display the state of the simulation."""
        if number % _PLOT_PERIOD:
            return
        columns = self._panel.history.columns()
        count = len(columns["time"])
        if count < 2:
            self._clear()
            return
        self._empty = False
        kept = slice(None, None, max(1, count // _PLOT_SAMPLES))
        shown = {name: column[kept] for name, column in columns.items()}
        for name in ("x", "y", "z", "yaw"):
            reference = f"reference_{name}"
            shown[reference] = filled_reference(shown[reference], shown[name])
        names = ("x", "y", "z", "reference_x", "reference_y", "reference_z")
        self._position.data = (shown["time"], *(shown[name] for name in names))
        angles = ("roll", "pitch", "yaw", "reference_yaw")
        self._attitude.data = (shown["time"], *(np.degrees(shown[name]) for name in angles))

    def _clear(self) -> None:
        """Clear the plots."""
        if not self._empty:
            self._empty = True
            for plot in (self._position, self._attitude):
                plot.data = tuple(np.zeros(2) for _ in plot.data)


class CameraSection(Section):
    """Camera images of the followed vehicle, rendered only while the box is checked."""

    def __init__(self, gui: viser.GuiApi, panel: Panel) -> None:
        self._gui, self._panel = gui, panel
        self._wanted = gui.add_checkbox("Show camera images", initial_value=False)
        self._message = gui.add_html("")
        self._images: dict[str, Any] = {}
        self._stamps: dict[str, float] = {}
        self._container: Callable[[], Any] = lambda: None

    def put_into(self, container: Callable[[], Any]) -> None:
        """Set the part of the page in which new images appear."""
        self._container = container

    def tick(self, snapshot: Snapshot, number: int) -> None:
        """Display the state of the simulation."""
        followed = self._panel.view.followed_vehicle(snapshot) if self._wanted.value else None
        readings = {} if followed is None else followed[0].readings
        copy = 0 if followed is None else followed[1]
        shown = {
            f"{sensor} {part}".strip(): camera
            for sensor, reading in readings.items()
            if (cameras := getattr(reading, "cameras", None)) is not None
            for part, camera in cameras.items()
            if isinstance(camera, CameraReading) and "rgb" in camera.outputs
        }
        for label in [label for label in self._images if label not in shown]:
            self._images.pop(label).remove()
            self._stamps.pop(label, None)
        if not shown and number % _FIGURES_PERIOD == 0:
            set_content(self._message, paragraph("The vehicle has no camera." if self._wanted.value else ""))
        for label, camera in shown.items():
            stamp = float(np.max(camera.stamp))
            if number % _IMAGE_PERIOD == 0 and self._stamps.get(label) != stamp:
                self._stamps[label] = stamp
                self._draw(label, camera, copy)

    def _draw(self, label: str, camera: CameraReading, copy: int) -> None:
        try:
            image = camera.image("rgb", copy)
        except ConfigError as error:
            set_content(self._message, paragraph(str(error), error=True))
            return
        set_content(self._message, "")
        step = max(1, -(-image.shape[1] // _WIDEST))
        small = np.ascontiguousarray(image[::step, ::step])
        if label in self._images:
            self._images[label].image = small
        else:
            with self._container():
                self._images[label] = self._gui.add_image(small, label=label, format="jpeg")


def bars(actuators: Sequence[Actuator]) -> str:
    """Return rotor speeds or commands by channel as HTML bars."""
    row = (
        '<div style="display:flex;align-items:center;margin:1px 14px;font-size:11px">'
        '<span style="width:5em">{0.name}</span>'
        '<span style="flex:1;background:#8884;height:8px"><span style="display:block;height:8px;'
        'background:#2369be;width:{percent:.0f}%"></span></span>'
        '<span style="width:6.5em;text-align:right">{0.text}</span></div>'
    )
    return "".join(row.format(actuator, percent=100 * actuator.share) for actuator in actuators)


def _figures(telemetry: Telemetry) -> list[tuple[str, ...]]:
    roll, pitch, yaw = telemetry.attitude.tolist()
    rows: list[tuple[str, ...]] = [
        ("vehicle", telemetry.name),
        ("backend", telemetry.pilot or "none"),
        ("position", _vector(telemetry.position, "m")),
        ("altitude", f"{telemetry.altitude:.2f} m"),
        ("height", f"{telemetry.position[2]:.2f} m"),
        ("speed", f"{telemetry.speed:.2f} m/s, climb {telemetry.climb:.2f} m/s"),
        ("attitude", f"roll {degrees(roll)}, pitch {degrees(pitch)}, heading {degrees(yaw)}"),
    ]
    if telemetry.battery is not None:
        battery = telemetry.battery
        rows.append(
            ("battery", f"{battery.voltage:.2f} V, {battery.current:.1f} A, {100 * battery.charge:.0f} %")
        )
    if telemetry.segment:
        rows.append(("segment", telemetry.segment))
    if telemetry.reference is not None and telemetry.error is not None:
        rows.append(("reference", _vector(telemetry.reference, "m")))
        rows.append(("error", f"{telemetry.error:.2f} m"))
    return rows


def _estimated(telemetry: Telemetry) -> str:
    """Return the autopilot's estimate and its errors as HTML."""
    estimate = telemetry.estimate
    rows: list[tuple[str, ...]] = []
    if estimate is not None:
        rows = [
            ("", "estimated", "error"),
            ("position [m]", _vector(estimate.position, ""), _vector(estimate.position_error, "")),
            ("velocity [m/s]", _vector(estimate.velocity, ""), _vector(estimate.velocity_error, "")),
            (
                "attitude",
                ", ".join(degrees(angle) for angle in estimate.attitude.tolist()),
                degrees(estimate.attitude_error),
            ),
            ("age", f"{estimate.age:.2f} s", ""),
        ]
    if telemetry.measured is not None:
        error = telemetry.measured - telemetry.position
        rows.append(("GPS [m]", _vector(telemetry.measured, ""), _vector(error, "")))
    return table(rows) if rows else paragraph("The backend uses the true state.")


def _readings(telemetry: Telemetry) -> list[tuple[str, ...]]:
    """Return the readings of all sensors as table rows."""
    rows: list[tuple[str, ...]] = []
    for sensor, values in telemetry.readings.items():
        for field, value in values.items():
            if value.size <= _LONGEST_VALUE:
                rows.append((sensor, field, _vector(value, "")))
    return rows


def _vector(values: Array, unit: str) -> str:
    text = ", ".join(f"{value:.7g}" if abs(value) > 1e3 else f"{value:.3f}" for value in np.ravel(values))
    return f"{text} {unit}".strip()


def _plot(gui: viser.GuiApi, title: str, names: tuple[str, ...], references: tuple[str, ...]) -> Any:
    lines = [uplot.Series(label=n, stroke=c, width=2) for n, c in zip(names, _COLORS, strict=True)]
    colors = _COLORS[-len(references) :]
    lines += [
        uplot.Series(label=n, stroke=c, width=1, dash=(4, 4)) for n, c in zip(references, colors, strict=True)
    ]
    empty = tuple(np.zeros(2) for _ in range(1 + len(lines)))
    return gui.add_uplot(
        empty,
        (uplot.Series(label="t [s]"), *lines),
        title=title,
        scales={"x": uplot.Scale(time=False)},
        aspect=1.7,
    )
