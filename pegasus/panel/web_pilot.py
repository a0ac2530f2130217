"""The page's section for keyboard and gamepad: a frame that feels them, a field that carries what is held."""

import html
import json
import threading
from collections import deque
from pathlib import Path
from typing import Any

import viser

from pegasus.panel.panel import Panel
from pegasus.panel.pilot_part import Held
from pegasus.panel.web_fields import Section

_FRAME = Path(__file__).with_name("web_pilot.html")
_FRAME_HEIGHT = 110
_MOST_HELD, _MOST_WORDS = 32, 256


class PilotSection(Section):
    """Fly by keyboard and gamepad; keys count while the frame has the keyboard's focus.

    viser tells of no key that is let go and of no gamepad. A frame of this page feels both and writes what is
    held into the field next to it, so that it goes the way of all other fields: no other port, and the same
    guard at the door.

    Args:
        gui: The page.
        panel: The panel.
    """

    def __init__(self, gui: viser.GuiApi, panel: Panel) -> None:
        self._panel = panel
        self._lock = threading.Lock()
        self._words: deque[Held] = deque(maxlen=_MOST_WORDS)
        frame = html.escape(_FRAME.read_text(encoding="utf-8"), quote=True)
        gui.add_html(
            f'<iframe title="Keyboard and gamepad" allow="gamepad" srcdoc="{frame}" style="display:block;'
            f'border:none;width:calc(100% - 20px);height:{_FRAME_HEIGHT}px;margin:4px 10px"></iframe>'
        )
        field = gui.add_text("Held", "", disabled=True, hint="What keyboard and gamepad ask for")
        # Callbacks see what a field holds by then: only one that the server does not put off sees everything.
        field.on_update(self._hear)
        field.on_update(self._steer)

    async def _hear(self, event: Any) -> None:
        held = held_in(event.target.value) if event.client is not None else None
        if held is not None:
            self._words.append(held)

    def _steer(self, _: Any) -> None:
        # While the simulation is slow to listen, only one thread waits for it.
        while self._words and self._lock.acquire(blocking=False):
            try:
                words = [self._words.popleft() for _ in range(len(self._words))]
                if words:
                    self._panel.pilot.catch_up(words)
            finally:
                self._lock.release()


def held_in(text: str) -> Held | None:
    """Return what a text of the frame says is held; None for a text that is none of its.

    Args:
        text: The text.
    """
    try:
        content = json.loads(text)
        keys, axes, buttons = content["keys"], content["axes"], content["buttons"]
        if max(len(keys), len(axes), len(buttons)) > _MOST_HELD:
            return None
        return Held(tuple(map(str, keys)), tuple(map(float, axes)), tuple(map(int, buttons)))
    except (ValueError, TypeError, KeyError):
        return None
