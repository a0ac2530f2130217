"""Tests of translating stages: transforms, instances, visibility, labels, physics notices."""

from collections.abc import Callable

import numpy as np
import pytest
from pxr import Gf, Usd, UsdGeom, UsdPhysics

from pegasus.base.errors import ConfigError
from pegasus.scene.authoring import Surface, label, mesh, subset
from pegasus.scene.authoring import material as paint
from pegasus.scene.scene import Scene
from pegasus.scene.translation import translate
from pegasus.worlds.solids import tiles


def paths(scene: Scene) -> list[str]:
    return [instance.path for instance in scene.instances]


def column(matrix: Gf.Matrix4d) -> np.ndarray:
    return np.array(matrix).T


def test_centimetres_with_y_up_become_metres_with_z_up() -> None:
    """Worlds in OpenUSD's default units would be scaled by 100 and rotated by 90 degrees."""
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.y)
    UsdGeom.SetStageMetersPerUnit(stage, 0.01)
    mesh = UsdGeom.Mesh.Define(stage, "/Corner")
    mesh.CreatePointsAttr([(0, 0, 0), (10, 0, 0), (0, 20, 0), (0, 0, 30)])
    mesh.CreateFaceVertexCountsAttr([3, 3, 3, 3])
    mesh.CreateFaceVertexIndicesAttr([0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3])
    mesh.CreateSubdivisionSchemeAttr("none")
    UsdGeom.Xformable(mesh).AddTranslateOp().Set((100, 200, 300))
    scene = translate(stage)
    transform = scene.instances[0].transform
    vertices = scene.geometries["/Corner"].vertices @ transform[:3, :3].T + transform[:3, 3]
    expected = {(1.0, -3.0, 2.0), (1.1, -3.0, 2.0), (1.0, -3.0, 2.2), (1.0, -3.3, 2.0)}
    assert {tuple(np.round(vertex, 6)) for vertex in vertices} == expected
    np.testing.assert_allclose(np.linalg.det(transform[:3, :3]), 1.0)
    assert len(scene.warnings) == 1


def test_nested_transforms_agree_with_those_of_openusd(stage: Usd.Stage) -> None:
    """A wrong order of transform operations would misplace prims."""
    rng = np.random.default_rng(3)
    path = ""
    for depth in range(5):
        path += f"/Level{depth}"
        schema = UsdGeom.Xform.Define(stage, path)
        schema.AddTranslateOp().Set(tuple(rng.normal(size=3)))
        schema.AddRotateXYZOp().Set(tuple(rng.uniform(-180, 180, size=3)))
        schema.AddScaleOp().Set(tuple(rng.uniform(0.5, 2.0, size=3)))
        if depth == 3:
            schema.SetResetXformStack(True)
        UsdGeom.Sphere.Define(stage, f"{path}/Ball")
    scene = translate(stage)
    cache = UsdGeom.XformCache()
    assert len(scene.instances) == 5
    for instance in scene.instances:
        expected = column(cache.GetLocalToWorldTransform(stage.GetPrimAtPath(instance.path)))
        np.testing.assert_allclose(instance.transform, expected, atol=1e-12)


def prototype(stage: Usd.Stage) -> None:
    """Write a class with a mesh and a cube, the mesh below a transform of its own."""
    stage.CreateClassPrim("/Proto")
    part = UsdGeom.Xform.Define(stage, "/Proto/Part")
    part.AddTranslateOp().Set((0.0, 0.0, 2.0))
    mesh = UsdGeom.Mesh.Define(stage, "/Proto/Part/Sheet")
    mesh.CreatePointsAttr([(0, 0, 0), (1, 0, 0), (0, 1, 0)])
    mesh.CreateFaceVertexCountsAttr([3])
    mesh.CreateFaceVertexIndicesAttr([0, 1, 2])
    UsdPhysics.CollisionAPI.Apply(mesh.GetPrim())
    UsdGeom.Cube.Define(stage, "/Proto/Box")


def test_scenegraph_instances_share_geometry_and_keep_their_places(stage: Usd.Stage) -> None:
    """Instances would be missing, or each would hold a copy of its geometry."""
    prototype(stage)
    for k in range(5):
        schema = UsdGeom.Xform.Define(stage, f"/World/Copy{k}")
        schema.AddTranslateOp().Set((float(k), 0.0, 0.0))
        schema.AddScaleOp().Set((1.0 + k, 1.0, 1.0))
        schema.GetPrim().GetReferences().AddInternalReference("/Proto")
        schema.GetPrim().SetInstanceable(True)
    scene = translate(stage)
    assert len(stage.GetPrototypes()) == 1
    assert sorted(paths(scene)) == sorted(
        f"/World/Copy{k}/{name}" for k in range(5) for name in ("Part/Sheet", "Box")
    )
    assert len(scene.geometries) == 2
    assert [collider.path for collider in scene.colliders] == [f"/World/Copy{k}/Part/Sheet" for k in range(5)]
    for k, collider in enumerate(scene.colliders):
        np.testing.assert_allclose(collider.position, [k, 0.0, 2.0])
        np.testing.assert_allclose(collider.vertices.max(axis=0), [1.0 + k, 1.0, 0.0])


def test_point_instances_stand_where_openusd_puts_them(stage: Usd.Stage) -> None:
    """Forests and crowds would be in the wrong place, or the transform of the prototype counted twice."""
    world = UsdGeom.Xform.Define(stage, "/World")
    world.AddTranslateOp().Set((5.0, 0.0, 1.0))
    world.AddRotateZOp().Set(30.0)
    root = UsdGeom.Xform.Define(stage, "/World/Many/Protos/Tree")
    root.AddTranslateOp().Set((0.0, 0.5, 0.0))
    crown = UsdGeom.Sphere.Define(stage, "/World/Many/Protos/Tree/Crown")
    crown.AddTranslateOp().Set((0.0, 0.0, 3.0))
    UsdPhysics.CollisionAPI.Apply(crown.GetPrim())
    UsdGeom.Cube.Define(stage, "/World/Many/Protos/Rock")
    many = UsdGeom.PointInstancer.Define(stage, "/World/Many")
    many.CreatePrototypesRel().SetTargets(["/World/Many/Protos/Tree", "/World/Many/Protos/Rock"])
    many.CreatePositionsAttr([(0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0)])
    many.CreateOrientationsAttr(
        [Gf.Quath(1), Gf.Quath(0.5, 0.5, 0.5, 0.5), Gf.Quath(1), Gf.Quath(0, 0, 0, 1)]
    )
    many.CreateScalesAttr([(1, 1, 1), (2, 2, 2), (1, 1, 1), (1, 1, 3)])
    many.CreateProtoIndicesAttr([0, 0, 1, 0])
    many.CreateIdsAttr([10, 11, 12, 13])
    many.CreateInvisibleIdsAttr([10])
    scene = translate(stage)
    assert paths(scene) == ["/World/Many[1]/Crown", "/World/Many[2]", "/World/Many[3]/Crown"]
    authored = many.ComputeInstanceTransformsAtTime(
        0.0, 0.0, UsdGeom.PointInstancer.IncludeProtoXform, UsdGeom.PointInstancer.IgnoreMask
    )
    above = column(UsdGeom.XformCache().GetLocalToWorldTransform(many.GetPrim()))
    lifted = np.eye(4)
    lifted[2, 3] = 3.0
    for index, instance in zip((1, 2, 3), scene.instances, strict=True):
        local = np.eye(4) if index == 2 else lifted
        np.testing.assert_allclose(instance.transform, above @ column(authored[index]) @ local, atol=1e-6)
    assert len(scene.colliders) == 2


def test_point_instancers_nest_and_prototypes_may_be_classes(stage: Usd.Stage) -> None:
    """Nested instances, or instances of undrawn prototypes, would be missing."""
    stage.CreateClassPrim("/Hidden")
    UsdGeom.Cube.Define(stage, "/Hidden/Brick/Box")
    row = UsdGeom.PointInstancer.Define(stage, "/Hidden/Row")
    row.CreatePrototypesRel().SetTargets(["/Hidden/Brick"])
    row.CreatePositionsAttr([(0, 0, 0), (2, 0, 0), (4, 0, 0)])
    row.CreateProtoIndicesAttr([0, 0, 0])
    wall = UsdGeom.PointInstancer.Define(stage, "/Wall")
    wall.CreatePrototypesRel().SetTargets(["/Hidden/Row"])
    wall.CreatePositionsAttr([(0, 0, 0), (0, 0, 2)])
    wall.CreateProtoIndicesAttr([0, 0])
    scene = translate(stage)
    positions = sorted(tuple(instance.transform[:3, 3]) for instance in scene.instances)
    assert positions == [(x, 0.0, z) for x in (0.0, 2.0, 4.0) for z in (0.0, 2.0)]
    assert paths(scene)[0] == "/Wall[0][0]/Box"


def test_only_what_is_visible_and_meant_for_rendering_is_drawn(stage: Usd.Stage) -> None:
    """Hidden prims and proxies would be drawn; hidden colliders would be ignored."""
    for name in ("Shown", "Hidden", "Guide", "Proxy", "Render"):
        UsdPhysics.CollisionAPI.Apply(UsdGeom.Cube.Define(stage, f"/{name}/Box").GetPrim())
        UsdGeom.Xform.Define(stage, f"/{name}")
    UsdGeom.Imageable(stage.GetPrimAtPath("/Hidden")).MakeInvisible()
    for name in ("Guide", "Proxy", "Render"):
        UsdGeom.Imageable(stage.GetPrimAtPath(f"/{name}")).CreatePurposeAttr(name.lower())
    UsdGeom.Cube.Define(stage, "/Off").GetPrim().SetActive(False)
    scene = translate(stage)
    assert paths(scene) == ["/Shown/Box", "/Render/Box"]
    assert len(scene.colliders) == 5


def test_mirrored_instances_keep_their_outside_out(
    stage: Usd.Stage, area_and_volume: Callable[..., tuple[float, float]], in_world: Callable[..., np.ndarray]
) -> None:
    """Mirrored halves of an asset would be inside out: culled, dark, and open to rays."""
    for name, factor in (("Plain", 2.0), ("Mirrored", -2.0)):
        cone = UsdGeom.Cone.Define(stage, f"/{name}")
        UsdGeom.Xformable(cone).AddScaleOp().Set((factor, 1.0, 1.0))
        UsdPhysics.CollisionAPI.Apply(cone.GetPrim())
    scene = translate(stage)
    volumes = []
    for instance in scene.instances:
        geometry = scene.geometries[instance.geometry]
        vertices = in_world(geometry, instance.transform)
        volumes.append(area_and_volume(vertices, geometry.faces)[1])
        normals = geometry.normals @ np.linalg.inv(instance.transform[:3, :3])
        corners = vertices[geometry.faces]
        areas = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        assert ((normals[geometry.faces].mean(axis=1) * areas).sum(axis=1) > 0).all()
    for collider in scene.colliders:
        volumes.append(area_and_volume(collider.vertices, collider.faces)[1])
    np.testing.assert_allclose(volumes, volumes[0], rtol=1e-6)
    assert volumes[0] > 0


def test_a_body_is_taken_in_its_own_frame(stage: Usd.Stage) -> None:
    """A vehicle authored away from the origin would fly beside its own frame."""
    UsdGeom.Cube.Define(stage, "/Elsewhere")
    body = UsdGeom.Xform.Define(stage, "/Body")
    body.AddTranslateOp().Set((10.0, -4.0, 2.0))
    body.AddRotateXYZOp().Set((20.0, 30.0, 40.0))
    body.AddScaleOp().Set((2.0, 2.0, 2.0))
    UsdPhysics.RigidBodyAPI.Apply(body.GetPrim())
    box = UsdGeom.Cube.Define(stage, "/Body/Box")
    box.AddTranslateOp().Set((0.5, 0.0, 0.0))
    loose = UsdGeom.Cube.Define(stage, "/Body/Loose")
    loose.AddTranslateOp().Set((10.0, -4.0, 2.0))
    loose.SetResetXformStack(True)
    scene = translate(stage, root="/Body")
    assert paths(scene) == ["/Body/Box", "/Body/Loose"]
    np.testing.assert_allclose(
        scene.instances[0].transform, np.diag([2.0, 2.0, 2.0, 1.0]) + np.eye(4, k=3), atol=1e-7
    )
    np.testing.assert_allclose(scene.instances[1].transform[:3, 3], 0.0, atol=1e-12)
    assert scene.warnings == []


def test_a_body_that_is_not_there_is_an_error(stage: Usd.Stage) -> None:
    """A misspelt prim would give an empty vehicle."""
    with pytest.raises(ConfigError, match="no such prim"):
        translate(stage, root="/Nobody")


def test_physics_that_a_world_cannot_have_is_noted(stage: Usd.Stage) -> None:
    """A second physics scene, moving bodies or joints would be dropped without a message."""
    for k in range(3):
        UsdPhysics.Scene.Define(stage, f"/Physics{k}")
        UsdPhysics.RigidBodyAPI.Apply(UsdGeom.Cube.Define(stage, f"/Box{k}").GetPrim())
    UsdPhysics.FixedJoint.Define(stage, "/Joint")
    warnings = translate(stage).warnings
    assert "/Physics1 and 1 more: ignored: the physics scene is /Physics0" in warnings
    assert "/Box0 and 2 more: rigid body taken as static" in warnings
    assert "/Joint: joint ignored" in warnings
    assert any("no collider" in line for line in warnings)


def test_unsupported_geometry_is_noted(stage: Usd.Stage) -> None:
    """A prim that cannot be drawn would be dropped without a message."""
    UsdGeom.BasisCurves.Define(stage, "/Rope")
    UsdPhysics.CollisionAPI.Apply(UsdGeom.Cube.Define(stage, "/Box").GetPrim())
    assert translate(stage).warnings == ["/Rope: BasisCurves left out"]


def test_parts_belong_to_the_thing_that_carries_the_label(stage: Usd.Stage) -> None:
    """A labelled car would be split into its parts, or two cars would be one entity."""
    for name, x in (("A", 3.0), ("B", 6.0)):
        car = UsdGeom.Xform.Define(stage, f"/Cars/{name}")
        car.AddTranslateOp().Set((x, 0, 0))
        car.AddScaleOp().Set((2, 2, 2))
        label(car.GetPrim(), "car")
        for wheel in ("W0", "W1"):
            UsdGeom.Sphere.Define(stage, f"/Cars/{name}/{wheel}").AddTranslateOp().Set((0, 1, 0))
    UsdGeom.Sphere.Define(stage, "/Ball")
    floor = mesh(
        stage, "/Floor", *tiles(np.arange(3.0), np.arange(2.0)), Surface(paint(stage, "/Grey", (1, 1, 1)))
    )
    subset(floor, "left", [0], paint(stage, "/Red", (1, 0, 0)))
    scene = translate(stage)
    of = {instance.path: instance.entity for instance in scene.instances}
    assert of["/Cars/A/W0"] == of["/Cars/A/W1"] == "/Cars/A"
    assert of["/Cars/B/W0"] == "/Cars/B"
    assert of["/Ball"] == "/Ball"
    assert sorted(entity for entity in scene.entities if "Floor" in entity) == ["/Floor", "/Floor/left"]
    assert scene.entities["/Cars/B"].labels == {"class": "car"}
    np.testing.assert_array_equal(scene.entities["/Cars/B"].transform[:3, 3], [6, 0, 0])
    np.testing.assert_array_equal(scene.entities["/Cars/B"].transform[:3, :3], np.eye(3))
