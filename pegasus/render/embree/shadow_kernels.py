# Kernels are in the language of Warp, which the type checker cannot follow.
# mypy: ignore-errors
"""Warp kernels that select the shadow rays of an image, and generate them."""

import warp as wp

from pegasus.render.embree.lamp_choice import SPAN, Choice, Lights
from pegasus.render.embree.native_code import native_code
from pegasus.render.embree.surface_tables import Surface, SurfaceMaterial

wp.set_module_options({"enable_backward": False, "block_dim": 1})


@wp.func_native(native_code("select_rays"))
def select(
    materials: wp.array(dtype=SurfaceMaterial),
    choice: Choice,
    surface: Surface,
    cone: wp.float32,
    width: wp.int32,
    others: wp.int32,
    visible: wp.array2d(dtype=wp.float32),
    marks: wp.array(dtype=wp.uint8),
    counts: wp.array(dtype=wp.int32),
    picks: wp.array(dtype=wp.int32),
):
    """Do the work of `select_rays`."""


@wp.kernel
def select_rays(
    materials: wp.array(dtype=SurfaceMaterial),
    choice: Choice,
    surface: Surface,
    cone: wp.float32,
    width: wp.int32,
    others: wp.int32,
    visible: wp.array2d(dtype=wp.float32),
    marks: wp.array(dtype=wp.uint8),
    counts: wp.array(dtype=wp.int32),
    picks: wp.array(dtype=wp.int32),
):
    """List the shadow rays of points: index of the point times the number of slots, plus the slot.

    If `others` is 0 these are all rays of the points in even rows and columns of an image, of all points if
    the width is 0. If it is 1 these are the rays of the other points, unless their neighbours agree, two or
    four points that have cast rays: there is no step or bend between them, and they have chosen a lamp and
    see as much of it, which becomes the visible part there. Leaves whose pixel is wider than 2 cm take over
    the mean of at least two such points that are leaves, less than a metre nearer or farther.

    Rays to the same lamp follow each other, and those of a tile of the image; `counts` holds the end of each
    lamp's rays, the last row the number of all. `marks` is working memory for each point.
    """
    select(materials, choice, surface, cone, width, others, visible, marks, counts, picks)


@wp.func_native(native_code("shadow_rays"))
def leave(
    lights: Lights,
    choice: Choice,
    picks: wp.array(dtype=wp.int32),
    origins: wp.array(dtype=wp.vec3d),
    origin_step: wp.int32,
    directions: wp.array(dtype=wp.vec3d),
    surface: Surface,
    spread: wp.vec4f,
    next_origins: wp.array(dtype=wp.vec3d),
    next_directions: wp.array(dtype=wp.vec3d),
    next_reach: wp.array(dtype=wp.float32),
    first: wp.int32,
    end: wp.int32,
):
    """Write some rays from surface points to their chosen lamps."""


@wp.kernel
def leave_for_lamps(
    lights: Lights,
    choice: Choice,
    picks: wp.array(dtype=wp.int32),
    origins: wp.array(dtype=wp.vec3d),
    origin_step: wp.int32,
    directions: wp.array(dtype=wp.vec3d),
    surface: Surface,
    spread: wp.vec4f,
    next_origins: wp.array(dtype=wp.vec3d),
    next_directions: wp.array(dtype=wp.vec3d),
    next_reach: wp.array(dtype=wp.float32),
):
    """Write rays from surface points to their chosen lamps."""
    first = wp.tid() * SPAN
    leave(
        lights,
        choice,
        picks,
        origins,
        origin_step,
        directions,
        surface,
        spread,
        next_origins,
        next_directions,
        next_reach,
        first,
        wp.min(first + SPAN, picks.shape[0]),
    )
