# Kernels are in the language of Warp, which the type checker cannot follow.
# mypy: ignore-errors
"""Warp kernels that select the shadow rays of an image, and generate them."""

import warp as wp

from pegasus.render.embree.lamp_choice import SPAN, Choice, Lights, level
from pegasus.render.embree.lamp_kernels import lamp_toward
from pegasus.render.embree.surface_tables import Surface

wp.set_module_options({"enable_backward": False, "block_dim": 1})

_ALIKE = wp.constant(wp.float32(0.01))


@wp.kernel
def ask_alone(choice: Choice, width: wp.int32, asked: wp.array2d(dtype=wp.uint8)):
    """Mark the lamps (1, else 0) to which points cast a ray before others: all points if the width is 0.

    In an image these are the points in even rows and columns.
    """
    first = wp.tid() * SPAN
    for i in range(first, wp.min(first + SPAN, asked.shape[0])):
        own = wp.bool(True)
        if width > 0:
            own = i % width % 2 == 0 and i / width % 2 == 0
        for slot in range(asked.shape[1]):
            asked[i, slot] = wp.where(own and choice.lamps[i, slot] >= 0, wp.uint8(1), wp.uint8(0))


@wp.func
def seen_by(choice: Choice, visible: wp.array2d(dtype=wp.float32), k: wp.int32, lamp: wp.int32) -> wp.float32:
    """Return the visible part of a lamp at a point that has cast rays, -1 if it has not chosen the lamp."""
    for slot in range(choice.lamps.shape[1]):
        if choice.lamps[k, slot] == lamp:
            return visible[k, slot]
    return -1.0


@wp.func
def share_at(
    choice: Choice,
    surface: Surface,
    width: wp.int32,
    visible: wp.array2d(dtype=wp.float32),
    asked: wp.array2d(dtype=wp.uint8),
    i: wp.int32,
):
    """Set the visibility at a point if its neighbours agree, else mark the lamps.

    The neighbours, two or four points that have cast rays, agree if there is no step or bend between them,
    and they have chosen a lamp and see as much of it.
    """
    column = i % width
    row = i / width
    for slot in range(asked.shape[1]):
        asked[i, slot] = wp.uint8(0)
    if (column % 2 == 0 and row % 2 == 0) or surface.material[i] < 0:
        return
    across = column % 2
    down = row % 2 * width
    alike = column + across < width and i + across + down < choice.rest.shape[0]
    if alike:
        for corner in range(4):
            k = i + across * (2 * (corner % 2) - 1) + down * (2 * (corner / 2) - 1)
            step = wp.abs(surface.distance[k] - surface.distance[i])
            far = step > wp.float64(0.02) * surface.distance[i]
            if surface.material[k] < 0 or far or not level(surface, i, k):
                alike = False
    for slot in range(asked.shape[1]):
        lamp = choice.lamps[i, slot]
        if lamp >= 0:
            own = wp.bool(True)
            if alike:
                one = seen_by(choice, visible, i - across - down, lamp)
                two = seen_by(choice, visible, i + across - down, lamp)
                three = seen_by(choice, visible, i - across + down, lamp)
                four = seen_by(choice, visible, i + across + down, lamp)
                low = wp.min(wp.min(one, two), wp.min(three, four))
                high = wp.max(wp.max(one, two), wp.max(three, four))
                if low >= 0.0 and high - low < _ALIKE:
                    visible[i, slot] = 0.25 * (one + two + three + four)
                    own = False
            if own:
                asked[i, slot] = wp.uint8(1)


@wp.kernel
def share_shadows(
    choice: Choice,
    surface: Surface,
    width: wp.int32,
    visible: wp.array2d(dtype=wp.float32),
    asked: wp.array2d(dtype=wp.uint8),
):
    """Set the visibility at the other points where their neighbours agree, and mark the others' lamps."""
    first = wp.tid() * SPAN
    for i in range(first, wp.min(first + SPAN, asked.shape[0])):
        share_at(choice, surface, width, visible, asked, i)


@wp.kernel
def leave_for_lamps(
    lights: Lights,
    choice: Choice,
    picks: wp.array(dtype=wp.int32),
    origins: wp.array(dtype=wp.vec3d),
    origin_step: wp.int32,
    directions: wp.array(dtype=wp.vec3d),
    surface: Surface,
    jitter: wp.vec2f,
    next_origins: wp.array(dtype=wp.vec3d),
    next_directions: wp.array(dtype=wp.vec3d),
    next_reach: wp.array(dtype=wp.float32),
):
    """Write rays from surface points to their chosen lamps."""
    first = wp.tid() * SPAN
    for j in range(first, wp.min(first + SPAN, picks.shape[0])):
        slots = choice.lamps.shape[1]
        i = picks[j] / slots
        lamp = lights.lamps[choice.lamps[i, picks[j] % slots]]
        point = origins[i * origin_step] + directions[i] * surface.distance[i]
        lift = 2.0e-4 + 2.0e-6 * wp.float32(surface.distance[i])
        side = surface.facing[i]
        toward = lamp_toward(lamp, wp.vec3f(point - lights.middle))
        if wp.dot(side, wp.vec3f(toward[0], toward[1], toward[2])) < 0.0:
            # Light from behind a leaf.
            side = -side
        start = point + wp.vec3d(side * lift)
        toward = lamp_toward(lamp, wp.vec3f(start - lights.middle))
        way = wp.vec3f(toward[0], toward[1], toward[2])
        if lamp.kind == 0:
            # Samples on the disc of a sun, from its centre outwards.
            aside = wp.normalize(wp.cross(way, wp.vec3f(way[1], way[2], way[0] + 0.5)))
            way = wp.normalize(way + (aside * jitter[0] + wp.cross(way, aside) * jitter[1]) * lamp.radius)
        next_origins[j] = start
        next_directions[j] = wp.normalize(wp.vec3d(way))
        next_reach[j] = wp.max(
            toward[3] * 0.999 - lamp.radius * wp.where(lamp.kind == 1, 1.02, 0.0) - lift, 0.0
        )
        if lamp.kind == 0:
            next_reach[j] = 1.0e30
