"""Ray tracing of the static scene and of moving objects."""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import warp as wp

from pegasus.base.arrays import Array, IntArray
from pegasus.render.embree import object_kernels
from pegasus.render.embree import ray_kernels as kernels
from pegasus.render.embree.geometry_store import GeometryStore, Prototype, device_array
from pegasus.render.embree.moving_objects import MovingObjects
from pegasus.render.embree.ray_kernels import launch_groups
from pegasus.render.embree.static_cast import StaticCast
from pegasus.render.embree.surface_kernels import find_distance, find_surface
from pegasus.render.embree.surface_tables import Surface, Tables

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]

_Entered: TypeAlias = tuple[Any, Floats, Floats, Floats, Floats, Any]

_DARK = 0.004
_NONE = np.zeros(0, np.float32)


@dataclass(eq=False)
class Rays:
    """K rays in the world."""

    origins: Array
    """Origins [m], shape (K, 3), or (1, 3) for all."""
    directions: Array
    """Unit directions, shape (K, 3); a NaN direction hits nothing."""
    start: float = 0.0
    """Minimum distance of hits [m]."""
    end: float = np.inf
    """Maximum distance of hits [m]."""
    reach: Floats | None = None
    """Maximum distance of each ray [m], shape (K,), instead of `end`."""
    before: Array | None = None
    """Distance that the light has travelled before [m], shape (K,)."""
    coherent: bool = False
    """Whether neighbouring rays are nearly parallel."""
    width: int = 0
    """Width of the image if the rays are its rows, else 0."""
    tile: int = 4
    """Width of the part of the image that is cast at once: 1, 2, 4 or 8 pixels."""

    def __post_init__(self) -> None:
        self.count = len(self.directions)
        self.device_origins = device_array(self.origins, wp.vec3d)
        self.device_directions = device_array(self.directions, wp.vec3d)
        self.step = 0 if len(self.origins) == 1 else 1


@dataclass(eq=False)
class Hits:
    """Nearest hits of K rays; see `Surface` of the kernels."""

    distance: Array
    facing: npt.NDArray[np.float32]
    normal: npt.NDArray[np.float32]
    uv: npt.NDArray[np.float32]
    footprint: Floats
    opacity: Floats
    material: Ints
    entity: Ints
    tint: Floats
    tangent: Floats

    @cached_property
    def surface(self) -> Any:
        """Kernel arrays that share the memory of the hits."""
        surface: Any = Surface()
        for name, kind in _KINDS.items():
            setattr(surface, name, device_array(getattr(self, name), kind))
        return surface


_KINDS = {
    "distance": wp.float64,
    "facing": wp.vec3f,
    "normal": wp.vec3f,
    "uv": wp.vec2f,
    "footprint": wp.float32,
    "opacity": wp.float32,
    "material": wp.int32,
    "entity": wp.int32,
    "tint": wp.vec3f,
    "tangent": wp.vec4f,
}


class Tracer:
    """Tracer of rays through prototypes, whose objects stay where they are."""

    def __init__(self, store: GeometryStore, world: Prototype, objects: MovingObjects) -> None:
        self.tables: Any = store.tables()
        """Kernel tables of triangles, materials and objects."""
        self.blends = store.materials.blends
        self.world = world
        """The static scene."""
        self._place(objects)

    @property
    def is_static(self) -> bool:
        """True if the scene has no moving objects."""
        return not self._prototypes

    def moved(self, objects: MovingObjects) -> "Tracer":
        """Return a tracer of the same objects at other poses; this one may go on.

        Args:
            objects: The objects.
        """
        other = copy(self)
        other.tables = Tables()
        for name in Tables.__annotations__:
            setattr(other.tables, name, getattr(self.tables, name))
        other._place(objects)
        return other

    def _place(self, objects: MovingObjects) -> None:
        """Take objects at their present poses."""
        self._prototypes = objects.prototypes
        self._arguments = objects.arguments if self._prototypes else []
        inverse, offset, entity = objects.tables()
        self.tables.object_inverse = device_array(inverse, wp.mat33d)
        self.tables.object_offset = device_array(offset, wp.vec3d)
        self.tables.object_entity = device_array(entity, wp.int32)

    def trace(self, rays: Rays, *, cone: float = 0.0, normals: bool = True, shading: bool = False) -> Hits:
        """Return the nearest hits of rays, skipping cut-outs of textures.

        Args:
            rays: The rays.
            cone: Angle between neighbouring rays [rad].
            normals: Whether to compute normals.
            shading: Whether to compute all inputs of the lighting.
        """
        if self.is_static and rays.reach is None and rays.before is None and not (normals or shading):
            return self._distances(rays, cone)
        origins, directions, limits, ranges = self._hand_over(rays)
        passed = _NONE if rays.before is None else rays.before.astype(np.float32)
        assert self.world.embree is not None
        faces, u, v = self.world.embree.nearest(
            self.tables,
            origins,
            directions,
            limits,
            coherent=rays.coherent,
            width=rays.width,
            tile=rays.tile,
            passed=passed,
            start=rays.start,
            cone=cone,
        )
        found = [
            device_array(values, kind)
            for values, kind in ((limits, wp.float32), (faces, wp.int32), (u, wp.float32), (v, wp.float32))
        ]
        items = self._keep_objects(rays, ranges, cone, found)
        hits = empty_hits(rays.count, normals=normals or shading, textured=shading)
        lines = [self.tables, rays.device_origins, rays.step, rays.device_directions, rays.start]
        which = device_array(items, wp.int32)
        if not (normals or shading):
            names = "distance", "material", "entity"
            kept = [device_array(getattr(hits, name), _KINDS[name]) for name in names]
            inputs = [*lines, *found[:2], which, *kept]
            launch_groups(find_distance, rays.count, inputs)
            return hits
        inputs = [
            *lines,
            *found,
            which,
            device_array(passed, wp.float32),
            cone,
            int(shading),
            hits.surface,
        ]
        launch_groups(find_surface, rays.count, inputs)
        return hits

    def _distances(self, rays: Rays, cone: float) -> Hits:
        """Return the nearest hits of rays in a scene without moving objects, without normals."""
        cast = StaticCast(
            self.tables,
            self.world,
            rays.origins,
            rays.directions,
            start=rays.start,
            end=rays.end,
            cone=cone,
            coherent=rays.coherent,
            width=rays.width,
            tile=rays.tile,
            normals=False,
        )
        cast.cast(0, rays.count)
        hits = empty_hits(0, normals=False, textured=False)
        hits.distance, _, hits.entity, hits.material = cast.returns
        return hits

    def transmit(self, rays: Rays) -> Floats:
        """Return the transmittance along rays, shape (K,)."""
        origins, directions, limits, ranges = self._hand_over(rays)
        assert self.world.embree is not None
        light = self.world.embree.shine(
            self.tables, origins, directions, limits, coherent=rays.coherent, dark=_DARK
        )
        if self.is_static:
            return light
        reach = device_array(np.where(light > 0.0, limits, np.float32(-1.0)), wp.float32)
        for prototype, entered in self._possible_prototypes(rays, ranges, reach):
            which, origins, directions, short, _, _ = entered
            assert prototype.embree is not None
            passing = prototype.embree.shine(
                self.tables, origins, directions, short, coherent=rays.coherent, dark=_DARK
            )
            launch_groups(
                object_kernels.dim,
                rays.count,
                [which, device_array(passing, wp.float32), device_array(light, wp.float32)],
            )
        return light

    def behind(self, rays: Rays, hits: Hits, rows: IntArray) -> tuple[Rays, Array]:
        """Return rays that continue just behind some hits, and the distance from their origins."""
        count = len(rows)
        origins, directions, passed = np.empty((count, 3)), np.empty((count, 3)), np.empty(count)
        reach = np.empty(count, np.float32)
        launch_groups(
            kernels.go_on,
            count,
            [
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
        )
        before = passed if rays.before is None else passed + rays.before[rows]
        return Rays(origins, directions, reach=reach, before=before), passed

    def _keep_objects(self, rays: Rays, ranges: Any, cone: float, found: list[Any]) -> Ints:
        """Replace hits by nearer ones on objects; return the rows of these objects, if any."""
        items = np.zeros(0, np.int32)
        for prototype, entered in self._possible_prototypes(rays, ranges, found[0]):
            ends, origins, directions, short, starts, which = entered
            assert prototype.embree is not None
            met = prototype.embree.nearest(
                self.tables,
                origins,
                directions,
                short,
                coherent=rays.coherent,
                passed=starts,
                start=rays.start,
                cone=cone,
            )
            items = items if len(items) else np.zeros(rays.count, np.int32)
            launch_groups(
                object_kernels.keep_nearest,
                rays.count,
                [
                    ends,
                    prototype.first_face,
                    device_array(short, wp.float32),
                    device_array(met[0], wp.int32),
                    device_array(met[1], wp.float32),
                    device_array(met[2], wp.float32),
                    device_array(starts, wp.float32),
                    which,
                    *found,
                    device_array(items, wp.int32),
                ],
            )
        return items

    def _hand_over(self, rays: Rays) -> tuple[Floats, Floats, Floats, Any]:
        """Return rays for Embree: origins relative to the world's centre, directions and lengths.

        With them come the ranges of `find_prototypes`, empty where there are no objects.
        """
        count = rays.count
        group_count = 0 if self.is_static else -(-count // kernels.GROUP)
        ranges = device_array(np.empty((4 * group_count, 3), np.float32), wp.vec3f)
        origins, directions = np.empty((count, 3), np.float32), np.empty((count, 3), np.float32)
        limits = np.empty(count, np.float32)
        launch_groups(
            kernels.hand_over,
            count,
            [
                rays.device_origins,
                rays.step,
                rays.device_directions,
                wp.vec3d(*self.world.center),
                rays.start,
                device_array(_or_none(rays.reach), wp.float32),
                rays.end,
                device_array(origins, wp.vec3f),
                device_array(directions, wp.vec3f),
                device_array(limits, wp.float32),
                ranges,
            ],
        )
        return origins, directions, limits, ranges

    def _possible_prototypes(
        self, rays: Rays, ranges: Any, limits: Any
    ) -> Iterator[tuple[Prototype, _Entered]]:
        """Yield the prototypes that rays may hit, with the rays in the frames of their objects."""
        prototypes = self._prototypes
        if not prototypes:
            return
        objects = [
            *self._arguments,
            self.tables.object_inverse,
            self.tables.object_offset,
            wp.vec3d(*self.world.center),
            ranges,
        ]
        met = np.zeros(len(prototypes), np.uint8)
        inputs = [limits, *objects, device_array(met, wp.uint8)]
        wp.launch(object_kernels.find_prototypes, 1, inputs=inputs, device="cpu")
        for kind in np.flatnonzero(met).tolist():
            entered = self._enter(rays, limits, [*objects, kind], prototypes[kind])
            if entered is not None:
                yield prototypes[kind], entered

    def _enter(self, rays: Rays, limits: Any, objects: list[Any], prototype: Prototype) -> _Entered | None:
        """Return rays in the frames of objects that they may hit, None if there are none.

        Origins are relative to the prototype's centre. Rays keep their order; `ends` holds the cumulative
        number of rays.
        """
        common = [
            rays.device_origins,
            rays.step,
            rays.device_directions,
            limits,
            rays.start,
            *objects,
        ]
        counts = np.empty(rays.count, np.int32)
        inputs = [*common, device_array(counts, wp.int32)]
        launch_groups(object_kernels.count_meetings, rays.count, inputs)
        ends = np.cumsum(counts, dtype=np.int32)
        total = int(ends[-1]) if len(ends) else 0
        if not total:
            return None
        origins, directions = np.empty((total, 3), np.float32), np.empty((total, 3), np.float32)
        short, starts = np.empty(total, np.float32), np.empty(total, np.float32)
        which = np.empty(total, np.int32)
        device_ends = device_array(ends, wp.int32)
        device_which = device_array(which, wp.int32)
        launch_groups(
            object_kernels.enter_objects,
            rays.count,
            [
                *common,
                wp.vec3d(*prototype.center),
                device_ends,
                device_array(origins, wp.vec3f),
                device_array(directions, wp.vec3f),
                device_array(short, wp.float32),
                device_array(starts, wp.float32),
                device_which,
            ],
        )
        return device_ends, origins, directions, short, starts, device_which


def _or_none(reach: Floats | None) -> Floats:
    return _NONE if reach is None else reach


def empty_hits(count: int, *, normals: bool, textured: bool) -> Hits:
    """Return room for hits.

    Args:
        count: Number of rays K.
        normals: Whether to have room for normals.
        textured: Whether to have room for all inputs of the lighting.
    """
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
        tint=np.empty((for_texture, 3), np.float32),
        tangent=np.empty((for_texture, 4), np.float32),
    )
