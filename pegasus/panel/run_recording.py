"""Recording that is switched on and off while a simulation lives: a folder for each run."""

from pathlib import Path

from pegasus.recording import McapRecorder, make_run_folder
from pegasus.recording.observer import ObservedSimulation
from pegasus.recording.reader import LOG_NAME
from pegasus.simulation import Playback, Simulation


class RunRecording:
    """Observe a simulation, and record it while switched on; no run's log replaces that of another."""

    def __init__(self) -> None:
        self._out: Path | None = None
        self._recorder: McapRecorder | None = None
        self._folder: Path | None = None
        self._next: Path | None = None

    @property
    def folder(self) -> Path | None:
        """Folder of the run that is recorded now; None while none is."""
        return self._folder if self._recorder is not None else None

    @property
    def on(self) -> bool:
        """Whether runs are recorded."""
        return self._out is not None

    def switch(self, out: Path | None, simulation: Simulation | None) -> None:
        """Record runs from now on, or no more.

        Args:
            out: Folder that holds the runs; None for no more.
            simulation: What runs now, and is recorded from here on.

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

    def next_folder(self, simulation: ObservedSimulation) -> Path | None:
        """Return the folder of the run that is about to start, for whoever else leaves files there.

        Args:
            simulation: The simulation.
        """
        if self._out is not None and self._next is None:
            self._next = make_run_folder(self._out, simulation.world_name).resolve()
        return self._next

    def start(self, simulation: ObservedSimulation) -> None:
        """Begin a run."""
        self.stop()
        folder = self.next_folder(simulation)
        self._next = None
        if folder is None:
            return
        recorder = McapRecorder(folder / LOG_NAME)
        recorder.start(simulation)
        self._recorder, self._folder = recorder, folder

    def record(self, simulation: ObservedSimulation) -> None:
        """Record a step."""
        if self._recorder is not None:
            self._recorder.record(simulation)

    def stop(self) -> None:
        """Complete the log of the run."""
        recorder, self._recorder = self._recorder, None
        if recorder is not None:
            recorder.stop()
