"""The simulation: one clock, one pipeline, and the ways to run it."""

import logging
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import numpy as np

from pegasus.assembly import engine_of, placed_world, renderer_of, scene_of, world_of
from pegasus.backends.backend import Failure
from pegasus.components import require
from pegasus.engines.engine import Engine
from pegasus.environment import Environment
from pegasus.errors import ConfigError
from pegasus.isaac.launch import inside_isaac_sim
from pegasus.recording.observer import Observer
from pegasus.render import Renderer, Visuals
from pegasus.scenario import WorldSpec
from pegasus.scene.scene import Scene
from pegasus.spawn import find_start
from pegasus.streams import stream
from pegasus.vehicle import Vehicle
from pegasus.vehicle_manager import VehicleManager
from pegasus.wakes import blow

V = TypeVar("V", bound=Vehicle)

_log = logging.getLogger(__name__)

_LONGEST_SLEEP = 0.05
_LARGEST_LAG = 0.25


class Playback(Enum):
    """Whether a simulation runs."""

    STOPPED = "stopped"
    PLAYING = "playing"
    PAUSED = "paused"


class Simulation:
    """A world with vehicles in it, advanced step by step.

    Use it as a context manager: whatever happens, backends are stopped and recordings closed.

    Args:
        world: Name of a shipped world, path of a YAML or USD file, or a description.
        engine: `mujoco`, `isaac` for Isaac Sim, `auto` for Isaac Sim within it and MuJoCo elsewhere, or an
            engine.
        rate: Physics steps per simulated second [Hz].
        seed: Seed of every random stream.
        observers: Whoever watches every step.
        renderer: Who draws pictures for cameras and casts rays for lidars, at the first one: `embree`,
            `mitsuba`, `auto` for RTX on Isaac Sim and Embree elsewhere, or a renderer.
        alter_scene: Takes the world's scene and description, and returns the scene that is used.

    Raises:
        ConfigError: If the world cannot be loaded or an argument is not allowed.
    """

    def __init__(
        self,
        world: str | Path | WorldSpec = "flat",
        *,
        engine: str | Engine = "auto",
        rate: float = 250.0,
        seed: int = 0,
        observers: Sequence[Observer] = (),
        renderer: str | Renderer = "auto",
        alter_scene: Callable[[Scene, WorldSpec], Scene] | None = None,
    ) -> None:
        require(0 < rate <= 1e5, "rate", rate, "must be above 0 and at most 100000 Hz")
        valid_seed = isinstance(seed, int | np.integer) and 0 <= seed < 2**63
        require(valid_seed, "seed", seed, "must be a whole number from 0 up to 2**63 - 1")
        world, file = world_of(world)
        self.rate, self.seed = float(rate), int(seed)
        try:
            self.environment = Environment.from_spec(world)
        except ConfigError as error:
            raise error.within(file=file) from None
        self.given_world = world
        """The world as it was described, before a generator made its scene."""
        self.world = placed_world(world, file)
        if alter_scene is not None and isinstance(engine, str) and engine != "mujoco" and inside_isaac_sim():
            raise ConfigError(
                "Isaac Sim flies in worlds as their files have them",
                field="alter_scene",
                remedy="use the engine mujoco",
            )
        self.engine = engine_of(engine, self.rate)
        self.scene = scene_of(self.world, file, self.engine)
        if alter_scene is not None:
            self.scene = alter_scene(self.scene, self.world)
        # What is read later tells by itself.
        for line in self.scene.warnings if self.scene.is_whole else ():
            _log.warning(line)
        self.engine.load(self.scene)
        self.environment.bind(stream(self.seed, "environment"))
        self.vehicles = VehicleManager(self.engine, self.environment, rate=self.rate, seed=self.seed)
        drawn_by, drawing = renderer_of(renderer, self.engine)
        self.visuals = self.vehicles.visuals = Visuals(self.scene, self.vehicles, renderer=drawn_by)
        self.step_count = 0
        self.speed: float | None = None
        """Times real time at which whoever runs it holds it, None for as fast as it goes; backends that start
        are told."""
        self._observers = [*drawing, *observers]
        self._playback = Playback.STOPPED
        self._closed = False
        self._interrupted = False
        self._run = 0
        """Number of the run: a step whose run has ended goes no further."""
        # Guards everything that a panel may do while another thread runs the simulation.
        self._changed = threading.Condition(threading.RLock())

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self.step_count / self.rate

    @property
    def dt(self) -> float:
        """Length of a step [s]."""
        return 1.0 / self.rate

    @property
    def world_name(self) -> str:
        """Name of the world."""
        return self.world.name

    @property
    def failures(self) -> list[Failure]:
        """Autopilots that have ended or fallen silent since the run began; kept after `stop`, not `close`."""
        return [failure for vehicle in self.vehicles for b in vehicle.backends for failure in b.failures]

    @property
    def playback(self) -> Playback:
        """Whether the simulation runs."""
        return self._playback

    def add(self, vehicle: V, *, before: Sequence[Vehicle] = ()) -> V:
        """Add a vehicle, also while others fly, and return it.

        One without a position starts at the world's first free spawn point.

        Args:
            vehicle: The vehicle.
            before: Vehicles that will be added after it, at whose positions it does not start.

        Raises:
            ConfigError: If it does not fit into this simulation.
        """
        with self._changed:
            self._require_open()
            later = [other for other in before if other is not vehicle and other.placed_by_user]
            find_start(vehicle, self.world.spawn_points or (), self.engine, [*self.vehicles, *later])
            self.vehicles.add(vehicle)
            for line in vehicle.scene.warnings:
                _log.warning(line)
            if self._playback is not Playback.STOPPED:
                try:
                    self._start_backends(vehicle)
                except Exception:
                    self.vehicles.remove(vehicle.name)
                    raise
        return vehicle

    def remove(self, vehicle: Vehicle | str) -> None:
        """Remove a vehicle; the others fly on undisturbed.

        Args:
            vehicle: The vehicle or its name.
        """
        with self._changed:
            name = vehicle if isinstance(vehicle, str) else vehicle.name
            if self.vehicles[name] is not vehicle and not isinstance(vehicle, str):
                raise ConfigError(
                    "is not in this simulation; another one has its name", field="vehicle", value=name
                )
            self.vehicles.remove(name)

    def add_observer(self, observer: Observer) -> None:
        """Add whoever watches every step from now on.

        Args:
            observer: The observer.
        """
        with self._changed:
            self._observers.append(observer)
            if self._playback is not Playback.STOPPED:
                observer.start(self)

    def play(self) -> None:
        """Start, or go on after a pause."""
        with self._changed:
            self._require_open()
            if self._playback is Playback.STOPPED:
                try:
                    for vehicle in self.vehicles:
                        self._start_backends(vehicle)
                    for observer in self._observers:
                        observer.start(self)
                except BaseException:
                    self._end()
                    raise
            self._playback = Playback.PLAYING
            self._changed.notify_all()

    def pause(self) -> None:
        """Hold still; nothing is lost."""
        with self._changed:
            if self._playback is Playback.PLAYING:
                self._playback = Playback.PAUSED
                self._changed.notify_all()

    def stop(self) -> None:
        """End the run: backends and observers stop, vehicles and clock go back to the start."""
        with self._changed:
            try:
                self._end()
            finally:
                self._playback = Playback.STOPPED
                self._run += 1
                self.step_count = 0
                self.environment.bind(stream(self.seed, "environment"))
                self.vehicles.reset()
                self._changed.notify_all()

    def reset(self) -> None:
        """Stop, and play again if it was playing."""
        with self._changed:
            before = self._playback
            self.stop()
            if before is not Playback.STOPPED:
                self.play()
            if before is Playback.PAUSED:
                self.pause()

    def step(self, count: int = 1) -> None:
        """Advance by whole steps, also while paused; return early when another thread stops the run.

        Args:
            count: Number of steps.
        """
        for k in range(count):
            with self._changed:
                if self._playback is Playback.STOPPED:
                    if k > 0:
                        return
                    self.play()
                if self.advance():
                    self.engine.step(self.dt)
                    self.observe_step()

    def advance(self) -> bool:
        """Do all of a step that comes before the physics: sense, publish, command, actuate, apply.

        An engine that keeps its own time calls this before, and `observe_step` after, each of its steps.

        Returns:
            Whether the step is to be completed: not if a backend or an observer has ended the run.
        """
        run = self._run
        t, step, dt = self.time, self.step_count, self.dt
        vehicles = list(self.vehicles)
        for vehicle in vehicles:
            vehicle.sense(step, t)
        # All publish before any is waited for, so that N autopilots compute at the same time.
        for vehicle in vehicles:
            vehicle.publish(t)
        if self._run != run:
            return False
        # A backend may have removed vehicles; those that it has added begin with the next step.
        present = set(self.vehicles)
        vehicles = [vehicle for vehicle in vehicles if vehicle in present]
        for vehicle in vehicles:
            vehicle.collect(t)
        if self._run != run:
            return False
        blow(vehicles, t)
        for vehicle in vehicles:
            vehicle.actuate(t, dt)
            vehicle.add_disturbance()
        for observer in self._observers:
            observer.record(self)
        if self._run != run:
            return False
        self.vehicles.apply()
        return True

    def observe_step(self) -> None:
        """Do all of a step that comes after the physics: move the clock on and read the new state."""
        self.step_count += 1
        self.vehicles.observe()

    def run(self, duration: float, *, speed: float | None = None) -> None:
        """Play for a stretch of simulated time; return early when stopped.

        While paused by another thread it waits. Ctrl-C takes effect between two steps, never within one.

        Args:
            duration: Simulated time to run, infinite until stopped [s].
            speed: Times real time; as fast as it goes when None.

        Raises:
            KeyboardInterrupt: After Ctrl-C, with everything recorded up to the last whole step.
        """
        for _ in self.stepping(duration, speed=speed):
            pass

    def stepping(self, duration: float, *, speed: float | None = None) -> Iterator[float]:
        """Run like `run`, and yield the simulated time after each step.

        Args:
            duration: Simulated time to run, infinite until stopped [s].
            speed: Times real time; as fast as it goes when None.
        """
        require(duration > 0, "duration", duration, "must be above 0 s")
        require(speed is None or speed > 0, "speed", speed, "must be above 0 times real time")
        self.speed = speed
        last = self.step_count + (round(duration * self.rate) if math.isfinite(duration) else math.inf)
        self.play()
        with self._deferred_interrupt():
            began, first = time.perf_counter(), self.step_count
            while self.step_count < last:
                if self._interrupted:
                    raise KeyboardInterrupt
                if speed is not None:
                    ahead = (self.step_count - first) * self.dt / speed - (time.perf_counter() - began)
                    if ahead > 0:
                        time.sleep(min(ahead, _LONGEST_SLEEP))
                        continue
                    if ahead < -_LARGEST_LAG:
                        # What is lost is lost: no burst of hurried steps afterwards.
                        began, first = time.perf_counter(), self.step_count
                with self._changed:
                    if self._playback is Playback.PAUSED:
                        self._changed.wait(_LONGEST_SLEEP)
                        began, first = time.perf_counter(), self.step_count
                        continue
                    if self._playback is Playback.STOPPED:
                        return
                    self.step()
                yield self.time

    def close(self) -> None:
        """Stop backends and observers and free the engine; calling it twice is allowed."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
            self._run += 1
            self._playback = Playback.STOPPED
            self._changed.notify_all()
            try:
                self._end()
            finally:
                self.visuals.close()
                self.vehicles.release()
                self.engine.close()

    def __enter__(self) -> "Simulation":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _start_backends(self, vehicle: Vehicle) -> None:
        for backend in vehicle.backends:
            backend.real_time_factor = self.speed
            backend.start()

    def _require_open(self) -> None:
        if self._closed:
            raise RuntimeError("this simulation is closed; make a new one")

    def _end(self) -> None:
        """Stop every backend and observer, each one even if another fails, then raise the first failure."""
        failures: list[Exception] = []
        stoppable: list[Any] = [b for vehicle in self.vehicles for b in vehicle.backends]
        for part in [*stoppable, *self._observers]:
            try:
                part.stop()
            except Exception as error:
                failures.append(error)
        if failures:
            raise failures[0]

    @contextmanager
    def _deferred_interrupt(self) -> Iterator[None]:
        """Let Ctrl-C set a flag that is looked at between steps; only the main thread can."""
        self._interrupted = False
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.getsignal(signal.SIGINT)

        def interrupt(*_: Any) -> None:
            if self._interrupted:  # The step does not come to its end: break it off.
                raise KeyboardInterrupt
            self._interrupted = True

        signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before if before is not None else signal.SIG_DFL)
