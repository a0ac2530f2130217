"""The page's sections for the run: play and pause, the vehicles in the world, flight by hand, the view."""

import math
from collections.abc import Callable

import viser

from pegasus.panel.board import Message, Topic
from pegasus.panel.panel import Panel
from pegasus.panel.simulation_part import MAX
from pegasus.panel.snapshot import Snapshot
from pegasus.panel.view_part import CameraMode, ViewPart
from pegasus.panel.web_fields import (
    Section,
    on_buttons,
    on_press,
    on_user,
    paragraph,
    put,
    put_content,
    put_options,
    table,
)
from pegasus.panel.web_screenshot import Screenshots
from pegasus.panel.web_setup import Pick

_SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "5", "10", MAX)
_STATUS_PERIOD, _LIST_PERIOD = 3, 10
_LISTED = 12
_NOBODY = "(none)"
_SHOWN_MESSAGES = 3


class StatusSection(Section):
    """How the simulation goes, what was reported, and the buttons that run it.

    Args:
        gui: The page.
        panel: The panel.
    """

    topics = frozenset({Topic.MESSAGES, Topic.SIMULATION, Topic.WORLD})

    def __init__(self, gui: viser.GuiApi, panel: Panel) -> None:
        self._panel, part = panel, panel.simulation
        self._status = gui.add_html("")
        on_buttons(
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
        """Show what the panel holds."""
        panel = self._panel
        shown: list[Message] = panel.messages[-_SHOWN_MESSAGES:]
        lines = [paragraph(message.text, error=message.error) for message in shown]
        busy = [paragraph(f"{panel.busy} ...")] if panel.busy else []
        put_content(self._messages, "".join([*lines, *busy]))

    def tick(self, snapshot: Snapshot, number: int) -> None:
        """Show what changes by itself."""
        if number % _STATUS_PERIOD:
            return
        if snapshot.world is None:
            put_content(self._status, paragraph("No world is loaded."))
            return
        line = f"{snapshot.world}: {snapshot.playback.value}, {snapshot.time:.1f} s"
        if snapshot.real_time_factor > 0:
            line += f", {snapshot.real_time_factor:.2f} times real time"
        if (waiting := self._panel.simulation.waiting) > 1.0:
            line += f", waiting for {waiting:.0f} s"
        put_content(self._status, paragraph(line))


class RunSection(Section):
    """Speed, wind, recording and screenshots.

    Args:
        server: The server, whose browsers take the screenshots.
        panel: The panel.
    """

    topics = frozenset({Topic.SIMULATION, Topic.WORLD})

    def __init__(self, server: viser.ViserServer, panel: Panel) -> None:
        gui, self._panel, part = server.gui, panel, panel.simulation
        self._blows = (0.0, 0.0, 0.0), 0.0
        self._speed = gui.add_dropdown("Speed", _SPEEDS, initial_value="1")
        self._wind = gui.add_vector3(
            "Wind [m/s]", (0.0, 0.0, 0.0), step=0.1, hint="Towards east, north and up"
        )
        self._gusts = gui.add_number("Gusts [m/s]", 0.0, min=0.0, step=0.1, hint="Standard deviation")
        on_press(gui, "Set wind", lambda: part.set_wind(*self._wind.value, intensity=self._gusts.value))
        self._record = gui.add_checkbox("Record", initial_value=False)
        screenshot = gui.add_button("Screenshot")
        on_user(self._speed, part.set_speed)
        on_user(self._record, part.record)
        self._screenshots = Screenshots(panel.view)
        screenshot.on_click(lambda event: self._screenshots.take(event.client))

    def refresh(self) -> None:
        """Show what the panel holds."""
        speed = self._panel.simulation.speed
        put_options(self._speed, list(_SPEEDS), speed if isinstance(speed, str) else f"{speed:g}")
        # What could not be done is not shown as done.
        put(self._record, self._panel.simulation.records)

    def tick(self, snapshot: Snapshot, number: int) -> None:
        """Show what changes by itself: the wind of another world."""
        blows = snapshot.mean_wind, snapshot.gusts
        if blows != self._blows:
            self._blows = blows
            put(self._wind, blows[0])
            put(self._gusts, blows[1])


class FleetSection(Section):
    """The vehicles in the world: state, follow, remove, fly by hand.

    Args:
        gui: The page.
        panel: The panel.
        pick: Asks for a click into the view.
    """

    topics = frozenset({Topic.VEHICLES, Topic.VIEW, Topic.WORLD})

    def __init__(self, gui: viser.GuiApi, panel: Panel, pick: Pick) -> None:
        self._panel, pilot = panel, panel.pilot
        self._list = gui.add_html("")
        self._chosen = gui.add_dropdown("Vehicle", (_NOBODY,), hint="Followed, steered and shown")
        self._copy = gui.add_number("Copy", 0, min=0, step=1, visible=False)
        on_press(gui, "Remove", self._remove)
        with gui.add_folder("By hand"):
            on_buttons(gui, "", {"Hover": pilot.hover, "Land": pilot.land})
            self._point = gui.add_vector3("Point [m]", (0.0, 0.0, 2.0), step=0.1)
            on_buttons(
                gui,
                "",
                {
                    "Go to point": lambda: pilot.go_to(*self._point.value),
                    "Go to click": lambda: pick("the point to fly to", pilot.go_to_click),
                },
            )
        with gui.add_folder("Buttons to hold", expand_by_default=False):
            for label, key in (
                ("Forward", "w"), ("Back", "s"), ("Left", "a"), ("Right", "d"),
                ("Up", "r"), ("Down", "f"), ("Turn left", "q"), ("Turn right", "e"),
            ):  # fmt: skip
                gui.add_button(label, hint="Hold it").on_hold(_holding(panel, key), callback_hz=8.0)
        on_user(self._chosen, self._choose)
        on_user(self._copy, lambda _: self._follow(self._chosen.value))

    def refresh(self) -> None:
        """Show what the panel holds."""
        snapshot = self._panel.snapshot
        followed = self._panel.view.followed_vehicle(snapshot)
        names = [vehicle.name for vehicle in snapshot.vehicles] or [_NOBODY]
        put_options(self._chosen, names, names[0] if followed is None else followed[0].name)
        many = followed is not None and followed[0].count > 1
        if self._copy.visible != many:
            self._copy.visible = many
        put(self._copy, 0 if followed is None else followed[1])

    def tick(self, snapshot: Snapshot, number: int) -> None:
        """Show what changes by itself."""
        if number % _LIST_PERIOD:
            return
        rows: list[tuple[str, ...]] = [
            (
                vehicle.name,
                f"{vehicle.count} x {vehicle.model}" if vehicle.count > 1 else vehicle.model,
                vehicle.segment
                or ("on the ground" if vehicle.in_contact.all() else vehicle.pilot or "unflown"),
                f"{vehicle.position[0, 2]:.1f} m",
            )
            for vehicle in snapshot.vehicles[:_LISTED]
        ]
        if len(snapshot.vehicles) > _LISTED:
            rows.append((f"and {len(snapshot.vehicles) - _LISTED} more", "", "", ""))
        put_content(self._list, table(rows) if rows else paragraph("There are no vehicles."))

    def _follow(self, name: str) -> None:
        if name != _NOBODY:
            vehicle = self._panel.snapshot.vehicle(name)
            copy = int(self._copy.value) if vehicle is not None and vehicle.count > 1 else 0
            self._panel.view.follow(name, copy)

    def _choose(self, name: str) -> None:
        """Follow the first copy of another vehicle: it may not have as many as the one before."""
        if name != _NOBODY:
            self._panel.view.follow(name)

    def _remove(self) -> None:
        if self._chosen.value != _NOBODY:
            self._panel.vehicle.remove(self._chosen.value)


class ViewSection(Section):
    """Where the view is seen from, and what is drawn into it.

    Args:
        gui: The page.
        look: What is looked at and drawn.
    """

    topics = frozenset({Topic.VIEW})

    def __init__(self, gui: viser.GuiApi, look: ViewPart) -> None:
        self._part = part = look
        modes = [str(mode) for mode in CameraMode]
        self._mode = gui.add_dropdown("Camera", modes, initial_value=str(part.mode))
        self._eye = gui.add_vector3("Position [m]", part.viewpoint.position, step=0.1)
        self._target = gui.add_vector3("Target [m]", part.viewpoint.target, step=0.1)
        on_press(gui, "Look", lambda: part.look(self._eye.value, self._target.value))
        drawing = part.drawing
        self._trails = gui.add_checkbox("Trails", drawing.trails)
        self._path = gui.add_checkbox("Reference path", drawing.reference_path)
        self._axes = gui.add_checkbox("Axes", drawing.axes)
        self._contacts = gui.add_checkbox("Contacts", drawing.contact_flashes)
        on_user(self._mode, part.set_mode)
        on_user(self._trails, lambda value: part.draw(trails=value))
        on_user(self._path, lambda value: part.draw(reference_path=value))
        on_user(self._axes, lambda value: part.draw(axes=value))
        on_user(self._contacts, lambda value: part.draw(contact_flashes=value))

    def refresh(self) -> None:
        """Show what the panel holds."""
        part = self._part
        put(self._mode, str(part.mode))
        put(self._eye, part.viewpoint.position)
        put(self._target, part.viewpoint.target)
        put(self._trails, part.drawing.trails)
        put(self._path, part.drawing.reference_path)
        put(self._axes, part.drawing.axes)
        put(self._contacts, part.drawing.contact_flashes)


def _holding(panel: Panel, key: str) -> Callable[[object], None]:
    def hold(_: object) -> None:
        panel.pilot.steer((key,))

    return hold


def degrees(radians: float) -> str:
    """Return an angle as it is read.

    Args:
        radians: The angle [rad].
    """
    return f"{math.degrees(radians):.1f}°"
