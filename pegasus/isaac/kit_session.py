"""The panel's session in Isaac Sim: the timeline runs the simulation, frame by frame, in Kit's thread."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pegasus.base.errors import ConfigError
from pegasus.cameras import Lidar
from pegasus.config.scenario import OriginSpec, WorldSpec
from pegasus.core.aircraft import Aircraft
from pegasus.core.simulation import Playback, Simulation
from pegasus.core.vehicle_manager import VehicleManager
from pegasus.isaac import kit
from pegasus.isaac.bodies import vehicle_path
from pegasus.isaac.compat import isaac_sim
from pegasus.isaac.engine import IsaacEngine
from pegasus.isaac.joints import VehicleJoints, warn_of_differences
from pegasus.isaac.session_layer import SessionValues
from pegasus.isaac.timeline_link import TimelineLink
from pegasus.isaac.turning_prims import MOST_VEHICLES, TurningPrims, rotor_angles, turn_prims
from pegasus.isaac.vehicle_prims import save_vehicle, saved_vehicles, write_states
from pegasus.isaac.world_stage import only_vehicles_move, require_geometry, require_metric
from pegasus.panel.world_part import load_into
from pegasus.scene.stage import stage_source
from pegasus.session.session import Session
from pegasus.session.worker import Worker

T = TypeVar("T")


class FrameWorker(Worker):
    """Worker without a thread: calls run at once, deferred work runs with the frames."""

    def start(self) -> None:
        """Start; nothing to do without a thread."""

    def call(self, action: Callable[[], T]) -> T:
        """Run an action at once, and return its result.

        Raises:
            RuntimeError: If the worker is closed.
        """
        if self.closed:
            raise RuntimeError("this session is closed; make a new one")
        try:
            return action()
        finally:
            self._after_call()

    def frame(self) -> None:
        """Run the deferred work of a frame."""
        self._turn()
        self._meet_deadlines()

    def close(self, last: Callable[[], None]) -> None:
        """Close the worker after a last action; a second call has no effect."""
        if not self.closed:
            self._closed = True
            last()


class KitSession(Session):
    """Session of the panel in Kit; the timeline plays, pauses and stops its simulation.

    Call it in Kit's thread. `pegasus.isaac.session` returns the session of the extension, whose simulation
    the window shows.
    """

    _worker: FrameWorker

    def __init__(self) -> None:
        self._link: TimelineLink | None = None
        self._values: SessionValues | None = None
        self._joints: dict[str, list[VehicleJoints]] = {}
        self._turning: dict[str, TurningPrims] = {}
        super().__init__()
        self.loading = False
        """The session is replacing the stage."""
        self._subscriptions: list[Any] = [
            isaac_sim().on_frame(self.frame),
            kit.on_stage_opened(self._on_stage),
        ]

    def _make_worker(self) -> Worker:
        return FrameWorker(
            "pegasus-session", turn=self._turn, after_call=self._after_call, on_error=self._report
        )

    def _suggested_viewpoint(self, simulation: Simulation) -> None:
        """Keep the viewport as the user has set it."""

    @property
    def simulation(self) -> Simulation | None:
        """Present simulation; None while no world is loaded. Each load of a world makes a new one."""
        return self._simulation

    @property
    def vehicles(self) -> VehicleManager:
        """Vehicles of the simulation, which can be iterated over and found by name.

        Raises:
            ConfigError: If no world is loaded.
        """
        return self._required().vehicles

    def joints(self, name: str, copy: int = 0) -> VehicleJoints:
        """Return the joints of a vehicle's own USD model, such as those of a gimbal.

        Args:
            name: Name of the vehicle.
            copy: Number of the copy.

        Raises:
            ConfigError: If no world is loaded, or there is no such vehicle.
        """
        return VehicleJoints(self.vehicles[name], copy)

    def load_world(self, world: str | Path, *, rate: float = 250.0, seed: int = 0) -> Simulation:
        """Load a world in place of the present one and its vehicles; return its simulation.

        Args:
            world: Name of a world, or path of its YAML file.
            rate: Steps per second [Hz].
            seed: Seed of every random stream.

        Raises:
            ConfigError: If there is no such world, or its file is wrong.
        """
        self.exchange(lambda: Simulation(world, rate=rate, seed=seed))
        return self._required()

    def load_scenario(self, name: str | Path) -> Simulation:
        """Load the world and the vehicles of a scenario; return its simulation.

        Args:
            name: Name of a scenario, or path of its YAML file.

        Raises:
            ConfigError: If the scenario, or a file that it names, is wrong.
        """
        load_into(self, name)
        return self._required()

    def frame(self) -> None:
        """Process a frame: take a snapshot, and remove vehicles whose prims were deleted."""
        if not self.closed:
            self._worker.frame()

    def exchange(self, make: Callable[[], Simulation]) -> None:
        """Replace the present simulation by the one that `make` returns.

        Isaac Sim has only one stage: if `make` fails after it has opened a new one, the present simulation is
        closed with its stage.
        """
        self.loading = True
        try:
            super().exchange(make)
        except BaseException:
            if self._simulation is not None and not _has_stage(self._simulation):
                super().clear()
            raise
        finally:
            self.loading = False

    def add(self, vehicle: Aircraft) -> None:
        """Add a vehicle, also while others fly, and save its description on its prim."""
        super().add(vehicle)
        self._prepare_prims(vehicle)
        if any(isinstance(sensor, Lidar) for sensor in vehicle.sensors.values()):
            # Read materials in the background: the first scan needs them.
            self._required().scene.begin()

    def restore_vehicles(self) -> list[str]:
        """Restore the vehicles that were saved with the open stage, and return their names.

        Raises:
            ConfigError: If the stage cannot be used, or a model or backend does not exist any more.
        """
        stage = kit.stage()
        return self.load_open_stage() if stage is not None and saved_vehicles(stage) else []

    def load_open_stage(self, *, rate: float | None = None) -> list[str]:
        """Make a simulation of the open stage; return the names of the vehicles restored from it.

        Args:
            rate: Steps per second [Hz]; that of the physics scene of the stage if None.

        Raises:
            ConfigError: If no stage is open, it cannot be used, or a model or backend does not exist.
        """
        stage = kit.stage()
        saved = [] if stage is None else saved_vehicles(stage)
        self.exchange(lambda: simulation_of_stage(rate=rate))
        for entry in saved:
            self.add(entry.make())
        return [entry.name for entry in saved]

    def clear(self) -> None:
        """Close the simulation with its vehicles and its world, and open an empty stage."""
        kit.stop()
        self.loading = True
        try:
            super().clear()
            kit.new_stage()
        finally:
            self.loading = False

    def play(self) -> None:
        """Start the timeline, or resume it after a pause."""
        self.call(lambda _: kit.play())

    def pause(self) -> None:
        """Pause the timeline."""
        self.call(lambda _: kit.pause())

    def stop(self) -> None:
        """Stop the timeline: vehicles and clock return to the start."""
        self.call(lambda _: kit.stop())

    def reset(self) -> None:
        """Return to the start, and keep playing or pausing as before.

        Where only vehicles move, the timeline plays on, and backends keep their connections, such as nodes of
        ROS 2. Other bodies and action graphs return to their start only if it stops and plays again.
        """
        present = self._simulation
        if (
            present is not None
            and present.playback is Playback.PLAYING
            and isinstance(present.engine, IsaacEngine)
            and only_vehicles_move(kit.stage(), present.engine.paths)
        ):
            super().reset()
            return

        def reset(simulation: Simulation) -> None:
            before = simulation.playback
            kit.stop()
            if before is not Playback.STOPPED:
                kit.play()
            if before is Playback.PAUSED:
                kit.pause()

        self.call(reset)

    def set_speed(self, speed: float | None) -> None:
        """Accept only the speed of the timeline, 1 or None.

        Raises:
            ConfigError: If another speed is given.
        """
        if speed not in (None, 1.0):
            raise ConfigError(
                "the timeline of Isaac Sim sets the speed",
                field="speed",
                value=speed,
                remedy="leave it at 1, or fly in a script by pegasus isaac",
            )

    def close(self) -> None:
        """Close the simulation and keep the stage; a second call has no effect."""
        self._subscriptions = []
        super().close()

    def _turn(self) -> float:
        simulation = self._simulation
        if (
            simulation is not None
            and isinstance(simulation.engine, IsaacEngine)
            and simulation.engine.deleted
        ):
            for name in sorted({body.rpartition("/")[0] for body in simulation.engine.deleted}):
                if name in {vehicle.name for vehicle in simulation.vehicles}:
                    simulation.remove(name)
                    self._report(
                        ConfigError(
                            "its prim was deleted or deactivated, so the vehicle is removed",
                            field="vehicle",
                            value=name,
                        )
                    )
        if simulation is not None and simulation.playback is Playback.PLAYING:
            names = [vehicle.name for vehicle in simulation.vehicles if vehicle.name in self._turning]
            turn_prims([self._turning[name] for name in names], simulation.time)
            self._turn_model_joints(simulation)
            write_states(kit.stage(), simulation.vehicles)
        self._take_snapshot()
        return 0.0

    def _advance(self, simulation: Simulation, count: int) -> None:
        # The timeline link runs the pipeline around each physics step.
        self._steps_since = time.perf_counter()
        try:
            if kit.is_stopped():
                kit.play()
            kit.pause()
            for _ in range(count):
                isaac_sim().step()
        finally:
            self._steps_since = None

    def _fail(self, simulation: Simulation, error: Exception) -> None:
        self._report(error)

    def _install(self, new: Simulation | None) -> None:
        old = self._simulation
        if self._link is not None:
            self._link.close(stage_is_open=old is not None and _has_stage(old))
            self._link = None
        if self._values is not None:
            self._values.close()
            self._values = None
        self._joints.clear()
        self._turning.clear()
        super()._install(new)
        if new is not None:
            new.visuals.prepare()
            for vehicle in new.vehicles:
                self._prepare_prims(vehicle)
            self._link = TimelineLink(
                new, play=lambda: self._play(new), failed=lambda error: self._fail(new, error)
            )

    def _on_stage(self) -> None:
        """Close the simulation after another stage was opened."""
        if not self.loading and self._simulation is not None and not self.closed:
            self._worker.call(lambda: self._install(None))

    def _prepare_prims(self, vehicle: Aircraft) -> None:
        """Save the description of a vehicle on its prim, and prepare its parts that turn."""
        stage = kit.stage()
        if stage is not None:
            if self._values is None:
                self._values = SessionValues(stage)
            self._values.own(vehicle_path(vehicle.name))
            save_vehicle(stage, vehicle)
            self._turning[vehicle.name] = TurningPrims(stage, vehicle)
            if vehicle.spec.usd is not None:
                warn_of_differences(vehicle)
                copies = range(min(vehicle.count, MOST_VEHICLES))
                self._joints[vehicle.name] = [VehicleJoints(vehicle, copy) for copy in copies]

    def _turn_model_joints(self, simulation: Simulation) -> None:
        """Turn the joints of custom USD models that are those of rotors or of the vehicle's file."""
        for vehicle in simulation.vehicles:
            for joints, *angles in zip(
                self._joints.get(vehicle.name, ()),
                rotor_angles(vehicle, simulation.time),
                vehicle.columns["joint_angle"],
                strict=False,
            ):
                joints.turn(*angles)


def _has_stage(simulation: Simulation) -> bool:
    return isinstance(simulation.engine, IsaacEngine) and simulation.engine.has_stage


_RATE = 250
_RATE_ATTRIBUTE = "physxScene:timeStepsPerSecond"


def simulation_of_stage(
    *, rate: float | None = None, seed: int = 0, origin: OriginSpec | None = None, empty: bool = False
) -> Simulation:
    """Return a simulation of the open stage, without vehicles.

    Args:
        rate: Steps per second [Hz]; that of the physics scene of the stage if None.
        seed: Seed of every random stream.
        origin: Geographic place of the stage's origin; that of worlds without one if None.
        empty: Accept a stage without geometry.

    Raises:
        ConfigError: If no stage is open, it is not in metres with z up, or it has no geometry.
    """
    stage = kit.stage()
    if stage is None:
        raise ConfigError("no stage is open", field="stage", remedy="open one, or load a world")
    require_metric(stage)
    if not empty:
        require_geometry(stage)
    if rate is None:
        rates = [prim.GetAttribute(_RATE_ATTRIBUTE).Get() for prim in stage.Traverse()]
        rate = next((float(value) for value in rates if value), float(_RATE))
    engine = IsaacEngine(rate=rate, keep_stage=True)
    world = WorldSpec(
        name=Path(stage.GetRootLayer().identifier).stem,
        usd=Path(stage_source(stage)),
        origin=origin or OriginSpec(),
    )
    return Simulation(world, engine=engine, rate=rate, seed=seed)
