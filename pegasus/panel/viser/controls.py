"""Controls of the page: sections of the panel, and clicks into the view."""

import threading
from collections.abc import Callable

import viser

from pegasus.panel import run_sections, setup_sections, telemetry_sections
from pegasus.panel.board import Topic
from pegasus.panel.fields import Select
from pegasus.panel.panel import Panel
from pegasus.panel.simulation_part import MAX
from pegasus.panel.view_part import ViewPart
from pegasus.panel.viser.camera import ScreenshotRequests
from pegasus.panel.viser.fields import PageSection, paragraph, set_content
from pegasus.panel.viser.pilot import PilotFrame, add_steering_buttons
from pegasus.panel.viser.view import WebView
from pegasus.session.snapshot import Snapshot

Ray = tuple[float, float, float]
_SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "5", "10", MAX)
_LIVE_PERIOD = 6
"""Number of frames between two updates of what changes during a run."""


class WebControls:
    """Controls of a panel in the page of a view."""

    def __init__(self, view: WebView, panel: Panel) -> None:
        self._server = view.server
        self._number = 0
        self._changed = set(Topic)
        self._lock = threading.Lock()
        self._picked: Callable[[Ray, Ray], object] | None = None
        self.screenshots = ScreenshotRequests(panel.view)
        server, gui = view.server, view.server.gui
        status = PageSection(server, run_sections.status(panel))
        tabs = gui.add_tab_group()
        with tabs.add_tab("World"):
            world = PageSection(server, setup_sections.world(panel))
            with gui.add_folder("Scenario", expand_by_default=False):
                scenario = PageSection(server, setup_sections.scenario(panel))
        with tabs.add_tab("Vehicle"):
            vehicle = PageSection(
                server,
                setup_sections.vehicle(
                    panel, lambda: self._pick("the vehicle's position", panel.vehicle.place)
                ),
            )
            with gui.add_folder("Mount sensors", expand_by_default=False):
                sensors = PageSection(server, setup_sections.sensors(panel))
            with gui.add_folder("Backend"):
                backend = PageSection(server, setup_sections.backend(panel, local=False))
        with tabs.add_tab("Fly"):
            fleet = PageSection(
                server,
                run_sections.fleet(panel, lambda: self._pick("the point to fly to", panel.pilot.go_to_click)),
            )
            with gui.add_folder("Steering buttons", expand_by_default=False):
                add_steering_buttons(gui, panel)
            with gui.add_folder("Keyboard and gamepad"):
                PilotFrame(gui, panel)
            with gui.add_folder("Faults", expand_by_default=False):
                faults = PageSection(server, run_sections.faults(panel))
            with gui.add_folder("Run"):
                run = PageSection(server, run_sections.run(panel, [_speed(panel)]))
                screenshot = gui.add_button("Screenshot")
                screenshot.on_click(lambda event: self.screenshots.take(event.client))
        with tabs.add_tab("Telemetry"):
            telemetry = PageSection(server, telemetry_sections.telemetry(panel))
        camera_tab = tabs.add_tab("View")
        with camera_tab:
            camera = PageSection(server, run_sections.view(panel.view))
            cameras = PageSection(server, telemetry_sections.cameras(panel), camera_tab)
        self.sections = {
            part.section.title: part
            for part in (
                status, world, scenario, vehicle, sensors, backend,
                fleet, faults, run, telemetry, camera, cameras,
            )
        }  # fmt: skip
        """Sections by their titles."""
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
        for part in self.sections.values():
            if part.section.topics & changed:
                part.refresh()
            elif self._number % _LIVE_PERIOD == 0:
                part.refresh(live=True)

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
        self._status = view.server.gui.add_html("")
        PageSection(view.server, run_sections.view(settings))
        view.on_frame(self._show)

    def _show(self, snapshot: Snapshot) -> None:
        line = f"{snapshot.world}: {snapshot.time:.1f} s, {snapshot.real_time_factor:.2f} times real time"
        set_content(self._status, paragraph(line))


def _speed(panel: Panel) -> Select:
    """Return the choice of the speed."""
    part = panel.simulation

    def speed() -> str:
        return part.speed if isinstance(part.speed, str) else f"{part.speed:g}"

    return Select("Speed", speed, part.set_speed, lambda: _SPEEDS)
