"""Tests that browsers that stall, do not answer or flood the server leave other browsers unaffected."""

import io
import threading
from concurrent.futures import Future

import msgspec
import numpy as np
import pytest
import zstandard
from PIL import Image

pytest.importorskip("viser", reason="pip install pegasus-multirotor[view]")

from websockets.exceptions import InvalidStatus

from pegasus import Multirotor, Simulation
from pegasus.panel.viser import clients as web_clients
from pegasus.panel.viser.camera import ScreenshotRequests
from pegasus.panel.viser.clients import ClientExecutor, ClientPacing
from pegasus.panel.viser.controls import WebControls
from pegasus.panel.viser.view import WebView
from tests.panel.client import Client, websocket
from tests.panel.panel_rig import last_error
from tests.waits import LIMIT, wait_until


@pytest.fixture
def view(panel):
    """The page of a panel, at a free port."""
    with WebView(lambda: panel.session.snapshot, panel.view, port=0) as view:
        yield view


@pytest.fixture
def controls(panel, view):
    """The controls of that page."""
    controls = WebControls(view, panel)
    yield controls
    controls.close()


def shutter(controls):
    """Return the screenshot button."""
    handles = controls._server.gui._gui_input_handle_from_uuid.values()
    return next(handle for handle in handles if getattr(handle, "label", "") == "Screenshot")


def asked_for(client):
    """Wait until the page requests an image from a browser, and return the request."""
    while True:
        data = client.socket.recv(timeout=LIMIT)
        text = zstandard.ZstdDecompressor().decompressobj().decompress(data[16:])
        for message in msgspec.msgpack.decode(text)["messages"]:
            if message["type"] == "GetRenderRequestMessage":
                return message


def test_a_browser_without_an_answer_holds_up_nobody(panel, view, controls):
    """If this fails, an unresponsive browser blocks the page of all others."""
    pressed = []
    button = view.server.gui.add_button("Press")
    button.on_click(lambda event: pressed.append(event.client_id))
    with Client(view.address) as mute, Client(view.address) as other:
        wait_until(lambda: len(view.server.get_clients()) == 2, "two browsers")
        threads = threading.active_count()
        for _ in range(100):
            mute.write(shutter(controls))
        request = asked_for(mute)
        other.write(button)
        wait_until(lambda: len(pressed) == 1, "the press of the other browser")
        # The browser's other buttons work as well, once there is room among its actions again.
        waiting = view.server.gui._thread_executor._waiting
        wait_until(lambda: not any(list(waiting.values())), "the end of its actions")
        mute.write(button)
        wait_until(lambda: len(pressed) == 2, "the press of the browser that does not answer")
        assert len(controls.screenshots._pending) == 1
        assert threading.active_count() <= threads + 4
        # Late, but within the limit.
        picture = io.BytesIO()
        Image.fromarray(np.full((4, 6, 3), 200, np.uint8)).save(picture, "JPEG")
        answer = {"render_uuid": request["render_uuid"], "payload": picture.getvalue()}
        mute.say({"type": "GetRenderResponseMessage", **answer})
        wait_until(lambda: not controls.screenshots._pending, "the end of the wait")
    assert len(list(panel.view.out.glob("screenshot-*.jpg"))) == 1


@pytest.mark.parametrize("payload", [b"", b"no picture"])
def test_a_bad_screenshot_is_one_line(panel, view, controls, payload):
    """If this fails, a malformed image ends in a traceback, or blocks further screenshots."""
    with Client(view.address) as client:
        wait_until(lambda: view.has_clients, "the browser")
        for count in 1, 2:
            client.write(shutter(controls))
            answer = {"render_uuid": asked_for(client)["render_uuid"], "payload": payload}
            client.say({"type": "GetRenderResponseMessage", **answer})
            wait_until(lambda count=count: len(panel.messages) == count, "the refusal")
            assert last_error(panel).startswith("the browser has sent no valid screenshot")


def test_waiting_for_a_screenshot_ends(panel, view):
    """If this fails, a screenshot from a hanging page is awaited until the page closes."""
    screenshots = ScreenshotRequests(panel.view, limit=0.2)
    with Client(view.address):
        wait_until(lambda: view.has_clients, "the browser")
        [client] = view.server.get_clients().values()
        screenshots.take(client)
        wait_until(lambda: panel.messages, "the end of the wait")
        assert last_error(panel) == "the browser has not sent its screenshot within 0.2 s"
        wait_until(lambda: not screenshots._pending, "room for another one")


def test_each_browser_has_a_queue_of_its_own():
    """If this fails, browsers' actions wait for each other, change order, or pile up forever."""

    class Event:
        def __init__(self, client_id):
            self.client_id = client_id

    desk, gate, done = ClientExecutor(), threading.Event(), []
    slow = Event(1)
    first = desk.submit(lambda event: gate.wait(LIMIT) and done.append((event.client_id, -1)), slow)
    wait_until(first.running, "the first action")
    futures = [desk.submit(lambda event, k: done.append((event.client_id, k)), slow, k) for k in range(100)]
    others = [desk.submit(lambda event: event.client_id, Event(client)) for client in range(2, 60)]
    assert [future.result(LIMIT) for future in others] == list(range(2, 60))
    assert desk.submit(lambda: "nobody").result(LIMIT) == "nobody"
    assert done == []
    gate.set()
    kept = [future for future in futures if not future.cancelled()]
    assert len(kept) == web_clients._MAX_WAITING
    for future in kept:
        future.result(LIMIT)
    assert done == [(1, k) for k in range(-1, web_clients._MAX_WAITING)]
    failing: Future = desk.submit(lambda _: 1 // 0, slow)
    assert isinstance(failing.exception(LIMIT), ZeroDivisionError)
    assert desk.submit(lambda _: "after", slow).result(LIMIT) == "after"
    wait_until(lambda: not desk._waiting, "the threads to end")
    desk.shutdown()
    with pytest.raises(RuntimeError, match="closed"):
        desk.submit(print)


@pytest.mark.parametrize("count", [1, 4, 5, 8, 12, 51, 500])
def test_further_browsers_share_a_bounded_rate(view, count):
    """If this fails, each further browser slows the simulation or earlier browsers."""
    pacing = ClientPacing(view.server._websock_server)
    view.server._websock_server._client_state_from_id = dict.fromkeys(range(10, 10 + count))
    pauses = [pacing.pause(client) for client in range(10, 10 + count)]
    # Cameras move along no more often.
    moved = sum(len(pacing.due(range(10, 10 + count), 50.0 + k / 30)) for k in range(300)) / 10.0
    view.server._websock_server._client_state_from_id = {}
    assert moved <= min(count, 4) * 30 + 120 + 0.1 * count
    assert moved >= (min(count, 4) + min(max(count - 4, 0), 2)) * 29
    assert pauses[:4] == [0.0] * min(count, 4)
    assert sum(1 / max(pause, 1 / 30) for pause in pauses) <= 4 * 30 + 120 + 1e-6
    # Up to eight browsers, each gets all images.
    assert count > 8 or all(pause <= 1 / 30 for pause in pauses)


def test_browsers_that_do_not_read_are_dropped(panel, monkeypatch):
    """If this fails, hanging browsers use memory without limit, or delay others."""
    monkeypatch.setitem(web_clients.TIME_OUTS, "ping_interval", 0.5)
    monkeypatch.setitem(web_clients.TIME_OUTS, "ping_timeout", 5.0)
    with WebView(lambda: panel.session.snapshot, panel.view, port=0) as view:
        panel.session.exchange(lambda: Simulation("box_room"))
        panel.session.add(Multirotor("iris", position=(0, 0, 0.1)))
        with Client(view.address) as reader:
            wait_until(lambda: view.has_clients, "the browser that reads")
            # This browser reads nothing, not even the keep-alive requests.
            stalled = [websocket(view.address, max_queue=1) for _ in range(3)]
            connections = view.server._websock_server._live_connections
            wait_until(lambda: len(connections) == 4, "those that do not")
            wait_until(lambda: len(connections) == 1, "the end of those that do not")
            # A flying vehicle causes messages without end.
            panel.session.play()
            reader.take(200_000)
            assert view.has_clients
            for line in stalled:
                line.socket.close()


def test_there_are_not_too_many(panel, monkeypatch):
    """If this fails, an unlimited number of browsers can connect."""
    monkeypatch.setattr("pegasus.panel.viser.view.CLIENT_LIMIT", 2)
    with (
        WebView(lambda: panel.session.snapshot, panel.view, port=0) as view,
        Client(view.address) as first,
        Client(view.address),
    ):
        wait_until(lambda: len(view.server.get_clients()) == 2, "two browsers")
        with pytest.raises(InvalidStatus) as caught:
            websocket(view.address)
        assert caught.value.response.status_code == 503
        first.close()
        wait_until(lambda: len(view.server.get_clients()) == 1, "room")

        def comes():
            try:
                Client(view.address).close()
            except InvalidStatus:
                return False
            return True

        wait_until(comes, "another one")
