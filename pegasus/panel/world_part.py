"""The panel's part for worlds: which one, where on Earth, load and clear."""

from pathlib import Path

from pegasus import settings
from pegasus.components import require
from pegasus.errors import ConfigError
from pegasus.panel.board import Board, Part, Topic, action, number
from pegasus.panel.choices import Choice, describe_world, world_choices
from pegasus.panel.scenarios import load_into
from pegasus.panel.session import Session
from pegasus.scenario import OriginSpec, WorldSpec, parse
from pegasus.simulation import Simulation

HIGHEST_RATE = 100_000.0
"""Highest physics rate [Hz]."""


class WorldPart(Part):
    """Choose a world and its place on Earth, load it, clear it.

    Args:
        board: What all parts share.
        session: Runs the simulation.
        seed: Seed of the simulations that are made here.
    """

    def __init__(self, board: Board, session: Session, *, seed: int = 0) -> None:
        super().__init__(board)
        self._session, self._seed = session, seed
        self.choices: list[Choice] = world_choices()
        self.chosen = ""
        """Name or path of the world to load."""
        self.origin = OriginSpec()
        """Where its origin will be put."""
        self.rate = 250.0
        """Physics steps per simulated second of the world to load [Hz]."""
        self._spec: WorldSpec | None = None
        self._file: Path | None = None

    @property
    def loaded(self) -> str | None:
        """Name of the world that is loaded; None while none is."""
        return self._session.snapshot.world

    @property
    def choice(self) -> Choice | None:
        """The world to load, as the list has it; None for a file by path."""
        return next((choice for choice in self.choices if choice.name == self.chosen), None)

    @action(Topic.WORLD)
    def refresh(self) -> None:
        """Look again for worlds and their pictures."""
        self.choices = world_choices()

    @action(Topic.WORLD)
    def choose(self, name: str | Path) -> None:
        """Choose the world to load.

        Args:
            name: Its name, or the path of a YAML or USD file.
        """
        self._spec, self._file = describe_world(name)
        self.chosen = str(name)
        self.origin = self._default_origin()

    @action(Topic.WORLD)
    def set_origin(self, latitude: float | str, longitude: float | str, altitude: float | str) -> None:
        """Set where the world's origin will be put when it is loaded.

        Args:
            latitude: Latitude [deg].
            longitude: Longitude [deg].
            altitude: Altitude above mean sea level [m].
        """
        values = {"latitude": latitude, "longitude": longitude, "altitude": altitude}
        self.origin = parse({name: number(name, value) for name, value in values.items()}, OriginSpec)
        if self.loaded is not None:
            self.board.report("the origin is used when the world is loaded next")

    @action(Topic.WORLD)
    def reset_origin(self) -> None:
        """Put the origin back to the user's default, else to where the world itself is."""
        self.origin = self._default_origin()

    @action(Topic.WORLD)
    def make_origin_default(self) -> None:
        """Keep the origin in the user's settings, for every world."""
        path = settings.change_settings("panel.origin", self.origin.model_dump())
        self.board.report(f"the origin is kept in {path}")

    @action(Topic.WORLD)
    def forget_origin_default(self) -> None:
        """Take the origin out of the user's settings: worlds are where they say themselves."""
        settings.change_settings("panel.origin", dict.fromkeys(OriginSpec.model_fields))
        self.origin = self._default_origin()

    @action(Topic.WORLD)
    def set_rate(self, rate: float | str) -> None:
        """Set the physics rate that is used when a world is loaded; ArduPilot wants 720 Hz at least.

        Args:
            rate: Physics steps per simulated second [Hz].
        """
        wanted = number("rate", rate)
        require(
            0 < wanted <= HIGHEST_RATE, "rate", wanted, f"must be above 0 and at most {HIGHEST_RATE:g} Hz"
        )
        self.rate = wanted
        if self.loaded is not None:
            self.board.report("the rate is used when the world is loaded next")

    @action(Topic.WORLD, "loading the world")
    def load(self) -> None:
        """Load the chosen world in the place of the present one and its vehicles."""
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
    def load_scenario(self, name: str | Path) -> None:
        """Load a scenario's world and add its vehicles.

        Args:
            name: Name of a scenario, or the path of its YAML file.
        """
        spec, world = load_into(self._session, name)
        if spec.speed != "max":  # As fast as it goes is for those who do not look on.
            self._session.set_speed(float(spec.speed))
        self._spec, self._file = describe_world(world)
        known = any(choice.name == spec.world for choice in self.choices)
        self.rate = spec.rate
        self.chosen, self.origin = spec.world if known else str(world), self._spec.origin
        self.board.report(f"{spec.name} is loaded")

    @action(Topic.WORLD, "clearing the world")
    def clear(self) -> None:
        """Remove the world and all that is in it."""
        self._session.clear()

    def _default_origin(self) -> OriginSpec:
        own = OriginSpec() if self._spec is None else self._spec.origin
        try:
            kept = settings.user_settings().panel.origin.model_dump(exclude_none=True)
        except ConfigError as error:  # Worlds can be loaded all the same.
            self.board.fail(error)
            return own
        return own.model_copy(update=kept)
