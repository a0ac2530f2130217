"""Stage of the Pegasus drone, which is shipped as `data/vehicles/pegasus.usda`."""

from collections.abc import Sequence

import numpy as np
from pxr import Usd, UsdGeom, UsdSemantics, UsdShade, Vt

from pegasus.base.arrays import Array
from pegasus.config.rotor_specs import RotorSpec
from pegasus.config.scenario import VehicleSpec
from pegasus.scene.airframe import CONTACT, convex_hull, feet_height, write_mass
from pegasus.scene.authoring import (
    CREASE,
    Surface,
    box,
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
    sphere,
)
from pegasus.worlds.pegasus_drone import (
    arm,
    bell_profile,
    canopy,
    hull,
    leg,
    mount_profile,
    propeller,
    spinner_profile,
    turned,
    wings,
)

ROOT = "/pegasus"
_MOUNT, _BELL, _ARM_END, _LEG_END = -0.0215, -0.0205, -0.030, -0.037
"""Heights relative to the disc: top of the mount, bottom of the bell, end of the arm, top of the leg [m]."""
_BELL_CORNERS = 24
_LOOKS = {
    # color, roughness, metalness, emission
    "pearl": ((0.78, 0.78, 0.76), 0.28, 0.0, (0.0, 0.0, 0.0)),
    "graphite": ((0.030, 0.032, 0.036), 0.45, 0.0, (0.0, 0.0, 0.0)),
    "glass": ((0.006, 0.012, 0.020), 0.06, 0.0, (0.0, 0.0, 0.0)),
    "carbon": ((0.018, 0.018, 0.020), 0.32, 0.0, (0.0, 0.0, 0.0)),
    "metal": ((0.55, 0.56, 0.58), 0.28, 1.0, (0.0, 0.0, 0.0)),
    "blade": ((0.014, 0.014, 0.016), 0.35, 0.0, (0.0, 0.0, 0.0)),
    "coral": ((0.80, 0.110, 0.020), 0.30, 0.0, (0.0, 0.0, 0.0)),
    "red_light": ((0.9, 0.02, 0.02), 0.3, 0.0, (3.0, 0.05, 0.05)),
    "green_light": ((0.02, 0.8, 0.1), 0.3, 0.0, (0.05, 2.4, 0.3)),
    "white_light": ((0.9, 0.9, 0.9), 0.3, 0.0, (2.5, 2.5, 2.6)),
}


def build_pegasus_drone(spec: VehicleSpec) -> Usd.Stage:
    """Return a stage in memory with the Pegasus drone.

    Args:
        spec: Its description with mass, rotors, propellers and landing gear.
    """
    stage = new_stage(ROOT[1:])
    prim = stage.GetDefaultPrim()
    label(prim, "multirotor")
    write_mass(prim, spec)
    looks = {
        name: Surface(
            material(stage, f"{ROOT}/Looks/{name}", color, roughness=rough, metallic=metal, emission=light)
        )
        for name, (color, rough, metal, light) in _LOOKS.items()
    }
    group(stage, f"{ROOT}/body")
    _draw_hull(stage, looks)
    _draw_camera(stage, looks)
    for index, rotor in enumerate(spec.rotor_list()):
        _draw_arm(stage, index, np.asarray(rotor.position), feet_height(spec), looks)
        _draw_rotor(stage, index, rotor, spec, looks)
    points, faces = convex_hull(spec)
    rubber = physics_material(stage, f"{ROOT}/Looks/Contact", CONTACT)
    surface = Surface(looks["graphite"].material, rubber)
    shape = mesh(stage, f"{ROOT}/collision", points, faces, surface, approximation="convexHull")
    shape.CreatePurposeAttr(UsdGeom.Tokens.guide)
    return stage


def _part(prim: Usd.Prim, name: str) -> None:
    """Label a prim as a part of the vehicle."""
    UsdSemantics.LabelsAPI.Apply(prim, "part").CreateLabelsAttr([name])


def _draw_hull(stage: Usd.Stage, looks: dict[str, Surface]) -> None:
    """Write the shell with stripe and belly, the canopy, the wings on its back, eyes and tail light."""
    path, shape = f"{ROOT}/body", hull()
    shell = smooth_mesh(stage, f"{path}/shell", shape.points, shape.faces, looks["pearl"])
    _part(shell.GetPrim(), "shell")
    paint(shell, "stripe", shape.stripe, looks["coral"].material)
    paint(shell, "belly", shape.belly, looks["graphite"].material)
    glass = smooth_mesh(stage, f"{path}/canopy", *canopy(), looks["glass"])
    _part(glass.GetPrim(), "canopy")
    emblem = smooth_mesh(stage, f"{path}/wings", *wings(), looks["coral"])
    _part(emblem.GetPrim(), "emblem")
    for side, sign in (("left", 1.0), ("right", -1.0)):
        eye = sphere(stage, f"{path}/{side}_eye", (0.1440, sign * 0.0130, 0.0065), 0.0060, looks["glass"])
        _part(eye, "camera")
    _part(sphere(stage, f"{path}/tail_light", (-0.1485, 0.0, 0.012), 0.0045, looks["white_light"]), "light")


def _draw_camera(stage: Usd.Stage, looks: dict[str, Surface]) -> None:
    """Write the camera below the nose in its yoke."""
    path = f"{ROOT}/body/gimbal"
    _part(group(stage, path), "camera")
    x, z = 0.108, -0.052
    cylinder(stage, f"{path}/pan", (x, 0.0, -0.022), (x, 0.0, -0.033), 0.0115, looks["graphite"])
    box(stage, f"{path}/yoke", (x, 0.0, -0.0345), (0.014, 0.052, 0.004), looks["carbon"])
    for side, sign in (("left", 1.0), ("right", -1.0)):
        box(stage, f"{path}/{side}_fork", (x, sign * 0.0245, -0.043), (0.012, 0.003, 0.021), looks["carbon"])
        hub = (x, sign * 0.0215, z), (x, sign * 0.0275, z)
        cylinder(stage, f"{path}/{side}_hub", *hub, 0.0075, looks["metal"])
    ball = sphere(stage, f"{path}/ball", (x, 0.0, z), 0.0185, looks["graphite"])
    _part(ball, "camera")
    profile = [(0.0095, 0.0), (0.0130, 0.001), (0.0130, 0.0075), (0.0115, 0.0085), (0.0100, 0.0070)]
    lens = smooth_mesh(stage, f"{path}/barrel", *turned(profile, 28), looks["metal"], crease=CREASE)
    place(lens.GetPrim(), (x + 0.0135, 0.0, z), rotation=rotation_to((1.0, 0.0, 0.0)))
    glass = sphere(stage, f"{path}/lens", (x + 0.0155, 0.0, z), 0.0098, looks["glass"])
    _part(glass, "camera")


def _draw_arm(stage: Usd.Stage, index: int, center: Array, ground: float, looks: dict[str, Surface]) -> None:
    """Write an arm, the mount of its motor, the leg below and the light at its end."""
    path = f"{ROOT}/body"
    end, top = center + np.array([[0.0, 0.0, _ARM_END], [0.0, 0.0, _LEG_END]])
    beam = smooth_mesh(stage, f"{path}/arm{index}", *arm(end), looks["carbon"])
    _part(beam.GetPrim(), "arm")
    mount = smooth_mesh(
        stage, f"{path}/mount{index}", *turned(mount_profile(), 20), looks["graphite"], crease=CREASE
    )
    place(mount.GetPrim(), center + np.array([0.0, 0.0, _MOUNT]))
    _part(mount.GetPrim(), "motor")
    foot = smooth_mesh(stage, f"{path}/leg{index}", *leg(top, ground), looks["carbon"])
    _part(foot.GetPrim(), "leg")
    out = np.array([np.sign(center[0]) * 0.0085, np.sign(center[1]) * 0.0115, _MOUNT - 0.011])
    side = "red_light" if center[1] > 0 else "green_light"
    look = looks[side if center[0] > 0 else "white_light"]
    _part(sphere(stage, f"{path}/light{index}", center + out, 0.0036, look), "light")


def _draw_rotor(
    stage: Usd.Stage, index: int, rotor: RotorSpec, spec: VehicleSpec, looks: dict[str, Surface]
) -> None:
    """Write the rotating parts (bell, propeller, spinner) in the rotor's frame."""
    path, size = f"{ROOT}/rotor{index}", spec.propeller
    place(group(stage, path), rotor.position, rotation=rotation_to(rotor.axis))
    bell = smooth_mesh(
        stage, f"{path}/bell", *turned(bell_profile(), _BELL_CORNERS), looks["metal"], crease=CREASE
    )
    place(bell.GetPrim(), (0.0, 0.0, _BELL))
    _part(bell.GetPrim(), "motor")
    band = range(2 * _BELL_CORNERS, 3 * _BELL_CORNERS)
    paint(bell, "band", band, looks["coral" if rotor.direction == "ccw" else "graphite"].material)
    cylinder(stage, f"{path}/shaft", (0.0, 0.0, _BELL), (0.0, 0.0, 0.0), 0.0035, looks["metal"])
    points, faces, tips = propeller(size.diameter, size.blade_count, rotor.direction)
    blades = smooth_mesh(stage, f"{path}/propeller", points, faces, looks["blade"], crease=CREASE)
    paint(blades, "tips", tips, looks["coral"].material)
    _part(blades.GetPrim(), "propeller")
    cap = smooth_mesh(stage, f"{path}/spinner", *turned(spinner_profile(), 16), looks["metal"])
    _part(cap.GetPrim(), "propeller")


def paint(schema: UsdGeom.Mesh, name: str, faces: Sequence[int], look: UsdShade.Material) -> None:
    """Assign a material to faces of a mesh."""
    subset = UsdShade.MaterialBindingAPI(schema).CreateMaterialBindSubset(name, Vt.IntArray(list(faces)))
    UsdShade.MaterialBindingAPI.Apply(subset.GetPrim()).Bind(look)
