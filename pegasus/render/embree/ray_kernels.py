# Kernels are in the language of Warp, which the type checker cannot follow.
# mypy: ignore-errors
"""Warp kernels that generate rays.

Rays are in world coordinates in float64; Embree gets float32 relative to a near origin.
"""

from typing import Any

import warp as wp

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
):
    """Write rays in Embree's form: from `start` to `end`, or to `reach` unless that is empty."""
    first_ray = wp.tid() * GROUP
    for i in range(first_ray, wp.min(first_ray + GROUP, directions.shape[0])):
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


@wp.func
def meets(origin: wp.vec3d, direction: wp.vec3d, ball: wp.vec4d, limit: wp.float32) -> wp.bool:
    """Return whether a ray intersects a bounding sphere."""
    toward = wp.vec3f(wp.vec3d(ball[0], ball[1], ball[2]) - origin)
    d = wp.vec3f(direction)
    along = wp.dot(toward, d)
    aside = toward - d * along
    radius = wp.float32(ball[3]) * 1.001 + 1.0e-6 * wp.abs(along)
    return wp.dot(aside, aside) < radius * radius and along > -radius and along - radius < limit


@wp.kernel
def count_meetings(
    origins: wp.array(dtype=wp.vec3d),
    origin_step: wp.int32,
    directions: wp.array(dtype=wp.vec3d),
    limits: wp.array(dtype=wp.float32),
    begin: wp.float64,
    balls: wp.array(dtype=wp.vec4d),
    clusters: wp.array(dtype=wp.vec4d),
    size: wp.int32,
    counts: wp.array(dtype=wp.int32),
):
    """Count the bounding spheres that each ray intersects; each cluster of spheres has a common one."""
    first_ray = wp.tid() * GROUP
    for i in range(first_ray, wp.min(first_ray + GROUP, counts.shape[0])):
        count = wp.int32(0)
        limit = limits[i] + wp.float32(begin)
        if limits[i] > 0.0:
            origin = origins[i * origin_step]
            direction = directions[i]
            for c in range(clusters.shape[0]):
                if meets(origin, direction, clusters[c], limit):
                    for k in range(c * size, wp.min((c + 1) * size, balls.shape[0])):
                        if meets(origin, direction, balls[k], limit):
                            count += 1
        counts[i] = count


@wp.kernel
def enter_objects(
    origins: wp.array(dtype=wp.vec3d),
    origin_step: wp.int32,
    directions: wp.array(dtype=wp.vec3d),
    limits: wp.array(dtype=wp.float32),
    begin: wp.float64,
    balls: wp.array(dtype=wp.vec4d),
    clusters: wp.array(dtype=wp.vec4d),
    size: wp.int32,
    rows: wp.array(dtype=wp.int32),
    ends: wp.array(dtype=wp.int32),
    object_inverse: wp.array(dtype=wp.mat33d),
    object_offset: wp.array(dtype=wp.vec3d),
    short_origins: wp.array(dtype=wp.vec3f),
    short_directions: wp.array(dtype=wp.vec3f),
    short_limits: wp.array(dtype=wp.float32),
    starts: wp.array(dtype=wp.float32),
    items: wp.array(dtype=wp.int32),
):
    """Write each ray, starting at the bounding sphere, in the frames of the objects that it may hit."""
    first_ray = wp.tid() * GROUP
    for i in range(first_ray, wp.min(first_ray + GROUP, ends.shape[0])):
        place = wp.int32(0)
        if i > 0:
            place = ends[i - 1]
        if place == ends[i]:
            continue
        origin = origins[i * origin_step]
        direction = directions[i]
        limit = limits[i] + wp.float32(begin)
        for c in range(clusters.shape[0]):
            if meets(origin, direction, clusters[c], limit):
                for k in range(c * size, wp.min((c + 1) * size, balls.shape[0])):
                    if meets(origin, direction, balls[k], limit):
                        row = rows[k]
                        ball = balls[k]
                        along = wp.dot(wp.vec3d(ball[0], ball[1], ball[2]) - origin, direction)
                        start = wp.float64(wp.float32(wp.max(along - ball[3] * wp.float64(1.01), begin)))
                        entry = object_inverse[row] * (origin + direction * start) + object_offset[row]
                        short_origins[place] = wp.vec3f(entry)
                        short_directions[place] = wp.vec3f(object_inverse[row] * direction)
                        starts[place] = wp.float32(start - begin)
                        short_limits[place] = limits[i] - starts[place]
                        items[place] = row
                        place += 1


@wp.kernel
def keep_nearest(
    ends: wp.array(dtype=wp.int32),
    first_face: wp.int32,
    found_limits: wp.array(dtype=wp.float32),
    found_faces: wp.array(dtype=wp.int32),
    found_u: wp.array(dtype=wp.float32),
    found_v: wp.array(dtype=wp.float32),
    starts: wp.array(dtype=wp.float32),
    found_items: wp.array(dtype=wp.int32),
    limits: wp.array(dtype=wp.float32),
    faces: wp.array(dtype=wp.int32),
    u: wp.array(dtype=wp.float32),
    v: wp.array(dtype=wp.float32),
    items: wp.array(dtype=wp.int32),
):
    """Replace hits by hits of moving objects where these are nearer."""
    first_ray = wp.tid() * GROUP
    for i in range(first_ray, wp.min(first_ray + GROUP, limits.shape[0])):
        place = wp.int32(0)
        if i > 0:
            place = ends[i - 1]
        for k in range(place, ends[i]):
            if found_faces[k] >= 0 and found_limits[k] + starts[k] < limits[i]:
                limits[i] = found_limits[k] + starts[k]
                faces[i] = first_face + found_faces[k]
                u[i] = found_u[k]
                v[i] = found_v[k]
                items[i] = found_items[k]


@wp.kernel
def dim(
    ends: wp.array(dtype=wp.int32),
    passing: wp.array(dtype=wp.float32),
    light: wp.array(dtype=wp.float32),
):
    """Multiply the transmittance of rays by that of moving objects."""
    first_ray = wp.tid() * GROUP
    for i in range(first_ray, wp.min(first_ray + GROUP, light.shape[0])):
        place = wp.int32(0)
        if i > 0:
            place = ends[i - 1]
        for k in range(place, ends[i]):
            light[i] = light[i] * passing[k]


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
