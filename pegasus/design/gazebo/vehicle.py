"""Vehicle file of a Gazebo model."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from pegasus.base.errors import ConfigError
from pegasus.config.scenario import VehicleSpec, parse
from pegasus.core.aircraft import Aircraft
from pegasus.design.gazebo.airframes import Hinges, surface_fields, wheel_fields
from pegasus.design.gazebo.channels import px4_fields
from pegasus.design.gazebo.looks import add_shapes, body_fields
from pegasus.design.gazebo.models import Model, load_model
from pegasus.design.gazebo.nodes import Node
from pegasus.design.gazebo.plugins import kind_of, rounded
from pegasus.design.gazebo.rotors import motors, rotor_fields
from pegasus.design.gazebo.sensors import sensor_fields

_WIDTH = 110
_IRRELEVANT = re.compile(
    r"\b(air_density|always_on|allow_auto_disable|bias_mean|bias_stddev|enable_\w+|\w*frame_id|gravity|"
    r"initial_position|jointName|joint_index|linkName|link_name|motorNumber|\w*[tT]opic\w*|pose|precision|"
    r"magnetometer|\w*[nN]amespace|self_collide|static|velocity_decay|visual|visualize|pubRate)\b"
)
"""Elements that say nothing about a vehicle: topics, places in the world, and switches of Gazebo."""


@dataclass(frozen=True)
class GazeboVehicle:
    """Vehicle made of a Gazebo model."""

    name: str
    text: str
    """Content of the YAML file."""
    notes: tuple[str, ...]
    """What is not carried over, or otherwise than in Gazebo, one line each."""


def import_gazebo(path: Path, *, name: str | None = None, search: Sequence[Path] = ()) -> GazeboVehicle:
    """Make a vehicle of a Gazebo model, and check that it loads.

    Links are merged into one body at joint angles of 0. The body frame is that of the base link.

    Args:
        path: SDF file, from 1.5 to 1.11, or the folder of the model.
        name: Name of the vehicle; that of the model when left out.
        search: Folders of the models that it includes.

    Raises:
        ConfigError: If the file cannot be read, an element has a wrong value, or the vehicle cannot be made.
    """
    model = load_model(path, search)
    fields = vehicle_fields(model, name or model.name)
    notes = _together(_notes(model))
    try:
        Aircraft(parse(fields, VehicleSpec))
    except ConfigError as error:
        raise error.within(file=path) from None
    lines = [f"# Made by `pegasus make vehicle --from {path.name}` of the Gazebo model {model.name}."]
    lines += ["# Not carried over, or otherwise than in Gazebo:"] if notes else []
    lines += [f"# - {' '.join(note.split())}" for note in notes]
    body = yaml.safe_dump(fields, sort_keys=False, default_flow_style=None, width=_WIDTH, allow_unicode=True)
    return GazeboVehicle(str(fields["name"]), "\n".join([*lines, body]), tuple(notes))


def vehicle_fields(model: Model, name: str) -> dict[str, Any]:
    """Return the fields of the vehicle file of a model.

    Args:
        model: The model.
        name: Name of the vehicle.
    """
    whole, hinges = model.whole(), Hinges(model)
    tensor = whole.inertia
    entries = [*np.diagonal(tensor), tensor[0, 1], tensor[0, 2], tensor[1, 2]]
    least = 1e-6 * max(entries)
    inertia = [float(f"{value:.7g}") if abs(value) > least else 0.0 for value in entries]
    surfaces, wheels = surface_fields(model, hinges), wheel_fields(model)
    fields: dict[str, Any] = {
        "name": name,
        "description": f"Gazebo's model {model.name}.",
        "mass": float(f"{whole.mass:.8g}"),
        "inertia": inertia if any(inertia[3:]) else inertia[:3],
    }
    if any(center := rounded(whole.position)):
        fields["center_of_mass"] = center
    rotors = rotor_fields(model, hinges.turned_by)
    joints = hinges.fields()
    add_shapes(model, surfaces, joints)
    if body := body_fields(model, rotors | {"surfaces": surfaces, "wheels": wheels}):
        fields["body"] = body
    fields |= rotors
    for section, content in (("joints", joints), ("surfaces", surfaces), ("wheels", wheels)):
        fields |= {section: content} if content else {}
    if sensors := sensor_fields(model):
        fields["sensors"] = sensors
    names = {joint: f"rotor_{k}" for k, (_, _, joint) in enumerate(motors(model))} | hinges.names
    if px4 := px4_fields(model, names):
        fields["px4"] = px4
    return fields


def _notes(model: Model) -> list[str]:
    """Return the notes on a model, with the plugins and elements that nothing has read."""
    notes = list(model.notes)
    for _, plugin in model.plugins:
        label = plugin.attributes.get("name") or plugin.attributes.get("filename", "")
        kind, channels = kind_of(plugin), plugin.child("control_channels")
        if kind is None:
            notes.append(f"plugin {label}: no counterpart")
        else:
            # Else the interface of Gazebo classic to PX4 describes sockets.
            notes += _unread(f"plugin {label}", plugin if channels is None else channels)
    visuals = sum(len(link.every("visual")) for link in model.links.values())
    if visuals:
        notes.append(
            f"{visuals} visuals: the vehicle is drawn from its figures; "
            "export their meshes as glTF or USD, and name that as usd:"
        )
    for name, link in model.links.items():
        notes += _unread(f"link {name}", link)
    for name, joint in model.joints.items():
        notes += _unread(f"joint {name}", joint.node)
    return notes


def _together(notes: Sequence[str]) -> list[str]:
    """Return notes with those of the same words about things of one kind in one line."""
    subjects: dict[tuple[str, str], list[str]] = {}
    for note in notes:
        subject, _, words = note.partition(": ")
        kind, _, thing = subject.partition(" ")
        things = subjects.setdefault((kind, words), [])
        if thing not in things:
            things.append(thing)
    return [
        f"{' '.join((kind, ', '.join(things))).strip()}: {words}"
        for (kind, words), things in subjects.items()
    ]


def _unread(label: str, node: Node) -> list[str]:
    """Return a line on the elements of a node that have not been read, if there are any."""
    paths = dict.fromkeys(path for path in node.unread() if not _IRRELEVANT.search(path))
    return [f"{label}: {', '.join(paths)}"] if paths else []
