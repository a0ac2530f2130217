"""Outputs of PX4 that drive a model of Gazebo classic: the control channels of its MAVLink interface."""

from typing import Any

from pegasus.design.gazebo.models import Model
from pegasus.design.gazebo.nodes import Node
from pegasus.design.gazebo.plugins import used_plugins


def control_channels(model: Model) -> dict[str, Node]:
    """Return the control channels of a model by the joints that they drive."""
    found = {}
    for prefix, plugin in used_plugins(model, "channels"):
        channels = plugin.child("control_channels")
        for node in [] if channels is None else channels.every("channel"):
            if joint := node.text("joint_name"):
                found[model.named(joint, prefix, list(model.joints), node)] = node
    return found


def px4_fields(model: Model, names: dict[str, str]) -> dict[str, Any]:
    """Return the section px4 of a model of Gazebo classic; nothing for one without control channels.

    Args:
        model: The model.
        names: Channels of the vehicle by the joints of the model.
    """
    driven = control_channels(model)
    if not driven:
        return {}
    channels: dict[str, Any] = {}
    for joint, name in names.items():
        node = driven.get(joint)
        channels[name] = None
        if node is not None:
            # The plugin commands (u + input_offset) input_scaling + zero_position_armed.
            scale, rest = node.number("input_scaling", default=1.0), node.number("zero_position_armed")
            offset = node.number("input_offset") * scale + rest
            channels[name] = {"output": int(node.number("input_index")), "scale": scale}
            channels[name] |= {"offset": offset} if offset else {}
    return {"airframe": f"gazebo-classic_{model.name}", "channels": channels}
