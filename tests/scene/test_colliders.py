"""Tests of colliders: exact primitives, meshes otherwise, and contact properties."""

from collections.abc import Callable

import numpy as np
import pytest
from pxr import Gf, Usd, UsdGeom, UsdPhysics, UsdShade, Vt

from pegasus.base.errors import ConfigError
from pegasus.base.frames import matrix_from_quaternion, quaternion_from_euler
from pegasus.scene.authoring import physics_material
from pegasus.scene.colliders import bounds, decompose, lowest_point
from pegasus.scene.scene import Collider, ColliderShape, PhysicsMaterial
from pegasus.scene.translation import translate

TURN = (20.0, -35.0, 70.0)
AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}


def collide(
    stage: Usd.Stage,
    kind: str,
    *,
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0),
    turn: tuple[float, float, float] = TURN,
    path: str = "/Body",
    **attributes: object,
) -> Usd.Prim:
    """Write a collider at (1, 2, 3), turned and scaled."""
    prim = stage.DefinePrim(path, kind)
    for name, value in attributes.items():
        prim.GetAttribute(name).Set(value)
    schema = UsdGeom.Xformable(prim)
    schema.AddTranslateOp().Set((1.0, 2.0, 3.0))
    schema.AddRotateXYZOp().Set(turn)
    schema.AddScaleOp().Set(scale)
    UsdPhysics.CollisionAPI.Apply(prim)
    return prim


def only(stage: Usd.Stage) -> Collider:
    (collider,) = translate(stage).colliders
    return collider


def turned(vector: tuple[float, float, float], turn: tuple[float, float, float] = TURN) -> np.ndarray:
    """Rotate by OpenUSD's own rotation about x, then y, then z."""
    rotation = Gf.Rotation(Gf.Vec3d(1.0, 0.0, 0.0), 0.0)
    for axis, angle in zip(AXES.values(), turn, strict=True):
        rotation = rotation * Gf.Rotation(Gf.Vec3d(axis), angle)
    return np.array(rotation.TransformDir(Gf.Vec3d(vector)))


def test_a_box_keeps_size_and_attitude(stage: Usd.Stage) -> None:
    """Walls would be thicker than drawn, or turned about the wrong axis."""
    collide(stage, "Cube", size=3.0, scale=(1.0, -2.0, 0.5))
    box = only(stage)
    assert box.shape is ColliderShape.BOX
    np.testing.assert_allclose(box.size, (1.5, 3.0, 0.75), rtol=1e-6)
    np.testing.assert_allclose(box.position, (1.0, 2.0, 3.0))
    rotation = matrix_from_quaternion(box.orientation)
    for column, axis in enumerate(AXES.values()):
        # A box is symmetric along each axis.
        assert abs(rotation[:, column] @ turned(axis)) == pytest.approx(1.0, abs=1e-6)


def test_a_sphere_scaled_unevenly_is_an_ellipsoid(stage: Usd.Stage) -> None:
    """A squashed ball would collide as a round one."""
    prim = collide(stage, "Sphere", radius=0.5, scale=(2.0, 2.0, 2.0))
    assert only(stage).shape is ColliderShape.SPHERE
    assert only(stage).size == pytest.approx((1.0,))
    prim.GetAttribute("xformOp:scale").Set((1.0, 2.0, 3.0))
    ellipsoid = only(stage)
    assert ellipsoid.shape is ColliderShape.ELLIPSOID
    np.testing.assert_allclose(ellipsoid.size, (0.5, 1.0, 1.5), rtol=1e-6)
    rotation = matrix_from_quaternion(ellipsoid.orientation)
    np.testing.assert_allclose(rotation[:, 2], turned(AXES["Z"]), atol=1e-6)


@pytest.mark.parametrize("axis", AXES)
def test_cylinders_and_capsules_lie_along_their_axis(stage: Usd.Stage, axis: str) -> None:
    """Cylinders would have a wrong axis, or a scaled one a wrong radius."""
    scale = {"X": (4.0, 2.0, 2.0), "Y": (2.0, 4.0, 2.0), "Z": (2.0, 2.0, 4.0)}[axis]
    collide(stage, "Cylinder", radius=0.5, height=3.0, axis=axis, scale=scale, path="/Cylinder")
    collide(stage, "Capsule", radius=0.5, height=3.0, axis=axis, scale=(2.0, 2.0, 2.0), path="/Capsule")
    cylinder, capsule = translate(stage).colliders
    assert (cylinder.shape, capsule.shape) == (ColliderShape.CYLINDER, ColliderShape.CAPSULE)
    np.testing.assert_allclose(cylinder.size, (1.0, 6.0), rtol=1e-6)
    np.testing.assert_allclose(capsule.size, (1.0, 3.0), rtol=1e-6)
    for collider in (cylinder, capsule):
        along = matrix_from_quaternion(collider.orientation)[:, 2]
        np.testing.assert_allclose(along, turned(AXES[axis]), atol=1e-6)


@pytest.mark.parametrize(
    ("kind", "attributes", "scale", "volume"),
    [
        ("Cylinder", {"radius": 0.5, "height": 2.0}, (1.0, 3.0, 1.0), 3.0 * np.pi * 0.25 * 2.0),
        ("Capsule", {"radius": 0.5, "height": 2.0}, (1.0, 1.0, 2.0), 2.0 * np.pi * 0.25 * (2.0 + 2.0 / 3.0)),
        ("Cone", {"radius": 0.5, "height": 2.0}, (1.0, 1.0, 1.0), np.pi * 0.25 * 2.0 / 3.0),
        (
            "Cylinder_1",
            {"radiusBottom": 1.0, "radiusTop": 0.5, "height": 1.2},
            (1.0, 1.0, 1.0),
            np.pi * 0.4 * 1.75,
        ),
    ],
)
def test_what_no_primitive_can_be_is_its_hull(
    stage: Usd.Stage,
    area_and_volume: Callable[..., tuple[float, float]],
    kind: str,
    attributes: dict[str, float],
    scale: tuple[float, float, float],
    volume: float,
) -> None:
    """An oval pillar would collide as a round one, or a cone as a cylinder."""
    collide(stage, kind, scale=scale, **attributes)
    collider = only(stage)
    assert (collider.shape, collider.approximation) == (ColliderShape.MESH, "convexHull")
    got = area_and_volume(collider.vertices, collider.faces)[1]
    assert 0.984 * volume < got <= volume


@pytest.mark.parametrize("kind", ["Cube", "Sphere", "Cylinder", "Capsule"])
def test_a_shear_makes_a_mesh(
    stage: Usd.Stage, area_and_volume: Callable[..., tuple[float, float]], kind: str
) -> None:
    """A sheared shape would collide as an unsheared one."""
    UsdPhysics.CollisionAPI.Apply(stage.DefinePrim("/Outer/Inner", kind))
    outer = UsdGeom.Xform.Define(stage, "/Outer")
    outer.AddScaleOp().Set((1.0, 1.0, -3.0))
    UsdGeom.Xformable(stage.GetPrimAtPath("/Outer/Inner")).AddRotateXOp().Set(30.0)
    scene = translate(stage)
    (collider,), (instance,) = scene.colliders, scene.instances
    assert (collider.shape, collider.approximation) == (ColliderShape.MESH, "convexHull")
    np.testing.assert_allclose(np.linalg.norm(collider.orientation), 1.0)
    corners = collider.vertices @ matrix_from_quaternion(collider.orientation).T + collider.position
    drawn = scene.geometries[instance.geometry]
    expected = drawn.vertices @ instance.transform[:3, :3].T + instance.transform[:3, 3]
    np.testing.assert_allclose(corners, expected, atol=1e-6)
    plain = area_and_volume(drawn.vertices, drawn.faces[:, ::-1])[1]
    assert area_and_volume(collider.vertices, collider.faces)[1] == pytest.approx(3.0 * plain, rel=1e-5)


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("scale", [(1.0, 1.0, 1.0), (2.0, 3.0, 0.5)])
def test_planes_face_along_their_axis(stage: Usd.Stage, axis: str, scale: tuple[float, float, float]) -> None:
    """A sloping ground would push in a wrong direction."""
    collide(stage, "Plane", axis=axis, scale=scale)
    plane = only(stage)
    assert (plane.shape, plane.size) == (ColliderShape.PLANE, ())
    normal = matrix_from_quaternion(plane.orientation)[:, 2]
    np.testing.assert_allclose(normal, turned(AXES[axis]), atol=1e-6)


def test_a_ground_with_y_up_in_centimetres(stage: Usd.Stage) -> None:
    """A ground with y up in centimetres would be a distant wall."""
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.y)
    UsdGeom.SetStageMetersPerUnit(stage, 0.01)
    collide(stage, "Plane", axis="Y", turn=(0.0, 0.0, 0.0), path="/Ground")
    collide(stage, "Capsule", axis="Y", radius=50.0, height=200.0, turn=(0.0, 0.0, 0.0), path="/Post")
    plane, post = translate(stage).colliders
    np.testing.assert_allclose(matrix_from_quaternion(plane.orientation)[:, 2], (0.0, 0.0, 1.0), atol=1e-12)
    np.testing.assert_allclose(plane.position, (0.01, -0.03, 0.02))
    np.testing.assert_allclose(post.size, (0.5, 1.0))
    np.testing.assert_allclose(matrix_from_quaternion(post.orientation)[:, 2], (0.0, 0.0, 1.0), atol=1e-12)


def box_mesh(stage: Usd.Stage, approximation: str | None) -> Usd.Prim:
    """Write a box of 1 x 2 x 3 whose corner is at the origin of its mesh."""
    prim = collide(stage, "Mesh", scale=(2.0, 1.0, 1.0))
    mesh = UsdGeom.Mesh(prim)
    corners = [Gf.Vec3f(x, 2.0 * y, 3.0 * z) for z in (0, 1) for y in (0, 1) for x in (0, 1)]
    corners.append(Gf.Vec3f(50.0, 0.0, 0.0))  # no face uses it
    faces = [0, 2, 3, 1, 4, 5, 7, 6, 0, 1, 5, 4, 2, 6, 7, 3, 0, 4, 6, 2, 1, 3, 7, 5]
    mesh.CreatePointsAttr(Vt.Vec3fArray(corners))
    mesh.CreateFaceVertexCountsAttr([4] * 6)
    mesh.CreateFaceVertexIndicesAttr(faces)
    mesh.CreateSubdivisionSchemeAttr("none")
    if approximation is not None:
        UsdPhysics.MeshCollisionAPI.Apply(prim).CreateApproximationAttr(approximation)
    return prim


# As in Isaac Sim: the authored value, a world's approximation, and a moving body's.
APPROXIMATIONS = [
    (None, "none", "convexHull"),
    ("none", "none", "convexHull"),
    ("meshSimplification", "none", "convexHull"),
    ("convexHull", "convexHull", "convexHull"),
    ("convexDecomposition", "convexDecomposition", "convexDecomposition"),
    ("sdf", "none", "convexDecomposition"),
    ("sphereFill", "convexDecomposition", "convexDecomposition"),
]


@pytest.mark.parametrize(("authored", "in_a_world", "as_a_body"), APPROXIMATIONS)
def test_meshes_keep_their_triangles_and_approximation(
    stage: Usd.Stage,
    area_and_volume: Callable[..., tuple[float, float]],
    authored: str | None,
    in_a_world: str,
    as_a_body: str,
) -> None:
    """An engine would not get a mesh's approximation, or get it without its scale."""
    box_mesh(stage, authored)
    for root, taken in ((None, in_a_world), ("/", as_a_body)):
        (collider,) = translate(stage, root=root).colliders
        assert (collider.shape, collider.approximation) == (ColliderShape.MESH, taken)
    collider = only(stage)
    assert area_and_volume(collider.vertices, collider.faces)[1] == pytest.approx(12.0)
    np.testing.assert_allclose(collider.vertices.max(axis=0), (2.0, 2.0, 3.0), rtol=1e-6)
    np.testing.assert_allclose(collider.position, (1.0, 2.0, 3.0))


def test_what_a_mesh_collides_by_instead_is_said(stage: Usd.Stage) -> None:
    """A mesh would be replaced by its hull without a message."""
    prim = box_mesh(stage, "none")
    assert not any("collides by" in line for line in translate(stage).warnings)
    (line,) = translate(stage, root="/").warnings
    assert line == "/Body: moving mesh of approximation none collides by its convex hull"
    UsdPhysics.MeshCollisionAPI(prim).GetApproximationAttr().Set("sdf")
    (line,) = translate(stage).warnings
    assert line == "/Body: mesh of approximation sdf collides by its triangles"
    UsdPhysics.MeshCollisionAPI(prim).GetApproximationAttr().Set("boundingGlove")
    assert only(stage).approximation == "convexHull"


def test_instances_of_a_mesh_share_its_points(stage: Usd.Stage) -> None:
    """A forest would store and decompose each tree separately."""
    box_mesh(stage, "none")
    stage.CreateClassPrim("/Prototype")
    stage.DefinePrim("/Prototype/Mesh", "Mesh").GetReferences().AddInternalReference("/Body")
    for k, (yaw, scale) in enumerate([(0.0, 1.0), (37.0, 1.0), (211.0, 1.0), (90.0, 1.3)]):
        holder = UsdGeom.Xform.Define(stage, f"/Holder{k}")
        holder.AddRotateZOp().Set(yaw)
        holder.AddScaleOp().Set((scale, scale, scale))
        inner = stage.DefinePrim(f"/Holder{k}/Inner", "Xform")
        inner.GetReferences().AddInternalReference("/Prototype")
        inner.SetInstanceable(True)
    found = [c for c in translate(stage).colliders if c.path.startswith("/Holder")]
    assert len(found) == 4
    assert all(c.prototype is found[0].prototype and c.faces is found[0].faces for c in found)
    assert all(np.array_equal(c.scale, found[0].scale) for c in found[:3])
    for c in found:
        np.testing.assert_allclose(c.vertices, c.prototype @ c.scale.T)
    np.testing.assert_allclose(found[3].vertices, 1.3 * found[0].vertices, rtol=1e-5)


def test_a_sheared_bounding_cube_leans(stage: Usd.Stage) -> None:
    """The box around a mesh below a shear would be taken for the hull of the mesh."""
    outer = UsdGeom.Xform.Define(stage, "/Outer")
    outer.AddScaleOp().Set((1.0, 1.0, -3.0))
    mesh = UsdGeom.Mesh.Define(stage, "/Outer/Mesh")
    mesh.AddRotateXOp().Set(30.0)
    tetrahedron = [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)]
    mesh.CreatePointsAttr(Vt.Vec3fArray([Gf.Vec3f(*p) for p in tetrahedron]))
    mesh.CreateFaceVertexCountsAttr([3] * 4)
    mesh.CreateFaceVertexIndicesAttr([0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3])
    UsdPhysics.CollisionAPI.Apply(mesh.GetPrim())
    UsdPhysics.MeshCollisionAPI.Apply(mesh.GetPrim()).CreateApproximationAttr("boundingCube")
    cube = only(stage)
    assert (cube.shape, cube.approximation, len(cube.vertices)) == (ColliderShape.MESH, "convexHull", 8)
    corners = cube.vertices @ matrix_from_quaternion(cube.orientation).T + cube.position
    volume = np.abs(np.linalg.det(corners[[1, 2, 4]] - corners[0]))
    assert volume == pytest.approx(3.0, rel=1e-5)


def test_bounding_shapes_of_meshes(stage: Usd.Stage) -> None:
    """A mesh meant to collide as a box would collide by its triangles, or the box be off its centre."""
    prim = box_mesh(stage, "boundingCube")
    center = np.array([1.0, 2.0, 3.0]) + turned((1.0, 1.0, 1.5))
    box = only(stage)
    assert box.shape is ColliderShape.BOX
    np.testing.assert_allclose(box.size, (1.0, 1.0, 1.5), rtol=1e-6)
    np.testing.assert_allclose(box.position, center, atol=1e-6)
    UsdPhysics.MeshCollisionAPI(prim).GetApproximationAttr().Set("boundingSphere")
    sphere = only(stage)
    assert sphere.shape is ColliderShape.SPHERE
    assert sphere.size[0] == pytest.approx(np.sqrt(1.0 + 1.0 + 2.25), rel=1e-6)
    np.testing.assert_allclose(sphere.position, center, atol=1e-6)


def test_contact_properties_come_from_the_physics_binding(stage: Usd.Stage) -> None:
    """A collider would not have the friction of its bound physics material."""
    ice = physics_material(stage, "/Looks/Ice", PhysicsMaterial(0.0625, 0.03125, 0.25))
    wood = physics_material(stage, "/Looks/Wood", PhysicsMaterial(0.5, 0.375, 0.125))
    paint = UsdShade.Material.Define(stage, "/Looks/Paint")
    for name, general, physics in (
        ("A", paint, ice),
        ("B", wood, None),
        ("C", paint, None),
        ("D", None, None),
    ):
        binding = UsdShade.MaterialBindingAPI.Apply(collide(stage, "Cube", path=f"/{name}"))
        if general:
            binding.Bind(general)
        if physics:
            binding.Bind(physics, materialPurpose="physics")
    found = {collider.path: collider.material for collider in translate(stage).colliders}
    assert found == {
        "/A": PhysicsMaterial(0.0625, 0.03125, 0.25),
        "/B": PhysicsMaterial(0.5, 0.375, 0.125),
        "/C": PhysicsMaterial(),
        "/D": PhysicsMaterial(),
    }


def test_what_cannot_collide_is_left_out(stage: Usd.Stage) -> None:
    """A disabled collider would stop a vehicle, or a collider without a shape raise."""
    disabled = collide(stage, "Cube", path="/Disabled")
    UsdPhysics.CollisionAPI(disabled).GetCollisionEnabledAttr().Set(False)
    collide(stage, "Cube", path="/Flat", scale=(1.0, 1.0, 0.0))
    collide(stage, "Mesh", path="/Empty")
    UsdPhysics.CollisionAPI.Apply(UsdGeom.Xform.Define(stage, "/Group").GetPrim())
    UsdGeom.Cube.Define(stage, "/Group/Box")
    scene = translate(stage)
    assert scene.colliders == []
    assert "/Flat: collider with a scale of zero left out" in scene.warnings
    assert "/Empty: collider without triangles left out" in scene.warnings
    assert "/Group: collider without a geometry of its own left out" in scene.warnings


def test_transforms_come_apart_and_go_together_again() -> None:
    """A mirrored or sheared part would get an improper rotation."""
    rng = np.random.default_rng(5)
    for kind in ("scale", "mirror", "shear", "mirrored shear"):
        linear = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        linear *= np.sign(np.linalg.det(linear))
        linear = linear @ np.diag(rng.uniform(0.2, 3.0, size=3))
        if "shear" in kind:
            linear = linear @ (np.eye(3) + 0.3 * rng.normal(size=(3, 3)) ** 2)
        if "mirror" in kind:
            linear = linear @ np.diag([1.0, -1.0, 1.0])
        transform = np.eye(4)
        transform[:3, :3], transform[:3, 3] = linear, rng.normal(size=3)
        placement = decompose(transform)
        np.testing.assert_allclose(placement.rotation @ placement.rest, linear, atol=1e-12)
        np.testing.assert_allclose(placement.rotation @ placement.rotation.T, np.eye(3), atol=1e-12)
        assert np.linalg.det(placement.rotation) == pytest.approx(1.0)
        assert (placement.scale is None) == ("shear" in kind)


def surface_points(collider: Collider, count: int = 40000) -> np.ndarray:
    """Points all over the surface of a primitive, the outermost ones among them almost exactly."""
    rng = np.random.default_rng(11)
    ball = rng.normal(size=(count, 3))
    ball /= np.linalg.norm(ball, axis=1, keepdims=True)
    disc = ball * [1.0, 1.0, 0.0] / np.linalg.norm(ball[:, :2], axis=1, keepdims=True)
    ends = rng.choice([-1.0, 1.0], size=(count, 1)) * [0.0, 0.0, 1.0]
    size = np.array(collider.size)
    local = {
        ColliderShape.BOX: lambda: rng.choice([-1.0, 1.0], size=(count, 3)) * size,
        ColliderShape.SPHERE: lambda: ball * size[0],
        ColliderShape.ELLIPSOID: lambda: ball * size,
        ColliderShape.CAPSULE: lambda: ball * size[0] + ends * size[1],
        ColliderShape.CYLINDER: lambda: disc * size[0] + ends * size[1],
    }[collider.shape]()
    return local @ matrix_from_quaternion(collider.orientation).T + collider.position


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        (ColliderShape.BOX, (0.3, 0.5, 0.9)),
        (ColliderShape.SPHERE, (0.4,)),
        (ColliderShape.ELLIPSOID, (0.3, 0.5, 0.9)),
        (ColliderShape.CAPSULE, (0.3, 0.7)),
        (ColliderShape.CYLINDER, (0.3, 0.7)),
    ],
)
def test_bounds_touch_the_surface(shape: ColliderShape, size: tuple[float, ...]) -> None:
    """A vehicle would start inside the ground, or drop onto it."""
    attitude = quaternion_from_euler(0.4, -0.8, 1.9)
    collider = Collider("/Body", shape, size, np.array([1.0, -2.0, 0.5]), attitude)
    points = surface_points(collider)
    low, high = bounds(collider)
    assert (low <= points.min(axis=0) + 1e-12).all()
    assert (high >= points.max(axis=0) - 1e-12).all()
    np.testing.assert_allclose(low, points.min(axis=0), atol=3e-3)
    np.testing.assert_allclose(high, points.max(axis=0), atol=3e-3)
    assert lowest_point([collider]) == low[2]


def test_lowest_point_of_a_mesh_and_of_nothing() -> None:
    """A mesh would be placed by its origin in place of its lowest vertex."""
    still = np.array([0.0, 0.0, 0.0, 1.0])
    vertices = np.array([[0.0, 0.0, -0.25], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    mesh = Collider("/M", ColliderShape.MESH, (), np.array([0.0, 0.0, 1.0]), still, vertices=vertices)
    assert lowest_point([mesh]) == 0.75
    assert lowest_point([]) == np.inf
    plane = Collider("/P", ColliderShape.PLANE, (), np.zeros(3), still)
    assert lowest_point([mesh, plane]) == -np.inf


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("restitution", 1.5, "must be from 0 to 1"),
        ("restitution", -0.1, "must be from 0 to 1"),
        ("dynamicFriction", -0.5, "must be finite and not negative"),
        ("staticFriction", float("inf"), "must be finite and not negative"),
    ],
)
def test_an_impossible_contact_material_is_refused(name: str, value: float, said: str) -> None:
    """A restitution above 1 would make energy in every impact."""
    stage = Usd.Stage.CreateInMemory()
    prim = collide(stage, "Cube")
    ice = physics_material(stage, "/Ice", PhysicsMaterial())
    ice.GetPrim().GetAttribute(f"physics:{name}").Set(value)
    UsdShade.MaterialBindingAPI.Apply(prim).Bind(ice, materialPurpose="physics")
    with pytest.raises(ConfigError, match=rf"physics:{name} = .*{said}.*correct it in the USD file"):
        translate(stage)
