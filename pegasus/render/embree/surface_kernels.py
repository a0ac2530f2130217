# Kernels are in the language of Warp, which the type checker cannot follow.
# mypy: ignore-errors
"""Warp kernels that compute surface points from hits.

Embree identifies the triangle; the distance is computed in float64.
"""

import warp as wp

from pegasus.render.embree.ray_kernels import GROUP
from pegasus.render.embree.surface_tables import Surface, Tables
from pegasus.render.embree.transparency import OPACITY

wp.set_module_options({"enable_backward": False, "block_dim": 1})

_FACET = """
    // Plane of the triangle of the last hit: points whose product with `normal` is `level`.
    int known = -1, known_item = 0, part_number = 0, entity = -1;
    wp::vec_t<4, int> corners;
    double normal[3], level = 0.0;
    float area = 0.0f;
    const auto turned = [](const wp::mat_t<3, 3, double>& m, const double* a, double* out) {
        for (int k = 0; k < 3; ++k) out[k] = m.data[0][k] * a[0] + m.data[1][k] * a[1] + m.data[2][k] * a[2];
    };
    const auto take = [&](int face, int item) {
        if (face == known && item == known_item) return false;
        known = face;
        known_item = item;
        corners = tables.triangles.data[face];
        part_number = corners[3];
        const auto& part = tables.parts.data[part_number];
        double points[3][3], one[3], two[3], across[3];
        for (int j = 0; j < 3; ++j)
            for (int k = 0; k < 3; ++k) points[j][k] = (double)(tables.vertices.data[corners[j]][k]);
        for (int k = 0; k < 3; ++k) {
            one[k] = points[1][k] - points[0][k];
            two[k] = points[2][k] - points[0][k];
        }
        across[0] = one[1] * two[2] - one[2] * two[1];
        across[1] = one[2] * two[0] - one[0] * two[2];
        across[2] = one[0] * two[1] - one[1] * two[0];
        level = 0.0;
        for (int k = 0; k < 3; ++k) level += (points[0][k] - part.offset[k]) * across[k];
        turned(part.to_local, across, normal);
        entity = part.entity;
        if (item > 0) {
            const double inner[3] = {normal[0], normal[1], normal[2]};
            for (int k = 0; k < 3; ++k) level -= tables.object_offset.data[item][k] * inner[k];
            turned(tables.object_inverse.data[item], inner, normal);
            entity = tables.object_entity.data[item];
        }
        area = (float)(wp::sqrt(across[0] * across[0] + across[1] * across[1] + across[2] * across[2]));
        return true;
    };
    // Distance of the triangle along a ray, near the one that Embree found from `start` on.
    const auto distance_along = [&](int i) {
        const auto &origin = origins.data[i * origin_step], &direction = directions.data[i];
        double above = level, along = 0.0;
        for (int k = 0; k < 3; ++k) {
            above -= normal[k] * origin[k];
            along += normal[k] * direction[k];
        }
        const double guess = (double)(limits.data[i]) + start, distance = above / along;
        // A ray in the plane of the triangle has no unique intersection.
        return wp::abs(distance - guess) < 1.0e-3 * guess + 1.0e-3 ? distance : guess;
    };
    // What the next rays have met lies anywhere in memory; asked for early, it is there in time.
    const auto ask_ahead = [&](int i, bool shaded, bool textured) {
        const int soon = i + 8, later = i + 24;
        if (later < found && faces.data[later] >= 0)
            __builtin_prefetch(&tables.triangles.data[faces.data[later]]);
        if (soon < found && faces.data[soon] >= 0) {
            const auto& next = tables.triangles.data[faces.data[soon]];
            for (int k = 0; k < 3; ++k) {
                __builtin_prefetch(&tables.vertices.data[next[k]]);
                if (shaded) __builtin_prefetch(&tables.normals.data[next[k]]);
                if (textured) __builtin_prefetch(&tables.uvs.data[next[k]]);
            }
        }
    };
"""

DISTANCES = f"""{_FACET}
    for (int i = first; i < end; ++i) {{
        ask_ahead(i, false, false);
        const int face = faces.data[i];
        if (face < 0) {{
            distances.data[i] = __builtin_inf();
            materials.data[i] = entities.data[i] = -1;
            continue;
        }}
        take(face, items.shape[0] > 0 ? items.data[i] : 0);
        distances.data[i] = distance_along(i);
        materials.data[i] = tables.parts.data[part_number].material;
        entities.data[i] = entity;
    }}
"""
"""Native code of `write_distances`."""

SURFACES = f"""{OPACITY}{_FACET}
    typedef wp::vec_t<3, float> Three;
    const auto unit = [](const Three& a) {{
        const float length = wp::sqrt(wp::dot(a, a));
        return length > 0.0f ? a / length : Three(0.0f, 0.0f, 0.0f);
    }};
    // Of the triangle of the last hit: texture coordinates, and directions of the texture in the world.
    wp::vec_t<2, float> uv, uv_one, uv_two;
    float density = 0.0f;
    Three flat, along, aside;
    const auto texture = [&](int item) {{
        const auto& part = tables.parts.data[part_number];
        uv = tables.uvs.data[corners[0]];
        uv_one = tables.uvs.data[corners[1]] - uv;
        uv_two = tables.uvs.data[corners[2]] - uv;
        density = wp::abs(uv_one[0] * uv_two[1] - uv_one[1] * uv_two[0]);
        const int map = tables.materials.data[part.material].normal_map;
        if (map < 0) return;
        const auto& use = tables.uses.data[map];
        const float u_one = use.u_row[0] * uv_one[0] + use.u_row[1] * uv_one[1];
        const float u_two = use.u_row[0] * uv_two[0] + use.u_row[1] * uv_two[1];
        const float v_one = use.v_row[0] * uv_one[0] + use.v_row[1] * uv_one[1];
        const float v_two = use.v_row[0] * uv_two[0] + use.v_row[1] * uv_two[1];
        const float size = u_one * v_two - u_two * v_one;
        along = aside = Three(0.0f, 0.0f, 0.0f);
        // Degenerate texture coordinates have no direction.
        if (wp::abs(size) < 1.0e-20f) return;
        const Three one = tables.vertices.data[corners[1]] - tables.vertices.data[corners[0]];
        const Three two = tables.vertices.data[corners[2]] - tables.vertices.data[corners[0]];
        const Three local[2] = {{(one * v_two - two * v_one) / size, (two * u_one - one * u_two) / size}};
        double world[2][3];
        for (int j = 0; j < 2; ++j) {{
            for (int k = 0; k < 3; ++k) {{
                const double* m = part.to_world.data[k];
                world[j][k] = m[0] * (double)(local[j][0]) + m[1] * (double)(local[j][1])
                    + m[2] * (double)(local[j][2]);
            }}
            if (item > 0) {{
                const double inner[3] = {{world[j][0], world[j][1], world[j][2]}};
                turned(tables.object_inverse.data[item], inner, world[j]);
            }}
            const double* w = world[j];
            const double length = wp::sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
            const double scale = length > 0.0 ? 1.0 / length : 0.0;
            for (int k = 0; k < 3; ++k) (j == 0 ? along : aside)[k] = (float)(w[k] * scale);
        }}
    }};
    for (int i = first; i < end; ++i) {{
        ask_ahead(i, true, with_texture != 0);
        const int face = faces.data[i];
        if (face < 0) {{
            out.distance.data[i] = __builtin_inf();
            out.material.data[i] = out.entity.data[i] = -1;
            out.normal.data[i] = out.facing.data[i] = Three(0.0f, 0.0f, 0.0f);
            if (with_texture != 0) out.opacity.data[i] = 1.0f;
            continue;
        }}
        const int item = items.shape[0] > 0 ? items.data[i] : 0;
        if (take(face, item)) {{
            const double* m = normal;
            const double size = wp::sqrt(m[0] * m[0] + m[1] * m[1] + m[2] * m[2]);
            for (int k = 0; k < 3; ++k) flat[k] = size > 0.0 ? (float)(m[k] / size) : 0.0f;
            if (with_texture != 0) texture(item);
        }}
        const auto& part = tables.parts.data[part_number];
        const auto& direction = directions.data[i];
        const double distance = distance_along(i);
        out.distance.data[i] = distance;
        out.material.data[i] = part.material;
        out.entity.data[i] = entity;
        const float b = u.data[i], c = v.data[i], a = 1.0f - b - c;
        const Three short_way((float)(direction[0]), (float)(direction[1]), (float)(direction[2]));
        const Three facing = wp::dot(flat, short_way) > 0.0f ? -flat : flat;
        const Three smooth = tables.normals.data[corners[0]] * a + tables.normals.data[corners[1]] * b
            + tables.normals.data[corners[2]] * c;
        double inner[3] = {{(double)(smooth[0]), (double)(smooth[1]), (double)(smooth[2])}}, bent[3];
        turned(part.to_local, inner, bent);
        if (item > 0) {{
            for (int k = 0; k < 3; ++k) inner[k] = bent[k];
            turned(tables.object_inverse.data[item], inner, bent);
        }}
        const double size = wp::sqrt(bent[0] * bent[0] + bent[1] * bent[1] + bent[2] * bent[2]);
        const double scale = size > 0.0 ? 1.0 / size : 0.0;
        Three shading((float)(bent[0] * scale), (float)(bent[1] * scale), (float)(bent[2] * scale));
        if (!(wp::abs(wp::dot(shading, facing)) > 1.0e-3f)) shading = facing;
        if (wp::dot(shading, facing) < 0.0f) shading = -shading;
        const float slope = wp::dot(shading, short_way);
        if (slope > -1.0e-3f) shading = unit(shading - short_way * (slope + 1.0e-3f));
        out.facing.data[i] = facing;
        out.normal.data[i] = shading;
        if (with_texture == 0) continue;
        const float travelled = (float)(distance) + (passed.shape[0] > 0 ? passed.data[i] : 0.0f);
        const float slant = wp::abs(wp::dot(facing, short_way));
        double way[3] = {{direction[0], direction[1], direction[2]}}, stretch = 0.0;
        if (item > 0) {{
            const auto& m = tables.object_inverse.data[item];
            for (int k = 0; k < 3; ++k) {{
                way[k] = 0.0;
                for (int j = 0; j < 3; ++j) way[k] += m.data[k][j] * direction[j];
            }}
        }}
        for (int k = 0; k < 3; ++k) {{
            const double* m = part.to_local.data[k];
            const double component = m[0] * way[0] + m[1] * way[1] + m[2] * way[2];
            stretch += component * component;
        }}
        out.uv.data[i] = uv + uv_one * b + uv_two * c;
        // Width of the ray in the texture.
        const float spread = cone * travelled * (float)(wp::sqrt(stretch));
        out.footprint.data[i] = spread * wp::sqrt(density / wp::max(area * wp::max(slant, 0.05f), 1.0e-20f));
        const auto& material = tables.materials.data[part.material];
        if (tables.colors.shape[0] > 0) {{
            const auto* colors = tables.colors.data + part.color_shift;
            out.tint.data[i] = part.has_colors == 0 ? Three(1.0f, 1.0f, 1.0f)
                : colors[corners[0]] * a + colors[corners[1]] * b + colors[corners[2]] * c;
        }}
        if (material.normal_map >= 0) {{
            // Tangent (direction of the texture's u), and handedness of v: 1 or -1.
            const Three tangent = unit(along - shading * wp::dot(along, shading));
            const float side = wp::dot(wp::cross(shading, tangent), aside) < 0.0f ? -1.0f : 1.0f;
            out.tangent.data[i] = wp::vec_t<4, float>(tangent[0], tangent[1], tangent[2], side);
        }}
        // Cut-out points are never hit.
        out.opacity.data[i] = material.blends == 0 ? 1.0f
            : Opacity::at(all, face + part.see_through_shift, b, c, slant, cone * travelled);
    }}
"""
"""Native code of `write_surfaces`."""


@wp.func_native(DISTANCES)
def write_distances(
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
    first: wp.int32,
    end: wp.int32,
    found: wp.int32,
):
    """Write distances, materials and entities of hits `first` to `end`; those up to `found` are known."""


@wp.func_native(SURFACES)
def write_surfaces(
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
    first: wp.int32,
    end: wp.int32,
    found: wp.int32,
):
    """Write the surface points of hits `first` to `end`; those up to `found` are known."""


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
    end = wp.min(first + GROUP, faces.shape[0])
    write_distances(
        tables,
        origins,
        origin_step,
        directions,
        start,
        limits,
        faces,
        items,
        distances,
        materials,
        entities,
        first,
        end,
        faces.shape[0],
    )


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
    end = wp.min(first + GROUP, faces.shape[0])
    write_surfaces(
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
        first,
        end,
        faces.shape[0],
    )
