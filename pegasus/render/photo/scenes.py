"""Scenes of Mitsuba whose rays are cast as in one: the world, and the moving objects."""

from typing import Any, NamedTuple

import numpy as np

from pegasus.base.arrays import IntArray


class Nearest(NamedTuple):
    """Nearest hits of rays, in the terms of Mitsuba."""

    t: Any
    """Distance along the ray [m]; infinite without a hit."""
    uv: Any
    """Weights of the triangle's second and third corners."""
    face: Any
    """Number of the triangle in its mesh."""
    mesh: Any
    """Number of the mesh in its group."""
    shape: Any
    """Number of the shape in Dr.Jit's registry; 0 for instances."""
    instance: Any
    """Number of the instance in the registry; 0 for other shapes."""


class PhotoScenes:
    """World and moving objects.

    Mitsuba builds all of a scene anew when one shape in it moves; so moving objects have their own scene.

    Args:
        mitsuba: The module mitsuba, its variant set.
        drjit: The module drjit.
        world: Scene with all emitters.
        moving: Scene of moving objects; None if they are in the other scene, or if there are none.
    """

    def __init__(self, mitsuba: Any, drjit: Any, world: Any, moving: Any) -> None:
        self._mi, self._dr = mitsuba, drjit
        self.world, self._moving = world, moving

    @property
    def registered(self) -> IntArray:
        """Numbers of all shapes in Dr.Jit's registry, those of the world first."""
        scenes = [self.world] if self._moving is None else [self.world, self._moving]
        numbers = [np.array(self._dr.reinterpret_array(self._mi.UInt32, s.shapes_dr())) for s in scenes]
        return np.asarray(np.concatenate(numbers), np.int64)

    def nearest(self, ray: Any, active: Any, *, coherent: bool) -> Nearest:
        """Return the nearest hits of rays.

        Args:
            ray: The rays.
            active: Mask of the rays to cast.
            coherent: Whether neighbouring rays are nearly parallel.
        """
        dr = self._dr
        met = self._cast(self.world, ray, active, coherent)
        if self._moving is None:
            return met
        shorter = self._mi.Ray3f(ray)
        shorter.maxt = dr.minimum(ray.maxt, met.t)
        other = self._cast(self._moving, shorter, active, coherent)
        nearer = dr.isfinite(other.t)
        return Nearest(*(dr.select(nearer, new, old) for new, old in zip(other, met, strict=True)))

    def blocks(self, ray: Any, active: Any, *, coherent: bool) -> Any:
        """Return which rays hit anything.

        Args:
            ray: The rays.
            active: Mask of the rays to cast.
            coherent: Whether neighbouring rays are nearly parallel.
        """
        blocked = self.world.ray_test(ray, coherent, active)
        if self._moving is None:
            return blocked
        return blocked | self._moving.ray_test(ray, coherent, active & ~blocked)

    def _cast(self, scene: Any, ray: Any, active: Any, coherent: bool) -> Nearest:
        mi, dr = self._mi, self._dr
        met = scene.ray_intersect_preliminary(ray, coherent, active)
        shape, instance = (dr.reinterpret_array(mi.UInt32, part) for part in (met.shape, met.instance))
        return Nearest(met.t, met.prim_uv, met.prim_index, met.shape_index, shape, instance)
