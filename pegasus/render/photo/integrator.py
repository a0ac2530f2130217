"""Path tracer for many rays at once, with transparent cut-outs.

Paths advance one surface at a time; active ones are compacted to keep the processor's vectors full.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from pegasus.render.photo.hits import Hits
from pegasus.render.photo.materials import uploaded
from pegasus.render.photo.reflection import Look, Reflection
from pegasus.render.photo.scenes import PhotoScenes
from pegasus.render.photo.surfaces import Found, NearestHits, Surfaces

DEPTH = 5
"""Maximum number of surfaces between camera and emitter, the emitter included."""

# Maximum survival probability of Russian roulette; otherwise it is the throughput of the path.
_SURVIVAL = 0.95
_LAYERS = 64
# Rays that one loop follows through all further layers; so few cost less than a launch for each layer.
_FEW = 1 << 14


class Seen(NamedTuple):
    """Radiance and guides along rays."""

    light: Any
    albedo: Any
    normal: Any


class Visibility:
    """Ray casting in Mitsuba's scenes that continues behind transparent surfaces.

    Args:
        mitsuba: The module mitsuba, its variant set.
        drjit: The module drjit.
        scenes: World and moving objects.
        hits: Numbering of their shapes.
        surfaces: Surface properties of its shapes.
    """

    def __init__(self, mitsuba: Any, drjit: Any, scenes: PhotoScenes, hits: Hits, surfaces: Surfaces) -> None:
        self._mi, self._dr, self._scenes, self._surfaces = mitsuba, drjit, scenes, surfaces
        numbers = np.stack([hits.first_meshes, hits.place_of], axis=1).astype(np.uint32)
        self._shapes = uploaded(mitsuba.UInt32, numbers)
        self._first_faces = uploaded(mitsuba.UInt32, np.append(hits.first_faces, 0).astype(np.uint32))

    def meet(self, ray: Any, random: Any, active: Any, *, coherent: bool) -> NearestHits:
        """Return the nearest hits that are not transparent.

        Args:
            ray: The rays.
            random: Their random numbers, which decide about hits of partly transparent surfaces.
            active: Mask of the rays to cast.
            coherent: Whether neighbouring rays are nearly parallel.
        """
        dr = self._dr
        if not self._surfaces.materials.see_through.any():
            met = self._cast(ray, active, coherent=coherent)
            dr.eval(*met)
            return met
        layers = self._layers(ray, random, active, coherent=coherent)
        _, met = next(layers)
        for rows, later in layers:
            for part, new in zip(met, later, strict=True):
                dr.scatter(part, new, rows)
        return met

    def shine(self, ray: Any, random: Any, active: Any, *, coherent: bool) -> Any:
        """Return the transmittance along rays: 1 or 0.

        Args:
            ray: The rays.
            random: Their random numbers.
            active: Mask of the rays to cast; 0 for the others.
            coherent: Whether neighbouring rays are nearly parallel.
        """
        mi, dr = self._mi, self._dr
        if not self._surfaces.materials.see_through.any():
            blocked = self._scenes.blocks(ray, active, coherent=coherent)
            return dr.select(active & ~blocked, mi.Float(1.0), 0.0)
        layers = self._layers(ray, random, active, coherent=coherent)
        _, met = next(layers)
        free = active & ~dr.isfinite(met.t)
        for rows, later in layers:
            dr.scatter(free, ~dr.isfinite(later.t), rows)
        return dr.select(free, mi.Float(1.0), 0.0)

    def _layers(
        self, ray: Any, random: Any, active: Any, *, coherent: bool
    ) -> Iterator[tuple[Any, NearestHits]]:
        """Yield rays and their hits, layer by layer of transparent surfaces.

        The first layer is that of all rays; the hits of a ray in later layers replace its earlier ones.
        """
        mi, dr, surfaces = self._mi, self._dr, self._surfaces
        rows = dr.arange(mi.UInt32, dr.width(active))
        for layer in range(_LAYERS):
            met = self._cast(ray, active, coherent=coherent)
            clear = active & dr.isfinite(met.t)
            clear &= surfaces.see_through(met.face, clear)
            dr.eval(*met, clear)
            yield rows, met
            # Few rays hit see-through surfaces, and fewer pass: these alone are computed, and then cast.
            some = dr.compress(clear)
            if dr.width(some) == 0:
                return
            before = mi.Ray3f(_taken(dr, ray.o, some), _taken(dr, ray.d, some))
            random, active = _taken(dr, random, some), dr.full(mi.Bool, True, dr.width(some))
            found = surfaces.found(NearestHits(*(_taken(dr, part, some) for part in met)), before, active)
            passes = self._passes(found, random, active)
            start = surfaces.lifted(found, before.d)
            left = _taken(dr, ray.maxt, some) - dr.norm(start - before.o)
            dr.eval(passes, start, before.d, left, random)
            passing = dr.compress(passes)
            if dr.width(passing) == 0:
                return
            ray = mi.Ray3f(_taken(dr, start, passing), _taken(dr, before.d, passing))
            ray.maxt = _taken(dr, left, passing)
            random, active = _taken(dr, random, passing), dr.full(mi.Bool, True, dr.width(passing))
            rows = dr.gather(mi.UInt32, rows, dr.gather(mi.UInt32, some, passing))
            dr.eval(ray, random, rows, active)
            if dr.width(passing) <= _FEW:
                yield rows, self._last_layers(ray, random, _LAYERS - 1 - layer)
                return

    def _passes(self, found: Found, random: Any, active: Any) -> Any:
        """Return whether rays pass through surfaces, by three random numbers of each."""
        jitter = self._mi.Point2f(random.next_float32(), random.next_float32())
        return random.next_float32() >= self._surfaces.opacity(found, jitter, active)

    def _last_layers(self, ray: Any, random: Any, count: int) -> NearestHits:
        """Return hits behind at most so many transparent layers, in one compiled loop."""
        mi, dr, surfaces = self._mi, self._dr, self._surfaces
        width = dr.width(ray.o)

        def follow(left: Any, active: Any, start: Any, reach: Any, random: Any, met: Any) -> tuple[Any, ...]:
            ray = mi.Ray3f(start, way)
            ray.maxt = reach
            new = self._cast(ray, active, coherent=False)
            met = tuple(dr.select(active, part, old) for part, old in zip(new, met, strict=True))
            hit = active & dr.isfinite(new.t)
            found = surfaces.found(new, ray, hit)
            clear = hit & self._passes(found, random, hit)
            behind = surfaces.lifted(found, way)
            reach = dr.select(clear, reach - dr.norm(behind - start), reach)
            left = left - 1
            return left, clear & (left > 0), dr.select(clear, behind, start), reach, random, met

        way = ray.d
        met = NearestHits(
            dr.full(mi.Float, dr.inf, width),
            *(dr.zeros(mi.Float, width) for _ in range(2)),
            *(dr.zeros(mi.UInt32, width) for _ in range(2)),
        )
        state = (
            dr.full(mi.UInt32, count, width),
            dr.full(mi.Bool, True, width),
            ray.o,
            ray.maxt,
            random,
            tuple(met),
        )
        *_, met = dr.while_loop(
            state,
            lambda _, active, *__: active,
            follow,
            mode="symbolic",
            labels=("left", "active", "start", "reach", "random", "met"),
        )
        met = NearestHits(*met)
        dr.eval(*met)
        return met

    def _cast(self, ray: Any, active: Any, *, coherent: bool) -> NearestHits:
        """Return the nearest hits of rays."""
        mi, dr = self._mi, self._dr
        met = self._scenes.nearest(ray, active, coherent=coherent)
        instanced = met.instance != 0
        hit = active & dr.isfinite(met.t)
        numbers = dr.gather(mi.Vector2u, self._shapes, dr.select(instanced, met.instance, met.shape), hit)
        mesh = numbers.x + dr.select(instanced, met.mesh, 0)
        face = dr.gather(mi.UInt32, self._first_faces, mesh, hit) + met.face
        return NearestHits(met.t, met.uv.x, met.uv.y, face, numbers.y)


class PathIntegrator:
    """Path tracer with emitter sampling at every surface (Veach 1997, ch. 9 and 10).

    Args:
        mitsuba: The module mitsuba, its variant set.
        drjit: The module drjit.
        scene: Scene with all emitters.
        surfaces: Surface properties of its shapes.
        visibility: Ray casting in the scene.
        weighs: Whether paths can also hit the sampled emitters.
    """

    def __init__(
        self,
        mitsuba: Any,
        drjit: Any,
        scene: Any,
        surfaces: Surfaces,
        visibility: Visibility,
        *,
        weighs: bool,
    ) -> None:
        self._visibility = visibility
        self._mi, self._dr, self._scene = mitsuba, drjit, scene
        self._surfaces, self._weighs = surfaces, weighs
        self._reflection = Reflection(mitsuba, drjit)
        emitters = scene.emitters()
        self._has_emitters, self._sky = len(emitters) > 0, scene.environment()
        weights = [emitter.sampling_weight() for emitter in emitters]
        suns = [
            mitsuba.has_flag(emitter.flags(), mitsuba.EmitterFlags.DeltaDirection) for emitter in emitters
        ]
        self._parallel = 2.0 * float(np.dot(weights, suns)) > sum(weights)

    def follow(self, ray: Any, path: Any, seed: Any, active: Any) -> Seen:
        """Return radiance, reflectance and normal along rays.

        Args:
            ray: The rays.
            path: Indices of the paths, from 0.
            seed: Seed of the random numbers.
            active: Mask of the paths to follow.
        """
        mi, dr = self._mi, self._dr
        count = dr.width(path)
        light = dr.zeros(mi.Color3f, count)
        weight, last, last_pdf = mi.Color3f(1.0), mi.Point3f(0.0), mi.Float(0.0)
        for depth in range(DEPTH):
            random = self._random(path, seed, 2 * depth)
            chance = self._random(path, seed, 2 * depth + 1)
            met = self._visibility.meet(ray, chance, active, coherent=depth == 0)
            hit = active & dr.isfinite(met.t)
            found = self._surfaces.found(met, ray, hit)
            value, ended = self._emitted(ray, met, found, last, last_pdf, active, first=depth == 0)
            _add(dr, light, weight * value, path, active)
            active = hit & ~ended
            if depth + 2 > DEPTH:
                dr.eval(light)
                break
            look = self._surfaces.look(found, ray, _pair(mi, random), active)
            if depth == 0:
                albedo, normal = dr.select(active, look.albedo, 0.0), dr.select(active, look.normal, 0.0)
            viewer = -ray.d
            reflected, shadow = mi.Color3f(0.0), ray
            if self._has_emitters:
                value, shadow = self._lit(found, look, viewer, random, active)
                reflected = weight * value
            way, factor, last_pdf = self._reflection.sample(
                look, viewer, random.next_float32(), _pair(mi, random)
            )
            weight = weight * factor
            brightest = dr.max(weight)
            survival = dr.minimum(brightest, _SURVIVAL)
            active = active & (brightest > 0.0) & (random.next_float32() < survival)
            weight = weight / survival
            last = found.point
            start = self._surfaces.lifted(found, way)
            # One kernel computes all that depends on the surface, so that it is not written and read again.
            dr.eval(active, weight, last, last_pdf, start, way, light, reflected, shadow, albedo, normal)
            if self._has_emitters:
                chance = self._random(path, seed, 64 + depth)
                lit, parallel = dr.max(reflected) > 0.0, depth == 0 and self._parallel
                share = self._visibility.shine(shadow, chance, lit, coherent=parallel)
                _add(dr, light, reflected * share, path, share > 0.0)
                dr.eval(light)
            rows = dr.compress(active)
            if dr.width(rows) == 0:
                break
            path, weight, last, last_pdf = (_taken(dr, v, rows) for v in (path, weight, last, last_pdf))
            ray = mi.Ray3f(_taken(dr, start, rows), _taken(dr, way, rows))
            active = dr.full(mi.Bool, True, dr.width(rows))
            dr.eval(path, weight, last, last_pdf, ray, active)
        return Seen(light, albedo, normal)

    def _emitted(
        self, ray: Any, met: Any, found: Found, last: Any, last_pdf: Any, active: Any, *, first: bool
    ) -> tuple[Any, Any]:
        """Return the emitted radiance along rays, and which of them hit lamps, which reflect nothing."""
        mi, dr, scene = self._mi, self._dr, self._scene
        away = active & ~dr.isfinite(met.t)
        if not self._weighs:
            if self._sky is None:
                return mi.Color3f(0.0), mi.Bool(False)
            si = dr.zeros(mi.SurfaceInteraction3f)
            si.wi = -ray.d
            return dr.select(away, self._sky.eval(si, away), 0.0), mi.Bool(False)
        shining = active & dr.isfinite(met.t) & self._surfaces.shines(found.place, active)
        lamp = self._surfaces.lamp(met, shining)
        si = lamp.compute_surface_interaction(ray, mi.RayFlags.All, shining)
        si.wi = dr.select(shining, si.wi, -ray.d)
        seeing = shining | away
        reference = dr.zeros(mi.Interaction3f)
        reference.p = last
        seen = mi.DirectionSample3f(scene, si, reference)
        seen.d = ray.d
        value = seen.emitter.eval(si, seeing)
        if not first:
            other = scene.pdf_emitter_direction(reference, seen, seeing)
            value = value * _balance(last_pdf, other, dr)
        return dr.select(seeing, value, 0.0), self._surfaces.is_lamp(found.place, shining)

    def _lit(self, found: Found, look: Look, viewer: Any, random: Any, active: Any) -> tuple[Any, Any]:
        """Return the reflected light of one sampled emitter, and the shadow rays."""
        mi, dr, scene = self._mi, self._dr, self._scene
        reference = dr.zeros(mi.Interaction3f)
        reference.p = found.point
        aim, strength = scene.sample_emitter_direction(reference, _pair(mi, random), False, active)
        value, pdf = self._reflection.toward(look, viewer, aim.d)
        share = dr.select(aim.delta, 1.0, _balance(aim.pdf, pdf, dr))
        start = self._surfaces.lifted(found, aim.d)
        way = aim.p - start
        distance = dr.norm(way)
        ray = mi.Ray3f(start, way / distance)
        # Mitsuba puts sun and sky just outside the world, closer than a moving object may be.
        at_point = mi.has_flag(aim.emitter.flags(), mi.EmitterFlags.DeltaPosition)
        distant = (aim.delta & ~at_point) | (aim.emitter == mi.EmitterPtr(self._sky))
        ray.maxt = dr.select(distant, dr.largest(mi.Float), distance * (1.0 - 1e-3))
        return dr.select(active & (aim.pdf != 0.0), value * strength * share, 0.0), ray

    def _random(self, path: Any, seed: Any, step: int) -> Any:
        """Return random numbers of paths for a step."""
        mi, dr = self._mi, self._dr
        states = mi.sample_tea_32(path, seed + dr.opaque(mi.UInt32, step))
        return mi.PCG32(initstate=mi.UInt64(states[0]), initseq=mi.UInt64(states[1]))


def _add(drjit: Any, total: Any, value: Any, rows: Any, active: Any) -> None:
    for k in range(3):
        drjit.scatter_reduce(
            drjit.ReduceOp.Add, total[k], value[k], rows, active, mode=drjit.ReduceMode.NoConflicts
        )


def _pair(mitsuba: Any, random: Any) -> Any:
    return mitsuba.Point2f(random.next_float32(), random.next_float32())


def _balance(pdf: Any, other: Any, drjit: Any) -> Any:
    """Return the power heuristic (Veach 1997, sec. 9.2.4)."""
    squared = pdf * pdf
    return drjit.select(pdf > 0.0, squared / (squared + other * other), 0.0)


def _taken(drjit: Any, values: Any, rows: Any) -> Any:
    """Return some rows of values; uniform values are returned unchanged."""
    return drjit.gather(type(values), values, rows) if drjit.width(values) > 1 else values
