"""Meshes as convex parts, for an engine that collides nothing else."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np

from pegasus.arrays import Array
from pegasus.errors import standalone_error
from pegasus.scene.decomposition_cache import DecompositionCache
from pegasus.scene.plates import plates
from pegasus.scene.surfaces import Faces, areas, components, is_closed, is_convex, weld

_log = logging.getLogger(__name__)

PLATE_LIMIT = 4000
"""Most flat faces that a mesh collides by; with more of them it is coarsened."""
PLATE_DEPTH = 0.2
"""Thickness behind a face that has nothing behind it [m]."""
THINNEST = 0.02
"""Thickness of a plate, even where the wall that it stands for is thinner [m]."""
SOLID_PARTS = 32
"""Most convex parts that a solid is decomposed into, the number that PhysX takes as well."""

_SEARCHED_TRIANGLES = 100_000  # a mesh of more triangles is coarsened without a search for flat faces
_SOLID_TRIANGLES = 4000  # CoACD takes seconds for so many, and minutes for ten times as many
_SLOW_TRIANGLES = 1000  # from here on, and for open meshes, decomposing may take minutes
# What the cache holds is made anew when this number changes.
_VERSION = 1


@dataclass(frozen=True, eq=False)
class ConvexParts:
    """Convex hulls that together stand for a mesh."""

    parts: list[Array]
    """Vertices of each hull in the frame of the mesh, each of shape (K, 3)."""
    deviation: float
    """How far their surface may be off that of the mesh, in units of the mesh."""


def surface_parts(
    vertices: Array,
    faces: Faces,
    *,
    meters_per_unit: float = 1.0,
    limit: int = PLATE_LIMIT,
    cache: DecompositionCache | None = None,
) -> ConvexParts:
    """Return a mesh as plates behind its flat faces; closed convex components are taken as they are.

    The parts have the surface of the mesh exactly, up to `THINNEST` behind walls that are thinner. A mesh of
    too many faces is coarsened first, and `deviation` says by how much.

    Args:
        vertices: Vertices, shape (V, 3).
        faces: Triangles, counter-clockwise seen from outside, shape (F, 3).
        meters_per_unit: Metres per unit of `vertices`.
        limit: Most plates wanted.
        cache: Where parts are kept.
    """
    depth, thinnest = PLATE_DEPTH / meters_per_unit, THINNEST / meters_per_unit

    def make() -> ConvexParts:
        points, triangles = weld(vertices, faces)
        convex, rest = _convex_components(points, triangles)
        off = 0.0
        if rest:
            triangles = np.concatenate(rest)
            found, wanted = None, limit
            if len(triangles) <= _SEARCHED_TRIANGLES:
                found = plates(points, triangles, depth=depth, least_depth=thinnest, limit=limit)
            while found is None:
                coarse, left, off = coarsened(points, triangles, wanted)
                found = plates(*weld(coarse, left), depth=depth, least_depth=thinnest, limit=limit)
                wanted //= 2
            convex += found
        return ConvexParts(convex, off)

    return _kept(cache, (vertices, faces), ("surface", depth, thinnest, limit), make)


def solid_parts(
    vertices: Array, faces: Faces, *, name: str = "mesh", cache: DecompositionCache | None = None
) -> ConvexParts:
    """Return a mesh as solid convex parts by CoACD (Wei et al. 2022); convex components as they are.

    Args:
        vertices: Vertices, shape (V, 3).
        faces: Triangles, counter-clockwise seen from outside, shape (F, 3).
        name: What a long decomposition is called in the log.
        cache: Where parts are kept.
    """

    def make() -> ConvexParts:
        points, triangles = weld(vertices, faces)
        convex, rest = _convex_components(points, triangles)
        # Sheets have no inside of their own: all of them together are wrapped in a skin.
        closed = [component for component in rest if is_closed(component)]
        sheets = [component for component in rest if not is_closed(component)]
        solids = closed + ([np.concatenate(sheets)] if sheets else [])
        off = 0.0
        for solid in solids:
            found, concavity = _solve(points, solid, name)
            convex += found
            off = max(off, concavity)
        return ConvexParts(convex, off)

    return _kept(cache, (vertices, faces), ("solid", SOLID_PARTS, version("coacd")), make)


def coarsened(points: Array, faces: Faces, count: int) -> tuple[Array, Faces, float]:
    """Return a mesh of fewer triangles, and the farthest that a vertex has moved.

    The vertices in each cell of a grid become one (Rossignac and Borrel 1993).

    Args:
        points: Vertices, shape (V, 3).
        faces: Triangles, shape (F, 3).
        count: Most triangles wanted.
    """
    area = areas(points, faces)
    # A smooth surface passes through each cell with about two triangles.
    cell = float(np.sqrt(np.sqrt((area * area).sum(axis=1)).sum() / count))
    low = points.min(axis=0)
    while True:
        grid = np.floor((points - low) / cell).astype(np.int64)
        _, inverse, counts = np.unique(
            (grid[:, 0] << 42) | (grid[:, 1] << 21) | grid[:, 2], return_inverse=True, return_counts=True
        )
        inverse = inverse.reshape(-1)
        coarse = inverse[faces]
        coarse = coarse[(coarse != np.roll(coarse, 1, axis=1)).all(axis=1)]
        coarse = coarse[np.unique(np.sort(coarse, axis=1), axis=0, return_index=True)[1]]
        if len(coarse) <= count:
            merged = np.stack([np.bincount(inverse, weights=points[:, k]) / counts for k in range(3)], axis=1)
            moved = merged[inverse] - points
            return merged, coarse, float(np.sqrt((moved * moved).sum(axis=1).max()))
        cell *= 1.2


def _kept(
    cache: DecompositionCache | None,
    mesh: tuple[Array, Faces],
    parameters: tuple[object, ...],
    make: Callable[[], ConvexParts],
) -> ConvexParts:
    """Return parts from the cache, or make them and keep them."""
    if cache is None:
        return make()
    key = cache.key(*mesh, (_VERSION, *parameters))
    if (known := cache.read(key)) is not None:
        return ConvexParts(*known)
    found = make()
    cache.write(key, found.parts, found.deviation)
    return found


def _convex_components(points: Array, faces: Faces) -> tuple[list[Array], list[Faces]]:
    """Return the vertices of the components that are convex, and the triangles of each of the others."""
    if not len(faces):
        return [], []
    convex, rest = [], []
    label = components(faces)
    order = np.argsort(label, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(label[order])) + 1):
        component = faces[members]
        if is_convex(points, component):
            convex.append(points[np.unique(component)])
        else:
            rest.append(component)
    return convex, rest


def _solve(points: Array, faces: Faces, name: str) -> tuple[list[Array], float]:
    """Return a mesh as convex parts by CoACD, and how deep its surface lies inside them at most."""
    try:
        import coacd  # only here: its library is 13 MB, and most worlds do without
    except ModuleNotFoundError as error:
        raise standalone_error(error) from None

    surface = points[faces]
    coarse, triangles, off = points, faces, 0.0
    if len(faces) > _SOLID_TRIANGLES:
        coarse, triangles, off = coarsened(points, faces, _SOLID_TRIANGLES)
        _log.warning("%s: coarsened by up to %.3g of its units, then decomposed", name, off)
    used, compact = np.unique(triangles, return_inverse=True)
    coarse, triangles = coarse[used], compact.reshape(-1, 3)
    slow = len(triangles) > _SLOW_TRIANGLES or not is_closed(triangles)
    level = logging.WARNING if slow else logging.INFO
    _log.log(level, "%s: decomposing %d triangles into convex parts, once", name, len(triangles))
    coacd.set_log_level("error")
    # A threshold of a twentieth of half the longest side, its default; coarser search, which takes a third of
    # the time and finds as many parts.
    found = coacd.run_coacd(
        coacd.Mesh(coarse, triangles.astype(np.int32)),
        threshold=0.05,
        max_convex_hull=SOLID_PARTS,
        preprocess_mode="auto",
        resolution=1000,
        mcts_nodes=10,
        mcts_iterations=60,
        seed=0,
    )
    probes = np.concatenate([surface.reshape(-1, 3), surface.mean(axis=1)])
    probes = probes[:: len(probes) // 20_000 + 1]
    depth = max(_depth(np.asarray(part[0]), np.asarray(part[1]), probes) for part in found)
    return [np.asarray(part[0], dtype=np.float64) for part in found], max(off, depth)


def _depth(vertices: Array, faces: Faces, probes: Array) -> float:
    """Return how deep the deepest of some points lies inside a convex hull; 0 if none is inside."""
    normal = areas(vertices, faces)
    length = np.sqrt((normal * normal).sum(axis=1))
    normal, start = normal[length > 0] / length[length > 0, None], vertices[faces[length > 0, 0]]
    inside = ((probes >= vertices.min(axis=0)) & (probes <= vertices.max(axis=0))).all(axis=1)
    depth = (start * normal).sum(axis=1) - probes[inside] @ normal.T
    return float(np.max(depth.min(axis=1, initial=np.inf), initial=0.0))
