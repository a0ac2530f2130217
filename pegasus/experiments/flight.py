"""Flights of scenarios: building, running, and writing log, summary and plot to a folder."""

import contextlib
import math
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pegasus.backends.ros2.remote_control import RemoteControl
from pegasus.backends.ros2.rosbag import RosbagRecorder
from pegasus.backends.scenario import ros2_graph, scenario_simulation
from pegasus.base.errors import AutopilotError, ConfigError
from pegasus.config import Changes, load_scenario
from pegasus.control import Controller
from pegasus.core.simulation import Playback
from pegasus.experiments.bundle import BUNDLE, Failure, failure_of, write_bundle
from pegasus.recording import (
    EnergyAudit,
    McapRecorder,
    OutcomeAudit,
    Summary,
    TrackingAudit,
    Verdict,
    make_run_folder,
    plot_flight,
    read_log,
    summarize,
    write_layout,
)
from pegasus.recording.reader import LOG_NAME
from pegasus.verdicts import Expectations

_AFTER_MISSION = 1.0
"""Simulated time that a run continues after its last mission [s]."""
_LATE_LANDING = 30.0
"""Simulated time that vehicles have after their missions to come to rest on the ground [s]."""
_BAG_NAME = "rosbag2"
"""Folder of the bag in that of a run."""
_CHECK_INTERVAL = 0.1
"""Simulated time between checks whether autopilots have ended [s]."""
_PROGRESS_COUNT = 200
"""Number of progress updates of a run."""


@dataclass(frozen=True)
class Run:
    """Result of a run."""

    folder: Path | None
    """Folder with `flight.mcap`, `summary.json` and, with matplotlib, `flight.png`; None if not recorded."""
    summary: Summary
    interrupted: bool
    """Ctrl-C ended the run early."""


class Flight:
    """Flight of a scenario; can be flown once.

    Args:
        scenario: Name of a scenario, or the path of its YAML file.
        changes: Values for fields of the scenario, by their paths; see `pegasus.config.Changes`.
        ros2: Give every vehicle a ROS 2 backend.

    Raises:
        ConfigError: If the scenario, or a file or component that it names, is invalid.
    """

    def __init__(
        self, scenario: str | Path, changes: Mapping[str, Any] | None = None, *, ros2: bool = False
    ) -> None:
        given = Changes(changes or {})
        self.spec, file = load_scenario(scenario, given)
        self._file = file
        self._failure: Failure | None = None
        self._ros2 = ros2
        self._recorder: McapRecorder | None = None
        try:
            self.simulation = scenario_simulation(self.spec, file, ros2=ros2)
            try:
                self._outcomes = OutcomeAudit()
                self.expectations = Expectations(self.simulation, failed=self._note, outcomes=self._outcomes)
                self.expectations.take(self.spec.expect)
                # By an option, not by the scenario.
                self.expectations.cut_short = "duration" in (changes or {})
                self._require_an_end()
            except BaseException:
                self.simulation.close()
                raise
        except ConfigError as error:
            raise given.with_path_of_change(error).within(file=file) from None

    @property
    def duration(self) -> float:
        """Simulated time of the whole run [s]; before take-off an estimate if the mission determines it."""
        wanted = self.spec.duration
        return max(self._mission_end() if wanted is None else wanted, self.simulation.dt)

    def fly(
        self, *, out: Path | None = None, record: bool = True, progress: Callable[[float], None] | None = None
    ) -> Run:
        """Fly the scenario, and write log, summary and plot to a new folder.

        If the flight ends early, for whatever reason, the data so far is written; a run that fails in its
        first step leaves no folder. Ctrl-C takes effect between two steps, and is not an error.

        Args:
            out: Parent folder of the runs; `runs` in the current folder when None.
            record: Write log, summary and plot.
            progress: Called with the simulated time, at most some 200 times per run.

        Raises:
            ConfigError: If the folder cannot be written, or a command is not finite or of the wrong shape.
            AutopilotError: If an autopilot does not start; its log and a summary are written nevertheless.
        """
        simulation, recorded = self.simulation, self.spec.record
        tracking, energy, outcomes = TrackingAudit(), EnergyAudit(), self._outcomes
        ended_by: BaseException | None = None
        remote = (
            RemoteControl(simulation, **ros2_graph(self.spec)) if self._ros2 else contextlib.nullcontext()
        )
        with contextlib.ExitStack() as undo, simulation, remote:
            simulation.add_observer(tracking)
            simulation.add_observer(energy)
            self.judge()
            folder = _new_folder(out, self.spec.name, undo) if record else None
            if folder is not None:
                for vehicle in simulation.vehicles:
                    for backend in vehicle.backends:
                        backend.run_folder = folder.resolve()
                self._recorder = recorder = McapRecorder(
                    folder / LOG_NAME,
                    state_rate=recorded.state_rate,
                    readings=recorded.readings,
                    images=recorded.images,
                )
                simulation.add_observer(recorder)
                if recorded.ros2:
                    simulation.add_observer(
                        RosbagRecorder(
                            folder / _BAG_NAME,
                            state_rate=recorded.state_rate,
                            readings=recorded.readings,
                            images=recorded.images,
                        )
                    )
            began = time.perf_counter()
            try:
                self._step_to_the_end(progress, outcomes)
            except BaseException as error:
                if simulation.step_count == 0 and not isinstance(error, AutopilotError):
                    raise
                ended_by = error
            undo.pop_all()
            wall_time = time.perf_counter() - began
            stopped = simulation.playback is Playback.STOPPED or simulation.host_closed
            self.expectations.cut_short |= stopped or isinstance(ended_by, KeyboardInterrupt)
            self.expectations.stop()
            verdicts = self.expectations.verdicts()
            summary = summarize(
                simulation,
                tracking,
                energy,
                outcomes,
                wall_time=wall_time,
                verdicts=verdicts,
            )
        if folder is not None:
            summary.write(folder / "summary.json")
            missed = [verdict for verdict in verdicts if not verdict.passed]
            if missed and self._failure is not None:
                write_bundle(folder / BUNDLE, self.spec, self._file, self._failure, missed)
            if simulation.step_count > 0 and find_spec("matplotlib") is not None:
                plot_run(folder, summary.verdicts)
        if ended_by is not None and not isinstance(ended_by, KeyboardInterrupt):
            if folder is not None:
                left = "the data recorded so far" if simulation.step_count > 0 else "the autopilot's log"
                ended_by.add_note(f"{left} is in {folder}")
            raise ended_by
        return Run(folder, summary, interrupted=ended_by is not None)

    def judge(self) -> None:
        """Observe outcomes, and what is expected."""
        self.simulation.add_observer(self._outcomes)
        if self.spec.expect:
            self.simulation.add_observer(self.expectations)

    def _note(self, time: float, line: str) -> None:
        """Write to the log that an expectation has failed, and keep the state at the first failure."""
        if self._failure is None:
            self._failure = failure_of(self.simulation)
        if self._recorder is not None:
            self._recorder.note(time, f"expectation failed: {line}")

    def _step_to_the_end(self, progress: Callable[[float], None] | None, outcomes: OutcomeAudit) -> None:
        simulation, rate = self.simulation, self.spec.rate
        speed = None if self.spec.speed == "max" else float(self.spec.speed)
        interval = max(1, round(self.duration * rate / _PROGRESS_COUNT))
        check = max(1, round(_CHECK_INTERVAL * rate))
        # The duration of a mission is known after take-off, so the end is computed again.
        while (left := round((self.duration - simulation.time) * rate)) > 0:
            for now in simulation.stepping(left / rate, speed=speed):
                if progress is not None and simulation.step_count % interval == 0:
                    progress(now)
                if simulation.step_count % check == 0 and self._all_autopilots_have_ended():
                    return
            if simulation.playback is Playback.STOPPED or simulation.host_closed:
                return
        # A vehicle that flies on estimates may reach the ground later than planned.
        last = simulation.time + (_LATE_LANDING if self.spec.duration is None else 0.0)
        while simulation.time < last and self._is_landing(outcomes):
            simulation.run(_AFTER_MISSION, speed=speed)
            if simulation.playback is Playback.STOPPED or simulation.host_closed:
                return
        if progress is not None:
            progress(simulation.time)

    def _all_autopilots_have_ended(self) -> bool:
        """Return whether every vehicle was driven by a program that has ended."""
        failures = self.simulation.failures
        ended = sum(failure.exit_status is not None for failure in failures)
        return ended > 0 and ended == sum(vehicle.count for vehicle in self.simulation.vehicles)

    def _mission_end(self) -> float:
        return max((mission.end for mission in self._missions()), default=math.inf) + _AFTER_MISSION

    def _is_landing(self, outcomes: OutcomeAudit) -> bool:
        """Return whether a copy is still to come to rest after its last landing."""
        return any(
            member.landing and not outcomes.settled(vehicle)[member.rows].all()
            for vehicle in self.simulation.vehicles
            for backend in vehicle.backends
            if isinstance(backend, Controller)
            for member in backend.missions
        )

    def _missions(self) -> Iterator[Any]:
        for vehicle in self.simulation.vehicles:
            for backend in vehicle.backends:
                if isinstance(backend, Controller):
                    yield from backend.missions

    def _require_an_end(self) -> None:
        if math.isinf(self.duration):
            raise ConfigError(
                "is required, because not every mission ends by itself",
                field="duration",
                remedy="set it in the scenario or by --duration [s]",
            )


def plot_run(run: Path, verdicts: Sequence[Verdict] = ()) -> Path:
    """Plot the flight of a run, and return the path of the plot `flight.png` next to its log.

    The layout `foxglove.json` for Foxglove is written there too.

    Args:
        run: Folder of the run, or its log.
        verdicts: Verdicts, of which those that failed are drawn.

    Raises:
        ConfigError: If there is no log, or the plot cannot be written.
    """
    log = read_log(run)
    picture = log.path.with_name("flight.png")
    try:
        plot_flight(log, picture, verdicts=verdicts)
    except ConfigError:
        # A damaged log is plotted up to the damage.
        plot_flight(read_log(run, verify=True), picture, verdicts=verdicts)
    write_layout(log)
    return picture


def _new_folder(out: Path | None, scenario: str, undo: contextlib.ExitStack) -> Path:
    """Create the folder of a run, and register its removal in `undo`."""
    parent = Path("runs") if out is None else out
    if not parent.exists():
        undo.callback(_remove_if_empty, parent)
    folder = make_run_folder(parent, scenario)
    undo.callback(shutil.rmtree, folder)
    return folder


def _remove_if_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.rmdir()
