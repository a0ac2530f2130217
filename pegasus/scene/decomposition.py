"""Convex decomposition of meshes for engines that collide convex shapes only, cached on disk."""

import hashlib
import logging
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.errors import package_error
from pegasus.base.system import replacing, user_cache
from pegasus.scene.plates import plates
from pegasus.scene.surfaces import Faces, areas, components, is_closed, is_convex, weld

_log = logging.getLogger(__name__)


class DecompositionCache:
    """Folder with convex parts of meshes; an unreadable or unwritable folder counts as empty.

    Args:
        folder: The folder; by default in the user's cache.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or user_cache() / "collision"

    def key(self, vertices: Array, faces: Faces, parameters: tuple[object, ...]) -> str:
        """Return the file name of a decomposition.

        Args:
            vertices: Vertices, shape (V, 3).
            faces: Triangles, shape (F, 3).
            parameters: All other inputs of the decomposition.
        """
        digest = hashlib.sha256(repr((parameters, vertices.shape, faces.shape)).encode())
        digest.update(np.ascontiguousarray(vertices, dtype=np.float64).tobytes())
        digest.update(np.ascontiguousarray(faces, dtype=np.int64).tobytes())
        return digest.hexdigest()[:32]

    def read(self, key: str) -> tuple[list[Array], float] | None:
        """Return parts and their deviation, or None if the file is missing or damaged."""
        path = self._path(key)
        try:
            with np.load(path, allow_pickle=False) as file:
                points, counts, deviation = file["points"], file["counts"], float(file["deviation"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, EOFError, zipfile.BadZipFile) as error:
            _log.info("%s is damaged and computed again: %s", path, error)
            return None
        if counts.sum() != len(points) or points.shape[1:] != (3,) or not np.isfinite(points).all():
            _log.info("%s is damaged and computed again: its parts do not add up", path)
            return None
        return np.split(points, np.cumsum(counts)[:-1]) if len(counts) else [], deviation

    def write(self, key: str, parts: list[Array], deviation: float) -> None:
        """Write parts; a failure is logged.

        Args:
            key: Name of the decomposition.
            parts: Vertices of each part, each of shape (K, 3).
            deviation: Largest distance between their surface and the mesh.
        """
        path = self._path(key)
        try:
            with replacing(path) as part, part.open("wb") as file:
                np.savez(
                    file,
                    points=np.concatenate([np.zeros((0, 3)), *parts]),
                    counts=np.array([len(item) for item in parts], dtype=np.int64),
                    deviation=np.array(deviation),
                )
        except OSError as error:
            _log.info("decomposition not cached in %s: %s", self.folder, error.strerror)

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.npz"


PLATE_LIMIT = 4000
"""Largest number of plates of a mesh; a mesh with more flat faces is coarsened."""
PLATE_DEPTH = 0.2
"""Thickness of the plate behind a face of an open mesh [m]."""
THINNEST = 0.02
"""Least thickness of a plate, also where the wall is thinner [m]."""
SOLID_PARTS = 32
"""Largest number of convex parts of a solid, the same as in PhysX."""

_SEARCHED_TRIANGLES = 100_000  # larger meshes are coarsened without a search for flat faces
_SOLID_TRIANGLES = 4000  # CoACD takes seconds for so many, and minutes for ten times as many
_SLOW_TRIANGLES = 1000  # larger and open meshes may take minutes
# A change of this number invalidates the cache.
_VERSION = 1


@dataclass(frozen=True, eq=False)
class ConvexParts:
    """Convex hulls that approximate a mesh."""

    parts: list[Array]
    """Vertices of each hull in the frame of the mesh, each of shape (K, 3)."""
    deviation: float
    """Largest distance between their surface and the mesh, in units of the mesh."""


def surface_parts(
    vertices: Array,
    faces: Faces,
    *,
    meters_per_unit: float = 1.0,
    limit: int = PLATE_LIMIT,
    cache: DecompositionCache | None = None,
) -> ConvexParts:
    """Return a mesh as convex plates behind its flat faces; closed convex components are kept.

    The parts have exactly the surface of the mesh, except for up to `THINNEST` behind thinner walls. A mesh
    with too many faces is coarsened first; `deviation` is the resulting error.

    Args:
        vertices: Vertices, shape (V, 3).
        faces: Triangles, counter-clockwise seen from outside, shape (F, 3).
        meters_per_unit: Metres per unit of `vertices`.
        limit: Largest number of plates.
        cache: Cache of decompositions.
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
    """Return a mesh as solid convex parts by CoACD (Wei et al. 2022); convex components are kept.

    Args:
        vertices: Vertices, shape (V, 3).
        faces: Triangles, counter-clockwise seen from outside, shape (F, 3).
        name: Name of the mesh in the log.
        cache: Cache of decompositions.
    """

    def make() -> ConvexParts:
        points, triangles = weld(vertices, faces)
        convex, rest = _convex_components(points, triangles)
        # Open sheets have no inside: all of them together are wrapped in a skin.
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
    """Return a mesh with fewer triangles, and the largest displacement of a vertex.

    All vertices in a cell of a grid become one (Rossignac and Borrel 1993).

    Args:
        points: Vertices, shape (V, 3).
        faces: Triangles, shape (F, 3).
        count: Largest number of triangles.
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
    """Return parts from the cache, or compute and cache them."""
    if cache is None:
        return make()
    key = cache.key(*mesh, (_VERSION, *parameters))
    if (cached := cache.read(key)) is not None:
        return ConvexParts(*cached)
    found = make()
    cache.write(key, found.parts, found.deviation)
    return found


def _convex_components(points: Array, faces: Faces) -> tuple[list[Array], list[Faces]]:
    """Return the vertices of each convex component, and the triangles of each other component."""
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
    """Return a mesh as convex parts by CoACD, and the largest depth of its surface inside them."""
    try:
        import coacd  # imported on use: 13 MB that most worlds do not need
    except ModuleNotFoundError as error:
        raise package_error(error) from None

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
    # The threshold is CoACD's default, a twentieth of half the longest side. The search is coarser: it takes
    # a third of the time and finds as many parts.
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
    """Return the largest depth of points inside a convex hull; 0 if none is inside."""
    normal = areas(vertices, faces)
    length = np.sqrt((normal * normal).sum(axis=1))
    normal, start = normal[length > 0] / length[length > 0, None], vertices[faces[length > 0, 0]]
    inside = ((probes >= vertices.min(axis=0)) & (probes <= vertices.max(axis=0))).all(axis=1)
    depth = (start * normal).sum(axis=1) - probes[inside] @ normal.T
    return float(np.max(depth.min(axis=1, initial=np.inf), initial=0.0))
