"""Rays through a scene at rest and the objects that move in it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

from pegasus.arrays import Array, IntArray
from pegasus.render import cut_kernels as cuts
from pegasus.render import ray_kernels as kernels
from pegasus.render.geometry_store import GeometryStore, Prototype, device_array
from pegasus.render.moving_objects import CLUSTER, Beam, MovingObjects, clusters_of
from pegasus.render.surface_tables import Surface

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]

_MOST_CUTS = 64
_MOST_VEILS = 16
_DARK = 0.004


@dataclass(eq=False)
class Rays:
    """K rays, in the world."""

    origins: Array
    """Where they start [m], shape (K, 3), or (1, 3) for all."""
    directions: Array
    """Unit directions, shape (K, 3); one that is not a number meets nothing."""
    start: float = 0.0
    """Nothing nearer counts [m]."""
    end: float = np.inf
    """Nothing farther counts [m]."""
    reach: Floats | None = None
    """In place of `end`, for each ray [m], shape (K,)."""
    before: Array | None = None
    """Way that the light has gone already [m], shape (K,)."""
    beam: Beam | None = None
    """A cone that they all lie within, if one is known."""
    coherent: bool = False
    """Whether neighbours go nearly the same way."""
    width: int = 0
    """Width of the image that they are rows of, if they are."""

    def __post_init__(self) -> None:
        self.count = len(self.directions)
        self.device_origins = device_array(self.origins, wp.vec3d)
        self.device_directions = device_array(self.directions, wp.vec3d)
        self.step = 0 if len(self.origins) == 1 else 1


@dataclass(eq=False)
class Hits:
    """What K rays meet first; see `Surface` of the kernels."""

    distance: Array
    facing: npt.NDArray[np.float32]
    normal: npt.NDArray[np.float32]
    uv: npt.NDArray[np.float32]
    footprint: Floats
    opacity: Floats
    material: Ints
    entity: Ints
    face: Ints
    item: Ints

    def __post_init__(self) -> None:
        self.surface: Any = Surface()
        for name, kind in _KINDS.items():
            setattr(self.surface, name, device_array(getattr(self, name), kind))

    def take(self, rows: IntArray, others: "Hits") -> None:
        """Replace rows by others."""
        for name in _KINDS:
            values = getattr(self, name)
            if len(values):
                values[rows] = getattr(others, name)


_KINDS = {
    "distance": wp.float64,
    "facing": wp.vec3f,
    "normal": wp.vec3f,
    "uv": wp.vec2f,
    "footprint": wp.float32,
    "opacity": wp.float32,
    "material": wp.int32,
    "entity": wp.int32,
    "face": wp.int32,
    "item": wp.int32,
}


class Tracer:
    """Casts rays into prototypes.

    Args:
        store: Holds their triangles.
        world: The scene at rest.
        objects: What moves.
    """

    def __init__(self, store: GeometryStore, world: Prototype, objects: MovingObjects) -> None:
        self.tables: Any = store.tables()
        """What kernels know of triangles, materials and objects."""
        self.blends = store.materials.blends
        self._see_through = store.materials.see_through
        self._world, self._objects = world, objects
        self.refresh()

    def refresh(self) -> None:
        """Take over where the objects are now."""
        inverse, offset, entity = self._objects.tables()
        self.tables.object_inverse = device_array(inverse, wp.mat33d)
        self.tables.object_offset = device_array(offset, wp.vec3d)
        self.tables.object_entity = device_array(entity, wp.int32)

    def trace(self, rays: Rays, *, cone: float = 0.0, normals: bool = True, shading: bool = False) -> Hits:
        """Return what rays meet first, cut-outs passed through.

        Args:
            rays: The rays.
            cone: Angle between neighbouring rays [rad].
            normals: Whether normals are wanted.
            shading: Whether everything that light needs is wanted.
        """
        textured = shading or self._see_through
        hits = self._first(rays, cone, normals=normals or textured, textured=textured, pass_cuts=True)
        if self._see_through:
            self._pass_cuts(rays, hits, cone, normals=normals)
        return hits

    def transmit(self, rays: Rays) -> Floats:
        """Return how much light comes along rays, from 0 to 1, shape (K,).

        Args:
            rays: From surface points to what lights them.
        """
        if not self._objects.see_through:
            return self._shining(rays) if self._world.see_through else self._blocked(rays)
        light = np.ones(rays.count, np.float32)
        rows = np.arange(rays.count)
        for _ in range(_MOST_VEILS):
            hits = self.trace(rays, normals=False)
            light[rows] *= np.where(hits.material >= 0, 1.0 - hits.opacity, 1.0).astype(np.float32)
            veiled = np.flatnonzero((hits.material >= 0) & (light[rows] > _DARK))
            if not len(veiled):
                break
            rays, rows = self.behind(rays, hits, veiled)[0], rows[veiled]
        return light

    def behind(self, rays: Rays, hits: Hits, rows: IntArray) -> tuple[Rays, Array]:
        """Return rays that go on just behind what some have met, and how far that is from their origins.

        Args:
            rays: The rays.
            hits: What they have met.
            rows: Which of them go on.
        """
        count = len(rows)
        origins, directions, passed = np.empty((count, 3)), np.empty((count, 3)), np.empty(count)
        reach = np.empty(count, np.float32)
        wp.launch(
            kernels.go_on,
            count,
            inputs=[
                device_array(rows.astype(np.int32), wp.int32),
                rays.device_origins,
                rays.step,
                rays.device_directions,
                hits.surface.distance,
                device_array(_or_none(rays.reach), wp.float32),
                rays.end,
                device_array(origins, wp.vec3d),
                device_array(directions, wp.vec3d),
                device_array(reach, wp.float32),
                device_array(passed, wp.float64),
            ],
            device="cpu",
        )
        before = passed if rays.before is None else passed + rays.before[rows]
        return Rays(origins, directions, reach=reach, before=before, beam=None), passed

    def _pass_cuts(self, rays: Rays, hits: Hits, cone: float, *, normals: bool) -> None:
        """Replace hits of surfaces that are cut out by what lies behind."""
        rows = np.flatnonzero(hits.opacity == 0.0)
        outer, outer_hits, whole = rays, hits, rows
        way = np.zeros(len(rows))
        for _ in range(_MOST_CUTS):
            if not len(rows):
                return
            inner, passed = self.behind(outer, outer_hits, rows)
            way = way + passed
            found = self._first(inner, cone, normals=True, textured=True)
            cut = found.opacity == 0.0
            seen = ~cut
            landed = _rows_of(found, seen)
            landed.distance += way[seen]
            hits.take(whole[seen], landed)
            rows = np.flatnonzero(cut)
            outer, outer_hits, whole, way = inner, found, whole[rows], way[rows]

    def _first(
        self, rays: Rays, cone: float, *, normals: bool, textured: bool, pass_cuts: bool = False
    ) -> Hits:
        """Return what rays meet first, cut out or not; those of the scene at rest can be passed through."""
        count = rays.count
        origins, directions, limits = self._hand_over(rays)
        ends = limits.copy()
        assert self._world.embree is not None
        faces, u, v = self._world.embree.nearest(
            origins, directions, limits, coherent=rays.coherent, width=rays.width
        )
        if pass_cuts and self._world.see_through:
            self._follow(cuts.pass_cuts, rays, [_before(rays), cone, _MOST_CUTS], ends, (limits, faces, u, v))
        arrays = [
            device_array(values, kind)
            for values, kind in ((limits, wp.float32), (faces, wp.int32), (u, wp.float32), (v, wp.float32))
        ]
        items = np.zeros(0, np.int32)
        for prototype, rows, balls in self._objects.groups(rays.beam):
            entered = self._enter(rays, arrays[0], rows, balls)
            if entered is None:
                continue
            ends, origins, directions, short, starts, which = entered
            assert prototype.embree is not None
            origins -= prototype.center.astype(np.float32)
            found = prototype.embree.nearest(origins, directions, short, coherent=rays.coherent)
            items = items if len(items) else np.zeros(count, np.int32)
            wp.launch(
                kernels.keep_nearest,
                count,
                inputs=[
                    ends,
                    prototype.first_face,
                    device_array(short, wp.float32),
                    device_array(found[0], wp.int32),
                    device_array(found[1], wp.float32),
                    device_array(found[2], wp.float32),
                    starts,
                    which,
                    *arrays,
                    device_array(items, wp.int32),
                ],
                device="cpu",
            )
        hits = _empty_hits(count, normals=normals, textured=textured)
        wp.launch(
            kernels.find_surface,
            count,
            inputs=[
                self.tables,
                rays.device_origins,
                rays.step,
                rays.device_directions,
                rays.start,
                *arrays,
                device_array(items, wp.int32),
                _before(rays),
                cone,
                int(normals),
                int(textured),
                hits.surface,
            ],
            device="cpu",
        )
        return hits

    def _follow(
        self, kernel: Any, rays: Rays, options: list[Any], ends: Floats, found: Any, *more: Any
    ) -> None:
        """Let rays that have met triangles of the scene at rest go on behind them."""
        assert self._world.embree is not None
        limits, faces, u, v = found
        inputs = [
            self.tables,
            *self._world.embree.handles,
            wp.vec3d(*self._world.center),
            rays.device_origins,
            rays.step,
            rays.device_directions,
            rays.start,
            *options,
            device_array(ends, wp.float32),
            device_array(limits, wp.float32),
            device_array(faces, wp.int32),
            device_array(u, wp.float32),
            device_array(v, wp.float32),
            *more,
        ]
        wp.launch(kernel, rays.count, inputs=inputs, device="cpu")

    def _shining(self, rays: Rays) -> Floats:
        """Return how much light comes through the scene at rest, and past objects that let none through."""
        origins, directions, limits = self._hand_over(rays)
        ends, light = limits.copy(), np.empty(rays.count, np.float32)
        assert self._world.embree is not None
        found = self._world.embree.nearest(origins, directions, limits, coherent=rays.coherent)
        most = _MOST_CUTS + _MOST_VEILS
        shining = device_array(light, wp.float32)
        self._follow(cuts.shine_through, rays, [_DARK, most], ends, (limits, *found), shining)
        blocked = np.full(rays.count, -1, np.int32)
        self._block_by_objects(rays, ends, blocked)
        light[blocked >= 0] = 0.0
        return light

    def _blocked(self, rays: Rays) -> Floats:
        """Return 1 for rays that meet nothing and 0 for others."""
        origins, directions, limits = self._hand_over(rays)
        assert self._world.embree is not None
        ends = limits.copy()
        blocked = self._world.embree.blocked(origins, directions, limits, coherent=rays.coherent)
        self._block_by_objects(rays, ends, blocked)
        free: Floats = (blocked < 0).astype(np.float32)
        return free

    def _block_by_objects(self, rays: Rays, ends: Floats, blocked: Ints) -> None:
        """Mark rays of given lengths (0, else -1) that objects block."""
        reach = device_array(ends, wp.float32)
        for prototype, rows, balls in self._objects.groups(rays.beam):
            entered = self._enter(rays, reach, rows, balls)
            if entered is None:
                continue
            which, origins, directions, short, _, _ = entered
            assert prototype.embree is not None
            origins -= prototype.center.astype(np.float32)
            met = prototype.embree.blocked(origins, directions, short, coherent=rays.coherent)
            wp.launch(
                kernels.close_blocked,
                rays.count,
                inputs=[which, device_array(met, wp.int32), device_array(blocked, wp.int32)],
                device="cpu",
            )

    def _hand_over(self, rays: Rays) -> tuple[Floats, Floats, Floats]:
        """Return rays as Embree takes them: origins about the world's centre, directions, lengths."""
        count = rays.count
        origins, directions = np.empty((count, 3), np.float32), np.empty((count, 3), np.float32)
        limits = np.empty(count, np.float32)
        wp.launch(
            kernels.hand_over,
            count,
            inputs=[
                rays.device_origins,
                rays.step,
                rays.device_directions,
                wp.vec3d(*self._world.center),
                rays.start,
                device_array(_or_none(rays.reach), wp.float32),
                rays.end,
                device_array(origins, wp.vec3f),
                device_array(directions, wp.vec3f),
                device_array(limits, wp.float32),
            ],
            device="cpu",
        )
        return origins, directions, limits

    def _enter(
        self, rays: Rays, limits: Any, rows: Ints, balls: Array
    ) -> tuple[Any, Floats, Floats, Floats, Any, Any] | None:
        """Return rays in the frames of the objects that they may meet, or None if there are no such rays.

        They come in the order of the rays; `ends` holds for each ray how many there are up to it.
        """
        common = [
            rays.device_origins,
            rays.step,
            rays.device_directions,
            limits,
            rays.start,
            device_array(balls, wp.vec4d),
            device_array(clusters_of(balls), wp.vec4d),
            CLUSTER,
        ]
        counts = np.empty(rays.count, np.int32)
        wp.launch(
            kernels.count_meetings,
            rays.count,
            inputs=[*common, device_array(counts, wp.int32)],
            device="cpu",
        )
        ends = np.cumsum(counts, dtype=np.int32)
        total = int(ends[-1]) if len(ends) else 0
        if not total:
            return None
        origins, directions = np.empty((total, 3), np.float32), np.empty((total, 3), np.float32)
        short, starts = np.empty(total, np.float32), np.empty(total, np.float32)
        which = np.empty(total, np.int32)
        device_ends = device_array(ends, wp.int32)
        device_starts, device_which = device_array(starts, wp.float32), device_array(which, wp.int32)
        wp.launch(
            kernels.enter_objects,
            rays.count,
            inputs=[
                *common,
                device_array(rows, wp.int32),
                device_ends,
                self.tables.object_inverse,
                self.tables.object_offset,
                device_array(origins, wp.vec3f),
                device_array(directions, wp.vec3f),
                device_array(short, wp.float32),
                device_starts,
                device_which,
            ],
            device="cpu",
        )
        return device_ends, origins, directions, short, device_starts, device_which


def _before(rays: Rays) -> Any:
    return device_array(np.zeros(0) if rays.before is None else rays.before, wp.float64)


def _or_none(reach: Floats | None) -> Floats:
    return np.zeros(0, np.float32) if reach is None else reach


def _empty_hits(count: int, *, normals: bool, textured: bool) -> Hits:
    for_normals, for_texture = count if normals else 0, count if textured else 0
    return Hits(
        distance=np.empty(count),
        facing=np.empty((for_normals, 3), np.float32),
        normal=np.empty((for_normals, 3), np.float32),
        uv=np.empty((for_texture, 2), np.float32),
        footprint=np.empty(for_texture, np.float32),
        opacity=np.empty(for_texture, np.float32),
        material=np.empty(count, np.int32),
        entity=np.empty(count, np.int32),
        face=np.empty(for_texture, np.int32),
        item=np.empty(for_texture, np.int32),
    )


def _rows_of(hits: Hits, rows: npt.NDArray[np.bool_]) -> Hits:
    return Hits(**{name: getattr(hits, name)[rows] for name in _KINDS})
