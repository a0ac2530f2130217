"""The extension of Isaac Sim: a menu entry, the window, and the session behind it."""

import logging
from pathlib import Path
from typing import Any

import omni.ext
from omni.kit.menu.utils import MenuHelperExtensionFull

from pegasus.errors import ConfigError
from pegasus.isaac import kit
from pegasus.isaac.launch import OUT_SETTING, PLAY_SETTING, SCENARIO_SETTING
from pegasus.isaac.opened_stage import bring_back
from pegasus.isaac.session import KitSession
from pegasus.isaac.window import TITLE, PegasusWindow
from pegasus.panel.panel import Panel

_log = logging.getLogger(__name__)

_MENU = "Window"
_SETTLED = 10
"""Frames after the start of the application before a scenario is loaded."""


class PegasusExtension(omni.ext.IExt, MenuHelperExtensionFull):  # type: ignore[misc]
    """Pegasus in Isaac Sim's window; closing its own window touches nothing that flies."""

    def on_startup(self, ext_id: str) -> None:
        """Begin: called by Kit when the extension is enabled.

        Args:
            ext_id: Name and version of the extension.
        """
        self.session = KitSession()
        out = kit.setting(OUT_SETTING)
        self.panel = Panel(self.session, out=Path(out) if out else None)
        self._subscriptions: list[Any] = [kit.on_stage_opened(self._on_stage_opened)]
        self._starting: Any = None
        self._frames = 0
        self.menu_startup(lambda: PegasusWindow(self.panel), TITLE, TITLE, _MENU)
        _log.info("%s is on", ext_id)
        if kit.setting(SCENARIO_SETTING):
            self._starting = kit.on_frame(self._start)

    def on_shutdown(self) -> None:
        """End: called by Kit when the extension is disabled."""
        self._subscriptions, self._starting = [], None
        self.menu_shutdown()
        self.panel.close()
        self.session.close()

    def _start(self) -> None:
        """Load the scenario that Isaac Sim was started with, once nothing else replaces the stage."""
        # Isaac Sim opens an empty stage in its first frames; 5.1 says that it is ready before.
        self._frames += kit.is_ready()
        if self._frames < _SETTLED:
            return
        self._starting = None
        well = self.panel.world.load_scenario(str(kit.setting(SCENARIO_SETTING)))
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
