"""Fly a scenario: build what its file describes, run it, and leave its log, figures and plot in a folder."""

import contextlib
import math
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pegasus import settings
from pegasus.backends.backend import Backend
from pegasus.backends.registry import BACKENDS
from pegasus.backends.ros2.backend import ROS2
from pegasus.backends.ros2.remote_control import RemoteControl
from pegasus.components import build
from pegasus.control import Controller
from pegasus.control.trajectories import located
from pegasus.errors import AutopilotError, ConfigError
from pegasus.multirotor import Multirotor
from pegasus.recording import (
    EnergyAudit,
    McapRecorder,
    Summary,
    TrackingAudit,
    make_run_folder,
    plot_flight,
    read_log,
    summarize,
)
from pegasus.recording.reader import LOG_NAME
from pegasus.recording.rosbag import RosbagRecorder
from pegasus.scenario import Component, ScenarioSpec, load_scenario, parse
from pegasus.sensors import Sensor
from pegasus.sensors.registry import SENSORS
from pegasus.simulation import Playback, Simulation

_AFTER_MISSION = 1.0
"""How long a run goes on when its last mission is over [s]."""
_BAG_NAME = "rosbag2"
"""Folder of the bag in that of a run."""
_PROGRESS_COUNT = 200
"""How often progress is shown, whatever the length of the run."""


@dataclass(frozen=True)
class Overrides:
    """What the command line changes of a scenario; None leaves it as it is."""

    duration: float | None = None
    rate: float | None = None
    seed: int | None = None
    speed: float | str | None = None
    vehicles: int | None = None
    """Number of copies of every vehicle."""
    ros2: bool = False
    """Whether every vehicle is on the ROS 2 graph."""

    def apply(self, spec: ScenarioSpec) -> ScenarioSpec:
        """Return the scenario with these changes, checked like a file.

        Args:
            spec: The scenario.

        Raises:
            ConfigError: If a value is not allowed.
        """
        changes = {name: value for name, value in vars(self).items() if value is not None}
        del changes["ros2"]  # It is no field of a scenario, but a backend of its vehicles.
        content = spec.model_dump(exclude_unset=True)
        if (count := changes.pop("vehicles", None)) is not None:
            if count < 1:
                raise ConfigError(
                    "must be at least 1", field="--vehicles", value=count, remedy="give a number"
                )
            changes["vehicles"] = [vehicle | {"count": count} for vehicle in content["vehicles"]]
        try:
            return parse(content | changes, ScenarioSpec)
        except ConfigError as error:
            # The scenario by itself was fine, so it is an option that is not.
            raise ConfigError(
                error.problem,
                field=f"--{error.field}",
                value=error.value,
                remedy=error.remedy or "see pegasus run --help",
            ) from None


@dataclass(frozen=True)
class Run:
    """What is left of a run."""

    folder: Path | None
    """Folder with `flight.mcap`, `summary.json` and `flight.png`; None for a run that is not recorded."""
    summary: Summary
    interrupted: bool
    """Whether Ctrl-C ended it early."""


class Flight:
    """A scenario, ready to be flown once.

    Args:
        scenario: Name of a scenario, or the path of its YAML file.
        overrides: Changes of the scenario.

    Raises:
        ConfigError: If the scenario or anything that it names is wrong.
    """

    def __init__(self, scenario: str | Path, overrides: Overrides | None = None) -> None:
        loaded, file = load_scenario(scenario)
        overrides = overrides or Overrides()
        self.spec, self._ros2 = overrides.apply(loaded), overrides.ros2
        try:
            world = found("worlds", self.spec.world, beside=file, field="world")
            self.simulation = Simulation(world, rate=self.spec.rate, seed=self.spec.seed)
            try:
                add_vehicles(self.simulation, self.spec, file, ros2=self._ros2)
                self._require_an_end()
            except BaseException:
                self.simulation.close()
                raise
        except ConfigError as error:
            raise error.within(file=file) from None

    @property
    def duration(self) -> float:
        """Simulated time of the whole run [s]; an estimate before take-off where the mission gives it."""
        wanted = self.spec.duration
        return max(self._mission_end() if wanted is None else wanted, self.simulation.dt)

    def fly(
        self, *, out: Path | None = None, record: bool = True, progress: Callable[[float], None] | None = None
    ) -> Run:
        """Fly, and leave log, summary and plot in a new folder.

        Whatever ends the flight early, those of what was flown until then are left; a run that does not get
        past its first step leaves nothing. Ctrl-C takes effect between two steps, and is no error.

        Args:
            out: Folder that holds the runs; `runs` in the current one when None.
            record: Whether anything is written at all.
            progress: Called with the simulated time now and then.

        Raises:
            ConfigError: If the folder cannot be written, or a command is not finite or of the wrong shape.
            AutopilotError: If an autopilot does not start; its log and a summary are left all the same.
        """
        simulation, recorded = self.simulation, self.spec.record
        tracking, energy = TrackingAudit(), EnergyAudit()
        ended_by: BaseException | None = None
        remote = RemoteControl(simulation, **_graph(self.spec)) if self._ros2 else contextlib.nullcontext()
        with contextlib.ExitStack() as undo, simulation, remote:
            simulation.add_observer(tracking)
            simulation.add_observer(energy)
            folder = _new_folder(out, self.spec.name, undo) if record else None
            if folder is not None:
                for vehicle in simulation.vehicles:
                    for backend in vehicle.backends:
                        backend.run_folder = folder.resolve()
                log = folder / LOG_NAME
                simulation.add_observer(
                    McapRecorder(
                        log,
                        state_rate=recorded.state_rate,
                        readings=recorded.readings,
                        images=recorded.images,
                    )
                )
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
                self._step_to_the_end(progress)
            except BaseException as error:
                if simulation.step_count == 0 and not isinstance(error, AutopilotError):
                    raise
                ended_by = error
            undo.pop_all()
            summary = summarize(simulation, tracking, energy, wall_time=time.perf_counter() - began)
        if folder is not None:
            summary.write(folder / "summary.json")
            if simulation.step_count > 0:
                plot_run(folder)
        if ended_by is not None and not isinstance(ended_by, KeyboardInterrupt):
            if folder is not None:
                left = "what was flown until then" if simulation.step_count > 0 else "what it has left"
                ended_by.add_note(f"{left} is in {folder}")
            raise ended_by
        return Run(folder, summary, interrupted=ended_by is not None)

    def _step_to_the_end(self, progress: Callable[[float], None] | None) -> None:
        simulation, rate = self.simulation, self.spec.rate
        speed = None if self.spec.speed == "max" else float(self.spec.speed)
        interval = max(1, round(self.duration * rate / _PROGRESS_COUNT))
        # How long a mission takes is known once the vehicles are in the air, so the end is looked at again.
        while (left := round((self.duration - simulation.time) * rate)) > 0:
            for now in simulation.stepping(left / rate, speed=speed):
                if progress is not None and simulation.step_count % interval == 0:
                    progress(now)
            if simulation.playback is Playback.STOPPED:
                return
        if progress is not None:
            progress(simulation.time)

    def _mission_end(self) -> float:
        missions = [
            backend.mission.duration
            for vehicle in self.simulation.vehicles
            for backend in vehicle.backends
            if isinstance(backend, Controller)
        ]
        return max(missions, default=math.inf) + _AFTER_MISSION

    def _require_an_end(self) -> None:
        if math.isinf(self.duration):
            raise ConfigError(
                "is needed, since not every mission ends by itself",
                field="duration",
                remedy="give it in the scenario or as --duration [s]",
            )


def add_vehicles(simulation: Simulation, spec: ScenarioSpec, file: Path, *, ros2: bool = False) -> None:
    """Add the vehicles of a scenario to a simulation.

    Args:
        simulation: The simulation, in the scenario's world.
        spec: The scenario.
        file: Its file, which the paths in it are relative to.
        ros2: Whether vehicles that are not on the ROS 2 graph by themselves are put on it.

    Raises:
        ConfigError: If a vehicle, or anything that it names, is wrong.
    """
    vehicles: list[Multirotor] = []
    for i, entry in enumerate(spec.vehicles):
        try:
            model = found("vehicles", entry.model, beside=file, field="model")
            backends = [
                build(Backend, BACKENDS, _beside(file, backend), field=f"backends.{j}")
                for j, backend in enumerate(entry.backends)
            ]
            if ros2 and not any(isinstance(backend, ROS2) for backend in backends):
                drives = not any(backend.drives for backend in backends)
                backends.append(ROS2(control=drives, **_graph(spec)))
            vehicle = Multirotor(
                model,
                count=entry.count,
                name=entry.name,
                position=entry.position,
                heading=entry.heading,
                spacing=entry.spacing,
                backends=backends,
                extra_sensors={
                    name: build(Sensor, SENSORS, sensor, field=f"sensors.{name}")
                    for name, sensor in entry.sensors.items()
                },
            )
            vehicles.append(vehicle)
        except ConfigError as error:
            raise error.within(field=f"vehicles.{i}") from None
    for i, vehicle in enumerate(vehicles):
        try:
            simulation.add(vehicle, before=vehicles[i:])
        except ConfigError as error:
            raise error.within(field=f"vehicles.{i}") from None


def found(kind: str, name: str, *, beside: Path, field: str) -> Path:
    """Return the file that another file means by a name, or by a path that is relative to itself.

    Args:
        kind: `vehicles`, `worlds` or `scenarios`.
        name: The name or path.
        beside: The other file.
        field: Where the name stands in it.

    Raises:
        ConfigError: If there is no such file.
    """
    path = Path(name).expanduser()
    try:
        return settings.find(kind, beside.parent / path if path.suffix else name)
    except ConfigError as error:
        raise ConfigError(error.problem, field=field, value=name, remedy=error.remedy) from None


def plot_run(run: Path) -> Path:
    """Draw the flight of a run, and return the path of the picture `flight.png` beside its log.

    Args:
        run: Folder of the run, or its log.

    Raises:
        ConfigError: If there is no log, or the picture cannot be written.
    """
    log = read_log(run)
    picture = log.path.with_name("flight.png")
    plot_flight(log, picture)
    return picture


def _new_folder(out: Path | None, scenario: str, undo: contextlib.ExitStack) -> Path:
    """Make the folder of a run, and hand over how to remove what was made."""
    parent = Path("runs") if out is None else out
    if not parent.exists():
        undo.callback(_remove_if_empty, parent)
    folder = make_run_folder(parent, scenario)
    undo.callback(shutil.rmtree, folder)
    return folder


def _remove_if_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.rmdir()


def _beside(file: Path, backend: Component) -> Component:
    """Return a backend's parameters with the files of its trajectory relative to the scenario file."""
    if "trajectory" not in backend:
        return backend
    return {**backend, "trajectory": located(backend["trajectory"], file.parent)}


def _graph(spec: ScenarioSpec) -> dict[str, Any]:
    """Return where on the ROS 2 graph the first vehicle is that says so: a process is on one part of it."""
    first = next((b for v in spec.vehicles for b in v.backends if b.get("model") == "ros2"), {})
    return {name: first[name] for name in ("transport", "domain_id", "localhost_only") if name in first}
