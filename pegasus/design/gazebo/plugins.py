"""Plugins of Gazebo models by kind, and names and numbers as vehicle files have them."""

import re
from collections.abc import Iterable

from pegasus.design.gazebo.models import Model
from pegasus.design.gazebo.nodes import Node

_KINDS = {
    "motor": r"multicopter-?motor-?model|gazebo_motor_model",
    "airframe": r"advanced[-_]?lift-?drag",
    "wing": r"lift-?drag",
    "servo": r"joint-?position-?controller",
    "channels": r"gazebo_mavlink_interface",
    "imu": r"gazebo_imu_plugin",
    "gps": r"gazebo_gps_plugin",
    "magnetometer": r"gazebo_magnetometer_plugin",
    "barometer": r"gazebo_barometer_plugin",
    "airspeed": r"gazebo_airspeed_plugin|libairspeedplugin",
}
"""Kinds of plugins by what their file names and names hold, the first that matches."""


def kind_of(plugin: Node) -> str | None:
    """Return the kind of a plugin of Gazebo Sim or classic, or None if it has no counterpart."""
    words = f"{plugin.attributes.get('filename', '')} {plugin.attributes.get('name', '')}".lower()
    return next((kind for kind, pattern in _KINDS.items() if re.search(pattern, words)), None)


def used_plugins(model: Model, kind: str) -> list[tuple[str, Node]]:
    """Return the plugins of a kind with the prefix of the names in them, in the order of the file."""
    return [(prefix, node) for prefix, node in model.plugins if kind_of(node) == kind]


def plain_name(name: str) -> str:
    """Return a name of letters, digits and underscores."""
    plain = re.sub(r"\W+", "_", name.rpartition("::")[2]).strip("_")
    return plain if plain[:1].isalpha() else f"part_{plain}"


def rounded(values: Iterable[float]) -> list[float]:
    """Return lengths or directions without the noise of their computation."""
    return [round(float(value), 6) + 0.0 for value in values]
