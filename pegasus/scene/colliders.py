"""Colliders of UsdPhysics as primitives where exact, else as meshes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from pxr import Usd, UsdGeom, UsdPhysics, UsdShade

from pegasus.base.arrays import Array, sum_along
from pegasus.base.components import require
from pegasus.base.frames import cross, matrix_from_quaternion, matrix_product, quaternion_from_matrix, rotate
from pegasus.scene.meshes import Polygons
from pegasus.scene.primitives import Primitive
from pegasus.scene.scene import Collider, ColliderShape, PhysicsMaterial
from pegasus.scene.stage import TIME, Notices, StageFrame

# Relative deviation up to which axes count as orthogonal and scales as equal: authored rotations are float32.
_EXACT = 1e-5
# Collision shape of a mesh by its authored `physics:approximation`: in a world, where triangles may stay
# triangles, and on a moving body, where PhysX uses hulls instead. Isaac Sim adds the last two.
_IN_A_WORLD = {
    "none": "none",
    "meshSimplification": "none",
    "convexHull": "convexHull",
    "convexDecomposition": "convexDecomposition",
    "boundingCube": "boundingCube",
    "boundingSphere": "boundingSphere",
    "sdf": "none",
    "sphereFill": "convexDecomposition",
}
_AS_A_BODY = _IN_A_WORLD | {
    "none": "convexHull",
    "meshSimplification": "convexHull",
    "sdf": "convexDecomposition",
}
_SHAPE_NAMES = {
    "none": "its triangles",
    "convexHull": "its convex hull",
    "convexDecomposition": "its convex parts",
}
# Triangles of a box whose corner k is at the upper end of x, y and z where bits 0, 1 and 2 of k are set.
_BOX_FACES = np.array(
    [[0, 2, 3], [0, 3, 1], [4, 5, 7], [4, 7, 6], [0, 1, 5], [0, 5, 4],
     [2, 6, 7], [2, 7, 3], [0, 4, 6], [0, 6, 2], [1, 3, 7], [1, 7, 5]],
    dtype=np.int32,
)  # fmt: skip
_LEVEL = np.array([0.0, 0.0, 0.0, 1.0])
_Turned = tuple[Collider, Array]
"""A collider without its orientation, and its rotation, shape (3, 3)."""

# Significant digits of scales: instances whose scales differ in the last bits share one shape.
_SCALE_DIGITS = 6


@dataclass(frozen=True, eq=False)
class Placement:
    """A transform decomposed into position, rotation and the remaining linear part."""

    position: Array
    """Position [m], shape (3,)."""
    rotation: Array
    """Proper rotation, shape (3, 3)."""
    rest: Array
    """Scale, mirror and shear, applied before the rotation, shape (3, 3)."""

    @property
    def scale(self) -> Array | None:
        """Scale along x, y and z without its sign, shape (3,); None for a shear."""
        scale = np.abs(np.diagonal(self.rest))
        sheared = np.abs(self.rest - np.diag(np.diagonal(self.rest))).max() > _EXACT * scale.max()
        return None if sheared else scale


def decompose(transform: Array) -> Placement:
    """Return a transform as position, rotation and rest; see `decompose_all`.

    Args:
        transform: Matrix that acts on column vectors, shape (4, 4).
    """
    return decompose_all(transform[None])[0]


def decompose_all(transforms: Array) -> list[Placement]:
    """Return transforms as position, rotation and rest.

    Without a shear the rotation is that of the axes, and the rest is diagonal; with one, the nearest rotation
    (polar decomposition).

    Args:
        transforms: Matrices that act on column vectors, shape (K, 4, 4).
    """
    linear = transforms[:, :3, :3]
    lengths = np.sqrt((linear * linear).sum(axis=1, keepdims=True))
    axes = linear / np.where(lengths > 0, lengths, 1.0)
    apart = np.abs(matrix_product(axes.swapaxes(1, 2), axes) - np.eye(3)).max(axis=(1, 2))
    sheared = ~(apart < _EXACT)
    rotation = _orthogonal(np.where(sheared[:, None, None], np.eye(3), axes))
    rotation[np.linalg.det(rotation) < 0, :, 2] *= -1.0
    if sheared.any():
        left, _, right = np.linalg.svd(linear[sheared])
        left[np.linalg.det(left) * np.linalg.det(right) < 0, :, 2] *= -1.0
        rotation[sheared] = matrix_product(left, right)
    rest = matrix_product(rotation.swapaxes(1, 2), linear)
    rest[~sheared] *= np.eye(3)
    return [Placement(*parts) for parts in zip(transforms[:, :3, 3].copy(), rotation, rest, strict=True)]


def _orthogonal(matrices: Array) -> Array:
    """Return the orthogonal matrices nearest to nearly orthogonal ones, shape (K, 3, 3).

    By two steps of Newton's iteration, the mean of a matrix and its inverse transpose (Higham 1986): unlike
    those of LAPACK, the results have the same bits on every processor.
    """
    for _ in range(2):
        x, y, z = (matrices[:, :, k] for k in range(3))
        cofactors = np.stack([cross(y, z), cross(z, x), cross(x, y)], axis=2)
        volume = sum_along(x * cofactors[:, :, 0], -1)
        matrices = 0.5 * (matrices + cofactors / volume[:, None, None])
    return matrices


class PhysicsMaterials:
    """Contact properties by bound material, each read once."""

    def __init__(self) -> None:
        self._read: dict[str, PhysicsMaterial] = {}

    def of(self, material: UsdShade.Material) -> PhysicsMaterial:
        """Return the contact properties of a bound material, or the default.

        Args:
            material: Material bound for physics, else for all purposes.
        """
        if not material:
            return PhysicsMaterial()
        path = str(material.GetPath())
        if path not in self._read:
            self._read[path] = _physics_material(material.GetPrim())
        return self._read[path]


def is_collider(prim: Usd.Prim) -> bool:
    """Return whether a prim collides."""
    return bool(prim.HasAPI(UsdPhysics.CollisionAPI)) and bool(
        UsdPhysics.CollisionAPI(prim).GetCollisionEnabledAttr().Get(TIME)
    )


@dataclass(frozen=True, eq=False)
class CollidingPrim:
    """A prim with a collision shape."""

    prim: Usd.Prim
    path: str
    """Path in the scene."""
    transform: Array
    """Local to stage, shape (4, 4)."""
    shape: Polygons | Primitive | None
    """Triangles or primitive; None for any other shape."""
    material: PhysicsMaterial


def colliders(
    solids: Sequence[CollidingPrim], frame: StageFrame, notices: Notices, *, is_body: bool = False
) -> list[Collider]:
    """Return the collision shapes of prims; prims without geometry are skipped.

    Args:
        solids: Prims with UsdPhysicsCollisionAPI.
        frame: Units and up axis of the stage.
        notices: Receives colliders that are not translated as authored.
        is_body: Whether the prims belong to a moving body, which cannot collide by triangles.
    """
    if not solids:
        return []
    placements = decompose_all(frame.convert(np.stack([solid.transform for solid in solids])))
    found = [
        part
        for solid, placement in zip(solids, placements, strict=True)
        if (part := _part(solid, placement, frame, notices, is_body=is_body)) is not None
    ]
    # All orientations in one call: one call each would double the time.
    rotations = np.stack([np.eye(3), *(rotation for _, rotation in found)])[1:]
    turns = quaternion_from_matrix(rotations)
    return [replace(part, orientation=turn) for (part, _), turn in zip(found, turns, strict=True)]


def _part(
    solid: CollidingPrim, placement: Placement, frame: StageFrame, notices: Notices, *, is_body: bool
) -> _Turned | None:
    """Return the collision shape of a prim without its orientation, or None if it has no geometry."""
    prim, path = solid.prim, solid.path
    if not abs(np.linalg.det(placement.rest)) > 0:
        notices.add("collider with a scale of zero left out", prim.GetPath())
        return None
    if isinstance(solid.shape, Polygons):
        approximation = _approximation(prim, notices, is_body=is_body)
        return _mesh(approximation, path, placement, frame.meters_per_unit, solid.shape, solid.material)
    if solid.shape is None:
        kind = "triangles" if prim.IsA(UsdGeom.Mesh) else "a geometry of its own"
        notices.add(f"collider without {kind} left out", prim.GetPath())
        return None
    return _primitive(solid.shape, path, placement, solid.material)


def lowest_point(colliders: list[Collider]) -> float:
    """Return the lowest z of colliders [m]; infinite if there are none, minus infinity for a plane.

    Args:
        colliders: Collision shapes in one frame.
    """
    return min((bounds(item)[0][2] for item in colliders), default=np.inf)


def reach(colliders: list[Collider]) -> float:
    """Return a radius about the z axis that bounded colliders stay within [m]; 0 without any.

    Args:
        colliders: Collision shapes in one frame.
    """
    boxes = [bounds(item) for item in colliders if item.shape is not ColliderShape.PLANE]
    corners = [np.maximum(np.abs(low), np.abs(high)) for low, high in boxes]
    return max((float(np.hypot(x, y)) for x, y, _ in corners), default=0.0)


def extent_of(colliders: list[Collider]) -> tuple[Array, Array]:
    """Return the corners of the box around all bounded colliders [m], shape (3,) each; zeros without any.

    Args:
        colliders: Collision shapes in one frame.
    """
    boxes = [bounds(item) for item in colliders if item.shape is not ColliderShape.PLANE]
    if not boxes:
        return np.zeros(3), np.zeros(3)
    return np.min([low for low, _ in boxes], axis=0), np.max([high for _, high in boxes], axis=0)


def bounds(item: Collider) -> tuple[Array, Array]:
    """Return the corners of the axis-aligned box around a collider [m], each of shape (3,).

    Args:
        item: A collision shape; a plane is unbounded.
    """
    rotation = matrix_from_quaternion(item.orientation)
    if item.shape is ColliderShape.PLANE:
        return np.full(3, -np.inf), np.full(3, np.inf)
    if item.shape is ColliderShape.MESH:
        assert item.vertices is not None
        vertices = rotate(rotation, item.vertices) + item.position
        return vertices.min(axis=0), vertices.max(axis=0)
    size = item.size
    if item.shape is ColliderShape.BOX:
        reach = rotate(np.abs(rotation), np.array(size))
    elif item.shape is ColliderShape.SPHERE:
        reach = np.full(3, size[0])
    elif item.shape is ColliderShape.ELLIPSOID:
        reach = np.sqrt(rotate(rotation * rotation, np.square(size)))
    elif item.shape is ColliderShape.CAPSULE:
        reach = size[0] + size[1] * np.abs(rotation[:, 2])
    else:
        across = np.sqrt(np.maximum(1.0 - rotation[:, 2] ** 2, 0.0))
        reach = size[0] * across + size[1] * np.abs(rotation[:, 2])
    return item.position - reach, item.position + reach


def _physics_material(prim: Usd.Prim) -> PhysicsMaterial:
    if not prim.HasAPI(UsdPhysics.MaterialAPI):
        return PhysicsMaterial()
    schema = UsdPhysics.MaterialAPI(prim)
    material = PhysicsMaterial(
        static_friction=float(schema.GetStaticFrictionAttr().Get(TIME)),
        dynamic_friction=float(schema.GetDynamicFrictionAttr().Get(TIME)),
        restitution=float(schema.GetRestitutionAttr().Get(TIME)),
    )
    path = prim.GetPath()
    for name, value, most in (
        ("staticFriction", material.static_friction, math.inf),
        ("dynamicFriction", material.dynamic_friction, math.inf),
        ("restitution", material.restitution, 1.0),
    ):
        limits = "must be from 0 to 1" if most == 1.0 else "must be finite and not negative"
        fits = math.isfinite(value) and 0.0 <= value <= most
        require(fits, f"{path}.physics:{name}", value, limits, "correct it in the USD file")
    return material


def _primitive(primitive: Primitive, path: str, placement: Placement, material: PhysicsMaterial) -> _Turned:
    """Return a primitive as such where its scale allows, else as its hull."""
    axis = primitive.rotation()
    if primitive.kind == "Plane":
        # Normals transform by the inverse transpose, also under shear.
        normal = placement.rotation @ np.linalg.inv(placement.rest).T @ axis[:, 2]
        return _posed(path, ColliderShape.PLANE, (), placement.position, _upright(normal), material)
    if (shape := _scaled(primitive, placement.scale)) is not None:
        kind, size = shape
        rotation = (
            placement.rotation
            if kind in (ColliderShape.BOX, ColliderShape.ELLIPSOID)
            else (placement.rotation @ axis)
        )
        return _posed(path, kind, size, placement.position, rotation, material)
    surface = primitive.geometry()
    faces = surface.faces.astype(np.int32)
    if np.linalg.det(placement.rest) < 0:
        faces = np.ascontiguousarray(faces[:, ::-1])
    points = surface.vertices.astype(np.float64)
    return _triangles(path, points, faces, placement, material, "convexHull")


def _scaled(primitive: Primitive, scale: Array | None) -> tuple[ColliderShape, tuple[float, ...]] | None:
    """Return shape and size of a scaled primitive, or None if the scale makes it another shape."""
    if scale is None:
        return None
    half, radius = primitive.height / 2, primitive.bottom_radius
    x, y, z = (float(value) for value in scale)
    uniform = _equal(x, y) and _equal(y, z)
    if primitive.kind == "Cube":
        return ColliderShape.BOX, (primitive.size / 2 * x, primitive.size / 2 * y, primitive.size / 2 * z)
    if primitive.kind == "Sphere":
        if uniform:
            return ColliderShape.SPHERE, (radius * x,)
        return ColliderShape.ELLIPSOID, (radius * x, radius * y, radius * z)
    if not _equal(radius, primitive.top_radius):
        return None
    along = "XYZ".index(primitive.axis)
    first, second = (float(scale[k]) for k in range(3) if k != along)
    if primitive.kind == "Cylinder" and _equal(first, second):
        return ColliderShape.CYLINDER, (radius * first, half * float(scale[along]))
    if primitive.kind == "Capsule" and uniform:
        return ColliderShape.CAPSULE, (radius * x, half * x)
    return None


def _approximation(prim: Usd.Prim, notices: Notices, *, is_body: bool) -> str:
    """Return the collision approximation of a mesh: the authored one, or the one that PhysX uses instead."""
    authored = "none"
    if prim.HasAPI(UsdPhysics.MeshCollisionAPI):
        authored = str(UsdPhysics.MeshCollisionAPI(prim).GetApproximationAttr().Get(TIME))
    taken = (_AS_A_BODY if is_body else _IN_A_WORLD).get(authored, "convexHull")
    if taken != authored and (is_body or authored != "meshSimplification"):
        kind = "moving mesh" if is_body else "mesh"
        notices.add(f"{kind} of approximation {authored} collides by {_SHAPE_NAMES[taken]}", prim.GetPath())
    return taken


def _mesh(
    approximation: str,
    path: str,
    placement: Placement,
    meters_per_unit: float,
    polygons: Polygons,
    material: PhysicsMaterial,
) -> _Turned:
    mirrored = np.linalg.det(placement.rest) < 0
    points, faces = polygons.mirrored_surface if mirrored else polygons.surface
    if approximation not in ("boundingCube", "boundingSphere"):
        return _triangles(path, points, faces, placement, material, approximation, meters_per_unit)
    low, high = points.min(axis=0) * meters_per_unit, points.max(axis=0) * meters_per_unit
    center = (low + high) / 2
    position = placement.position + rotate(placement.rotation, rotate(placement.rest, center))
    if approximation == "boundingSphere":
        spokes = rotate(placement.rest, points * meters_per_unit - center)
        radius = float(np.sqrt((spokes * spokes).sum(axis=1).max()))
        return _posed(path, ColliderShape.SPHERE, (radius,), position, placement.rotation, material)
    if placement.scale is not None:
        half = (high - center) * placement.scale
        size = (float(half[0]), float(half[1]), float(half[2]))
        return _posed(path, ColliderShape.BOX, size, position, placement.rotation, material)
    corners = np.where((np.arange(8)[:, None] >> np.arange(3)) & 1, high, low)
    faces = _BOX_FACES[:, ::-1] if mirrored else _BOX_FACES
    return _triangles(path, corners, np.ascontiguousarray(faces), placement, material, "convexHull")


def _triangles(
    path: str,
    points: Array,
    faces: npt.NDArray[np.int32],
    placement: Placement,
    material: PhysicsMaterial,
    approximation: str,
    meters_per_unit: float = 1.0,
) -> _Turned:
    """Return a mesh collider with prototype vertices and scale; its faces are wound for the mirror."""
    scale = placement.rest * meters_per_unit
    decimals = _SCALE_DIGITS - int(np.floor(np.log10(np.abs(scale).max())))
    scale = np.round(scale, decimals) + 0.0
    part = Collider(
        path=path,
        shape=ColliderShape.MESH,
        size=(),
        position=placement.position,
        orientation=_LEVEL,
        material=material,
        approximation=approximation,
        vertices=points if np.array_equal(scale, np.eye(3)) else rotate(scale, points),
        faces=faces,
        prototype=points,
        scale=scale,
    )
    return part, placement.rotation


def _posed(
    path: str,
    shape: ColliderShape,
    size: tuple[float, ...],
    position: Array,
    rotation: Array,
    material: PhysicsMaterial,
) -> _Turned:
    return Collider(path, shape, size, position, _LEVEL, material), rotation


def _upright(normal: Array) -> Array:
    """Return a rotation from z to a normal, shape (3, 3)."""
    z = normal / np.sqrt(sum_along(normal * normal, -1))
    least = int(np.abs(z).argmin())
    x = np.eye(3)[least] - z * z[least]
    x = x / np.sqrt(sum_along(x * x, -1))
    return np.stack([x, np.cross(z, x), z], axis=1)


def _equal(a: float, b: float) -> bool:
    return abs(a - b) <= _EXACT * max(abs(a), abs(b))
