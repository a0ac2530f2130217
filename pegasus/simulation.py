"""The simulation: one clock, one pipeline, and the ways to run it."""

import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from pegasus.components import require
from pegasus.engines.engine import Engine
from pegasus.environment import Environment
from pegasus.errors import ConfigError
from pegasus.isaac.launch import FRAME_RATE_SETTING, inside_isaac_sim
from pegasus.recording.observer import Observer
from pegasus.render import Renderer, Visuals
from pegasus.scenario import SpawnPoint, WorldSpec, load_world
from pegasus.scene.scene import Scene
from pegasus.streams import stream
from pegasus.vehicle import Vehicle
from pegasus.vehicle_manager import VehicleManager

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
        valid_seed = isinstance(seed, int) and 0 <= seed < 2**63
        require(valid_seed, "seed", seed, "must be a whole number from 0 up to 2**63 - 1")
        self.world, file = _world(world)
        self.rate, self.seed = float(rate), seed
        try:
            self.environment = Environment.from_spec(self.world)
        except ConfigError as error:
            raise error.within(file=file) from None
        self.scene: Scene = self._load_scene(file)
        if alter_scene is not None:
            self.scene = alter_scene(self.scene, self.world)
        for line in self.scene.warnings:
            _log.warning(line)
        if alter_scene is not None and isinstance(engine, str) and engine != "mujoco" and inside_isaac_sim():
            raise ConfigError(
                "Isaac Sim flies in worlds as their files have them",
                field="alter_scene",
                remedy="use the engine mujoco",
            )
        self.engine = _engine(engine, self.rate)
        self.engine.load(self.scene)
        self.environment.bind(stream(seed, "environment"))
        self.vehicles = VehicleManager(self.engine, self.environment, rate=self.rate, seed=seed)
        drawn_by, drawing = _renderer(renderer, self.engine)
        self.visuals = self.vehicles.visuals = Visuals(self.scene, self.vehicles, renderer=drawn_by)
        self.step_count = 0
        self._observers = [*drawing, *observers]
        self._playback = Playback.STOPPED
        self._closed = False
        self._interrupted = False
        # Guards everything that a panel may do while another thread runs the simulation.
        self._changed = threading.Condition(threading.RLock())

    def _load_scene(self, file: Path | None) -> Scene:
        """Return the scene of the world, whose file is made now if it comes from a generator."""
        # OpenUSD is not imported before it is used: see pegasus.scene.
        from pegasus.scene.translation import translate
        from pegasus.scene.worlds import made_world

        if self.world.generator is not None:
            try:
                self.world = made_world(self.world)
            except ConfigError as error:
                raise error.within(file=file) from None
        elif self.world.spawn_points is None:
            self.world = self.world.model_copy(
                update={"spawn_points": [SpawnPoint(position=(0.0, 0.0, 0.1))]}
            )
        usd = self.world.usd
        assert usd is not None
        if not usd.is_file():
            raise ConfigError(
                "no such file", file=file, field="usd", value=str(usd), remedy="correct the path"
            )
        try:
            return translate(usd)
        except MemoryError:
            raise ConfigError("does not fit into memory", file=usd, remedy="open a smaller world") from None

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
    def playback(self) -> Playback:
        """Whether the simulation runs."""
        return self._playback

    def add(self, vehicle: V) -> V:
        """Add a vehicle, also while others fly, and return it.

        Args:
            vehicle: The vehicle.

        Raises:
            ConfigError: If it does not fit into this simulation.
        """
        with self._changed:
            self._require_open()
            self.vehicles.add(vehicle)
            for line in vehicle.scene.warnings:
                _log.warning(line)
            if self._playback is not Playback.STOPPED:
                try:
                    for backend in vehicle.backends:
                        backend.start()
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
            self.vehicles.remove(vehicle if isinstance(vehicle, str) else vehicle.name)

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
                        for backend in vehicle.backends:
                            backend.start()
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
            self._end()
            self._playback = Playback.STOPPED
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
        """Advance by whole steps, also while paused.

        Args:
            count: Number of steps.
        """
        if self._playback is Playback.STOPPED:
            self.play()
        for _ in range(count):
            with self._changed:
                self.advance()
                self.engine.step(self.dt)
                self.observe_step()

    def advance(self) -> None:
        """Do all of a step that comes before the physics: sense, publish, command, actuate, apply.

        An engine that keeps its own time calls this before, and `observe_step` after, each of its steps.
        """
        t, step, dt = self.time, self.step_count, self.dt
        vehicles = self.vehicles
        for vehicle in vehicles:
            vehicle.sense(step, t)
        # All publish before any is waited for, so that N autopilots compute at the same time.
        for vehicle in vehicles:
            vehicle.publish(t)
        for vehicle in vehicles:
            vehicle.collect(t)
        for vehicle in vehicles:
            vehicle.actuate(t, dt)
        for observer in self._observers:
            observer.record(self)
        vehicles.apply()

    def observe_step(self) -> None:
        """Do all of a step that comes after the physics: move the clock on and read the new state."""
        self.step_count += 1
        self.vehicles.observe()

    def run(self, duration: float, *, speed: float | None = None) -> None:
        """Play for a stretch of simulated time; return early when stopped.

        While paused by another thread it waits. Ctrl-C takes effect between two steps, never within one.

        Args:
            duration: Simulated time to run [s].
            speed: Times real time; as fast as it goes when None.

        Raises:
            KeyboardInterrupt: After Ctrl-C, with everything recorded up to the last whole step.
        """
        for _ in self.stepping(duration, speed=speed):
            pass

    def stepping(self, duration: float, *, speed: float | None = None) -> Iterator[float]:
        """Run like `run`, and yield the simulated time after each step.

        Args:
            duration: Simulated time to run [s].
            speed: Times real time; as fast as it goes when None.
        """
        require(duration > 0, "duration", duration, "must be above 0 s")
        require(speed is None or speed > 0, "speed", speed, "must be above 0 times real time")
        last = self.step_count + round(duration * self.rate)
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


def _world(world: str | Path | WorldSpec) -> tuple[WorldSpec, Path | None]:
    """Return the description of a world, and the file that it came from."""
    if isinstance(world, WorldSpec):
        return world, None
    path = Path(world).expanduser()
    if path.suffix.lower() in {".usd", ".usda", ".usdc", ".usdz"}:
        return WorldSpec(name=path.stem, usd=path.resolve()), None
    return load_world(world)


def _engine(engine: str | Engine, rate: float) -> Engine:
    if not isinstance(engine, str):
        return engine
    if engine == "mujoco" or (engine == "auto" and not inside_isaac_sim()):
        from pegasus.engines.mujoco_engine import MujocoEngine

        return MujocoEngine()
    if engine in ("auto", "isaac"):
        if not inside_isaac_sim():
            raise ConfigError(
                "Isaac Sim does not run in this process",
                field="engine",
                value=engine,
                remedy="use `pegasus isaac`, or start it by pegasus.isaac.launch.start() first",
            )
        from pegasus.isaac import kit
        from pegasus.isaac.engine import IsaacEngine

        return IsaacEngine(rate=rate, frame_rate=kit.setting(FRAME_RATE_SETTING))
    raise ConfigError("must be auto, mujoco or isaac, or an engine", field="engine", value=engine)


def _renderer(renderer: str | Renderer, engine: Engine) -> tuple[str | Renderer, list[Observer]]:
    """Return who draws pictures, and who watches over it."""
    if renderer != "auto" or not inside_isaac_sim():
        return renderer, []
    from pegasus.isaac.engine import IsaacEngine
    from pegasus.isaac.present_pictures import PresentPictures
    from pegasus.isaac.renderer import IsaacRenderer

    if not isinstance(engine, IsaacEngine):
        return renderer, []
    return IsaacRenderer(engine), [PresentPictures(engine)]
