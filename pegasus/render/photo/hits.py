"""Ray casting in a Mitsuba scene, with entities and materials of hits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, BoolArray, IntArray
from pegasus.contracts.renderer import NOTHING, Returns
from pegasus.render.photo.materials import sampled, uploaded
from pegasus.render.photo.scenes import PhotoScenes
from pegasus.render.photo.shapes import OWN_ENTITY, Tables
from pegasus.scene.scene import Material, Texture

_LAYERS = 64
_CHUNK = 1 << 19
# Offset of a continued ray behind a transparent surface: relative to the distance, and at least [m].
_STEP, _LEAST_STEP = 1e-6, 1e-4


@dataclass(frozen=True, eq=False)
class Place:
    """Top-level shape: an instance of a group, a single mesh, or a lamp."""

    shape: Any
    first_faces: Sequence[int]
    """First face of each mesh in it; empty for a lamp."""
    transform: Array
    """Frame of its meshes to world, shape (4, 4)."""
    entity: int
    """Entity of faces without their own."""
    group: Any = None
    """Group of the instance."""


class _Hits(NamedTuple):
    distance: npt.NDArray[np.float32]
    place: IntArray
    mesh: IntArray
    face: IntArray
    uv: npt.NDArray[np.float32]


class Hits:
    """Ray caster.

    Args:
        mitsuba: The module mitsuba, its variant set.
        drjit: The module drjit.
    """

    def __init__(self, mitsuba: Any, drjit: Any) -> None:
        self._mi, self._dr = mitsuba, drjit
        self.first_meshes = np.zeros(0, np.uint32)
        """Number of the first mesh of each shape, by its number in Dr.Jit's registry."""
        self.place_of = np.zeros(0, np.int64)
        """Index of the place of each shape in the registry."""
        self.registered = np.zeros(0, np.uint32)
        """Number of each place in the registry."""
        self.first_faces = np.zeros(0, np.int64)
        """First face of each mesh."""
        self.shines = np.zeros(0, bool)
        """Whether each place is a lamp or an emissive mesh."""
        self.is_lamp = np.zeros(0, bool)
        """Whether each place is a lamp."""
        self._masks: dict[int, tuple[Texture, float, npt.NDArray[np.float32]]] = {}

    def update(
        self, scenes: PhotoScenes, places: Sequence[Place], tables: Tables, materials: Sequence[Material]
    ) -> None:
        """Update to the present shapes and materials.

        Args:
            scenes: World and moving objects.
            places: Their shapes, in the order of the scenes.
            tables: Tables of the faces.
            materials: The materials by number.
        """
        self._scenes, self._tables = scenes, tables
        counts = [len(place.first_faces) for place in places]
        self.is_lamp = np.array([count == 0 for count in counts])
        self._first_mesh = np.cumsum([0, *counts])[:-1]
        self.first_faces = np.array([face for place in places for face in place.first_faces], np.int64)
        self._entities = np.array([place.entity for place in places], np.int32)
        self.move(places)
        self._cut = np.array([_cuts(material) for material in materials])
        for number, material in enumerate(materials):
            if self._cut[number] and isinstance(material.opacity, Texture) and number not in self._masks:
                threshold = material.opacity_threshold
                self._masks[number] = material.opacity, threshold, sampled(material.opacity)
        self.shines = np.array([place.shape.is_emitter() for place in places])
        numbers = scenes.registered
        self.registered = numbers.astype(np.uint32)
        self.place_of = np.zeros(int(numbers.max()) + 1, np.int64)
        self.place_of[numbers] = np.arange(len(numbers))
        # Lamps share one more mesh, which is opaque.
        first = np.where(self.is_lamp, len(self.first_faces), self._first_mesh)
        self.first_meshes = first[self.place_of].astype(np.uint32)

    def move(self, places: Sequence[Place]) -> None:
        """Update the poses.

        Args:
            places: The same places, their transforms changed.
        """
        self._transforms = np.array([place.transform for place in places])
        self._moved = (self._transforms != np.eye(4)).any(axis=(1, 2))
        linear = self._transforms[:, :3, :3]
        self._cofactors = np.stack(
            [np.cross(linear[:, :, (k + 1) % 3], linear[:, :, (k + 2) % 3]) for k in range(3)], axis=1
        )

    def cast(self, origins: Array, directions: Array, nearest: float, farthest: float) -> Returns:
        """Return the nearest hits of rays, skipping cut-outs of textures.

        Args:
            origins: Origins [m], shape (K, 3) or (1, 3) for all.
            directions: Unit directions, NaN for rays that are not cast, shape (K, 3).
            nearest: Minimum distance of hits [m].
            farthest: Maximum distance of hits [m].
        """
        count = len(directions)
        returns = Returns(
            np.full(count, np.inf),
            np.zeros((count, 3)),
            np.full(count, NOTHING, np.int32),
            np.full(count, NOTHING, np.int32),
        )
        for first in range(0, count, _CHUNK):
            rows = slice(first, first + _CHUNK)
            starts = origins if len(origins) == 1 else origins[rows]
            self._cast_chunk(
                np.broadcast_to(starts, directions[rows].shape),
                directions[rows],
                nearest,
                farthest,
                Returns(
                    returns.distance[rows],
                    returns.normal[rows],
                    returns.entity[rows],
                    returns.material[rows],
                ),
            )
        return returns

    def _cast_chunk(
        self, origins: Array, directions: Array, nearest: float, farthest: float, out: Returns
    ) -> None:
        open_rays = np.flatnonzero(np.isfinite(directions[:, 0]))
        start = np.full(len(open_rays), nearest)
        for _ in range(_LAYERS):
            if not len(open_rays):
                return
            o, d = origins[open_rays], directions[open_rays]
            found = self._intersect(o + start[:, None] * d, d, farthest - start)
            met = np.isfinite(found.distance)
            open_rays, start, o, d = open_rays[met], start[met], o[met], d[met]
            found = _Hits(
                found.distance[met], found.place[met], found.mesh[met], found.face[met], found.uv[met]
            )
            passed = self._take(open_rays, found, o, d, start, out)
            step = found.distance[passed] + start[passed]
            start = step + np.maximum(_LEAST_STEP, _STEP * step)
            open_rays = open_rays[passed]

    def _take(
        self, rows: IntArray, found: _Hits, origins: Array, directions: Array, start: Array, out: Returns
    ) -> BoolArray:
        """Write the hits of rays; return those that pass through."""
        lamp = self.is_lamp[found.place]
        mesh = np.where(lamp, 0, self._first_mesh[found.place] + found.mesh)
        face = np.where(lamp, 0, self.first_faces[np.minimum(mesh, len(self.first_faces) - 1)] + found.face)
        tables = self._tables
        material: IntArray = tables.material[face].astype(np.int64)
        corners: IntArray = tables.faces[face].astype(np.int64)
        weights = np.stack([1.0 - found.uv.sum(axis=1), found.uv[:, 0], found.uv[:, 1]], axis=1)
        passed = lamp | self._passes(material, corners, weights)
        keep = ~passed
        place, ray = found.place[keep], rows[keep]
        corners, weights = corners[keep], weights[keep]
        origin, direction = origins[keep], directions[keep]
        points = tables.vertices[corners].astype(np.float64)
        # Most of a world is in place already.
        moved = np.flatnonzero(self._moved[place])
        matrix = self._transforms[place[moved]]
        points[moved] = np.einsum("kij,kvj->kvi", matrix[:, :3, :3], points[moved]) + matrix[:, None, :3, 3]
        up = np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0])
        slope = (up * direction).sum(axis=1)
        height = (up * (points[:, 0] - origin)).sum(axis=1)
        rough = found.distance[keep] + start[keep]
        with np.errstate(divide="ignore", invalid="ignore"):
            exact = height / slope
        # At grazing incidence the plane is less accurate than the float32 intersection.
        out.distance[ray] = np.where(np.abs(exact - rough) < 1e-3 * (1.0 + rough), exact, rough)
        normal = (tables.normals[corners] * weights[:, :, None]).sum(axis=1)
        normal[moved] = np.einsum("kji,kj->ki", self._cofactors[place[moved]], normal[moved])
        out.normal[ray] = self._facing(normal, up, direction)
        entity = tables.entity[face[keep]]
        out.entity[ray] = np.where(entity == OWN_ENTITY, self._entities[place], entity)
        out.material[ray] = material[keep]
        return passed

    @staticmethod
    def _facing(normal: Array, up: Array, direction: Array) -> Array:
        """Return unit normals towards the rays' origins, those of the triangles where there are none."""
        flat = (normal * normal).sum(axis=1) < 1e-12
        normal[flat] = up[flat]
        normal /= np.maximum(np.sqrt((normal * normal).sum(axis=1, keepdims=True)), 1e-30)
        side = np.where((up * direction).sum(axis=1) > 0.0, -1.0, 1.0)
        agrees = np.where((up * normal).sum(axis=1) < 0.0, -1.0, 1.0)
        return np.asarray(normal * (side * agrees)[:, None])

    def _passes(self, material: IntArray, corners: IntArray, weights: Array) -> BoolArray:
        """Return which hits are cut out by opacity."""
        passed: BoolArray = self._cut[material]
        for number in np.unique(material[passed]) if passed.any() else ():
            if number not in self._masks:
                continue
            texture, threshold, pixels = self._masks[number]
            rows = np.flatnonzero(material == number)
            uv = np.einsum("kv,kvi->ki", weights[rows], self._tables.uvs[corners[rows]].astype(np.float64))
            passed[rows] = texture_at(texture, pixels, uv)[:, 0] < threshold
        return passed

    def _intersect(self, origins: Array, directions: Array, reach: Array) -> _Hits:
        mi, dr = self._mi, self._dr
        # Arrays of three rows would make the number of rays a part of the compiled code.
        start, way = (
            [uploaded(mi.Float, part) for part in np.asarray(rows, np.float32).T]
            for rows in (origins, directions)
        )
        ray = mi.Ray3f(mi.Point3f(*start), mi.Vector3f(*way))
        ray.maxt = uploaded(mi.Float, np.minimum(reach, 3e38).astype(np.float32))
        found = self._scenes.nearest(ray, mi.Bool(True), coherent=False)
        instanced = found.instance != 0
        top = dr.select(instanced, found.instance, found.shape)
        within = dr.select(instanced, found.mesh, 0)
        dr.eval(found.t, top, within, found.face, found.uv)
        place = self.place_of[np.minimum(np.array(top, np.int64), len(self.place_of) - 1)]
        mesh, face = np.array(within, np.int64), np.array(found.face, np.int64)
        return _Hits(np.array(found.t), place, mesh, face, np.array(found.uv).T)


def texture_at(texture: Texture, pixels: npt.NDArray[np.float32], uv: Array) -> Array:
    """Return bilinear texture values at coordinates, shape (K, C).

    Args:
        texture: The texture.
        pixels: Its values, rows from the top, shape (H, W, C).
        uv: Texture coordinates before the texture's transform, shape (K, 2).
    """
    height, width = pixels.shape[:2]
    c, s = np.cos(texture.uv_rotation), np.sin(texture.uv_rotation)
    u, v = uv[:, 0] * texture.uv_scale[0], uv[:, 1] * texture.uv_scale[1]
    x = (c * u - s * v + texture.uv_translation[0]) * width - 0.5
    y = (1.0 - (s * u + c * v + texture.uv_translation[1])) * height - 0.5
    column, row = np.floor(x), np.floor(y)
    a, b = (x - column)[:, None], (y - row)[:, None]
    left, right = (_wrapped(column + k, width, texture.wrap[0]) for k in (0, 1))
    upper, lower = (_wrapped(row + k, height, texture.wrap[0]) for k in (0, 1))
    above = pixels[upper, left] * (1 - a) + pixels[upper, right] * a
    below = pixels[lower, left] * (1 - a) + pixels[lower, right] * a
    return np.asarray(above * (1 - b) + below * b)


def _cuts(material: Material) -> bool:
    if isinstance(material.opacity, Texture):
        return material.opacity_threshold > 0.0
    return material.opacity < material.opacity_threshold


def _wrapped(index: Array, size: int, mode: str) -> IntArray:
    number = index.astype(np.int64)
    if mode == "repeat":
        return number % size
    if mode == "mirror":
        folded = number % (2 * size)
        return np.minimum(folded, 2 * size - 1 - folded)
    return np.minimum(np.maximum(number, 0), size - 1)
