"""A simulation that runs in a thread of its own: paced, exchanged, and seen through snapshots."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import numpy as np

from pegasus.components import build, require
from pegasus.engines.engine import RayHits
from pegasus.environment import Environment
from pegasus.environment.environment import WINDS
from pegasus.environment.wind import Wind
from pegasus.errors import ConfigError
from pegasus.panel.pace import Pace
from pegasus.panel.run_recording import RunRecording
from pegasus.panel.snapshot import Snapshot, Viewpoint, snapshot
from pegasus.panel.vantage import Vantages
from pegasus.panel.worker import Worker
from pegasus.scenario import Component
from pegasus.simulation import Playback, Simulation
from pegasus.streams import stream
from pegasus.vehicle import Vehicle

T = TypeVar("T")

_log = logging.getLogger(__name__)

SNAPSHOT_RATE = 30.0
"""Snapshots per second of wall time [Hz]."""
_BURST = 0.01
"""Wall time of steps in a row before anything else is looked at [s]; calls are looked at after each one."""
_NAP = 0.004
"""Longest wait between two looks at the clock while paced [s]."""


@dataclass(frozen=True)
class _Watcher:
    on_snapshot: Callable[[Snapshot], None] | None
    on_failure: Callable[[Exception], None] | None


class Session:
    """Own a simulation and run it in a background thread.

    Everything that touches the simulation happens in that thread, between two steps: the methods hand over
    what is to be done, wait, and give back what came of it, its errors included. `snapshot` never waits.
    """

    def __init__(self) -> None:
        self._simulation: Simulation | None = None
        self._watchers: tuple[_Watcher, ...] = ()
        self._pace = Pace()
        self._number = self._generation = 0
        self._unseen = -1
        self._snapshot = Snapshot(0, 0)
        self._recording = RunRecording()
        self._vantages = Vantages()
        self._looked_at = -np.inf
        self._steps_since: float | None = None
        self._worker = self._make_worker()
        self._worker.start()

    def _make_worker(self) -> Worker:
        return Worker("pegasus-session", turn=self._turn, asked=self._asked, failed=self._report)

    @property
    def snapshot(self) -> Snapshot:
        """The last snapshot; at most a thirtieth of a second old unless a step takes longer."""
        return self._snapshot

    @property
    def stalled(self) -> float:
        """How long the current step has been going on, such as while an autopilot starts, wall time [s]."""
        since = self._steps_since
        return 0.0 if since is None else time.perf_counter() - since

    @property
    def records(self) -> bool:
        """Whether runs are recorded, this one or the next."""
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
        """Tell somebody of each snapshot and each failed run from now on, and return what ends that.

        Args:
            on_snapshot: Called in the session's thread, so it must be quick.
            on_failure: Called in the session's thread with what ended a run.
        """
        watcher = _Watcher(on_snapshot, on_failure)
        self._watchers = (*self._watchers, watcher)

        def leave() -> None:
            self._watchers = tuple(other for other in self._watchers if other is not watcher)

        return leave

    def call(self, action: Callable[[Simulation], T]) -> T:
        """Do something with the simulation between two steps, and return what it gives.

        Args:
            action: What is done; it runs in the session's thread.

        Raises:
            ConfigError: If no world is loaded.
            RuntimeError: If the session is closed.
        """
        return self._worker.call(lambda: action(self._required()))

    def exchange(self, make: Callable[[], Simulation]) -> None:
        """Put another simulation in the place of the present one, which stays if the new one fails.

        Args:
            make: Makes the new one, in the caller's thread.
        """
        new = make()
        try:
            self._worker.call(lambda: self._install(new))
        except BaseException:
            new.close()
            raise

    def clear(self) -> None:
        """Close the simulation, its vehicles and its world."""
        self._worker.call(lambda: self._install(None))

    def add(self, vehicle: Vehicle) -> None:
        """Add a vehicle, also while others fly.

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
        """Start, or go on after a pause."""
        self.call(self._play)

    def pause(self) -> None:
        """Hold still."""
        self.call(lambda simulation: simulation.pause())

    def stop(self) -> None:
        """End the run; vehicles and clock go back to the start."""
        self.call(lambda simulation: simulation.stop())

    def reset(self) -> None:
        """Go back to the start, and play again if it was playing."""

        def reset(simulation: Simulation) -> None:
            before = simulation.playback
            simulation.stop()
            if before is not Playback.STOPPED:
                self._play(simulation)
            if before is Playback.PAUSED:
                simulation.pause()

        self.call(reset)

    def step(self, count: int = 1) -> None:
        """Advance by some steps and hold still.

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
        """Set how fast simulated time passes.

        Args:
            speed: Times real time, 0.1 to 1000; None for as fast as it goes.
        """
        self._pace.check(speed)

        def change() -> None:
            self._pace.speed = speed
            self._begin_pace()

        self._worker.call(change)

    def set_wind(self, wind: Component) -> None:
        """Let another wind blow from now on.

        Args:
            wind: The wind as a world file has it: `model`, and its parameters.
        """
        blowing = build(Wind, WINDS, wind, field="wind")

        def change(simulation: Simulation) -> None:
            blowing.bind(stream(simulation.seed, "environment"))
            environment: Environment = simulation.environment
            environment.wind = blowing

        self.call(change)

    def record(self, out: Path | None) -> None:
        """Record from now on; each run gets a folder of its own.

        Args:
            out: Folder that holds the runs; None to stop recording.
        """
        self._worker.call(lambda: self._recording.switch(out, self._simulation))

    def raycast(self, origin: tuple[float, float, float], direction: tuple[float, float, float]) -> RayHits:
        """Return what a ray meets in the world.

        Args:
            origin: Where it starts [m].
            direction: Its unit direction.
        """
        return self.call(
            lambda simulation: simulation.engine.raycast(
                np.array([origin]), np.array([direction]), 1e4, skip=np.array([-1])
            )
        )

    def within(self, key: str, seconds: float | None, action: Callable[[], None]) -> None:
        """Do something after some wall time unless the same key is set again before.

        Args:
            key: Names what is put off.
            seconds: Wall time [s]; None to forget it.
            action: What is done, in the session's thread.
        """
        self._worker.within(key, seconds, action)

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
        """Do the steps that are due, and return how long to wait for something else to do [s]."""
        playing = self._simulation is not None and self._simulation.playback is Playback.PLAYING
        wait = self._play_on() if playing else 1.0 / SNAPSHOT_RATE
        self._look()
        return wait

    def _asked(self) -> None:
        # Who asked finds what came of it in the snapshot.
        self._look(force=True)

    def _play_on(self) -> float:
        """Do the steps that are due, and return how long to wait until more are [s]."""
        simulation = self._simulation
        assert simulation is not None
        now = time.perf_counter()
        end = now + _BURST
        try:
            while not self._worker.wanted and simulation.playback is Playback.PLAYING:
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
        """End a run that a step has failed in, and say so."""
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
        self._worker.forget()
        if new is not None:
            new.add_observer(self._recording)
        self._begin_pace()
        if old is not None:
            try:
                old.close()
            except Exception as error:  # The new one is there, whatever the old one leaves behind.
                self._report(error)

    def _end(self) -> None:
        self._install(None)
        self._recording.stop()

    def _look(self, *, force: bool = False) -> None:
        """Take a snapshot when one is due."""
        now = time.perf_counter()
        if not force and now - self._looked_at < 1.0 / SNAPSHOT_RATE:
            return
        self._looked_at = now
        self._number += 1
        try:
            self._snapshot = self._shown(now)
        except Exception as error:  # Said once for each world: it would come thirty times a second.
            if self._unseen != self._generation:
                self._unseen = self._generation
                self._report(error)
        for watcher in self._watchers:
            if watcher.on_snapshot is not None:
                try:
                    watcher.on_snapshot(self._snapshot)
                except Exception:  # Whoever only looks on must not end the run.
                    _log.exception("somebody who watches the simulation has failed")

    def _shown(self, now: float) -> Snapshot:
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
            vantage=self._vantage(simulation),
        )

    def _vantage(self, simulation: Simulation) -> Viewpoint | None:
        """Return the view that the last change of world or vehicles asks for."""
        return self._vantages.of(simulation)
