"""The panel as a window of Isaac Sim; it holds no state of its own and decides nothing."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import omni.ui as ui
from omni.kit.menu.utils import MenuHelperWindow

from pegasus.control import CONTROLLERS
from pegasus.errors import ConfigError
from pegasus.isaac import fields, kit
from pegasus.isaac.environments import ENVIRONMENTS, environment_file, environment_picture
from pegasus.isaac.hand_controls import HandControls
from pegasus.isaac.kit_session import KitSession
from pegasus.isaac.opened_stage import take_stage
from pegasus.isaac.viewport import Point, Screenshots, ViewportCamera, line_of_sight
from pegasus.isaac.viewport_marks import ViewportMarks
from pegasus.isaac.window_telemetry import CameraSection, TelemetrySection, fleet
from pegasus.panel.backend_part import FLIGHTS, ON_TIMEOUT
from pegasus.panel.board import Topic
from pegasus.panel.choices import ARDUPILOT, BUILT_IN, PX4, ROS2, Choice
from pegasus.panel.panel import Panel
from pegasus.panel.view_part import CameraMode
from pegasus.simulation import Playback

TITLE = "Pegasus"
SHOWN_SETTING = "/persistent/pegasus/window"
"""Whether the window is shown when the extension starts; Kit keeps it from start to start."""

_WIDTH, _HEIGHT = 420, 820
_FRAMES_PER_LOOK = 10
_SHOWN_MESSAGES = 4
_NONE = "(none)"


@dataclass
class _Section:
    """A frame that is built anew when what it shows may have changed."""

    frame: Any
    topics: frozenset[Topic]
    seen: Callable[[], object]
    """What it shows: nothing is built while that stays as it was, so that nobody is disturbed typing."""
    last: object = None


class PegasusWindow(MenuHelperWindow):  # type: ignore[misc]
    """Show a panel, and hand on what is pressed and typed.

    Args:
        panel: The panel. It goes on when the window is closed.
    """

    def __init__(self, panel: Panel) -> None:
        super().__init__(TITLE, width=_WIDTH, height=_HEIGHT)
        self._panel = panel
        self._sections: list[_Section] = []
        self._changed: set[Topic] = set()
        self._frames = 0
        self._status: Any = None
        self._listed: Any = None
        self._environment: tuple[Path, str, str] | None = None
        self._hands, self._camera = HandControls(panel.pilot), ViewportCamera(panel.view)
        self._marks = ViewportMarks(panel.view)
        self._screenshots = Screenshots(panel.view)
        self._build()
        # In front of the tab that it is docked to: one that lies behind is not seen to be open.
        self.deferred_dock_in("Property", ui.DockPolicy.CURRENT_WINDOW_IS_ACTIVE)
        self._leave = panel.subscribe(self._changed.add)
        self._subscription = kit.on_frame(self._on_frame)

    def set_visibility_changed_listener(self, listener: Callable[[bool], None] | None) -> None:
        """Tell the menu whether the window is shown, and keep that for the next start.

        Args:
            listener: Called with whether it is shown; None for nobody, as when the extension ends.
        """

        def changed(shown: bool) -> None:
            kit.keep_setting(SHOWN_SETTING, shown)
            if listener is not None:
                listener(shown)

        super().set_visibility_changed_listener(None if listener is None else changed)

    def destroy(self) -> None:
        """Close the window; nothing that flies is touched."""
        self._leave()
        self._hands.switch(False)
        self._marks.clear()
        self._subscription = None
        self._sections = []
        super().destroy()

    def _build(self) -> None:
        part = self._panel.simulation
        with self.frame, ui.ScrollingFrame(), ui.VStack(spacing=4, height=0):
            self._status = fields.line("")
            fields.buttons(
                {
                    "Play": part.play,
                    "Pause": part.pause,
                    "Step": part.step,
                    "Stop": part.stop,
                    "Reset": part.reset,
                }
            )
            self._add(None, self._messages, Topic.MESSAGES)
            self._add("World", self._world, Topic.WORLD)
            self._add("Vehicle", self._vehicle, Topic.VEHICLES)
            self._add("Backend", self._backend, Topic.BACKEND)
            self._add("Fly", self._fleet, Topic.VEHICLES, Topic.VIEW, Topic.WORLD, seen=self._flown)
            self._add("View", self._view, Topic.VIEW)
            self._add("Run", self._run, Topic.SIMULATION, Topic.WORLD, seen=self._runs)
            with ui.CollapsableFrame("Telemetry", height=0), ui.VStack(spacing=4, height=0):
                self._telemetry = TelemetrySection(self._panel)
            with ui.CollapsableFrame("Cameras", height=0), ui.VStack(spacing=4, height=0):
                self._pictures = CameraSection(self._panel)

    def _add(
        self,
        title: str | None,
        build: Callable[[], None],
        *topics: Topic,
        seen: Callable[[], object] = object,  # Something new each time.
    ) -> None:
        """Add a section, folded away under a title where it has one."""

        def make() -> None:
            with ui.VStack(spacing=4, height=0):
                build()

        if title is None:
            frame = ui.Frame(height=0)
        else:
            with ui.CollapsableFrame(title, height=0):
                frame = ui.Frame(height=0)
        frame.set_build_fn(make)
        self._sections.append(_Section(frame, frozenset(topics), seen, seen()))

    def _on_frame(self) -> None:
        self._hands.frame()
        self._camera.show(self._panel.snapshot)
        self._marks.show(self._panel.snapshot)
        self._screenshots.frame()
        changed = set(self._changed)
        self._changed.clear()
        for section in self._sections:
            if section.topics & changed and (now := section.seen()) != section.last:
                section.last = now
                section.frame.rebuild()
        self._frames += 1
        if self._frames % _FRAMES_PER_LOOK == 0:
            self._look()

    def _look(self) -> None:
        """Show what changes by itself."""
        snapshot = self._panel.snapshot
        if snapshot.world is None:
            self._status.text = "No world is loaded."
        else:
            said = f"{snapshot.world}: {snapshot.playback.value}, {snapshot.time:.1f} s"
            factor = snapshot.real_time_factor
            self._status.text = f"{said}, {factor:.2f} times real time" if factor > 0 else said
        if self._listed is not None:
            self._listed.text = "\n".join(fleet(snapshot))
        self._telemetry.look()
        self._pictures.look()

    def _messages(self) -> None:
        for message in self._panel.messages[-_SHOWN_MESSAGES:]:
            fields.line(message.text, error=message.error)

    def _world(self) -> None:
        part = self._panel.world
        fields.choice("World", [choice.name for choice in part.choices], part.chosen, part.choose)
        environment = self._environment
        if environment is not None and str(environment[0]) == part.chosen:
            fields.picture(environment[2])
        else:
            environment = None
            _about(part.choice, part.chosen)
        chosen = _NONE if environment is None else environment[1]
        fields.choice("Of Isaac Sim", [_NONE, *ENVIRONMENTS], chosen, self._choose_environment)
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

    def _choose_environment(self, name: str) -> None:
        if name == _NONE:
            return
        try:
            self._environment = environment_file(name), name, environment_picture(name)
        except ConfigError as error:
            self._panel.world.board.fail(error)
            return
        self._panel.world.choose(self._environment[0])

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

    def _sighted(self, use: Callable[[Point, Point], object]) -> None:
        """Use what the middle of the viewport shows."""
        board = self._panel.world.board
        if self._panel.snapshot.playback is Playback.STOPPED:
            # PhysX knows of no colliders before.
            board.report(
                "the view's middle meets the world once it plays: press Play, then Pause", error=True
            )
            return
        try:
            use(*line_of_sight())
        except ConfigError as error:
            board.fail(error)

    def _vehicle(self) -> None:
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
        fields.buttons({"Place at the view's middle": lambda: self._sighted(part.place)})

    def _backend(self) -> None:
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

    def _flown(self) -> object:
        snapshot = self._panel.snapshot
        followed = self._panel.view.followed_vehicle(snapshot)
        names = [(vehicle.name, vehicle.count) for vehicle in snapshot.vehicles]
        return names, None if followed is None else (followed[0].name, followed[1])

    def _fleet(self) -> None:
        panel, pilot = self._panel, self._panel.pilot
        snapshot = panel.snapshot
        followed = panel.view.followed_vehicle(snapshot)
        if followed is None:
            self._listed = None
            fields.line("There are no vehicles.")
            return
        vehicle, copy = followed
        name = vehicle.name
        self._listed = fields.line("\n".join(fleet(snapshot)))
        fields.choice("Vehicle", [vehicle.name for vehicle in snapshot.vehicles], name, panel.view.follow)
        if vehicle.count > 1:
            fields.number("Copy", copy, lambda value: panel.view.follow(name, int(value)))
        fields.buttons(
            {"Hover": pilot.hover, "Land": pilot.land, "Remove": lambda: panel.vehicle.remove(name)}
        )
        fields.numbers("Go to [m]", (0.0, 0.0, 2.0), lambda values: pilot.go_to(*values))
        fields.buttons({"Go to the view's middle": lambda: self._sighted(pilot.go_to_click)})
        fields.check("Keys and gamepad", self._hands.on, self._hands.switch)
        fields.line(
            "W, S, A, D fly, R, F climb, Q, E turn, T takes off, L lands; left stick climbs and turns, right "
            "one flies, A takes off, B lands. Kit's own shortcuts hear the keys too."
        )

    def _view(self) -> None:
        part = self._panel.view
        fields.choice("Camera", [str(mode) for mode in CameraMode], str(part.mode), part.set_mode)
        viewpoint = part.viewpoint
        fields.numbers(
            "Position [m]", viewpoint.position, lambda values: part.look(_point(values), viewpoint.target)
        )
        fields.numbers(
            "Target [m]", viewpoint.target, lambda values: part.look(viewpoint.position, _point(values))
        )
        fields.buttons(
            {
                "Look from there": lambda: part.look(viewpoint.position, viewpoint.target),
                "Screenshot": part.screenshot,
            }
        )
        drawing = part.drawing
        fields.check("Trails", drawing.trails, lambda on: part.draw(trails=on))
        fields.check("Reference path", drawing.reference_path, lambda on: part.draw(reference_path=on))
        fields.check("Axes", drawing.axes, lambda on: part.draw(axes=on))
        fields.check("Contacts", drawing.contact_flashes, lambda on: part.draw(contact_flashes=on))

    def _runs(self) -> object:
        snapshot = self._panel.snapshot
        return snapshot.recording, snapshot.mean_wind, snapshot.gusts

    def _run(self) -> None:
        part = self._panel.simulation
        fields.numbers(
            "Wind, gusts [m/s]",
            (*self._panel.snapshot.mean_wind, self._panel.snapshot.gusts),
            lambda values: part.set_wind(*values[:3], intensity=values[3]),
        )
        box = fields.check("Record", part.records, lambda on: part.record(on) or box.set_value(part.records))
        if part.recording is not None:
            fields.line(f"into {part.recording}")


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


def _point(values: list[float]) -> tuple[float, float, float]:
    x, y, z = values
    return x, y, z
