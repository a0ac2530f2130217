"""Looks and collision shapes of Gazebo models: body and wings, as far as vehicle files describe them."""

import math
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.design.gazebo.models import Model
from pegasus.design.gazebo.plugins import rounded

_CLEARANCE = 0.02
"""Least height of rotor discs above the ground [m]."""
_ASPECT_RATIO = 6.0
_LEAST_SPAN = 0.05
_TAIL_BY_ARM, _FIN_BY_ARM, _FIN_RATIO = 0.8, 0.4, 1.5
"""Largest spans of tails by their distance from the origin, and the aspect ratio of fins: guesses."""


def body_fields(model: Model, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the body of a vehicle: the largest box of the base link, on legs down to its lowest shape.

    Args:
        model: The model.
        fields: Rotors, propellers and wheels of the vehicle; it needs no legs if it has wheels.
    """
    boxes: list[tuple[str, Array, Array]] = []
    for collision in model.links[model.base].every("collision"):
        size = collision.child("geometry", "box", "size")
        name = collision.attributes.get("name", "")
        if size is None:
            model.notes.append(f"collision {name}: only boxes are carried over")
            continue
        pose, half = collision.pose(), np.array(size.numbers(3)) / 2
        reach = np.abs(pose[:3, :3]) @ half
        boxes.append((name, pose[:3, 3], reach))
    if not boxes:
        model.notes.append(f"link {model.base}: no box as collision shape, the usual body is taken")
        return {}
    name, middle, reach = max(boxes, key=lambda box: float(np.prod(box[2])))
    others = [other for other, _, _ in boxes if other != name]
    if others:
        model.notes.append(f"collision {', '.join(others)}: the body is the largest box, {name}, on legs")
    if abs(middle[1]) > 1e-6:
        model.notes.append(f"collision {name}: its place along y, {middle[1]:g} m, is left out")
    lowest, rotors = min(float(place[2] - half[2]) for _, place, half in boxes), _lowest_disc(fields)
    if rotors - _CLEARANCE < lowest and not fields.get("wheels"):
        lowest = rotors - _CLEARANCE
        model.notes.append(f"link {model.base}: its legs are longer, {_CLEARANCE:g} m below the rotors")
    leg = 0.0 if fields.get("wheels") else max(float(middle[2] - reach[2]) - lowest, 0.0)
    size_, place = rounded(2 * reach), rounded(middle)
    return {"size": size_, "x": place[0], "height": place[2], "leg_height": rounded([leg])[0]}


def _lowest_disc(fields: dict[str, Any]) -> float:
    """Return the height of the lowest point of all rotor discs [m]."""
    found: list[float] = []
    for rotor in fields["rotors"]:
        kind = fields["propulsion"][rotor["propulsion"]] if "propulsion" in rotor else fields
        upright = rotor.get("axis", [0.0, 0.0, 1.0])[2]
        reach = kind["propeller"]["diameter"] / 2 * math.sqrt(max(1.0 - upright**2, 0.0))
        found.append(rotor["position"][2] - reach)
    return min(found)


def add_shapes(model: Model, surfaces: dict[str, Any]) -> None:
    """Add shapes to wings of LiftDrag, whose area is no measure of their size.

    Those at a side reach as far as their neighbours inward, so that each has its middle at its centre of
    pressure. Those in the plane of symmetry are tails: a fin stands on its centre of pressure.

    Args:
        model: The model.
        surfaces: Surfaces of the vehicle.
    """
    wings = {name: fields for name, fields in surfaces.items() if fields["model"] == "lift_drag"}
    sides = {name: fields for name, fields in wings.items() if abs(fields["position"][1]) > _LEAST_SPAN}
    edges = {1.0: 0.0, -1.0: 0.0}
    for fields in sorted(sides.values(), key=lambda fields: abs(float(fields["position"][1]))):
        place = fields["position"][1]
        side = math.copysign(1.0, place)
        span = max(2 * (abs(place) - edges[side]), _LEAST_SPAN)
        edges[side] = max(abs(place) + span / 2, edges[side])
        fields["shape"] = {"span": rounded([span])[0]}
    for fields in sides.values():
        fields["shape"]["chord"] = rounded([2 * max(edges.values()) / _ASPECT_RATIO])[0]
    for name, fields in wings.items():
        if name not in sides:
            fields["shape"] = _tail(fields)
    if wings:
        model.notes.append(
            "wings of LiftDrag: their looks are guesses, as the plugin has an area only; see shape"
        )


def _tail(fields: dict[str, Any]) -> dict[str, Any]:
    arm = max(float(np.linalg.norm(fields["position"])), 2 * _LEAST_SPAN)
    forward, upward = (
        np.array(fields.get(name, usual))
        for name, usual in (("forward", (1.0, 0.0, 0.0)), ("upward", (0.0, 0.0, 1.0)))
    )
    across = np.cross(upward, forward)
    is_fin = abs(across[1]) < 0.7
    ratio, largest = (_FIN_RATIO, _FIN_BY_ARM) if is_fin else (_ASPECT_RATIO, _TAIL_BY_ARM)
    span = max(min(math.sqrt(ratio * fields["area"]), largest * arm), _LEAST_SPAN)
    shape: dict[str, Any] = {"span": rounded([span])[0], "chord": rounded([span / min(ratio, 4.0)])[0]}
    if is_fin:
        up = across if across[2] >= 0 else -across
        shape["position"] = rounded(np.array(fields["position"]) + up * span / 2)
    return shape
