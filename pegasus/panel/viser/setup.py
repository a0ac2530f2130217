"""Page sections for worlds, scenarios, vehicles, sensors and backends."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import viser
from PIL import Image

from pegasus.panel.backend_part import FLIGHTS, ON_TIMEOUT
from pegasus.panel.board import Topic
from pegasus.panel.choices import ARDUPILOT, BUILT_IN, PX4, ROS2, Choice, controller_names
from pegasus.panel.panel import Panel
from pegasus.panel.sensor_part import CAMERA, CAMERA_OUTPUTS, KINDS, PATTERNS
from pegasus.panel.viser.fields import (
    Section,
    add_button,
    add_button_row,
    choice_html,
    on_change,
    paragraph,
    set_content,
    set_options,
    set_value,
    set_visible,
)

Ray = tuple[float, float, float]
Pick = Callable[[str, Callable[[Ray, Ray], object]], None]
"""Function that requests a click into the view: its purpose, and the function that takes the ray."""

_PLACEHOLDER = (160, 284)

_NONE = "(none)"


class WorldSection(Section):
    """World selection and geographic origin."""

    topics = frozenset({Topic.WORLD})

    def __init__(self, gui: viser.GuiApi, panel: Panel) -> None:
        self._part = part = panel.world
        names = [choice.name for choice in part.choices]
        self._world = gui.add_dropdown("World", names, initial_value=part.chosen)
        self._thumbnail = _Thumbnail(gui)
        self._about = gui.add_html("")
        self._path = gui.add_text("File", "", hint="Path of a YAML or USD file, instead of the list")
        self._choose_file = add_button(gui, "Choose file", lambda: part.choose(self._path.value))
        self._rate = gui.add_number(
            "Physics rate [Hz]",
            part.rate,
            min=1.0,
            step=1.0,
            hint="Applies to the world to load; ArduPilot requires 720 Hz or more",
        )
        self._loading = add_button_row(
            gui, "", {"Load": part.load, "Clear": part.clear, "Refresh": part.refresh}
        )
        with gui.add_folder("Origin", expand_by_default=False):
            self._latitude = gui.add_number("Latitude [deg]", 0.0, step=1e-6)
            self._longitude = gui.add_number("Longitude [deg]", 0.0, step=1e-6)
            self._altitude = gui.add_number("Altitude [m]", 0.0, step=0.1)
            add_button_row(gui, "", {"Set": self._set_origin, "Reset": part.reset_origin})
            add_button_row(
                gui,
                "",
                {"Make default": self._make_default, "Forget default": part.clear_origin_default},
            )
        on_change(self._world, part.choose)
        on_change(self._rate, part.set_rate)

    def refresh(self) -> None:
        """Display the state of the panel."""
        part = self._part
        set_options(self._world, [choice.name for choice in part.choices], part.chosen)
        _show_choice(self._thumbnail, self._about, part.choice, part.chosen)
        set_value(self._rate, part.rate)
        set_value(self._latitude, part.origin.latitude)
        set_value(self._longitude, part.origin.longitude)
        set_value(self._altitude, part.origin.altitude)

    def _set_origin(self) -> bool:
        return self._part.set_origin(self._latitude.value, self._longitude.value, self._altitude.value)

    def _make_default(self) -> bool:
        return self._set_origin() and self._part.make_origin_default()


class VehicleSection(Section):
    """Selection and placement of the next vehicle."""

    topics = frozenset({Topic.VEHICLES})

    def __init__(self, gui: viser.GuiApi, panel: Panel, pick: Pick) -> None:
        self._part = part = panel.vehicle
        names = [choice.name for choice in part.choices]
        self._vehicle = gui.add_dropdown("Vehicle", names, initial_value=part.chosen)
        self._thumbnail = _Thumbnail(gui)
        self._about = gui.add_html("")
        self._name = gui.add_text("Name", "", hint="Name of the model when empty")
        self._position = gui.add_vector3("Position [m]", (0.0, 0.0, 0.0), step=0.01)
        self._place = gui.add_html("")
        add_button_row(
            gui,
            "",
            {
                "Place by click": lambda: pick("the vehicle's position", part.place),
                "Spawn point": part.use_spawn_point,
            },
        )
        self._heading = gui.add_number("Heading [deg]", 0.0, step=1.0)
        self._count = gui.add_number("Count", 1, min=1, max=1000, step=1)
        self._spacing = gui.add_number("Spacing [m]", 0.0, min=0.0, step=0.1, hint="0 for automatic")
        add_button(gui, "Add", part.add)
        on_change(self._vehicle, part.choose)
        on_change(self._name, part.set_name)
        on_change(self._position, lambda value: part.set_position(*value))
        on_change(self._heading, lambda value: part.set_heading(math.radians(value)))
        on_change(self._count, lambda value: part.set_count(value, part.spacing))
        on_change(self._spacing, lambda value: part.set_count(part.count, value or None))

    def refresh(self) -> None:
        """Display the state of the panel."""
        part = self._part
        set_options(self._vehicle, [choice.name for choice in part.choices], part.chosen)
        _show_choice(self._thumbnail, self._about, part.choice, part.chosen)
        set_value(self._name, part.name)
        set_value(self._count, part.count)
        set_value(self._spacing, part.spacing or 0.0)
        set_value(self._heading, round(math.degrees(part.heading), 6))
        # Not those of the last vehicle where none are given.
        set_value(self._position, part.position or (0.0, 0.0, 0.0))
        if part.position is None:
            where = "Starts at the world's next free spawn point."
        else:
            where = "Point on the ground." if part.on_ground else "Position of the body frame."
        set_content(self._place, choice_html(Choice("", where)))


class BackendSection(Section):
    """Backend of the next vehicle."""

    topics = frozenset({Topic.BACKEND})

    def __init__(self, gui: viser.GuiApi, panel: Panel) -> None:
        self._part = part = panel.backend
        names = [choice.name for choice in part.choices]
        self._backend = gui.add_dropdown("Backend", names, initial_value=part.chosen)
        self._about = gui.add_html("")
        self._controller = gui.add_dropdown(
            "Controller", sorted(controller_names()), initial_value=part.controller
        )
        self._flight = gui.add_dropdown("Flight", FLIGHTS, initial_value=part.flight)
        self._size = gui.add_number("Size [m]", part.size, min=0.1, step=0.1, hint="Radius or side")
        self._height = gui.add_number("Height [m]", part.height, min=0.1, step=0.1)
        self._speed = gui.add_number("Speed [m/s]", part.speed, min=0.1, step=0.1)
        self._laps = gui.add_number("Laps", part.laps, min=1, step=1)
        self._launch = gui.add_checkbox("Start the autopilot", part.launch)
        # Programs to execute are set in the settings only; the page displays them.
        self._program = gui.add_html("")
        self._too = gui.add_checkbox("Publish on ROS 2", part.ros2_too, hint="In addition to the backend")
        self._namespace = gui.add_text("Namespace", part.namespace, hint="Name of the vehicle when empty")
        self._domain = gui.add_text("Domain", "", hint="0 to 232; ROS_DOMAIN_ID when empty")
        self._on_timeout = gui.add_dropdown(
            "On timeout",
            ON_TIMEOUT,
            initial_value=part.on_timeout,
            hint="Reaction to missing commands: stop the rotors, or hold the position",
        )
        add_button_row(
            gui, "", {"Reset": part.reset, "Make default": part.make_default, "Refresh": part.refresh}
        )
        on_change(self._backend, part.choose)
        on_change(self._controller, part.set_controller)
        on_change(self._flight, part.set_flight)
        on_change(self._size, lambda value: part.set_flight(part.flight, size=value))
        on_change(self._height, lambda value: part.set_flight(part.flight, height=value))
        on_change(self._speed, lambda value: part.set_flight(part.flight, speed=value))
        on_change(self._laps, lambda value: part.set_flight(part.flight, laps=value))
        on_change(self._launch, part.set_launch)
        on_change(self._too, lambda value: part.set_ros2(too=value))
        on_change(self._namespace, lambda value: part.set_ros2(namespace=value))
        on_change(self._domain, lambda value: part.set_ros2(domain_id=value))
        on_change(self._on_timeout, lambda value: part.set_ros2(on_timeout=value))

    def refresh(self) -> None:
        """Display the state of the panel."""
        part = self._part
        set_options(self._backend, [choice.name for choice in part.choices], part.chosen)
        missing = [choice for choice in part.choices if not choice.available and choice is not part.choice]
        lines = [choice_html(part.choice)]
        lines += [
            choice_html(Choice(c.name, reason=f"{c.name}: {c.reason}", remedy=c.remedy)) for c in missing
        ]
        set_content(self._about, "".join(lines))
        set_value(self._controller, part.controller)
        set_value(self._flight, part.flight)
        for field, value in (
            (self._size, part.size),
            (self._height, part.height),
            (self._speed, part.speed),
            (self._laps, part.laps),
            (self._launch, part.launch),
            (self._too, part.ros2_too),
            (self._namespace, part.namespace),
            (self._domain, "" if part.domain_id is None else str(part.domain_id)),
            (self._on_timeout, part.on_timeout),
        ):
            set_value(field, value)
        set_visible(self._controller, shown=part.chosen == BUILT_IN)
        for field in (self._size, self._height, self._speed, self._laps):
            set_visible(field, shown=part.flight != FLIGHTS[0] and part.chosen != ROS2)
        set_visible(self._flight, shown=part.chosen != ROS2)
        set_visible(self._launch, shown=part.chosen in (PX4, ARDUPILOT))
        set_content(self._program, "".join(paragraph(line) for line in part.program))
        set_visible(self._too, shown=part.chosen != ROS2)
        for field in (self._namespace, self._domain):
            set_visible(field, shown=part.chosen == ROS2 or part.ros2_too)
        set_visible(self._on_timeout, shown=part.chosen == ROS2)


def thumbnail_image(path: Path | None) -> npt.NDArray[np.uint8]:
    """Return an image file, or a placeholder if it is missing or unreadable, shape (H, W, 3)."""
    if path is not None:
        try:
            with Image.open(path) as image:
                return np.asarray(image.convert("RGB"))
        except OSError:
            pass
    height, width = _PLACEHOLDER
    plain = np.full((height, width, 3), 225, np.uint8)
    plain[2:-2, 2:-2] = 240
    return plain


class _Thumbnail:
    """Thumbnail of the selected world or vehicle."""

    def __init__(self, gui: viser.GuiApi) -> None:
        self._image = gui.add_image(thumbnail_image(None))
        self._file: Path | None = None

    def show(self, file: Path | None) -> None:
        """Display an image file or a placeholder, if it differs from the current one."""
        if file != self._file:
            self._file = file
            self._image.image = thumbnail_image(file)


def _show_choice(thumbnail: _Thumbnail, about: Any, choice: Choice | None, path: str) -> None:
    thumbnail.show(None if choice is None else choice.thumbnail)
    set_content(about, choice_html(choice, path))


class ScenarioSection(Section):
    """Opening and saving of scenarios."""

    topics = frozenset({Topic.SCENARIOS})

    def __init__(self, gui: viser.GuiApi, panel: Panel) -> None:
        self._part = part = panel.scenario
        self._list = gui.add_dropdown("Scenario", part.choices or [_NONE])
        add_button_row(gui, "", {"Open": lambda: part.open(self._list.value), "Refresh": part.refresh})
        self._name = gui.add_text("Save as", "", hint="Letters, digits, _ and -")
        self._replace = gui.add_checkbox("Replace", part.replace, hint="Overwrite your scenario")
        add_button(gui, "Save", part.save)
        on_change(self._name, part.set_name)
        on_change(self._replace, part.set_replace)

    def refresh(self) -> None:
        """Display the state of the panel."""
        part = self._part
        set_options(self._list, part.choices or [_NONE], self._list.value)
        set_value(self._name, part.name)
        set_value(self._replace, part.replace)


class SensorSection(Section):
    """Additional cameras and lidars of the next or the followed vehicle."""

    topics = frozenset({Topic.SENSORS})

    def __init__(self, gui: viser.GuiApi, panel: Panel) -> None:
        self._part = part = panel.sensors
        self._kind = gui.add_dropdown("Sensor", KINDS, initial_value=part.kind)
        self._name = gui.add_text("Sensor name", "", hint="Kind of the sensor when empty")
        self._position = gui.add_vector3("Mount [m]", (0.0, 0.0, 0.0), step=0.01, hint="Forward, left, up")
        self._pitch = gui.add_number("Pitch [deg]", 0.0, step=1.0, hint="90 looks down")
        self._yaw = gui.add_number("Yaw [deg]", 0.0, step=1.0, hint="90 looks left")
        self._rate = gui.add_number("Rate [Hz]", part.rate, min=0.1, step=1.0)
        self._size = gui.add_vector2("Pixels", part.resolution, min=(1, 1), step=1.0)
        self._outputs = {name: gui.add_checkbox(name, name in part.outputs) for name in CAMERA_OUTPUTS}
        self._pattern = gui.add_dropdown("Pattern", PATTERNS, initial_value=part.pattern)
        add_button_row(gui, "Mount", {"Next vehicle": part.mount, "Followed": part.mount_on_followed})
        self._listed = gui.add_html("")
        self._mounted = gui.add_dropdown("Mounted", (_NONE,))
        self._remove = add_button(gui, "Unmount", self._unmount)
        on_change(self._kind, part.set_kind)
        on_change(self._name, part.set_name)
        on_change(self._position, lambda value: part.place(*value))
        on_change(self._pitch, lambda value: part.turn(math.radians(value), part.yaw))
        on_change(self._yaw, lambda value: part.turn(part.pitch, math.radians(value)))
        on_change(self._rate, part.set_rate)
        on_change(self._size, lambda value: part.set_resolution(*value))
        for name, box in self._outputs.items():
            on_change(box, self._output(name))
        on_change(self._pattern, part.set_pattern)

    def refresh(self) -> None:
        """Display the state of the panel."""
        part = self._part
        set_value(self._kind, part.kind)
        set_value(self._name, part.name)
        if part.position is not None:
            set_value(self._position, part.position)
        set_value(self._pitch, round(math.degrees(part.pitch), 6))
        set_value(self._yaw, round(math.degrees(part.yaw), 6))
        set_value(self._rate, part.rate)
        set_value(self._size, tuple(map(float, part.resolution)))
        set_value(self._pattern, part.pattern)
        camera = part.kind == CAMERA
        for name, box in self._outputs.items():
            set_value(box, name in part.outputs)
            set_visible(box, shown=camera)
        set_visible(self._size, shown=camera)
        set_visible(self._pattern, shown=not camera)
        lines = [f"{name}: {spec['model']}, {spec['rate_hz']:g} Hz" for name, spec in part.mounted.items()]
        set_content(self._listed, "".join(map(paragraph, lines)))
        set_options(self._mounted, list(part.mounted) or [_NONE], next(iter(part.mounted), _NONE))
        for field in (self._mounted, self._remove):
            set_visible(field, shown=bool(part.mounted))

    def _unmount(self) -> None:
        if self._mounted.value != _NONE:
            self._part.remove(self._mounted.value)

    def _output(self, name: str) -> Callable[[bool], object]:
        return lambda on: self._part.set_output(name, on=on)
