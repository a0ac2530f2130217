"""Links with several users, and several links polled together."""

import selectors
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from pegasus.backends.mavlink.link import Link

_MAX_PENDING = 256
"""Maximum number of deliveries kept for a user that does not receive; older ones are dropped."""


class LinkHub:
    """Link shared by several users: each may send, each receives everything.

    An autopilot answers only one partner at each of its ports.

    Args:
        link: The link. Its owner polls it and calls `read`, or passes bytes that it has read to `deliver`.
    """

    def __init__(self, link: Link) -> None:
        self.link = link
        self._taps: list[_Tap] = []

    def tap(self) -> Link:
        """Return the link of one more user; closing it does not affect the others."""
        tap = _Tap(self.link, self._taps)
        self._taps.append(tap)
        return tap

    def read(self) -> None:
        """Read the link and deliver the bytes to all users."""
        self.deliver(self.link.receive())

    def deliver(self, data: bytes) -> None:
        """Deliver bytes to all users."""
        for tap in self._taps:
            if not tap.pending:
                tap.announce()
            tap.pending.append(data)


class _Tap(Link):
    """Link of one user of a hub."""

    def __init__(self, link: Link, users: "list[_Tap]") -> None:
        self._link, self._users = link, users
        self.pending: deque[bytes] = deque(maxlen=_MAX_PENDING)
        self.announce: Callable[[], Any] = lambda: None
        """Called when bytes come after none were pending."""

    @property
    def connected(self) -> bool:
        """True while the shared link is connected."""
        return self._link.connected

    def fileno(self) -> int:
        """Return -1: the owner of the hub polls the link."""
        return -1

    @property
    def has_pending(self) -> bool:
        """True if the hub has delivered bytes."""
        return bool(self.pending)

    def send(self, data: bytes) -> None:
        """Send a whole message; see `Link.send`."""
        if self.connected:
            self._link.send(data)

    def receive(self) -> bytes:
        """Return the bytes received since the last call."""
        data = b"".join(self.pending)
        self.pending.clear()
        return data

    def close(self) -> None:
        """Stop receiving; the shared link stays open."""
        if self in self._users:
            self._users.remove(self)


class Inbox:
    """Links of several owners, polled together: one system call shows which of them can be read.

    Those of hubs are not polled: they announce what they get.
    """

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._announced: dict[_Tap, Any] = {}
        self._polled_count = 0

    def add(self, link: Link, owner: Any) -> None:
        """Add an open link with its owner."""
        if isinstance(link, _Tap):
            link.announce = partial(self._announced.__setitem__, link, owner)
            if link.has_pending:
                link.announce()
        else:
            self._selector.register(link, selectors.EVENT_READ, owner)
            self._polled_count += 1

    def remove(self, link: Link) -> None:
        """Remove a link before it is closed."""
        if isinstance(link, _Tap):
            self._announced.pop(link, None)
        else:
            self._selector.unregister(link)
            self._polled_count -= 1

    def ready(self) -> list[Any]:
        """Return the owners of the links that can be read without waiting."""
        if not (self._announced or self._polled_count):
            return []
        for link in [link for link in self._announced if not link.has_pending]:
            del self._announced[link]
        owners = list(self._announced.values())
        if self._polled_count:
            owners += [key.data for key, _ in self._selector.select(0)]
        return owners

    def close(self) -> None:
        """Release the selector; the links belong to their owners."""
        self._selector.close()
