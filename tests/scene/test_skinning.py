"""Tests of skinned meshes: joints, blend shapes, normals, colliders, skeletons that cannot deform."""

import numpy as np
import pytest
from pxr import Gf, Usd, UsdGeom, UsdPhysics, UsdSkel, Vt

from pegasus.scene.scene import Scene
from pegasus.scene.translation import translate

POINTS = [(0, 0, 0), (0, 0, 1), (0.5, 0, 0), (0, 0, 3), (0.5, 0, 3), (0, 0, 2)]
"""Two triangles; the joint `elbow` at z = 1 moves the second."""
BENT = Gf.Quatf(np.sqrt(0.5), 0.0, float(np.sqrt(0.5)), 0.0)
"""A quarter turn about y: z becomes x, x becomes -z."""


def at(height: float) -> Gf.Matrix4d:
    return Gf.Matrix4d().SetTranslate((0.0, 0.0, height))


def bend(stage: Usd.Stage, joints: list[str], *, influences: int = 6) -> UsdGeom.Mesh:
    """Write an arm whose elbow is bent by its animation, below turned and moved frames."""
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    root = UsdSkel.Root.Define(stage, "/Arm")
    skeleton = UsdSkel.Skeleton.Define(stage, "/Arm/Bones")
    skeleton.CreateJointsAttr(joints)
    skeleton.CreateBindTransformsAttr(Vt.Matrix4dArray([at(0.0), at(1.0)][: len(joints)]))
    skeleton.CreateRestTransformsAttr(Vt.Matrix4dArray([at(0.0), at(1.0)][: len(joints)]))
    animation = UsdSkel.Animation.Define(stage, "/Arm/Wave")
    animation.CreateJointsAttr(joints)
    animation.CreateTranslationsAttr(Vt.Vec3fArray([(0, 0, 0), (0, 0, 1)][: len(joints)]))
    animation.CreateRotationsAttr(Vt.QuatfArray([Gf.Quatf(1.0), BENT][: len(joints)]))
    animation.CreateScalesAttr(Vt.Vec3hArray([(1, 1, 1)] * len(joints)))
    UsdSkel.BindingAPI.Apply(root.GetPrim()).CreateSkeletonRel().SetTargets(["/Arm/Bones"])
    UsdSkel.BindingAPI.Apply(skeleton.GetPrim()).CreateAnimationSourceRel().SetTargets(["/Arm/Wave"])
    mesh = UsdGeom.Mesh.Define(stage, "/Arm/Skin")
    mesh.CreatePointsAttr(Vt.Vec3fArray([tuple(map(float, point)) for point in POINTS]))
    mesh.CreateFaceVertexCountsAttr([3, 3])
    mesh.CreateFaceVertexIndicesAttr([0, 1, 2, 5, 3, 4])
    mesh.CreateSubdivisionSchemeAttr("none")
    mesh.CreateNormalsAttr(Vt.Vec3fArray([(1.0, 0.0, 0.0)] * 6))
    # The frame of the mesh is not that of the skeleton.
    mesh.AddTranslateOp().Set((0.0, 5.0, 0.0))
    mesh.AddRotateZOp().Set(90.0)
    binding = UsdSkel.BindingAPI.Apply(mesh.GetPrim())
    binding.CreateJointIndicesPrimvar(False, 1).Set(Vt.IntArray([0, 0, 0, 1, 1, 1][:influences]))
    binding.CreateJointWeightsPrimvar(False, 1).Set(Vt.FloatArray([1.0] * influences))
    binding.CreateGeomBindTransformAttr(Gf.Matrix4d(1.0))
    UsdPhysics.CollisionAPI.Apply(mesh.GetPrim())
    return mesh


def drawn(scene: Scene) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and normals of the only instance in the world, in order of the first two faces."""
    (instance,) = scene.instances
    geometry = scene.geometries[instance.geometry]
    order = geometry.faces.ravel()
    turn, shift = instance.transform[:3, :3], instance.transform[:3, 3]
    return geometry.vertices[order] @ turn.T + shift, geometry.normals[order] @ turn.T


EXPECTED = [(0, 0, 0), (0, 0, 1), (0.5, 0, 0), (1, 0, 1), (2, 0, 1), (2, 0, 0.5)]
"""Corners in the skeleton's frame: z above the elbow has become x."""


def test_joints_move_points_and_normals(stage: Usd.Stage) -> None:
    """People and robots would be drawn in their bind pose, away from where their animation has them."""
    bend(stage, ["shoulder", "shoulder/elbow"])
    scene = translate(stage)
    vertices, normals = drawn(scene)
    np.testing.assert_allclose(vertices, EXPECTED, atol=1e-5)
    np.testing.assert_allclose(normals[:3], [(1, 0, 0)] * 3, atol=1e-4)
    np.testing.assert_allclose(normals[3:], [(0, 0, -1)] * 3, atol=1e-4)


def test_a_skinned_mesh_collides_as_drawn(stage: Usd.Stage) -> None:
    """Vehicles would pass through a raised arm and hit one that is not there."""
    bend(stage, ["shoulder", "shoulder/elbow"])
    (collider,) = translate(stage).colliders
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    vertices = collider.vertices @ turn.T + [0.0, 5.0, 0.0]
    assert {tuple(np.round(row, 4) + 0.0) for row in vertices} == set(EXPECTED)


def test_animated_joints_are_read_at_their_first_time(stage: Usd.Stage) -> None:
    """A world would change with the time at which it happens to be read."""
    bend(stage, ["shoulder", "shoulder/elbow"])
    rotations = UsdSkel.Animation.Get(stage, "/Arm/Wave").GetRotationsAttr()
    rotations.Set(Vt.QuatfArray([Gf.Quatf(1.0), Gf.Quatf(1.0)]), 20.0)
    rotations.Set(Vt.QuatfArray([Gf.Quatf(1.0), BENT]), 10.0)
    np.testing.assert_allclose(drawn(translate(stage))[0], EXPECTED, atol=1e-5)


@pytest.mark.parametrize(
    ("joints", "influences", "line"),
    [
        ([], 6, "/Arm/Bones: skeleton with no joints: its meshes are as modelled; export it again"),
        (
            ["shoulder", "shoulder/elbow"],
            4,
            "/Arm/Skin: mesh as modelled: its joint influences do not fit; export it again",
        ),
    ],
)
def test_what_cannot_be_skinned_is_drawn_as_modelled_with_a_line(
    stage: Usd.Stage, joints: list[str], influences: int, line: str
) -> None:
    """A broken rig would end the load, or be drawn wrongly without a word."""
    bend(stage, joints, influences=influences)
    scene = translate(stage)
    assert [warning for warning in scene.warnings if "as modelled" in warning] == [line]
    np.testing.assert_allclose(
        scene.geometries["/Arm/Skin"].vertices.max(axis=0), np.max(POINTS, axis=0), atol=1e-6
    )


def test_blend_shapes_move_points(stage: Usd.Stage) -> None:
    """Faces would be drawn without their expression."""
    mesh = bend(stage, ["shoulder", "shoulder/elbow"])
    shape = UsdSkel.BlendShape.Define(stage, "/Arm/Skin/wide")
    shape.CreateOffsetsAttr(Vt.Vec3fArray([(1.0, 0.0, 0.0)]))
    shape.CreatePointIndicesAttr([2])
    binding = UsdSkel.BindingAPI(mesh.GetPrim())
    binding.CreateBlendShapesAttr(["wide"])
    binding.CreateBlendShapeTargetsRel().SetTargets(["/Arm/Skin/wide"])
    animation = UsdSkel.Animation.Get(stage, "/Arm/Wave")
    animation.CreateBlendShapesAttr(["wide"])
    animation.CreateBlendShapeWeightsAttr([0.5])
    vertices, _ = drawn(translate(stage))
    np.testing.assert_allclose(vertices[2], (1.0, 0.0, 0.0), atol=1e-5)
    np.testing.assert_allclose(vertices[3:], EXPECTED[3:], atol=1e-5)


def test_an_outline_reads_no_skeletons(stage: Usd.Stage) -> None:
    """The outline of a world would cost as much as the world."""
    bend(stage, [])
    scene = translate(stage, geometry=False)
    assert [instance.path for instance in scene.instances] == ["/Arm/Skin"]
    assert not any("skeleton" in line for line in scene.warnings)
