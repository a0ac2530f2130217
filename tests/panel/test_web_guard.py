"""Who may use the page: what browsers say of themselves, and real connections that say it."""

import socket

import pytest

viser = pytest.importorskip("viser", reason="pip install pegasus-multirotor[view]")

import msgspec  # noqa: E402
from websockets.exceptions import ConnectionClosed  # noqa: E402
from websockets.sync.client import connect  # noqa: E402

from pegasus.panel.web import WebView  # noqa: E402
from pegasus.panel.web_controls import WebControls  # noqa: E402
from pegasus.panel.web_guard import is_own_page, own_names  # noqa: E402
from tests.panel.panel_rig import wait_until  # noqa: E402


@pytest.mark.parametrize(
    ("origin", "host", "own"),
    [
        (None, "127.0.0.1:8080", True),
        ("http://127.0.0.1:8080", "127.0.0.1:8080", True),
        ("http://localhost:9000", "localhost:9000", True),
        ("http://[::1]:8080", "[::1]:8080", True),
        ("http://LOCALHOST:8080", "localhost:8080", True),
        # Another site, another port of this machine, a file, a name that was made to lead here.
        ("https://evil.example", "127.0.0.1:8080", False),
        ("http://127.0.0.1:3000", "127.0.0.1:8080", False),
        ("http://127.0.0.1:8080.evil.example", "127.0.0.1:8080", False),
        ("null", "127.0.0.1:8080", False),
        ("http://evil.example:8080", "evil.example:8080", False),
        ("http://192.0.2.7:8080", "192.0.2.7:8080", False),
        ("http://[broken", "[broken", False),
        ("http://127.0.0.1:8080", None, False),
        ("", "", False),
    ],
)
def test_pages_on_this_machine(origin, host, own):
    """If this fails, any site in the same browser can fly, or the user's own page cannot."""
    assert is_own_page(origin, host, names=own_names("127.0.0.1")) is own


@pytest.mark.parametrize(
    ("name", "own"),
    [("192.0.2.7", True), ("lab.example", True), ("localhost", True), ("evil.example", False)],
)
def test_pages_in_a_network(name, own):
    """If this fails, a machine cannot be reached by its address, or a strange name leads to it."""
    names = own_names("lab.example")
    assert is_own_page(f"http://{name}:8080", f"{name}:8080", names=names) is own


def test_a_foreign_page_is_not_obeyed(panel):
    """If this fails, a page of another site presses the buttons of this one."""
    with WebView(lambda: panel.session.snapshot, panel.view, port=0) as view:
        WebControls(view, panel)
        port = view.server.get_port()

        def talk(origin):
            return connect(
                f"ws://127.0.0.1:{port}",
                subprotocols=[f"viser-v{viser.__version__}"],
                origin=origin,
                max_size=None,
                compression=None,
            )

        pressed = []
        button = view.server.gui.add_button("Press")
        button.on_click(lambda event: pressed.append(event.client_id))
        message = {
            "type": "GuiUpdateMessage",
            "uuid": button._impl.uuid,
            "updates": {"value": True},
        }
        with talk("http://evil.example") as foreign:
            with pytest.raises(ConnectionClosed) as caught:
                insist(foreign)
            assert caught.value.rcvd.code == 1008
        hurry(port, msgspec.msgpack.encode(CAMERA), msgspec.msgpack.encode(message))
        assert view.server._websock_server._live_connections == {}
        with talk(f"http://127.0.0.1:{port}") as own:
            own.send(msgspec.msgpack.encode(CAMERA))
            wait_until(lambda: view.watched, "the own page")
            own.send(msgspec.msgpack.encode(message))
            wait_until(lambda: pressed, "the button")
        assert len(pressed) == 1


def insist(connection):
    """Take what comes until the other side has had enough."""
    while True:
        connection.recv(timeout=10.0)


def hurry(port, *messages):
    """Send messages from a foreign page together with the handshake, before they can be refused."""
    lines = (
        "GET / HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        f"Sec-WebSocket-Protocol: viser-v{viser.__version__}",
        "Origin: http://evil.example",
    )
    data = "\r\n".join((*lines, "", "")).encode()
    for message in messages:
        # A final binary frame whose mask changes nothing.
        data += b"\x82\xfe" + len(message).to_bytes(2, "big") + bytes(4) + message
    with socket.create_connection(("127.0.0.1", port), timeout=10.0) as line:
        line.sendall(data)
        answer = b""
        while b"another site" not in answer:
            answer += line.recv(65536)
        # It has said that it closes; so does this side.
        line.sendall(b"\x88\x80" + bytes(4))
        while line.recv(65536):
            pass


CAMERA = {
    "type": "ViewerCameraMessage",
    "wxyz": (1.0, 0.0, 0.0, 0.0),
    "position": (3.0, 3.0, 3.0),
    "fov": 1.0,
    "near": 0.1,
    "far": 100.0,
    "image_height": 480,
    "image_width": 640,
    "look_at": (0.0, 0.0, 0.0),
    "up_direction": (0.0, 0.0, 1.0),
}
