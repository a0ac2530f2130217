"""Authoring of USD prims: shapes, materials, labels, colliders, instances.

Numbers are rounded before they are written, so that a file is the same on every machine.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom, UsdLux, UsdPhysics, UsdSemantics, UsdShade, Vt

from pegasus.base.arrays import Array, IntArray
from pegasus.base.frames import quaternion_from_matrix
from pegasus.config.light_specs import SkySpec, SunSpec
from pegasus.scene.faces import BOX_FACES, Faces, box_uvs, corner_normals, point_normals
from pegasus.scene.scene import Color, PhysicsMaterial

Vector = Sequence[float] | Array
_DECIMALS = 5


@dataclass(frozen=True)
class Surface:
    """Visual material and contact properties of a shape."""

    material: UsdShade.Material
    physics: UsdShade.Material | None = None
    """Contact properties; None for a shape that does not collide."""


def new_stage(root: str) -> Usd.Stage:
    """Return a stage in memory in metres and kilograms with z up and one root Xform, its default prim."""
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdPhysics.SetStageKilogramsPerUnit(stage, 1.0)
    stage.SetDefaultPrim(UsdGeom.Xform.Define(stage, f"/{root}").GetPrim())
    return stage


def material(
    stage: Usd.Stage,
    path: str,
    color: Color,
    *,
    roughness: float = 0.8,
    metallic: float = 0.0,
    emission: Color = (0.0, 0.0, 0.0),
) -> UsdShade.Material:
    """Return a preview surface.

    Args:
        stage: Stage to write to.
        path: Path of the material.
        color: Diffuse colour, linear.
        roughness: Roughness, 0 to 1.
        metallic: Metalness, 0 to 1.
        emission: Emitted colour, linear.
    """
    schema = UsdShade.Material.Define(stage, path)
    shader = UsdShade.Shader.Define(stage, f"{path}/Surface")
    shader.CreateIdAttr("UsdPreviewSurface")
    shader.CreateInput("diffuseColor", Sdf.ValueTypeNames.Color3f).Set(_vec3f(color))
    shader.CreateInput("roughness", Sdf.ValueTypeNames.Float).Set(roughness)
    shader.CreateInput("metallic", Sdf.ValueTypeNames.Float).Set(metallic)
    if any(emission):
        shader.CreateInput("emissiveColor", Sdf.ValueTypeNames.Color3f).Set(_vec3f(emission))
    schema.CreateSurfaceOutput().ConnectToSource(shader.ConnectableAPI(), "surface")
    return schema


def physics_material(stage: Usd.Stage, path: str, contact: PhysicsMaterial) -> UsdShade.Material:
    """Return a material with contact properties."""
    schema = UsdShade.Material.Define(stage, path)
    physics = UsdPhysics.MaterialAPI.Apply(schema.GetPrim())
    physics.CreateStaticFrictionAttr(contact.static_friction)
    physics.CreateDynamicFrictionAttr(contact.dynamic_friction)
    physics.CreateRestitutionAttr(contact.restitution)
    return schema


def label(prim: Usd.Prim, name: str) -> None:
    """Assign a semantic class to a prim and its descendants."""
    UsdSemantics.LabelsAPI.Apply(prim, "class").CreateLabelsAttr([name])


def group(stage: Usd.Stage, path: str, name: str | None = None) -> Usd.Prim:
    """Return a new Xform, with an optional semantic class.

    Args:
        stage: Stage to write to.
        path: Path of the prim.
        name: Semantic class of its descendants.
    """
    prim = UsdGeom.Xform.Define(stage, path).GetPrim()
    if name is not None:
        label(prim, name)
    return prim


def box(
    stage: Usd.Stage, path: str, center: Vector, size: Vector, surface: Surface, *, yaw: float = 0.0
) -> Usd.Prim:
    """Return a box.

    Args:
        stage: Stage to write to.
        path: Path of the prim.
        center: Centre [m], shape (3,).
        size: Lengths along x, y, z [m], shape (3,).
        surface: Visual material and contact properties.
        yaw: Rotation about z [deg].
    """
    cube = UsdGeom.Cube.Define(stage, path)
    cube.CreateSizeAttr(1.0)
    place(cube.GetPrim(), center, yaw=yaw, scale=size)
    return _finish(cube.GetPrim(), surface)


def cylinder(
    stage: Usd.Stage, path: str, start: Vector, end: Vector, radius: float, surface: Surface
) -> Usd.Prim:
    """Return a cylinder between two points.

    Args:
        stage: Stage to write to.
        path: Path of the prim.
        start: Centre of one end [m], shape (3,).
        end: Centre of the other [m], shape (3,).
        radius: Radius [m].
        surface: Visual material and contact properties.
    """
    schema = UsdGeom.Cylinder.Define(stage, path)
    a, b = np.asarray(start, dtype=np.float64), np.asarray(end, dtype=np.float64)
    axis = b - a
    length = float(np.sqrt(axis @ axis))
    schema.CreateRadiusAttr(round(radius, _DECIMALS))
    schema.CreateHeightAttr(round(length, _DECIMALS))
    place(schema.GetPrim(), (a + b) / 2, rotation=rotation_to(axis))
    return _finish(schema.GetPrim(), surface)


def sphere(stage: Usd.Stage, path: str, center: Vector, radius: float, surface: Surface) -> Usd.Prim:
    """Return a sphere.

    Args:
        stage: Stage to write to.
        path: Path of the prim.
        center: Centre [m], shape (3,).
        radius: Radius [m].
        surface: Visual material and contact properties.
    """
    schema = UsdGeom.Sphere.Define(stage, path)
    schema.CreateRadiusAttr(round(radius, _DECIMALS))
    place(schema.GetPrim(), center)
    return _finish(schema.GetPrim(), surface)


def mesh(
    stage: Usd.Stage,
    path: str,
    points: Array,
    faces: Sequence[Sequence[int]] | IntArray,
    surface: Surface,
    *,
    approximation: str = "none",
    uvs: Array | None = None,
    normals: Array | None = None,
) -> UsdGeom.Mesh:
    """Return a mesh, flat-shaded unless normals are given.

    Args:
        stage: Stage to write to.
        path: Path of the prim.
        points: Points [m], shape (P, 3).
        faces: Points of each face, counter-clockwise seen from outside.
        surface: Visual material and contact properties.
        approximation: Collision shape: `none` for its triangles, `convexHull` for its hull.
        uvs: Texture coordinates [m] per point, shape (P, 2), or per face corner in order.
        normals: Normals per point, shape (P, 3), for smooth shading.
    """
    schema = UsdGeom.Mesh.Define(stage, path)
    if isinstance(faces, np.ndarray):
        counts, indices = np.full(*faces.shape), faces.ravel()
    else:
        counts = np.array([len(face) for face in faces])
        indices = np.array([index for face in faces for index in face])
    schema.CreatePointsAttr(_vec3f_array(points))
    schema.CreateFaceVertexCountsAttr(Vt.IntArray.FromNumpy(counts.astype(np.int32)))
    schema.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(indices.astype(np.int32)))
    schema.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
    if normals is not None:
        schema.CreateNormalsAttr(_vec3f_array(normals))
        schema.SetNormalsInterpolation(UsdGeom.Tokens.vertex)
    if uvs is not None:
        per_point = len(uvs) == len(points)
        primvar = UsdGeom.PrimvarsAPI(schema).CreatePrimvar(
            "st",
            Sdf.ValueTypeNames.TexCoord2fArray,
            UsdGeom.Tokens.vertex if per_point else UsdGeom.Tokens.faceVarying,
        )
        primvar.Set(Vt.Vec2fArray.FromNumpy(np.round(uvs, _DECIMALS).astype(np.float32)))
    prim = _finish(schema.GetPrim(), surface)
    if surface.physics is not None:
        UsdPhysics.MeshCollisionAPI.Apply(prim).CreateApproximationAttr(approximation)
    return schema


def block(
    stage: Usd.Stage, path: str, center: Vector, size: Vector, surface: Surface, *, yaw: float = 0.0
) -> Usd.Prim:
    """Return a box mesh with texture coordinates in metres and a box collider.

    Args:
        stage: Stage to write to.
        path: Path of the prim.
        center: Centre [m], shape (3,).
        size: Lengths along x, y, z [m], shape (3,).
        surface: Visual material and contact properties.
        yaw: Rotation about z [deg].
    """
    half = np.asarray(size, dtype=np.float64) / 2
    corners = np.array([[x, y, z] for z in (-1, 1) for y in (-1, 1) for x in (-1, 1)]) * half
    schema = mesh(
        stage,
        path,
        corners,
        BOX_FACES,
        surface,
        approximation="boundingCube",
        uvs=box_uvs(corners, BOX_FACES),
    )
    place(schema.GetPrim(), center, yaw=yaw)
    return schema.GetPrim()


def subset(of: UsdGeom.Mesh, name: str, faces: Sequence[int], look: UsdShade.Material) -> Usd.Prim:
    """Return a subset of faces of a mesh with its own material."""
    schema = UsdShade.MaterialBindingAPI(of).CreateMaterialBindSubset(name, Vt.IntArray(list(faces)))
    UsdShade.MaterialBindingAPI.Apply(schema.GetPrim()).Bind(look)
    label(schema.GetPrim(), name)
    return schema.GetPrim()


def ground_plane(stage: Usd.Stage, path: str, physics: UsdShade.Material) -> None:
    """Write an invisible, infinite, horizontal collider through the origin."""
    schema = UsdGeom.Plane.Define(stage, path)
    schema.CreateAxisAttr(UsdGeom.Tokens.z)
    schema.CreatePurposeAttr(UsdGeom.Tokens.guide)
    collide(schema.GetPrim(), physics)


def instance(
    stage: Usd.Stage,
    path: str,
    prototype: str,
    position: Vector,
    *,
    yaw: float = 0.0,
    scale: float | Vector = 1.0,
) -> None:
    """Write an instance of a prototype.

    Args:
        stage: Stage to write to.
        path: Path of the instance.
        prototype: Path of the prototype.
        position: Position [m], shape (3,).
        yaw: Rotation about z [deg].
        scale: Scale along all axes, or along x, y, z.
    """
    prim = UsdGeom.Xform.Define(stage, path).GetPrim()
    prim.GetReferences().AddInternalReference(prototype)
    prim.SetInstanceable(True)
    factors = (scale,) * 3 if isinstance(scale, int | float) else scale
    place(prim, position, yaw=yaw, scale=factors)


def sun_and_sky(stage: Usd.Stage, root: str, *, elevation: float = 50.0, azimuth: float = 215.0) -> None:
    """Write a sun and a clear sky with the intensities that RTX expects.

    Args:
        stage: Stage to write to.
        root: Path of the parent prim.
        elevation: Height of the sun above the horizon [deg].
        azimuth: Azimuth of the sun, clockwise from north [deg].
    """
    sun = UsdLux.DistantLight.Define(stage, f"{root}/Sun")
    sun.CreateIntensityAttr(SunSpec().intensity)
    sun.CreateAngleAttr(0.53)
    sun.CreateColorAttr(_vec3f(SunSpec().color))
    turn = Gf.Vec3f(90.0 - elevation, 0.0, (180.0 - azimuth + 180.0) % 360.0 - 180.0)
    UsdGeom.Xformable(sun).AddRotateXYZOp().Set(turn)
    sky = UsdLux.DomeLight.Define(stage, f"{root}/Sky")
    sky.CreateIntensityAttr(SkySpec().intensity)
    sky.CreateColorAttr(_vec3f(SkySpec().color))


def place(
    prim: Usd.Prim,
    position: Vector,
    *,
    rotation: Array | None = None,
    yaw: float = 0.0,
    scale: Vector = (1.0, 1.0, 1.0),
) -> None:
    """Write the transform of a prim; identity parts are omitted.

    Args:
        prim: A prim that has no transform yet.
        position: Position [m], shape (3,).
        rotation: Rotation matrix, shape (3, 3); replaces `yaw`.
        yaw: Rotation about z [deg].
        scale: Scale along x, y, z.
    """
    schema = UsdGeom.Xformable(prim)
    if np.any(position):
        schema.AddTranslateOp().Set(Gf.Vec3d(*_rounded(position)))
    if rotation is not None and not np.array_equal(rotation, np.eye(3)):
        parts = quaternion_from_matrix(np.asarray(rotation, dtype=np.float64)).tolist()
        # Rounded like all that is written: the last bits of a product of matrices depend on the processor.
        x, y, z, w = (round(part, 9) + 0.0 for part in parts)
        length = math.sqrt(x * x + y * y + z * z + w * w)
        turn = Gf.Quatd(w / length, x / length, y / length, z / length)
        schema.AddOrientOp(UsdGeom.XformOp.PrecisionDouble).Set(turn)
    elif yaw:
        schema.AddRotateZOp().Set(round(yaw, _DECIMALS))
    if any(factor != 1.0 for factor in scale):
        schema.AddScaleOp().Set(_vec3f(_rounded(scale)))


def collide(prim: Usd.Prim, physics: UsdShade.Material) -> None:
    """Make a prim a collider."""
    UsdPhysics.CollisionAPI.Apply(prim)
    UsdShade.MaterialBindingAPI.Apply(prim).Bind(physics, materialPurpose="physics")


def rotation_to(axis: Vector) -> Array:
    """Return the shortest rotation from z to an axis, shape (3, 3).

    Args:
        axis: Direction, shape (3,).
    """
    z = np.asarray(axis, dtype=np.float64)
    z = z / np.sqrt(z @ z)
    if z[2] < -1.0 + 1e-12:
        return np.diag([1.0, -1.0, -1.0])
    # Rodrigues with the rotation vector (z0 x z) whose sine and cosine are known (|v|, z_z).
    v = np.array([[0.0, 0.0, z[0]], [0.0, 0.0, z[1]], [-z[0], -z[1], 0.0]])
    rotation: Array = np.eye(3) + v + v @ v / (1.0 + z[2])
    return rotation


def _finish(prim: Usd.Prim, surface: Surface) -> Usd.Prim:
    """Write extent, material and contact properties of a shape."""
    extent = UsdGeom.Boundable.ComputeExtentFromPlugins(UsdGeom.Boundable(prim), Usd.TimeCode.Default())
    UsdGeom.Boundable(prim).CreateExtentAttr(extent)
    UsdShade.MaterialBindingAPI.Apply(prim).Bind(surface.material)
    if surface.physics is not None:
        collide(prim, surface.physics)
    return prim


def _rounded(values: Vector) -> list[float]:
    return [round(float(value), _DECIMALS) + 0.0 for value in values]


def _vec3f_array(rows: Array) -> Vt.Vec3fArray:
    return Vt.Vec3fArray.FromNumpy(np.round(np.asarray(rows), _DECIMALS).astype(np.float32))


def _vec3f(values: Vector) -> Gf.Vec3f:
    return Gf.Vec3f(*(float(value) for value in values))


CREASE = math.radians(50)
"""Angle between faces above which edges of turned parts stay sharp [rad]."""


def smooth_mesh(
    stage: Usd.Stage,
    path: str,
    points: Array,
    faces: Faces,
    surface: Surface,
    *,
    crease: float | None = None,
) -> UsdGeom.Mesh:
    """Return a mesh with smooth shading.

    Args:
        stage: Stage to write to.
        path: Path of the prim.
        points: Points [m], shape (P, 3).
        faces: Points of each face, counter-clockwise seen from outside.
        surface: Visual material and contact properties.
        crease: Angle between faces above which an edge stays sharp [rad]; None if no edge does.
    """
    schema = mesh(stage, path, points, faces, surface)
    primvars = UsdGeom.PrimvarsAPI(schema)
    kind = UsdGeom.Tokens.vertex if crease is None else UsdGeom.Tokens.faceVarying
    normals = primvars.CreatePrimvar("normals", Sdf.ValueTypeNames.Normal3fArray, kind)
    if crease is None:
        normals.Set(Vt.Vec3fArray.FromNumpy(point_normals(points, faces).astype(np.float32)))
        return schema
    values, indices = corner_normals(points, faces, crease)
    normals.Set(Vt.Vec3fArray.FromNumpy(values.astype(np.float32)))
    normals.SetIndices(Vt.IntArray.FromNumpy(indices.astype(np.int32)))
    return schema
