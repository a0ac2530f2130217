"""Keyboard and gamepad on the page: what they say, and that they fly in a real headless browser."""

import pytest

from tests.panel.browser import CHROMIUM, Page, wait_for

pytest.importorskip("viser", reason="pip install pegasus-multirotor[view]")

from pegasus.panel.pilot_part import Held
from pegasus.panel.web import WebView
from pegasus.panel.web_controls import WebControls
from pegasus.panel.web_pilot import held_in

FRAME = "document.querySelector('iframe[title=\"Keyboard and gamepad\"]')"


@pytest.mark.parametrize(
    "text", ["", "[]", "3", '{"keys": 1}', '{"keys": [], "axes": ["x"], "buttons": []}', '{"keys": ["w"]}']
)
def test_what_is_held_is_not_in_any_text(text):
    """If this fails, a text that no page of ours has sent ends in a trace, or moves a vehicle."""
    assert held_in(text) is None


def test_what_is_held():
    """If this fails, what keyboard and gamepad say does not arrive."""
    text = '{"keys": ["w", "e"], "axes": [0, -0.5, 1, 0], "buttons": [1], "count": 7}'
    assert held_in(text) == Held(("w", "e"), (0.0, -0.5, 1.0, 0.0), (1,))


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")
def test_keyboard_and_gamepad_fly(flat):
    """If this fails, keys or sticks do nothing on the page, or go on when they are let go."""
    flat.simulation.set_speed(1.0)
    assert flat.vehicle.add()
    assert flat.simulation.play()
    with WebView(lambda: flat.session.snapshot, flat.view, port=0) as view:
        controls = WebControls(view, flat)
        with Page(view.address, size=(900, 900)) as page:
            page.press("Fly")
            wait_for(lambda: page.evaluate(f"!!{FRAME}?.contentDocument?.getElementById('state')"), what="it")
            focus(page)
            wait_for(lambda: flat.telemetry.position[2] > 1.0, what="the hover")
            tap(page, "l")
            wait_for(lambda: flat.telemetry.segment == "landed", what="the landing")
            tap(page, "t")
            wait_for(lambda: flat.telemetry.position[2] > 1.0, what="the take-off")
            start = flat.telemetry.position
            key(page, "keyDown", "w")
            wait_for(lambda: flat.telemetry.position[0] > start[0] + 0.5, what="the way forward")
            key(page, "keyUp", "w")
            wait_for(lambda: flat.telemetry.segment == "target", what="the key to be let go")
            plug_in(page, [0, 0, -1, 0])
            wait_for(lambda: flat.telemetry.position[1] > start[1] + 0.5, what="the way to the left")
            assert flat.telemetry.segment == "velocity"
        wait_for(lambda: flat.telemetry.segment == "target", what="a closed page to let go")
        controls.close()
    assert not any(message.error for message in flat.messages)


def focus(page):
    """Click into the frame as a user does."""
    page.evaluate(f"{FRAME}.scrollIntoView({{block: 'center'}})")

    def focused():
        box = page.evaluate(f"(() => {{ const b = {FRAME}.getBoundingClientRect(); return [b.x, b.y]; }})()")
        for kind, buttons in ("mousePressed", 1), ("mouseReleased", 0):
            place = {"x": box[0] + 60, "y": box[1] + 40}
            page.ask("Input.dispatchMouseEvent", type=kind, buttons=buttons, button="left", **place)
        return page.evaluate(f"{FRAME}.contentDocument.hasFocus()")

    wait_for(focused, what="the focus")


def key(page, kind, name):
    """Press a key or let it go."""
    page.ask("Input.dispatchKeyEvent", type=kind, key=name, code=f"Key{name.upper()}", text=name)


def tap(page, name):
    """Press a key and let it go at once."""
    key(page, "keyDown", name)
    key(page, "keyUp", name)


def plug_in(page, axes):
    """Plug in a gamepad whose sticks stand like this."""
    pad = f"{{id: 'Test pad', axes: {axes}, buttons: []}}"
    page.evaluate(f"void ({FRAME}.contentWindow.navigator.getGamepads = () => [{pad}])")
