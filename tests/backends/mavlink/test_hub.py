"""Tests of links with several users, and of links polled together."""

import socket

import pytest

from pegasus.backends.mavlink.hub import Inbox, LinkHub
from pegasus.backends.mavlink.link import UdpLink


@pytest.fixture
def lines():
    """Return two links with the sockets at their other ends; the links have already sent a message."""
    made = []
    for _ in range(2):
        peer = socket.socket(type=socket.SOCK_DGRAM)
        peer.bind(("127.0.0.1", 0))
        peer.settimeout(5.0)
        link = UdpLink("127.0.0.1", peer.getsockname()[1])
        link.send(b"here")
        made.append((link, peer, peer.recvfrom(100)[1]))
    yield made
    for link, peer, _ in made:
        link.close()
        peer.close()


def test_every_user_gets_everything(lines):
    """The estimate would miss the messages that the pilot has read."""
    link, peer, place = lines[0]
    hub = LinkHub(link)
    first, second = hub.tap(), hub.tap()
    for text in (b"one", b"two"):
        peer.sendto(text, place)
        hub.read()
    assert (first.receive(), second.receive()) == (b"onetwo", b"onetwo")
    second.close()
    hub.deliver(b"three")
    assert (first.receive(), second.receive()) == (b"three", b"")


def test_only_who_has_received_is_ready(lines):
    """Links without data would be read at every step, or those with data not at all."""
    inbox, hub = Inbox(), LinkHub(lines[0][0])
    tap = hub.tap()
    inbox.add(tap, "tap")
    inbox.add(lines[1][0], "link")
    assert inbox.ready() == []
    hub.deliver(b"text")
    assert inbox.ready() == ["tap"]
    lines[1][1].sendto(b"text", lines[1][2])
    assert inbox.ready() == ["tap", "link"]
    assert (tap.receive(), lines[1][0].receive()) == (b"text", b"text")
    assert inbox.ready() == []
    hub.deliver(b"text")
    lines[1][1].sendto(b"text", lines[1][2])
    inbox.remove(tap)
    inbox.remove(lines[1][0])
    assert inbox.ready() == []
    inbox.close()
