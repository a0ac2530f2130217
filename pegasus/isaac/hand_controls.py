"""Keyboard and gamepad of Isaac Sim for manual flight."""

import omni.appwindow
from carb.input import GamepadInput, KeyboardInput, acquire_input_interface

from pegasus.panel.pilot_part import PilotInput, PilotPart

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
