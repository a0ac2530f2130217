"""Sections of the window for the set-up: world, scenario, vehicle, sensors and backend."""

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path

from pegasus.base.errors import ConfigError
from pegasus.isaac import fields
from pegasus.isaac.environments import Environments
from pegasus.isaac.kit_session import KitSession
from pegasus.isaac.viewport import ViewportClick
from pegasus.panel.backend_part import FLIGHTS, ON_TIMEOUT
from pegasus.panel.board import Topic
from pegasus.panel.choices import ARDUPILOT, BUILT_IN, PX4, ROS2, Choice, controller_names
from pegasus.panel.panel import Panel
from pegasus.panel.sensor_part import CAMERA, CAMERA_OUTPUTS, KINDS, PATTERNS

_NONE = "(none)"


class WorldSection(fields.Section):
    """World and its geographic origin."""

    title, topics = "World", frozenset({Topic.WORLD})

    def __init__(self, panel: Panel) -> None:
        super().__init__(panel)
        self._environments = Environments(panel.world.board)
        self._environment: tuple[Path, str, str | None] | None = None

    def build(self) -> None:
        """Build the widgets."""
        part = self._panel.world
        fields.choice("World", [choice.name for choice in part.choices], part.chosen, part.choose)
        environment = self._environment
        if environment is not None and str(environment[0]) == part.chosen:
            fields.thumbnail(environment[2])
        else:
            environment = None
            _describe(part.choice, part.chosen)
        chosen = _NONE if environment is None else environment[1]
        known = [_NONE, *self._environments.known]
        fields.choice("Isaac Sim world", known, chosen, self._choose_environment)
        fields.buttons({"List all environments": self._environments.search})
        fields.text("File", "", part.choose)
        fields.buttons({"Load": part.load, "Clear": part.clear, "Refresh": part.refresh})
        fields.buttons({"Fly on the open stage": self._take_stage})
        origin = part.origin
        fields.numbers(
            "Lat, lon, alt",
            [origin.latitude, origin.longitude, origin.altitude],
            lambda values: part.set_origin(*values),
        )
        fields.buttons(
            {
                "Reset": part.reset_origin,
                "Make default": part.make_origin_default,
                "Clear default": part.clear_origin_default,
            }
        )
        fields.number("Rate [Hz]", part.rate, part.set_rate)

    def close(self) -> None:
        """Cancel background work."""
        self._environments.cancel()

    def _choose_environment(self, name: str) -> None:
        if name == _NONE:
            return

        def use(file: Path, picture: str | None) -> None:
            self._environment = file, name, picture
            self._panel.world.choose(file)

        self._environments.open(name, use)

    def _take_stage(self) -> None:
        board, session = self._panel.world.board, self._panel.session
        assert isinstance(session, KitSession)
        try:
            session.load_open_stage(rate=self._panel.world.rate)
        except ConfigError as error:
            board.fail(error)
            return
        board.report("vehicles are now added to the open stage")


class VehicleSection(fields.Section):
    """Next vehicle: model, start pose and number of copies."""

    title, topics = "Vehicle", frozenset({Topic.VEHICLES})

    def __init__(self, panel: Panel, click: ViewportClick) -> None:
        super().__init__(panel)
        self._click = click

    def build(self) -> None:
        """Build the widgets."""
        part = self._panel.vehicle
        fields.choice("Vehicle", [choice.name for choice in part.choices], part.chosen, part.choose)
        _describe(part.choice, part.chosen)
        fields.text("Name", part.name, part.set_name)
        fields.numbers(
            "Position [m]", part.position or (0.0, 0.0, 0.0), lambda values: part.set_position(*values)
        )
        if part.position is None:
            fields.line("It starts at the next free spawn point of the world.")
        fields.number(
            "Heading [deg]",
            math.degrees(part.heading),
            lambda value: part.set_heading(math.radians(value)),
        )
        fields.number("Count", part.count, lambda value: part.set_count(int(value), part.spacing))
        fields.number(
            "Spacing [m]", part.spacing or 0.0, lambda value: part.set_count(part.count, value or None)
        )
        fields.buttons({"Add": part.add, "Spawn point": part.use_spawn_point, "Refresh": part.refresh})
        fields.buttons({"Place by click": lambda: self._click.request("the start position", part.place_on)})


class BackendSection(fields.Section):
    """Backend of the next vehicle."""

    title, topics = "Backend", frozenset({Topic.BACKEND})

    def build(self) -> None:
        """Build the widgets."""
        part = self._panel.backend
        fields.choice("Flown by", [choice.name for choice in part.choices], part.chosen, part.choose)
        _describe(part.choice, part.chosen)
        for choice in part.choices:
            if not choice.available and choice is not part.choice:
                fields.line(f"{choice.name}: {_unavailable(choice)}", error=True)
        if part.chosen == BUILT_IN:
            fields.choice("Controller", sorted(controller_names()), part.controller, part.set_controller)
        if part.chosen != ROS2:
            fields.choice("Flight", FLIGHTS, part.flight, part.set_flight)
            fields.check("Also on ROS 2", part.ros2_too, lambda on: part.set_ros2(too=on))
        if part.chosen == ROS2 or part.ros2_too:
            domain = "" if part.domain_id is None else str(part.domain_id)
            fields.text("Namespace", part.namespace, lambda value: part.set_ros2(namespace=value))
            fields.text("Domain", domain, lambda value: part.set_ros2(domain_id=value))
        if part.chosen == ROS2:
            fields.choice(
                "On timeout", ON_TIMEOUT, part.on_timeout, lambda name: part.set_ros2(on_timeout=name)
            )
        elif part.flight != FLIGHTS[0]:
            fields.number("Size [m]", part.size, lambda value: part.set_flight(part.flight, size=value))
            fields.number("Height [m]", part.height, lambda value: part.set_flight(part.flight, height=value))
            fields.number("Speed [m/s]", part.speed, lambda value: part.set_flight(part.flight, speed=value))
            fields.number("Laps", part.laps, lambda value: part.set_flight(part.flight, laps=value))
        if part.chosen in (PX4, ARDUPILOT):
            fields.check("Launch it", part.launch, part.set_launch)
            fields.text("Folder", part.directory, part.set_directory)
        if part.chosen == PX4:
            fields.text("Airframe", part.airframe, part.set_airframe)
        fields.buttons({"Reset": part.reset, "Make default": part.make_default, "Refresh": part.refresh})


class ScenarioSection(fields.Section):
    """Scenarios: open one by name, and save the present world and vehicles as one."""

    title, topics = "Scenario", frozenset({Topic.SCENARIOS})

    def __init__(self, panel: Panel) -> None:
        super().__init__(panel)
        self._part, self._chosen = panel.scenario, _NONE

    def build(self) -> None:
        """Build the widgets."""
        part = self._part
        fields.choice("Scenario", [_NONE, *part.choices], self._chosen, self._choose)
        fields.buttons({"Open": self._open, "Refresh": part.refresh})
        fields.text("Save as", part.name, part.set_name)
        fields.check("Replace", part.replace, part.set_replace)
        fields.buttons({"Save": part.save})

    def _choose(self, name: str) -> None:
        self._chosen = name

    def _open(self) -> None:
        if self._chosen != _NONE:
            self._part.open(self._chosen)


class SensorSection(fields.Section):
    """Cameras and lidars to mount on the next vehicle or the followed one."""

    title, topics = "Mount sensors", frozenset({Topic.SENSORS})

    def build(self) -> None:
        """Build the widgets."""
        part = self._panel.sensors
        fields.choice("Sensor", KINDS, part.kind, part.set_kind)
        fields.text("Name", part.name, part.set_name)
        place = part.position or (0.0, 0.0, 0.0)
        fields.numbers("Mount [m]", place, lambda values: part.place(*values))
        if part.position is None and part.kind == CAMERA:
            fields.line("It is mounted in front of the nose.")
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
        fields.buttons({"Mount": part.mount, "Mount on followed vehicle": part.mount_on_followed})
        for name, spec in part.mounted.items():
            fields.line(f"{name}: {spec['model']}, {spec['rate_hz']:g} Hz")
            fields.buttons({f"Remove {name}": partial(part.remove, name)})

    def _output(self, name: str) -> Callable[[bool], object]:
        return lambda on: self._panel.sensors.set_output(name, on=on)


def _describe(choice: Choice | None, path: str) -> None:
    """Add the thumbnail and description of a choice, or the reason why it is unavailable."""
    if choice is None:
        fields.line(path)
        return
    fields.thumbnail(choice.thumbnail)
    if choice.available:
        fields.line(choice.description)
    else:
        fields.line(_unavailable(choice), error=True)


def _unavailable(choice: Choice) -> str:
    return f"{choice.reason}; {choice.remedy}" if choice.remedy else choice.reason
