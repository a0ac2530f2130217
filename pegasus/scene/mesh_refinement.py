"""Subdivision schemes of mesh prims: level, boundaries, sharp edges and points."""

import numpy as np
from pxr import UsdGeom

from pegasus.base.arrays import Array, IntArray
from pegasus.scene.stage import TIME, Notices
from pegasus.scene.subdivision import INFINITE, Refinement, Topology

# Levels of refinement, and the number of faces that no mesh may pass by it.
_LEVEL = 2
_MOST_FACES = 500_000


def read_refinement(
    mesh: UsdGeom.Mesh, points: Array, counts: IntArray, indices: IntArray, notices: Notices
) -> Refinement | None:
    """Return the refinement of a subdivision surface, or None for a mesh that is drawn as it is."""
    path, attribute = mesh.GetPath(), mesh.GetSubdivisionSchemeAttr()
    scheme, tokens = attribute.Get(TIME), UsdGeom.Tokens
    if scheme not in (tokens.catmullClark, tokens.loop):
        return None
    if not attribute.HasAuthoredValue():
        # Most such files mean polygons; with normals, all do.
        if not mesh.GetNormalsAttr().HasAuthoredValue():
            notices.add("subdivisionScheme is not authored: read as polygons, not subdivided", path)
        return None
    if scheme == tokens.loop and (counts != 3).any():
        notices.add("loop subdivision of faces other than triangles: read as polygons", path)
        return None
    level = _level(mesh, len(indices), notices)
    if level == 0 or (counts < 3).any():
        return None
    sharp_tips = True
    boundary = mesh.GetInterpolateBoundaryAttr().Get(TIME)
    if boundary != tokens.edgeAndCorner:
        sharp_tips = False
        if boundary != tokens.edgeOnly:
            notices.add(f"interpolateBoundary {boundary} read as edgeOnly", path)
    corner_indices, corner_sharpnesses = (
        np.asarray(attribute.Get(TIME) or (), dtype=np.float64)
        for attribute in (mesh.GetCornerIndicesAttr(), mesh.GetCornerSharpnessesAttr())
    )
    point_sharpness = np.zeros(len(points))
    count = min(len(corner_indices), len(corner_sharpnesses))
    inside = (corner_indices[:count] >= 0) & (corner_indices[:count] < len(points))
    point_sharpness[corner_indices[:count][inside].astype(np.int64)] = corner_sharpnesses[:count][inside]
    cage = Topology(
        indices,
        counts,
        np.zeros(len(indices)),
        point_sharpness,
        loop=scheme == tokens.loop,
        sharp_tips=sharp_tips,
    )
    cage.edge_sharpness[:] = _creases(mesh, cage, notices)
    return Refinement(cage, level, str(mesh.GetFaceVaryingLinearInterpolationAttr().Get(TIME)))


def _level(mesh: UsdGeom.Mesh, corner_count: int, notices: Notices) -> int:
    """Return the level of refinement: two, or that of Omniverse's attributes, less for large meshes."""
    prim, wanted = mesh.GetPrim(), _LEVEL
    override, authored = prim.GetAttribute("refinementEnableOverride"), prim.GetAttribute("refinementLevel")
    if override and override.Get(TIME) and authored and (value := authored.Get(TIME)) is not None:
        wanted = max(int(value), 0)
    level = wanted
    while level > 0 and corner_count * 4 ** (level - 1) > _MOST_FACES:
        level -= 1
    if level < wanted:
        notices.add(f"subdivided {level} times, not {wanted}: it would have too many faces", mesh.GetPath())
    return level


def _creases(mesh: UsdGeom.Mesh, cage: Topology, notices: Notices) -> Array:
    """Return the sharpness of the edge that begins at each corner, shape (C,)."""
    points, lengths, values = (
        np.asarray(attribute.Get(TIME) or (), dtype=np.float64)
        for attribute in (
            mesh.GetCreaseIndicesAttr(),
            mesh.GetCreaseLengthsAttr(),
            mesh.GetCreaseSharpnessesAttr(),
        )
    )
    sharpness, lengths = np.zeros(len(cage.indices)), lengths.astype(np.int64)
    if not len(points):
        return sharpness
    edge_counts = np.maximum(lengths - 1, 0)
    if len(values) == len(lengths):
        values = np.repeat(values, edge_counts)
    if lengths.sum() != len(points) or len(values) != edge_counts.sum():
        notices.add("creases left out: their indices, lengths and sharpnesses do not fit", mesh.GetPath())
        return sharpness
    starts = np.ones(len(points), dtype=np.bool_)
    starts[np.cumsum(lengths) - 1] = False
    first = np.flatnonzero(starts)
    size = len(cage.point_sharpness)
    creased = _edge_keys(points[first].astype(np.int64), points[first + 1].astype(np.int64), size)
    order = np.argsort(creased, kind="stable")
    keys = _edge_keys(cage.indices, cage.indices[cage.next], size)
    place = np.minimum(np.searchsorted(creased[order], keys), len(order) - 1)
    return np.where(creased[order][place] == keys, np.minimum(values[order][place], INFINITE), 0.0)


def _edge_keys(first: IntArray, second: IntArray, point_count: int) -> IntArray:
    return np.minimum(first, second) * point_count + np.maximum(first, second)
