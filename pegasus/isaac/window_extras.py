"""The window's sections for scenarios, further sensors, and Replicator."""

import math
from collections.abc import Callable
from functools import partial

from pegasus.isaac import fields
from pegasus.isaac.replicator_part import BASIC_OUTPUTS, BASIC_WRITER, ReplicatorPart
from pegasus.panel.board import Topic
from pegasus.panel.panel import Panel
from pegasus.panel.sensor_part import CAMERA, CAMERA_OUTPUTS, KINDS, PATTERNS

_NONE = "(none)"


class ScenarioSection(fields.Section):
    """Open a scenario by name, and save what is in the world as one.

    Args:
        panel: The panel.
    """

    title, topics = "Scenario", frozenset({Topic.SCENARIOS})

    def __init__(self, panel: Panel) -> None:
        self._part = panel.scenario
        self._chosen = _NONE

    def build(self) -> None:
        """Fill the section."""
        part = self._part
        fields.choice("Scenario", [_NONE, *part.choices], self._chosen, self._choose)
        fields.buttons({"Open": self._open, "Look again": part.refresh})
        fields.text("Save as", part.name, part.set_name)
        fields.check("Replace", part.replace, part.set_replace)
        fields.buttons({"Save": part.save})

    def _choose(self, name: str) -> None:
        self._chosen = name

    def _open(self) -> None:
        if self._chosen != _NONE:
            self._part.open(self._chosen)


class SensorSection(fields.Section):
    """Cameras and lidars of the next vehicle, or of the followed one.

    Args:
        panel: The panel.
    """

    title, topics = "Mount sensors", frozenset({Topic.SENSORS})

    def __init__(self, panel: Panel) -> None:
        self._part = panel.sensors

    def build(self) -> None:
        """Fill the section."""
        part = self._part
        fields.choice("Sensor", KINDS, part.kind, part.set_kind)
        fields.text("Name", part.name, part.set_name)
        place = part.position or (0.0, 0.0, 0.0)
        fields.numbers("Mount [m]", place, lambda values: part.place(*values))
        if part.position is None and part.kind == CAMERA:
            fields.line("It is mounted just before the nose.")
        angles = math.degrees(part.pitch), math.degrees(part.yaw)
        fields.numbers("Pitch, yaw [deg]", angles, lambda values: part.turn(*map(math.radians, values)))
        fields.number("Rate [Hz]", part.rate, part.set_rate)
        if part.kind == CAMERA:
            size = part.resolution
            fields.number("Width", size[0], lambda value: part.set_resolution(int(value), size[1]))
            fields.number("Height", size[1], lambda value: part.set_resolution(size[0], int(value)))
            for name in CAMERA_OUTPUTS:
                fields.check(name, name in part.outputs, self._output(name))
        else:
            fields.choice("Pattern", PATTERNS, part.pattern, part.set_pattern)
        fields.buttons({"Mount": part.mount, "Mount on the followed one": part.mount_on_followed})
        for name, spec in part.mounted.items():
            fields.line(f"{name}: {spec['model']}, {spec['rate_hz']:g} Hz")
            fields.buttons({f"Take {name} off": partial(part.remove, name)})

    def _output(self, name: str) -> Callable[[bool], object]:
        return lambda on: self._part.set_output(name, on=on)


class ReplicatorSection(fields.Section):
    """A writer of Replicator on the cameras of the followed vehicle.

    Args:
        part: Starts and stops the writer.
    """

    title, topics = "Replicator", frozenset({Topic.SENSORS})

    def __init__(self, part: ReplicatorPart) -> None:
        self._part = part

    def build(self) -> None:
        """Fill the section."""
        part = self._part
        fields.text("Writer", part.writer, part.set_writer)
        if part.writer == BASIC_WRITER:
            for name in BASIC_OUTPUTS:
                fields.check(name, name in part.outputs, self._output(name))
        fields.buttons({"Start": part.start, "Stop": part.stop})
        if part.folder is not None:
            fields.line(f"into {part.folder}")

    def _output(self, name: str) -> Callable[[bool], object]:
        return lambda on: self._part.set_output(name, on=on)
