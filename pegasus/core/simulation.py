"""Simulation: the clock, the steps of the pipeline, and playback."""

import copy
import logging
import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import numpy as np

from pegasus.base.components import require, require_positive
from pegasus.base.errors import ConfigError
from pegasus.base.streams import stream
from pegasus.config.mover_specs import MoverSpec
from pegasus.config.scenario import Component, WorldSpec
from pegasus.contracts.backend import Failure
from pegasus.contracts.engine import DEFAULT_ENGINE, Engine
from pegasus.contracts.mover import Mover
from pegasus.contracts.observer import Observer
from pegasus.contracts.renderer import Renderer
from pegasus.core.aircraft import Aircraft
from pegasus.core.assembly import engine_of, host_of, placed_world, scene_of, with_wind, world_of
from pegasus.core.host import HostState
from pegasus.core.movers import Movers, mover_of
from pegasus.core.pacing import LONGEST_SLEEP, Pacer, Stepper, deferred_interrupt
from pegasus.core.placement import find_start
from pegasus.core.plausibility import unlikely_figures
from pegasus.core.reprs import simulation_html, simulation_line
from pegasus.core.snapshot import Snapshot, put, require_fit, take
from pegasus.core.vehicle_manager import VehicleManager
from pegasus.core.visuals import Visuals
from pegasus.environment import Environment
from pegasus.scene.scene import Scene

V = TypeVar("V", bound=Aircraft)

_log = logging.getLogger(__name__)

_ENDS = HostState.STOPPED, HostState.CLOSED


class Playback(Enum):
    """Playback state of a simulation."""

    STOPPED = "stopped"
    PLAYING = "playing"
    PAUSED = "paused"


class Simulation:
    """A world with vehicles in it, advanced step by step.

    Use it as a context manager, which stops backends and closes recordings also after an error.

    Args:
        world: Name of a shipped world, path of a YAML or USD file, the content of a world file, such as
            `{"extends": "town", "gravity": {"model": "uniform"}}`, or a description; in Isaac Sim also the
            name of one of NVIDIA's environments, such as "Curved Gridroom", or the address of a USD file.
        wind: Wind in place of that of the world, as in a world file: `{"mean_velocity": [4, 0, 0]}`.
        engine: `mujoco`, `isaac` for Isaac Sim, `auto` for Isaac Sim within it and MuJoCo elsewhere, or an
            engine.
        rate: Physics steps per simulated second [Hz].
        seed: Seed of every random stream.
        observers: Observers called at every step.
        renderer: Renderer of cameras and lidars, made when it is first used: `embree`,
            `mitsuba`, `auto` for RTX on Isaac Sim and Embree elsewhere, or a renderer.
        alter_scene: Takes a copy of the world's scene, which it may change, and the world's description, and
            returns the scene that is used.

    Raises:
        ConfigError: If the world cannot be loaded or an argument is not allowed.
    """

    def __init__(
        self,
        world: str | Path | Mapping[str, Any] | WorldSpec = "flat",
        *,
        wind: Component | Sequence[Component] | None = None,
        engine: str | Engine = "auto",
        rate: float = 250.0,
        seed: int = 0,
        observers: Sequence[Observer["Simulation"]] = (),
        renderer: str | Renderer = "auto",
        alter_scene: Callable[[Scene, WorldSpec], Scene] | None = None,
    ) -> None:
        allowed = "must be a rate, from 1 to 100000 steps per second"
        remedy = f"a step of {rate:g} s has the rate {1 / rate:g}" if 0 < rate < 1 else None
        require(1 <= rate <= 1e5, "rate", rate, allowed, remedy)
        valid_seed = isinstance(seed, int | np.integer) and 0 <= seed < 2**63
        require(valid_seed, "seed", seed, "must be a whole number from 0 up to 2**63 - 1")
        world, file = world_of(world)
        if wind is not None:
            world = with_wind(world, wind)
        self.rate, self.seed = float(rate), int(seed)
        try:
            self.environment = Environment.from_spec(world)
        except ConfigError as error:
            is_argument = wind is not None and (error.field or "").startswith("wind")
            raise error.within(file=None if is_argument else file) from None
        self.given_world = world
        """The world as it was described, before a generator made its scene."""
        self.world = placed_world(world, file)
        self.engine = engine_of(engine, self.rate)
        self._host = host = host_of(self.engine)
        self.host_closed = False
        """The window of the host application was closed: the run is over, and the script ends next."""
        if alter_scene is not None and host is not None:
            raise ConfigError(
                "the host application flies in worlds as their files have them",
                field="alter_scene",
                remedy=f"use the engine {DEFAULT_ENGINE}",
            )
        self.scene = scene_of(self.world, file, self.engine, host)
        if alter_scene is not None:
            # The scene is kept for later simulations of the same world.
            self.scene = alter_scene(copy.deepcopy(self.scene), self.world)
        # Scenes that are read later log their own warnings.
        for line in self.scene.warnings if self.scene.is_whole else ():
            _log.warning(line)
        if self.environment.wind.must_cover:
            try:
                from pegasus.scene import extent_of  # It imports OpenUSD, which Isaac Sim starts itself.

                self.environment.wind.require_cover(*extent_of(self.scene.colliders))
            except ConfigError as error:
                raise error.within(field="wind", file=file) from None
        self.engine.load(self.scene)
        self.environment.bind(stream(self.seed, "environment"))
        self.vehicles = VehicleManager(self.engine, self.environment, rate=self.rate, seed=self.seed)
        self.vehicles.spawn_points = self.world.spawn_points or ()
        self.movers = self.vehicles.movers = Movers(self.engine, drawn=host is not None)
        drawing: Sequence[Observer[Simulation]] = ()
        if renderer == "auto" and host is not None:
            renderer, drawing = host.make_renderer(self.engine)
        visuals = Visuals(self.scene, self.vehicles, self.movers, renderer=renderer, renders_past=not drawing)
        self.visuals = self.vehicles.visuals = visuals
        self.step_count = 0
        self.speed: float | None = None
        """Limit of the speed [times real time], None if unlimited; passed to backends when they start."""
        self._observers = [*drawing, *observers]
        self._playback = Playback.STOPPED
        self._closed = False
        self._run = 0
        """Number of the run; a step is abandoned when its run has ended."""
        self.stepper = Stepper()
        # Guard calls of a panel while another thread runs the simulation.
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        for k, spec in enumerate(self.world.movers):
            try:
                self.add_mover(spec)
            except ConfigError as error:
                raise error.within(field=f"movers.{k}", file=file) from None

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
        """Failures of autopilots since the run began; kept after `stop`, not after `close`."""
        return [failure for vehicle in self.vehicles for b in vehicle.backends for failure in b.failures]

    @property
    def observers(self) -> Sequence[Observer["Simulation"]]:
        """Observers of each step."""
        return self._observers

    @property
    def playback(self) -> Playback:
        """Playback state."""
        return self._playback

    def __repr__(self) -> str:
        if "_changed" not in vars(self):
            return "<Simulation that could not be made>"
        return simulation_line(self, "closed" if self._closed else self._playback.value)

    def _repr_html_(self) -> str:
        return simulation_html(self)

    def add(self, vehicle: V, *, before: Sequence[Aircraft] = ()) -> V:
        """Add a vehicle, also while the simulation runs, and return it.

        A vehicle without a position starts at the world's first free spawn point.

        Args:
            vehicle: The vehicle.
            before: Vehicles that will be added later; their start positions are kept free.

        Raises:
            ConfigError: If it does not fit into this simulation.
        """
        with self._changed:
            self._require_open()
            later = [other for other in before if other is not vehicle and other.start.has_position]
            # Both where another vehicle is now, and where a reset returns it to.
            taken = [
                (np.concatenate([other.start.position, other.state.position]), other.start.radius)
                for other in (*self.vehicles, *later)
            ]
            find_start(vehicle.start, self.world.spawn_points or (), self.engine, taken)
            self.vehicles.add(vehicle)
            for line in (*vehicle.asset.scene.warnings, *unlikely_figures(vehicle)):
                _log.warning(line)
            if self._playback is not Playback.STOPPED:
                try:
                    self.vehicles.prepare()
                    self._start_backends(vehicle)
                except Exception:
                    self.vehicles.remove(vehicle.name)
                    raise
        return vehicle

    def remove(self, vehicle: Aircraft | str) -> None:
        """Remove a vehicle; the others are not disturbed.

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

    def add_mover(self, mover: Mover | MoverSpec | Mapping[str, Any]) -> Mover:
        """Add an object that moves by a function of time, also while the simulation runs, and return it.

        Args:
            mover: The mover, or its description as in a world file.

        Raises:
            ConfigError: If the description is wrong, the name is taken, or a pose is not finite.
        """
        with self._changed:
            self._require_open()
            added = mover_of(mover)
            taken = [*self.movers.names, *(vehicle.name for vehicle in self.vehicles)]
            require(added.name not in taken, "name", added.name, "is taken", "choose another")
            added.bind(self.environment)
            self.movers.add(added, self.time)
        return added

    def remove_mover(self, mover: Mover | str) -> None:
        """Remove a mover.

        Args:
            mover: The mover or its name.
        """
        with self._changed:
            self.movers.remove(mover if isinstance(mover, str) else mover.name, self.time)

    def add_observer(self, observer: Observer["Simulation"]) -> None:
        """Add an observer, called from the next step on.

        Args:
            observer: The observer.
        """
        with self._changed:
            self._observers.append(observer)
            if self._playback is not Playback.STOPPED:
                observer.start(self)

    def remove_observer(self, observer: Observer["Simulation"]) -> None:
        """End an observer and remove it.

        Args:
            observer: The observer.
        """
        with self._changed:
            self._observers.remove(observer)
            observer.stop()

    def play(self) -> None:
        """Start, or resume after a pause."""
        with self._changed:
            self._require_open()
            if self._playback is Playback.STOPPED:
                self._begin_run()
            self._playback = Playback.PLAYING
            self._changed.notify_all()

    def pause(self) -> None:
        """Pause; the state is kept."""
        with self._changed:
            if self._playback is Playback.PLAYING:
                self._playback = Playback.PAUSED
                self._changed.notify_all()

    def stop(self, *, again: bool = False) -> None:
        """End the run: stop backends and observers, reset vehicles and clock.

        Args:
            again: A new run begins at once, so backends may keep their connections.
        """
        with self._changed:
            try:
                self._end(again=again)
            finally:
                self._playback = Playback.STOPPED
                self._run += 1
                self.step_count = 0
                self.environment.bind(stream(self.seed, "environment"))
                self.vehicles.reset()
                self.movers.place(0.0)
                self._changed.notify_all()

    def reset(self) -> None:
        """Stop, and restore the playback state."""
        with self._changed:
            before = self._playback
            self.stop(again=before is not Playback.STOPPED)
            if before is not Playback.STOPPED:
                self.play()
            if before is Playback.PAUSED:
                self.pause()

    def snapshot(self) -> Snapshot:
        """Return the whole state between two steps: a value that later steps do not change.

        Raises:
            ConfigError: If a part cannot be saved, such as an autopilot or Isaac Sim's physics.
            RuntimeError: If the simulation is stopped or within a step, or another thread runs it.
        """
        with self._changed:
            self._require_open()
            self.stepper.require_free("save")
            if self._playback is Playback.STOPPED:
                raise RuntimeError("a stopped simulation has no state of a run; call play() or step() first")
            return take(self.vehicles, self._around, world=self.world_name, step=self.step_count)

    def restore(self, snapshot: Snapshot) -> None:
        """Take the state of a snapshot, from which the run goes on with the same bits.

        The snapshot may be of another simulation with the same world, seed, rate, vehicles and parts, and may
        be restored any number of times. A stopped simulation is paused at its state, and observers start
        there; a run with observers is not restored, because it would go back in time.

        Args:
            snapshot: The state.

        Raises:
            ConfigError: If the simulation does not fit the snapshot, or observers have seen it run. If a
                pickled snapshot lacks a function that is not in its place, the simulation is stopped.
            RuntimeError: If the simulation is within a step, or another thread runs it.
        """
        with self._changed:
            self._require_open()
            self.stepper.require_free("restore")
            require_fit(snapshot, self.vehicles, self.world_name)
            if self._playback is Playback.STOPPED:
                self._begin_run(snapshot)
                self._playback = Playback.PAUSED
            else:
                for observer in self._observers:
                    raise ConfigError(
                        f"has observed the run up to {self.time:g} s",
                        field="observer",
                        value=type(observer).__name__,
                        remedy="call stop() first: observers then start at the restored state",
                    )
                self._put(snapshot)
            self._changed.notify_all()

    def step(self, count: int = 1) -> bool:
        """Advance by whole steps, also while paused; return early when another thread stops the run.

        A step begins with the sensors and ends with the motion: afterwards the states of vehicles are those
        at `time`, their newest readings those of one step before. In the window of a host application it
        waits while the toolbar is paused, and while that is stopped it shows one frame without a step.

        Args:
            count: Number of steps.

        Returns:
            Whether all steps were done; False if the run was ended.

        Raises:
            ConfigError: If it is not a whole number.
            SystemExit: In the second call after the window was closed.
        """
        whole = isinstance(count, int | np.integer) and count >= 0
        require(whole, "count", count, "must be a whole number of steps", "sim.run(0.01) runs for 0.01 s")
        for k in range(count):
            while (state := self._follow_host()) is HostState.PAUSED:
                self._wait()
            if state is not HostState.RUNNING:
                return False
            with self._lock:
                if self._playback is Playback.STOPPED:
                    if k > 0:
                        return False
                    self.play()
                self._complete_step()
        return True

    def _complete_step(self) -> None:
        if self.advance():
            self.engine.step(1.0 / self.rate)
            self.observe_step()

    def advance(self) -> bool:
        """Do the part of a step before the physics: sense, publish, command, actuate, apply.

        An engine that keeps its own time calls this before, and `observe_step` after, each of its steps.

        Returns:
            Whether to complete the step; False if a backend or an observer has ended the run.
        """
        with self.stepper.within_step:
            run, step, dt = self._run, self.step_count, 1.0 / self.rate
            t = step / self.rate
            self.vehicles.sense(step, t)
            # All backends publish before any is waited for, so that N autopilots compute at the same time.
            self.vehicles.publish(step, t)
            if self._run != run:
                return False
            # A backend may have removed vehicles; vehicles that it has added join at the next step.
            self.vehicles.command(t)
            if self._run != run:
                return False
            self.vehicles.actuate(t, dt)
            for observer in self._observers:
                observer.record(self)
            if self._run != run:
                return False
            self.vehicles.apply()
            self.movers.apply(step / self.rate, (step + 1) / self.rate)
            return True

    def observe_step(self) -> None:
        """Do the part of a step after the physics: advance the clock and read the new state."""
        self.step_count += 1
        self.vehicles.observe()

    def run(self, duration: float, *, speed: float | None = None) -> None:
        """Run for a simulated time; return early if stopped.

        It waits while another thread or the toolbar of a host application has paused it. Ctrl-C takes effect
        between two steps.

        Args:
            duration: Simulated time [s]; infinite to run until stopped.
            speed: Speed [times real time]; as fast as possible if None.

        Raises:
            KeyboardInterrupt: After Ctrl-C, with everything recorded up to the last whole step.
            SystemExit: In the next call after the window of a host application was closed.
        """
        for _ in self.stepping(duration, speed=speed):
            pass

    def stepping(self, duration: float, *, speed: float | None = None) -> Iterator[float]:
        """Run like `run`, and yield the simulated time after each step.

        Args:
            duration: Simulated time [s]; infinite to run until stopped.
            speed: Speed [times real time]; as fast as possible if None.
        """
        require_positive("duration", duration, "s")
        if speed is not None:
            require_positive("speed", speed, "times real time")
        self.speed = speed
        last = self.step_count + (round(duration * self.rate) if math.isfinite(duration) else math.inf)
        if self._follow_host() in _ENDS:
            return
        self.play()
        pacer = Pacer(speed, self.time)
        has_host, state = self._host is not None, HostState.RUNNING
        # Members of an enumeration are looked up by a call.
        paused, stopped = Playback.PAUSED, Playback.STOPPED
        with self.stepper.running, deferred_interrupt() as raise_interrupt:
            while self.step_count < last:
                raise_interrupt()
                if has_host and (state := self._follow_host()) in _ENDS:
                    return
                if speed is not None and pacer.sleep(self.time):
                    continue
                with self._lock:
                    if self._playback is paused or (has_host and state is HostState.PAUSED):
                        self._wait()
                        pacer.restart(self.time)
                        continue
                    if self._playback is stopped:
                        return
                    self._complete_step()
                yield self.time

    def _follow_host(self) -> HostState:
        """Return what the user of the host application asks for, and end the run if that is its end.

        Raises:
            SystemExit: If the application was closed before.
        """
        if self._host is None:
            return HostState.RUNNING
        state = self._host.state(self.engine)
        if state is HostState.CLOSED:
            if self.host_closed:
                raise SystemExit(0)
            _log.warning("the window was closed, so the run ends")
            self.host_closed = True
        elif state is HostState.STOPPED:
            if self._playback is not Playback.STOPPED:
                self.stop()
            self._host.show_frame(self.engine)
        return state

    def _wait(self) -> None:
        """Wait for a change of the playback, for a short time or for a frame of the host application."""
        with self._changed:
            if self._host is None:
                self._changed.wait(LONGEST_SLEEP)
            else:
                self._host.show_frame(self.engine)

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

    def _begin_run(self, snapshot: Snapshot | None = None) -> None:
        """Start all backends and observers, at the start or at the state of a snapshot."""
        try:
            self.vehicles.prepare()
            for vehicle in self.vehicles:
                self._start_backends(vehicle)
            if snapshot is not None:
                self._put(snapshot)
            for observer in self._observers:
                observer.start(self)
        except BaseException:
            self._end()
            raise

    @property
    def _around(self) -> dict[str, Any]:
        return {"simulation": self, "engine": self.engine, "scene": self.scene, "world": self.world}

    def _put(self, snapshot: Snapshot) -> None:
        try:
            put(snapshot, self.vehicles, self._around)
            self.movers.place(snapshot.time)
        except BaseException:
            # Half a state is none to go on from.
            self.stop()
            raise
        self.step_count = snapshot.step

    def _start_backends(self, vehicle: Aircraft) -> None:
        for backend in vehicle.backends:
            backend.real_time_factor = self.speed
            backend.start()

    def _require_open(self) -> None:
        if self._closed:
            raise RuntimeError("this simulation is closed; make a new one")

    def _end(self, *, again: bool = False) -> None:
        """Stop every backend and observer, each one even if another fails, then raise the first failure."""
        failures: list[Exception] = []
        backends = [backend for vehicle in self.vehicles for backend in vehicle.backends]
        stops: list[Callable[[], object]] = [b.restart if again else b.stop for b in backends]
        for stop in [*stops, *(observer.stop for observer in self._observers)]:
            try:
                stop()
            except Exception as error:
                failures.append(error)
        if failures:
            raise failures[0]
