# Kernels are in the language of Warp, which the type checker cannot follow.
# mypy: ignore-errors
"""Warp kernels that follow rays through what is cut out of, or shines through, the scene at rest."""

import warp as wp

from pegasus.render.packet_kernels import intersect_one
from pegasus.render.surface_tables import Tables, opacity_of, texture_point

wp.set_module_options({"enable_backward": False})


@wp.func
def opacity_at(
    tables: Tables,
    face: wp.int32,
    u: wp.float32,
    v: wp.float32,
    direction: wp.vec3d,
    travelled: wp.float32,
    cone: wp.float32,
) -> wp.float32:
    """Return the opacity of a point on a triangle of the scene at rest."""
    corners = tables.triangles[face]
    part = tables.parts[corners[3]]
    material = tables.materials[part.material]
    if material.see_through == 0:
        return 1.0
    a = tables.vertices[corners[0]]
    across = wp.cross(tables.vertices[corners[1]] - a, tables.vertices[corners[2]] - a)
    up = wp.normalize(wp.transpose(part.inverse) * wp.vec3d(across))
    slant = wp.abs(wp.float32(wp.dot(up, direction)))
    local = wp.float32(wp.length(part.inverse * direction))
    place = texture_point(tables, corners, u, v, wp.length(across), slant, cone * travelled * local)
    return opacity_of(tables, material, wp.vec2f(place[0], place[1]), place[2])


@wp.kernel
def pass_cuts(
    tables: Tables,
    single: wp.uint64,
    scene: wp.uint64,
    center: wp.vec3d,
    origins: wp.array[wp.vec3d],
    origin_step: wp.int32,
    directions: wp.array[wp.vec3d],
    start: wp.float64,
    before: wp.array[wp.float64],
    cone: wp.float32,
    most: wp.int32,
    ends: wp.array[wp.float32],
    limits: wp.array[wp.float32],
    faces: wp.array[wp.int32],
    u: wp.array[wp.float32],
    v: wp.array[wp.float32],
):
    """Let rays that have met something cut out go on to what lies behind, `ends` being how long they are."""
    i = wp.tid()
    if faces[i] < 0:
        return
    direction = directions[i]
    at = limits[i]
    for _ in range(most):
        travelled = at + wp.float32(start)
        if before.shape[0] > 0:
            travelled += wp.float32(before[i])
        if opacity_at(tables, faces[i], u[i], v[i], direction, travelled, cone) > 0.0:
            return
        ahead = at * 1.000001 + 1.0e-4
        origin = wp.vec3f(origins[i * origin_step] - center + direction * (start + wp.float64(ahead)))
        intersect_one(single, scene, origin, wp.vec3f(direction), ends[i] - ahead, i, limits, faces, u, v)
        at = ahead + limits[i]
        limits[i] = at
        if faces[i] < 0:
            limits[i] = ends[i]
            return


@wp.kernel
def shine_through(
    tables: Tables,
    single: wp.uint64,
    scene: wp.uint64,
    center: wp.vec3d,
    origins: wp.array[wp.vec3d],
    origin_step: wp.int32,
    directions: wp.array[wp.vec3d],
    start: wp.float64,
    dark: wp.float32,
    most: wp.int32,
    ends: wp.array[wp.float32],
    limits: wp.array[wp.float32],
    faces: wp.array[wp.int32],
    u: wp.array[wp.float32],
    v: wp.array[wp.float32],
    light: wp.array[wp.float32],
):
    """Write how much light comes along rays from 0 to 1; those that meet something go on behind it."""
    i = wp.tid()
    direction = directions[i]
    value = wp.float32(1.0)
    at = limits[i]
    for _ in range(most):
        if faces[i] < 0:
            break
        travelled = at + wp.float32(start)
        value *= 1.0 - opacity_at(tables, faces[i], u[i], v[i], direction, travelled, 0.0)
        if value <= dark:
            break
        ahead = at * 1.000001 + 1.0e-4
        origin = wp.vec3f(origins[i * origin_step] - center + direction * (start + wp.float64(ahead)))
        intersect_one(single, scene, origin, wp.vec3f(direction), ends[i] - ahead, i, limits, faces, u, v)
        at = ahead + limits[i]
    light[i] = value
