# Kernels are in the language of Warp, which the type checker cannot follow.
# mypy: ignore-errors
"""Warp kernels that generate rays.

Rays are in world coordinates in float64; Embree gets float32 relative to a near origin.
"""

from typing import Any

import warp as wp

from pegasus.render.embree.native_code import native_code

wp.set_module_options({"enable_backward": False, "block_dim": 1})

GROUP = wp.constant(64)
"""Number of rays that a thread of a kernel processes: Warp copies all arguments for each thread."""


def launch_groups(kernel: Any, count: int, inputs: list[Any]) -> None:
    """Run a kernel whose threads process `GROUP` rays each.

    Args:
        kernel: The kernel.
        count: Number of rays.
        inputs: Arguments.
    """
    wp.launch(kernel, -(-count // GROUP), inputs=inputs, device="cpu")


@wp.kernel
def turn_rays(
    local: wp.array(dtype=wp.vec3d),
    corners: wp.array(dtype=wp.vec3d),
    first: wp.int32,
    width: wp.int32,
    across: wp.float64,
    down: wp.float64,
    rotation: wp.mat33d,
    directions: wp.array(dtype=wp.vec3d),
):
    """Rotate the directions of a lens into the world: at pixel centres, or between pixel corners."""
    first_ray = wp.tid() * GROUP
    for i in range(first_ray, wp.min(first_ray + GROUP, directions.shape[0])):
        pixel = first + i
        direction = wp.vec3d()
        if across < wp.float64(0.0):
            direction = local[pixel]
        else:
            k = pixel + pixel / width
            one = wp.float64(1.0)
            upper = corners[k] * (one - across) + corners[k + 1] * across
            lower = corners[k + width + 1] * (one - across) + corners[k + width + 2] * across
            direction = wp.normalize(upper * (one - down) + lower * down)
        directions[i] = rotation * direction


@wp.func
def write_short_ray(
    i: wp.int32,
    origin: wp.vec3d,
    direction: wp.vec3d,
    center: wp.vec3d,
    start: wp.float64,
    limit: wp.float32,
    short_origins: wp.array(dtype=wp.vec3f),
    short_directions: wp.array(dtype=wp.vec3f),
    limits: wp.array(dtype=wp.float32),
):
    """Write a ray from the distance `start` on in Embree's form, of the length `limit`."""
    # Pixels outside the image circle of a lens have no direction.
    if wp.dot(direction, direction) > wp.float64(0.5):
        short_origins[i] = wp.vec3f(origin - center + direction * start)
        short_directions[i] = wp.vec3f(direction)
        limits[i] = limit
    else:
        short_origins[i] = wp.vec3f(0.0, 0.0, 0.0)
        short_directions[i] = wp.vec3f(0.0, 0.0, 1.0)
        limits[i] = -1.0


@wp.func_native(native_code("bound_rays"))
def bound_group(
    group: wp.int32,
    first: wp.int32,
    end: wp.int32,
    short_origins: wp.array(dtype=wp.vec3f),
    short_directions: wp.array(dtype=wp.vec3f),
    limits: wp.array(dtype=wp.float32),
    ranges: wp.array(dtype=wp.vec3f),
):
    """Write the lower and the upper ends of the origins and directions of a group of rays."""


@wp.kernel
def hand_over(
    origins: wp.array(dtype=wp.vec3d),
    origin_step: wp.int32,
    directions: wp.array(dtype=wp.vec3d),
    center: wp.vec3d,
    start: wp.float64,
    reach: wp.array(dtype=wp.float32),
    end: wp.float64,
    short_origins: wp.array(dtype=wp.vec3f),
    short_directions: wp.array(dtype=wp.vec3f),
    limits: wp.array(dtype=wp.float32),
    ranges: wp.array(dtype=wp.vec3f),
):
    """Write rays in Embree's form: from `start` to `end`, or to `reach` unless that is empty.

    `ranges` gets the lower and the upper ends of origins, then of directions, of each group, unless it is
    empty.
    """
    first_ray = wp.tid() * GROUP
    last = wp.min(first_ray + GROUP, directions.shape[0])
    for i in range(first_ray, last):
        limit = wp.float32(end - start)
        if reach.shape[0] > 0:
            limit = wp.float32(wp.float64(reach[i]) - start)
        write_short_ray(
            i,
            origins[i * origin_step],
            directions[i],
            center,
            start,
            limit,
            short_origins,
            short_directions,
            limits,
        )
    if ranges.shape[0] > 0:
        bound_group(wp.tid(), first_ray, last, short_origins, short_directions, limits, ranges)


@wp.kernel
def go_on(
    chosen: wp.array(dtype=wp.int32),
    origins: wp.array(dtype=wp.vec3d),
    origin_step: wp.int32,
    directions: wp.array(dtype=wp.vec3d),
    distances: wp.array(dtype=wp.float64),
    reach: wp.array(dtype=wp.float32),
    end: wp.float64,
    next_origins: wp.array(dtype=wp.vec3d),
    next_directions: wp.array(dtype=wp.vec3d),
    next_reach: wp.array(dtype=wp.float32),
    passed: wp.array(dtype=wp.float64),
):
    """Write rays that continue just behind the hits of some rays."""
    first_ray = wp.tid() * GROUP
    for i in range(first_ray, wp.min(first_ray + GROUP, chosen.shape[0])):
        k = chosen[i]
        far = distances[k] * wp.float64(1.000001) + wp.float64(1.0e-4)
        next_origins[i] = origins[k * origin_step] + directions[k] * far
        next_directions[i] = directions[k]
        passed[i] = far
        limit = end
        if reach.shape[0] > 0:
            limit = wp.float64(reach[k])
        next_reach[i] = wp.float32(limit - far)
