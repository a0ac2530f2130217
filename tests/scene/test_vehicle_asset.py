"""Tests of vehicle assets: generated from YAML, or the user's own USD."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from own_models import PLACES, write_model
from pxr import Gf, Usd, UsdGeom, UsdPhysics

from pegasus import Multirotor
from pegasus.base.errors import ConfigError
from pegasus.base.frames import matrix_from_quaternion
from pegasus.base.system import resource
from pegasus.config.files import load_vehicle
from pegasus.config.rotor_specs import rotor_of
from pegasus.config.scenario import VehicleSpec, inertia_tensor, parse
from pegasus.scene.airframe import build_vehicle_stage
from pegasus.scene.colliders import lowest_point
from pegasus.scene.scene import ColliderShape, Scene
from pegasus.scene.vehicle_asset import VehicleModel, place_rotors, vehicle_scene
from tests.flyers import MULTIROTORS
from tests.stage_validation import complaints

HERE = Path("vehicle.yaml")
SHIPPED = [resource("config", "vehicles") / f"{name}.yaml" for name in MULTIROTORS]


def ring(**fields: object) -> VehicleSpec:
    """Return a vehicle file of ten lines of YAML."""
    values: dict[str, object] = {
        "name": "my hexarotor",
        "mass": 2.0,
        "inertia": (0.02, 0.02, 0.035),
        "rotors": {"count": 6, "radius": 0.3},
        "thrust_curve": {"model": "quadratic", "thrust_constant": 1e-5, "moment_ratio": 0.02},
    }
    return VehicleSpec.model_validate(values | fields)


def drawn(scene: Scene, part: str = "") -> np.ndarray:
    """Return all vertices of instances whose path contains a word, in the body frame."""
    return np.concatenate(
        [
            scene.geometries[i.geometry].vertices @ i.transform[:3, :3].T + i.transform[:3, 3]
            for i in scene.instances
            if part in i.path
        ]
    )


@pytest.mark.parametrize("inertia", [(0.02, 0.025, 0.035), (0.02, 0.025, 0.035, 0.003, -0.002, 0.004)])
def test_mass_properties_are_those_of_the_description(inertia: tuple[float, ...]) -> None:
    """A physics engine that reads the stage would fly another vehicle."""
    spec = ring(mass=1.75, center_of_mass=(0.01, -0.02, 0.03), inertia=inertia)
    stage = build_vehicle_stage(spec)
    prim = stage.GetDefaultPrim()
    assert prim.HasAPI(UsdPhysics.RigidBodyAPI)
    mass = UsdPhysics.MassAPI(prim)
    assert mass.GetMassAttr().Get() == 1.75
    np.testing.assert_allclose(mass.GetCenterOfMassAttr().Get(), (0.01, -0.02, 0.03), rtol=1e-6)
    axes = mass.GetPrincipalAxesAttr().Get()
    rotation = matrix_from_quaternion(np.array([*axes.GetImaginary(), axes.GetReal()]))
    tensor = rotation @ np.diag(mass.GetDiagonalInertiaAttr().Get()) @ rotation.T
    np.testing.assert_allclose(tensor, inertia_tensor(inertia), atol=1e-8)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_vehicles_are_sound(path: Path) -> None:
    """A shipped vehicle would lack a propeller, intersect the ground where it starts, or not lift off."""
    spec, source = load_vehicle(path)
    scene = vehicle_scene(spec, source)
    rotors = spec.rotor_list()
    assert scene.warnings == []
    assert {instance.labels["class"] for instance in scene.instances} == {"multirotor"}
    assert len(scene.colliders) == 1
    assert lowest_point(scene.colliders) < min(rotor.position[2] for rotor in rotors)
    assert lowest_point(scene.colliders) == pytest.approx(drawn(scene)[:, 2].min(), abs=1e-5)
    found = sorted(rotor_of(i.path) for i in scene.instances if i.path.endswith("/propeller"))
    assert sorted(set(found)) == list(range(len(rotors)))
    if (
        spec.usd is None
        and spec.motor["model"] == "first_order"
        and spec.thrust_curve["model"] == "quadratic"
    ):
        most = len(rotors) * spec.thrust_curve["thrust_constant"] * spec.motor["max_speed"] ** 2
        assert most > 1.5 * spec.mass * 9.80665
    senses = [rotor.direction for rotor in rotors]
    assert senses.count("cw") == senses.count("ccw")


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_propellers_turn_clear_of_the_body(path: Path) -> None:
    """Blades would pass through the body; that discs do not overlap, the vehicle itself checks."""
    spec, source = load_vehicle(path)
    body = drawn(vehicle_scene(spec, source), "/body/shell")
    centers = np.array([rotor.position for rotor in spec.rotor_list()])
    radius = spec.propeller.diameter / 2
    for center in centers:
        assert (np.hypot(*(body - center).T[:2]) > radius).all()


@pytest.mark.parametrize("direction", ["ccw", "cw"])
@pytest.mark.parametrize("blade_count", [2, 3])
def test_blades_screw_upwards(direction: str, blade_count: int) -> None:
    """Propellers would be drawn for the other sense of rotation, or with another number of blades."""
    rotors = [{"position": (0.0, 0.0, 0.0), "direction": direction}]
    spec = ring(rotors=rotors, propeller={"diameter": 0.4, "blade_count": blade_count})
    scene = vehicle_scene(spec, HERE)
    points = drawn(scene, "/propeller")
    radius, angle = np.hypot(points[:, 0], points[:, 1]), np.arctan2(points[:, 1], points[:, 0])
    assert radius.max() == pytest.approx(0.2, rel=2e-3)
    tips = angle[radius > 0.199]
    turned = np.exp(1j * blade_count * tips)
    assert np.abs(turned.mean()) > 0.99  # tips lie at multiples of a full turn over the number of blades
    outer = (radius > 0.05) & (radius < 0.17)
    sense = 1.0 if direction == "ccw" else -1.0
    spacing = 2 * np.pi / blade_count
    ahead = sense * ((angle[outer] + spacing / 2) % spacing - spacing / 2) * radius[outer]
    # The leading edge is up: height grows in the sense of rotation.
    assert np.corrcoef(ahead, points[outer, 2])[0, 1] > 0.7


def test_solids_are_closed_and_face_outwards(area_and_volume: Callable[..., tuple[float, float]]) -> None:
    """Parts of the vehicle would be transparent from one side."""
    scene = vehicle_scene(ring(), HERE)
    for name, geometry in scene.geometries.items():
        assert area_and_volume(geometry.vertices, geometry.faces)[1] > 0, name
    collider = scene.colliders[0]
    assert area_and_volume(collider.vertices, collider.faces)[1] > 0


def test_the_stage_validates() -> None:
    """A drawn vehicle would break rules of OpenUSD that Isaac Sim and other tools rely on."""
    stage = build_vehicle_stage(ring(name="3 rotors, mine", rotors=TILTED))
    assert complaints(stage) == []


TILTED = [
    {"position": (0.3, 0.2, 0.05), "direction": "ccw", "axis": (0.0, 0.3, 1.0)},
    {"position": (-0.3, 0.2, 0.15), "direction": "cw", "axis": (0.2, 0.0, 1.0)},
    {"position": (0.0, -0.35, 0.0), "direction": "ccw", "axis": (0.0, 0.0, -1.0)},
]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"rotors": TILTED},
        {"body": {"leg_height": 0.0}},
        {"rotors": {"count": 4, "radius": 0.2, "height": -0.2}},
        {"rotors": [{"position": (0.0, 0.0, 0.1), "direction": "ccw", "axis": (1.0, 0.0, 0.0)}]},
    ],
    ids=["ring", "tilted", "no legs", "rotors below", "one sideways"],
)
def test_the_hull_is_convex_and_holds_the_vehicle(fields: dict[str, object]) -> None:
    """Rotors or feet would pass through walls, or engines disagree about the hull."""
    spec = ring(**fields)
    scene = vehicle_scene(spec, HERE)
    (collider,) = scene.colliders
    assert (collider.shape, collider.approximation) == (ColliderShape.MESH, "convexHull")
    vertices, faces = collider.vertices + collider.position, collider.faces
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    areas = np.linalg.norm(normals, axis=1)
    normals, a = normals[areas > 1e-9] / areas[areas > 1e-9, None], a[areas > 1e-9]
    beyond = np.einsum("fi,fvi->fv", normals, vertices[None] - a[:, None])
    assert beyond.max() < 1e-5
    edges = np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all()
    # Hubs, motors and the camera stick out by no more than their own size; discs and feet not at all.
    outside = np.einsum("fi,fvi->fv", normals, drawn(scene)[None] - a[:, None]).max()
    assert outside < 0.04
    blades = drawn(scene, "/propeller")
    assert np.einsum("fi,fvi->fv", normals, blades[None] - a[:, None]).max() < 0.02


def test_vehicles_that_look_the_same_share_their_drawing() -> None:
    """A sweep over masses or motors would draw its vehicle again for each flight."""
    scene = vehicle_scene(ring(), HERE)
    heavy = ring(mass=3.0, inertia=(0.03, 0.03, 0.05), center_of_mass=(0.01, 0.0, 0.0), battery=None)
    assert vehicle_scene(heavy, HERE) is scene


@pytest.mark.parametrize(
    "fields",
    [
        {"rotors": {"count": 6, "radius": 0.31}},
        {"rotors": {"count": 6, "radius": 0.3, "first_direction": "cw"}},
        {"propeller": {"diameter": 0.2}},
        {"propeller": {"blade_count": 3}},
        {"body": {"size": (0.2, 0.1, 0.05)}},
    ],
)
def test_vehicles_that_look_otherwise_are_drawn(fields: dict[str, object]) -> None:
    """A vehicle would be seen, and collide, as another one that was drawn before."""
    first, other = (drawn(vehicle_scene(spec, HERE)) for spec in (ring(), ring(**fields)))
    assert first.shape != other.shape or np.abs(first - other).max() > 1e-4
    assert vehicle_scene(ring(name="named"), HERE).instances[0].path.startswith("/named/")


def test_it_rests_on_a_rectangle() -> None:
    """A vehicle on the ground would rock on a point or an edge."""
    collider = vehicle_scene(ring(), HERE).colliders[0]
    vertices = collider.vertices + collider.position
    feet = vertices[vertices[:, 2] < vertices[:, 2].min() + 1e-6]
    assert len(feet) == 4
    np.testing.assert_allclose(np.ptp(feet[:, :2], axis=0), (0.25, 0.3), atol=1e-5)


def test_rotors_stand_at_their_place_along_their_axis() -> None:
    """A propeller that is spun about z of its frame would wobble about another axis."""
    spec = ring(rotors=TILTED)
    stage = build_vehicle_stage(spec)
    for k, rotor in enumerate(spec.rotor_list()):
        matrix = UsdGeom.XformCache().GetLocalToWorldTransform(stage.GetPrimAtPath(f"/my_hexarotor/rotor{k}"))
        np.testing.assert_allclose(matrix.ExtractTranslation(), rotor.position, atol=1e-5)
        axis = np.array(rotor.axis) / np.linalg.norm(rotor.axis)
        np.testing.assert_allclose(matrix.TransformDir(Gf.Vec3d(0, 0, 1)), axis, atol=1e-9)


@pytest.mark.parametrize(
    ("path", "rotor"),
    [
        ("/iris/rotor0/propeller", 0),
        ("/iris/rotor12", 12),
        ("/quad/Rotor_3/blade", 3),
        ("/iris/body/motor1", None),
        ("/iris/rotors/x", None),
        ("/iris/rotor1b/x", None),
        ("/my_rotor2/body", None),
    ],
)
def test_rotor_of(path: str, rotor: int | None) -> None:
    """A renderer would spin the wrong part, or none."""
    assert rotor_of(path) == rotor


def own_model(path: Path, *, collides: bool) -> None:
    """Write a model in centimetres with y up whose body is a bar of 40 x 10 x 20 cm."""
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.y)
    UsdGeom.SetStageMetersPerUnit(stage, 0.01)
    root = UsdGeom.Xform.Define(stage, "/Model")
    root.AddTranslateOp().Set((500.0, 0.0, 0.0))
    stage.SetDefaultPrim(root.GetPrim())
    bar = UsdGeom.Cube.Define(stage, "/Model/bar")
    bar.CreateSizeAttr(1.0)
    bar.AddTranslateOp().Set((0.0, 5.0, 0.0))
    bar.AddScaleOp().Set((40.0, 10.0, 20.0))
    UsdGeom.Sphere.Define(stage, "/Studio")
    if collides:
        UsdPhysics.CollisionAPI.Apply(bar.GetPrim())
    stage.Save()


@pytest.mark.parametrize("collides", [True, False])
def test_the_users_own_model_is_taken_as_it_is(tmp_path: Path, collides: bool) -> None:
    """A user's model would be scaled, rotated or moved, or fall through the ground."""
    own_model(tmp_path / "model.usda", collides=collides)
    scene = vehicle_scene(ring(usd="model.usda"), tmp_path / "vehicle.yaml")
    assert [instance.path for instance in scene.instances] == ["/Model/bar"]
    (collider,) = scene.colliders
    reach = matrix_from_quaternion(collider.orientation) @ np.array(collider.size)
    np.testing.assert_allclose(np.abs(reach), (0.2, 0.1, 0.05), rtol=1e-6)
    np.testing.assert_allclose(collider.position, (0.0, 0.0, 0.05), atol=1e-9)
    assert len(scene.warnings) == (0 if collides else 1)


def test_a_missing_model_names_the_file_and_field_of_the_user(tmp_path: Path) -> None:
    """The error would name the wrong file."""
    with pytest.raises(ConfigError) as caught:
        vehicle_scene(ring(usd="gone.usda"), tmp_path / "vehicle.yaml")
    assert str(caught.value).startswith(f"{tmp_path}/vehicle.yaml: usd = 'gone.usda': no such file; ")


def test_a_model_without_a_default_prim_is_taken_whole(tmp_path: Path) -> None:
    """A model without a default prim would be empty."""
    (tmp_path / "model.usda").write_text(
        '#usda 1.0\n( metersPerUnit = 1\n  upAxis = "Z" )\ndef Sphere "Ball" {\n  double radius = 0.25\n}\n'
    )
    scene = vehicle_scene(ring(usd="model.usda"), tmp_path / "vehicle.yaml")
    assert [instance.path for instance in scene.instances] == ["/Ball"]
    np.testing.assert_allclose(scene.colliders[0].size, 0.25, rtol=1e-6)


def test_a_model_with_nothing_below_its_default_prim_is_an_error(tmp_path: Path) -> None:
    """A vehicle would be invisible and fall through the ground."""
    (tmp_path / "model.usda").write_text(
        '#usda 1.0\n( metersPerUnit = 1\n  upAxis = "Z"\n  defaultPrim = "Empty" )\n'
        'def Xform "Empty" {}\ndef Sphere "Ball" {}\n'
    )
    with pytest.raises(ConfigError, match=r"model\.usda: holds no geometry below its default prim"):
        vehicle_scene(ring(usd="model.usda"), tmp_path / "vehicle.yaml")


FIELDS = {
    "name": "mine",
    "mass": 1.0,
    "inertia": [0.01, 0.01, 0.018],
    "usd": "model.usda",
    "propeller": {"diameter": 0.25},
    "motor": {"model": "ideal", "max_speed": 800.0},
    "thrust_curve": {"model": "quadratic", "thrust_constant": 1e-5, "moment_ratio": 0.02},
}
BY_PRIM = [
    {"prim": f"frame/rotor_{k}", "direction": sense} for k, sense in enumerate(("ccw", "ccw", "cw", "cw"))
]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"unit": 0.01, "y_up": True},
        {"pivots": False, "count": 3},
        {"unit": 0.01, "y_up": True, "pivots": False, "count": 3},
    ],
    ids=["metres", "centimetres, y up", "no pivots, three blades", "both"],
)
def test_rotors_stand_where_their_prims_are(tmp_path: Path, options: dict[str, object]) -> None:
    """Thrust would act at another place, or along another axis, than the model's propellers have."""
    write_model(tmp_path / "model.usda", **options)
    spec = parse(FIELDS | {"rotors": BY_PRIM}, VehicleSpec)
    placed = place_rotors(spec, tmp_path / "v.yaml").rotor_list()
    np.testing.assert_allclose([rotor.position for rotor in placed], PLACES, atol=1e-6)
    np.testing.assert_allclose([rotor.axis for rotor in placed], [(0, 0, 1)] * 4, atol=1e-6)
    assert [rotor.direction for rotor in placed] == ["ccw", "ccw", "cw", "cw"]
    model = VehicleModel(tmp_path / "model.usda")
    assert model.radius(model.rotor("rotor_1")) == pytest.approx(0.12, rel=1e-3)


def test_a_prim_that_is_tilted_tilts_the_rotor(tmp_path: Path) -> None:
    """A tilted rotor of the model would push straight up; an axis that is given would not count."""
    stage = write_model(tmp_path / "model.usda")
    UsdGeom.Xformable(stage.GetPrimAtPath("/Drone/frame/rotor_0")).AddRotateXOp().Set(30.0)
    stage.Save()
    given = [BY_PRIM[0], BY_PRIM[1] | {"axis": [0, 1, 1]}, *BY_PRIM[2:]]
    placed = place_rotors(parse(FIELDS | {"rotors": given}, VehicleSpec), tmp_path / "v.yaml").rotor_list()
    np.testing.assert_allclose(placed[0].axis, (0, -0.5, np.sqrt(0.75)), atol=1e-6)
    assert placed[1].axis == (0, 1, 1)


def test_the_named_prims_turn(tmp_path: Path) -> None:
    """A renderer would spin the wrong prim with a rotor."""
    write_model(tmp_path / "model.usda")
    spec = parse(FIELDS | {"rotors": BY_PRIM[::-1]}, VehicleSpec)
    rotors = place_rotors(spec, tmp_path / "v.yaml").rotor_list()
    assert rotor_of("/Drone/frame/rotor_0/blades", rotors) == 3
    assert rotor_of("/Drone/frame/rotor_3", rotors) == 0
    assert rotor_of("/Drone/frame/rotor_30", rotors) is None
    assert rotor_of("/Drone/frame/hull", rotors) is None


def test_the_vehicle_flies_from_its_prims(tmp_path: Path) -> None:
    """A vehicle could not be defined by its USD file alone."""
    write_model(tmp_path / "model.usda", pivots=False, count=3)
    vehicle = Multirotor(FIELDS | {"rotors": BY_PRIM, "usd": str(tmp_path / "model.usda")})
    np.testing.assert_allclose(vehicle.layout.position, PLACES, atol=1e-6)


@pytest.mark.parametrize(
    ("prim", "message"),
    [
        ("rotr_0", "rotors.0.prim = 'rotr_0': no such prim below /Drone in"),
        ("hull/rotor_0", "named like rotors are frame/rotor_0, frame/rotor_1, frame/rotor_2, frame/rotor_3"),
        ("blades", "several prims of"),
        ("rotor_1", "rotors.1.prim = 'frame/rotor_1': another rotor has this prim already"),
    ],
)
def test_prims_that_are_not_there(tmp_path: Path, prim: str, message: str) -> None:
    """A misspelt prim would be a rotor at the origin."""
    write_model(tmp_path / "model.usda")
    rotors = [{"prim": prim, "direction": "ccw"}, *BY_PRIM[1:]]
    with pytest.raises(ConfigError) as caught:
        place_rotors(parse(FIELDS | {"rotors": rotors}, VehicleSpec), tmp_path / "v.yaml")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_rotor_like_names(tmp_path: Path) -> None:
    """Rotors would be missed, or blades be counted as rotors."""
    stage = Usd.Stage.CreateNew(str(tmp_path / "m.usda"))
    stage.SetDefaultPrim(UsdGeom.Xform.Define(stage, "/D").GetPrim())
    wanted = ["prop2", "left_Rotor_0", "Propeller_1", "rotor10", "m3_prop"]
    for name in [*wanted, "rotors", "motor_1", "property3", "rotor10/rotor_3_mesh"]:
        UsdGeom.Cube.Define(stage, f"/D/{name}")
    stage.Save()
    assert VehicleModel(tmp_path / "m.usda").rotor_names == [
        "left_Rotor_0",
        "Propeller_1",
        "prop2",
        "m3_prop",
        "rotor10",
    ]


@pytest.mark.parametrize("with_surface", [True, False])
def test_joints_are_no_rotors(tmp_path: Path, with_surface: bool) -> None:
    """Joints and colliders of an importer of URDF files would be rotors at the body's origin."""
    stage = Usd.Stage.CreateNew(str(tmp_path / "m.usda"))
    stage.SetDefaultPrim(UsdGeom.Xform.Define(stage, "/D").GetPrim())
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.Cube.Define(stage, "/D/base_link/hull").CreateSizeAttr(0.1)
    names = [f"rotor_{k}" for k in range(4)]
    for k, name in enumerate(names):
        UsdPhysics.RevoluteJoint.Define(stage, f"/D/base_link/prop{k}_joint")
        link = UsdGeom.Xform.Define(stage, f"/D/{name}")
        link.AddTranslateOp().Set(Gf.Vec3d(0.2 * (-1) ** k, 0.2 * (-1) ** (k // 2), 0.05))
        if with_surface:
            UsdGeom.Cylinder.Define(stage, f"/D/{name}/visuals").CreateRadiusAttr(0.1)
            UsdGeom.Xform.Define(stage, f"/D/prop{k}_mount")
    stage.Save()
    model = VehicleModel(tmp_path / "m.usda")
    assert model.rotor_names == names
    np.testing.assert_allclose(model.rotor("rotor_1").position, (-0.2, 0.2, 0.05))
    assert model.radius(model.rotor("rotor_1")) == pytest.approx(0.1 if with_surface else 0.0)


def test_mass_properties_of_several_prims(tmp_path: Path) -> None:
    """Masses of a model's parts, or their positions, would be ignored."""
    stage = write_model(tmp_path / "model.usda", unit=0.01)
    assert VehicleModel(tmp_path / "model.usda").mass_properties() is None
    hull = UsdPhysics.MassAPI.Apply(stage.GetPrimAtPath("/Drone/frame/hull"))
    hull.CreateMassAttr(1.0)
    hull.CreateCenterOfMassAttr(Gf.Vec3f(1.0, 0.0, 0.0))
    hull.CreateDiagonalInertiaAttr(Gf.Vec3f(20.0, 30.0, 40.0))
    quarter = Gf.Quatf(float(np.sqrt(0.5)), 0.0, 0.0, float(np.sqrt(0.5)))
    hull.CreatePrincipalAxesAttr(quarter)
    rotor = UsdPhysics.MassAPI.Apply(stage.GetPrimAtPath("/Drone/frame/rotor_0"))
    rotor.CreateMassAttr(0.25)
    stage.Save()
    properties = VehicleModel(tmp_path / "model.usda").mass_properties()
    assert properties is not None
    assert properties.mass == pytest.approx(1.25)
    first, second = np.array([0.01, 0, 0]), np.array(PLACES[0])
    np.testing.assert_allclose(properties.center_of_mass, (first + 0.25 * second) / 1.25, atol=1e-8)
    assert properties.inertia is None
    rotor.CreateDiagonalInertiaAttr(Gf.Vec3f(1e-6, 1e-6, 1e-6))
    stage.Save()
    properties = VehicleModel(tmp_path / "model.usda").mass_properties()
    assert properties is not None
    d = second - first
    apart = 1.0 * 0.25 / 1.25 * ((d @ d) * np.eye(3) - np.outer(d, d))
    np.testing.assert_allclose(properties.inertia, np.diag([3e-3, 2e-3, 4e-3]) + apart, atol=1e-8)


def test_the_bodys_own_mass_stands_for_all(tmp_path: Path) -> None:
    """The mass of parts would be added to the mass of the whole."""
    stage = write_model(tmp_path / "model.usda")
    for path, mass in (("/Drone", 2.0), ("/Drone/frame/hull", 1.0)):
        UsdPhysics.MassAPI.Apply(stage.GetPrimAtPath(path)).CreateMassAttr(mass)
    stage.Save()
    properties = VehicleModel(tmp_path / "model.usda").mass_properties()
    assert properties is not None
    assert (properties.mass, properties.inertia) == (2.0, None)
    np.testing.assert_allclose(properties.center_of_mass, 0.0, atol=1e-12)
