"""Tests of the page's access control: its token, the browsers' headers, and real connections."""

import http.client
import re
import socket
from urllib.parse import urlsplit

import pytest

viser = pytest.importorskip("viser", reason="pip install pegasus-multirotor[view]")

import msgspec  # noqa: E402
from websockets.exceptions import InvalidStatus  # noqa: E402

from pegasus.panel.viser.controls import WebControls  # noqa: E402
from pegasus.panel.viser.guard import Guard, is_own_page, own_names  # noqa: E402
from pegasus.panel.viser.view import WebView  # noqa: E402
from tests.panel.client import CAMERA, PROTOCOL, Client, gui_update, websocket  # noqa: E402
from tests.waits import LIMIT, wait_until  # noqa: E402


@pytest.mark.parametrize(
    ("origin", "host", "own"),
    [
        (None, "127.0.0.1:8080", True),
        ("http://127.0.0.1:8080", "127.0.0.1:8080", True),
        ("http://localhost:9000", "localhost:9000", True),
        ("http://[::1]:8080", "[::1]:8080", True),
        ("http://LOCALHOST:8080", "localhost:8080", True),
        # Another site, another local port, a file, and a host name that resolves to this machine.
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
    """If this fails, a machine is unreachable by its address, or reachable by a foreign host name."""
    names = own_names("lab.example")
    assert is_own_page(f"http://{name}:8080", f"{name}:8080", names=names) is own


@pytest.fixture
def view(panel):
    """The page of a panel, at a free port."""
    with WebView(lambda: panel.session.snapshot, panel.view, port=0) as view:
        WebControls(view, panel)
        yield view


@pytest.fixture
def pressed(view):
    """The browsers whose button presses were obeyed, and the button."""
    clients = []
    button = view.server.gui.add_button("Press")
    button.on_click(lambda event: clients.append(event.client_id))
    return clients, button


def parts(view):
    """Return the address of a page without its token, and the token."""
    found = re.fullmatch(r"(http://127\.0\.0\.1:\d+)/([\w-]{32})/", view.address)
    assert found, view.address
    return found[1], found[2]


def wrong_addresses(view):
    """Return addresses that lack the token, or hold another one."""
    place, token = parts(view)
    other = Guard("127.0.0.1", limit=9).token
    return [
        place,
        f"{place}/",
        f"{place}/?token={token}",
        f"{place}//{token}/",
        f"{place}/x/{token}/",
        f"{place}/{token[:-1]}/",
        f"{place}/{token}x/",
        f"{place}/{token.swapcase()}/",
        f"{place}/{other}/",
        f"{place}/%00/",
        f"{place}/index.html",
    ]


def asked(view, path, headers=()):
    """Return the status and the body that the server answers to a request."""
    place = urlsplit(view.address)
    line = http.client.HTTPConnection(place.hostname, place.port, timeout=LIMIT)
    try:
        line.request("GET", path, headers=dict(headers))
        answer = line.getresponse()
        return answer.status, answer.read(), answer.headers
    finally:
        line.close()


def test_each_server_has_a_token_of_its_own():
    """If this fails, a token can be guessed, or a leaked one opens later panels."""
    tokens = {Guard("127.0.0.1", limit=9).token for _ in range(100)}
    assert len(tokens) == 100
    # 24 random bytes.
    assert {len(token) for token in tokens} == {32}


def test_pages_need_the_token(view):
    """If this fails, the port alone gives access to the page."""
    path = urlsplit(view.address).path
    for good in (path, path.rstrip("/"), f"{path}index.html", f"{path}?websocket=ws://x"):
        status, body, headers = asked(view, good)
        assert (status, b"<html" in body[:2000].lower()) == (200, True), good
        # The address must not be sent to other sites.
        assert headers["Referrer-Policy"] == "no-referrer"
    for bad in wrong_addresses(view):
        status, body, _ = asked(view, bad.removeprefix(parts(view)[0]) or "/")
        assert status == 403, bad
        assert b"<html" not in body.lower()
        assert parts(view)[1].encode() not in body
    assert asked(view, f"{path}../../secret")[0] == 404


def test_websockets_need_the_token(view, pressed):
    """If this fails, any program of this machine can fly vehicles and start programs."""
    for origin in (None, f"http://{urlsplit(view.address).netloc}"):
        for address in wrong_addresses(view):
            with pytest.raises(InvalidStatus) as caught:
                websocket(address, origin=origin).close()
            assert caught.value.response.status_code == 403
    clients, button = pressed
    for place in (parts(view)[0], f"{parts(view)[0]}/{Guard('127.0.0.1', limit=9).token}"):
        for upgrade in ("websocket", "WebSocket"):
            hurry(place, CAMERA, gui_update(button), upgrade=upgrade, origin=None)
    assert view.server._websock_server._live_connections == {}
    with Client(view.address) as client:
        wait_until(lambda: view.has_clients, "a program that knows the token")
        client.write(button)
        wait_until(lambda: clients, "the button")
    assert len(clients) == 1


def test_a_foreign_page_is_not_obeyed(view, pressed):
    """If this fails, a page of another site that has the token can press buttons."""
    clients, button = pressed
    for origin in ("http://evil.example", "null", "http://127.0.0.1:1"):
        with pytest.raises(InvalidStatus) as caught:
            websocket(view.address, origin=origin).close()
        assert caught.value.response.status_code == 403
    hurry(view.address, CAMERA, gui_update(button), origin="http://evil.example")
    assert view.server._websock_server._live_connections == {}
    own = websocket(view.address, origin=f"http://{urlsplit(view.address).netloc}")
    with own:
        own.send(msgspec.msgpack.encode(CAMERA))
        wait_until(lambda: view.has_clients, "the own page")
        own.send(msgspec.msgpack.encode(gui_update(button)))
        wait_until(lambda: clients, "the button")
    assert len(clients) == 1


def test_tokens_are_compared_as_secrets(view, monkeypatch):
    """If this fails, response times reveal how much of a guessed token is right."""
    compared = []

    def compare(first, second):
        compared.append((first, second))
        return False

    monkeypatch.setattr("pegasus.panel.viser.guard.secrets.compare_digest", compare)
    assert asked(view, urlsplit(view.address).path)[0] == 403
    assert asked(view, "/x")[0] == 403
    token = parts(view)[1].encode()
    assert compared == [(token, token), (b"x", token)]


def test_no_server_runs_without_its_guard():
    """If this fails, a later version of viser could run without access control."""
    with (
        pytest.raises(RuntimeError, match="was not guarded"),
        Guard("127.0.0.1", limit=9).installed(),
    ):
        pass


def hurry(address, *messages, origin, upgrade="websocket"):
    """Send messages together with the handshake, before the server can refuse it, and wait for the end."""
    place = urlsplit(address)
    lines = [
        f"GET {place.path or '/'} HTTP/1.1",
        f"Host: {place.netloc}",
        f"Upgrade: {upgrade}",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        f"Sec-WebSocket-Protocol: {PROTOCOL}",
    ]
    if origin is not None:
        lines.append(f"Origin: {origin}")
    data = "\r\n".join((*lines, "", "")).encode()
    for message in map(msgspec.msgpack.encode, messages):
        # A final binary frame with a zero mask.
        data += b"\x82\xfe" + len(message).to_bytes(2, "big") + bytes(4) + message
    with socket.create_connection((place.hostname, place.port), timeout=LIMIT) as line:
        line.sendall(data)
        answer = b""
        while more := line.recv(65536):
            answer += more
    assert answer.startswith(b"HTTP/1.1 403 ")
