"""One ArduPilot at the other end of a UDP socket, and the rules of its lockstep.

ArduPilot sends a servo packet and waits for one reply, for ever; then its time is the reply's, and the next
packet follows. Every reply beyond that would stay in its socket and delay each later one by a frame, so a
packet is answered once, and always the newest. Without a reply it sends the same packet, with the same
frame count, again and again. Such a packet that comes after its reply has got it or has not: it is answered
once more, and the packet that follows waited for a moment longer, in case that both replies are taken. A
restarted ArduPilot counts from 0 and sends from another port.

Anybody may send to the socket. A program that was started here is heard alone, by whichever of its ports;
otherwise the first sender is, until it has closed its port or has been silent for `SILENCE_LIMIT`.
"""

import logging
import math
import socket
import time
from collections.abc import Sequence
from enum import Enum

from pegasus.backends.mavlink.json_fdm import LARGEST_DATAGRAM, ServoPacket, decode_servos
from pegasus.backends.mavlink.ports import is_held, name_of, senders_at
from pegasus.backends.mavlink.process import AutopilotProcess

_log = logging.getLogger(__name__)

CHANNEL_COUNT = 32
"""Outputs of an ArduPilot; those that a packet does not tell of are off."""

SILENCE_LIMIT = 3.0
"""Wall time after which a silent ArduPilot that was not started here gives way to another sender [s]."""

_REPEATED = 0.5
"""A packet that comes again so long after its reply has not got it: ArduPilot repeats after 1.1 s [s]."""
_SETTLING = 0.05
"""How long the packet after a second reply may be followed by one more, which then counts [s]."""
_MOST_DATAGRAMS = 4096
"""Datagrams taken at once, so that a flood of them cannot hold the simulation up."""
_MOST_STRANGERS = 8
"""Senders whose packets are looked into at once; so many that are refused are named in all."""
_REFUSAL = 1.0
"""Time until a refused sender is checked again [s]."""
_SAME_INSTANT = 1e-9
"""Times nearer than this are the same [s]."""
_NO_OUTPUT = (0,) * CHANNEL_COUNT


Address = tuple[str, int]


class Contact(Enum):
    """What is known of the other side."""

    ABSENT = "absent"
    """It has not been heard yet."""
    LOCKSTEP = "lockstep"
    """It answers."""
    SILENT = "silent"
    """It has let a step's limit pass, and is not waited for until it is heard again."""
    ENDED = "ended"
    """Its process has ended."""


class JsonLink:
    """What has come from one ArduPilot, and what it is still owed.

    Args:
        name: What messages call it.
        open_socket: UDP socket that it sends to; does not block.
    """

    def __init__(self, name: str, open_socket: socket.socket) -> None:
        self.name = name
        self.contact = Contact.ABSENT
        self.owed = False
        """Whether its newest packet has not been answered."""
        self.frame_count = 0
        """Number of its newest packet."""
        self.process: AutopilotProcess | None = None
        """Its program, if that was started here."""
        self._socket = open_socket
        self._peer: Address | None = None
        self._unheard_since: float | None = None
        self._refused_until: dict[Address, float] = {}
        self._named_strangers: set[Address] = set()
        self._pwm = _NO_OUTPUT
        self._reply = b""
        self._replied_at = -math.inf
        self._lost_at = math.inf
        self._repeated = False
        self._settled_at = -math.inf

    @property
    def waiting(self) -> bool:
        """Whether it is to be waited for: it has had its reply and has not sent the next packet."""
        return self.contact is Contact.LOCKSTEP and not self.owed

    @property
    def settling(self) -> bool:
        """Whether its packet may be followed by one more at once, and is to be looked at until then."""
        return self._settled_at > time.monotonic()

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when there is something to receive."""
        return self._socket.fileno()

    def receive(self) -> None:
        """Take what has come, and keep the newest packet."""
        heard, strangers = False, dict[Address, ServoPacket]()
        for _ in range(_MOST_DATAGRAMS):
            try:
                datagram, sender = self._socket.recvfrom(LARGEST_DATAGRAM)
            except BlockingIOError:
                break
            except OSError as error:
                # Some systems report here that a reply has met a closed port.
                _log.debug("%s: %s", self.name, error)
                continue
            packet = decode_servos(datagram)
            # What a program has sent before it ended does not bring it back.
            if packet is None or self.contact is Contact.ENDED:
                continue
            if sender == self._peer:
                heard = True
                self._take(packet.frame_count, packet.pwm, sender)
            elif sender in strangers or len(strangers) < _MOST_STRANGERS:
                strangers[sender] = packet
        if heard:
            self._unheard_since = None
        for sender, packet in strangers.items():
            if self._admits(sender):
                self._take(packet.frame_count, packet.pwm, sender)

    def reply(self, text: bytes) -> None:
        """Answer the newest packet.

        Args:
            text: The datagram.
        """
        self._reply, self._replied_at, self.owed = text, time.monotonic(), False
        self._send()

    def fall_silent(self, t: float) -> None:
        """Note that it has let a step's limit pass, or that its process has ended.

        Args:
            t: Simulation time [s].
        """
        if self.contact is Contact.LOCKSTEP:
            self._lost_at = t
        self.contact = Contact.SILENT

    def end(self, t: float) -> None:
        """Note that its process has ended.

        Args:
            t: Simulation time [s].
        """
        self.fall_silent(t)
        self.contact = Contact.ENDED

    def pulse_widths(self, channels: Sequence[int], t: float, hold_time: float) -> list[int]:
        """Return the pulse widths of some outputs at a time [us]; 0 once they are not to be held any more.

        Args:
            channels: Numbers of the outputs, counted from 0.
            t: Simulation time [s].
            hold_time: How long the last ones are held when nothing comes any more [s].
        """
        pwm = self._pwm
        if t > self._lost_at + hold_time - _SAME_INSTANT:
            pwm = _NO_OUTPUT
        return [pwm[channel] for channel in channels]

    def _admits(self, sender: Address) -> bool:
        """Return whether a sender other than the last one is listened to from now on."""
        now = time.monotonic()
        if self._unheard_since is None:
            self._unheard_since = now
        if now < self._refused_until.get(sender, -math.inf):
            return False
        pids = senders_at(sender[1], beside=self._socket) if _is_local(sender) else set[int]()
        if self.process is not None and pids is not None:
            admitted = any(map(self.process.owns, pids))
        else:
            admitted = self._peer is None or now - self._unheard_since > SILENCE_LIMIT or self._peer_is_gone()
        if admitted:
            self._unheard_since = None
            return True
        self._refused_until = {a: t for a, t in self._refused_until.items() if t > now}
        self._refused_until[sender] = now + _REFUSAL
        if sender not in self._named_strangers and len(self._named_strangers) < _MOST_STRANGERS:
            self._named_strangers.add(sender)
            _log.warning(
                "%s: packets from %s are left out, since they are another program's",
                *(self.name, ", ".join([f"{sender[0]}:{sender[1]}", *map(name_of, pids or ())])),
            )
        return False

    def _peer_is_gone(self) -> bool:
        """Return whether there is no socket any more where packets came from, as far as is known."""
        peer = self._peer
        return peer is not None and _is_local(peer) and is_held(peer[1], beside=self._socket) is False

    def _take(self, count: int, pwm: tuple[int, ...], sender: Address) -> None:
        if self._peer is None:
            _log.info("%s sends from %s:%d", self.name, *sender)
        elif sender != self._peer or count < self.frame_count:
            _log.warning(
                "%s has restarted: frame %d from port %d after frame %d from port %d",
                *(self.name, count, sender[1], self.frame_count, self._peer[1]),
            )
        elif count == self.frame_count and self.contact is Contact.LOCKSTEP:
            if not self.owed and time.monotonic() - self._replied_at > _REPEATED:
                self._replied_at, self._repeated = time.monotonic(), True
                self._send()
            return
        elif self.contact is not Contact.LOCKSTEP:
            _log.warning("%s answers again", self.name)
        elif count > self.frame_count + 1:
            _log.warning("%s has jumped from frame %d to frame %d", self.name, self.frame_count, count)
        # The reply that was sent twice may have been taken twice: then one more packet follows this one.
        self._settled_at = time.monotonic() + _SETTLING if self._repeated else -math.inf
        self._repeated = False
        self.contact, self.owed, self._lost_at = Contact.LOCKSTEP, True, math.inf
        self._peer, self.frame_count = sender, count
        self._pwm = pwm if len(pwm) == CHANNEL_COUNT else pwm + _NO_OUTPUT[len(pwm) :]

    def _send(self) -> None:
        assert self._peer is not None
        try:
            self._socket.sendto(self._reply, self._peer)
        except OSError as error:
            # It asks again, as for any reply that is lost.
            _log.debug("%s: %s", self.name, error)


def _is_local(address: Address) -> bool:
    return address[0].startswith("127.")
