"""The window's sections for the run: the vehicles in the world, the view, wind and recording."""

from typing import Any

from pegasus.isaac import fields
from pegasus.isaac.hand_controls import HandControls
from pegasus.isaac.viewport_click import ViewportClick
from pegasus.isaac.window_telemetry import fleet
from pegasus.panel.board import Topic
from pegasus.panel.panel import Panel
from pegasus.panel.view_part import CameraMode


class FleetSection(fields.Section):
    """The vehicles in the world: state, follow, remove, fly by hand.

    Args:
        panel: The panel.
        hands: Keyboard and gamepad.
        click: Asks for a click into the viewport.
    """

    title, topics = "Fly", frozenset({Topic.VEHICLES, Topic.VIEW, Topic.WORLD})

    def __init__(self, panel: Panel, hands: HandControls, click: ViewportClick) -> None:
        self._panel, self._hands, self._click = panel, hands, click
        self._listed: Any = None

    def seen(self) -> object:
        """Return the vehicles, and which one is followed."""
        snapshot = self._panel.snapshot
        followed = self._panel.view.followed_vehicle(snapshot)
        names = [(vehicle.name, vehicle.count) for vehicle in snapshot.vehicles]
        return names, None if followed is None else (followed[0].name, followed[1])

    def build(self) -> None:
        """Fill the section."""
        panel, pilot = self._panel, self._panel.pilot
        snapshot = panel.snapshot
        followed = panel.view.followed_vehicle(snapshot)
        if followed is None:
            self._listed = None
            fields.line("There are no vehicles.")
            return
        vehicle, copy = followed
        name = vehicle.name
        self._listed = fields.line("\n".join(fleet(snapshot)))
        fields.choice("Vehicle", [vehicle.name for vehicle in snapshot.vehicles], name, panel.view.follow)
        if vehicle.count > 1:
            fields.number("Copy", copy, lambda value: panel.view.follow(name, int(value)))
        fields.buttons(
            {"Hover": pilot.hover, "Land": pilot.land, "Remove": lambda: panel.vehicle.remove(name)}
        )
        fields.numbers("Go to [m]", (0.0, 0.0, 2.0), lambda values: pilot.go_to(*values))
        fields.buttons({"Go to click": lambda: self._click.ask("the point to fly over", pilot.go_over)})
        fields.check("Keys and gamepad", self._hands.on, self._hands.switch)
        fields.line(
            "W, S, A, D fly, R, F climb, Q, E turn, T takes off, L lands; left stick climbs and turns, right "
            "one flies, A takes off, B lands. Kit's own shortcuts hear the keys too."
        )

    def look(self) -> None:
        """Show what changes by itself."""
        if self._listed is not None:
            self._listed.text = "\n".join(fleet(self._panel.snapshot))


class ViewSection(fields.Section):
    """Where the view is seen from, and what is drawn into it.

    Args:
        panel: The panel.
    """

    title, topics = "View", frozenset({Topic.VIEW})

    def __init__(self, panel: Panel) -> None:
        self._panel = panel

    def build(self) -> None:
        """Fill the section."""
        part = self._panel.view
        fields.choice("Camera", [str(mode) for mode in CameraMode], str(part.mode), part.set_mode)
        viewpoint = part.viewpoint
        fields.numbers(
            "Position [m]", viewpoint.position, lambda values: part.look(_point(values), viewpoint.target)
        )
        fields.numbers(
            "Target [m]", viewpoint.target, lambda values: part.look(viewpoint.position, _point(values))
        )
        fields.buttons(
            {
                "Look from there": lambda: part.look(viewpoint.position, viewpoint.target),
                "Screenshot": part.screenshot,
            }
        )
        drawing = part.drawing
        fields.check("Trails", drawing.trails, lambda on: part.draw(trails=on))
        fields.check("Reference path", drawing.reference_path, lambda on: part.draw(reference_path=on))
        fields.check("Axes", drawing.axes, lambda on: part.draw(axes=on))
        fields.check("Contacts", drawing.contact_flashes, lambda on: part.draw(contact_flashes=on))


class RunSection(fields.Section):
    """Wind and recording.

    Args:
        panel: The panel.
    """

    title, topics = "Run", frozenset({Topic.SIMULATION, Topic.WORLD})

    def __init__(self, panel: Panel) -> None:
        self._panel = panel

    def seen(self) -> object:
        """Return what is recorded, and what wind blows."""
        snapshot = self._panel.snapshot
        return snapshot.recording, snapshot.mean_wind, snapshot.gusts

    def build(self) -> None:
        """Fill the section."""
        part = self._panel.simulation
        fields.numbers(
            "Wind, gusts [m/s]",
            (*self._panel.snapshot.mean_wind, self._panel.snapshot.gusts),
            lambda values: part.set_wind(*values[:3], intensity=values[3]),
        )
        box = fields.check("Record", part.records, lambda on: part.record(on) or box.set_value(part.records))
        if part.recording is not None:
            fields.line(f"into {part.recording}")


def _point(values: list[float]) -> tuple[float, float, float]:
    x, y, z = values
    return x, y, z
