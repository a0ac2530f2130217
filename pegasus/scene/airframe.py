"""Airframes drawn from a vehicle description: shapes, and the USD stage with mass and collider."""

from collections.abc import Sequence

import numpy as np
from pxr import Gf, Tf, Usd, UsdPhysics

from pegasus.base.arrays import Array
from pegasus.base.frames import quaternion_from_matrix
from pegasus.config.rotor_specs import RotorSpec
from pegasus.config.scenario import VehicleSpec, inertia_tensor
from pegasus.scene.authoring import (
    CREASE,
    Surface,
    cylinder,
    group,
    label,
    material,
    mesh,
    new_stage,
    physics_material,
    place,
    rotation_to,
    smooth_mesh,
)
from pegasus.scene.faces import Faces, loft_faces
from pegasus.scene.fuselage import draw_wheels, fuselage, nearer_boom
from pegasus.scene.lofted_wings import loft, lofted_parts, wing_boxes
from pegasus.scene.scene import PhysicsMaterial

# Cross-sections of the central body: height and width as parts of its size.
_BODY_SECTIONS = ((-0.5, 0.82), (-0.32, 1.0), (0.08, 1.0), (0.3, 0.82), (0.45, 0.55), (0.5, 0.3))
_BODY_CORNERS = 20

# Stations of a blade: distance from the axis and chord as parts of the radius (roughly a 10 x 4.7 propeller).
_BLADE_STATIONS = (
    (0.06, 0.10),
    (0.2, 0.18),
    (0.35, 0.21),
    (0.55, 0.18),
    (0.75, 0.14),
    (0.9, 0.10),
    (1.0, 0.04),
)
_PITCH = 0.47
# An aerofoil from the leading edge over the top to the trailing edge and back, in parts of the chord.
_SECTION = np.array([[0.5, 0.0], [0.25, 0.07], [-0.1, 0.06], [-0.5, 0.0], [-0.1, -0.02], [0.25, -0.03]])

_DISC_CORNERS = 8
_CORNERS = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])


def body_height(spec: VehicleSpec) -> float:
    """Return the height of the central body's middle above the body's origin [m]."""
    if spec.body.height is not None:
        return spec.body.height
    return float(np.mean([rotor.position[2] for rotor in spec.rotor_list()]))


def feet_height(spec: VehicleSpec) -> float:
    """Return the height of the feet above the body's origin [m]."""
    return body_height(spec) - spec.body.size[2] / 2 - spec.body.leg_height


def footprint(spec: VehicleSpec) -> Array:
    """Return the corners of the support polygon, counter-clockwise [m], shape (K, 2).

    Skids are at the sides of the body, wider apart for longer legs; feet are below the rotors.
    """
    if spec.body.landing_gear == "feet":
        return _outline(np.array([rotor.position[:2] for rotor in spec.rotor_list()]))
    (length, width, _), legs = spec.body.size, spec.body.leg_height
    half = max(0.6 * width, 0.5 * width + 0.2 * legs) if legs else 0.5 * width
    return _CORNERS * [max(0.5 * length, 0.8 * half if legs else 0.0), half] + [spec.body.x, 0.0]


def partner_above(spec: VehicleSpec, index: int) -> int | None:
    """Return the index of the upper rotor of a coaxial pair, or None if the rotor has no rotor above it."""
    return _partner(spec.rotor_list(), index, spec.propeller.diameter)


def _partner(rotors: Sequence[RotorSpec], index: int, diameter: float) -> int | None:
    axis = rotation_to(rotors[index].axis)[:, 2]
    for k, other in enumerate(rotors):
        offset = np.subtract(other.position, rotors[index].position)
        along = offset @ axis
        if 0.0 < along < diameter and np.linalg.norm(offset - along * axis) < diameter / 4:
            return k
    return None


def central_body(size: Sequence[float]) -> tuple[Array, Faces]:
    """Return the central body, a loft of rounded rectangles around its centre: points [m] and faces.

    Args:
        size: Lengths along x, y, z [m].
    """
    angle = 2 * np.pi * (np.arange(_BODY_CORNERS) + 0.5) / _BODY_CORNERS
    cosine, sine = np.cos(angle), np.sin(angle)
    # A superellipse of exponent four: a rectangle with round corners.
    outline = np.stack(
        [np.sign(cosine) * np.sqrt(np.abs(cosine)), np.sign(sine) * np.sqrt(np.abs(sine))], axis=1
    )
    outline = outline / outline.max(axis=0) / 2 * np.asarray(size[:2])
    rings = [
        np.column_stack([outline * width, np.full(_BODY_CORNERS, height * size[2])])
        for height, width in _BODY_SECTIONS
    ]
    return np.concatenate(rings), loft_faces(len(rings), _BODY_CORNERS)


def blades(diameter: float, count: int, direction: str) -> tuple[Array, Faces]:
    """Return the blades of a propeller with thrust along +z: points [m] and faces.

    Each section is pitched by atan(pitch / (2 pi r)), leading edge up. The blades of a clockwise propeller
    mirror those of a counter-clockwise one.

    Args:
        diameter: Diameter [m].
        count: Number of blades.
        direction: `ccw` or `cw`, seen from above.
    """
    rings = []
    for part, chord in _BLADE_STATIONS:
        twist = np.arctan2(_PITCH, np.pi * part)
        along, up = (diameter / 2 * chord * _SECTION).T
        y = along * np.cos(twist) - up * np.sin(twist)
        z = along * np.sin(twist) + up * np.cos(twist)
        rings.append(np.column_stack([np.full(len(y), part * diameter / 2), y, z]))
    blade = np.concatenate(rings)
    faces = loft_faces(len(rings), len(_SECTION))
    points, all_faces = [], []
    for k in range(count):
        angle = 2 * np.pi * k / count
        turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
        points.append(blade @ turn.T)
        all_faces += [[index + k * len(blade) for index in face] for face in faces]
    if direction == "cw":
        return np.concatenate(points) * [1.0, -1.0, 1.0], [face[::-1] for face in all_faces]
    return np.concatenate(points), all_faces


def convex_hull(spec: VehicleSpec) -> tuple[Array, Faces]:
    """Return the convex collision shape around feet, body and rotor discs: points [m] and faces.

    It stands on the corners of the footprint, is widest at the rotors and has a flat top, so that the vehicle
    rests on corners when upright and when inverted.
    """
    length, width, height = spec.body.size
    feet, top = feet_height(spec), body_height(spec) + height / 2
    stand, lid = footprint(spec), _CORNERS * [length / 2, width / 2] + [spec.body.x, 0.0]
    # The corners circumscribe the circle of the blade tips.
    reach = 0.5 / np.cos(np.pi / _DISC_CORNERS)
    angle = 2 * np.pi * np.arange(_DISC_CORNERS) / _DISC_CORNERS
    circle = reach * np.stack([np.cos(angle), np.sin(angle), np.zeros(_DISC_CORNERS)], axis=1)
    discs = np.concatenate(
        [
            spec.propeller_of(rotor).diameter * circle @ rotation_to(rotor.axis).T + rotor.position
            for rotor in spec.rotor_list()
        ]
    )
    widest = _outline(np.concatenate([discs[:, :2], stand, lid]))
    low, high = discs[:, 2].min(), discs[:, 2].max()
    layers = [(feet, stand)] if feet < low else []
    layers += [(low, widest)] + ([(high, widest)] if high > low else [])
    layers += [(top, lid)] if top > high else []
    return _stack(layers)


def _stack(layers: Sequence[tuple[float, Array]]) -> tuple[Array, Faces]:
    """Return the surface through convex polygons at ascending heights."""
    points = np.concatenate([np.column_stack([polygon, np.full(len(polygon), z)]) for z, polygon in layers])
    first = np.concatenate([[0], np.cumsum([len(polygon) for _, polygon in layers])])
    faces: Faces = []
    for k in range(len(layers) - 1):
        faces += _zip(layers[k][1], layers[k + 1][1], int(first[k]), int(first[k + 1]))
    bottom, top = list(range(len(layers[0][1])))[::-1], list(range(int(first[-2]), int(first[-1])))
    return points, [bottom, *faces, top]


def _zip(lower: Array, upper: Array, lower_first: int, upper_first: int) -> Faces:
    """Return the triangles between two convex polygons, both counter-clockwise, one above the other.

    Edges are processed by direction, as in a Minkowski sum.
    """
    n, m = len(lower), len(upper)
    i, j = (int(np.lexsort((polygon[:, 0], polygon[:, 1]))[0]) for polygon in (lower, upper))
    faces, taken, other = [], 0, 0
    while taken < n or other < m:
        a, b = lower[(i + 1) % n] - lower[i], upper[(j + 1) % m] - upper[j]
        here, above = lower_first + i, upper_first + j
        if other == m or (taken < n and a[0] * b[1] - a[1] * b[0] >= 0):
            i, taken = (i + 1) % n, taken + 1
            faces.append([here, lower_first + i, above])
        else:
            j, other = (j + 1) % m, other + 1
            faces.append([here, upper_first + j, above])
    return faces


def _outline(points: Array) -> Array:
    """Return the convex outline of points in the plane, counter-clockwise (Andrew 1979), shape (K, 2)."""
    ordered = [tuple(point) for point in np.unique(np.round(points, 6), axis=0)]

    def chain(walk: Sequence[tuple[float, ...]]) -> list[tuple[float, ...]]:
        kept: list[tuple[float, ...]] = []
        for point in walk:
            while len(kept) > 1 and _turn(kept[-2], kept[-1], point) <= 1e-12:
                kept.pop()
            kept.append(point)
        return kept[:-1]

    return np.array(chain(ordered) + chain(ordered[::-1]))


def _turn(a: Sequence[float], b: Sequence[float], c: Sequence[float]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


CONTACT = PhysicsMaterial(static_friction=0.8, dynamic_friction=0.7, restitution=0.0)
"""Contact properties of a vehicle with rubber feet and a carbon frame."""

# Lengths of motor and hub as parts of the propeller's diameter.
_RIM = [0, 1, 3, 2]
"""Corners of an end of a box, in the order around it."""
_HUB_RADIUS, _HUB_HALF_HEIGHT = 0.03, 0.02
_MOTOR_RADIUS, _MOTOR_HEIGHT = 0.055, 0.1


def build_vehicle_stage(spec: VehicleSpec) -> Usd.Stage:
    """Return an in-memory stage of a vehicle drawn from its description.

    The default prim is a rigid body with the mass properties of the description. Its children are `body` with
    the airframe, `rotor<i>` with each propeller, at the rotor's centre with z along its axis, `joint_<name>`
    with what a joint turns as a whole, the control surfaces, `wheel_<name>`, and `collision` with one convex
    hull: a single shape keeps a thousand vehicles fast. Each panel of a wing collides by a hull of its own.
    Rotors and control surfaces that are carried by what a joint turns are below its prim.

    Args:
        spec: The vehicle.
    """
    name = Tf.MakeValidIdentifier(spec.name)
    stage, root = new_stage(name), f"/{name}"
    label(stage.GetDefaultPrim(), "multirotor")
    write_mass(stage.GetDefaultPrim(), spec)
    looks = {
        "body": Surface(material(stage, f"{root}/Looks/Body", spec.body.color, roughness=0.4)),
        "carbon": Surface(material(stage, f"{root}/Looks/Carbon", (0.03, 0.03, 0.03), roughness=0.5)),
        "metal": Surface(
            material(stage, f"{root}/Looks/Metal", (0.5, 0.5, 0.52), roughness=0.3, metallic=1.0)
        ),
        "front": Surface(material(stage, f"{root}/Looks/FrontPropeller", (0.75, 0.16, 0.03), roughness=0.4)),
        "rear": Surface(material(stage, f"{root}/Looks/RearPropeller", (0.08, 0.08, 0.09), roughness=0.4)),
    }
    _draw_body(stage, f"{root}/body", spec, looks)
    carriers = [rotor.joint for rotor in spec.rotor_list()]
    carriers += [mount.joint for mount, _ in spec.mounts().values()]
    for joint in filter(carriers.count, spec.joints):
        group(stage, f"{root}/joint_{joint}")
    for part in lofted_parts(spec):
        moves = part.hinge is not None
        carried = _carried(root, spec, part.carrier if moves else part.joint)
        above = carried or (root if moves else f"{root}/body")
        look = looks["front" if moves or carried else "body"]
        smooth_mesh(stage, f"{above}/{part.name}", part.points, part.faces, look, crease=CREASE)
    draw_wheels(stage, root, spec, body_height(spec), looks["rear"], looks["metal"])
    for index, rotor in enumerate(spec.rotor_list()):
        _draw_motor(stage, root, index, spec, looks)
        look = looks["front" if rotor.position[0] > 1e-6 else "rear"]
        above = _carried(root, spec, rotor.joint) or root
        _draw_rotor(stage, f"{above}/rotor{index}", rotor, spec, look, looks["metal"])
    rubber = physics_material(stage, f"{root}/Looks/Contact", CONTACT)
    surface = Surface(looks["carbon"].material, rubber)
    hulls = [("collision", *convex_hull(spec))]
    hulls += [
        (f"collision_{k}", *loft([box[:4][_RIM], box[4:][_RIM]])) for k, box in enumerate(wing_boxes(spec))
    ]
    for name, points, faces in hulls:
        hull = mesh(stage, f"{root}/{name}", points, faces, surface, approximation="convexHull")
        hull.CreatePurposeAttr("guide")
    return stage


def _carried(root: str, spec: VehicleSpec, joint: str | None) -> str | None:
    """Return the prim of what a joint turns; None if it is not the name of one, as the model will tell."""
    return f"{root}/joint_{joint}" if joint in spec.joints else None


def write_mass(prim: Usd.Prim, spec: VehicleSpec) -> None:
    """Make a prim a rigid body with mass, centre of mass, principal moments and principal axes."""
    UsdPhysics.RigidBodyAPI.Apply(prim)
    schema = UsdPhysics.MassAPI.Apply(prim)
    tensor = inertia_tensor(spec.inertia)
    moments, axes = np.diagonal(tensor), np.eye(3)
    if np.any(tensor - np.diag(moments)):
        moments, axes = np.linalg.eigh(tensor)
        axes = axes * [1.0, 1.0, np.linalg.det(axes)]
    x, y, z, w = quaternion_from_matrix(axes).tolist()
    schema.CreateMassAttr(spec.mass)
    schema.CreateCenterOfMassAttr(Gf.Vec3f(*spec.center_of_mass))
    schema.CreateDiagonalInertiaAttr(Gf.Vec3f(*(float(moment) for moment in moments)))
    schema.CreatePrincipalAxesAttr(Gf.Quatf(w, x, y, z))


def _draw_body(stage: Usd.Stage, path: str, spec: VehicleSpec, looks: dict[str, Surface]) -> None:
    """Write the central body, a camera at its nose, and the landing gear."""
    group(stage, path)
    length, width, height = spec.body.size
    middle = body_height(spec)
    form = fuselage if spec.body.form == "fuselage" else central_body
    points, faces = form(spec.body.size)
    shell = smooth_mesh(stage, f"{path}/shell", points, faces, looks["body"], crease=CREASE)
    place(shell.GetPrim(), (spec.body.x, 0.0, middle))
    for k, (start, end) in enumerate(spec.body.struts):
        cylinder(stage, f"{path}/strut{k}", start, end, spec.body.arm_diameter / 2, looks["carbon"])
    if spec.body.leg_height and spec.body.landing_gear == "skids":
        _draw_skids(stage, path, spec, looks["carbon"])
    if spec.body.form == "fuselage":
        return
    lens = 0.15 * min(width, height)
    nose = (spec.body.x + length / 2, 0.0, middle - 0.1 * height)
    cylinder(stage, f"{path}/camera", nose, (nose[0] + lens, 0.0, nose[2]), lens, looks["metal"])


def _draw_skids(stage: Usd.Stage, path: str, spec: VehicleSpec, look: Surface) -> None:
    """Write a skid on either side, each with two legs."""
    length, width, height = spec.body.size
    middle, feet = body_height(spec), feet_height(spec)
    long, wide = footprint(spec).max(axis=0)
    radius = min(spec.body.arm_diameter / 2, spec.body.leg_height / 2)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        y, z = sign * (wide - radius), feet + radius
        ends = ((2 * spec.body.x - long, y, z), (long, y, z))
        cylinder(stage, f"{path}/{side}_skid", *ends, radius, look)
        for end, x in (("front", 0.3 * length), ("rear", -0.3 * length)):
            x += spec.body.x
            top = (spec.body.x + 0.8 * (x - spec.body.x), sign * 0.3 * width, middle - 0.4 * height)
            cylinder(stage, f"{path}/{side}_{end}_leg", top, (x, y, z), 0.8 * radius, look)


def _draw_motor(
    stage: Usd.Stage, root: str, index: int, spec: VehicleSpec, looks: dict[str, Surface]
) -> None:
    """Write the motor of a rotor, its arm and the foot below.

    The lower motor of a coaxial pair is upside down, and the arm holds both between them. A motor on a joint
    turns with it, on a strut from the hinge line.
    """
    rotors, path = spec.rotor_list(), f"{root}/body"
    diameter = spec.propeller_of(rotor := rotors[index]).diameter
    hinge = spec.joints.get(rotor.joint or "")
    held_by = _carried(root, spec, rotor.joint) or path
    axis, center = rotation_to(rotor.axis)[:, 2], np.asarray(rotor.position)
    above = partner_above(spec, index)
    down = axis if above is not None else -axis
    near, mount = (
        center + down * diameter * part for part in (_HUB_HALF_HEIGHT, _HUB_HALF_HEIGHT + _MOTOR_HEIGHT)
    )
    cylinder(stage, f"{held_by}/motor{index}", mount, near, _MOTOR_RADIUS * diameter, looks["metal"])
    if above is not None:
        return
    pairs = [k for k in range(len(rotors)) if partner_above(spec, k) == index]
    if pairs:
        mount = (center + rotors[pairs[0]].position) / 2
    radius = spec.body.arm_diameter / 2
    if hinge is not None:
        along = np.array(hinge.axis)
        pivot = hinge.position + along * float((mount - hinge.position) @ along)
        if np.abs(mount - pivot).max() > 1e-3:
            cylinder(stage, f"{held_by}/strut{index}", pivot, mount, 1.2 * radius, looks["metal"])
        mount = pivot
    middle, reach = body_height(spec), 0.4 * spec.body.size[2]
    inner = np.array([spec.body.x, 0.0, np.clip(mount[2], middle - reach, middle + reach)])
    if (boom := nearer_boom(spec, mount, middle)) is not None:
        inner = boom
    if np.abs(mount - inner).max() > 1e-3:
        cylinder(stage, f"{path}/arm{index}", inner, mount, radius, looks["carbon"])
    foot = np.array([mount[0], mount[1], feet_height(spec)])
    if spec.body.landing_gear == "feet" and mount[2] > foot[2] + radius:
        cylinder(stage, f"{path}/foot{index}", foot, mount, radius, looks["carbon"])


def _draw_rotor(
    stage: Usd.Stage, path: str, rotor: RotorSpec, spec: VehicleSpec, look: Surface, metal: Surface
) -> None:
    """Write hub and blades of a rotor in the rotor's frame, z along its axis."""
    propeller = spec.propeller_of(rotor)
    diameter = propeller.diameter
    place(group(stage, path), rotor.position, rotation=rotation_to(rotor.axis))
    half = _HUB_HALF_HEIGHT * diameter
    cylinder(stage, f"{path}/hub", (0.0, 0.0, -half), (0.0, 0.0, half), _HUB_RADIUS * diameter, metal)
    shape = blades(diameter, propeller.blade_count, rotor.direction)
    smooth_mesh(stage, f"{path}/propeller", *shape, look, crease=CREASE)
