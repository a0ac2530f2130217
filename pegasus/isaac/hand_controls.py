"""Keyboard and gamepad as Kit feels them, for flying by hand."""

import omni.appwindow
from carb.input import GamepadInput, KeyboardInput, acquire_input_interface

from pegasus.panel.pilot_part import Held, PilotPart

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
"""Each axis of the panel, y pointing down, as the two halves of Kit."""
_BUTTONS = {0: GamepadInput.A, 1: GamepadInput.B}
_PRESSED = 0.5


def held() -> Held:
    """Return what is held down of the keyboard and of the first gamepad; nothing without a window."""
    window = omni.appwindow.get_default_app_window()
    if window is None:
        return Held()
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
    return Held(keys, axes, buttons)


class HandControls:
    """Hand what is held to the pilot, frame by frame, while that is switched on.

    Args:
        pilot: Flies the followed vehicle.
    """

    def __init__(self, pilot: PilotPart) -> None:
        self._pilot = pilot
        self._on = self._holds = False

    @property
    def on(self) -> bool:
        """Whether keyboard and gamepad fly."""
        return self._on

    def switch(self, on: bool) -> None:
        """Let keyboard and gamepad fly, or no more.

        Args:
            on: Whether they do.
        """
        self._on = on
        if not on:
            self._steer(Held())

    def frame(self) -> None:
        """Do what comes with a frame."""
        if self._on:
            self._steer(held())

    def _steer(self, now: Held) -> None:
        holds = bool(now.keys or now.buttons or any(now.axes))
        if holds or self._holds:
            self._pilot.steer(now.keys, now.axes, now.buttons)
        self._holds = holds
