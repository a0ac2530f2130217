"""The panel as a window of Isaac Sim; it holds no state of its own and decides nothing."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import omni.ui as ui
from omni.kit.menu.utils import MenuHelperWindow

from pegasus.isaac import fields, kit
from pegasus.isaac.hand_controls import HandControls
from pegasus.isaac.replicator_part import ReplicatorPart
from pegasus.isaac.viewport import Screenshots, ViewportCamera
from pegasus.isaac.viewport_click import ViewportClick
from pegasus.isaac.viewport_marks import ViewportMarks
from pegasus.isaac.window_extras import ReplicatorSection, ScenarioSection, SensorSection
from pegasus.isaac.window_run import FleetSection, RunSection, ViewSection
from pegasus.isaac.window_setup import BackendSection, VehicleSection, WorldSection
from pegasus.isaac.window_telemetry import CameraSection, TelemetrySection
from pegasus.panel.board import Topic
from pegasus.panel.panel import Panel

TITLE = "Pegasus"
SHOWN_SETTING = "/persistent/pegasus/window"
"""Whether the window is shown when the extension starts; Kit keeps it from start to start."""

_WIDTH, _HEIGHT = 420, 820
_FRAMES_PER_LOOK = 10
_SHOWN_MESSAGES = 4


@dataclass
class _Shown:
    """A section, and the frame that is built anew when what it shows may have changed."""

    section: fields.Section
    frame: Any
    last: object
    """What it showed last: it is not built anew while that stays as it was, which would disturb typing."""


class PegasusWindow(MenuHelperWindow):  # type: ignore[misc]
    """Show a panel, and hand on what is pressed and typed.

    Args:
        panel: The panel. It goes on when the window is closed.
        replicator: Starts and stops a writer of Replicator; it goes on, too.
    """

    def __init__(self, panel: Panel, replicator: ReplicatorPart) -> None:
        super().__init__(TITLE, width=_WIDTH, height=_HEIGHT)
        self._panel, self._replicator = panel, replicator
        self._sections: list[_Shown] = []
        self._changed: set[Topic] = set()
        self._frames = 0
        self._status: Any = None
        self._hands, self._camera = HandControls(panel.pilot), ViewportCamera(panel.view)
        self._click = ViewportClick(panel.world.board)
        self._marks = ViewportMarks(panel.view)
        self._screenshots = Screenshots(panel.view)
        self._build()
        # In front of the tab that it is docked to: one that lies behind is not seen to be open.
        self.deferred_dock_in("Property", ui.DockPolicy.CURRENT_WINDOW_IS_ACTIVE)
        self._leave = panel.subscribe(self._changed.add)
        self._subscription = kit.on_frame(self._on_frame)

    def set_visibility_changed_listener(self, listener: Callable[[bool], None] | None) -> None:
        """Tell the menu whether the window is shown, and keep that for the next start.

        Args:
            listener: Called with whether it is shown; None for nobody, as when the extension ends.
        """

        def changed(shown: bool) -> None:
            kit.keep_setting(SHOWN_SETTING, shown)
            if listener is not None:
                listener(shown)

        super().set_visibility_changed_listener(None if listener is None else changed)

    def destroy(self) -> None:
        """Close the window; nothing that flies is touched."""
        self._leave()
        self._hands.switch(False)
        self._click.cancel()
        self._marks.clear()
        self._subscription = None
        for shown in self._sections:
            shown.section.close()
        self._sections = []
        super().destroy()

    def _build(self) -> None:
        panel, part = self._panel, self._panel.simulation
        with self.frame, ui.ScrollingFrame(), ui.VStack(spacing=4, height=0):
            self._status = fields.line("")
            fields.buttons(
                {
                    "Play": part.play,
                    "Pause": part.pause,
                    "Step": part.step,
                    "Stop": part.stop,
                    "Reset": part.reset,
                }
            )
            for section in (
                _MessageSection(panel),
                WorldSection(panel),
                ScenarioSection(panel),
                VehicleSection(panel, self._click),
                SensorSection(panel),
                BackendSection(panel),
                FleetSection(panel, self._hands, self._click),
                ViewSection(panel),
                RunSection(panel),
                ReplicatorSection(self._replicator),
            ):
                self._add(section)
            with ui.CollapsableFrame("Telemetry", height=0), ui.VStack(spacing=4, height=0):
                self._telemetry = TelemetrySection(panel)
            with ui.CollapsableFrame("Cameras", height=0), ui.VStack(spacing=4, height=0):
                self._pictures = CameraSection(panel)

    def _add(self, section: fields.Section) -> None:
        """Add a section, folded away under a title where it has one."""

        def make() -> None:
            with ui.VStack(spacing=4, height=0):
                section.build()

        if section.title:
            with ui.CollapsableFrame(section.title, height=0):
                frame = ui.Frame(height=0)
        else:
            frame = ui.Frame(height=0)
        frame.set_build_fn(make)
        self._sections.append(_Shown(section, frame, section.seen()))

    def _on_frame(self) -> None:
        self._hands.frame()
        self._click.frame()
        self._camera.show(self._panel.snapshot)
        self._marks.show(self._panel.snapshot)
        self._screenshots.frame()
        changed = set(self._changed)
        self._changed.clear()
        for shown in self._sections:
            if shown.section.topics & changed and (now := shown.section.seen()) != shown.last:
                shown.last = now
                shown.frame.rebuild()
        self._frames += 1
        if self._frames % _FRAMES_PER_LOOK == 0:
            self._look()

    def _look(self) -> None:
        """Show what changes by itself."""
        snapshot = self._panel.snapshot
        if snapshot.world is None:
            self._status.text = "No world is loaded."
        else:
            said = f"{snapshot.world}: {snapshot.playback.value}, {snapshot.time:.1f} s"
            if snapshot.scene is not None and (share := snapshot.scene.progress) is not None:
                said += f", reading the world for its sensors: {share:.0%}"
            factor = snapshot.real_time_factor
            self._status.text = f"{said}, {factor:.2f} times real time" if factor > 0 else said
        for shown in self._sections:
            shown.section.look()
        self._telemetry.look()
        self._pictures.look()


class _MessageSection(fields.Section):
    """What was reported last."""

    topics = frozenset({Topic.MESSAGES})

    def __init__(self, panel: Panel) -> None:
        self._panel = panel

    def build(self) -> None:
        """Fill the section."""
        for message in self._panel.messages[-_SHOWN_MESSAGES:]:
            fields.line(message.text, error=message.error)
