"""The window's sections for what is chosen: world, vehicle and backend."""

import math
from pathlib import Path

from pegasus.control import CONTROLLERS
from pegasus.errors import ConfigError
from pegasus.isaac import fields
from pegasus.isaac.environments import Environments
from pegasus.isaac.kit_session import KitSession
from pegasus.isaac.opened_stage import take_stage
from pegasus.isaac.viewport_click import ViewportClick
from pegasus.panel.backend_part import FLIGHTS, ON_TIMEOUT
from pegasus.panel.board import Topic
from pegasus.panel.choices import ARDUPILOT, BUILT_IN, PX4, ROS2, Choice
from pegasus.panel.panel import Panel

_NONE = "(none)"


class WorldSection(fields.Section):
    """Which world, and where on Earth.

    Args:
        panel: The panel.
    """

    title, topics = "World", frozenset({Topic.WORLD})

    def __init__(self, panel: Panel) -> None:
        self._panel = panel
        self._environments = Environments(panel.world.board)
        self._environment: tuple[Path, str, str | None] | None = None

    def build(self) -> None:
        """Fill the section."""
        part = self._panel.world
        fields.choice("World", [choice.name for choice in part.choices], part.chosen, part.choose)
        environment = self._environment
        if environment is not None and str(environment[0]) == part.chosen:
            fields.picture(environment[2])
        else:
            environment = None
            _about(part.choice, part.chosen)
        chosen = _NONE if environment is None else environment[1]
        known = [_NONE, *self._environments.known]
        fields.choice("Of Isaac Sim", known, chosen, self._choose_environment)
        fields.buttons({"Look for environments": self._environments.look})
        fields.text("File", "", part.choose)
        fields.buttons({"Load": part.load, "Clear": part.clear, "Look again": part.refresh})
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
                "Forget default": part.forget_origin_default,
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
        """Take the stage that is open for the world."""
        board, session = self._panel.world.board, self._panel.session
        assert isinstance(session, KitSession)
        try:
            take_stage(session, rate=self._panel.world.rate)
        except ConfigError as error:
            board.fail(error)
            return
        board.report("vehicles are added to the open stage now")


class VehicleSection(fields.Section):
    """Which vehicle, where, and how many.

    Args:
        panel: The panel.
        click: Asks for a click into the viewport.
    """

    title, topics = "Vehicle", frozenset({Topic.VEHICLES})

    def __init__(self, panel: Panel, click: ViewportClick) -> None:
        self._panel, self._click = panel, click

    def build(self) -> None:
        """Fill the section."""
        part = self._panel.vehicle
        fields.choice("Vehicle", [choice.name for choice in part.choices], part.chosen, part.choose)
        _about(part.choice, part.chosen)
        fields.text("Name", part.name, part.set_name)
        fields.numbers(
            "Position [m]", part.position or (0.0, 0.0, 0.0), lambda values: part.set_position(*values)
        )
        if part.position is None:
            fields.line("It starts at the world's next free spawn point.")
        fields.number(
            "Heading [deg]",
            math.degrees(part.heading),
            lambda value: part.set_heading(math.radians(value)),
        )
        fields.number("Count", part.count, lambda value: part.set_count(int(value), part.spacing))
        fields.number(
            "Spacing [m]", part.spacing or 0.0, lambda value: part.set_count(part.count, value or None)
        )
        fields.buttons({"Add": part.add, "Spawn point": part.use_spawn_point, "Look again": part.refresh})
        fields.buttons({"Place by click": lambda: self._click.ask("the vehicle's place", part.place_on)})


class BackendSection(fields.Section):
    """Who flies the next vehicle.

    Args:
        panel: The panel.
    """

    title, topics = "Backend", frozenset({Topic.BACKEND})

    def __init__(self, panel: Panel) -> None:
        self._panel = panel

    def build(self) -> None:
        """Fill the section."""
        part = self._panel.backend
        fields.choice("Flown by", [choice.name for choice in part.choices], part.chosen, part.choose)
        _about(part.choice, part.chosen)
        for choice in part.choices:
            if not choice.available and choice is not part.choice:
                fields.line(f"{choice.name}: {_trouble(choice)}", error=True)
        if part.chosen == BUILT_IN:
            fields.choice("Controller", sorted(CONTROLLERS), part.controller, part.set_controller)
        if part.chosen != ROS2:
            fields.choice("Flight", FLIGHTS, part.flight, part.set_flight)
            fields.check("On ROS 2 too", part.ros2_too, lambda on: part.set_ros2(too=on))
        if part.chosen == ROS2 or part.ros2_too:
            domain = "" if part.domain_id is None else str(part.domain_id)
            fields.text("Namespace", part.namespace, lambda value: part.set_ros2(namespace=value))
            fields.text("Domain", domain, lambda value: part.set_ros2(domain_id=value))
        if part.chosen == ROS2:
            held = part.on_timeout
            fields.choice("Without commands", ON_TIMEOUT, held, lambda name: part.set_ros2(on_timeout=name))
        elif part.flight != FLIGHTS[0]:
            fields.number("Size [m]", part.size, lambda value: part.set_flight(part.flight, size=value))
            fields.number("Height [m]", part.height, lambda value: part.set_flight(part.flight, height=value))
            fields.number("Speed [m/s]", part.speed, lambda value: part.set_flight(part.flight, speed=value))
            fields.number("Laps", part.laps, lambda value: part.set_flight(part.flight, laps=value))
        if part.chosen in (PX4, ARDUPILOT):
            fields.check("Start it", part.launch, part.set_launch)
            fields.text("Folder", part.directory, part.set_directory)
        if part.chosen == PX4:
            fields.text("Airframe", part.airframe, part.set_airframe)
        fields.buttons({"Reset": part.reset, "Make default": part.make_default, "Look again": part.refresh})


def _about(choice: Choice | None, path: str) -> None:
    """Show what is chosen: its picture and description, or why it cannot be used."""
    if choice is None:
        fields.line(path)
        return
    fields.picture(choice.thumbnail)
    if choice.available:
        fields.line(choice.description)
    else:
        fields.line(_trouble(choice), error=True)


def _trouble(choice: Choice) -> str:
    return f"{choice.reason}; {choice.remedy}" if choice.remedy else choice.reason
