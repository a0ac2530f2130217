"""Triangulation of meshes: polygons, holes, subsets, normals, texture coordinates, colours."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from pxr import Usd, UsdGeom

from pegasus.base.arrays import Array, BoolArray, IntArray
from pegasus.scene.mesh_refinement import read_refinement
from pegasus.scene.scene import Geometry
from pegasus.scene.skinning import Pose
from pegasus.scene.stage import TIME, Notices
from pegasus.scene.subdivision import Refinement

Floats = npt.NDArray[np.float32]

UV_SETS = ("st", "st0", "UVMap", "st_0", "uv", "map1")
"""Names of texture coordinates used by exporters, tried if a material names none."""

# A mesh without normals is smooth where its faces meet at less than about 100 degrees.
_SMOOTH_COSINE = 0.65


@dataclass(frozen=True, eq=False)
class Polygons:
    """A triangulated mesh prim; vertices are not yet split."""

    prim: Usd.Prim
    points: Array
    """Points in the stage's units, shape (P, 3)."""
    indices: IntArray
    """Point of each face corner."""
    corners: IntArray
    """Face corners of each triangle, as indices into `indices`, shape (T, 3)."""
    faces: IntArray
    """Face of each triangle, shape (T,)."""
    counts: IntArray
    """Corners of each face."""
    left_handed: bool
    refinement: Refinement | None = None
    """Origin of a subdivision surface; faces, points and corners are refined."""
    pose: Pose | None = None
    """Deformation by a skeleton, at the points as authored."""

    @property
    def face_count(self) -> int:
        """Number of faces as authored."""
        return len(self.counts if self.refinement is None else self.refinement.cage.counts)

    def mask(self, faces: BoolArray) -> BoolArray:
        """Return a mask of faces as authored, shape (face_count,), as a mask of faces."""
        return faces if self.refinement is None else faces[self.refinement.parents]

    def triangles(self) -> npt.NDArray[np.int32]:
        """Return the points of each triangle, counter-clockwise seen from outside, shape (T, 3)."""
        triangles = self.indices[self.corners].astype(np.int32)
        return triangles[:, ::-1].copy() if self.left_handed else triangles

    @cached_property
    def surface(self) -> tuple[Array, npt.NDArray[np.int32]]:
        """Points used by triangles, shape (V, 3), and the triangles over them; see `triangles`."""
        used, triangles = np.unique(self.triangles(), return_inverse=True)
        return self.points[used], np.ascontiguousarray(triangles.reshape(-1, 3), dtype=np.int32)

    @cached_property
    def mirrored_surface(self) -> tuple[Array, npt.NDArray[np.int32]]:
        """The surface with reversed triangles, for mirrored instances."""
        points, triangles = self.surface
        return points, np.ascontiguousarray(triangles[:, ::-1])


def read_polygons(prim: Usd.Prim, notices: Notices, pose: Pose | None = None) -> Polygons | None:
    """Return the triangulated mesh of a prim, or None if it has no triangles.

    Args:
        prim: The mesh.
        notices: Receives what is left out.
        pose: Its deformation by a skeleton, if there is one.
    """
    mesh = UsdGeom.Mesh(prim)
    points, counts, indices = (
        attribute.Get(TIME)
        for attribute in (
            mesh.GetPointsAttr(),
            mesh.GetFaceVertexCountsAttr(),
            mesh.GetFaceVertexIndicesAttr(),
        )
    )
    if not points or not counts or not indices:
        return None
    points = _rows(points, np.float64)
    if points is None or points.shape[1] != 3:
        notices.add("mesh left out: its points are not of 3 numbers", prim.GetPath())
        return None
    counts = np.asarray(counts, dtype=np.int64)
    indices = np.asarray(indices, dtype=np.int64)
    if counts.sum() != len(indices) or indices.min() < 0 or indices.max() >= len(points):
        notices.add("mesh skipped: its face indices do not fit its counts and points", prim.GetPath())
        return None
    if pose is not None:
        points = pose.points
    refinement = read_refinement(mesh, points, counts, indices, notices)
    holes = np.asarray(mesh.GetHoleIndicesAttr().Get(TIME) or (), dtype=np.int64)
    kept = ~np.isin(np.arange(len(counts)), holes)
    if refinement is not None:
        points = refinement.vertex(points)
        counts, indices = refinement.topology.counts, refinement.topology.indices
        kept = kept[refinement.parents]
    corners, faces = _triangulate(points, counts, indices)
    if not kept.all():
        corners, faces = corners[kept[faces]], faces[kept[faces]]
    if not len(corners):
        return None
    left_handed = mesh.GetOrientationAttr().Get(TIME) == UsdGeom.Tokens.leftHanded
    return Polygons(prim, points, indices, corners, faces, counts, left_handed, refinement, pose)


def face_mask(subset: UsdGeom.Subset, face_count: int) -> BoolArray:
    """Return the mask of faces in a subset, shape (face_count,)."""
    indices = np.asarray(subset.GetIndicesAttr().Get(TIME) or (), dtype=np.int64)
    mask = np.zeros(face_count, dtype=np.bool_)
    mask[indices[(indices >= 0) & (indices < face_count)]] = True
    return mask


def mesh_geometry(
    polygons: Polygons,
    normals: Floats,
    faces: BoolArray | None,
    *,
    meters_per_unit: float,
    uv_set: str,
    with_colors: bool,
    notices: Notices,
) -> Geometry:
    """Return faces of a mesh as a geometry; vertices are split where normals or coordinates differ.

    Args:
        polygons: The mesh.
        normals: Normals at the corners of its triangles, shape (T, 3, 3).
        faces: Mask of faces, shape (face_count,); None for all.
        meters_per_unit: Metres per unit of the stage.
        uv_set: Primvar with the texture coordinates.
        with_colors: Whether to include the display colours.
        notices: Receives primvars of wrong length.
    """
    if faces is not None:
        chosen = polygons.mask(faces)[polygons.faces]
        normals = normals[chosen]
        polygons = replace(polygons, corners=polygons.corners[chosen], faces=polygons.faces[chosen])
    uvs = _uvs(polygons, uv_set, notices)
    colors = _primvar(polygons, "displayColor", 3, notices) if with_colors else None
    columns = [polygons.points[polygons.indices[polygons.corners]].astype(np.float32), normals]
    columns += [part for part in (uvs, colors) if part is not None]
    rows = np.concatenate(columns, axis=2)
    vertices, triangles = _weld(rows.reshape(-1, rows.shape[2]))
    if polygons.left_handed:
        triangles = triangles[:, ::-1]
    parts = np.split(vertices, np.cumsum([part.shape[2] for part in columns])[:-1], axis=1)
    return Geometry(
        vertices=np.ascontiguousarray(parts[0] * np.float32(meters_per_unit)),
        faces=np.ascontiguousarray(triangles, dtype=np.uint32),
        normals=np.ascontiguousarray(parts[1]),
        uvs=np.ascontiguousarray(parts[2]) if uvs is not None else None,
        colors=np.ascontiguousarray(parts[-1]) if colors is not None else None,
        double_sided=bool(UsdGeom.Gprim(polygons.prim).GetDoubleSidedAttr().Get(TIME)),
    )


def corner_normals(polygons: Polygons, notices: Notices) -> Floats:
    """Return unit normals at triangle corners, authored or else computed, shape (T, 3, 3)."""
    mesh = UsdGeom.Mesh(polygons.prim)
    # OpenUSD ignores the normals of subdivision surfaces.
    is_refined = polygons.refinement is not None
    authored = None if is_refined else _primvar(polygons, "normals", 3, notices)
    if authored is None and not is_refined and (values := mesh.GetNormalsAttr().Get(TIME)):
        authored = _expand(polygons, values, mesh.GetNormalsInterpolation(), "normals", 3, notices)
    if authored is not None and polygons.pose is not None and polygons.pose.turns is not None:
        turns = polygons.pose.turns[polygons.indices[polygons.corners]]
        return _unit((turns * authored[:, :, None]).sum(axis=3))
    if authored is not None:
        return _unit(authored)
    corners = polygons.points[polygons.indices[polygons.corners]]
    areas = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    if polygons.left_handed:
        areas = -areas
    flat = _unit(np.repeat(areas[:, None], 3, axis=1))
    if mesh.GetSubdivisionSchemeAttr().Get(TIME) == UsdGeom.Tokens.none:
        return flat
    # All corners of a face have equal weight, independent of the triangulation.
    corner_faces = np.repeat(np.arange(len(polygons.counts)), polygons.counts)
    face_areas, summed = np.zeros((len(polygons.counts), 3)), np.zeros_like(polygons.points)
    for axis in range(3):
        face_areas[:, axis] = np.bincount(polygons.faces, weights=areas[:, axis], minlength=len(face_areas))
        weights = face_areas[corner_faces, axis]
        summed[:, axis] = np.bincount(polygons.indices, weights=weights, minlength=len(summed))
    smooth = _unit(summed)[polygons.indices[polygons.corners]]
    close = (smooth * flat).sum(axis=2, keepdims=True) > _SMOOTH_COSINE
    return np.where(close, smooth, flat)


def _triangulate(points: Array, counts: IntArray, indices: IntArray) -> tuple[IntArray, IntArray]:
    """Return the corners and the face of each triangle: fans for convex faces, ear clipping for others."""
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    corners, faces = [np.zeros((0, 3), dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for count in np.unique(counts[counts >= 3]):
        same = np.nonzero(counts == count)[0]
        polygons = first[same][:, None] + np.arange(count)
        convex = _are_convex(points[indices[polygons]]) if count > 3 else np.ones(len(same), dtype=np.bool_)
        for k in range(1, count - 1):
            corners.append(polygons[convex][:, [0, k, k + 1]])
            faces.append(same[convex])
        for face, polygon in zip(same[~convex], polygons[~convex], strict=True):
            ears = polygon[_clip_ears(points[indices[polygon]])]
            corners.append(ears)
            faces.append(np.full(len(ears), face))
    order = np.argsort(np.concatenate(faces), kind="stable")
    return np.concatenate(corners)[order], np.concatenate(faces)[order]


def _area_vectors(polygons: Array) -> Array:
    """Return the normals of polygons with lengths of twice their areas (Newell), shape (F, 3)."""
    spokes = polygons - polygons[:, :1]
    summed: Array = np.cross(spokes, np.roll(spokes, -1, axis=1)).sum(axis=1)
    return summed


def _are_convex(polygons: Array) -> BoolArray:
    edges = np.roll(polygons, -1, axis=1) - polygons
    turns = np.einsum("fci,fi->fc", np.cross(np.roll(edges, 1, axis=1), edges), _area_vectors(polygons))
    convex: BoolArray = (turns >= -1e-12 * np.abs(turns).max(axis=1, keepdims=True)).all(axis=1)
    return convex


def _clip_ears(polygon: Array) -> IntArray:
    """Return the triangles of a simple polygon, shape (C - 2, 3) (Meisters 1975)."""
    normal = _area_vectors(polygon[None])[0]
    drop = int(np.abs(normal).argmax())
    flat = np.delete(polygon, drop, axis=1) * (
        [1.0, 1.0] if (normal[drop] > 0) ^ (drop == 1) else [-1.0, 1.0]
    )

    def turn(a: Array, b: Array, c: Array) -> Any:
        return (b[0] - a[0]) * (c[..., 1] - a[1]) - (b[1] - a[1]) * (c[..., 0] - a[0])

    def is_ear(corner: IntArray, others: Array) -> bool:
        a, b, c = flat[corner]
        inside = (turn(a, b, others) >= 0) & (turn(b, c, others) >= 0) & (turn(c, a, others) >= 0)
        # Points on a corner are duplicates, where a hole is joined to the outline.
        inside &= (others[:, None] != flat[corner]).any(axis=2).all(axis=1)
        return bool(turn(a, b, c) > 0 and not inside.any())

    left = list(range(len(polygon)))
    triangles = []
    while len(left) > 3:
        corners = np.stack([np.roll(left, 1), left, np.roll(left, -1)], axis=1)
        # If only slivers are left, any corner is clipped.
        k = next((k for k, corner in enumerate(corners) if is_ear(corner, flat[left])), 0)
        triangles.append(corners[k])
        del left[k]
    return np.array([*triangles, left], dtype=np.int64)


def _unit(vectors: Any) -> Floats:
    """Return vectors scaled to unit length; zero stays zero."""
    vectors = np.asarray(vectors, dtype=np.float64)
    length = np.sqrt((vectors * vectors).sum(axis=-1, keepdims=True))
    unit: Floats = (vectors / np.where(length > 0, length, 1.0)).astype(np.float32)
    return unit


def _uvs(polygons: Polygons, uv_set: str, notices: Notices) -> Floats | None:
    for name in dict.fromkeys((uv_set, *UV_SETS)):
        if (values := _primvar(polygons, name, 2, notices)) is not None:
            return values
    return None


def _primvar(polygons: Polygons, name: str, width: int, notices: Notices) -> Floats | None:
    """Return a primvar, authored or inherited, at triangle corners; see `_expand`."""
    primvar = UsdGeom.PrimvarsAPI(polygons.prim).FindPrimvarWithInheritance(name)
    if not primvar or not primvar.HasValue():
        return None
    values, interpolation = primvar.ComputeFlattened(TIME), primvar.GetInterpolation()
    return _expand(polygons, values, interpolation, name, width, notices)


def _rows(values: Any, dtype: type) -> Any:
    """Return an array of USD as rows of numbers, shape (N, K), or None if its values are not numbers."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiu":
        return None
    return array.reshape(len(array) if array.ndim else 1, -1).astype(dtype)


def _expand(
    polygons: Polygons, values: Any, interpolation: str, name: str, width: int, notices: Notices
) -> Floats | None:
    """Return the first numbers of interpolated values at triangle corners, shape (T, 3, width), or None."""
    if values is not None and not np.size(values):
        return None  # An empty array is how exporters write that there is none.
    array = _rows(values, np.float32)
    if array is None or array.shape[1] < width:
        notices.add(f"{name} left out: its values are not of {width} numbers", polygons.prim.GetPath())
        return None
    refinement, array = polygons.refinement, array[:, :width]
    tokens, cage = UsdGeom.Tokens, polygons if refinement is None else refinement.cage
    if interpolation == tokens.faceVarying:
        needed, picked = len(cage.indices), polygons.corners
    elif interpolation in (tokens.vertex, tokens.varying):
        needed = len(polygons.points) if refinement is None else len(refinement.cage.point_sharpness)
        picked = polygons.indices[polygons.corners]
    elif interpolation == tokens.uniform:
        needed, picked = polygons.face_count, np.repeat(polygons.faces[:, None], 3, axis=1)
    else:
        needed, picked = 1, np.zeros_like(polygons.corners)
    if len(array) < needed:
        notices.add(f"{interpolation} {name} left out: fewer values than needed", polygons.prim.GetPath())
        return None
    if refinement is not None:
        array = refinement.interpolated(array[:needed], str(interpolation)).astype(np.float32)
    expanded: Floats = array[picked]
    return expanded


def _weld(rows: Floats) -> tuple[Floats, IntArray]:
    """Return the distinct rows, and the row index of each triangle's corners, shape (T, 3)."""
    rows = np.ascontiguousarray(rows + np.float32(0.0))  # -0 becomes 0, which equals it
    # Rows are compared by 64-bit hashes, which sort far faster than rows.
    mixed = np.zeros(len(rows), dtype=np.uint64)
    for column in rows.view(np.uint32).T:
        mixed = (mixed ^ column) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    _, first, inverse = np.unique(mixed, return_index=True, return_inverse=True)
    if not np.array_equal(rows[first][inverse], rows):  # hash collision
        _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return rows[first], inverse.reshape(-1, 3)
