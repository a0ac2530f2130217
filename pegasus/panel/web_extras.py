"""The page's sections for scenarios, and for further sensors of vehicles."""

import math
from collections.abc import Callable

import viser

from pegasus.panel.board import Topic
from pegasus.panel.panel import Panel
from pegasus.panel.sensor_part import CAMERA, CAMERA_OUTPUTS, KINDS, PATTERNS
from pegasus.panel.web_fields import (
    Section,
    appear,
    on_buttons,
    on_press,
    on_user,
    paragraph,
    put,
    put_content,
    put_options,
)

_NONE = "(none)"


class ScenarioSection(Section):
    """Open a scenario by name, and save what is in the world as one.

    Args:
        gui: The page.
        panel: The panel.
    """

    topics = frozenset({Topic.SCENARIOS})

    def __init__(self, gui: viser.GuiApi, panel: Panel) -> None:
        self._part = part = panel.scenario
        self._list = gui.add_dropdown("Scenario", part.choices or [_NONE])
        on_buttons(gui, "", {"Open": lambda: part.open(self._list.value), "Look again": part.refresh})
        self._name = gui.add_text("Save as", "", hint="Letters, digits, _ and -")
        self._replace = gui.add_checkbox("Replace", part.replace, hint="One of your own that has the name")
        on_press(gui, "Save", part.save)
        on_user(self._name, part.set_name)
        on_user(self._replace, part.set_replace)

    def refresh(self) -> None:
        """Show what the panel holds."""
        part = self._part
        put_options(self._list, part.choices or [_NONE], self._list.value)
        put(self._name, part.name)
        put(self._replace, part.replace)


class SensorSection(Section):
    """Cameras and lidars of the next vehicle, or of the followed one.

    Args:
        gui: The page.
        panel: The panel.
    """

    topics = frozenset({Topic.SENSORS})

    def __init__(self, gui: viser.GuiApi, panel: Panel) -> None:
        self._part = part = panel.sensors
        self._kind = gui.add_dropdown("Sensor", KINDS, initial_value=part.kind)
        self._name = gui.add_text("Sensor name", "", hint="That of its kind, with a number, when empty")
        self._position = gui.add_vector3("Mount [m]", (0.0, 0.0, 0.0), step=0.01, hint="Forward, left, up")
        self._pitch = gui.add_number("Pitch [deg]", 0.0, step=1.0, hint="90 looks down")
        self._yaw = gui.add_number("Yaw [deg]", 0.0, step=1.0, hint="90 looks left")
        self._rate = gui.add_number("Rate [Hz]", part.rate, min=0.1, step=1.0)
        self._size = gui.add_vector2("Pixels", part.resolution, min=(1, 1), step=1.0)
        self._outputs = {name: gui.add_checkbox(name, name in part.outputs) for name in CAMERA_OUTPUTS}
        self._pattern = gui.add_dropdown("Pattern", PATTERNS, initial_value=part.pattern)
        on_buttons(gui, "Mount", {"On the next": part.mount, "On the followed": part.mount_on_followed})
        self._listed = gui.add_html("")
        self._mounted = gui.add_dropdown("Mounted", (_NONE,))
        self._remove = on_press(gui, "Take off the vehicle", self._take_off)
        on_user(self._kind, part.set_kind)
        on_user(self._name, part.set_name)
        on_user(self._position, lambda value: part.place(*value))
        for field in (self._pitch, self._yaw):
            on_user(
                field, lambda _: part.turn(math.radians(self._pitch.value), math.radians(self._yaw.value))
            )
        on_user(self._rate, part.set_rate)
        on_user(self._size, lambda value: part.set_resolution(*value))
        for name, box in self._outputs.items():
            on_user(box, self._output(name))
        on_user(self._pattern, part.set_pattern)

    def refresh(self) -> None:
        """Show what the panel holds."""
        part = self._part
        put(self._kind, part.kind)
        put(self._name, part.name)
        if part.position is not None:
            put(self._position, part.position)
        put(self._pitch, round(math.degrees(part.pitch), 6))
        put(self._yaw, round(math.degrees(part.yaw), 6))
        put(self._rate, part.rate)
        put(self._size, tuple(map(float, part.resolution)))
        put(self._pattern, part.pattern)
        camera = part.kind == CAMERA
        for name, box in self._outputs.items():
            put(box, name in part.outputs)
            appear(box, shown=camera)
        appear(self._size, shown=camera)
        appear(self._pattern, shown=not camera)
        lines = [f"{name}: {spec['model']}, {spec['rate_hz']:g} Hz" for name, spec in part.mounted.items()]
        put_content(self._listed, "".join(map(paragraph, lines)))
        put_options(self._mounted, list(part.mounted) or [_NONE], next(iter(part.mounted), _NONE))
        for field in (self._mounted, self._remove):
            appear(field, shown=bool(part.mounted))

    def _take_off(self) -> None:
        if self._mounted.value != _NONE:
            self._part.remove(self._mounted.value)

    def _output(self, name: str) -> Callable[[bool], object]:
        return lambda on: self._part.set_output(name, on=on)
