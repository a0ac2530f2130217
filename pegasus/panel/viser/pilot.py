"""Keyboard, gamepad and steering buttons of the page."""

import html
import json
import threading
from collections import deque
from functools import partial
from pathlib import Path
from typing import Any

import viser

from pegasus.panel.panel import Panel
from pegasus.panel.pilot_part import PilotInput

_FRAME = Path(__file__).with_name("pilot.html")
_FRAME_HEIGHT = 110
_MAX_PRESSED, _MAX_INPUTS = 32, 256
_KEYS = {
    "Forward": "w", "Back": "s", "Left": "a", "Right": "d",
    "Up": "r", "Down": "f", "Turn left": "q", "Turn right": "e",
}  # fmt: skip


def add_steering_buttons(gui: viser.GuiApi, panel: Panel) -> None:
    """Add buttons that steer while they are held down."""

    def steer(key: str, _: object) -> None:
        panel.pilot.steer((key,))

    for label, key in _KEYS.items():
        gui.add_button(label, hint="Hold down").on_hold(partial(steer, key), callback_hz=8.0)


class PilotFrame:
    """Flight by keyboard and gamepad; keys count while the embedded frame has the keyboard focus.

    viser reports neither released keys nor gamepads. The frame detects both and writes their state into the
    text field next to it, so that it is transferred like all other fields, with the same access control.
    """

    def __init__(self, gui: viser.GuiApi, panel: Panel) -> None:
        self._panel = panel
        self._lock = threading.Lock()
        self._inputs: deque[PilotInput] = deque(maxlen=_MAX_INPUTS)
        frame = html.escape(_FRAME.read_text(encoding="utf-8"), quote=True)
        gui.add_html(
            f'<iframe title="Keyboard and gamepad" allow="gamepad" srcdoc="{frame}" style="display:block;'
            f'border:none;width:calc(100% - 20px);height:{_FRAME_HEIGHT}px;margin:4px 10px"></iframe>'
        )
        field = gui.add_text("Input", "", disabled=True, hint="State of keyboard and gamepad")
        # Queued callbacks see only the latest value of the field; a coroutine is called for every value.
        field.on_update(self._receive)
        field.on_update(self._steer)

    async def _receive(self, event: Any) -> None:
        received = parse_pilot_input(event.target.value) if event.client is not None else None
        if received is not None:
            self._inputs.append(received)

    def _steer(self, _: Any) -> None:
        # Only one thread waits for a slow simulation.
        while self._inputs and self._lock.acquire(blocking=False):
            try:
                inputs = [self._inputs.popleft() for _ in range(len(self._inputs))]
                if inputs:
                    self._panel.pilot.apply_inputs(inputs)
            finally:
                self._lock.release()


def parse_pilot_input(text: str) -> PilotInput | None:
    """Return the input encoded in a text of the frame; None if the text is invalid.

    Args:
        text: The text, JSON.
    """
    try:
        content = json.loads(text)
        keys, axes, buttons = content["keys"], content["axes"], content["buttons"]
        if max(len(keys), len(axes), len(buttons)) > _MAX_PRESSED:
            return None
        return PilotInput(tuple(map(str, keys)), tuple(map(float, axes)), tuple(map(int, buttons)))
    except (ValueError, TypeError, KeyError):
        return None
