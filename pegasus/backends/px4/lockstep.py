"""Lockstep of N PX4 autopilots: the state of each, and the common wait for their answers."""

import logging
import math
import selectors
import time
from collections.abc import Callable, Sequence
from enum import Enum
from typing import NamedTuple

from pegasus.backends.mavlink.airframe import RotorMap
from pegasus.backends.mavlink.hub import LinkHub
from pegasus.backends.mavlink.link import LONGEST_WAIT, Link, LinkClosedError
from pegasus.backends.mavlink.messages import Decoder, HilActuatorControls, HilSensor, encode
from pegasus.backends.mavlink.process import AutopilotProcess
from pegasus.base.errors import AutopilotError
from pegasus.core.link_state import FaultyLine

_log = logging.getLogger(__name__)

_POLL_INTERVAL = 0.1
"""Polling interval of processes while they start [s]."""
_MAX_LAG = 0.05
"""Maximum delay that paced steps catch up on [s]; after a longer one the schedule restarts."""
_END_LIMIT = 0.5
"""Time limit for the end of a program that has closed its link [s]."""
_ARMED = 128
_LOCKSTEP = 1
_STEADY, _MAX_STEADY = 4, 4096
"""Number of answers at one interval after which lockstep begins and every answer is waited for.

It doubles after each timeout, up to the second number.
"""
_REMEMBERED = 64
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
        rotors: Map from its outputs to rotor speeds.
        system: System id of frames to it.
        hold_time: Simulated time for which rotors keep their last speed without answers [s].
    """

    def __init__(self, name: str, link: Link, rotors: RotorMap, *, system: int, hold_time: float) -> None:
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
        """Wall time of its connection or last answer [s]."""
        self.hub = LinkHub(link)
        """Hub by which others share the link."""
        self.trouble: str | None = None
        """Last failure; None if there was none."""
        self._rotors, self._system, self._hold_time = rotors, system, hold_time
        self._rest = [0.0] * len(rotors.channels)
        self._speeds = self._rest
        self._decoder = Decoder()
        self._sequence = 0
        self._outgoing: list[bytes] = []
        self._sampled: dict[bytes, int] = {}
        self._starved = False
        # Copies of doubled messages, for the next step.
        self._again: list[bytes] = []
        self.line: FaultyLine | None = None
        """Faults of the link to the autopilot; None if no message can be lost or late."""
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

    def add(self, message: NamedTuple) -> None:
        """Add a message without answer to those of this step."""
        self._outgoing.append(encode(message, sequence=self._sequence, system=self._system))
        self._sequence += 1

    def add_sensor(self, message: HilSensor) -> None:
        """Add a sensor message to those of this step; its answer carries the same time."""
        self.add(message)
        if self.line is None:
            self._expect(message.time_usec)
        else:
            self._sampled[self._outgoing[-1]] = message.time_usec

    def _expect(self, time_usec: int) -> None:
        """Expect an answer to a sensor message."""
        if time_usec in self._sent:
            return
        self._sent_count += 1
        self._sent[time_usec] = self._sent_count
        if len(self._sent) > _REMEMBERED:
            del self._sent[next(iter(self._sent))]

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
            self._decoder, self._epoch = Decoder(), None
            self._forget()
            return True
        try:
            data = self.link.await_bytes() if wait else self.link.receive()
        except LinkClosedError as error:
            self._disconnect(str(error))
            return True
        self.hub.deliver(data)
        for message in self._decoder.feed(data):
            if type(message) is HilActuatorControls:
                self._take(message)
        return bool(data)

    def give_up(self, t: float, limit: float) -> None:
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

    def rotor_speeds(self, t: float) -> list[float]:
        """Return the rotor speeds from t on [rad/s]; without answers they become zero after the hold time.

        Args:
            t: Simulation time [s].
        """
        if self._fresh or (self.phase is Phase.LOCKSTEP and not self._starved):
            self._fresh, self._fresh_at = False, t
        elif t - self._fresh_at > self._hold_time and self._speeds is not self._rest:
            if not self.lockstep and self.phase is Phase.STARTING:
                self.trouble = "no longer answers"
                _log.warning("%s %s at t = %.3f s; its rotors stop", self.name, self.trouble, t)
            self.armed, self._speeds = False, self._rest
        return self._speeds

    def _take(self, message: HilActuatorControls) -> None:
        self.lockstep = bool(message.flags & _LOCKSTEP)
        self.received_at = time.monotonic()
        if self.phase is Phase.SILENT:
            _log.info("%s answers again", self.name)
            self.phase = Phase.STARTING
        if self.lockstep:
            count = self._sent.get(message.time_usec, 0)
            if count <= self._answered:
                # Outdated or repeated answer.
                return
            self._learn_interval(count - self._answered)
            self._answered = count
        self._fresh = True
        self.was_steady = self.was_steady or self.phase is Phase.LOCKSTEP or not self.lockstep
        self.armed = bool(message.mode & _ARMED)
        self._speeds = self._rotors.speeds(message.controls) if self.armed else self._rest

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


class HilLockstep:
    """Common wait for the answers of N autopilots, on all links at once.

    Args:
        instances: The autopilots.
        step_timeout: Maximum wait for an answer, in wall time [s].
        start_timeout: Maximum time until an autopilot connects and answers, in wall time [s].
        note: Called with the number of a failed autopilot, the simulation time [s], a description of the
            failure, and the exit status of its program if that has ended.
    """

    def __init__(
        self,
        instances: Sequence[HilInstance],
        *,
        step_timeout: float,
        start_timeout: float,
        note: Callable[[int, float, str, int | None], None],
    ) -> None:
        self._instances, self._note = instances, note
        self._step_timeout, self._start_timeout = step_timeout, start_timeout
        self._processes: list[AutopilotProcess] = []
        self._running: list[AutopilotProcess] = []
        self._selector = selectors.DefaultSelector()
        self._descriptors: dict[HilInstance, int] = {}
        for instance in instances:
            self._register(instance)
        self._started = self._published = time.monotonic()
        self._paced_at: tuple[float, float] | None = None
        self._has_hubs = self._all_have_connected = False
        self._log_is_kept = True

    def watch(self, process: AutopilotProcess, *, log_is_kept: bool) -> None:
        """Monitor the launched program of the next autopilot.

        Args:
            process: The program.
            log_is_kept: Whether its log outlives the run.
        """
        self._log_is_kept = log_is_kept
        self._processes.append(process)
        self._running.append(process)
        self._started = time.monotonic()

    def add_hub(self, hub: LinkHub) -> None:
        """Read another link while waiting.

        Args:
            hub: The link; its owner closes it.
        """
        self._selector.register(hub.link, selectors.EVENT_READ, hub)
        self._has_hubs = True

    def await_connections(self, t: float) -> None:
        """Wait until every autopilot has been connected at least once.

        Args:
            t: Simulation time [s].

        Raises:
            AutopilotError: If an autopilot ends, or does not connect in time.
        """
        self._all_have_connected = self._all_have_connected or all(i.was_connected for i in self._instances)
        if self._all_have_connected:
            return
        if not self._processes:
            _log.info("waiting for %s", ", ".join(i.name for i in self._instances if not i.was_connected))
        end = self._started + self._start_timeout
        # They may have connected while the simulation was busy with its own start.
        self._listen(0.0)
        while absent := [i for i in self._instances if not i.was_connected]:
            for i, process in enumerate(self._processes):
                if process.poll() is not None:
                    self._note(i, t, process.ending, process.returncode)
                    raise self._failed(process, process.ending)
            left = end - time.monotonic()
            if left <= 0:
                problem = f"has not connected within {self._start_timeout:g} s"
                for instance in absent:
                    self._note(self._instances.index(instance), t, problem, None)
                if self._processes:
                    raise self._failed(self._processes[self._instances.index(absent[0])], problem)
                remedy = "start it, or let Pegasus launch it"
                raise AutopilotError(problem, field=absent[0].name, remedy=remedy)
            self._listen(min(left, _POLL_INTERVAL))

    def published(self) -> None:
        """Start the timeout of the step, after everything has been sent."""
        self._published = time.monotonic()

    def collect(self, t: float) -> None:
        """Wait for due answers, read all other links, and pace steps while autopilots start.

        Args:
            t: Simulation time [s].

        Raises:
            AutopilotError: If a launched autopilot has ended before it answered steadily.
        """
        deadline = self._published + self._step_timeout
        # All compute at the same time: waiting for one after the other takes as long as the slowest.
        waiting = [instance for instance in self._instances if not self._answers_soon(instance, deadline)]
        while waiting:
            left = deadline - time.monotonic()
            self._listen(max(0.0, left))
            waiting = [instance for instance in waiting if instance.awaits]
            if left <= 0:
                for instance in waiting:
                    instance.give_up(t, self._step_timeout)
                break
        steady = all(instance.phase is Phase.LOCKSTEP for instance in self._instances)
        if self._has_hubs or not steady:
            self._listen(0.0)
        if steady:
            self._paced_at = None
            return
        self._report_ends(t)
        self._pace(t)
        self._note_troubles(t)

    def close(self) -> None:
        """Release the selector; links and programs belong to their owners."""
        self._selector.close()

    def _pace(self, t: float) -> None:
        """Limit simulated time to wall time while an autopilot starts."""
        now = time.monotonic()
        for instance in self._instances:
            late = now - instance.received_at > self._start_timeout
            if instance.phase is Phase.STARTING and late and instance.lockstep:
                instance.give_up(t, self._start_timeout)
        if not any(instance.phase is Phase.STARTING for instance in self._instances):
            self._paced_at = None
            return
        if self._paced_at is None:
            self._paced_at = now, t
            return
        # One schedule for all steps: later waits compensate for long ones.
        then, before = self._paced_at
        due = then + (t - before)
        while (left := due - time.monotonic()) > 0:
            self._listen(left)
        if now - due > _MAX_LAG:
            self._paced_at = now, t

    def _listen(self, timeout: float) -> None:
        """Read all links for a time."""
        for key, _ in self._selector.select(timeout):
            if isinstance(key.data, LinkHub):
                key.data.read()
            else:
                self._read(key.data)

    def _answers_soon(self, instance: HilInstance, deadline: float) -> bool:
        """Return whether an autopilot has answered, or need not, after a wait on its link alone."""
        while instance.awaits:
            if deadline - time.monotonic() <= LONGEST_WAIT or not self._read(instance, wait=True):
                return False
        return True

    def _read(self, instance: HilInstance, *, wait: bool = False) -> bool:
        """Read the link of an autopilot; return whether anything has come."""
        was_absent = instance.phase is Phase.ABSENT
        came = instance.read(wait=wait)
        is_absent = instance.phase is Phase.ABSENT
        if is_absent is not was_absent:
            # The file descriptor has changed or is closed.
            self._selector.unregister(self._descriptors[instance])
            self._register(instance)
            number = self._instances.index(instance)
            if is_absent and number < len(self._processes):
                # A program that closes its link usually ends: get its exit status in this step.
                self._processes[number].poll(_END_LIMIT)
        return came

    def _register(self, instance: HilInstance) -> None:
        self._descriptors[instance] = descriptor = instance.link.fileno()
        if descriptor >= 0:
            self._selector.register(descriptor, selectors.EVENT_READ, instance)

    def _report_ends(self, t: float) -> None:
        """Report launched autopilots that have ended."""
        for process in self._running:
            if process.poll() is not None:
                number = self._processes.index(process)
                self._note(number, t, process.ending, process.returncode)
                if not self._instances[number].was_steady:
                    raise self._failed(process, process.ending)
                _log.warning("%s", self._failed(process, process.ending))
                self._running = [other for other in self._running if other is not process]

    def _note_troubles(self, t: float) -> None:
        for i, instance in enumerate(self._instances):
            if instance.trouble is not None:
                self._note(i, t, instance.trouble, None)

    def _failed(self, process: AutopilotProcess, what: str) -> AutopilotError:
        return process.failed(what, log_is_kept=self._log_is_kept)
