"""Controls of the page: sections of the panel, and clicks into the view."""

import threading
from collections.abc import Callable

import viser

from pegasus.panel.board import Topic
from pegasus.panel.panel import Panel
from pegasus.panel.view_part import ViewPart
from pegasus.panel.viser.faults import FaultSection
from pegasus.panel.viser.fields import Section, paragraph, set_content
from pegasus.panel.viser.run import FleetSection, PilotSection, RunSection, StatusSection, ViewSection
from pegasus.panel.viser.setup import (
    BackendSection,
    Ray,
    ScenarioSection,
    SensorSection,
    VehicleSection,
    WorldSection,
)
from pegasus.panel.viser.telemetry import CameraSection, FiguresSection, PlotSection
from pegasus.panel.viser.view import WebView
from pegasus.session.snapshot import Snapshot


class WebControls:
    """Controls of a panel in the page of a view."""

    def __init__(self, view: WebView, panel: Panel) -> None:
        self._server, self._panel = view.server, panel
        self._number = 0
        self._changed = set(Topic)
        self._lock = threading.Lock()
        self._picked: Callable[[Ray, Ray], object] | None = None
        gui = view.server.gui
        self._sections: list[Section] = [StatusSection(gui, panel)]
        tabs = gui.add_tab_group()
        with tabs.add_tab("World"):
            self._sections.append(WorldSection(gui, panel))
            with gui.add_folder("Scenario", expand_by_default=False):
                self._sections.append(ScenarioSection(gui, panel))
        with tabs.add_tab("Vehicle"):
            self._sections.append(VehicleSection(gui, panel, self._pick))
            with gui.add_folder("Mount sensors", expand_by_default=False):
                self._sections.append(SensorSection(gui, panel))
            with gui.add_folder("Backend"):
                self._sections.append(BackendSection(gui, panel))
        with tabs.add_tab("Fly"):
            self._sections.append(FleetSection(gui, panel, self._pick))
            with gui.add_folder("Keyboard and gamepad"):
                self._sections.append(PilotSection(gui, panel))
            with gui.add_folder("Faults", expand_by_default=False):
                self._sections.append(FaultSection(gui, panel))
            with gui.add_folder("Run"):
                self._sections.append(RunSection(view.server, panel))
        with tabs.add_tab("Telemetry"):
            self._sections += [FiguresSection(gui, panel), PlotSection(gui, panel)]
        camera_tab = tabs.add_tab("View")
        with camera_tab:
            self._sections.append(ViewSection(gui, panel.view))
            cameras = CameraSection(gui, panel)
            cameras.put_into(lambda: camera_tab)
            self._sections.append(cameras)
        self._unsubscribe = panel.subscribe(self._on_change)
        view.on_frame(self._show)

    def close(self) -> None:
        """Disconnect from the panel."""
        self._unsubscribe()

    def _on_change(self, topic: Topic) -> None:
        with self._lock:
            self._changed.add(topic)

    def _show(self, snapshot: Snapshot) -> None:
        with self._lock:
            changed, self._changed = self._changed, set()
        self._number += 1
        for section in self._sections:
            if section.topics & changed:
                section.refresh()
            section.tick(snapshot, self._number)

    def _pick(self, purpose: str, use: Callable[[Ray, Ray], object]) -> None:
        """Pass the next click into the view to a function."""
        waits, self._picked = self._picked is not None, use
        for client in self._server.get_clients().values():
            client.add_notification("Click in the view", f"to choose {purpose}.", auto_close_seconds=4.0)
        if not waits:
            self._server.scene.on_click()(self._click)

    def _click(self, event: viser.SceneClickEvent) -> None:
        use, self._picked = self._picked, None
        if use is not None:
            self._server.scene.remove_click_callback(self._click)
            use(event.ray_origin, event.ray_direction)


class WatchControls:
    """Status and view settings in the page of a flight that is only displayed."""

    def __init__(self, view: WebView, settings: ViewPart) -> None:
        gui = view.server.gui
        self._status = gui.add_html("")
        self._view = ViewSection(gui, settings)
        self._view.refresh()
        view.on_frame(self._show)

    def _show(self, snapshot: Snapshot) -> None:
        line = f"{snapshot.world}: {snapshot.time:.1f} s, {snapshot.real_time_factor:.2f} times real time"
        set_content(self._status, paragraph(line))
