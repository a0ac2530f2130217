"""The window of Pegasus in Isaac Sim: a view of the panel, without state of its own."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import omni.ui as ui
from omni.kit.menu.utils import MenuHelperWindow

from pegasus.isaac import fields, kit
from pegasus.isaac.compat import isaac_sim
from pegasus.isaac.viewport import Screenshots, ViewportCamera, ViewportClick, ViewportMarks
from pegasus.isaac.window_faults import FaultSection
from pegasus.isaac.window_replicator import ReplicatorPart, ReplicatorSection
from pegasus.isaac.window_run import FleetSection, HandControls, RunSection, ViewSection
from pegasus.isaac.window_setup import (
    BackendSection,
    ScenarioSection,
    SensorSection,
    VehicleSection,
    WorldSection,
)
from pegasus.isaac.window_telemetry import CameraSection, TelemetrySection
from pegasus.panel.board import Topic
from pegasus.panel.panel import Panel

TITLE = "Pegasus"
SHOWN_SETTING = "/persistent/pegasus/window"
"""Setting that Kit saves between starts: the window is shown when the extension starts."""

_WIDTH, _HEIGHT = 420, 820
_FRAMES_PER_UPDATE = 10
_SHOWN_MESSAGES = 4


@dataclass
class _Shown:
    """A section, with the frame that is rebuilt when its shown state changes."""

    section: fields.Section
    frame: Any
    last: object
    """Key of the state shown last; a rebuild without a change would disturb typing."""


class PegasusWindow(MenuHelperWindow):  # type: ignore[misc]
    """Window of the panel; closing it affects neither the panel nor a Replicator writer.

    Args:
        panel: The panel.
        replicator: Part of the panel that runs a Replicator writer.
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
                FaultSection(panel),
                ViewSection(panel),
                RunSection(panel),
                ReplicatorSection(panel, self._replicator),
            ):
                self._add(section)
            with ui.CollapsableFrame("Telemetry", height=0), ui.VStack(spacing=4, height=0):
                self._telemetry = TelemetrySection(panel)
            with ui.CollapsableFrame("Cameras", height=0), ui.VStack(spacing=4, height=0):
                self._images = CameraSection(panel)

    def _add(self, section: fields.Section) -> None:
        """Add a section, below a heading if it has a title."""

        def make() -> None:
            with ui.VStack(spacing=4, height=0):
                section.build()

        if section.title:
            with ui.CollapsableFrame(section.title, height=0):
                frame = ui.Frame(height=0)
        else:
            frame = ui.Frame(height=0)
        frame.set_build_fn(make)
        self._sections.append(_Shown(section, frame, section.state_key()))

    def _on_frame(self) -> None:
        self._hands.frame()
        self._click.frame()
        self._camera.show(self._panel.snapshot)
        self._marks.show(self._panel.snapshot)
        self._screenshots.frame()
        changed = set(self._changed)
        self._changed.clear()
        for shown in self._sections:
            if shown.section.topics & changed and (now := shown.section.state_key()) != shown.last:
                shown.last = now
                shown.frame.rebuild()
        self._frames += 1
        if self._frames % _FRAMES_PER_UPDATE == 0:
            self._update()

    def _update(self) -> None:
        """Update values that change during a run."""
        snapshot = self._panel.snapshot
        if snapshot.world is None:
            self._status.text = "No world is loaded."
        else:
            status = f"{snapshot.world}: {snapshot.playback.value}, {snapshot.time:.1f} s"
            if snapshot.scene is not None and (share := snapshot.scene.progress) is not None:
                status += f", reading the world for its sensors: {share:.0%}"
            factor = snapshot.real_time_factor
            self._status.text = f"{status}, {factor:.2f} times real time" if factor > 0 else status
        for shown in self._sections:
            shown.section.update()
        self._telemetry.update()
        self._images.update()


class _MessageSection(fields.Section):
    """Last messages of the panel."""

    topics = frozenset({Topic.MESSAGES})

    def build(self) -> None:
        """Build the widgets."""
        for message in self._panel.messages[-_SHOWN_MESSAGES:]:
            fields.line(message.text, error=message.error)
