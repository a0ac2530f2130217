"""The window of Pegasus in Isaac Sim: a view of the panel, without state of its own."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import omni.ui as ui
from omni.kit.menu.utils import MenuHelperWindow

from pegasus.base.errors import ConfigError
from pegasus.isaac import kit
from pegasus.isaac.compat import isaac_sim
from pegasus.isaac.environments import Environments
from pegasus.isaac.fields import WindowSection
from pegasus.isaac.hand_controls import HandControls
from pegasus.isaac.kit_session import KitSession
from pegasus.isaac.viewport import Screenshots, ViewportCamera, ViewportClick, ViewportMarks
from pegasus.isaac.window_replicator import ReplicatorPart, replicator
from pegasus.panel import run_sections, setup_sections, telemetry_sections
from pegasus.panel.board import Topic
from pegasus.panel.fields import Buttons, Check, Item, Lines, Section, Select
from pegasus.panel.panel import Panel

TITLE = "Pegasus"
SHOWN_SETTING = "/persistent/pegasus/window"
"""Setting that Kit saves between starts: the window is shown when the extension starts."""

_WIDTH, _HEIGHT = 420, 820
_FRAMES_PER_UPDATE = 10
_NONE = "(none)"


class PegasusWindow(MenuHelperWindow):  # type: ignore[misc]
    """Window of the panel; closing it affects neither the panel nor a Replicator writer.

    Args:
        panel: The panel.
        replicator: Part of the panel that runs a Replicator writer.
    """

    def __init__(self, panel: Panel, replicator: ReplicatorPart) -> None:
        super().__init__(TITLE, width=_WIDTH, height=_HEIGHT)
        self._panel, self._replicator = panel, replicator
        self._sections: list[WindowSection] = []
        self._environments = Environments(panel.world.board)
        self._environment: tuple[str, str, str | None] = ("", _NONE, None)
        self._changed: set[Topic] = set()
        self._frames = 0
        self._hands, self._camera = HandControls(panel.pilot), ViewportCamera(panel.view)
        self._click = ViewportClick(panel.world.board)
        self._marks = ViewportMarks(panel.view)
        self._screenshots = Screenshots(panel.view)
        self._build()
        # As the active tab: an inactive one is hidden behind Property.
        self.deferred_dock_in("Property", ui.DockPolicy.CURRENT_WINDOW_IS_ACTIVE)
        self._unsubscribe = panel.subscribe(self._changed.add)
        self._subscription = isaac_sim().on_frame(self._on_frame)

    def set_visibility_changed_listener(self, listener: Callable[[bool], None] | None) -> None:
        """Report the visibility to the menu, and save it for the next start.

        Args:
            listener: Called with the visibility; None when the extension ends.
        """

        def changed(shown: bool) -> None:
            kit.keep_setting(SHOWN_SETTING, shown)
            if listener is not None:
                listener(shown)

        super().set_visibility_changed_listener(None if listener is None else changed)

    def destroy(self) -> None:
        """Close the window; vehicles fly on."""
        self._unsubscribe()
        self._hands.enable(False)
        self._click.cancel()
        self._marks.clear()
        self._subscription = None
        self._environments.cancel()
        self._sections = []
        super().destroy()

    def _build(self) -> None:
        panel, click = self._panel, self._click
        view = run_sections.view(panel.view)
        with self.frame, ui.ScrollingFrame(), ui.VStack(spacing=4, height=0):
            self._sections = [
                WindowSection(section)
                for section in (
                    run_sections.status(panel),
                    self._world(),
                    setup_sections.scenario(panel),
                    setup_sections.vehicle(
                        panel, lambda: click.request("the start position", panel.vehicle.place_on)
                    ),
                    setup_sections.sensors(panel),
                    setup_sections.backend(panel, local=True),
                    self._fleet(),
                    run_sections.faults(panel),
                    _extended(view, Buttons({"Screenshot": panel.view.screenshot})),
                    run_sections.run(panel),
                    replicator(self._replicator),
                    telemetry_sections.telemetry(panel),
                    telemetry_sections.cameras(panel),
                )
            ]

    def _world(self) -> Section:
        """Return the section of the world, with the environments of Isaac Sim."""
        panel, known = self._panel, self._environments

        def chosen() -> str:
            file, name, _ = self._environment
            return name if file == panel.world.chosen else _NONE

        def image(path: str) -> str | None:
            file, _, found = self._environment
            return found if path == file else None

        def choose(name: str) -> None:
            def use(file: Path, picture: str | None) -> None:
                self._environment = str(file), name, picture
                panel.world.choose(file)

            if name != _NONE:
                known.open(name, use)

        return _extended(
            setup_sections.world(panel, image),
            Select("Isaac Sim world", chosen, choose, lambda: [_NONE, *known.known]),
            Buttons({"List all environments": known.search}),
            Buttons({"Fly on the open stage": self._take_stage}),
        )

    def _take_stage(self) -> None:
        board, session = self._panel.world.board, self._panel.session
        assert isinstance(session, KitSession)
        try:
            session.load_open_stage(rate=self._panel.world.rate)
        except ConfigError as error:
            board.fail(error)
            return
        board.report("vehicles are now added to the open stage")

    def _fleet(self) -> Section:
        """Return the section of the vehicles, with keyboard and gamepad."""
        panel, hands = self._panel, self._hands
        return _extended(
            run_sections.fleet(
                panel, lambda: self._click.request("the point to fly over", panel.pilot.fly_above)
            ),
            Check("Keys and gamepad", lambda: hands.enabled, hands.enable),
            Lines(lambda: [_KEYS]),
        )

    def _on_frame(self) -> None:
        self._hands.frame()
        self._click.frame()
        self._camera.show(self._panel.snapshot)
        self._marks.show(self._panel.snapshot)
        self._screenshots.frame()
        changed = set(self._changed)
        self._changed.clear()
        for section in self._sections:
            section.refresh(changed)
        self._frames += 1
        if self._frames % _FRAMES_PER_UPDATE == 0:
            self._update()

    def _update(self) -> None:
        """Update values that change during a run."""
        for section in self._sections:
            section.update()


_KEYS = (
    "W, S, A, D: move; R, F: climb; Q, E: turn; T: take off; L: land. Left stick: climb and turn; "
    "right stick: move; A: take off; B: land. Kit's own shortcuts receive the keys too."
)


def _extended(section: Section, *items: Item) -> Section:
    """Return a section with further items."""
    return dataclasses.replace(section, items=[*section.items, *items])
