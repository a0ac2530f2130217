"""State of one PX4 autopilot in lockstep: its messages, due answers and commands."""

import logging
import math
import time
from enum import Enum
from typing import Any

from pegasus.backends.mavlink.airframe import OutputMap
from pegasus.backends.mavlink.hub import LinkHub
from pegasus.backends.mavlink.link import Link, LinkClosedError
from pegasus.backends.mavlink.messages import SIMULATOR, Decoder, encode
from pegasus.core.link_state import FaultyLine

_log = logging.getLogger(__name__)

_ARMED = 128
_LOCKSTEP = 1
_STEADY, _MAX_STEADY = 4, 4096
"""Number of answers at one interval after which lockstep begins and every answer is waited for.

It doubles after each timeout, up to the second number.
"""
_REMEMBERED = 64
"""Minimum number of sent times that are kept until their answers."""
_LATEST = 65536
"""Number of late sensor messages that are kept."""


class Phase(Enum):
    """Phase of the connection to an autopilot."""

    ABSENT = "absent"
    """Not connected."""
    STARTING = "starting"
    """Connected, but not yet answering steadily: steps are paced, not waited for."""
    LOCKSTEP = "lockstep"
    """Every due answer is waited for."""
    SILENT = "silent"
    """An answer has timed out: messages are read, but not waited for."""


class HilInstance:
    """One autopilot on one link.

    Args:
        name: Name in messages, such as "PX4 0 of vehicle 'iris'".
        link: The link to it.
        outputs: Map from its outputs to commands.
        system: System id of frames to it.
        hold_time: Simulated time for which the last commands are kept without answers [s].
    """

    def __init__(self, name: str, link: Link, outputs: OutputMap, *, system: int, hold_time: float) -> None:
        self.name, self.link = name, link
        self.phase = Phase.STARTING if link.connected else Phase.ABSENT
        self.lockstep = True
        """Whether the autopilot runs by simulation time; hardware does not."""
        self.armed = False
        self.was_connected = link.connected
        """Whether it has ever been connected."""
        self.was_steady = False
        """Whether PX4 has ever answered steadily; until then it is starting."""
        self.received_at = time.monotonic()
        """Wall time of its connection or its last answer before the lockstep [s]."""
        self.hub = LinkHub(link)
        """Hub by which others share the link; they get all messages but the answers."""
        self.trouble: str | None = None
        """Last failure; None if there was none."""
        self._outputs, self._system, self._hold_time = outputs, system, hold_time
        self._rest = [channel.idle for channel in outputs.channels]
        self._commands = self._rest
        self._decoder = self._new_decoder()
        self._sequence = 0
        self._outgoing: list[bytes] = []
        self._sampled: dict[bytes, int] = {}
        self._starved = False
        # Copies of doubled messages, for the next step.
        self._again: list[bytes] = []
        self.line: FaultyLine | None = None
        """Faults of the link to the autopilot; None if no message can be lost or late."""
        self.is_clocked = False
        """True once a sensor message has been sent on this connection."""
        self._epoch: float | None = None
        self._fresh = False
        self._fresh_at = -math.inf
        self._sent: dict[int, int] = {}
        self._sent_count = self._answered = 0
        self._interval, self._interval_count, self._steady = 1, 0, _STEADY

    @property
    def awaits(self) -> bool:
        """Whether the step must wait for this autopilot's answer."""
        return self.phase is Phase.LOCKSTEP and self._sent_count - self._answered >= self._interval

    def clock(self, t: float, period: float) -> int:
        """Return the time for the autopilot [us]; it begins at one period with the connection, 0 without one.

        Args:
            t: Simulation time [s].
            period: Time between two sensor messages [s].
        """
        if self.phase is Phase.ABSENT:
            return 0
        if self._epoch is None:
            self._epoch = t - period
        return round((t - self._epoch) * 1e6)

    def add(self, message: Any) -> None:
        """Add a message without answer to those of this step."""
        self._outgoing.append(encode(message, sequence=self._sequence, system=self._system))
        self._sequence += 1

    def add_sensor(self, message: Any) -> None:
        """Add a HIL_SENSOR to the messages of this step; its answer carries the same time."""
        frame = message.template.frame(message, self._sequence, self._system, SIMULATOR)
        self._outgoing.append(frame)
        self._sequence += 1
        self.is_clocked = True
        if self.line is None:
            self._expect(message.time_usec)
        else:
            self._sampled[frame] = message.time_usec

    def _expect(self, time_usec: int) -> None:
        """Expect an answer to a sensor message."""
        if time_usec in self._sent:
            return
        self._sent_count += 1
        self._sent[time_usec] = self._sent_count
        if len(self._sent) > 2 * _REMEMBERED:
            # Not one by one: the search for the first one would pass all that were deleted.
            self._sent = dict(list(self._sent.items())[-_REMEMBERED:])

    def send(self, t: float) -> None:
        """Send the messages of this step.

        A lost or late sensor message is not waited for, so that the simulation goes on. The copy of a doubled
        one is sent in the next step, because PX4 does not answer if the newest sample in its queue has the
        time of the one before.

        Args:
            t: Simulation time [s].
        """
        again, self._again = self._again, []
        if self.line is not None:
            outgoing, newest = self.line.passed(self._outgoing, t), None
            for data in outgoing:
                if (time_usec := self._sampled.pop(data, None)) is not None:
                    self._expect(time_usec)
                    newest = data
            self._starved = newest is None
            if newest is not None and outgoing.count(newest) > 1:
                self._again = [newest]
                del outgoing[max(k for k, data in enumerate(outgoing) if data == newest)]
            self._outgoing = outgoing
            while len(self._sampled) > _LATEST:
                del self._sampled[next(iter(self._sampled))]
        else:
            self._starved = False
        self._outgoing[:0] = again
        if self._outgoing:
            self.link.send_all(self._outgoing)
            self._outgoing.clear()

    def read(self, *, wait: bool = False) -> bool:
        """Accept the autopilot or read its messages; return whether anything has come.

        Args:
            wait: Whether to wait for messages of a connected autopilot, at most `LONGEST_WAIT`.
        """
        if self.phase is Phase.ABSENT:
            if not self.link.accept():
                return False
            _log.info("%s is connected%s", self.name, " again" if self.was_connected else "")
            self.was_connected, self.received_at = True, time.monotonic()
            self.phase, self._steady = Phase.STARTING, _STEADY
            self._decoder = self._new_decoder()
            self._epoch, self.is_clocked = None, False
            self._forget()
            return True
        try:
            data = self.link.await_bytes() if wait else self.link.receive()
        except LinkClosedError as error:
            self._disconnect(str(error))
            return True
        if (answer := self._decoder.only(data)) is not None:
            self._take(answer)
        else:
            for message in self._decoder.feed(data):
                self._take(message)
        return bool(data)

    def note_timeout(self, t: float, limit: float) -> None:
        """Stop waiting for the answer that is due.

        Args:
            t: Simulation time [s].
            limit: Time that it was waited for [s].
        """
        self.trouble = f"has not answered within {limit:g} s"
        _log.warning(
            "%s %s at t = %.3f s; its rotors keep their speed for %g s, then stop",
            *(self.name, self.trouble, t, self._hold_time),
        )
        self.phase, self._steady = Phase.SILENT, min(2 * self._steady, _MAX_STEADY)
        self._forget()

    def commands(self, t: float) -> list[float]:
        """Return the commands by channel from t on; without answers those at rest after the hold time.

        Args:
            t: Simulation time [s].
        """
        if self._fresh or (self.phase is Phase.LOCKSTEP and not self._starved):
            self._fresh, self._fresh_at = False, t
        elif t - self._fresh_at > self._hold_time and self._commands is not self._rest:
            if not self.lockstep and self.phase is Phase.STARTING:
                self.trouble = "no longer answers"
                _log.warning("%s %s at t = %.3f s; its rotors stop", self.name, self.trouble, t)
            self.armed, self._commands = False, self._rest
        return self._commands

    def _new_decoder(self) -> Decoder:
        return Decoder("HIL_ACTUATOR_CONTROLS", rest=self.hub.deliver)

    def _take(self, message: Any) -> None:
        self.lockstep = bool(message.flags & _LOCKSTEP)
        if self.phase is not Phase.LOCKSTEP:
            self.received_at = time.monotonic()
        if self.phase is Phase.SILENT:
            _log.info("%s answers again", self.name)
            self.phase = Phase.STARTING
        if self.lockstep:
            count = self._sent.get(message.time_usec, 0)
            if count <= self._answered:
                # Outdated or repeated answer.
                return
            interval, self._answered = count - self._answered, count
            if interval != self._interval or self.phase is not Phase.LOCKSTEP:
                self._learn_interval(interval)
        self._fresh = True
        self.was_steady = self.was_steady or self.phase is Phase.LOCKSTEP or not self.lockstep
        self.armed = bool(message.mode & _ARMED)
        self._commands = self._outputs.commands(message.controls) if self.armed else self._rest

    def _learn_interval(self, interval: int) -> None:
        """Learn the number of messages per answer of the autopilot."""
        if self.phase is Phase.LOCKSTEP:
            self._interval = min(self._interval, interval)
            return
        self._interval_count = self._interval_count + 1 if interval == self._interval else 1
        self._interval = interval
        if self._interval_count >= self._steady:
            self.phase = Phase.LOCKSTEP

    def _disconnect(self, reason: str) -> None:
        _log.warning(
            "%s is gone (%s); its rotors keep their speed for %g s and then stop",
            self.name,
            reason,
            self._hold_time,
        )
        self.link.drop()
        self.trouble, self.phase = f"is gone ({reason})", Phase.ABSENT

    def _forget(self) -> None:
        """Reset the record of due answers."""
        self._sent.clear()
        self._sent_count = self._answered = 0
        self._interval, self._interval_count = 1, 0
        self._again.clear()
