"""The extension of Isaac Sim: a menu entry, the window, and the session behind it."""

import logging
from pathlib import Path
from typing import Any

import omni.ext
import omni.ui as ui
from omni.kit.menu.utils import MenuHelperExtensionFull

from pegasus.errors import ConfigError
from pegasus.isaac import kit, running
from pegasus.isaac.kit_session import KitSession
from pegasus.isaac.launch import OUT_SETTING, PLAY_SETTING, SCENARIO_SETTING
from pegasus.isaac.opened_stage import bring_back
from pegasus.isaac.replicator_part import ReplicatorPart
from pegasus.isaac.window import SHOWN_SETTING, TITLE, PegasusWindow
from pegasus.panel.panel import Panel
from pegasus_multirotor import other_package

_log = logging.getLogger(__name__)

_MENU = "Window"
_SETTLED = 10
"""Frames after the start of the application before the window is shown and a scenario is loaded."""


class PegasusExtension(omni.ext.IExt, MenuHelperExtensionFull):  # type: ignore[misc]
    """Pegasus in Isaac Sim's window; closing its own window touches nothing that flies."""

    def on_startup(self, ext_id: str) -> None:
        """Begin: called by Kit when the extension is enabled.

        Args:
            ext_id: Name and version of the extension.
        """
        self.session = KitSession()
        out = kit.setting(OUT_SETTING)
        folder = Path(out) if out else None
        self.panel = Panel(self.session, out=folder)
        self.replicator = ReplicatorPart(self.panel, self.session, out=folder)
        self._subscriptions: list[Any] = [kit.on_stage_opened(self._on_stage_opened)]
        self._frames = 0
        self.menu_startup(lambda: PegasusWindow(self.panel, self.replicator), TITLE, TITLE, _MENU)
        running.announce(self.session)
        self._starting: Any = kit.on_frame(self._start)
        _log.info("%s is on", ext_id)

    def on_shutdown(self) -> None:
        """End: called by Kit when the extension is disabled."""
        running.withdraw(self.session)
        self._subscriptions, self._starting = [], None
        self.menu_shutdown()
        self.replicator.close()
        self.panel.close()
        self.session.close()

    def _start(self) -> None:
        """Show the window and load the scenario of the start, once Isaac Sim has arranged itself."""
        # Isaac Sim docks its windows and opens an empty stage in its first frames; 5.1 is ready before that.
        self._frames += kit.is_ready()
        if self._frames < _SETTLED:
            return
        self._starting = None
        if (other := other_package()) is not None:
            _log.error(other)
        self._show()
        if scenario := kit.setting(SCENARIO_SETTING):
            self._load(str(scenario))

    def _show(self) -> None:
        """Show the window, unless it is open or its user has closed it."""
        window = ui.Workspace.get_window(TITLE)
        if kit.setting(SHOWN_SETTING) is not False and (window is None or not window.visible):
            ui.Workspace.show_window(TITLE, True)

    def _load(self, scenario: str) -> None:
        well = self.panel.world.load_scenario(scenario)
        if well and kit.setting(PLAY_SETTING):
            self.panel.simulation.play()
        if not well:
            _log.error(self.panel.messages[-1].text)

    def _on_stage_opened(self) -> None:
        """Bring back the vehicles that a stage was saved with."""
        if self.session.loading:
            return
        try:
            names = bring_back(self.session)
        except ConfigError as error:
            _log.error(str(error))
            return
        if names:
            _log.info("the stage brought back %s", ", ".join(names))
