"""The lockstep of N autopilots: all are waited for together, none for longer than its limit."""

import logging
import selectors
import time
from collections.abc import Callable, Sequence

from pegasus.backends.mavlink.hil_instance import HilInstance, Phase
from pegasus.backends.mavlink.link_hub import LinkHub
from pegasus.backends.mavlink.process import AutopilotProcess
from pegasus.errors import AutopilotError

_log = logging.getLogger(__name__)

_LOOK_INTERVAL = 0.1
"""How often processes are looked after while they start [s]."""
_LARGEST_LAG = 0.05
"""Delay that is made up for while steps are paced [s]; after a longer one the schedule begins anew."""
_END_LIMIT = 0.5
"""Time limit for the end of a program that has closed its link [s]."""


class HilLockstep:
    """Wait for the answers of N autopilots, on all their links at once.

    Args:
        instances: The autopilots.
        step_timeout: How long an answer is waited for, in wall time [s].
        start_timeout: How long an autopilot may take to connect and to begin to answer, in wall time [s].
        note: Called with the number of an autopilot that has failed, the simulation time [s], what has
            happened, and the exit status of its program if that has ended.
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
        for instance in instances:
            self._selector.register(instance.link, selectors.EVENT_READ, instance)
        self._started = self._published = time.monotonic()
        self._paced_at: tuple[float, float] | None = None
        self._log_is_kept = True

    def watch(self, process: AutopilotProcess, *, log_is_kept: bool) -> None:
        """Look after a program that was started, that of the next autopilot.

        Args:
            process: The program.
            log_is_kept: Whether its log is still there when somebody reads of it.
        """
        self._log_is_kept = log_is_kept
        self._processes.append(process)
        self._running.append(process)
        self._started = time.monotonic()

    def read_along(self, hub: LinkHub) -> None:
        """Read another link whenever there is something to read, which costs nothing while there is not.

        Args:
            hub: The link; it is its owner's.
        """
        self._selector.register(hub.link, selectors.EVENT_READ, hub)

    def await_connections(self, t: float) -> None:
        """Wait until every autopilot has been there at least once.

        Args:
            t: Simulation time [s].

        Raises:
            AutopilotError: If one ends, or does not connect in time.
        """
        if all(instance.was_connected for instance in self._instances):
            return
        if not self._processes:
            _log.info("waiting for %s", ", ".join(i.name for i in self._instances if not i.was_connected))
        end = self._started + self._start_timeout
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
            self._listen(min(left, _LOOK_INTERVAL))

    def published(self) -> None:
        """Note that everything has been sent: from now on the limit of the step counts."""
        self._published = time.monotonic()

    def collect(self, t: float) -> None:
        """Wait for the answers that are due, listen to everybody else, and give starters time.

        Args:
            t: Simulation time [s].

        Raises:
            AutopilotError: If an autopilot that was started here has ended before it answered steadily.
        """
        waiting = [instance for instance in self._instances if instance.awaits]
        deadline = self._published + self._step_timeout
        while waiting:
            left = deadline - time.monotonic()
            self._listen(max(0.0, left))
            waiting = [instance for instance in waiting if instance.awaits]
            if left <= 0:
                for instance in waiting:
                    instance.give_up(t, self._step_timeout)
                break
        if any(instance.phase is not Phase.LOCKSTEP for instance in self._instances):
            self._listen(0.0)
            self._report_ends(t)
            self._pace(t)
            self._note_troubles(t)
        else:
            self._paced_at = None

    def close(self) -> None:
        """Free what it holds; links and programs are their owner's."""
        self._selector.close()

    def _pace(self, t: float) -> None:
        """Let no more simulated than wall time pass while an autopilot starts."""
        now = time.monotonic()
        for instance in self._instances:
            late = now - instance.heard_at > self._start_timeout
            if instance.phase is Phase.STARTING and late and instance.lockstep:
                instance.give_up(t, self._start_timeout)
        if not any(instance.phase is Phase.STARTING for instance in self._instances):
            self._paced_at = None
            return
        if self._paced_at is None:
            self._paced_at = now, t
            return
        # By one schedule for all steps: what a wait takes too long is made up for by those after it.
        then, before = self._paced_at
        due = then + (t - before)
        while (left := due - time.monotonic()) > 0:
            self._listen(left)
        if now - due > _LARGEST_LAG:
            self._paced_at = now, t

    def _listen(self, timeout: float) -> None:
        """Take what comes on any link within a time."""
        for key, _ in self._selector.select(timeout):
            if isinstance(key.data, LinkHub):
                key.data.read()
                continue
            instance: HilInstance = key.data
            before = instance.link.fileno()
            if instance.read():
                # It has another descriptor now, or none.
                self._selector.unregister(before)
                if instance.link.fileno() >= 0:
                    self._selector.register(instance.link, selectors.EVENT_READ, instance)
                number = self._instances.index(instance)
                if instance.phase is Phase.ABSENT and number < len(self._processes):
                    # What closes its link mostly ends: then its status is to be known at this step.
                    self._processes[number].poll(_END_LIMIT)

    def _report_ends(self, t: float) -> None:
        """Report each autopilot that has ended although it was started here."""
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
