"""Vehicles: drawn from their YAML, or the user's own USD."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pxr import Gf, Usd, UsdGeom, UsdPhysics

from pegasus.errors import ConfigError
from pegasus.folders import resource
from pegasus.frames import matrix_from_quaternion
from pegasus.scenario import VehicleSpec, inertia_tensor, load_vehicle
from pegasus.scene.airframe_stage import build_vehicle_stage
from pegasus.scene.colliders import lowest_point
from pegasus.scene.scene import ColliderShape, Scene
from pegasus.scene.vehicle_asset import rotor_of, vehicle_scene
from tests.stage_validation import complaints

HERE = Path("vehicle.yaml")
SHIPPED = sorted(resource("config", "vehicles").glob("*.yaml"), key=lambda path: path.stem)


def ring(**fields: object) -> VehicleSpec:
    """Ten lines of YAML."""
    values: dict[str, object] = {
        "name": "my hexarotor",
        "mass": 2.0,
        "inertia": (0.02, 0.02, 0.035),
        "rotors": {"count": 6, "radius": 0.3},
        "thrust_curve": {"model": "quadratic", "thrust_constant": 1e-5, "moment_ratio": 0.02},
    }
    return VehicleSpec.model_validate(values | fields)


def drawn(scene: Scene, part: str = "") -> np.ndarray:
    """All vertices of instances whose path holds a word, in the body frame."""
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
    """Parts of the vehicle would be seen through."""
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
    """Rotors or feet would pass through walls, or engines that take hulls disagree with those that do not."""
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
    """A user's model would be scaled, turned or moved, or fall through the ground."""
    own_model(tmp_path / "model.usda", collides=collides)
    scene = vehicle_scene(ring(usd="model.usda"), tmp_path / "vehicle.yaml")
    assert [instance.path for instance in scene.instances] == ["/Model/bar"]
    (collider,) = scene.colliders
    reach = matrix_from_quaternion(collider.orientation) @ np.array(collider.size)
    np.testing.assert_allclose(np.abs(reach), (0.2, 0.1, 0.05), rtol=1e-6)
    np.testing.assert_allclose(collider.position, (0.0, 0.0, 0.05), atol=1e-9)
    assert len(scene.warnings) == (0 if collides else 1)


def test_a_missing_model_names_the_file_and_field_of_the_user(tmp_path: Path) -> None:
    """The user would look for the mistake in the wrong file."""
    with pytest.raises(ConfigError) as caught:
        vehicle_scene(ring(usd="gone.usda"), tmp_path / "vehicle.yaml")
    assert str(caught.value).startswith(f"{tmp_path}/vehicle.yaml: usd = 'gone.usda': no such file; ")


def test_a_model_without_a_default_prim_is_taken_whole(tmp_path: Path) -> None:
    """A simple model would be empty because its author named no default prim."""
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
