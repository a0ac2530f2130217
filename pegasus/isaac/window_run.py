"""Sections of the window for the run: fleet, keyboard and gamepad, view, wind and recording."""

from typing import Any

import omni.appwindow
from carb.input import GamepadInput, KeyboardInput, acquire_input_interface

from pegasus.isaac import fields
from pegasus.isaac.viewport import ViewportClick
from pegasus.isaac.window_telemetry import fleet
from pegasus.panel.board import Topic
from pegasus.panel.panel import Panel
from pegasus.panel.pilot_part import PilotInput, PilotPart
from pegasus.panel.view_part import CameraMode

_KEYS = {
    "w": KeyboardInput.W,
    "s": KeyboardInput.S,
    "a": KeyboardInput.A,
    "d": KeyboardInput.D,
    "r": KeyboardInput.R,
    "f": KeyboardInput.F,
    "q": KeyboardInput.Q,
    "e": KeyboardInput.E,
    "t": KeyboardInput.T,
    "l": KeyboardInput.L,
}
_AXES = (
    (GamepadInput.LEFT_STICK_RIGHT, GamepadInput.LEFT_STICK_LEFT),
    (GamepadInput.LEFT_STICK_DOWN, GamepadInput.LEFT_STICK_UP),
    (GamepadInput.RIGHT_STICK_RIGHT, GamepadInput.RIGHT_STICK_LEFT),
    (GamepadInput.RIGHT_STICK_DOWN, GamepadInput.RIGHT_STICK_UP),
)
"""Positive and negative half of each axis of the panel, whose y points down."""
_BUTTONS = {0: GamepadInput.A, 1: GamepadInput.B}
_PRESSED = 0.5


def read_input() -> PilotInput:
    """Return the pressed keys and the state of the first gamepad; empty without a window."""
    window = omni.appwindow.get_default_app_window()
    if window is None:
        return PilotInput()
    device = acquire_input_interface()
    keys: tuple[str, ...] = ()
    axes: tuple[float, ...] = ()
    buttons: tuple[int, ...] = ()
    keyboard, gamepad = window.get_keyboard(), window.get_gamepad(0)
    if keyboard is not None:
        keys = tuple(
            name for name, key in _KEYS.items() if device.get_keyboard_value(keyboard, key) > _PRESSED
        )
    if gamepad is not None:
        axes = tuple(
            device.get_gamepad_value(gamepad, more) - device.get_gamepad_value(gamepad, less)
            for more, less in _AXES
        )
        buttons = tuple(
            number
            for number, button in _BUTTONS.items()
            if device.get_gamepad_value(gamepad, button) > _PRESSED
        )
    return PilotInput(keys, axes, buttons)


class HandControls:
    """Manual flight: while enabled, pass keyboard and gamepad input to the pilot in every frame."""

    def __init__(self, pilot: PilotPart) -> None:
        self._pilot = pilot
        self._enabled = self._active = False

    @property
    def enabled(self) -> bool:
        """Input is passed to the pilot."""
        return self._enabled

    def enable(self, enabled: bool) -> None:
        """Enable or disable manual flight; disabling it releases everything held."""
        self._enabled = enabled
        if not enabled:
            self._steer(PilotInput())

    def frame(self) -> None:
        """Process a frame of the application."""
        if self._enabled:
            self._steer(read_input())

    def _steer(self, now: PilotInput) -> None:
        active = bool(now.keys or now.buttons or any(now.axes))
        if active or self._active:
            self._pilot.steer(now.keys, now.axes, now.buttons)
        self._active = active


class FleetSection(fields.Section):
    """Vehicles of the world: their states, and commands to the followed one."""

    title, topics = "Fly", frozenset({Topic.VEHICLES, Topic.VIEW, Topic.WORLD})

    def __init__(self, panel: Panel, hands: HandControls, click: ViewportClick) -> None:
        super().__init__(panel)
        self._hands, self._click = hands, click
        self._listed: Any = None

    def state_key(self) -> object:
        """Return the vehicles and the followed one."""
        snapshot = self._panel.snapshot
        followed = self._panel.view.followed_vehicle(snapshot)
        names = [(vehicle.name, vehicle.count) for vehicle in snapshot.vehicles]
        return names, None if followed is None else (followed[0].name, followed[1])

    def build(self) -> None:
        """Build the widgets."""
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
        fields.buttons({"Go to click": lambda: self._click.request("the point to fly over", pilot.fly_above)})
        fields.check("Keys and gamepad", self._hands.enabled, self._hands.enable)
        fields.line(
            "W, S, A, D: move; R, F: climb; Q, E: turn; T: take off; L: land. Left stick: climb and turn; "
            "right stick: move; A: take off; B: land. Kit's own shortcuts receive the keys too."
        )

    def update(self) -> None:
        """Update the states of the vehicles."""
        if self._listed is not None:
            self._listed.text = "\n".join(fleet(self._panel.snapshot))


class ViewSection(fields.Section):
    """Camera of the viewport, and markers drawn into it."""

    title, topics = "View", frozenset({Topic.VIEW})

    def build(self) -> None:
        """Build the widgets."""
        part = self._panel.view
        fields.choice("Camera", [str(mode) for mode in CameraMode], str(part.mode), part.set_mode)
        viewpoint = part.viewpoint
        fields.numbers(
            "Position [m]",
            viewpoint.position,
            lambda values: part.set_viewpoint(_point(values), viewpoint.target),
        )
        fields.numbers(
            "Target [m]",
            viewpoint.target,
            lambda values: part.set_viewpoint(viewpoint.position, _point(values)),
        )
        fields.buttons(
            {
                "Set view": lambda: part.set_viewpoint(viewpoint.position, viewpoint.target),
                "Screenshot": part.screenshot,
            }
        )
        drawing = part.drawing
        fields.check("Trails", drawing.trails, lambda on: part.draw(trails=on))
        fields.check("Reference path", drawing.reference_path, lambda on: part.draw(reference_path=on))
        fields.check("Axes", drawing.axes, lambda on: part.draw(axes=on))
        fields.check("Contacts", drawing.contact_flashes, lambda on: part.draw(contact_flashes=on))


class RunSection(fields.Section):
    """Wind and recording."""

    title, topics = "Run", frozenset({Topic.SIMULATION, Topic.WORLD})

    def state_key(self) -> object:
        """Return the recording and the wind."""
        snapshot = self._panel.snapshot
        return snapshot.recording, snapshot.mean_wind, snapshot.gusts

    def build(self) -> None:
        """Build the widgets."""
        part = self._panel.simulation
        fields.numbers(
            "Wind, gusts [m/s]",
            (*self._panel.snapshot.mean_wind, self._panel.snapshot.gusts),
            lambda values: part.set_wind(*values[:3], intensity=values[3]),
        )
        box = fields.check("Record", part.records, lambda on: part.record(on) or box.set_value(part.records))
        if (folder := self._panel.snapshot.recording) is not None:
            fields.line(f"into {folder}")


def _point(values: list[float]) -> tuple[float, float, float]:
    x, y, z = values
    return x, y, z
