# Kernels are in the language of Warp, which the type checker cannot follow.
# mypy: ignore-errors
"""Warp kernels that choose the suns and lamps that light surface points most."""

from typing import Any

import warp as wp

from pegasus.render.embree.lamp_kernels import Lamp
from pegasus.render.embree.native_code import native_code
from pegasus.render.embree.surface_tables import Surface, SurfaceMaterial

wp.set_module_options({"enable_backward": False, "block_dim": 1})

SPAN = wp.constant(128)
"""Number of points of one task: Warp copies all arguments for each."""

RANKS = 3
"""Largest number of lamps chosen for a point."""


@wp.struct
class SkyLight:
    """Sky as an image and as irradiance."""

    image: wp.array2d(dtype=wp.vec3f)
    harmonics: wp.array(dtype=wp.vec3f)
    emission: wp.float32


@wp.struct
class Volume:
    """Probes on a grid, x fastest; six values each towards +x, -x, +y, -y, +z and -z.

    The light of a direction is the irradiance from there and the visible part of the sky.
    """

    origin: wp.vec3f
    spacing: wp.float32
    size: wp.vec3i
    light: wp.array2d(dtype=wp.vec4f)
    reach: wp.array2d(dtype=wp.float32)
    lamps: wp.array2d(dtype=wp.uint8)


@wp.struct
class Lights:
    """Lights of a scene: suns and lamps as rows and as columns for their ranking, sky, and probes."""

    lamps: wp.array(dtype=Lamp)
    columns: wp.array2d(dtype=wp.float32)
    sky: SkyLight
    volume: Volume
    middle: wp.vec3d


@wp.struct
class Choice:
    """Lamps chosen for points (-1 for none), all other light, and how far it can be interpolated, squared.

    The other light is the irradiance by the other lamps, the sky and surfaces, and that of the mirrored
    direction with its visible part of the sky.
    """

    lamps: wp.array2d(dtype=wp.int32)
    rest: wp.array(dtype=wp.vec3f)
    around: wp.array(dtype=wp.vec4f)
    reach: wp.array(dtype=wp.float32)


def sky_light(image: Any, harmonics: Any, emission: float) -> Any:
    """Return the sky for kernels.

    Args:
        image: Radiance of the sky, float32, shape (H, 2 H, 3).
        harmonics: Its irradiance in spherical harmonics, float32, shape (9, 3).
        emission: Radiance of an emissive colour of 1.
    """
    light = SkyLight()
    light.image = wp.array(image, dtype=wp.vec3f, ndim=2, device="cpu", copy=False)
    light.harmonics = wp.array(harmonics, dtype=wp.vec3f, device="cpu", copy=False)
    light.emission = emission
    return light


@wp.func_native(native_code("choose_lamps"))
def choose(
    materials: wp.array(dtype=SurfaceMaterial),
    lights: Lights,
    width: wp.int32,
    origins: wp.array(dtype=wp.vec3d),
    origin_step: wp.int32,
    directions: wp.array(dtype=wp.vec3d),
    surface: Surface,
    choice: Choice,
):
    """Do the work of `choose_lamps`."""


@wp.kernel
def choose_lamps(
    materials: wp.array(dtype=SurfaceMaterial),
    lights: Lights,
    width: wp.int32,
    origins: wp.array(dtype=wp.vec3d),
    origin_step: wp.int32,
    directions: wp.array(dtype=wp.vec3d),
    surface: Surface,
    choice: Choice,
):
    """Choose the lamps with the strongest light at points in rows of an image, and sum up all other light.

    Two points that have nearly the same normal, are close to each other relative to the distances of all
    lamps and choose the same lamps determine the points between them: these choose the same lamps, and their
    sums are interpolated, with a relative error of some 0.4 %.
    """
    choose(materials, lights, width, origins, origin_step, directions, surface, choice)
