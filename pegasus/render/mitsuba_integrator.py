"""Light along many rays at once: a path tracer that passes light through what is cut out.

Paths are followed one surface at a time; those that go on are then moved together, so that the vectors of the
processor stay full.
"""

from typing import Any, NamedTuple

from pegasus.render.mitsuba_reflection import Look, Reflection
from pegasus.render.mitsuba_surfaces import Found, Surfaces
from pegasus.render.mitsuba_visibility import Visibility, taken

DEPTH = 5
"""Most surfaces that light meets between an emitter and the camera, the emitter included."""

# How likely a path goes on at most; all go on as likely as they are bright.
_SURVIVAL = 0.95


class Seen(NamedTuple):
    """What is seen along rays."""

    light: Any
    albedo: Any
    normal: Any


class PathIntegrator:
    """Path tracer with the light of emitters sampled at every surface (Veach 1997, ch. 9 and 10).

    Args:
        mitsuba: The module, a vectorized variant set.
        drjit: The module drjit.
        scene: What is seen.
        surfaces: What it is made of.
        visibility: Finds what rays meet in it.
        weighs: Whether an emitter that is sampled can also be met by a path.
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
        self._has_emitters = len(scene.emitters()) > 0

    def follow(self, ray: Any, path: Any, seed: Any, active: Any) -> Seen:
        """Return light, reflectance and normal that are seen along rays.

        Args:
            ray: The rays.
            path: Numbers of the paths, from 0 on.
            seed: What random numbers are drawn from.
            active: Which of them are followed.
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
            value, shining = self._emitted(ray, met, found, last, last_pdf, active, first=depth == 0)
            _add(dr, light, weight * value, path, active)
            active = hit & ~shining
            if depth + 2 > DEPTH:
                dr.eval(light)
                break
            look = self._surfaces.look(found, ray, _pair(mi, random), active)
            if depth == 0:
                albedo, normal = dr.select(active, look.albedo, 0.0), dr.select(active, look.normal, 0.0)
                dr.eval(albedo, normal)
            viewer = -ray.d
            if self._has_emitters:
                value, shadow = self._lit(found, look, viewer, random, active)
                dr.eval(value, shadow, active, random, *look, *found)
                chance = self._random(path, seed, 64 + depth)
                share = self._visibility.shine(shadow, chance, dr.max(value) > 0.0)
                _add(dr, light, weight * value * share, path, share > 0.0)
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
            dr.eval(active, weight, last, last_pdf, start, way, light)
            rows = dr.compress(active)
            if dr.width(rows) == 0:
                break
            path, weight, last, last_pdf = (taken(dr, v, rows) for v in (path, weight, last, last_pdf))
            ray = mi.Ray3f(taken(dr, start, rows), taken(dr, way, rows))
            active = dr.full(mi.Bool, True, dr.width(rows))
            dr.eval(path, weight, last, last_pdf, ray, active)
        return Seen(light, albedo, normal)

    def _emitted(
        self, ray: Any, met: Any, found: Found, last: Any, last_pdf: Any, active: Any, *, first: bool
    ) -> tuple[Any, Any]:
        """Return the light that comes along rays from lamps and the sky, and which of them met lamps."""
        mi, dr, scene = self._mi, self._dr, self._scene
        away = active & ~dr.isfinite(met.t)
        if not self._weighs:
            sky = scene.environment()
            if sky is None:
                return mi.Color3f(0.0), mi.Bool(False)
            si = dr.zeros(mi.SurfaceInteraction3f)
            si.wi = -ray.d
            return dr.select(away, sky.eval(si, away), 0.0), mi.Bool(False)
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
        return dr.select(seeing, value, 0.0), shining

    def _lit(self, found: Found, look: Look, viewer: Any, random: Any, active: Any) -> tuple[Any, Any]:
        """Return the light of one emitter that surfaces send to the viewer, and the rays that it comes by."""
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
        ray.maxt = distance * (1.0 - 1e-3)
        return dr.select(active & (aim.pdf != 0.0), value * strength * share, 0.0), ray

    def _random(self, path: Any, seed: Any, step: int) -> Any:
        """Return random numbers of paths for a step."""
        mi, dr = self._mi, self._dr
        states = mi.sample_tea_32(path, seed + dr.opaque(mi.UInt32, step))
        return mi.PCG32(initstate=mi.UInt64(states[0]), initseq=mi.UInt64(states[1]))


def _add(drjit: Any, total: Any, value: Any, rows: Any, active: Any) -> None:
    for k in range(3):
        drjit.scatter_reduce(drjit.ReduceOp.Add, total[k], value[k], rows, active)


def _pair(mitsuba: Any, random: Any) -> Any:
    return mitsuba.Point2f(random.next_float32(), random.next_float32())


def _balance(pdf: Any, other: Any, drjit: Any) -> Any:
    """Return the power heuristic (Veach 1997, sec. 9.2.4)."""
    squared = pdf * pdf
    return drjit.select(pdf > 0.0, squared / (squared + other * other), 0.0)
