"""Tests of vehicle prims: their PhysX properties equal the vehicle's."""

import numpy as np
import pytest
from pxr import Usd, UsdGeom, UsdPhysics

from pegasus import ConfigError, Multirotor
from pegasus.contracts.engine import RigidBody
from pegasus.isaac.bodies import add_bodies, body_path, principal_axes, remove_bodies, show
from pegasus.scene.scene import Collider, ColliderShape


@pytest.fixture
def stage():
    """Return a stage in metres with z up and a physics scene."""
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdPhysics.Scene.Define(stage, "/PhysicsScene")
    return stage


def body(name="iris/0", **changes):
    """Return a body with the given changes."""
    values = {
        "name": name,
        "mass": 1.5,
        "center_of_mass": np.array([0.01, -0.02, 0.03]),
        "inertia": np.diag([0.02, 0.03, 0.04]),
        "colliders": [],
        "position": np.array([1.0, 2.0, 3.0]),
        "orientation": np.array([0.0, 0.0, 0.6, 0.8]),
    }
    return RigidBody(**(values | changes))


def collider(shape, size, **changes):
    """Return a collider with the given changes."""
    return Collider(
        "/c", shape, size, **({"position": np.zeros(3), "orientation": np.array([0, 0, 0, 1.0])} | changes)
    )


def test_mass_properties_and_pose(stage):
    """A vehicle would have wrong mass properties or a wrong pose, or PhysX add its own forces."""
    inertia = np.array([[0.03, 0.004, 0.0], [0.004, 0.05, 0.001], [0.0, 0.001, 0.06]])
    (path,) = add_bodies(stage, [body(inertia=inertia)], scene="/PhysicsScene")
    prim = stage.GetPrimAtPath(path)
    mass = UsdPhysics.MassAPI(prim)
    np.testing.assert_allclose(mass.GetMassAttr().Get(), 1.5)
    np.testing.assert_allclose(mass.GetCenterOfMassAttr().Get(), [0.01, -0.02, 0.03], rtol=1e-6)
    axes = mass.GetPrincipalAxesAttr().Get()
    w, (x, y, z) = axes.GetReal(), axes.GetImaginary()
    turn = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
    moments = np.diag(np.array(mass.GetDiagonalInertiaAttr().Get()))
    np.testing.assert_allclose(turn @ moments @ turn.T, inertia, atol=1e-8)
    place = np.array(UsdGeom.XformCache().GetLocalToWorldTransform(prim)).T
    np.testing.assert_allclose(place[:3, 3], [1.0, 2.0, 3.0])
    # A heading of 2 atan2(0.6, 0.8).
    np.testing.assert_allclose(place[:3, 0], [0.28, 0.96, 0.0], atol=1e-12)
    for name, value in {
        "physxRigidBody:disableGravity": True,
        "physxRigidBody:linearDamping": 0.0,
        "physxRigidBody:angularDamping": 0.0,
        "physxRigidBody:sleepThreshold": 0.0,
    }.items():
        assert prim.GetAttribute(name).Get() == value
    applied = prim.GetPrimTypeInfo().GetAppliedAPISchemas()
    assert {"PhysxRigidBodyAPI", "PhysxContactReportAPI"} <= set(applied)


def test_copies_share_what_is_alike(stage):
    """Each copy would write its own colliders and visuals."""
    vehicle = Multirotor("iris", count=3)
    paths = add_bodies(stage, vehicle.bodies(), scene="/PhysicsScene")
    assert paths == [f"/World/iris/body_{k}" for k in range(3)]
    shared = [
        prim for prim in stage.TraverseAll() if prim.IsAbstract() and prim.GetName().startswith("_class")
    ]
    assert len(shared) == 1
    for path in paths:
        prim = stage.GetPrimAtPath(path)
        inside = list(Usd.PrimRange(prim))
        # One rigid body, its collider, and visuals without collision or mass.
        assert [p for p in inside if p.HasAPI(UsdPhysics.RigidBodyAPI)] == [prim]
        assert [p for p in inside if p.HasAPI(UsdPhysics.MassAPI)] == [prim]
        collides = [p.GetName() for p in inside if p.HasAPI(UsdPhysics.CollisionAPI)]
        assert collides == ["collider_0"]
        drawn = [p for p in inside if p.IsA(UsdGeom.Mesh) and "/looks/" in str(p.GetPath())]
        assert len(drawn) > 4


@pytest.mark.parametrize(
    ("shape", "size", "half"),
    [
        (ColliderShape.BOX, (0.1, 0.2, 0.3), (0.1, 0.2, 0.3)),
        (ColliderShape.SPHERE, (0.2,), (0.2, 0.2, 0.2)),
        (ColliderShape.CYLINDER, (0.1, 0.4), (0.1, 0.1, 0.4)),
        (ColliderShape.CAPSULE, (0.1, 0.4), (0.1, 0.1, 0.5)),
        (ColliderShape.ELLIPSOID, (0.1, 0.2, 0.3), (0.1, 0.2, 0.3)),
    ],
)
def test_shapes_have_their_size(stage, shape, size, half):
    """A shape would have a wrong size or axis."""
    (path,) = add_bodies(
        stage,
        [body(colliders=[collider(shape, size)], position=np.zeros(3), orientation=np.array([0, 0, 0, 1.0]))],
        scene="/PhysicsScene",
    )
    box = UsdGeom.BBoxCache(Usd.TimeCode.Default(), [UsdGeom.Tokens.guide]).ComputeWorldBound(
        stage.GetPrimAtPath(f"{path}/collider_0")
    )
    np.testing.assert_allclose(box.ComputeAlignedRange().GetMax(), half, rtol=1e-5)


def test_bare_triangles_are_decomposed(stage):
    """PhysX, which cannot move triangle meshes, would replace one by its hull."""
    vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    faces = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]], dtype=np.int32)
    mesh = collider(ColliderShape.MESH, (), vertices=vertices, faces=faces)
    (path,) = add_bodies(stage, [body(colliders=[mesh])], scene="/PhysicsScene")
    schema = UsdPhysics.MeshCollisionAPI(stage.GetPrimAtPath(f"{path}/collider_0"))
    assert schema.GetApproximationAttr().Get() == "convexDecomposition"


def test_a_taken_place_is_refused(stage):
    """A vehicle would replace a prim of the same name."""
    UsdGeom.Xform.Define(stage, "/World/iris/body_0")
    with pytest.raises(ConfigError, match="choose another name"):
        add_bodies(stage, [body()], scene="/PhysicsScene")


def test_bodies_are_removed_with_their_vehicle(stage):
    """Remains of a vehicle would be saved with the stage, or block the next one."""
    paths = add_bodies(stage, [body(), body("iris/1")], scene="/PhysicsScene")
    remove_bodies(stage, paths[:1])
    assert stage.GetPrimAtPath(paths[1])
    remove_bodies(stage, paths[1:])
    assert not stage.GetPrimAtPath("/World/iris")
    remove_bodies(stage, paths)


def test_bodies_are_hidden_and_shown(stage):
    """A camera would see its own vehicle, or the vehicle stay hidden afterwards."""
    (path,) = add_bodies(stage, [body()], scene="/PhysicsScene")
    imageable = UsdGeom.Imageable(stage.GetPrimAtPath(path))
    show(stage, path, visible=False)
    assert imageable.ComputeVisibility() == UsdGeom.Tokens.invisible
    show(stage, path, visible=True)
    assert imageable.ComputeVisibility() == UsdGeom.Tokens.inherited
    # An opinion in another layer would remain after a vehicle is deleted.
    stage.RemovePrim("/World/iris")
    assert not stage.GetPrimAtPath(path)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("iris/0", "/World/iris/body_0"),
        ("my drone/12", "/World/my_drone/body_12"),
        ("3dr/0", "/World/_3dr/body_0"),
    ],
)
def test_names_become_paths(name, path):
    """A name that is not an OpenUSD identifier would break the stage."""
    assert body_path(name) == path


def test_principal_axes_are_a_rotation():
    """A left-handed set of axes would be converted to a quaternion."""
    generator = np.random.default_rng(4)
    for _ in range(20):
        square = generator.normal(size=(3, 3))
        tensor = square @ square.T
        moments, axes = principal_axes(tensor)
        np.testing.assert_allclose(np.linalg.det(axes), 1.0)
        np.testing.assert_allclose(axes @ np.diag(moments) @ axes.T, tensor, atol=1e-12)
