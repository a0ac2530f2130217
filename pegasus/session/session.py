"""Session: a simulation that runs in a background thread, paced to real time and published as snapshots."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import numpy as np

from pegasus.base.components import build, require
from pegasus.base.errors import ConfigError
from pegasus.base.streams import stream
from pegasus.config.scenario import Component
from pegasus.contracts.engine import RayHits
from pegasus.core.aircraft import Aircraft
from pegasus.core.simulation import Playback, Simulation
from pegasus.environment.wind import WINDS, Wind
from pegasus.session.observers import RunRecording
from pegasus.session.snapshot import SNAPSHOT_RATE, Snapshot, Viewpoint, ViewpointSuggestions, snapshot
from pegasus.session.worker import Pace, Worker

T = TypeVar("T")

_log = logging.getLogger(__name__)

_BURST = 0.01
"""Wall time of consecutive steps before snapshots are checked [s]; calls are checked after each step."""
_NAP = 0.004
"""Longest sleep between two checks of the clock [s]."""


@dataclass(frozen=True)
class _Watcher:
    on_snapshot: Callable[[Snapshot], None] | None
    on_failure: Callable[[Exception], None] | None


class Session:
    """Owner of a simulation that runs in a background thread.

    All access to the simulation happens in that thread, between two steps: the methods pass on a call, wait
    for it, and return its result or raise its error. `snapshot` never waits.
    """

    def __init__(self) -> None:
        self._simulation: Simulation | None = None
        self._watchers: tuple[_Watcher, ...] = ()
        self._pace = Pace()
        self._number = self._generation = 0
        self._failed_generation = -1
        self._snapshot = Snapshot(0, 0)
        self._recording = RunRecording()
        self._suggestions = ViewpointSuggestions()
        self._snapshot_time = -np.inf
        self._steps_since: float | None = None
        self._worker = self._make_worker()
        self._worker.start()

    def _make_worker(self) -> Worker:
        return Worker("pegasus-session", turn=self._turn, after_call=self._after_call, on_error=self._report)

    @property
    def snapshot(self) -> Snapshot:
        """The last snapshot, at most 1/30 s old unless a step takes longer."""
        return self._snapshot

    @property
    def stalled(self) -> float:
        """Wall time spent in the current step so far, such as while an autopilot starts [s]."""
        since = self._steps_since
        return 0.0 if since is None else time.perf_counter() - since

    @property
    def records(self) -> bool:
        """Whether the current run and later ones are recorded."""
        return self._recording.on

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._worker.closed

    def watch(
        self,
        *,
        on_snapshot: Callable[[Snapshot], None] | None = None,
        on_failure: Callable[[Exception], None] | None = None,
    ) -> Callable[[], None]:
        """Register callbacks, and return a function that removes them.

        Args:
            on_snapshot: Called with each snapshot in the session's thread; must be fast.
            on_failure: Called with the error of each failed run in the session's thread.
        """
        watcher = _Watcher(on_snapshot, on_failure)
        self._watchers = (*self._watchers, watcher)

        def leave() -> None:
            self._watchers = tuple(other for other in self._watchers if other is not watcher)

        return leave

    def call(self, action: Callable[[Simulation], T]) -> T:
        """Call a function on the simulation between two steps, and return its result.

        Args:
            action: The function; it runs in the session's thread.

        Raises:
            ConfigError: If no world is loaded.
            RuntimeError: If the session is closed.
        """
        return self._worker.call(lambda: action(self._required()))

    def exchange(self, make: Callable[[], Simulation]) -> None:
        """Replace the simulation; the present one remains if creating the new one fails.

        Args:
            make: Creates the new simulation, in the caller's thread.
        """
        new = make()
        try:
            self._worker.call(lambda: self._install(new))
        except BaseException:
            new.close()
            raise

    def clear(self) -> None:
        """Close the simulation with its vehicles and its world."""
        self._worker.call(lambda: self._install(None))

    def add(self, vehicle: Aircraft) -> None:
        """Add a vehicle; allowed while others fly.

        Args:
            vehicle: The vehicle.
        """

        def add(simulation: Simulation) -> None:
            for backend in vehicle.backends:
                backend.run_folder = self._recording.folder
            simulation.add(vehicle)

        self.call(add)

    def remove(self, name: str) -> None:
        """Remove a vehicle.

        Args:
            name: Its name.
        """
        self.call(lambda simulation: simulation.remove(name))

    def play(self) -> None:
        """Start or resume the run."""
        self.call(self._play)

    def pause(self) -> None:
        """Pause the run."""
        self.call(lambda simulation: simulation.pause())

    def stop(self) -> None:
        """End the run; reset vehicles and clock."""
        self.call(lambda simulation: simulation.stop())

    def reset(self) -> None:
        """Restart the run from the beginning, playing or paused as before."""

        def reset(simulation: Simulation) -> None:
            before = simulation.playback
            simulation.stop(again=before is not Playback.STOPPED)
            if before is not Playback.STOPPED:
                self._play(simulation)
            if before is Playback.PAUSED:
                simulation.pause()

        self.call(reset)

    def step(self, count: int = 1) -> None:
        """Advance by a number of steps, then pause.

        Args:
            count: Number of steps.
        """
        require(isinstance(count, int) and count >= 1, "count", count, "must be a whole number from 1 up")

        def step(simulation: Simulation) -> None:
            if simulation.playback is Playback.STOPPED:
                self._play(simulation)
            simulation.pause()
            self._advance(simulation, count)

        self.call(step)

    def set_speed(self, speed: float | None) -> None:
        """Set the simulation speed.

        Args:
            speed: Multiple of real time, 0.1 to 1000; None for unlimited.
        """
        self._pace.check(speed)

        def change() -> None:
            self._pace.speed = speed
            self._begin_pace()

        self._worker.call(change)

    def set_wind(self, wind: Component) -> None:
        """Replace the wind.

        Args:
            wind: The wind as in a world file: `model` and its parameters.
        """
        new = build(Wind, WINDS, wind, field="wind")

        def change(simulation: Simulation) -> None:
            new.bind(stream(simulation.seed, "environment"))
            simulation.environment.wind = new

        self.call(change)

    def record(self, out: Path | None) -> None:
        """Switch recording on or off; each run is recorded into a separate folder.

        Args:
            out: Parent folder of the runs; None to switch off.
        """
        self._worker.call(lambda: self._recording.switch(out, self._simulation))

    def raycast(self, origin: tuple[float, float, float], direction: tuple[float, float, float]) -> RayHits:
        """Return the first hit of a ray.

        Args:
            origin: Origin of the ray [m].
            direction: Unit direction of the ray.
        """
        return self.call(
            lambda simulation: simulation.engine.raycast(
                np.array([origin]), np.array([direction]), 1e4, skip=np.array([-1])
            )
        )

    def set_timeout(self, key: str, seconds: float | None, action: Callable[[], None]) -> None:
        """Call a function after some wall time, unless the same key is set again earlier.

        Args:
            key: Name of the timeout.
            seconds: Wall time [s]; None to cancel.
            action: The function; it runs in the session's thread.
        """
        self._worker.set_timeout(key, seconds, action)

    def close(self) -> None:
        """Close the simulation and end the thread; calling it twice is allowed."""
        self._worker.close(self._end)

    def __enter__(self) -> "Session":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _required(self) -> Simulation:
        if self._simulation is None:
            raise ConfigError("no world is loaded", field="world", remedy="load one first")
        return self._simulation

    def _turn(self) -> float:
        """Execute the steps that are due, and return how long to wait for calls [s]."""
        playing = self._simulation is not None and self._simulation.playback is Playback.PLAYING
        wait = self._run_due_steps() if playing else 1.0 / SNAPSHOT_RATE
        self._take_snapshot()
        return wait

    def _after_call(self) -> None:
        # The caller finds the effect of its call in the snapshot.
        self._take_snapshot(force=True)

    def _run_due_steps(self) -> float:
        """Execute the steps that are due, and return the time until the next one [s]."""
        simulation = self._simulation
        assert simulation is not None
        now = time.perf_counter()
        end = now + _BURST
        try:
            while not self._worker.has_pending and simulation.playback is Playback.PLAYING:
                if now >= end:
                    return 0.0
                if (wait := self._pace.wait(now, simulation.time)) > 0:
                    return min(wait, _NAP)
                self._advance(simulation, 1)
                now = time.perf_counter()
        except Exception as error:
            self._fail(simulation, error)
        return 0.0

    def _advance(self, simulation: Simulation, count: int) -> None:
        self._steps_since = time.perf_counter()
        try:
            simulation.step(count)
        finally:
            self._steps_since = None

    def _play(self, simulation: Simulation) -> None:
        if simulation.playback is Playback.STOPPED:
            for vehicle in simulation.vehicles:
                for backend in vehicle.backends:
                    backend.run_folder = self._recording.next_folder(simulation)
        simulation.play()
        self._begin_pace()

    def _begin_pace(self) -> None:
        if self._simulation is not None:
            self._simulation.speed = self._pace.speed
        self._pace.begin(time.perf_counter(), self._simulation.time if self._simulation is not None else 0.0)

    def _fail(self, simulation: Simulation, error: Exception) -> None:
        """Report the error of a step and end the run."""
        self._report(error)
        try:
            simulation.stop()
        except Exception as second:
            self._report(second)

    def _report(self, error: Exception) -> None:
        if not isinstance(error, ConfigError):
            _log.error("the run has failed", exc_info=error)
        for watcher in self._watchers:
            if watcher.on_failure is not None:
                watcher.on_failure(error)

    def _install(self, new: Simulation | None) -> None:
        old, self._simulation = self._simulation, new
        self._generation += 1
        self._worker.clear_timeouts()
        if new is not None:
            new.add_observer(self._recording)
        self._begin_pace()
        if old is not None:
            try:
                old.close()
            except Exception as error:  # The new simulation is installed in any case.
                self._report(error)

    def _end(self) -> None:
        self._install(None)
        self._recording.stop()

    def _take_snapshot(self, *, force: bool = False) -> None:
        """Take a snapshot if one is due."""
        now = time.perf_counter()
        if not force and now - self._snapshot_time < 1.0 / SNAPSHOT_RATE:
            return
        self._snapshot_time = now
        self._number += 1
        try:
            self._snapshot = self._new_snapshot(now)
        except Exception as error:  # Reported once per world, since it would recur 30 times a second.
            if self._failed_generation != self._generation:
                self._failed_generation = self._generation
                self._report(error)
        for watcher in self._watchers:
            if watcher.on_snapshot is not None:
                try:
                    watcher.on_snapshot(self._snapshot)
                except Exception:  # A failing callback must not end the run.
                    _log.exception("a snapshot callback has failed")

    def _new_snapshot(self, now: float) -> Snapshot:
        simulation = self._simulation
        if simulation is None:
            return Snapshot(self._number, self._generation, speed=self._pace.speed)
        playing = simulation.playback is Playback.PLAYING
        if playing:
            self._pace.measure(now, simulation.time)
        return snapshot(
            simulation,
            number=self._number,
            generation=self._generation,
            speed=self._pace.speed,
            real_time_factor=self._pace.real_time_factor if playing else 0.0,
            recording=self._recording.folder,
            suggested_viewpoint=self._suggested_viewpoint(simulation),
        )

    def _suggested_viewpoint(self, simulation: Simulation) -> Viewpoint | None:
        """Return the viewpoint suggested by the last change of world or vehicles."""
        return self._suggestions.update(simulation)
