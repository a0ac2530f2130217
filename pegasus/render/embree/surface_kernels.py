# Kernels are in the language of Warp, which the type checker cannot follow.
# mypy: ignore-errors
"""Warp kernels that compute surface points from hits.

Embree identifies the triangle; the distance is computed in float64.
"""

import warp as wp

from pegasus.render.embree.ray_kernels import GROUP
from pegasus.render.embree.surface_tables import Part, Surface, Tables, texture_point
from pegasus.render.embree.transparency import opacity_at

wp.set_module_options({"enable_backward": False, "block_dim": 1})

_AHEAD = """
    // What the next rays have met lies anywhere in memory; asked for early, it is there in time.
    const int soon = i + 8, later = i + 24;
    if (later < faces.shape[0] && faces.data[later] >= 0)
        __builtin_prefetch(&triangles.data[faces.data[later]]);
    if (soon < faces.shape[0] && faces.data[soon] >= 0) {
        const auto& corners = triangles.data[faces.data[soon]];
        for (int k = 0; k < 3; ++k) {
            __builtin_prefetch(&vertices.data[corners[k]]);
            if (with_normals != 0) __builtin_prefetch(&normals.data[corners[k]]);
            if (with_texture != 0) __builtin_prefetch(&uvs.data[corners[k]]);
        }
    }
"""


@wp.func_native(_AHEAD)
def ask_ahead(
    i: wp.int32,
    faces: wp.array(dtype=wp.int32),
    triangles: wp.array(dtype=wp.vec4i),
    vertices: wp.array(dtype=wp.vec3f),
    normals: wp.array(dtype=wp.vec3f),
    uvs: wp.array(dtype=wp.vec2f),
    with_normals: wp.int32,
    with_texture: wp.int32,
):
    """Prefetch the table rows of the next rays."""


@wp.func
def vertex_color(tables: Tables, part: Part, corners: wp.vec4i, u: wp.float32, v: wp.float32) -> wp.vec3f:
    """Return the interpolated vertex colour at a point; white without vertex colours."""
    if part.has_colors == 0:
        return wp.vec3f(1.0, 1.0, 1.0)
    shift = part.color_shift
    one = tables.colors[corners[0] + shift] * (1.0 - u - v)
    return one + tables.colors[corners[1] + shift] * u + tables.colors[corners[2] + shift] * v


@wp.func
def tangent_of(
    tables: Tables, row: wp.int32, corners: wp.vec4i, forward: wp.mat33d, normal: wp.vec3f
) -> wp.vec4f:
    """Return the tangent (direction of a texture's u) of a triangle, and the handedness of v: 1 or -1.

    The tangent is zero for degenerate texture coordinates. `forward` maps the triangle's frame to the world.
    """
    use = tables.uses[row]
    one = tables.vertices[corners[1]] - tables.vertices[corners[0]]
    two = tables.vertices[corners[2]] - tables.vertices[corners[0]]
    st_one = tables.uvs[corners[1]] - tables.uvs[corners[0]]
    st_two = tables.uvs[corners[2]] - tables.uvs[corners[0]]
    u_one = use.u_row[0] * st_one[0] + use.u_row[1] * st_one[1]
    u_two = use.u_row[0] * st_two[0] + use.u_row[1] * st_two[1]
    v_one = use.v_row[0] * st_one[0] + use.v_row[1] * st_one[1]
    v_two = use.v_row[0] * st_two[0] + use.v_row[1] * st_two[1]
    area = u_one * v_two - u_two * v_one
    if wp.abs(area) < 1.0e-20:
        return wp.vec4f(0.0, 0.0, 0.0, 1.0)
    tangent = wp.vec3f(wp.normalize(forward * wp.vec3d((one * v_two - two * v_one) / area)))
    other = wp.vec3f(wp.normalize(forward * wp.vec3d((two * u_one - one * u_two) / area)))
    tangent = wp.normalize(tangent - normal * wp.dot(tangent, normal))
    side = wp.where(wp.dot(wp.cross(normal, tangent), other) < 0.0, -1.0, 1.0)
    return wp.vec4f(tangent[0], tangent[1], tangent[2], side)


@wp.func
def write_surface(
    i: wp.int32,
    tables: Tables,
    origins: wp.array(dtype=wp.vec3d),
    origin_step: wp.int32,
    directions: wp.array(dtype=wp.vec3d),
    start: wp.float64,
    limits: wp.array(dtype=wp.float32),
    faces: wp.array(dtype=wp.int32),
    u: wp.array(dtype=wp.float32),
    v: wp.array(dtype=wp.float32),
    items: wp.array(dtype=wp.int32),
    passed: wp.array(dtype=wp.float32),
    cone: wp.float32,
    with_normals: wp.int32,
    with_texture: wp.int32,
    out: Surface,
):
    """Write the surface point of one hit."""
    ask_ahead(
        i,
        faces,
        tables.triangles,
        tables.vertices,
        tables.normals,
        tables.uvs,
        with_normals,
        with_texture,
    )
    face = faces[i]
    if face < 0:
        out.distance[i] = wp.float64(wp.inf)
        out.material[i] = -1
        out.entity[i] = -1
        if with_normals != 0:
            out.normal[i] = wp.vec3f(0.0, 0.0, 0.0)
            out.facing[i] = wp.vec3f(0.0, 0.0, 0.0)
        if with_texture != 0:
            out.opacity[i] = 1.0
        return
    item = wp.int32(0)
    if items.shape[0] > 0:
        item = items[i]
    corners = tables.triangles[face]
    part = tables.parts[corners[3]]
    origin = origins[i * origin_step]
    direction = directions[i]
    local_origin = origin
    local_direction = direction
    if item > 0:
        local_origin = tables.object_inverse[item] * origin + tables.object_offset[item]
        local_direction = tables.object_inverse[item] * direction
    local_origin = part.inverse * local_origin + part.offset
    local_direction = part.inverse * local_direction
    a = wp.vec3d(tables.vertices[corners[0]])
    one = wp.vec3d(tables.vertices[corners[1]]) - a
    two = wp.vec3d(tables.vertices[corners[2]]) - a
    across = wp.cross(one, two)
    guess = wp.float64(limits[i]) + start
    distance = wp.dot(a - local_origin, across) / wp.dot(local_direction, across)
    # A ray in the plane of the triangle has no unique intersection.
    if not (wp.abs(distance - guess) < wp.float64(1.0e-3) * guess + wp.float64(1.0e-3)):
        distance = guess
    out.distance[i] = distance
    out.material[i] = part.material
    out.entity[i] = part.entity
    if item > 0:
        out.entity[i] = tables.object_entity[item]
    if with_normals == 0 and with_texture == 0:
        return
    w = 1.0 - u[i] - v[i]
    short = wp.vec3f(direction)
    up = wp.transpose(part.inverse) * across
    smooth = (
        tables.normals[corners[0]] * w + tables.normals[corners[1]] * u[i] + tables.normals[corners[2]] * v[i]
    )
    shading = wp.transpose(part.inverse) * wp.vec3d(smooth)
    if item > 0:
        up = wp.transpose(tables.object_inverse[item]) * up
        shading = wp.transpose(tables.object_inverse[item]) * shading
    facing = wp.vec3f(wp.normalize(up))
    if wp.dot(facing, short) > 0.0:
        facing = -facing
    normal = wp.vec3f(wp.normalize(shading))
    if not (wp.abs(wp.dot(normal, facing)) > 1.0e-3):
        normal = facing
    if wp.dot(normal, facing) < 0.0:
        normal = -normal
    slope = wp.dot(normal, short)
    if slope > -1.0e-3:
        normal = wp.normalize(normal - short * (slope + 1.0e-3))
    out.facing[i] = facing
    out.normal[i] = normal
    if with_texture == 0:
        return
    travelled = wp.float32(distance)
    if passed.shape[0] > 0:
        travelled += passed[i]
    place = texture_point(
        tables,
        corners,
        u[i],
        v[i],
        wp.float32(wp.length(across)),
        wp.abs(wp.dot(facing, short)),
        cone * travelled * wp.float32(wp.length(local_direction)),
    )
    uv = wp.vec2f(place[0], place[1])
    footprint = place[2]
    out.uv[i] = uv
    out.footprint[i] = footprint
    if tables.colors.shape[0] > 0:
        out.tint[i] = vertex_color(tables, part, corners, u[i], v[i])
    if tables.materials[part.material].normal_map >= 0:
        forward = wp.inverse(part.inverse)
        if item > 0:
            forward = wp.transpose(tables.object_inverse[item]) * forward
        out.tangent[i] = tangent_of(
            tables, tables.materials[part.material].normal_map, corners, forward, normal
        )
    opacity = wp.float32(1.0)
    # Cut-out points are never hit.
    if tables.materials[part.material].blends != 0:
        slant = wp.abs(wp.dot(facing, short))
        opacity = opacity_at(tables, face + part.see_through_shift, u[i], v[i], slant, cone * travelled)
    out.opacity[i] = opacity


@wp.kernel
def find_surface(
    tables: Tables,
    origins: wp.array(dtype=wp.vec3d),
    origin_step: wp.int32,
    directions: wp.array(dtype=wp.vec3d),
    start: wp.float64,
    limits: wp.array(dtype=wp.float32),
    faces: wp.array(dtype=wp.int32),
    u: wp.array(dtype=wp.float32),
    v: wp.array(dtype=wp.float32),
    items: wp.array(dtype=wp.int32),
    passed: wp.array(dtype=wp.float32),
    cone: wp.float32,
    with_normals: wp.int32,
    with_texture: wp.int32,
    out: Surface,
):
    """Compute surface points of hits: distance in float64, normals, and texture coordinates."""
    first = wp.tid() * GROUP
    for i in range(first, wp.min(first + GROUP, faces.shape[0])):
        write_surface(
            i,
            tables,
            origins,
            origin_step,
            directions,
            start,
            limits,
            faces,
            u,
            v,
            items,
            passed,
            cone,
            with_normals,
            with_texture,
            out,
        )
