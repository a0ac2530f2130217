"""A vehicle as a stage: drawn from its YAML file, or the user's own USD."""

import re
from pathlib import Path

import numpy as np
from pxr import Gf, Tf, Usd, UsdPhysics

from pegasus.arrays import Array
from pegasus.errors import ConfigError
from pegasus.frames import quaternion_from_matrix
from pegasus.scenario import RotorSpec, VehicleSpec, inertia_tensor
from pegasus.scene.airframe import blades, body_height, central_body, convex_hull, footprint
from pegasus.scene.authoring import (
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
)
from pegasus.scene.scene import Collider, ColliderShape, PhysicsMaterial, Scene
from pegasus.scene.stage import open_stage
from pegasus.scene.translation import translate

_ROTOR = re.compile(r"/rotor_?(\d+)(?:/|$)", re.IGNORECASE)
_CONTACT = PhysicsMaterial(static_friction=0.8, dynamic_friction=0.7, restitution=0.0)

# Lengths of motor and hub as parts of the propeller's diameter.
_HUB_RADIUS, _HUB_HALF_HEIGHT = 0.03, 0.02
_MOTOR_RADIUS, _MOTOR_HEIGHT = 0.055, 0.1


def vehicle_scene(spec: VehicleSpec, source: Path) -> Scene:
    """Return a vehicle as geometry and colliders in its body frame.

    The user's own USD is taken as it is: what lies below its default prim, posed in the frame of that prim. A
    model without colliders collides by the box around it.

    Args:
        spec: The vehicle.
        source: Its YAML file, which the path of its USD file is relative to.

    Raises:
        ConfigError: If its USD file does not exist or cannot be translated.
    """
    if spec.usd is None:
        stage = build_vehicle_stage(spec)
    else:
        file = source.parent / spec.usd
        if not file.is_file():
            remedy = "correct the path, or leave the field out to have the vehicle drawn"
            raise ConfigError("no such file", file=source, field="usd", value=str(spec.usd), remedy=remedy)
        stage = open_stage(file)
    root = stage.GetDefaultPrim()
    scene = translate(stage, root=str(root.GetPath()) if root else "/")
    if not scene.colliders:
        if not scene.instances:
            raise ConfigError("holds no geometry below its default prim", file=scene.source)
        scene.colliders.append(_box_around(scene))
        scene.warnings.append(f"{scene.source}: no collider: the vehicle collides by the box around it")
    return scene


def rotor_of(path: str) -> int | None:
    """Return the index of the rotor that a prim of a vehicle turns with, or None if it does not turn.

    Args:
        path: Path of an instance; below `rotor<i>` or `rotor_<i>` it turns with rotor i.
    """
    found = _ROTOR.search(path)
    return int(found.group(1)) if found else None


def build_vehicle_stage(spec: VehicleSpec) -> Usd.Stage:
    """Return a stage in memory that draws a vehicle from its description.

    Its default prim is one rigid body with the mass properties of the description. Below it are `body` with
    the airframe, `rotor<i>` with the propellers, each at its rotor's centre with z along its axis, and
    `collision` with one convex hull around them all: a single shape keeps a thousand vehicles fast.

    Args:
        spec: The vehicle.
    """
    name = Tf.MakeValidIdentifier(spec.name)
    stage, root = new_stage(name), f"/{name}"
    prim = stage.GetDefaultPrim()
    label(prim, "multirotor")
    _write_mass(prim, spec)
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
    for index, rotor in enumerate(spec.rotor_list()):
        _draw_arm(stage, f"{root}/body", index, rotor, spec, looks)
        look = looks["front" if rotor.position[0] > 1e-6 else "rear"]
        _draw_rotor(stage, f"{root}/rotor{index}", rotor, spec, look, looks["metal"])
    points, faces = convex_hull(spec)
    rubber = physics_material(stage, f"{root}/Looks/Contact", _CONTACT)
    surface = Surface(looks["carbon"].material, rubber)
    mesh(stage, f"{root}/collision", points, faces, surface, approximation="convexHull").CreatePurposeAttr(
        "guide"
    )
    return stage


def _write_mass(prim: Usd.Prim, spec: VehicleSpec) -> None:
    """Write mass, centre of mass, principal moments and the rotation of their axes."""
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
    points, faces = central_body(spec.body.size)
    shell = mesh(stage, f"{path}/shell", points, faces, looks["body"])
    place(shell.GetPrim(), (0.0, 0.0, middle))
    lens = 0.15 * min(width, height)
    nose = (length / 2, 0.0, middle - 0.1 * height)
    cylinder(stage, f"{path}/camera", nose, (nose[0] + lens, 0.0, nose[2]), lens, looks["metal"])
    if not spec.body.leg_height:
        return
    long, wide, feet = footprint(spec)
    radius = min(spec.body.arm_diameter / 2, spec.body.leg_height / 2)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        y, z = sign * (wide - radius), feet + radius
        cylinder(stage, f"{path}/{side}_skid", (-long, y, z), (long, y, z), radius, looks["carbon"])
        for end, x in (("front", 0.3 * length), ("rear", -0.3 * length)):
            top = (0.8 * x, sign * 0.3 * width, middle - 0.4 * height)
            cylinder(stage, f"{path}/{side}_{end}_leg", top, (x, y, z), 0.8 * radius, looks["carbon"])


def _draw_arm(
    stage: Usd.Stage, path: str, index: int, rotor: RotorSpec, spec: VehicleSpec, looks: dict[str, Surface]
) -> None:
    """Write the motor of a rotor, and the arm that holds it."""
    diameter, axis = spec.propeller.diameter, rotation_to(rotor.axis)[:, 2]
    center = np.asarray(rotor.position)
    above, below = (
        center - axis * diameter * part for part in (_HUB_HALF_HEIGHT, _HUB_HALF_HEIGHT + _MOTOR_HEIGHT)
    )
    cylinder(stage, f"{path}/motor{index}", below, above, _MOTOR_RADIUS * diameter, looks["metal"])
    middle, reach = body_height(spec), 0.4 * spec.body.size[2]
    inner = np.array([0.0, 0.0, np.clip(below[2], middle - reach, middle + reach)])
    if np.abs(below - inner).max() > 1e-3:
        cylinder(stage, f"{path}/arm{index}", inner, below, spec.body.arm_diameter / 2, looks["carbon"])


def _draw_rotor(
    stage: Usd.Stage, path: str, rotor: RotorSpec, spec: VehicleSpec, look: Surface, metal: Surface
) -> None:
    """Write hub and blades of a rotor in its own frame: z along its axis."""
    diameter = spec.propeller.diameter
    place(group(stage, path), rotor.position, rotation=rotation_to(rotor.axis))
    half = _HUB_HALF_HEIGHT * diameter
    cylinder(stage, f"{path}/hub", (0.0, 0.0, -half), (0.0, 0.0, half), _HUB_RADIUS * diameter, metal)
    points, faces = blades(diameter, spec.propeller.blade_count, rotor.direction)
    mesh(stage, f"{path}/propeller", points, faces, look)


def _box_around(scene: Scene) -> Collider:
    """Return the axis-aligned box around everything that is drawn."""
    corners: list[Array] = []
    for item in scene.instances:
        vertices = scene.geometries[item.geometry].vertices.astype(np.float64)
        vertices = vertices @ item.transform[:3, :3].T + item.transform[:3, 3]
        corners += [vertices.min(axis=0), vertices.max(axis=0)]
    low, high = np.min(corners, axis=0), np.max(corners, axis=0)
    half = (high - low) / 2
    return Collider(
        path=scene.instances[0].path,
        shape=ColliderShape.BOX,
        size=(float(half[0]), float(half[1]), float(half[2])),
        position=(low + high) / 2,
        orientation=np.array([0.0, 0.0, 0.0, 1.0]),
        material=_CONTACT,
    )
