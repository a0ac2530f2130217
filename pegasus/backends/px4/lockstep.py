"""Lockstep of N PX4 autopilots: the common wait for their answers."""

import logging
import select
import time
from collections.abc import Callable, Sequence

from pegasus.backends.mavlink.hub import LinkHub
from pegasus.backends.mavlink.link import LONGEST_WAIT
from pegasus.backends.mavlink.process import AutopilotProcess
from pegasus.backends.px4.hil_instance import HilInstance, Phase
from pegasus.base.errors import AutopilotError

_log = logging.getLogger(__name__)

_POLL_INTERVAL = 0.1
"""Polling interval of processes while they start [s]."""
_MAX_LAG = 0.05
"""Maximum delay that paced steps catch up on [s]; after a longer one the schedule restarts."""
_END_LIMIT = 0.5
"""Time limit for the end of a program that has closed its link [s]."""


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
        # Without the objects that `selectors` makes at each call.
        self._poll = select.poll()
        self._readers: dict[int, HilInstance | LinkHub] = {}
        self._descriptors: dict[HilInstance, int] = {}
        for instance in instances:
            self._register_link(instance)
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
        self._register(hub.link.fileno(), hub)
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
        waiting = [i for i in self._instances if not self._await_answer(i, deadline)]
        while waiting:
            left = deadline - time.monotonic()
            self._listen(max(0.0, left))
            waiting = [instance for instance in waiting if instance.awaits]
            if left <= 0:
                for instance in waiting:
                    instance.note_timeout(t, self._step_timeout)
                break
        steady = not [i for i in self._instances if i.phase is not Phase.LOCKSTEP]
        if self._has_hubs or not steady:
            self._listen(0.0)
        if steady:
            self._paced_at = None
            return
        self._report_ends(t)
        self._pace(t)
        self._note_troubles(t)

    def _pace(self, t: float) -> None:
        """Limit simulated time to wall time while an autopilot starts."""
        now = time.monotonic()
        for instance in self._instances:
            late = now - instance.received_at > self._start_timeout
            if instance.phase is Phase.STARTING and late and instance.lockstep:
                instance.note_timeout(t, self._start_timeout)
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
        for descriptor, _ in self._poll.poll(1e3 * timeout):
            reader = self._readers[descriptor]
            if isinstance(reader, LinkHub):
                reader.read()
            else:
                self._read(reader)

    def _await_answer(self, instance: HilInstance, deadline: float) -> bool:
        """Return whether an autopilot has answered, or need not, after a wait on its link alone."""
        while instance.awaits:
            if deadline - time.monotonic() <= LONGEST_WAIT or not instance.read(wait=True):
                return False
            if instance.phase is Phase.ABSENT:
                self._reconnect(instance)
        return True

    def _read(self, instance: HilInstance) -> None:
        """Read the link of an autopilot."""
        was_absent = instance.phase is Phase.ABSENT
        instance.read()
        if (instance.phase is Phase.ABSENT) is not was_absent:
            self._reconnect(instance)

    def _reconnect(self, instance: HilInstance) -> None:
        """Poll the link of an autopilot that was connected or is gone: its file descriptor has changed."""
        self._poll.unregister(self._descriptors[instance])
        del self._readers[self._descriptors[instance]]
        self._register_link(instance)
        number = self._instances.index(instance)
        if instance.phase is Phase.ABSENT and number < len(self._processes):
            # A program that closes its link usually ends: get its exit status in this step.
            self._processes[number].poll(_END_LIMIT)

    def _register_link(self, instance: HilInstance) -> None:
        self._descriptors[instance] = descriptor = instance.link.fileno()
        if descriptor >= 0:
            self._register(descriptor, instance)

    def _register(self, descriptor: int, reader: HilInstance | LinkHub) -> None:
        self._readers[descriptor] = reader
        self._poll.register(descriptor, select.POLLIN)

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
