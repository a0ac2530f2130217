"""Page sections for the run, the vehicles, piloting and the view."""

import html
import json
import math
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import viser

from pegasus.panel.board import Message, Topic
from pegasus.panel.panel import Panel
from pegasus.panel.pilot_part import PilotInput
from pegasus.panel.simulation_part import MAX
from pegasus.panel.view_part import CameraMode, ViewPart
from pegasus.panel.viser.camera import ScreenshotRequests
from pegasus.panel.viser.fields import (
    Section,
    add_button,
    add_button_row,
    on_change,
    paragraph,
    set_content,
    set_options,
    set_value,
    table,
)
from pegasus.panel.viser.setup import Pick
from pegasus.session.snapshot import Snapshot

_SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "5", "10", MAX)
_STATUS_PERIOD, _LIST_PERIOD = 3, 10
_LISTED = 12
_NONE = "(none)"
_SHOWN_MESSAGES = 3

_FRAME = Path(__file__).with_name("pilot.html")
_FRAME_HEIGHT = 110
_MAX_PRESSED, _MAX_INPUTS = 32, 256


class StatusSection(Section):
    """Status of the simulation, messages and playback buttons."""

    topics = frozenset({Topic.MESSAGES, Topic.SIMULATION, Topic.WORLD})

    def __init__(self, gui: viser.GuiApi, panel: Panel) -> None:
        self._panel, part = panel, panel.simulation
        self._status = gui.add_html("")
        add_button_row(
            gui,
            "",
            {
                "Play": part.play,
                "Pause": part.pause,
                "Step": part.step,
                "Stop": part.stop,
                "Reset": part.reset,
            },
        )
        self._messages = gui.add_html("")

    def refresh(self) -> None:
        """Display the state of the panel."""
        panel = self._panel
        shown: list[Message] = panel.messages[-_SHOWN_MESSAGES:]
        lines = [paragraph(message.text, error=message.error) for message in shown]
        busy = [paragraph(f"{panel.busy} ...")] if panel.busy else []
        set_content(self._messages, "".join([*lines, *busy]))

    def tick(self, snapshot: Snapshot, number: int) -> None:
        """Display the state of the simulation."""
        if number % _STATUS_PERIOD:
            return
        if snapshot.world is None:
            set_content(self._status, paragraph("No world is loaded."))
            return
        line = f"{snapshot.world}: {snapshot.playback.value}, {snapshot.time:.1f} s"
        if snapshot.real_time_factor > 0:
            line += f", {snapshot.real_time_factor:.2f} times real time"
        if (waiting := self._panel.simulation.waiting) > 1.0:
            line += f", waiting for {waiting:.0f} s"
        set_content(self._status, paragraph(line))


class RunSection(Section):
    """Speed, wind, recording and screenshots.

    Args:
        server: The server, whose browsers render the screenshots.
        panel: The panel.
    """

    topics = frozenset({Topic.SIMULATION, Topic.WORLD})

    def __init__(self, server: viser.ViserServer, panel: Panel) -> None:
        gui, self._panel, part = server.gui, panel, panel.simulation
        self._shown_wind = (0.0, 0.0, 0.0), 0.0
        self._speed = gui.add_dropdown("Speed", _SPEEDS, initial_value="1")
        self._wind = gui.add_vector3(
            "Wind [m/s]", (0.0, 0.0, 0.0), step=0.1, hint="Towards east, north and up"
        )
        self._gusts = gui.add_number("Gusts [m/s]", 0.0, min=0.0, step=0.1, hint="Standard deviation")
        add_button(gui, "Set wind", lambda: part.set_wind(*self._wind.value, intensity=self._gusts.value))
        self._record = gui.add_checkbox("Record", initial_value=False)
        screenshot = gui.add_button("Screenshot")
        on_change(self._speed, part.set_speed)
        on_change(self._record, part.record)
        self._screenshots = ScreenshotRequests(panel.view)
        screenshot.on_click(lambda event: self._screenshots.take(event.client))

    def refresh(self) -> None:
        """Display the state of the panel."""
        speed = self._panel.simulation.speed
        set_options(self._speed, list(_SPEEDS), speed if isinstance(speed, str) else f"{speed:g}")
        # Resets the box if recording could not be switched.
        set_value(self._record, self._panel.simulation.records)

    def tick(self, snapshot: Snapshot, number: int) -> None:
        """Display the wind, which changes with the world."""
        wind = snapshot.mean_wind, snapshot.gusts
        if wind != self._shown_wind:
            self._shown_wind = wind
            set_value(self._wind, wind[0])
            set_value(self._gusts, wind[1])


class FleetSection(Section):
    """Vehicles in the world: state, selection, removal and manual flight."""

    topics = frozenset({Topic.VEHICLES, Topic.VIEW, Topic.WORLD})

    def __init__(self, gui: viser.GuiApi, panel: Panel, pick: Pick) -> None:
        self._panel, pilot = panel, panel.pilot
        self._list = gui.add_html("")
        self._chosen = gui.add_dropdown("Vehicle", (_NONE,), hint="For camera, steering and telemetry")
        self._copy = gui.add_number("Copy", 0, min=0, step=1, visible=False)
        add_button(gui, "Remove", self._remove)
        with gui.add_folder("Manual flight"):
            add_button_row(gui, "", {"Hover": pilot.hover, "Land": pilot.land})
            self._point = gui.add_vector3("Point [m]", (0.0, 0.0, 2.0), step=0.1)
            add_button_row(
                gui,
                "",
                {
                    "Go to point": lambda: pilot.go_to(*self._point.value),
                    "Go to click": lambda: pick("the point to fly to", pilot.go_to_click),
                },
            )
        with gui.add_folder("Steering buttons", expand_by_default=False):
            for label, key in (
                ("Forward", "w"), ("Back", "s"), ("Left", "a"), ("Right", "d"),
                ("Up", "r"), ("Down", "f"), ("Turn left", "q"), ("Turn right", "e"),
            ):  # fmt: skip
                gui.add_button(label, hint="Hold down").on_hold(_holding(panel, key), callback_hz=8.0)
        on_change(self._chosen, self._choose)
        on_change(self._copy, self._choose_copy)

    def refresh(self) -> None:
        """Display the state of the panel."""
        snapshot = self._panel.snapshot
        followed = self._panel.view.followed_vehicle(snapshot)
        names = [vehicle.name for vehicle in snapshot.vehicles] or [_NONE]
        set_options(self._chosen, names, names[0] if followed is None else followed[0].name)
        many = followed is not None and followed[0].count > 1
        if self._copy.visible != many:
            self._copy.visible = many
        set_value(self._copy, 0 if followed is None else followed[1])

    def tick(self, snapshot: Snapshot, number: int) -> None:
        """Display the state of the simulation."""
        if number % _LIST_PERIOD:
            return
        rows: list[tuple[str, ...]] = [
            (
                vehicle.name,
                f"{vehicle.count} x {vehicle.model}" if vehicle.count > 1 else vehicle.model,
                vehicle.segment
                or ("on the ground" if vehicle.in_contact.all() else vehicle.pilot or "no backend"),
                f"{vehicle.position[0, 2]:.1f} m",
            )
            for vehicle in snapshot.vehicles[:_LISTED]
        ]
        if len(snapshot.vehicles) > _LISTED:
            rows.append((f"and {len(snapshot.vehicles) - _LISTED} more", "", "", ""))
        set_content(self._list, table(rows) if rows else paragraph("There are no vehicles."))

    def _choose(self, name: str) -> None:
        """Follow the first copy of another vehicle."""
        if name != _NONE:
            self._panel.view.follow(name)

    def _choose_copy(self, copy: float) -> None:
        """Follow another copy of the followed vehicle."""
        followed = self._panel.view.followed_vehicle(self._panel.snapshot)
        if followed is not None:
            self._panel.view.follow(followed[0].name, int(copy))

    def _remove(self) -> None:
        if self._chosen.value != _NONE:
            self._panel.vehicle.remove(self._chosen.value)


class ViewSection(Section):
    """Camera and overlays of the view."""

    topics = frozenset({Topic.VIEW})

    def __init__(self, gui: viser.GuiApi, settings: ViewPart) -> None:
        self._part = part = settings
        modes = [str(mode) for mode in CameraMode]
        self._mode = gui.add_dropdown("Camera", modes, initial_value=str(part.mode))
        self._position = gui.add_vector3("Position [m]", part.viewpoint.position, step=0.1)
        self._target = gui.add_vector3("Target [m]", part.viewpoint.target, step=0.1)
        add_button(gui, "Move camera", lambda: part.set_viewpoint(self._position.value, self._target.value))
        drawing = part.drawing
        self._trails = gui.add_checkbox("Trails", drawing.trails)
        self._path = gui.add_checkbox("Reference path", drawing.reference_path)
        self._axes = gui.add_checkbox("Axes", drawing.axes)
        self._contacts = gui.add_checkbox("Contacts", drawing.contact_flashes)
        on_change(self._mode, part.set_mode)
        on_change(self._trails, lambda value: part.draw(trails=value))
        on_change(self._path, lambda value: part.draw(reference_path=value))
        on_change(self._axes, lambda value: part.draw(axes=value))
        on_change(self._contacts, lambda value: part.draw(contact_flashes=value))

    def refresh(self) -> None:
        """Display the state of the panel."""
        part = self._part
        set_value(self._mode, str(part.mode))
        set_value(self._position, part.viewpoint.position)
        set_value(self._target, part.viewpoint.target)
        set_value(self._trails, part.drawing.trails)
        set_value(self._path, part.drawing.reference_path)
        set_value(self._axes, part.drawing.axes)
        set_value(self._contacts, part.drawing.contact_flashes)


def _holding(panel: Panel, key: str) -> Callable[[object], None]:
    def hold(_: object) -> None:
        panel.pilot.steer((key,))

    return hold


def degrees(radians: float) -> str:
    """Return an angle as text in degrees.

    Args:
        radians: The angle [rad].
    """
    return f"{math.degrees(radians):.1f}°"


class PilotSection(Section):
    """Flight by keyboard and gamepad; keys count while the embedded frame has the keyboard focus.

    viser reports neither released keys nor gamepads. The frame detects both and writes their state into the
    text field next to it, so that it is transferred like all other fields, with the same access control.
    """

    def __init__(self, gui: viser.GuiApi, panel: Panel) -> None:
        self._panel = panel
        self._lock = threading.Lock()
        self._inputs: deque[PilotInput] = deque(maxlen=_MAX_INPUTS)
        frame = html.escape(_FRAME.read_text(encoding="utf-8"), quote=True)
        gui.add_html(
            f'<iframe title="Keyboard and gamepad" allow="gamepad" srcdoc="{frame}" style="display:block;'
            f'border:none;width:calc(100% - 20px);height:{_FRAME_HEIGHT}px;margin:4px 10px"></iframe>'
        )
        field = gui.add_text("Input", "", disabled=True, hint="State of keyboard and gamepad")
        # Queued callbacks see only the latest value of the field; a coroutine is called for every value.
        field.on_update(self._receive)
        field.on_update(self._steer)

    async def _receive(self, event: Any) -> None:
        received = parse_pilot_input(event.target.value) if event.client is not None else None
        if received is not None:
            self._inputs.append(received)

    def _steer(self, _: Any) -> None:
        # Only one thread waits for a slow simulation.
        while self._inputs and self._lock.acquire(blocking=False):
            try:
                inputs = [self._inputs.popleft() for _ in range(len(self._inputs))]
                if inputs:
                    self._panel.pilot.apply_inputs(inputs)
            finally:
                self._lock.release()


def parse_pilot_input(text: str) -> PilotInput | None:
    """Return the input encoded in a text of the frame; None if the text is invalid.

    Args:
        text: The text, JSON.
    """
    try:
        content = json.loads(text)
        keys, axes, buttons = content["keys"], content["axes"], content["buttons"]
        if max(len(keys), len(axes), len(buttons)) > _MAX_PRESSED:
            return None
        return PilotInput(tuple(map(str, keys)), tuple(map(float, axes)), tuple(map(int, buttons)))
    except (ValueError, TypeError, KeyError):
        return None
