"""The lockstep of N ArduPilots: all are waited for together, none for longer than its limit."""

import logging
import selectors
import time
from collections.abc import Callable, Sequence

from pegasus.backends.mavlink.json_link import Contact, JsonLink
from pegasus.backends.mavlink.process import AutopilotProcess
from pegasus.errors import AutopilotError

_log = logging.getLogger(__name__)

_LOOK_PERIOD = 0.05
"""Interval of the checks for ended processes while waiting for packets [s]."""


class JsonLockstep:
    """Wait for the packets of N ArduPilots, at all their sockets at once.

    Args:
        links: Links to the ArduPilots.
        processes: Programs that were started here, in the order of the links.
        step_timeout: How long an answer is waited for, in wall time [s].
        start_timeout: How long an ArduPilot may take to send its first packet, in wall time [s].
        hold_time: Simulated time for which rotors keep their speed when answers stay out [s].
        log_is_kept: True if the logs of the programs outlive the run, so that errors may name them.
        note: Called with the number of an ArduPilot that has failed, the simulation time [s], what has
            happened, and the exit status of its program if that has ended.
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
        """Wait until every ArduPilot has been heard at least once.

        Args:
            t: Simulation time [s].

        Raises:
            AutopilotError: If a program ends, or an ArduPilot is not heard in time.
        """
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
            self.receive(timeout=min(left, _LOOK_PERIOD))

    def receive(self, *, timeout: float = 0.0) -> bool:
        """Take what has come within a time, and return whether anything has.

        Args:
            timeout: The time, by the wall clock [s].
        """
        ready = self._selector.select(timeout)
        for key, _ in ready:
            key.data.receive()
        return bool(ready)

    def published(self) -> None:
        """Note that everything has been sent: from now on the limit of the step counts."""
        self._published = time.monotonic()

    def await_answers(self, t: float) -> None:
        """Wait for every ArduPilot that owes an answer, within the limit of the step.

        Args:
            t: Simulation time [s].
        """
        limit = self._published + self._step_timeout
        while any(link.waiting or link.settling for link in self._links):
            left = limit - time.monotonic()
            # What came while others were published to counts, so the sockets are looked at in any case.
            came = self.receive(timeout=min(max(left, 0.0), _LOOK_PERIOD))
            if left <= 0:
                break
            if not came:
                self._look_after_processes(t)
        for i, link in enumerate(self._links):
            if link.waiting:
                problem = f"has not answered within {self._step_timeout:g} s"
                _log.warning(
                    "%s %s at t = %.3f s; its rotors keep their speed for %g s, then stop",
                    *(link.name, problem, t, self._hold_time),
                )
                self._note(i, t, problem, None)
                link.fall_silent(t)
            elif link.contact is Contact.SILENT:
                self._look_after_processes(t)

    def close(self) -> None:
        """Free what it holds; links and programs are their owner's."""
        self._selector.close()

    def _look_after_processes(self, t: float) -> None:
        """Note which programs have ended, and say so once."""
        for i, process in enumerate(self._processes):
            if self._links[i].contact is not Contact.ENDED and not process.alive:
                self._links[i].end(t)
                self._note(i, t, process.ending, process.returncode)
                _log.error("%s", process.failed(process.ending, log_is_kept=self._log_is_kept))
