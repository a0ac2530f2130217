"""Rotors of Gazebo models: the plugins that drive them, as rotors, motors and thrust curves of a vehicle."""

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from pegasus.design.gazebo.models import Joint, Model
from pegasus.design.gazebo.nodes import Node
from pegasus.design.gazebo.plugins import plain_name, rounded, used_plugins

_SENSES = ("ccw", "cw")
_USUAL_DIAMETER = 0.254
_PARALLEL, _STACKED = 0.99, 0.2
"""Cosine from which on rotors are side by side, and their distance along the axes by the diameter."""
_CLASSIC_AIRSPEED = 25.0
"""Airspeed at which a motor of PX4's plugins for Gazebo classic gives no thrust [m/s]."""


def rotor_fields(model: Model, turned_by: dict[str, str]) -> dict[str, Any]:
    """Return the rotors of a model, and the motors and propellers that they have.

    Args:
        model: The model.
        turned_by: Names of the joints of the vehicle by link that they turn.

    Raises:
        ConfigError: If the model has no rotor, or one has a wrong value.
    """
    if not (driven := motors(model)):
        remedy = "a vehicle needs a MulticopterMotorModel (classic: gazebo_motor_model) for each rotor"
        raise model.links[model.base].error("is the base of a model without rotors", remedy)
    rotors, kinds, names = [], [], []
    for node, link, joint in driven:
        sense = node.text("turningDirection", default="cw")
        if sense not in _SENSES:
            raise (node.child("turningDirection") or node).error(f"must be {' or '.join(_SENSES)}")
        rotor: dict[str, Any] = {
            # Gazebo's thrust acts at the centre of mass of the link.
            "position": rounded(model.part(link).position),
            "axis": rounded(model.pose(link)[:3, 2]),
            "direction": sense,
        }
        if rotor["axis"] == [0.0, 0.0, 1.0]:
            del rotor["axis"]
        if link in turned_by:
            rotor["joint"] = turned_by[link]
        rotors.append(rotor)
        names.append(plain_name(link))
        kinds.append(_propulsion(model, node, link, model.joints[joint]))
    _shrink(model, rotors, kinds)
    own = max(kinds, key=kinds.count)
    others: dict[str, Any] = {}
    for rotor, kind, name in zip(rotors, kinds, names, strict=True):
        if kind == own:
            continue
        same = next((other for other, known in others.items() if known == kind), None)
        others.setdefault(same or name, kind)
        rotor["propulsion"] = same or name
    fields = {"propeller": own["propeller"], "rotors": rotors}
    fields |= {"motor": own["motor"], "thrust_curve": own["thrust_curve"]}
    return fields | ({"propulsion": others} if others else {})


def _shrink(model: Model, rotors: Sequence[dict[str, Any]], kinds: Sequence[dict[str, Any]]) -> None:
    """Make propellers smaller whose collision shapes overlap side by side, which Gazebo allows."""
    largest = 1.0
    for i, j in combinations(range(len(rotors)), 2):
        axis, other = (np.array(rotors[k].get("axis", (0.0, 0.0, 1.0))) for k in (i, j))
        between = np.subtract(rotors[i]["position"], rotors[j]["position"])
        along = abs(float(between @ axis))
        size = (kinds[i]["propeller"]["diameter"] + kinds[j]["propeller"]["diameter"]) / 2
        aside = math.sqrt(max(float(between @ between) - along**2, 0.0))
        if abs(float(axis @ other)) > _PARALLEL and along < _STACKED * size and aside > 0:
            largest = min(largest, aside / size)
    if largest < 1.0:
        for k in range(len(kinds)):
            diameter = kinds[k]["propeller"]["diameter"] * largest
            kinds[k]["propeller"]["diameter"] = math.floor(1e4 * diameter) / 1e4
        model.notes.append(
            f"rotors: their discs overlap, so that propellers are {largest:.3g} times as large"
        )


def motors(model: Model) -> list[tuple[Node, str, str]]:
    """Return the plugin of each rotor, its link and its joint, in the order of the motors' numbers."""
    found = []
    for prefix, node in used_plugins(model, "motor"):
        link = model.named(node.text("linkName"), prefix, model.attached, node)
        joint = model.named(node.text("jointName"), prefix, list(model.joints), node)
        found.append((node, link, joint))
    return sorted(found, key=lambda motor: motor[0].number("motorNumber"))


def _propulsion(model: Model, node: Node, link: str, joint: Joint) -> dict[str, Any]:
    """Return motor, thrust curve and propeller of a plugin; defaults are the plugin's."""
    if node.text("motorType", default="velocity") != "velocity":
        raise (node.child("motorType") or node).error("must be velocity")
    is_classic = "gazebo_motor_model" in node.attributes.get("filename", "")
    max_speed = node.number("maxRotVelocity", default=838.0)
    slowdown = node.number("rotorVelocitySlowdownSim", default=10.0)
    motor: dict[str, Any] = {
        "model": "first_order",
        "time_constant_up": node.number("timeConstantUp", default=1 / 80),
        "time_constant_down": node.number("timeConstantDown", default=1 / 40),
        "max_speed": max_speed,
    }
    if node.flag("reversible"):
        motor["min_speed"] = -max_speed
    curve: dict[str, Any] = {
        "model": "gazebo",
        "thrust_constant": node.number("motorConstant", default=8.54858e-6),
        "moment_ratio": node.number("momentConstant", default=0.016),
    }
    drag = node.number("rotorDragCoefficient", default=1e-4)
    rolling = node.number("rollingMomentCoefficient", default=1e-6)
    curve |= {"rotor_drag": drag} if drag else {}
    curve |= {"rolling_moment": rolling} if rolling else {}
    if is_classic:
        curve["max_airspeed"] = node.number("maxRelativeAirspeed", default=_CLASSIC_AIRSPEED)
    # Gazebo turns the link slower than the rotor; its momentum is that of the slower link.
    along = joint.axis @ model.part(link).inertia @ joint.axis
    propeller: dict[str, Any] = {"diameter": _diameter(model, link)}
    if along > 0 and slowdown > 0:
        propeller["inertia"] = float(f"{along / slowdown:.4g}")
    return {"motor": motor, "thrust_curve": curve, "propeller": propeller}


def _diameter(model: Model, link: str) -> float:
    """Return the diameter of a propeller by its collision shape [m]."""
    sizes: list[float] = []
    for collision in model.links[link].every("collision"):
        if (radius := collision.child("geometry", "cylinder", "radius")) is not None:
            sizes += [2 * radius.numbers(1)[0]]
        if (box := collision.child("geometry", "box", "size")) is not None:
            sizes += box.numbers(3)
    found = _largest(sizes)
    if found is None:
        model.notes.append(f"link {link}: no size of a propeller, {_USUAL_DIAMETER} m is taken")
    return found or _USUAL_DIAMETER


def _largest(sizes: Sequence[float]) -> float | None:
    largest = float(np.round(max(sizes, default=0.0), 4))
    return largest if largest > 0 else None
