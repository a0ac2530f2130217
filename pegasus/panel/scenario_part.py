"""The panel's part for scenarios: load one, and save what is in the world as one."""

from pegasus import settings
from pegasus.panel.board import Board, Part, Topic, action
from pegasus.panel.session import Session
from pegasus.panel.world_part import WorldPart
from pegasus.scenario_writer import save_scenario


class ScenarioPart(Part):
    """Open and save scenarios by name.

    Args:
        board: What all parts share.
        session: Runs the simulation.
        world: Loads them.
    """

    def __init__(self, board: Board, session: Session, world: WorldPart) -> None:
        super().__init__(board)
        self._session, self._world = session, world
        self.choices: list[str] = settings.names("scenarios")
        """Names of the shipped and the user's own scenarios."""
        self.name = ""
        """Name that is saved by."""
        self.replace = False
        """Whether a scenario of the user's that has this name is replaced."""

    @action(Topic.SCENARIOS)
    def refresh(self) -> None:
        """Look again for scenarios."""
        self.choices = settings.names("scenarios")

    def open(self, name: str) -> bool:
        """Load a scenario's world with its vehicles; return whether that went well.

        Args:
            name: Its name.
        """
        opened = self._world.load_scenario(name)
        if opened:
            self.set_name(name)
        return opened

    @action(Topic.SCENARIOS)
    def set_name(self, name: str) -> None:
        """Choose the name to save by.

        Args:
            name: Letters, digits, `_` and `-`.
        """
        self.name = name.strip()

    @action(Topic.SCENARIOS)
    def set_replace(self, replace: bool) -> None:
        """Choose whether a scenario of the user's that has the name is replaced.

        Args:
            replace: Whether it is.
        """
        self.replace = replace

    @action(Topic.SCENARIOS, "saving the scenario")
    def save(self) -> None:
        """Save the world and its vehicles into the user's scenarios."""
        speed = self._session.snapshot.speed
        saved = self._session.call(
            lambda simulation: save_scenario(simulation, self.name, speed=speed, replace=self.replace)
        )
        self.choices = settings.names("scenarios")
        self.board.report(f"the scenario is {saved.file}")
        if saved.left_out:
            self.board.report(f"a file cannot describe {', '.join(saved.left_out)}", error=True)
