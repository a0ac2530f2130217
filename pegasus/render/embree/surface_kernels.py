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


@wp.struct
class Facet:
    """Plane of a triangle in the world: points whose product with `normal` is `level`."""

    corners: wp.vec4i
    normal: wp.vec3d
    level: wp.float64
    area: wp.float32
    material: wp.int32
    entity: wp.int32


@wp.func
def facet_of(tables: Tables, face: wp.int32, item: wp.int32) -> Facet:
    """Return the plane of a triangle of the static scene (item 0) or of an object.

    Its normal is not of unit length, and `area` is twice that of the triangle in its part's frame.
    """
    facet = Facet()
    corners = tables.triangles[face]
    part = corners[3]
    a = wp.vec3d(tables.vertices[corners[0]])
    one = wp.vec3d(tables.vertices[corners[1]]) - a
    two = wp.vec3d(tables.vertices[corners[2]]) - a
    across = wp.cross(one, two)
    level = wp.dot(a - tables.parts[part].offset, across)
    normal = wp.transpose(tables.parts[part].to_local) * across
    entity = tables.parts[part].entity
    if item > 0:
        level -= wp.dot(tables.object_offset[item], normal)
        normal = wp.transpose(tables.object_inverse[item]) * normal
        entity = tables.object_entity[item]
    facet.corners = corners
    facet.normal = normal
    facet.level = level
    facet.area = wp.float32(wp.length(across))
    facet.material = tables.parts[part].material
    facet.entity = entity
    return facet


@wp.func
def distance_along(
    facet: Facet, origin: wp.vec3d, direction: wp.vec3d, start: wp.float64, limit: wp.float32
) -> wp.float64:
    """Return the distance of a facet along a ray, near the one found in float32 from `start` on."""
    guess = wp.float64(limit) + start
    distance = (facet.level - wp.dot(facet.normal, origin)) / wp.dot(facet.normal, direction)
    # A ray in the plane of the triangle has no unique intersection.
    if not (wp.abs(distance - guess) < wp.float64(1.0e-3) * guess + wp.float64(1.0e-3)):
        distance = guess
    return distance


@wp.kernel
def find_distance(
    tables: Tables,
    origins: wp.array(dtype=wp.vec3d),
    origin_step: wp.int32,
    directions: wp.array(dtype=wp.vec3d),
    start: wp.float64,
    limits: wp.array(dtype=wp.float32),
    faces: wp.array(dtype=wp.int32),
    items: wp.array(dtype=wp.int32),
    distances: wp.array(dtype=wp.float64),
    materials: wp.array(dtype=wp.int32),
    entities: wp.array(dtype=wp.int32),
):
    """Compute distances in float64, materials and entities of hits."""
    first = wp.tid() * GROUP
    facet = Facet()
    known = wp.int32(-1)
    known_item = wp.int32(0)
    for i in range(first, wp.min(first + GROUP, faces.shape[0])):
        ask_ahead(i, faces, tables.triangles, tables.vertices, tables.normals, tables.uvs, 0, 0)
        face = faces[i]
        if face < 0:
            distances[i] = wp.float64(wp.inf)
            materials[i] = -1
            entities[i] = -1
            continue
        item = wp.int32(0)
        if items.shape[0] > 0:
            item = items[i]
        if face != known or item != known_item:
            facet = facet_of(tables, face, item)
            known = face
            known_item = item
        distances[i] = distance_along(facet, origins[i * origin_step], directions[i], start, limits[i])
        materials[i] = facet.material
        entities[i] = facet.entity


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
        1,
        with_texture,
    )
    face = faces[i]
    if face < 0:
        out.distance[i] = wp.float64(wp.inf)
        out.material[i] = -1
        out.entity[i] = -1
        out.normal[i] = wp.vec3f(0.0, 0.0, 0.0)
        out.facing[i] = wp.vec3f(0.0, 0.0, 0.0)
        if with_texture != 0:
            out.opacity[i] = 1.0
        return
    item = wp.int32(0)
    if items.shape[0] > 0:
        item = items[i]
    facet = facet_of(tables, face, item)
    corners = facet.corners
    part = tables.parts[corners[3]]
    direction = directions[i]
    distance = distance_along(facet, origins[i * origin_step], direction, start, limits[i])
    out.distance[i] = distance
    out.material[i] = facet.material
    out.entity[i] = facet.entity
    w = 1.0 - u[i] - v[i]
    short = wp.vec3f(direction)
    smooth = (
        tables.normals[corners[0]] * w + tables.normals[corners[1]] * u[i] + tables.normals[corners[2]] * v[i]
    )
    shading = wp.transpose(part.to_local) * wp.vec3d(smooth)
    if item > 0:
        shading = wp.transpose(tables.object_inverse[item]) * shading
    facing = wp.vec3f(wp.normalize(facet.normal))
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
    local_direction = direction
    if item > 0:
        local_direction = tables.object_inverse[item] * direction
    local_direction = part.to_local * local_direction
    place = texture_point(
        tables,
        corners,
        u[i],
        v[i],
        facet.area,
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
        forward = wp.inverse(part.to_local)
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
            with_texture,
            out,
        )
