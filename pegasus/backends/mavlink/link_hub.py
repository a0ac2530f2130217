"""A link shared by several users: each may send, and each receives everything."""

from pegasus.backends.mavlink.link import Link

_LONGEST_BACKLOG = 65536
"""Bytes kept for a user that does not receive; older ones are left out."""


class LinkHub:
    """Share a link among several users, because an autopilot answers one partner at each of its ports.

    Args:
        link: The link. Whoever watches it calls `read` when there is something to read, or hands over what it
            has read itself.
    """

    def __init__(self, link: Link) -> None:
        self.link = link
        self._taps: list[_Tap] = []

    def tap(self) -> Link:
        """Return the link as one more user has it; closing it leaves the others theirs."""
        tap = _Tap(self.link, self._taps)
        self._taps.append(tap)
        return tap

    def read(self) -> None:
        """Read the link, and hand over what has come."""
        self.deliver(self.link.receive())

    def deliver(self, data: bytes) -> None:
        """Hand over what has come.

        Args:
            data: Bytes that were received.
        """
        for tap in self._taps:
            tap.pending = (tap.pending + data)[-_LONGEST_BACKLOG:]


class _Tap(Link):
    """The link as one of its users has it."""

    def __init__(self, link: Link, users: "list[_Tap]") -> None:
        self._link, self._users = link, users
        self.pending = b""

    @property
    def connected(self) -> bool:
        """True while the shared link is connected."""
        return self._link.connected

    def fileno(self) -> int:
        """Return -1: the owner of the link watches it."""
        return -1

    def send(self, data: bytes) -> None:
        """Send a whole message; see `Link.send`."""
        if self.connected:
            self._link.send(data)

    def receive(self) -> bytes:
        """Return what has come since the last call."""
        data, self.pending = self.pending, b""
        return data

    def close(self) -> None:
        """Receive no more; the link stays its owner's."""
        if self in self._users:
            self._users.remove(self)
