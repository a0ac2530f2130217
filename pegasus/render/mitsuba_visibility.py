"""What compiled paths of light meet."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from pegasus.render.mitsuba_hits import Hits
from pegasus.render.mitsuba_surfaces import Met, Surfaces

_LAYERS = 64


class Visibility:
    """Casts rays in Mitsuba's scene, once more behind each surface that they pass through.

    Args:
        mitsuba: The module, a vectorized variant set.
        drjit: The module drjit.
        scene: The scene.
        hits: How its shapes are numbered.
        surfaces: What they are made of.
    """

    def __init__(self, mitsuba: Any, drjit: Any, scene: Any, hits: Hits, surfaces: Surfaces) -> None:
        self._mi, self._dr, self._scene, self._surfaces = mitsuba, drjit, scene, surfaces
        numbers = np.stack([hits.first_meshes, hits.place_of], axis=1).astype(np.uint32)
        self._shapes = mitsuba.UInt32(numbers.ravel())
        self._first_faces = mitsuba.UInt32(np.append(hits.first_faces, 0).astype(np.uint32))

    def meet(self, ray: Any, random: Any, active: Any, *, coherent: bool) -> Met:
        """Return what rays meet that is not passed through.

        Args:
            ray: The rays.
            random: Random numbers of theirs, which decide what in part is transparent.
            active: Which of them are cast.
            coherent: Whether neighbours go nearly the same way.
        """
        dr = self._dr
        if not self._surfaces.materials.see_through:
            met = self._cast(ray, active, coherent=coherent)
            dr.eval(*met)
            return met
        layers = list(self._layers(ray, random, active, coherent=coherent))
        if len(layers) == 1:
            return layers[0][1]
        rows = dr.concat([rows for rows, _ in layers])
        place = dr.zeros(self._mi.UInt32, dr.width(rows))
        dr.scatter(place, dr.arange(self._mi.UInt32, dr.width(rows)), rows)
        fields = zip(*(met for _, met in layers), strict=True)
        return Met(*(dr.gather(type(parts[0]), dr.concat(list(parts)), place) for parts in fields))

    def shine(self, ray: Any, random: Any, active: Any) -> Any:
        """Return how much light comes along rays: 1 or 0.

        Args:
            ray: The rays.
            random: Random numbers of theirs.
            active: Which of them are cast; 0 for the others.
        """
        mi, dr = self._mi, self._dr
        if not self._surfaces.materials.see_through:
            return dr.select(active & ~self._scene.ray_test(ray, active), mi.Float(1.0), 0.0)
        free = mi.Bool(active)
        for rows, met in self._layers(ray, random, active, coherent=False):
            dr.scatter(free, mi.Bool(False), rows, dr.isfinite(met.t))
        return dr.select(free, mi.Float(1.0), 0.0)

    def _layers(self, ray: Any, random: Any, active: Any, *, coherent: bool) -> Iterator[tuple[Any, Met]]:
        """Yield which rays ended, layer by layer of what is passed through, and what they met."""
        mi, dr, surfaces = self._mi, self._dr, self._surfaces
        rows = dr.arange(mi.UInt32, dr.width(active))
        for layer in range(_LAYERS):
            met = self._cast(ray, active, coherent=coherent)
            hit = active & dr.isfinite(met.t)
            found = surfaces.found(met, ray, hit)
            jitter = mi.Point2f(random.next_float32(), random.next_float32())
            clear = hit & (random.next_float32() >= surfaces.opacity(found, jitter, hit))
            start = surfaces.lifted(found, ray.d)
            left = ray.maxt - dr.norm(start - ray.o)
            dr.eval(*met, clear, start, left, random)
            passing = dr.compress(clear)
            if layer == 0 and dr.width(passing) == 0:
                yield rows, met
                return
            ended = dr.compress(~clear)
            if dr.width(ended):
                done = dr.gather(mi.UInt32, rows, ended), Met(*(taken(dr, part, ended) for part in met))
                dr.eval(done[0], *done[1])
                yield done
            if dr.width(passing) == 0:
                return
            ray = mi.Ray3f(taken(dr, start, passing), taken(dr, ray.d, passing))
            ray.maxt = taken(dr, left, passing)
            random, rows = taken(dr, random, passing), dr.gather(mi.UInt32, rows, passing)
            active = dr.full(mi.Bool, True, dr.width(passing))
            dr.eval(ray, random, rows, active)
        met = Met(*(dr.gather(type(part), part, passing) for part in met))
        yield rows, met

    def _cast(self, ray: Any, active: Any, *, coherent: bool) -> Met:
        """Return what rays meet first."""
        mi, dr = self._mi, self._dr
        met = self._scene.ray_intersect_preliminary(ray, coherent, active)
        shape, instance = (dr.reinterpret_array(mi.UInt32, part) for part in (met.shape, met.instance))
        instanced = instance != 0
        hit = active & dr.isfinite(met.t)
        numbers = dr.gather(mi.Vector2u, self._shapes, dr.select(instanced, instance, shape), hit)
        mesh = numbers.x + dr.select(instanced, met.shape_index, 0)
        face = dr.gather(mi.UInt32, self._first_faces, mesh, hit) + met.prim_index
        return Met(met.t, met.prim_uv.x, met.prim_uv.y, face, numbers.y)


def taken(drjit: Any, values: Any, rows: Any) -> Any:
    """Return some rows of values; numbers that are the same for all stay as they are.

    Args:
        drjit: The module drjit.
        values: What is taken from.
        rows: Numbers of the rows.
    """
    return drjit.gather(type(values), values, rows) if drjit.width(values) > 1 else values
