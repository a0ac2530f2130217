"""Observers of a running simulation: snapshots for viewers, and recording that is switched on and off."""

import time
from pathlib import Path

from pegasus.core.simulation import Playback, Simulation
from pegasus.recording import McapRecorder, make_run_folder
from pegasus.recording.reader import LOG_NAME
from pegasus.session.snapshot import SNAPSHOT_RATE, Snapshot, ViewpointSuggestions, snapshot

_FACTOR_SPAN = 1.0  # [s]


class Watch:
    """Observer that keeps the last snapshot of a simulation for viewers.

    Args:
        simulation: The simulation, which is only read.
        speed: Target speed as a multiple of real time; None for unlimited.
    """

    def __init__(self, simulation: Simulation, *, speed: float | None) -> None:
        self._simulation, self._speed = simulation, speed
        self._number = 0
        self._due = 0.0
        self._factor, self._mark = 0.0, (0.0, 0)
        self._snapshot = Snapshot(0, 0)
        self._suggestions = ViewpointSuggestions()
        self._look()

    @property
    def snapshot(self) -> Snapshot:
        """The last snapshot, at most 1/30 s old while the simulation runs."""
        return self._snapshot

    def start(self, simulation: Simulation) -> None:
        """Start a run."""
        self._mark = time.perf_counter(), simulation.step_count

    def record(self, simulation: Simulation) -> None:
        """Take a snapshot if one is due."""
        now = time.perf_counter()
        if now < self._due:
            return
        self._due = now + 1.0 / SNAPSHOT_RATE
        began, first = self._mark
        if now - began >= _FACTOR_SPAN:
            self._factor = (simulation.step_count - first) / simulation.rate / (now - began)
            self._mark = now, simulation.step_count
        self._look()

    def stop(self) -> None:
        """End a run; the last snapshot remains."""

    def _look(self) -> None:
        self._number += 1
        self._snapshot = snapshot(
            self._simulation,
            number=self._number,
            generation=1,
            speed=self._speed,
            real_time_factor=self._factor,
            recording=None,
            suggested_viewpoint=self._suggestions.update(self._simulation),
        )


class RunRecording:
    """Observer that records runs while it is switched on, each into a folder of its own."""

    def __init__(self) -> None:
        self._out: Path | None = None
        self._recorder: McapRecorder | None = None
        self._folder: Path | None = None
        self._next: Path | None = None

    @property
    def folder(self) -> Path | None:
        """Folder of the run being recorded; None if there is none."""
        return self._folder if self._recorder is not None else None

    @property
    def on(self) -> bool:
        """Whether runs are recorded."""
        return self._out is not None

    def switch(self, out: Path | None, simulation: Simulation | None) -> None:
        """Switch recording on or off.

        Args:
            out: Parent folder of the runs; None to switch off.
            simulation: The current simulation, which is recorded from now on.

        Raises:
            ConfigError: If the folder cannot be written.
        """
        self.stop()
        self._out, self._next = out, None
        if out is not None and simulation is not None and simulation.playback is not Playback.STOPPED:
            try:
                self.start(simulation)
            except BaseException:
                self._out = None
                raise

    def next_folder(self, simulation: Simulation) -> Path | None:
        """Return the folder of the next run, in which backends may store files too."""
        if self._out is not None and self._next is None:
            self._next = make_run_folder(self._out, simulation.world_name).resolve()
        return self._next

    def start(self, simulation: Simulation) -> None:
        """Start the log of a run."""
        self.stop()
        folder = self.next_folder(simulation)
        self._next = None
        if folder is None:
            return
        recorder = McapRecorder(folder / LOG_NAME)
        recorder.start(simulation)
        self._recorder, self._folder = recorder, folder

    def record(self, simulation: Simulation) -> None:
        """Record a step."""
        if self._recorder is not None:
            self._recorder.record(simulation)

    def stop(self) -> None:
        """Complete the log of the run."""
        recorder, self._recorder = self._recorder, None
        if recorder is not None:
            recorder.stop()
