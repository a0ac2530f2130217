"""Lockstep of N ArduPilots over UDP: the link to each, and the common wait for their packets.

ArduPilot sends a servo packet and waits for one reply, which sets its time; then it sends the next packet. A
surplus reply would stay in its socket and delay all later ones by a frame, so only the newest packet is
answered, once. Without a reply it repeats the packet with the same frame count. A repeated packet after a
reply is answered once more, and the next packet is waited for a moment longer, because both replies may
arrive. A restarted ArduPilot counts from 0 and sends from another port.

Faults of the link keep this exact. A packet whose reply is lost or late stays unanswered until the next reply
arrives, and no answer is waited for. Of several replies that arrive in one step, each is sent when the packet
that answers the one before has come, so that none stays in the socket.

Any program can send to the socket. Packets of a launched ArduPilot are accepted from any of its ports and
from no other program; otherwise the first sender is accepted until it closes its port or is silent for
`SILENCE_LIMIT`.
"""

import logging
import math
import selectors
import socket
import time
from collections.abc import Callable, Sequence
from enum import Enum

from pegasus.backends.ardupilot.json_fdm import LARGEST_DATAGRAM, ServoPacket, decode_servos
from pegasus.backends.mavlink.link import LONGEST_WAIT, wait_in_kernel
from pegasus.backends.mavlink.ports import is_held, name_of, senders_at
from pegasus.backends.mavlink.process import AutopilotProcess
from pegasus.base.errors import AutopilotError

_log = logging.getLogger(__name__)

_POLL_PERIOD = 0.05
"""Polling interval of processes while waiting for packets [s]."""

CHANNEL_COUNT = 32
"""Number of outputs of an ArduPilot; those missing in a packet are off."""

SILENCE_LIMIT = 3.0
"""Wall time after which another sender may replace a silent external ArduPilot [s]."""

_REPEATED = 0.5
"""Time after a reply from which a repeated packet means that the reply was lost [s]; ArduPilot repeats after
1.1 s."""
_SETTLING = 0.05
"""Time to wait for one more packet after a second reply [s]."""
_MAX_DATAGRAMS = 4096
"""Maximum number of datagrams read at once, against floods."""
_MAX_STRANGERS = 8
"""Maximum number of unknown senders examined at once, and of rejected ones named in all."""
_REFUSAL = 1.0
"""Time until a rejected sender is checked again [s]."""
_SAME_INSTANT = 1e-9
"""Tolerance of equal times [s]."""
_NO_OUTPUT = (0,) * CHANNEL_COUNT


Address = tuple[str, int]


class Contact(Enum):
    """State of the connection to an ArduPilot."""

    ABSENT = "absent"
    """No packet received yet."""
    LOCKSTEP = "lockstep"
    """Answering."""
    SILENT = "silent"
    """An answer has timed out; not waited for until the next packet."""
    ENDED = "ended"
    """Process ended."""


class JsonLink:
    """Link to one ArduPilot: newest packet, and whether it has been answered."""

    def __init__(self, name: str, open_socket: socket.socket) -> None:
        self.name = name
        self.contact = Contact.ABSENT
        self.owed = False
        """True if its newest packet has no answer yet."""
        self.frame_count = 0
        """Number of its newest packet."""
        self.process: AutopilotProcess | None = None
        """Its program, if launched by Pegasus."""
        self._socket = open_socket
        wait_in_kernel(open_socket)
        self._peer: Address | None = None
        self._silent_since: float | None = None
        self._refused_until: dict[Address, float] = {}
        self._named_strangers: set[Address] = set()
        self._pwm = _NO_OUTPUT
        self._reply = b""
        self._replied_at = -math.inf
        self._lost_at = math.inf
        self._queue: list[bytes] = []
        self.progress_at = -math.inf
        """Wall time of its last reply [s]; a repetition does not count."""
        self._repeated = False
        self._settled_at = -math.inf

    @property
    def waiting(self) -> bool:
        """True if the step must wait for its next packet."""
        return self.contact is Contact.LOCKSTEP and not self.owed

    @property
    def settling(self) -> bool:
        """True if one more packet may follow at once."""
        return self._settled_at > time.monotonic()

    def fileno(self) -> int:
        """Return the file descriptor to poll for reading."""
        return self._socket.fileno()

    def receive(self) -> None:
        """Read received packets and keep the newest one."""
        self._receive([])

    def await_packet(self) -> bool:
        """Wait for packets, at most `LONGEST_WAIT`, and keep the newest; return whether any came."""
        try:
            datagram, sender = self._socket.recvfrom(LARGEST_DATAGRAM)
        except BlockingIOError:
            return False
        except OSError as error:
            # Some systems report here that the port of a reply is closed.
            _log.debug("%s: %s", self.name, error)
            return False
        if sender != self._peer:
            self._receive([(datagram, sender)])
        elif (packet := decode_servos(datagram)) is not None and self.contact is not Contact.ENDED:
            self._silent_since = None
            self._take(packet.frame_count, packet.pwm, sender)
        return True

    def _receive(self, datagrams: list[tuple[bytes, Address]]) -> None:
        """Read received packets after these datagrams, and keep the newest one."""
        heard, strangers = False, dict[Address, ServoPacket]()
        for _ in range(_MAX_DATAGRAMS):
            try:
                datagram, sender = (
                    datagrams.pop()
                    if datagrams
                    else self._socket.recvfrom(LARGEST_DATAGRAM, socket.MSG_DONTWAIT)
                )
            except BlockingIOError:
                break
            except OSError as error:
                _log.debug("%s: %s", self.name, error)
                continue
            packet = decode_servos(datagram)
            # Packets sent before the program ended do not count.
            if packet is None or self.contact is Contact.ENDED:
                continue
            if sender == self._peer:
                heard = True
                self._take(packet.frame_count, packet.pwm, sender)
            elif sender in strangers or len(strangers) < _MAX_STRANGERS:
                strangers[sender] = packet
        if heard:
            self._silent_since = None
        for sender, packet in strangers.items():
            if self._admits(sender):
                self._take(packet.frame_count, packet.pwm, sender)

    def reply(self, *texts: bytes) -> None:
        """Answer the newest packet.

        Args:
            texts: The replies: one, or several that arrive late or twice. Each further one answers the packet
                that follows from the one before.
        """
        text, *self._queue = texts
        self._reply, self.owed = text, False
        self._replied_at = self.progress_at = time.monotonic()
        self._send()

    def note_missing_packet(self, t: float) -> None:
        """Leave the newest packet without an answer, because none arrives now.

        Args:
            t: Simulation time [s].
        """
        self._lost_at = min(self._lost_at, t)

    def note_timeout(self, t: float) -> None:
        """Record that an answer has timed out.

        Args:
            t: Simulation time [s].
        """
        if self.contact is Contact.LOCKSTEP:
            self._lost_at = min(self._lost_at, t)
        self.contact = Contact.SILENT

    def end(self, t: float) -> None:
        """Record that its process has ended.

        Args:
            t: Simulation time [s].
        """
        self.note_timeout(t)
        self.contact = Contact.ENDED

    def pulse_widths(self, channels: Sequence[int], t: float, hold_time: float) -> list[int]:
        """Return the pulse widths of some outputs at a time [us]; 0 after the hold time.

        Args:
            channels: Outputs, counted from 0.
            t: Simulation time [s].
            hold_time: Time for which the last values are held without packets [s].
        """
        pwm = self._pwm
        if t > self._lost_at + hold_time - _SAME_INSTANT:
            pwm = _NO_OUTPUT
        return [pwm[channel] for channel in channels]

    def _admits(self, sender: Address) -> bool:
        """Return whether packets of a new sender are accepted from now on."""
        now = time.monotonic()
        if self._silent_since is None:
            self._silent_since = now
        if now < self._refused_until.get(sender, -math.inf):
            return False
        pids = senders_at(sender[1], beside=self._socket) if _is_local(sender) else set[int]()
        if self.process is not None and pids is not None:
            admitted = any(map(self.process.owns, pids))
        else:
            admitted = self._peer is None or now - self._silent_since > SILENCE_LIMIT or self._peer_is_gone()
        if admitted:
            self._silent_since = None
            return True
        self._refused_until = {a: t for a, t in self._refused_until.items() if t > now}
        self._refused_until[sender] = now + _REFUSAL
        if sender not in self._named_strangers and len(self._named_strangers) < _MAX_STRANGERS:
            self._named_strangers.add(sender)
            _log.warning(
                "%s: packets from %s are ignored, because they come from another program",
                *(self.name, ", ".join([f"{sender[0]}:{sender[1]}", *map(name_of, pids or ())])),
            )
        return False

    def _peer_is_gone(self) -> bool:
        """Return whether the socket of the last sender is known to be closed."""
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
        # If both replies have arrived, one more packet follows.
        self._settled_at = time.monotonic() + _SETTLING if self._repeated else -math.inf
        self._repeated = False
        if sender != self._peer or count < self.frame_count:
            self._queue = []
        self.contact, self.owed, self._lost_at = Contact.LOCKSTEP, True, math.inf
        self._peer, self.frame_count = sender, count
        self._pwm = pwm if len(pwm) == CHANNEL_COUNT else pwm + _NO_OUTPUT[len(pwm) :]
        if self._queue:
            self.reply(*self._queue)

    def _send(self) -> None:
        assert self._peer is not None
        try:
            self._socket.sendto(self._reply, socket.MSG_DONTWAIT, self._peer)
        except OSError as error:
            # It repeats its packet, as after any lost reply.
            _log.debug("%s: %s", self.name, error)


def _is_local(address: Address) -> bool:
    return address[0].startswith("127.")


class JsonLockstep:
    """Common wait for the packets of N ArduPilots, on all sockets at once.

    Args:
        links: Links to the ArduPilots.
        processes: Launched programs, in the order of the links.
        step_timeout: Maximum wait for an answer, in wall time [s].
        start_timeout: Maximum time until the first packet, in wall time [s].
        hold_time: Simulated time for which rotors keep their speed without answers [s].
        log_is_kept: Whether the logs of the programs outlive the run.
        note: Called with the number of a failed ArduPilot, the simulation time [s], a description of the
            failure, and the exit status of its program if that has ended.
    """

    def __init__(
        self,
        links: Sequence[JsonLink],
        processes: Sequence[AutopilotProcess],
        *,
        step_timeout: float,
        start_timeout: float,
        hold_time: float,
        log_is_kept: bool,
        note: Callable[[int, float, str, int | None], None],
    ) -> None:
        self._links, self._processes, self._note = links, processes, note
        self._step_timeout, self._hold_time, self._log_is_kept = step_timeout, hold_time, log_is_kept
        self._start_timeout, self._started = start_timeout, time.monotonic()
        self._published = self._started
        self._selector = selectors.DefaultSelector()
        for link in links:
            self._selector.register(link, selectors.EVENT_READ, link)

    def await_contacts(self, t: float) -> None:
        """Wait for the first packet of every ArduPilot.

        Args:
            t: Simulation time [s].

        Raises:
            AutopilotError: If a program ends, or a first packet does not arrive in time.
        """
        if all(link.contact is not Contact.ABSENT for link in self._links):
            return
        # Packets may have come while the simulation was busy with its own start.
        self.receive()
        while absent := [i for i, link in enumerate(self._links) if link.contact is Contact.ABSENT]:
            for i, process in enumerate(self._processes):
                if process.poll() is not None:
                    self._note(i, t, process.ending, process.returncode)
                    raise process.failed(process.ending, log_is_kept=self._log_is_kept)
            left = self._started + self._start_timeout - time.monotonic()
            if left <= 0:
                problem = f"has not connected within {self._start_timeout:g} s"
                for i in absent:
                    self._note(i, t, problem, None)
                if self._processes:
                    raise self._processes[absent[0]].failed(problem, log_is_kept=self._log_is_kept)
                remedy = "start it, or let Pegasus launch it"
                raise AutopilotError(problem, field=self._links[absent[0]].name, remedy=remedy)
            self.receive(timeout=min(left, _POLL_PERIOD))

    @property
    def is_stale(self) -> bool:
        """True if newer packets may have arrived, or one of a silent ArduPilot."""
        late = time.monotonic() - self._published > _REPEATED
        return late or not all(link.owed for link in self._links)

    def receive(self, *, timeout: float = 0.0) -> bool:
        """Read all sockets; return whether anything was received.

        Args:
            timeout: Maximum wait, in wall time [s].
        """
        ready = self._selector.select(timeout)
        for key, _ in ready:
            key.data.receive()
        return bool(ready)

    def published(self) -> None:
        """Start the timeout of the step, after everything has been sent."""
        self._published = time.monotonic()

    def await_answers(self, t: float) -> None:
        """Wait for all due answers, within the timeout of the step.

        Args:
            t: Simulation time [s].
        """
        # All compute at the same time: waiting for one after the other takes as long as the slowest.
        for link in self._links:
            while link.waiting and self._time_left() > LONGEST_WAIT:
                if not link.await_packet():
                    break
        while any(link.waiting or link.settling for link in self._links):
            left = self._time_left()
            # Read at least once: answers may have arrived while others were published to.
            came = self.receive(timeout=min(max(left, 0.0), _POLL_PERIOD))
            if left <= 0:
                break
            if not came:
                self._check_processes(t)
        for i, link in enumerate(self._links):
            if link.waiting:
                problem = f"has not answered within {self._step_timeout:g} s"
                _log.warning(
                    "%s %s at t = %.3f s; its rotors keep their speed for %g s, then stop",
                    *(link.name, problem, t, self._hold_time),
                )
                self._note(i, t, problem, None)
                link.note_timeout(t)
            elif link.contact is Contact.SILENT:
                self._check_processes(t)

    def _time_left(self) -> float:
        """Return the wall time for which answers are still waited for [s].

        It begins anew with each of several late replies, so that their number does not matter.
        """
        begun = max(self._published, *(link.progress_at for link in self._links))
        return begun + self._step_timeout - time.monotonic()

    def close(self) -> None:
        """Release the selector; links and programs belong to their owners."""
        self._selector.close()

    def _check_processes(self, t: float) -> None:
        """Report programs that have ended, once."""
        for i, process in enumerate(self._processes):
            if self._links[i].contact is not Contact.ENDED and not process.alive:
                self._links[i].end(t)
                self._note(i, t, process.ending, process.returncode)
                _log.error("%s", process.failed(process.ending, log_is_kept=self._log_is_kept))
