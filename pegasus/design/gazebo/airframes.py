"""Joints, surfaces and wheels of Gazebo models, as sections of a vehicle file."""

import math
import re
from typing import Any

import numpy as np

from pegasus.design.gazebo.channels import control_channels
from pegasus.design.gazebo.models import Joint, Model
from pegasus.design.gazebo.nodes import Node
from pegasus.design.gazebo.plugins import kind_of, plain_name, rounded, used_plugins
from pegasus.design.gazebo.rotors import motors
from pegasus.dynamics.wings import AdvancedLiftDrag, LiftDrag

_TURNING = ("revolute", "continuous")
_LIFT_DRAG = ("a0", "cla", "cda", "cma", "alpha_stall", "cla_stall", "cda_stall", "cma_stall", "area")
_MOUNT = ("cp", "area", "direction")
_CONTROL_LIFT = 4.0
"""Change of the lift coefficient by a control joint that the plugin takes when it is left out."""
_GAINS = (("p_gain", "p", 1.0), ("i_gain", "i", 0.1), ("d_gain", "d", 0.01))
"""Gains of the position controller by their names in Gazebo Sim and in control channels of classic, and those
that it takes when they are left out."""
_FASTEST = 50.0
"""Rate from which on a limit of a servo is left out [rad/s]."""


class Hinges:
    """Joints of a model that become joints of the vehicle: those of control surfaces, and driven ones.

    Args:
        model: The model.
    """

    def __init__(self, model: Model) -> None:
        self._model, self._rotors = model, {joint for _, _, joint in motors(model)}
        self._driven = {
            model.named(node.text("joint_name"), prefix, list(model.joints), node): node
            for prefix, node in used_plugins(model, "servo")
        } | {
            joint: node
            for joint, node in control_channels(model).items()
            if node.text("joint_control_type").startswith("position")
        }
        self.names: dict[str, str] = {}
        """Names of the joints of the vehicle by those of the model."""
        flying = []
        for prefix, plugin in model.plugins:
            if kind_of(plugin) in ("wing", "airframe"):
                flying.append(model.named(plugin.text("link_name"), prefix, model.attached, plugin))
                for node in self.controls_of(plugin):
                    self.add(model.named(node.words, prefix, list(model.joints), node))
        self.turned_by = {}
        """Names of the vehicle's joints by the links that they turn."""
        for link in [*flying, *(link for _, link, _ in motors(model))]:
            carrier = self._carrier(link)
            if carrier is not None:
                self.turned_by[link] = self.add(carrier.name)
        for joint in self._driven:
            if joint not in self.names:
                model.notes.append(f"joint {joint}: turns nothing that flies")
        # Servos are in the order of their numbers, such as sub_topic servo_3.
        order = {name: index for index, name in enumerate(sorted(self.names, key=self._number))}
        self.names = dict(sorted(self.names.items(), key=lambda item: order[item[0]]))

    def controls_of(self, plugin: Node) -> list[Node]:
        """Return the elements that name the control joints of a plugin of a wing."""
        if kind_of(plugin) == "airframe":
            return [node for each in plugin.every("control_surface") for node in each.every("name")]
        # LiftDrag takes the first one.
        node = plugin.child("control_joint_name")
        return [] if node is None else [node]

    def add(self, joint: str) -> str:
        """Return the name of a joint of the vehicle, which it becomes if it is none yet."""
        if joint not in self.names:
            name = plain_name(self._model.joints[joint].child)
            if re.fullmatch(r"rotor_\d.*", name) or name in self.names.values():
                name = plain_name(f"joint_{joint}")
            self.names[joint] = name
        return self.names[joint]

    def fields(self) -> dict[str, Any]:
        """Return the joints of the vehicle."""
        made = {}
        for joint_name, name in self.names.items():
            joint = self._model.joints[joint_name]
            if joint.kind not in _TURNING:
                raise joint.node.error(f"is {joint.kind}", "a joint of a control surface must be revolute")
            made[name] = {
                "position": rounded(joint.position),
                "axis": rounded(joint.axis),
                "servo": self._servo(joint),
            }
        return made

    def _number(self, joint: str) -> tuple[int, int]:
        node = self._driven.get(joint)
        found = re.search(r"(\d+)\D*$", node.text("sub_topic") if node is not None else "")
        return (int(found.group(1)) if found else 10**6), list(self.names).index(joint)

    def _carrier(self, link: str) -> Joint | None:
        """Return the driven joint that turns a link, or None."""
        for joint in self._model.carriers(link):
            if joint.kind == "fixed" or joint.name in self._rotors:
                continue
            if joint.kind in _TURNING and joint.name in self._driven:
                return joint
        return None

    def _servo(self, joint: Joint) -> dict[str, float]:
        """Return the servo of a joint: of its limits, and a first-order lag that its controller gives."""
        low, high = (math.copysign(math.pi, x) if math.isinf(x) else x for x in joint.limits)
        if not low < high:
            limit = joint.node.child("axis", "limit") or joint.node
            raise limit.error(f"leaves joint {joint.name} no angle: {low:g} to {high:g} rad")
        made = {"low": low, "high": high}
        if not low <= 0 <= high:
            made["idle"] = min(max(0.0, low), high)
        node = self._driven.get(joint.name)
        if node is None:
            self._model.notes.append(
                f"joint {joint.name}: no controller drives it, so that its servo has no lag"
            )
            return made
        if node.text("joint_control_type") == "position_kinematic":
            return made
        gains = node if node.tag == "plugin" else node.child("joint_control_pid") or node
        p, i, d = (gains.number(sim, default=gains.number(old, default=value)) for sim, old, value in _GAINS)
        damping = d + joint.node.number("axis", "dynamics", "damping")
        largest = gains.number("cmd_max", default=gains.number("cmdMax", default=1000.0))
        if node.flag("use_velocity_commands"):
            rate, lag = largest, 0.0
        elif not p > 0:
            raise (gains.child("p_gain") or gains.child("p") or gains).error("must be above 0")
        elif damping > 0:
            # p (c - a) = d a', as the inertia of what it turns is small.
            rate, lag = largest / damping, damping / p
        else:
            part = self._model.part(joint.child)
            rate, lag = math.inf, math.sqrt(max(float(joint.axis @ part.inertia @ joint.axis), 0.0) / p)
        speed = joint.node.number("axis", "limit", "velocity", default=-1.0)
        rate = min(rate, speed) if speed > 0 else rate
        made |= {"rate_limit": float(f"{rate:.4g}")} if rate < _FASTEST else {}
        made |= {"time_constant": float(f"{lag:.4g}")} if lag > 0 else {}
        told = ", ".join(f"{n} {v:g}" for n, v in (("p_gain", p), ("i_gain", i), ("d_gain", d)))
        self._model.notes.append(
            f"joint {joint.name}: its controller of force ({told}, damping {damping - d:g}) becomes a lag of "
            f"{lag:.3g} s"
        )
        return made


def surface_fields(model: Model, hinges: Hinges) -> dict[str, Any]:
    """Return the wings of a model: its plugins LiftDrag and AdvancedLiftDrag.

    Args:
        model: The model.
        hinges: Joints of the vehicle.
    """
    made: dict[str, Any] = {}
    for prefix, node in model.plugins:
        kind = kind_of(node)
        if kind not in ("wing", "airframe"):
            continue
        link = model.named(node.text("link_name"), prefix, model.attached, node)
        controls = [
            hinges.names[model.named(each.words, prefix, list(model.joints), each)]
            for each in hinges.controls_of(node)
        ]
        fields = _lift_drag(node, controls) if kind == "wing" else _advanced(node)
        pose = model.pose(link)
        place = pose[:3, :3] @ node.vector("cp", default=(0.0, 0.0, 0.0)) + pose[:3, 3]
        fields["position"] = rounded(place)
        for name, usual in (("forward", (1.0, 0.0, 0.0)), ("upward", (0.0, 0.0, 1.0))):
            direction = rounded(pose[:3, :3] @ node.vector(name, default=usual))
            if direction != list(usual):
                fields[name] = direction
        if controls:
            fields["controls"] = controls
        if link in hinges.turned_by:
            fields["joint"] = hinges.turned_by[link]
        own = node.attributes.get("name", "")
        name = "airframe" if kind == "airframe" else plain_name(own)
        if kind == "wing" and ("::" in own or not own):
            name = f"{controls[0]}_wing" if controls else "wing"
        count = sum(other == name or other.startswith(f"{name}_") for other in made)
        made[f"{name}_{count + 1}" if name in made else name] = fields
    return made


def _lift_drag(node: Node, controls: list[str]) -> dict[str, Any]:
    fields: dict[str, Any] = {"model": "lift_drag"}
    for name in _LIFT_DRAG:
        usual = getattr(LiftDrag, name, 1.0)
        value = node.number(name, default=usual)
        if value != usual or name == "area":
            fields[name] = value
    if node.flag("radial_symmetry"):
        fields["radial_symmetry"] = True
    if controls:
        fields["control_joint_rad_to_cl"] = node.number("control_joint_rad_to_cl", default=_CONTROL_LIFT)
        if (moment := node.number("cm_delta")) != 0:
            fields["cm_delta"] = moment
    return fields


def _advanced(node: Node) -> dict[str, Any]:
    fields: dict[str, Any] = {"model": "advanced_lift_drag", "area": node.number("area", default=1.0)}
    names = AdvancedLiftDrag.__dataclass_fields__
    for name in names:
        if name in _MOUNT or name.endswith("_ctrl") or (given := node.child(name)) is None:
            continue
        if (value := given.numbers(1)[0]) != names[name].default:
            fields[name] = value
    controls = node.every("control_surface")
    node.child("num_ctrl_surfaces")
    for each in controls:
        each.child("index")
    for name in ("direction", *(name for name in names if name.endswith("_ctrl"))):
        values = [each.number(name, default=1.0 if name == "direction" else 0.0) for each in controls]
        if any(value != (1.0 if name == "direction" else 0.0) for value in values):
            fields[name] = values
    return fields


def wheel_fields(model: Model) -> dict[str, Any]:
    """Return the wheels of a model: what turns freely and has a round collision shape."""
    made: dict[str, Any] = {}
    rotors = {link for _, link, _ in motors(model)}
    for joint in model.joints.values():
        free = joint.kind == "continuous" or (joint.kind == "revolute" and np.isinf(joint.limits).all())
        if not free or joint.child in rotors or joint.child not in model.attached:
            continue
        for collision in model.links[joint.child].every("collision"):
            round_shapes = (collision.child("geometry", shape, "radius") for shape in ("cylinder", "sphere"))
            radius = next((found for found in round_shapes if found is not None), None)
            if radius is not None:
                collision.child("geometry", "cylinder", "length")
                place = model.pose(joint.child) @ collision.pose()
                wheel = {"position": rounded(place[:3, 3]), "radius": radius.numbers(1)[0]}
                if (axle := rounded(joint.axis)) != [0.0, 1.0, 0.0]:
                    wheel["axle"] = axle
                made[plain_name(joint.child)] = wheel
                break
    return made
