"""Fly a scenario: build what its file describes, run it, and leave its log, figures and plot in a folder."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pegasus.backends.backend import Backend
from pegasus.backends.registry import BACKENDS
from pegasus.components import build
from pegasus.control import Controller
from pegasus.errors import ConfigError
from pegasus.multirotor import Multirotor
from pegasus.recording import EnergyAudit, McapRecorder, Summary, TrackingAudit, make_run_folder, summarize
from pegasus.scenario import ScenarioSpec, ScenarioVehicle, SpawnPoint, load_scenario, parse
from pegasus.simulation import Simulation

_AFTER_MISSION = 1.0
"""How long a run goes on when its last mission is over [s]."""


@dataclass(frozen=True)
class Overrides:
    """What the command line changes of a scenario; None leaves it as it is."""

    duration: float | None = None
    rate: float | None = None
    seed: int | None = None
    speed: float | str | None = None

    def apply(self, spec: ScenarioSpec) -> ScenarioSpec:
        """Return the scenario with these changes, checked like a file.

        Args:
            spec: The scenario.

        Raises:
            ConfigError: If a value is not allowed.
        """
        changes = {name: value for name, value in vars(self).items() if value is not None}
        return parse(spec.model_dump(exclude_unset=True) | changes, ScenarioSpec)


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
        self.spec = (overrides or Overrides()).apply(loaded)
        try:
            self.simulation = Simulation(
                _beside(self.spec.world, file), rate=self.spec.rate, seed=self.spec.seed
            )
            try:
                self._add_vehicles(file)
            except BaseException:
                self.simulation.close()
                raise
        except ConfigError as error:
            raise error if error.file else error.within(file=file) from None
        self.duration = self.spec.duration or self._mission_duration()
        """Simulated time of the whole run [s]."""

    def fly(
        self, *, out: Path | None = None, record: bool = True, progress: Callable[[float], None] | None = None
    ) -> Run:
        """Fly, and leave log, summary and plot in a new folder.

        Ctrl-C ends the flight between two steps; what was flown until then is kept.

        Args:
            out: Folder that holds the runs; `runs` in the current one when None.
            record: Whether anything is written at all.
            progress: Called with the simulated time now and then.

        Raises:
            ConfigError: If the folder cannot be written.
        """
        simulation, spec = self.simulation, self.spec
        tracking, energy = TrackingAudit(), EnergyAudit()
        simulation.add_observer(tracking)
        simulation.add_observer(energy)
        folder = make_run_folder(out, spec.name) if record else None
        if folder is not None:
            settings = spec.record
            simulation.add_observer(
                McapRecorder(
                    folder / "flight.mcap", state_rate=settings.state_rate, readings=settings.readings
                )
            )
        speed = None if spec.speed == "max" else float(spec.speed)
        interrupted = False
        with simulation:
            began = time.perf_counter()
            try:
                # Progress is shown some hundred times, whatever the length of the run.
                interval = max(1, round(self.duration * spec.rate / 200))
                for now in simulation.stepping(self.duration, speed=speed):
                    if progress is not None and simulation.step_count % interval == 0:
                        progress(now)
            except KeyboardInterrupt:
                interrupted = True
            summary = summarize(simulation, tracking, energy, wall_time=time.perf_counter() - began)
        if folder is not None:
            summary.write(folder / "summary.json")
            plot_run(folder)
        return Run(folder, summary, interrupted)

    def _add_vehicles(self, file: Path) -> None:
        spawn_points = iter(self.simulation.world.spawn_points)
        for i, entry in enumerate(self.spec.vehicles):
            field = f"vehicles.{i}"
            backends = [
                build(Backend, BACKENDS, backend, field=f"{field}.backends.{j}")
                for j, backend in enumerate(entry.backends)
            ]
            position, heading = _place(entry, spawn_points, field)
            vehicle = Multirotor(
                _beside(entry.model, file),
                count=entry.count,
                name=entry.name,
                position=position,
                heading=heading,
                spacing=entry.spacing,
                backends=backends,
            )
            self.simulation.add(vehicle)

    def _mission_duration(self) -> float:
        missions = [
            backend.mission.duration
            for vehicle in self.simulation.vehicles
            for backend in vehicle.backends
            if isinstance(backend, Controller)
        ]
        longest = max(missions, default=float("inf"))
        if longest == float("inf"):
            self.simulation.close()
            raise ConfigError(
                "is needed, since no vehicle's mission ends by itself",
                field="duration",
                remedy="give it in the scenario or as --duration [s]",
            )
        return longest + _AFTER_MISSION


def plot_run(folder: Path) -> Path:
    """Draw the flight in a run's folder and return the picture's path.

    Args:
        folder: Folder with `flight.mcap`.

    Raises:
        ConfigError: If there is no log, or the picture cannot be written.
    """
    from pegasus.recording import plot_flight, read_log

    picture = folder / "flight.png"
    plot_flight(read_log(folder / "flight.mcap"), picture)
    return picture


def _beside(name: str, file: Path) -> str | Path:
    """Return a name as it is, and the path of a file relative to the file that names it."""
    path = Path(name).expanduser()
    return file.parent / path if path.suffix else name


def _place(
    entry: ScenarioVehicle, spawn_points: Iterator[SpawnPoint], field: str
) -> tuple[tuple[float, float, float], float]:
    """Return where a vehicle starts: its own place, or the world's next spawn point."""
    if entry.position is not None:
        return entry.position, entry.heading or 0.0
    point = next(spawn_points, None)
    if point is None:
        raise ConfigError(
            "is needed, since all spawn points of the world are taken",
            field=f"{field}.position",
            remedy="give a position [m]",
        )
    return point.position, point.heading if entry.heading is None else entry.heading
