"""Light along many rays at once: a path tracer that passes light through what is cut out."""

from typing import Any

DEPTH = 5
"""Most surfaces that light meets between an emitter and the camera, the emitter included."""
ROULETTE_DEPTH = 2
"""How many of them are always followed; paths beyond go on as likely as they are bright."""

_LEAST_TRANSMISSION = 1e-3


class PathIntegrator:
    """Path tracer with the light of emitters sampled at every surface (Veach 1997, ch. 9 and 10).

    Args:
        mitsuba: The module, a vectorized variant set.
        drjit: The module drjit.
        scene: What is seen.
        see_through: Whether anything is cut out or in part transparent.
        first_meshes: Number of the first mesh of each shape, by its number in Mitsuba's registry.
        transparent: Whether a mesh lets light through, by its number.
    """

    def __init__(
        self, mitsuba: Any, drjit: Any, scene: Any, *, see_through: bool, first_meshes: Any, transparent: Any
    ) -> None:
        self._mi, self._dr, self._scene = mitsuba, drjit, scene
        self._see_through = see_through
        self._first_meshes, self._transparent = first_meshes, transparent
        self._context = mitsuba.BSDFContext()

    def radiance(self, ray: Any, random: Any, active: Any) -> Any:
        """Return the light that comes along rays, as one array for each colour.

        Args:
            ray: The rays.
            random: Their random numbers.
            active: Which of them are followed.
        """
        mi, dr = self._mi, self._dr
        start = (
            mi.Ray3f(ray),
            random,
            mi.Color3f(1.0),
            mi.Color3f(0.0),
            mi.UInt32(0),
            dr.zeros(mi.SurfaceInteraction3f),
            mi.Float(1.0),
            mi.Bool(True),
            mi.Bool(active),
        )
        end = dr.while_loop(start, lambda *state: state[-1], self._extend, label="paths")
        return [end[3].x, end[3].y, end[3].z]

    def guides(self, ray: Any, random: Any, active: Any) -> Any:
        """Return diffuse reflectance and normal of what rays meet first, as six arrays.

        Args:
            ray: The rays.
            random: Their random numbers.
            active: Which of them are followed.
        """
        mi, dr = self._mi, self._dr
        start = (mi.Ray3f(ray), random, mi.Color3f(0.0), mi.Normal3f(0.0), mi.Bool(active))
        end = dr.while_loop(start, lambda *state: state[-1], self._look, label="guides")
        return [end[2].x, end[2].y, end[2].z, end[3].x, end[3].y, end[3].z]

    def _look(self, ray: Any, random: Any, albedo: Any, normal: Any, active: Any) -> Any:
        mi, dr = self._mi, self._dr
        si = self._scene.ray_intersect(ray, mi.RayFlags.All, True, active)
        active = active & si.is_valid()
        bsdf = si.bsdf()
        surface = active
        if self._see_through:
            surface = active & (random.next_float32() >= bsdf.eval_null_transmission(si, active).x)
        albedo = dr.select(surface, bsdf.eval_diffuse_reflectance(si, surface), albedo)
        normal = dr.select(surface, mi.Normal3f(si.sh_frame.n), normal)
        ray = si.spawn_ray(ray.d)
        return ray, random, albedo, normal, active & ~surface

    def _extend(
        self,
        ray: Any,
        random: Any,
        weight: Any,
        light: Any,
        depth: Any,
        last: Any,
        last_pdf: Any,
        last_delta: Any,
        active: Any,
    ) -> Any:
        """Follow paths to their next surfaces, and add the light that comes from there."""
        mi, dr, scene = self._mi, self._dr, self._scene
        si = scene.ray_intersect(ray, mi.RayFlags.All, False, active)
        seen = mi.DirectionSample3f(scene, si, last)
        emitter_pdf = scene.pdf_emitter_direction(last, seen, ~last_delta & active)
        share = dr.select(last_delta, 1.0, _balance(last_pdf, emitter_pdf, dr))
        light = dr.select(active, light + weight * share * seen.emitter.eval(si, active), light)
        active = active & si.is_valid() & (depth + 1 < DEPTH)

        bsdf = si.bsdf()
        aim, strength = scene.sample_emitter_direction(si, _pair(mi, random), False, active)
        lit = active & (aim.pdf != 0.0)
        toward = si.to_local(aim.d)
        value, pdf, bounce, factor = bsdf.eval_pdf_sample(
            self._context, si, toward, random.next_float32(), _pair(mi, random), active
        )
        lit = lit & (dr.max(value) > 0.0)
        share = dr.select(aim.delta, 1.0, _balance(aim.pdf, pdf, dr))
        arrived = self._transmission(si, aim.p, lit)
        light = dr.select(lit, light + weight * value * strength * (share * arrived), light)

        ray = si.spawn_ray(si.to_world(bounce.wo))
        weight = dr.select(active, weight * factor, weight)
        straight = mi.has_flag(bounce.sampled_type, mi.BSDFFlags.Null)
        turned = active & ~straight
        depth = dr.select(turned, depth + 1, depth)
        last = dr.select(turned, si, last)
        last_pdf = dr.select(turned, bounce.pdf, last_pdf)
        last_delta = dr.select(turned, mi.has_flag(bounce.sampled_type, mi.BSDFFlags.Delta), last_delta)
        brightest = dr.max(weight)
        active = active & (brightest > 0.0)
        survival = dr.select(depth >= ROULETTE_DEPTH, dr.minimum(brightest, 0.95), 1.0)
        active = active & (random.next_float32() < survival)
        weight = dr.select(active, weight / survival, weight)
        return ray, random, weight, light, depth, last, last_pdf, last_delta, active

    def _transmission(self, si: Any, target: Any, active: Any) -> Any:
        """Return how much of the light of points arrives at surfaces."""
        mi, dr, scene = self._mi, self._dr, self._scene
        ray = si.spawn_ray_to(target)
        if not self._see_through:
            return dr.select(scene.ray_test(ray, active), 0.0, 1.0)

        def advance(ray: Any, through: Any, active: Any) -> Any:
            met = scene.ray_intersect_preliminary(ray, False, active)
            hit = active & met.is_valid()
            clear = hit & self._is_transparent(met, hit)
            point = met.compute_surface_interaction(ray, mi.RayFlags.All, clear)
            part = point.bsdf().eval_null_transmission(point, clear).x
            through = dr.select(hit, dr.select(clear, through * part, 0.0), through)
            return point.spawn_ray_to(target), through, clear & (through > _LEAST_TRANSMISSION)

        start = (ray, mi.Float(1.0), mi.Bool(active))
        return dr.while_loop(start, lambda *state: state[-1], advance, label="shadows")[1]

    def _is_transparent(self, met: Any, active: Any) -> Any:
        mi, dr = self._mi, self._dr
        instance = dr.reinterpret_array(mi.UInt32, met.instance)
        instanced = instance != 0
        top = dr.select(instanced, instance, dr.reinterpret_array(mi.UInt32, met.shape))
        mesh = dr.gather(mi.UInt32, self._first_meshes, top, active)
        mesh = mesh + dr.select(instanced, met.shape_index, 0)
        return dr.gather(mi.Bool, self._transparent, mesh, active)


def _pair(mitsuba: Any, random: Any) -> Any:
    return mitsuba.Point2f(random.next_float32(), random.next_float32())


def _balance(pdf: Any, other: Any, drjit: Any) -> Any:
    """Return the power heuristic (Veach 1997, sec. 9.2.4)."""
    squared = pdf * pdf
    return drjit.select(pdf > 0.0, squared / (squared + other * other), 0.0)
