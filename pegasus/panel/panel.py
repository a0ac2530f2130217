"""Control panel of a simulation, independent of any GUI toolkit."""

from collections.abc import Callable
from pathlib import Path

from pegasus.base.errors import ConfigError
from pegasus.config import settings
from pegasus.panel.backend_part import BackendPart
from pegasus.panel.board import Board, Listener, Message, Topic
from pegasus.panel.fault_part import FaultPart
from pegasus.panel.pilot_part import PilotPart
from pegasus.panel.sensor_part import SensorPart
from pegasus.panel.simulation_part import SimulationPart
from pegasus.panel.telemetry import History, Telemetry, telemetry
from pegasus.panel.vehicle_part import VehiclePart
from pegasus.panel.view_part import ViewPart
from pegasus.panel.world_part import ScenarioPart, WorldPart
from pegasus.session.session import Session
from pegasus.session.snapshot import Snapshot

FIRST_WORLD = "courtyard"
"""World that is selected initially."""


class Panel:
    """State and actions of the control panel; a window or a web page only displays it.

    Every action is a method of one of the parts. It validates its arguments, executes, and returns whether it
    succeeded; errors are added to `messages`, with the text of the command line. Listeners are notified of
    changes. All methods may be called from any thread.

    Args:
        session: Session that runs the simulation. It continues when the panel is closed.
        out: Parent folder of recorded runs and screenshots; `runs` in the current folder when None.
        seed: Seed of the simulations that the panel creates.
    """

    def __init__(self, session: Session, *, out: Path | None = None, seed: int = 0) -> None:
        folder = Path("runs") if out is None else out
        self.session = session
        self._board = Board()
        self._check_settings()
        self.history = History()
        """Last minute of the followed vehicle."""
        self.world = WorldPart(self._board, session, seed=seed)
        self.scenario = ScenarioPart(self._board, session, self.world)
        self.backend = BackendPart(self._board)
        self.view = ViewPart(self._board, session, out=folder)
        self.sensors = SensorPart(self._board, session, self.view)
        self.vehicle = VehiclePart(self._board, session, self.backend, self.sensors)
        self.simulation = SimulationPart(self._board, session, out=folder)
        self.faults = FaultPart(self._board, session, self.view)
        self.pilot = PilotPart(self._board, session, self.view)
        self.world.choose(FIRST_WORLD)
        self._unsubscribe = session.watch(on_snapshot=self._on_snapshot, on_failure=self._board.fail)
        self._last: Snapshot | None = None

    @property
    def snapshot(self) -> Snapshot:
        """Last snapshot of the simulation."""
        return self.session.snapshot

    @property
    def messages(self) -> list[Message]:
        """Reported messages, newest last."""
        return self._board.messages

    @property
    def failure(self) -> Exception | None:
        """Last error in full; None if there was none."""
        return self._board.failure

    @property
    def busy(self) -> str:
        """Action in progress that takes long; empty if there is none."""
        return self._board.busy

    @property
    def telemetry(self) -> Telemetry | None:
        """Telemetry of the followed vehicle; None if there is no vehicle."""
        snapshot = self.session.snapshot
        followed = self.view.followed_vehicle(snapshot)
        return None if followed is None else telemetry(snapshot, followed[0].name, followed[1])

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Register a listener, and return a function that removes it.

        Args:
            listener: Called with the topic of each change, in the thread of the change; must not block.
        """
        return self._board.subscribe(listener)

    def close(self) -> None:
        """Disconnect from the session; world and vehicles remain as they are."""
        self._unsubscribe()
        self._board.close()

    def _check_settings(self) -> None:
        try:
            set_aside = settings.set_aside_broken_settings()
        except ConfigError as error:
            self._board.fail(error)
            return
        if set_aside is not None:
            self._board.report(set_aside, error=True)

    def _on_snapshot(self, snapshot: Snapshot) -> None:
        """Notify listeners of changes of the simulation; called in the session's thread."""
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
