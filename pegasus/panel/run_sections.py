"""Sections of the panel for playback, the vehicles of the world, faults, the view and the run."""

from collections.abc import Callable, Sequence

from pegasus.panel.board import Message, Topic
from pegasus.panel.fields import (
    Buttons,
    Check,
    Draft,
    Fold,
    Item,
    Lines,
    Number,
    Picked,
    Section,
    Select,
    Table,
    Text,
)
from pegasus.panel.panel import Panel
from pegasus.panel.view_part import CameraMode, ViewPart

_NONE, _ALL = "(none)", "(all)"
_SHOWN_MESSAGES, _LISTED = 3, 12


def status(panel: Panel) -> Section:
    """Return state, buttons and last messages of the simulation."""
    part = panel.simulation
    actions = {name.capitalize(): getattr(part, name) for name in ("play", "pause", "step", "stop", "reset")}

    def state() -> list[str]:
        snapshot = panel.snapshot
        if snapshot.world is None:
            return ["No world is loaded."]
        line = f"{snapshot.world}: {snapshot.playback.value}, {snapshot.time:.1f} s"
        if snapshot.scene is not None and (share := snapshot.scene.progress) is not None:
            line += f", reading the world for its sensors: {share:.0%}"
        if snapshot.real_time_factor > 0:
            line += f", {snapshot.real_time_factor:.2f} times real time"
        if (waiting := part.waiting) > 1.0:
            line += f", waiting for {waiting:.0f} s"
        return [line]

    def messages() -> list[str | Message]:
        return [*panel.messages[-_SHOWN_MESSAGES:], *([f"{panel.busy} ..."] if panel.busy else [])]

    items = [Lines(state, live=True), Buttons(actions), Lines(messages)]
    return Section("", frozenset({Topic.MESSAGES, Topic.SIMULATION, Topic.WORLD}), items)


def fleet(panel: Panel, fly_by_click: Callable[[], object]) -> Section:
    """Return vehicles of the world: state, selection, removal and manual flight.

    Args:
        panel: The panel.
        fly_by_click: Function that lets the followed vehicle fly to the next click into the view.
    """
    view, pilot = panel.view, panel.pilot
    point = Draft(lambda: (0.0, 0.0, 2.0))

    def followed() -> tuple[str, int, int]:
        """Return name, copy and number of copies of the followed vehicle."""
        found = view.followed_vehicle(panel.snapshot)
        return (_NONE, 0, 1) if found is None else (found[0].name, found[1], found[0].count)

    def with_name(act: Callable[[str], object]) -> object:
        name = followed()[0]
        return None if name == _NONE else act(name)

    items = [
        Table(lambda: fleet_rows(panel), live=True),
        Select(
            "Vehicle",
            lambda: followed()[0],
            lambda name: None if name == _NONE else view.follow(name),
            lambda: [vehicle.name for vehicle in panel.snapshot.vehicles] or [_NONE],
            hint="For camera, steering and telemetry",
        ),
        Number(
            "Copy",
            lambda: followed()[1],
            lambda copy: with_name(lambda name: view.follow(name, int(copy))),
            low=0,
            step=1,
            shown=lambda: followed()[2] > 1,
        ),
        Buttons({"Remove": lambda: with_name(panel.vehicle.remove)}),
        Fold(
            "Manual flight",
            [
                Buttons({"Hover": pilot.hover, "Land": pilot.land}),
                Number("Point [m]", point.get, point.set),
                Buttons({"Go to point": lambda: pilot.go_to(*point.get()), "Go to click": fly_by_click}),
            ],
        ),
    ]
    return Section("Fly", frozenset({Topic.VEHICLES, Topic.VIEW, Topic.WORLD}), items)


def fleet_rows(panel: Panel) -> list[tuple[str, ...]]:
    """Return name, model, state and height of the vehicles."""
    vehicles = panel.snapshot.vehicles
    rows: list[tuple[str, ...]] = [
        (
            vehicle.name,
            f"{vehicle.count} x {vehicle.model}" if vehicle.count > 1 else vehicle.model,
            vehicle.segment
            or ("on the ground" if vehicle.in_contact.all() else vehicle.pilot or "no backend"),
            f"{vehicle.position[0, 2]:.1f} m",
        )
        for vehicle in vehicles[:_LISTED]
    ]
    if (more := len(vehicles) - _LISTED) > 0:
        rows.append((f"and {more} more", "", "", ""))
    return rows or [("There are no vehicles.",)]


def faults(panel: Panel) -> Section:
    """Return faults of the followed vehicle: injecting, listing and healing them."""
    part = panel.faults
    picked = Picked(lambda: [_ALL, *(name for name, _ in part.listed)])

    def listed() -> list[tuple[str, ...]]:
        return [(name, "acts" if acts else "") for name, acts in part.listed] or [("There are no faults.",)]

    items = [
        Select("Fault", lambda: part.chosen, part.choose, lambda: part.choices),
        Text(
            "Parameters",
            lambda: part.parameters,
            part.set_parameters,
            hint="With start, end, duration, ramp, where, when; see docs/faults.md",
        ),
        Table(listed, live=True),
        Select("Present", picked.get, picked.set, picked.options, live=True),
        Buttons({"Inject": part.inject, "Heal": lambda: part.heal(picked.get().replace(_ALL, ""))}),
    ]
    return Section("Faults", frozenset({Topic.FAULTS, Topic.VEHICLES, Topic.VIEW}), items)


def view(part: ViewPart) -> Section:
    """Return camera and overlays of the view."""
    position = Draft(lambda: part.viewpoint.position)
    target = Draft(lambda: part.viewpoint.target)

    def drawn(label: str, name: str) -> Check:
        return Check(label, lambda: getattr(part.drawing, name), lambda on: part.draw(**{name: on}))

    items = [
        Select("Camera", lambda: str(part.mode), part.set_mode, lambda: [str(mode) for mode in CameraMode]),
        Number("Position [m]", position.get, position.set),
        Number("Target [m]", target.get, target.set),
        Buttons({"Move camera": lambda: part.set_viewpoint(position.get(), target.get())}),
        drawn("Trails", "trails"),
        drawn("Reference path", "reference_path"),
        drawn("Axes", "axes"),
        drawn("Contacts", "contact_flashes"),
    ]
    return Section("View", frozenset({Topic.VIEW}), items)


def run(panel: Panel, before: Sequence[Item] = ()) -> Section:
    """Return wind and recording.

    Args:
        panel: The panel.
        before: Items above.
    """
    part = panel.simulation
    wind = Draft(lambda: panel.snapshot.mean_wind)
    gusts = Draft(lambda: panel.snapshot.gusts)
    items = [
        *before,
        Number("Wind [m/s]", wind.get, wind.set, hint="Towards east, north and up", live=True),
        Number("Gusts [m/s]", gusts.get, gusts.set, low=0.0, hint="Standard deviation", live=True),
        Buttons({"Set wind": lambda: part.set_wind(*wind.get(), intensity=gusts.get())}),
        Check("Record", lambda: part.records, part.record),
    ]
    return Section("Run", frozenset({Topic.SIMULATION, Topic.WORLD}), items)
