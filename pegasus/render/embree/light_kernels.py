# Kernels are in the language of Warp, which the type checker cannot follow.
# mypy: ignore-errors
"""Warp kernel for the lighting of surface points by suns, lamps and the sky, eight points at a time."""

import warp as wp

from pegasus.render.embree.lamp_choice import SPAN, Choice, Lights
from pegasus.render.embree.native_code import native_code
from pegasus.render.embree.surface_tables import Surface, Tables

wp.set_module_options({"enable_backward": False, "block_dim": 1})


@wp.func_native(native_code("light_points"))
def light_points(
    tables: Tables,
    lights: Lights,
    origins: wp.array(dtype=wp.vec3d),
    origin_step: wp.int32,
    directions: wp.array(dtype=wp.vec3d),
    surface: Surface,
    choice: Choice,
    visible: wp.array2d(dtype=wp.float32),
    discs: wp.int32,
    first: wp.int32,
    end: wp.int32,
    radiance: wp.array(dtype=wp.vec3f),
):
    """Write the radiance along some rays."""


@wp.kernel
def light_surface(
    tables: Tables,
    lights: Lights,
    origins: wp.array(dtype=wp.vec3d),
    origin_step: wp.int32,
    directions: wp.array(dtype=wp.vec3d),
    surface: Surface,
    choice: Choice,
    visible: wp.array2d(dtype=wp.float32),
    discs: wp.int32,
    radiance: wp.array(dtype=wp.vec3f),
):
    """Write the radiance along each ray."""
    first = wp.tid() * SPAN
    light_points(
        tables,
        lights,
        origins,
        origin_step,
        directions,
        surface,
        choice,
        visible,
        discs,
        first,
        wp.min(first + SPAN, radiance.shape[0]),
        radiance,
    )
