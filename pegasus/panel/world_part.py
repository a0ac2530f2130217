"""Panel parts for worlds and scenarios."""

from pathlib import Path

from pegasus.backends.scenario import scenario_simulation
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.config import settings
from pegasus.config.changes import Changes
from pegasus.config.files import load_scenario, scenario_world
from pegasus.config.scenario import OriginSpec, ScenarioSpec, WorldSpec, parse
from pegasus.core.assembly import world_of
from pegasus.core.simulation import Simulation
from pegasus.panel.board import Board, Part, Topic, action, number
from pegasus.panel.choices import Choice, world_choices
from pegasus.panel.scenario_writer import save_scenario
from pegasus.session.session import Session

HIGHEST_RATE = 100_000.0
"""Maximum physics rate [Hz]."""


def load_into(
    session: Session, name: str | Path, changes: Changes | None = None
) -> tuple[ScenarioSpec, Path | WorldSpec]:
    """Load a scenario's world and vehicles into a session; return the scenario and its world.

    Args:
        session: The session.
        name: Name of a scenario, or the path of its YAML file.
        changes: Changes of its fields.

    Raises:
        ConfigError: If the scenario, or anything that it names, is invalid.
    """
    changes = changes or Changes({})
    spec, file = load_scenario(name, changes)
    try:
        session.exchange(lambda: scenario_simulation(spec, file))
        return spec, scenario_world(spec, file)
    except ConfigError as error:
        raise changes.with_path_of_change(error).within(file=file) from None


class WorldPart(Part):
    """Selection, geographic origin and loading of a world."""

    def __init__(self, board: Board, session: Session, *, seed: int = 0) -> None:
        super().__init__(board)
        self._session, self._seed = session, seed
        self.choices: list[Choice] = world_choices()
        self.chosen = ""
        """Name or path of the world to load."""
        self.origin = OriginSpec()
        """Geodetic position of its origin."""
        self.rate = 250.0
        """Physics steps per simulated second of the world to load [Hz]."""
        self._spec: WorldSpec | None = None
        self._file: Path | None = None

    @property
    def loaded(self) -> str | None:
        """Name of the loaded world; None if there is none."""
        return self._session.snapshot.world

    @property
    def choice(self) -> Choice | None:
        """List entry of the world to load; None for a file given by path."""
        return next((choice for choice in self.choices if choice.name == self.chosen), None)

    @action(Topic.WORLD)
    def refresh(self) -> None:
        """Reload the list of worlds and their thumbnails."""
        self.choices = world_choices()

    @action(Topic.WORLD)
    def choose(self, name: str | Path) -> None:
        """Choose the world to load.

        Args:
            name: Its name, the path of a YAML or USD file, or in Isaac Sim the address of one.
        """
        self._spec, self._file = world_of(name)
        self.chosen = str(name)
        self.origin = self._default_origin()

    @action(Topic.WORLD)
    def set_origin(self, latitude: float | str, longitude: float | str, altitude: float | str) -> None:
        """Set the geodetic position of the world's origin, used when the world is loaded.

        Args:
            latitude: Latitude [deg].
            longitude: Longitude [deg].
            altitude: Altitude above mean sea level [m].
        """
        values = {"latitude": latitude, "longitude": longitude, "altitude": altitude}
        given = {name: number(name, value) for name, value in values.items()}
        self.origin = parse({**given, "ellipsoid": self.origin.ellipsoid}, OriginSpec)
        if self.loaded is not None:
            self.board.report("the origin applies when the world is loaded again")

    @action(Topic.WORLD)
    def reset_origin(self) -> None:
        """Reset the origin to the user's default, else to that of the world."""
        self.origin = self._default_origin()

    @action(Topic.WORLD)
    def make_origin_default(self) -> None:
        """Store the origin in the user's settings, for all worlds."""
        path = settings.change_settings("panel.origin", self.origin.model_dump(exclude={"ellipsoid"}))
        self.board.report(f"the origin is stored in {path}")

    @action(Topic.WORLD)
    def clear_origin_default(self) -> None:
        """Remove the origin from the user's settings: each world uses its own origin."""
        settings.change_settings("panel.origin", dict.fromkeys(settings.OriginSettings.model_fields))
        self.origin = self._default_origin()

    @action(Topic.WORLD)
    def set_rate(self, rate: float | str) -> None:
        """Set the physics rate, used when a world is loaded; ArduPilot requires at least 720 Hz.

        Args:
            rate: Physics steps per simulated second [Hz].
        """
        wanted = number("rate", rate)
        require(
            0 < wanted <= HIGHEST_RATE, "rate", wanted, f"must be above 0 and at most {HIGHEST_RATE:g} Hz"
        )
        self.rate = wanted
        if self.loaded is not None:
            self.board.report("the rate applies when the world is loaded again")

    @action(Topic.WORLD, "loading the world")
    def load(self) -> None:
        """Replace the present world and its vehicles by the chosen world."""
        if self._spec is None:
            raise ConfigError("no world is chosen", field="world", remedy="choose one first")
        spec, file = self._spec.model_copy(update={"origin": self.origin}), self._file
        rate = self.rate

        def make() -> Simulation:
            try:
                return Simulation(spec, rate=rate, seed=self._seed)
            except ConfigError as error:
                raise error.within(file=file) from None

        self._session.exchange(make)
        self.board.report(f"{spec.name} is loaded")

    @action(Topic.WORLD, "loading the scenario")
    def load_scenario(self, name: str | Path, changes: Changes | None = None) -> None:
        """Load a scenario's world and add its vehicles.

        Args:
            name: Name of a scenario, or the path of its YAML file.
            changes: Changes of its fields.
        """
        spec, world = load_into(self._session, name, changes)
        if spec.speed != "max":  # An unlimited speed cannot be watched.
            self._session.set_speed(float(spec.speed))
        self.rate = spec.rate
        if isinstance(world, WorldSpec):
            self._spec, self._file, self.chosen = world, None, world.name
        else:
            self._spec, self._file = world_of(world)
            known = any(choice.name == spec.world for choice in self.choices)
            self.chosen = str(spec.world if known else world)
        self.origin = self._spec.origin
        self.board.report(f"{spec.name} is loaded")

    @action(Topic.WORLD, "clearing the world")
    def clear(self) -> None:
        """Remove the world with all vehicles."""
        self._session.clear()

    def _default_origin(self) -> OriginSpec:
        own = OriginSpec() if self._spec is None else self._spec.origin
        try:
            kept = settings.user_settings().panel.origin.model_dump(exclude_none=True)
        except ConfigError as error:  # Worlds can be loaded nevertheless.
            self.board.fail(error)
            return own
        return own.model_copy(update=kept)


class ScenarioPart(Part):
    """Opening and saving of scenarios by name.

    Args:
        board: Listeners and messages of the panel.
        session: Session that runs the simulation.
        world: World part, which loads scenarios.
    """

    def __init__(self, board: Board, session: Session, world: WorldPart) -> None:
        super().__init__(board)
        self._session, self._world = session, world
        self.choices: list[str] = settings.names("scenarios")
        """Names of the shipped and the user's scenarios."""
        self.name = ""
        """Name for saving."""
        self.replace = False
        """Whether saving replaces an existing scenario of the user."""

    @action(Topic.SCENARIOS)
    def refresh(self) -> None:
        """Reload the list of scenarios."""
        self.choices = settings.names("scenarios")

    def open(self, name: str) -> bool:
        """Load a scenario's world with its vehicles; return whether that succeeded."""
        opened = self._world.load_scenario(name)
        if opened:
            self.set_name(name)
        return opened

    @action(Topic.SCENARIOS)
    def set_name(self, name: str) -> None:
        """Set the name for saving.

        Args:
            name: Letters, digits, `_` and `-`.
        """
        self.name = name.strip()

    @action(Topic.SCENARIOS)
    def set_replace(self, replace: bool) -> None:
        """Choose whether saving replaces an existing scenario of the user.

        Args:
            replace: Whether to replace it.
        """
        self.replace = replace

    @action(Topic.SCENARIOS, "saving the scenario")
    def save(self) -> None:
        """Save the world and its vehicles to the user's scenarios."""
        speed = self._session.snapshot.speed
        saved = self._session.call(
            lambda simulation: save_scenario(simulation, self.name, speed=speed, replace=self.replace)
        )
        self.choices = settings.names("scenarios")
        self.board.report(f"the scenario is saved in {saved.file}")
        if saved.left_out:
            self.board.report(f"not saved, no file can describe it: {', '.join(saved.left_out)}", error=True)
