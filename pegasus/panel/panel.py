"""The panel without any toolkit: what can be chosen, what is chosen, what can be done, what is shown."""

from collections.abc import Callable
from pathlib import Path

from pegasus import settings
from pegasus.errors import ConfigError
from pegasus.panel.backend_part import BackendPart
from pegasus.panel.board import Board, Listener, Message, Topic
from pegasus.panel.pilot_part import PilotPart
from pegasus.panel.scenario_part import ScenarioPart
from pegasus.panel.sensor_part import SensorPart
from pegasus.panel.session import Session
from pegasus.panel.simulation_part import SimulationPart
from pegasus.panel.snapshot import Snapshot
from pegasus.panel.telemetry import History, Telemetry, telemetry
from pegasus.panel.vehicle_part import VehiclePart
from pegasus.panel.view_part import ViewPart
from pegasus.panel.world_part import WorldPart

FIRST_WORLD = "courtyard"
"""World that is chosen at first."""


class Panel:
    """All that a user sees and does; a window or a web page only shows it.

    Every action is a method of one of the parts: it checks, does, and returns whether it went well; what went
    wrong is in `messages`, in the words of the command line. Listeners hear of what has changed. Any thread
    may call.

    Args:
        session: Runs the simulation. It goes on when the panel is closed.
        out: Folder that holds recorded runs and screenshots; `runs` in the current one when None.
        seed: Seed of the simulations that are made here.
    """

    def __init__(self, session: Session, *, out: Path | None = None, seed: int = 0) -> None:
        folder = Path("runs") if out is None else out
        self.session = session
        self._board = Board()
        self._take_settings()
        self.history = History()
        """The last minute of the followed vehicle."""
        self.world = WorldPart(self._board, session, seed=seed)
        self.scenario = ScenarioPart(self._board, session, self.world)
        self.backend = BackendPart(self._board)
        self.view = ViewPart(self._board, session, out=folder)
        self.sensors = SensorPart(self._board, session, self.view)
        self.vehicle = VehiclePart(self._board, session, self.backend, self.sensors)
        self.simulation = SimulationPart(self._board, session, out=folder)
        self.pilot = PilotPart(self._board, session, self.view)
        self.world.choose(FIRST_WORLD)
        self._leave = session.watch(on_snapshot=self._seen, on_failure=self._board.fail)
        self._last: Snapshot | None = None

    @property
    def snapshot(self) -> Snapshot:
        """The simulation as it was last looked at."""
        return self.session.snapshot

    @property
    def messages(self) -> list[Message]:
        """What was reported, the newest at the end."""
        return self._board.messages

    @property
    def failure(self) -> Exception | None:
        """What went wrong last, in full; None while nothing has."""
        return self._board.failure

    @property
    def busy(self) -> str:
        """What is going on that takes its time; empty where nothing is."""
        return self._board.busy

    @property
    def telemetry(self) -> Telemetry | None:
        """Figures of the followed vehicle; None where there is none."""
        snapshot = self.session.snapshot
        followed = self.view.followed_vehicle(snapshot)
        return None if followed is None else telemetry(snapshot, followed[0].name, followed[1])

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Tell somebody of every change from now on, and return what ends that.

        Args:
            listener: Called with what has changed, in the thread that has changed it; it must not wait.
        """
        return self._board.subscribe(listener)

    def close(self) -> None:
        """Stop watching; the world and all that flies in it stay as they are."""
        self._leave()
        self._board.close()

    def _take_settings(self) -> None:
        try:
            set_aside = settings.set_aside_broken_settings()
        except ConfigError as error:
            self._board.fail(error)
            return
        if set_aside is not None:
            self._board.report(set_aside, error=True)

    def _seen(self, snapshot: Snapshot) -> None:
        """Look at what the simulation has done by itself; called in its thread."""
        chosen = self.view.followed
        if chosen is not None and snapshot.vehicle(chosen[0]) is None:
            self.view.followed = None
            self._board.notify(Topic.VIEW)
        followed = self.view.followed_vehicle(snapshot)
        if followed is None:
            self.history.clear()
        else:
            self.history.add(snapshot, *followed)
        last, self._last = self._last, snapshot
        if last is None or last.playback is not snapshot.playback:
            self._board.notify(Topic.SIMULATION)
        if last is None or last.generation != snapshot.generation:
            self._board.notify(Topic.WORLD)
        if last is None or [v.name for v in last.vehicles] != [v.name for v in snapshot.vehicles]:
            self._board.notify(Topic.VEHICLES)
