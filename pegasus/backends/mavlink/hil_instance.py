"""One autopilot at the other end of a HIL link: how far it has come, and what it answers."""

import logging
import math
import time
from enum import Enum
from typing import NamedTuple

from pegasus.backends.mavlink.link import Link, LinkClosedError
from pegasus.backends.mavlink.link_hub import LinkHub
from pegasus.backends.mavlink.messages import Decoder, HilActuatorControls, encode
from pegasus.backends.mavlink.rotor_map import RotorMap

_log = logging.getLogger(__name__)

_ARMED = 128
_LOCKSTEP = 1
_STEADY, _MOST_STEADY = 4, 4096
"""So many answers at one interval make the lockstep: from then on each one is waited for.

The first number doubles whenever an autopilot has to be given up, up to the second one.
"""
_REMEMBERED = 64


class Phase(Enum):
    """How far an autopilot has come."""

    ABSENT = "absent"
    """Nobody is connected."""
    STARTING = "starting"
    """Connected, and not yet answering steadily: it is not waited for, but given time."""
    LOCKSTEP = "lockstep"
    """Every answer that is due is waited for."""
    SILENT = "silent"
    """It has let an answer go by: it is listened to and not waited for."""


class HilInstance:
    """One autopilot on one link.

    Args:
        name: What messages call it, such as "PX4 0 of vehicle 'iris'".
        link: The link to it.
        rotors: How its outputs become rotor speeds.
        system: System id that frames to it carry.
        hold_time: Simulated time for which rotors keep their last speed when the answers stop [s].
    """

    def __init__(self, name: str, link: Link, rotors: RotorMap, *, system: int, hold_time: float) -> None:
        self.name, self.link = name, link
        self.phase = Phase.STARTING if link.connected else Phase.ABSENT
        self.lockstep = True
        """Whether the autopilot runs by the simulator's clock; hardware does not."""
        self.armed = False
        self.was_connected = link.connected
        """Whether it has ever been there."""
        self.was_steady = False
        """True once PX4 has answered every step; until then it is starting."""
        self.heard_at = time.monotonic()
        """Wall time at which it came, or last answered [s]."""
        self.hub = LinkHub(link)
        """The link, for others who listen and talk along."""
        self.trouble: str | None = None
        """The last failure; None if there was none."""
        self._rotors, self._system, self._hold_time = rotors, system, hold_time
        self._rest = [0.0] * len(rotors.channels)
        self._speeds = self._rest
        self._decoder = Decoder()
        self._sequence = 0
        self._epoch: float | None = None
        self._fresh = False
        self._fresh_at = -math.inf
        self._sent: dict[int, int] = {}
        self._sent_count = self._answered = 0
        self._interval, self._interval_count, self._steady = 1, 0, _STEADY

    @property
    def awaits(self) -> bool:
        """Whether the step cannot go on without this autopilot's answer."""
        return self.phase is Phase.LOCKSTEP and self._sent_count - self._answered >= self._interval

    def clock(self, t: float, period: float) -> int:
        """Return the time that the autopilot is told [us]: it begins one period after zero when it connects.

        Args:
            t: Simulation time [s].
            period: Time between two sensor messages [s].
        """
        if self._epoch is None:
            self._epoch = t - period
        return round((t - self._epoch) * 1e6)

    def send(self, message: NamedTuple) -> None:
        """Send a message that asks for no answer, if somebody is there.

        Args:
            message: The message.
        """
        if self.phase is Phase.ABSENT:
            return
        self.link.send(encode(message, sequence=self._sequence, system=self._system))
        self._sequence += 1

    def send_sensor(self, message: NamedTuple, time_usec: int) -> None:
        """Send a sensor message; its answer carries the same time.

        Args:
            message: The message.
            time_usec: Its time [us].
        """
        if self.phase is Phase.ABSENT:
            return
        self.send(message)
        self._sent_count += 1
        self._sent[time_usec] = self._sent_count
        if len(self._sent) > _REMEMBERED:
            del self._sent[next(iter(self._sent))]

    def read(self) -> bool:
        """Take what has come, or whoever has; return whether the link's descriptor is another one now."""
        if self.phase is Phase.ABSENT:
            if not self.link.accept():
                return False
            _log.info("%s is connected%s", self.name, " again" if self.was_connected else "")
            self.was_connected, self.heard_at = True, time.monotonic()
            self.phase, self._steady = Phase.STARTING, _STEADY
            self._decoder, self._epoch = Decoder(), None
            self._forget()
            return True
        try:
            data = self.link.receive()
        except LinkClosedError as error:
            self._disconnect(str(error))
            return True
        self.hub.deliver(data)
        for message in self._decoder.feed(data):
            if type(message) is HilActuatorControls:
                self._take(message)
        return False

    def give_up(self, t: float, limit: float) -> None:
        """Stop waiting for the answer that is due.

        Args:
            t: Simulation time [s].
            limit: How long it was waited for [s].
        """
        self.trouble = f"has not answered within {limit:g} s"
        _log.warning(
            "%s %s at t = %.3f s; its rotors keep their speed for %g s, then stop",
            *(self.name, self.trouble, t, self._hold_time),
        )
        self.phase, self._steady = Phase.SILENT, min(2 * self._steady, _MOST_STEADY)
        self._forget()

    def rotor_speeds(self, t: float) -> list[float]:
        """Return the rotor speeds to hold from t on [rad/s]; when no answers come any more, they run out.

        Args:
            t: Simulation time [s].
        """
        if self._fresh or self.phase is Phase.LOCKSTEP:
            self._fresh, self._fresh_at = False, t
        elif t - self._fresh_at > self._hold_time and self._speeds is not self._rest:
            if not self.lockstep and self.phase is Phase.STARTING:
                self.trouble = "answers no more"
                _log.warning("%s %s at t = %.3f s; its rotors stop", self.name, self.trouble, t)
            self.armed, self._speeds = False, self._rest
        return self._speeds

    def _take(self, message: HilActuatorControls) -> None:
        self.lockstep = bool(message.flags & _LOCKSTEP)
        self.heard_at = time.monotonic()
        if self.phase is Phase.SILENT:
            _log.info("%s answers again", self.name)
            self.phase = Phase.STARTING
        if self.lockstep:
            count = self._sent.get(message.time_usec, 0)
            if count <= self._answered:
                # Of an earlier step, or the same once more: what it says has been overtaken.
                return
            self._learn_interval(count - self._answered)
            self._answered = count
        self._fresh = True
        self.was_steady = self.was_steady or self.phase is Phase.LOCKSTEP or not self.lockstep
        self.armed = bool(message.mode & _ARMED)
        self._speeds = self._rotors.speeds(message.controls) if self.armed else self._rest

    def _learn_interval(self, interval: int) -> None:
        """Take note of how many messages the autopilot has answered at once."""
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
        """Forget which answers are due: a new acquaintance begins."""
        self._sent.clear()
        self._sent_count = self._answered = 0
        self._interval, self._interval_count = 1, 0
