"""Draw a vehicle from its description: a stage with its body, rotors, mass and collision shape."""

import numpy as np
from pxr import Gf, Tf, Usd, UsdPhysics

from pegasus.frames import quaternion_from_matrix
from pegasus.rotor_specs import RotorSpec
from pegasus.scenario import VehicleSpec, inertia_tensor
from pegasus.scene.airframe import (
    blades,
    body_height,
    central_body,
    convex_hull,
    feet_height,
    footprint,
    partner_above,
)
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
from pegasus.scene.scene import PhysicsMaterial
from pegasus.scene.smooth_mesh import CREASE, smooth_mesh

CONTACT = PhysicsMaterial(static_friction=0.8, dynamic_friction=0.7, restitution=0.0)
"""Contact of a vehicle: rubber feet and a carbon frame."""

# Lengths of motor and hub as parts of the propeller's diameter.
_HUB_RADIUS, _HUB_HALF_HEIGHT = 0.03, 0.02
_MOTOR_RADIUS, _MOTOR_HEIGHT = 0.055, 0.1


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
    write_mass(prim, spec)
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
        _draw_motor(stage, f"{root}/body", index, spec, looks)
        look = looks["front" if rotor.position[0] > 1e-6 else "rear"]
        _draw_rotor(stage, f"{root}/rotor{index}", rotor, spec, look, looks["metal"])
    points, faces = convex_hull(spec)
    rubber = physics_material(stage, f"{root}/Looks/Contact", CONTACT)
    surface = Surface(looks["carbon"].material, rubber)
    mesh(stage, f"{root}/collision", points, faces, surface, approximation="convexHull").CreatePurposeAttr(
        "guide"
    )
    return stage


def write_mass(prim: Usd.Prim, spec: VehicleSpec) -> None:
    """Make a prim a rigid body: mass, centre of mass, principal moments and the rotation of their axes.

    Args:
        prim: Root of a vehicle.
        spec: The vehicle.
    """
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
    shell = smooth_mesh(stage, f"{path}/shell", points, faces, looks["body"], crease=CREASE)
    place(shell.GetPrim(), (0.0, 0.0, middle))
    lens = 0.15 * min(width, height)
    nose = (length / 2, 0.0, middle - 0.1 * height)
    cylinder(stage, f"{path}/camera", nose, (nose[0] + lens, 0.0, nose[2]), lens, looks["metal"])
    if spec.body.leg_height and spec.body.landing_gear == "skids":
        _draw_skids(stage, path, spec, looks["carbon"])


def _draw_skids(stage: Usd.Stage, path: str, spec: VehicleSpec, look: Surface) -> None:
    """Write a skid on either side, each with two legs."""
    length, width, height = spec.body.size
    middle, feet = body_height(spec), feet_height(spec)
    long, wide = footprint(spec).max(axis=0)
    radius = min(spec.body.arm_diameter / 2, spec.body.leg_height / 2)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        y, z = sign * (wide - radius), feet + radius
        cylinder(stage, f"{path}/{side}_skid", (-long, y, z), (long, y, z), radius, look)
        for end, x in (("front", 0.3 * length), ("rear", -0.3 * length)):
            top = (0.8 * x, sign * 0.3 * width, middle - 0.4 * height)
            cylinder(stage, f"{path}/{side}_{end}_leg", top, (x, y, z), 0.8 * radius, look)


def _draw_motor(
    stage: Usd.Stage, path: str, index: int, spec: VehicleSpec, looks: dict[str, Surface]
) -> None:
    """Write the motor of a rotor, the arm that holds it, and the foot below it.

    Of a coaxial pair the lower motor hangs upside down, and both have the arm between them.
    """
    rotors, diameter = spec.rotor_list(), spec.propeller.diameter
    rotor = rotors[index]
    axis, center = rotation_to(rotor.axis)[:, 2], np.asarray(rotor.position)
    above = partner_above(spec, index)
    down = axis if above is not None else -axis
    near, mount = (
        center + down * diameter * part for part in (_HUB_HALF_HEIGHT, _HUB_HALF_HEIGHT + _MOTOR_HEIGHT)
    )
    cylinder(stage, f"{path}/motor{index}", mount, near, _MOTOR_RADIUS * diameter, looks["metal"])
    if above is not None:
        return
    pairs = [k for k in range(len(rotors)) if partner_above(spec, k) == index]
    if pairs:
        mount = (center + rotors[pairs[0]].position) / 2
    middle, reach = body_height(spec), 0.4 * spec.body.size[2]
    inner = np.array([0.0, 0.0, np.clip(mount[2], middle - reach, middle + reach)])
    radius = spec.body.arm_diameter / 2
    if np.abs(mount - inner).max() > 1e-3:
        cylinder(stage, f"{path}/arm{index}", inner, mount, radius, looks["carbon"])
    foot = np.array([mount[0], mount[1], feet_height(spec)])
    if spec.body.landing_gear == "feet" and mount[2] > foot[2] + radius:
        cylinder(stage, f"{path}/foot{index}", foot, mount, radius, looks["carbon"])


def _draw_rotor(
    stage: Usd.Stage, path: str, rotor: RotorSpec, spec: VehicleSpec, look: Surface, metal: Surface
) -> None:
    """Write hub and blades of a rotor in its own frame: z along its axis."""
    diameter = spec.propeller.diameter
    place(group(stage, path), rotor.position, rotation=rotation_to(rotor.axis))
    half = _HUB_HALF_HEIGHT * diameter
    cylinder(stage, f"{path}/hub", (0.0, 0.0, -half), (0.0, 0.0, half), _HUB_RADIUS * diameter, metal)
    points, faces = blades(diameter, spec.propeller.blade_count, rotor.direction)
    smooth_mesh(stage, f"{path}/propeller", points, faces, look, crease=CREASE)
