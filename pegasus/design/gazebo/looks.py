"""Looks and collision shapes of Gazebo models: body and wings, as far as vehicle files describe them."""

import math
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.design.gazebo.models import Model
from pegasus.design.gazebo.plugins import rounded

_CLEARANCE = 0.02
"""Least height of rotor discs above the ground [m]."""
_WING_RATIO = 2.0
"""Least span of a box that is a wing, by its chord."""
_BODY_WIDTH = 0.25
"""Width of a body by its length, where none is known."""
_ASPECT_RATIO = 6.0
_LEAST_SPAN = 0.05
_TAIL_BY_ARM, _FIN_BY_ARM, _FIN_RATIO = 0.8, 0.4, 1.5
"""Largest spans of tails by their distance from the origin, and the aspect ratio of fins: guesses."""


def body_fields(model: Model, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the body of a vehicle: the largest box of the base link, on legs down to its lowest shape.

    Args:
        model: The model.
        fields: Rotors, propellers, surfaces and wheels of the vehicle; with wheels it needs no legs.
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
    lowest, rotors = min(float(place[2] - half[2]) for _, place, half in boxes), _lowest_disc(fields)
    if rotors - _CLEARANCE < lowest and not fields.get("wheels"):
        lowest = rotors - _CLEARANCE
        model.notes.append(f"link {model.base}: its legs are longer, {_CLEARANCE:g} m below the rotors")
    flies = bool(fields.get("surfaces"))
    name, middle, reach = max(
        boxes, key=lambda box: float(np.prod(box[2])) * (0.01 if _is_wing(box[2]) else 1.0)
    )
    others = [other for other, _, _ in boxes if other != name]
    if flies and _is_wing(reach):
        # Its wing is drawn by the surfaces.
        bottom = float(middle[2] - reach[2])
        reach = np.array([reach[0], _BODY_WIDTH * reach[0], max(reach[2], _BODY_WIDTH * reach[0])])
        middle = np.array([middle[0], middle[1], bottom + reach[2]])
        model.notes.append(f"collision {name}: it is taken for a wing, on a body of its length")
    if others:
        model.notes.append(f"collision {', '.join(others)}: the body is the largest box, {name}, on legs")
    if abs(middle[1]) > 1e-6:
        model.notes.append(f"collision {name}: its place along y, {middle[1]:g} m, is left out")
    leg = 0.0 if fields.get("wheels") else max(float(middle[2] - reach[2]) - lowest, 0.0)
    place = rounded(middle)
    made: dict[str, Any] = {
        "size": rounded(2 * reach),
        "x": place[0],
        "height": place[2],
        "leg_height": rounded([leg])[0],
    }
    if flies:
        made |= {"form": "fuselage"} | _booms(fields["surfaces"], place[0] - made["size"][0] / 2, place[2])
    return made


def _booms(surfaces: dict[str, Any], rear: float, height: float) -> dict[str, Any]:
    """Return rods from the rear of the body to tails behind it."""
    places = [fields["position"] for fields in surfaces.values() if abs(fields["position"][1]) < _LEAST_SPAN]
    tails = [[x, 0.0, z] for x, _, z in places if x < rear]
    return {"struts": [[rounded([rear + _LEAST_SPAN, 0.0, height]), tail] for tail in tails]} if tails else {}


def _is_wing(reach: Array) -> bool:
    """Return whether a box is wide and flat."""
    return bool(reach[1] > _WING_RATIO * reach[0] and reach[2] < reach[0])


def _half_span(model: Model) -> float:
    """Return half of the span of the widest flat box of the base link [m], 0 without one."""
    spans = [0.0]
    for collision in model.links[model.base].every("collision"):
        if (size := collision.child("geometry", "box", "size")) is not None:
            half = np.array(size.numbers(3)) / 2
            spans += [float(half[1])] if _is_wing(half) else []
    return max(spans)


def _lowest_disc(fields: dict[str, Any]) -> float:
    """Return the height of the lowest point of all rotor discs [m]."""
    found: list[float] = []
    for rotor in fields["rotors"]:
        kind = fields["propulsion"][rotor["propulsion"]] if "propulsion" in rotor else fields
        upright = rotor.get("axis", [0.0, 0.0, 1.0])[2]
        reach = kind["propeller"]["diameter"] / 2 * math.sqrt(max(1.0 - upright**2, 0.0))
        found.append(rotor["position"][2] - reach)
    return min(found)


def add_shapes(model: Model, surfaces: dict[str, Any], joints: dict[str, Any]) -> None:
    """Add shapes to wings of LiftDrag, whose area is no measure of their size.

    Those at a side reach as far as their neighbours inward, so that each has its middle at its centre of
    pressure; the last ones go on to the ends of a box that is a wing. Those in the plane of symmetry are
    tails: a fin stands on its centre of pressure.

    Args:
        model: The model.
        surfaces: Surfaces of the vehicle.
        joints: Joints of the vehicle; hinges are at three quarters of the chord.
    """
    wings = {name: fields for name, fields in surfaces.items() if fields["model"] == "lift_drag"}
    sides = {name: fields for name, fields in wings.items() if abs(fields["position"][1]) > _LEAST_SPAN}
    edges, last = {1.0: 0.0, -1.0: 0.0}, {}
    for fields in sorted(sides.values(), key=lambda fields: abs(float(fields["position"][1]))):
        place = fields["position"][1]
        side = math.copysign(1.0, place)
        span = max(2 * (abs(place) - edges[side]), _LEAST_SPAN)
        edges[side], last[side] = max(abs(place) + span / 2, edges[side]), fields
        fields["shape"] = {"span": rounded([span])[0]}
    half_span = _half_span(model)
    for side, fields in last.items():
        if half_span > edges[side]:
            span = fields["shape"]["span"] + half_span - edges[side]
            x, _, z = fields["position"]
            middle = [x, side * (half_span - span / 2), z]
            fields["shape"] = {"position": rounded(middle), "span": rounded([span])[0]}
    chord = 2 * max(*edges.values(), half_span) / _ASPECT_RATIO
    for fields in sides.values():
        fields["shape"]["chord"] = rounded([chord])[0]
    for name, fields in wings.items():
        if name not in sides:
            fields["shape"] = _tail(fields)
    for fields in wings.values():
        hinge = joints.get(next(iter(fields.get("controls", ())), ""))
        if hinge is not None and fields.get("forward", [1.0, 0.0, 0.0]) == [1.0, 0.0, 0.0]:
            shape, (along, across, _) = fields["shape"], hinge["axis"]
            _, y, z = shape.get("position", fields["position"])
            shape["position"] = rounded([hinge["position"][0] + shape["chord"] / 2, y, z])
            if fields in sides.values() and abs(across) > abs(along) > 1e-3:
                shape["sweep"] = rounded([math.atan(-along / across) * math.copysign(1.0, y)])[0]
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
