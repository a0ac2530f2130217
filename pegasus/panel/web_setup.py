"""The page's sections for what is chosen: world, vehicle and backend."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import viser
from PIL import Image

from pegasus.control import CONTROLLERS
from pegasus.panel.backend_part import FLIGHTS, ON_TIMEOUT
from pegasus.panel.board import Topic
from pegasus.panel.choices import ARDUPILOT, BUILT_IN, PX4, ROS2, Choice
from pegasus.panel.panel import Panel
from pegasus.panel.web_fields import (
    Section,
    appear,
    described,
    on_buttons,
    on_press,
    on_user,
    paragraph,
    put,
    put_content,
    put_options,
)

Ray = tuple[float, float, float]
Pick = Callable[[str, Callable[[Ray, Ray], object]], None]
"""Asks for a click into the view: what it is for, and what is done with the ray through it."""

_PLACEHOLDER = (160, 284)


class WorldSection(Section):
    """Which world, and where on Earth.

    Args:
        gui: The page.
        panel: The panel.
    """

    topics = frozenset({Topic.WORLD})

    def __init__(self, gui: viser.GuiApi, panel: Panel) -> None:
        self._part = part = panel.world
        names = [choice.name for choice in part.choices]
        self._world = gui.add_dropdown("World", names, initial_value=part.chosen)
        self._picture = _Thumbnail(gui)
        self._about = gui.add_html("")
        self._path = gui.add_text("File", "", hint="Path of a YAML or USD file, in place of the list")
        self._choose_file = on_press(gui, "Choose file", lambda: part.choose(self._path.value))
        self._rate = gui.add_number(
            "Physics rate [Hz]",
            part.rate,
            min=1.0,
            step=1.0,
            hint="Of the world to load; ArduPilot wants 720 Hz or more",
        )
        self._loading = on_buttons(
            gui, "", {"Load": part.load, "Clear": part.clear, "Look again": part.refresh}
        )
        with gui.add_folder("Origin", expand_by_default=False):
            self._latitude = gui.add_number("Latitude [deg]", 0.0, step=1e-6)
            self._longitude = gui.add_number("Longitude [deg]", 0.0, step=1e-6)
            self._altitude = gui.add_number("Altitude [m]", 0.0, step=0.1)
            on_buttons(gui, "", {"Set": self._set_origin, "Reset": part.reset_origin})
            on_buttons(
                gui,
                "",
                {"Make default": self._make_default, "Forget default": part.forget_origin_default},
            )
        on_user(self._world, part.choose)
        on_user(self._rate, part.set_rate)

    def refresh(self) -> None:
        """Show what the panel holds."""
        part = self._part
        put_options(self._world, [choice.name for choice in part.choices], part.chosen)
        _show_choice(self._picture, self._about, part.choice, part.chosen)
        put(self._rate, part.rate)
        put(self._latitude, part.origin.latitude)
        put(self._longitude, part.origin.longitude)
        put(self._altitude, part.origin.altitude)

    def _set_origin(self) -> bool:
        return self._part.set_origin(self._latitude.value, self._longitude.value, self._altitude.value)

    def _make_default(self) -> bool:
        return self._set_origin() and self._part.make_origin_default()


class VehicleSection(Section):
    """Which vehicle, where, and how many.

    Args:
        gui: The page.
        panel: The panel.
        pick: Asks for a click into the view.
    """

    topics = frozenset({Topic.VEHICLES})

    def __init__(self, gui: viser.GuiApi, panel: Panel, pick: Pick) -> None:
        self._part = part = panel.vehicle
        names = [choice.name for choice in part.choices]
        self._vehicle = gui.add_dropdown("Vehicle", names, initial_value=part.chosen)
        self._picture = _Thumbnail(gui)
        self._about = gui.add_html("")
        self._name = gui.add_text("Name", "", hint="That of the model, with a number, when empty")
        self._position = gui.add_vector3("Position [m]", (0.0, 0.0, 0.0), step=0.01)
        self._place = gui.add_html("")
        on_buttons(
            gui,
            "",
            {
                "Place by click": lambda: pick("the vehicle's place", part.place),
                "Spawn point": part.use_spawn_point,
            },
        )
        self._heading = gui.add_number("Heading [deg]", 0.0, step=1.0)
        self._count = gui.add_number("Count", 1, min=1, max=1000, step=1)
        self._spacing = gui.add_number("Spacing [m]", 0.0, min=0.0, step=0.1, hint="0 for one that fits")
        on_press(gui, "Add", part.add)
        on_user(self._vehicle, part.choose)
        on_user(self._name, part.set_name)
        on_user(self._position, lambda value: part.set_position(*value))
        on_user(self._heading, lambda value: part.set_heading(math.radians(value)))
        for field in (self._count, self._spacing):
            on_user(field, lambda _: part.set_count(self._count.value, self._spacing.value or None))

    def refresh(self) -> None:
        """Show what the panel holds."""
        part = self._part
        put_options(self._vehicle, [choice.name for choice in part.choices], part.chosen)
        _show_choice(self._picture, self._about, part.choice, part.chosen)
        put(self._name, part.name)
        put(self._count, part.count)
        put(self._spacing, part.spacing or 0.0)
        put(self._heading, round(math.degrees(part.heading), 6))
        if part.position is None:
            where = "It starts at the world's next free spawn point."
        else:
            put(self._position, part.position)
            where = "It will stand there." if part.on_ground else "The body frame starts there."
        put_content(self._place, described(Choice("", where)))


class BackendSection(Section):
    """Who flies the next vehicle.

    Args:
        gui: The page.
        panel: The panel.
    """

    topics = frozenset({Topic.BACKEND})

    def __init__(self, gui: viser.GuiApi, panel: Panel) -> None:
        self._part = part = panel.backend
        names = [choice.name for choice in part.choices]
        self._backend = gui.add_dropdown("Flown by", names, initial_value=part.chosen)
        self._about = gui.add_html("")
        self._controller = gui.add_dropdown("Controller", sorted(CONTROLLERS), initial_value=part.controller)
        self._flight = gui.add_dropdown("Flight", FLIGHTS, initial_value=part.flight)
        self._size = gui.add_number("Size [m]", part.size, min=0.1, step=0.1, hint="Radius or side")
        self._height = gui.add_number("Height [m]", part.height, min=0.1, step=0.1)
        self._speed = gui.add_number("Speed [m/s]", part.speed, min=0.1, step=0.1)
        self._laps = gui.add_number("Laps", part.laps, min=1, step=1)
        self._launch = gui.add_checkbox("Start it with the run", part.launch)
        # What starts programs comes from settings: a page only shows it.
        self._program = gui.add_html("")
        self._too = gui.add_checkbox("On ROS 2 too", part.ros2_too, hint="To be listened to")
        self._namespace = gui.add_text("Namespace", part.namespace, hint="The vehicle's name when empty")
        self._domain = gui.add_text("Domain", "", hint="0 to 232; that of ROS_DOMAIN_ID when empty")
        self._on_timeout = gui.add_dropdown(
            "Without commands",
            ON_TIMEOUT,
            initial_value=part.on_timeout,
            hint="Stop rotors, or hold position",
        )
        on_buttons(
            gui, "", {"Reset": part.reset, "Make default": part.make_default, "Look again": part.refresh}
        )
        on_user(self._backend, part.choose)
        on_user(self._controller, part.set_controller)
        for field in (self._flight, self._size, self._height, self._speed, self._laps):
            on_user(field, lambda _: self._set_flight())
        on_user(self._launch, part.set_launch)
        on_user(self._too, lambda value: part.set_ros2(too=value))
        on_user(self._namespace, lambda value: part.set_ros2(namespace=value))
        on_user(self._domain, lambda value: part.set_ros2(domain_id=value))
        on_user(self._on_timeout, lambda value: part.set_ros2(on_timeout=value))

    def refresh(self) -> None:
        """Show what the panel holds."""
        part = self._part
        put_options(self._backend, [choice.name for choice in part.choices], part.chosen)
        missing = [choice for choice in part.choices if not choice.available and choice is not part.choice]
        lines = [described(part.choice)]
        lines += [described(Choice(c.name, reason=f"{c.name}: {c.reason}", remedy=c.remedy)) for c in missing]
        put_content(self._about, "".join(lines))
        put(self._controller, part.controller)
        put(self._flight, part.flight)
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
            put(field, value)
        appear(self._controller, shown=part.chosen == BUILT_IN)
        for field in (self._size, self._height, self._speed, self._laps):
            appear(field, shown=part.flight != FLIGHTS[0] and part.chosen != ROS2)
        appear(self._flight, shown=part.chosen != ROS2)
        appear(self._launch, shown=part.chosen in (PX4, ARDUPILOT))
        put_content(self._program, "".join(paragraph(line) for line in part.program))
        appear(self._too, shown=part.chosen != ROS2)
        for field in (self._namespace, self._domain):
            appear(field, shown=part.chosen == ROS2 or part.ros2_too)
        appear(self._on_timeout, shown=part.chosen == ROS2)

    def _set_flight(self) -> bool:
        return self._part.set_flight(
            self._flight.value,
            size=self._size.value,
            height=self._height.value,
            speed=self._speed.value,
            laps=self._laps.value,
        )


def picture(path: Path | None) -> npt.NDArray[np.uint8]:
    """Return an image file, or a plain placeholder where there is none, shape (H, W, 3).

    Args:
        path: The file.
    """
    if path is not None:
        try:
            with Image.open(path) as image:
                return np.asarray(image.convert("RGB"))
        except OSError:
            # A picture that cannot be read is as good as none.
            path = None
    height, width = _PLACEHOLDER
    plain = np.full((height, width, 3), 225, np.uint8)
    plain[2:-2, 2:-2] = 240
    return plain


class _Thumbnail:
    """The picture of what is chosen; it goes out only when another one is."""

    def __init__(self, gui: viser.GuiApi) -> None:
        self._image = gui.add_image(picture(None))
        self._file: Path | None = None

    def show(self, file: Path | None) -> None:
        """Show an image file, or a placeholder."""
        if file != self._file:
            self._file = file
            self._image.image = picture(file)


def _show_choice(thumbnail: _Thumbnail, about: Any, choice: Choice | None, path: str) -> None:
    thumbnail.show(None if choice is None else choice.thumbnail)
    put_content(about, described(choice, path))
