"""ROS 2 message types by the definitions of rosbags, for Cyclone DDS's own serializer."""

from dataclasses import dataclass
from functools import cache
from types import new_class

from cyclonedds.idl import IdlStruct, types
from cyclonedds.idl.annotations import final
from rosbags.typesys import Stores, get_typestore

PACKAGES = (
    *("builtin_interfaces", "geometry_msgs", "nav_msgs", "rmw_dds_common", "rosgraph_msgs", "sensor_msgs"),
    *("std_msgs", "tf2_msgs", "trajectory_msgs"),
)
DEFINITIONS = get_typestore(Stores.ROS2_JAZZY).fielddefs


@cache
def declared(kind):
    """Return a message type by its full name."""
    package, _, name = kind.split("/")
    hints = {field: _type(*form) for field, form in DEFINITIONS[kind][1]}
    keywords = {"typename": f"{package}.msg.dds_.{name}_"}
    made = new_class(name, (IdlStruct,), keywords, lambda space: space.update(__annotations__=hints))
    return dataclass(final(made))


def _type(node, detail):
    if node.name == "NAME":
        return declared(detail)
    if node.name in ("ARRAY", "SEQUENCE"):
        item, length = _type(*detail[0]), detail[1]
        return types.array[item, length] if node.name == "ARRAY" else types.sequence[item]
    base, bound = detail
    if base == "string":
        return types.bounded_str[bound] if bound else str
    return bool if base == "bool" else getattr(types, {"char": "uint8", "byte": "uint8"}.get(base, base))


def __getattr__(name):
    """Return a message type by its short name."""
    for package in PACKAGES:
        if (kind := f"{package}/msg/{name}") in DEFINITIONS:
            return declared(kind)
    raise AttributeError(name)
