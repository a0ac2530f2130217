"""The panel's session within Isaac Sim: the timeline runs the simulation, frame by frame, in Kit's thread."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pegasus.cameras import Lidar
from pegasus.errors import ConfigError
from pegasus.isaac import kit
from pegasus.isaac.compat import isaac_sim
from pegasus.isaac.engine import IsaacEngine
from pegasus.isaac.propellers import prepare_propellers, turn_propellers
from pegasus.isaac.saved_vehicles import mark
from pegasus.isaac.state_attributes import write_states
from pegasus.isaac.timeline_link import TimelineLink
from pegasus.panel.scenarios import load_into
from pegasus.panel.session import Session
from pegasus.panel.worker import Worker
from pegasus.simulation import Playback, Simulation
from pegasus.vehicle import Vehicle
from pegasus.vehicle_manager import VehicleManager

T = TypeVar("T")


class FrameWorker(Worker):
    """A worker without a thread: what is asked for is done at once, what is put off with the frames."""

    def start(self) -> None:
        """Begin; there is nothing to wait for."""

    def call(self, action: Callable[[], T]) -> T:
        """Do something, and return what it gives.

        Args:
            action: What is done.

        Raises:
            RuntimeError: If the worker is closed.
        """
        if self.closed:
            raise RuntimeError("this session is closed; make a new one")
        try:
            return action()
        finally:
            self._asked()

    def frame(self) -> None:
        """Do what comes with a frame."""
        self._turn()
        self._meet_deadlines()

    def close(self, last: Callable[[], None]) -> None:
        """Do one last thing; calling it twice is allowed.

        Args:
            last: The last thing that is done.
        """
        if not self.closed:
            self._closed = True
            last()


class KitSession(Session):
    """Own the simulation of a Kit window; the timeline plays, pauses and stops it.

    Everything happens in Kit's own thread, so call it there. `pegasus.isaac.session` returns the one of the
    extension; what the window shows is the same simulation.
    """

    _worker: FrameWorker

    def __init__(self) -> None:
        self._link: TimelineLink | None = None
        super().__init__()
        self.loading = False
        """Whether the stage is being replaced from here."""
        self._subscriptions: list[Any] = [kit.on_frame(self.frame), kit.on_stage_opened(self._on_stage)]

    def _make_worker(self) -> Worker:
        return FrameWorker("pegasus-session", turn=self._turn, asked=self._asked, failed=self._report)

    def _vantage(self, simulation: Simulation) -> None:
        """Leave Isaac Sim's viewport to its user."""

    @property
    def simulation(self) -> Simulation | None:
        """The simulation; None while no world is loaded. Another world brings another one."""
        return self._simulation

    @property
    def vehicles(self) -> VehicleManager:
        """The vehicles: iterated over, counted, and found by name.

        Raises:
            ConfigError: If no world is loaded.
        """
        return self._required().vehicles

    def load_world(self, world: str | Path, *, rate: float = 250.0, seed: int = 0) -> Simulation:
        """Load a world in the place of the present one and its vehicles; return its simulation.

        Args:
            world: Name of a world, or the path of its YAML file.
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
            name: Name of a scenario, or the path of its YAML file.

        Raises:
            ConfigError: If the scenario, or anything that it names, is wrong.
        """
        load_into(self, name)
        return self._required()

    def frame(self) -> None:
        """Do what comes with a frame: look, and put away vehicles whose prims were deleted."""
        if not self.closed:
            self._worker.frame()

    def exchange(self, make: Callable[[], Simulation]) -> None:
        """Put another simulation in the place of the present one.

        Isaac Sim has one stage: where a new one is opened before something fails, the present simulation is
        closed with its stage.

        Args:
            make: Makes the new one.
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

    def add(self, vehicle: Vehicle) -> None:
        """Add a vehicle, also while others fly, and keep on its prim what it is.

        Args:
            vehicle: The vehicle.
        """
        super().add(vehicle)
        _furnish(vehicle)
        if any(isinstance(sensor, Lidar) for sensor in vehicle.sensors.values()):
            # Its first scan waits for the materials that rays meet.
            self._required().scene.begin()

    def clear(self) -> None:
        """Close the simulation, its vehicles and its world: an empty stage is left."""
        kit.stop()
        self.loading = True
        try:
            super().clear()
            kit.new_stage()
        finally:
            self.loading = False

    def play(self) -> None:
        """Start, or go on after a pause."""
        self.call(lambda _: kit.play())

    def pause(self) -> None:
        """Hold still."""
        self.call(lambda _: kit.pause())

    def stop(self) -> None:
        """End the run; vehicles and clock go back to the start."""
        self.call(lambda _: kit.stop())

    def reset(self) -> None:
        """Go back to the start, and play again if it was playing."""

        def reset(simulation: Simulation) -> None:
            before = simulation.playback
            kit.stop()
            if before is not Playback.STOPPED:
                kit.play()
            if before is Playback.PAUSED:
                kit.pause()

        self.call(reset)

    def set_speed(self, speed: float | None) -> None:
        """Refuse any pace but that of the timeline.

        Args:
            speed: Times real time; 1 or None for that of the timeline.
        """
        if speed not in (None, 1.0):
            raise ConfigError(
                "the timeline of Isaac Sim sets the pace",
                field="speed",
                value=speed,
                remedy="leave it at 1, or fly in a script by pegasus isaac",
            )

    def close(self) -> None:
        """Close the simulation; the stage stays as it is. Calling it twice is allowed."""
        self._subscriptions = []
        super().close()

    def _turn(self) -> float:
        simulation = self._simulation
        if simulation is not None and isinstance(simulation.engine, IsaacEngine) and simulation.engine.lost:
            for name in sorted({body.rpartition("/")[0] for body in simulation.engine.lost}):
                if name in {vehicle.name for vehicle in simulation.vehicles}:
                    simulation.remove(name)
                    self._report(
                        ConfigError(
                            "its prim was deleted: the vehicle is removed", field="vehicle", value=name
                        )
                    )
        if simulation is not None and simulation.playback is Playback.PLAYING:
            turn_propellers(kit.stage(), simulation.vehicles, simulation.time)
            write_states(kit.stage(), simulation.vehicles)
        self._look()
        return 0.0

    def _advance(self, simulation: Simulation, count: int) -> None:
        # The link does the rest of each step.
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
        super()._install(new)
        if new is not None:
            new.visuals.prepare()
            for vehicle in new.vehicles:
                _furnish(vehicle)
            self._link = TimelineLink(
                new, play=lambda: self._play(new), failed=lambda error: self._fail(new, error)
            )

    def _on_stage(self) -> None:
        """Close a simulation whose stage somebody has replaced."""
        if not self.loading and self._simulation is not None and not self.closed:
            self._worker.call(lambda: self._install(None))


def _furnish(vehicle: Vehicle) -> None:
    """Keep on the stage what a vehicle is, and let its propellers turn."""
    stage = kit.stage()
    if stage is not None:
        mark(stage, vehicle)
        prepare_propellers(stage, vehicle)


def _has_stage(simulation: Simulation) -> bool:
    return isinstance(simulation.engine, IsaacEngine) and simulation.engine.has_stage
