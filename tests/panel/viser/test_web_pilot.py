"""Tests of keyboard and gamepad input from the page, partly in a headless browser."""

import pytest

from tests.panel.browser import CHROMIUM, Page, wait_for

pytest.importorskip("viser", reason="pip install pegasus-multirotor[view]")

from pegasus.panel.pilot_part import PilotInput
from pegasus.panel.viser.controls import WebControls
from pegasus.panel.viser.pilot import parse_pilot_input
from pegasus.panel.viser.view import WebView

FRAME = "document.querySelector('iframe[title=\"Keyboard and gamepad\"]')"


@pytest.mark.parametrize(
    "text", ["", "[]", "3", '{"keys": 1}', '{"keys": [], "axes": ["x"], "buttons": []}', '{"keys": ["w"]}']
)
def test_what_is_held_is_not_in_any_text(text):
    """If this fails, a malformed input message ends in a traceback or moves a vehicle."""
    assert parse_pilot_input(text) is None


def test_what_is_held():
    """If this fails, keyboard and gamepad input is lost."""
    text = '{"keys": ["w", "e"], "axes": [0, -0.5, 1, 0], "buttons": [1], "count": 7}'
    assert parse_pilot_input(text) == PilotInput(("w", "e"), (0.0, -0.5, 1.0, 0.0), (1,))


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")
def test_keyboard_and_gamepad_fly(flat):
    """If this fails, keys or sticks do nothing on the page, or stay active after their release."""
    # The speed does not matter to keys and sticks: a flight in real time takes longer.
    flat.simulation.set_speed(4.0)
    assert flat.vehicle.add()
    assert flat.simulation.play()
    with WebView(lambda: flat.session.snapshot, flat.view, port=0) as view:
        controls = WebControls(view, flat)
        with Page(view.address) as page:
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
    """Press and release a key."""
    key(page, "keyDown", name)
    key(page, "keyUp", name)


def plug_in(page, axes):
    """Plug in a gamepad with the given stick positions."""
    pad = f"{{id: 'Test pad', axes: {axes}, buttons: []}}"
    page.evaluate(f"void ({FRAME}.contentWindow.navigator.getGamepads = () => [{pad}])")
