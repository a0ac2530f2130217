"""The Kit extension: menu entry, window, and session."""

import logging
from pathlib import Path
from typing import Any

import omni.ext
import omni.ui as ui
from omni.kit.menu.utils import MenuHelperExtensionFull

from pegasus.base.errors import ConfigError
from pegasus.isaac import kit, register_session, require_first, unregister_session
from pegasus.isaac.compat import isaac_sim
from pegasus.isaac.kit_session import KitSession
from pegasus.isaac.launch import OUT_SETTING, PLAY_SETTING, SCENARIO_SETTING
from pegasus.isaac.window import SHOWN_SETTING, TITLE, PegasusWindow
from pegasus.isaac.window_replicator import ReplicatorPart
from pegasus.panel.panel import Panel
from pegasus_multirotor import other_package

_log = logging.getLogger(__name__)

_MENU = "Window"
_SETTLED = 10
"""Frames after the start of the application until the window is shown and a scenario is loaded."""


class PegasusExtension(omni.ext.IExt, MenuHelperExtensionFull):  # type: ignore[misc]
    """Extension of Kit with the session, the panel and its window."""

    def on_startup(self, ext_id: str) -> None:
        """Start the session; Kit calls it with the extension's name and version when it is enabled."""
        self._is_started = False
        try:
            require_first(ext_id)
        except ConfigError as error:
            _log.error(str(error))
            return
        self._is_started = True
        self.session = KitSession()
        out = kit.setting(OUT_SETTING)
        folder = Path(out) if out else None
        self.panel = Panel(self.session, out=folder)
        self.replicator = ReplicatorPart(self.panel, self.session, out=folder)
        self._subscriptions: list[Any] = [kit.on_stage_opened(self._on_stage_opened)]
        self._frames = 0
        self.menu_startup(lambda: PegasusWindow(self.panel, self.replicator), TITLE, TITLE, _MENU)
        register_session(self.session, ext_id)
        self._starting: Any = isaac_sim().on_frame(self._start)
        _log.info("%s is enabled", ext_id)

    def on_shutdown(self) -> None:
        """Close the session; Kit calls it when the extension is disabled."""
        if not self._is_started:
            return
        unregister_session(self.session)
        self._subscriptions, self._starting = [], None
        self.menu_shutdown()
        self.replicator.close()
        self.panel.close()
        self.session.close()

    def _start(self) -> None:
        """Show the window and load the given scenario, once Isaac Sim has laid out its windows."""
        # Isaac Sim docks its windows and opens an empty stage in its first frames; 5.1 reports ready earlier.
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
        """Show the window, unless it is open or was closed by the user."""
        window = ui.Workspace.get_window(TITLE)
        if kit.setting(SHOWN_SETTING) is not False and (window is None or not window.visible):
            ui.Workspace.show_window(TITLE, True)

    def _load(self, scenario: str) -> None:
        loaded = self.panel.world.load_scenario(scenario)
        if loaded and kit.setting(PLAY_SETTING):
            self.panel.simulation.play()
        if not loaded:
            _log.error(self.panel.messages[-1].text)

    def _on_stage_opened(self) -> None:
        """Restore the vehicles that were saved with the stage."""
        if self.session.loading:
            return
        try:
            names = self.session.restore_vehicles()
        except ConfigError as error:
            _log.error(str(error))
            return
        if names:
            _log.info("restored from the stage: %s", ", ".join(names))
