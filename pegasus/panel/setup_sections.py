"""Sections of the panel for worlds, scenarios, vehicles, sensors and backends."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from pegasus.panel.backend_part import FLIGHTS, ON_TIMEOUT
from pegasus.panel.board import Message, Topic
from pegasus.panel.choices import ARDUPILOT, BUILT_IN, PX4, ROS2, Choice, controller_names
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
    Text,
    Thumbnail,
)
from pegasus.panel.panel import Panel
from pegasus.panel.sensor_part import CAMERA, CAMERA_OUTPUTS, KINDS, PATTERNS

_NONE = "(none)"
_ORIGIN = (0.0, 0.0, 0.0)


def world(panel: Panel, image: Callable[[str], str | None] = lambda _: None) -> Section:
    """Return selection and geographic origin of the world.

    Args:
        panel: The panel.
        image: Function that returns the address of the image of a world that is not in the list, if any.
    """
    part = panel.world
    file = Draft(lambda: "")
    names = "latitude", "longitude", "altitude"
    origin = [Draft(partial(lambda name: getattr(part.origin, name), name)) for name in names]
    steps = 1e-6, 1e-6, 0.1

    def set_origin() -> bool:
        return part.set_origin(*(draft.get() for draft in origin))

    items = [
        *_chosen("World", part, image),
        Text("File", file.get, file.set, hint="Path of a YAML or USD file, instead of the list"),
        Buttons({"Choose file": lambda: part.choose(file.get())}),
        Number(
            "Physics rate [Hz]",
            lambda: part.rate,
            part.set_rate,
            low=1.0,
            step=1.0,
            hint="Applies to the world to load; ArduPilot requires 720 Hz or more",
        ),
        Buttons({"Load": part.load, "Clear": part.clear, "Refresh": part.refresh}),
        Fold(
            "Origin",
            [
                *(
                    Number(f"{name.capitalize()} [{unit}]", draft.get, draft.set, step=step)
                    for name, unit, draft, step in zip(names, ("deg", "deg", "m"), origin, steps, strict=True)
                ),
                Buttons({"Set": set_origin, "Reset": part.reset_origin}),
                Buttons(
                    {
                        "Make default": lambda: set_origin() and part.make_origin_default(),
                        "Forget default": part.clear_origin_default,
                    }
                ),
            ],
            open=False,
        ),
    ]
    return Section("World", frozenset({Topic.WORLD}), items)


def scenario(panel: Panel) -> Section:
    """Return opening and saving of scenarios."""
    part = panel.scenario
    picked = Picked(lambda: part.choices or [_NONE])
    items = [
        Select("Scenario", picked.get, picked.set, picked.options),
        Buttons({"Open": lambda: part.open(picked.get()), "Refresh": part.refresh}),
        Text("Save as", lambda: part.name, part.set_name, hint="Letters, digits, _ and -"),
        Check("Replace", lambda: part.replace, part.set_replace, hint="Overwrite your scenario"),
        Buttons({"Save": part.save}),
    ]
    return Section("Scenario", frozenset({Topic.SCENARIOS}), items)


def vehicle(panel: Panel, place_by_click: Callable[[], object]) -> Section:
    """Return selection and placement of the next vehicle.

    Args:
        panel: The panel.
        place_by_click: Function that places it by the next click into the view.
    """
    part = panel.vehicle

    def start() -> list[str]:
        if part.position is None:
            return ["Starts at the world's next free spawn point."]
        return ["Point on the ground." if part.on_ground else "Position of the body frame."]

    items = [
        *_chosen("Vehicle", part),
        Text("Name", lambda: part.name, part.set_name, hint="Name of the model when empty"),
        Number("Position [m]", lambda: part.position or _ORIGIN, lambda p: part.set_position(*p), step=0.01),
        Lines(start),
        Buttons({"Place by click": place_by_click, "Spawn point": part.use_spawn_point}),
        _angle("Heading [deg]", lambda: part.heading, part.set_heading),
        Number(
            "Count", lambda: part.count, lambda n: part.set_count(n, part.spacing), low=1, high=1000, step=1
        ),
        Number(
            "Spacing [m]",
            lambda: part.spacing or 0.0,
            lambda gap: part.set_count(part.count, gap or None),
            low=0.0,
            hint="0 for automatic",
        ),
        Buttons({"Add": part.add}),
    ]
    return Section("Vehicle", frozenset({Topic.VEHICLES}), items)


def sensors(panel: Panel) -> Section:
    """Return additional cameras and lidars of the next or the followed vehicle."""
    part = panel.sensors
    mounted = Picked(lambda: list(part.mounted) or [_NONE])

    def is_camera() -> bool:
        return part.kind == CAMERA

    def place() -> list[str]:
        return ["It is mounted in front of the nose."] if part.position is None and is_camera() else []

    def output(name: str) -> Check:
        return Check(
            name, lambda: name in part.outputs, lambda on: part.set_output(name, on=on), shown=is_camera
        )

    items = [
        Select("Sensor", lambda: part.kind, part.set_kind, lambda: KINDS),
        Text("Sensor name", lambda: part.name, part.set_name, hint="Kind of the sensor when empty"),
        Number(
            "Mount [m]",
            lambda: part.position or _ORIGIN,
            lambda place: part.place(*place),
            step=0.01,
            hint="Forward, left, up",
        ),
        Lines(place),
        _angle("Pitch [deg]", lambda: part.pitch, lambda a: part.turn(a, part.yaw), hint="90 looks down"),
        _angle("Yaw [deg]", lambda: part.yaw, lambda a: part.turn(part.pitch, a), hint="90 looks left"),
        Number("Rate [Hz]", lambda: part.rate, part.set_rate, low=0.1, step=1.0),
        Number(
            "Pixels",
            lambda: tuple(map(float, part.resolution)),
            lambda size: part.set_resolution(*size),
            low=1,
            step=1.0,
            shown=is_camera,
        ),
        *map(output, CAMERA_OUTPUTS),
        Select(
            "Pattern", lambda: part.pattern, part.set_pattern, lambda: PATTERNS, shown=lambda: not is_camera()
        ),
        Buttons({"Next vehicle": part.mount, "Followed": part.mount_on_followed}, "Mount"),
        Lines(
            lambda: [
                f"{name}: {spec['model']}, {spec['rate_hz']:g} Hz" for name, spec in part.mounted.items()
            ]
        ),
        Select("Mounted", mounted.get, mounted.set, mounted.options, shown=lambda: bool(part.mounted)),
        Buttons({"Unmount": lambda: part.remove(mounted.get())}, shown=lambda: bool(part.mounted)),
    ]
    return Section("Mount sensors", frozenset({Topic.SENSORS}), items)


def backend(panel: Panel, *, local: bool) -> Section:
    """Return the backend of the next vehicle.

    Args:
        panel: The panel.
        local: Whether only the user of this machine sees it, who may choose programs to execute.
    """
    part = panel.backend

    def reasons() -> list[str | Message]:
        missing = [choice for choice in part.choices if not choice.available and choice is not part.choice]
        return [*described(part.choice), *(Message(0, f"{c.name}: {_reason(c)}", True) for c in missing)]

    def has_shape() -> bool:
        return part.flight != FLIGHTS[0] and part.chosen != ROS2

    def uses_ros2() -> bool:
        return part.chosen == ROS2 or part.ros2_too

    def is_autopilot() -> bool:
        return part.chosen in (PX4, ARDUPILOT)

    def shape(label: str, name: str, step: float, hint: str | None = None) -> Number:
        return Number(
            label,
            lambda: getattr(part, name),
            lambda value: part.set_flight(part.flight, **{name: value}),
            low=step,
            step=step,
            hint=hint,
            shown=has_shape,
        )

    def programs() -> Iterator[Item]:
        if not local:
            # Programs to execute are set in the settings only.
            yield Lines(lambda: part.program)
            return
        yield Text("Folder", lambda: part.directory, part.set_directory, shown=is_autopilot)
        yield Text("Airframe", lambda: part.airframe, part.set_airframe, shown=lambda: part.chosen == PX4)

    items = [
        Select("Backend", lambda: part.chosen, part.choose, lambda: [c.name for c in part.choices]),
        Lines(reasons),
        Select(
            "Controller",
            lambda: part.controller,
            part.set_controller,
            lambda: sorted(controller_names()),
            shown=lambda: part.chosen == BUILT_IN,
        ),
        Select(
            "Flight", lambda: part.flight, part.set_flight, lambda: FLIGHTS, shown=lambda: part.chosen != ROS2
        ),
        shape("Size [m]", "size", 0.1, "Radius or side"),
        shape("Height [m]", "height", 0.1),
        shape("Speed [m/s]", "speed", 0.1),
        shape("Laps", "laps", 1),
        Check("Start the autopilot", lambda: part.launch, part.set_launch, shown=is_autopilot),
        *programs(),
        Check(
            "Publish on ROS 2",
            lambda: part.ros2_too,
            lambda on: part.set_ros2(too=on),
            hint="In addition to the backend",
            shown=lambda: part.chosen != ROS2,
        ),
        Text(
            "Namespace",
            lambda: part.namespace,
            lambda name: part.set_ros2(namespace=name),
            hint="Name of the vehicle when empty",
            shown=uses_ros2,
        ),
        Text(
            "Domain",
            lambda: "" if part.domain_id is None else str(part.domain_id),
            lambda domain: part.set_ros2(domain_id=domain),
            hint="0 to 232; ROS_DOMAIN_ID when empty",
            shown=uses_ros2,
        ),
        Select(
            "On timeout",
            lambda: part.on_timeout,
            lambda name: part.set_ros2(on_timeout=name),
            lambda: ON_TIMEOUT,
            hint="Reaction to missing commands: stop the rotors, or hold the position",
            shown=lambda: part.chosen == ROS2,
        ),
        Buttons({"Reset": part.reset, "Make default": part.make_default, "Refresh": part.refresh}),
    ]
    return Section("Backend", frozenset({Topic.BACKEND}), items)


def described(choice: Choice | None, path: str = "") -> list[str | Message]:
    """Return the description of a choice, or reason and remedy if it cannot be used.

    Args:
        choice: The choice; None for a file given by path.
        path: The path of that file.
    """
    if choice is None:
        return [path]
    return [choice.description] if choice.available else [Message(0, _reason(choice), True)]


def _reason(choice: Choice) -> str:
    return f"{choice.reason}; {choice.remedy}" if choice.remedy else choice.reason


def _chosen(label: str, part: Any, image: Callable[[str], str | None] = lambda _: None) -> list[Item]:
    """Return the selection of a world or vehicle with its thumbnail and description."""

    def thumbnail() -> Path | str | None:
        found: Path | str | None = image(part.chosen) if part.choice is None else part.choice.thumbnail
        return found

    return [
        Select(label, lambda: part.chosen, part.choose, lambda: [c.name for c in part.choices]),
        Thumbnail(thumbnail),
        Lines(lambda: described(part.choice, part.chosen)),
    ]


def _angle(
    label: str, get: Callable[[], float], act: Callable[[float], object], hint: str | None = None
) -> Number:
    """Return a number in degrees for an angle in radians."""
    return Number(
        label,
        lambda: round(math.degrees(get()), 6),
        lambda value: act(math.radians(value)),
        step=1.0,
        hint=hint,
    )
