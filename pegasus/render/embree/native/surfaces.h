// Writes the surface points of hits.

#include "opacity.h"
#include "facet.h"
typedef wp::vec_t<3, float> Three;
const auto unit = [](const Three& a) {
    const float length = wp::sqrt(wp::dot(a, a));
    return length > 0.0f ? a / length : Three(0.0f, 0.0f, 0.0f);
};
// Of the triangle of the last hit: texture coordinates, and directions of the texture in the world.
wp::vec_t<2, float> uv, uv_one, uv_two;
float density = 0.0f;
Three flat, along, aside;
const auto texture = [&](int item) {
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
    const Three local[2] = {(one * v_two - two * v_one) / size, (two * u_one - one * u_two) / size};
    double world[2][3];
    for (int j = 0; j < 2; ++j) {
        for (int k = 0; k < 3; ++k) {
            const double* m = part.to_world.data[k];
            world[j][k] = m[0] * (double)(local[j][0]) + m[1] * (double)(local[j][1])
                + m[2] * (double)(local[j][2]);
        }
        if (item > 0) {
            const double inner[3] = {world[j][0], world[j][1], world[j][2]};
            turned(tables.object_inverse.data[item], inner, world[j]);
        }
        const double* w = world[j];
        const double length = wp::sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
        const double scale = length > 0.0 ? 1.0 / length : 0.0;
        for (int k = 0; k < 3; ++k) (j == 0 ? along : aside)[k] = (float)(w[k] * scale);
    }
};
for (int i = first; i < end; ++i) {
    ask_ahead(i, true, with_texture != 0);
    const int face = faces.data[i];
    if (face < 0) {
        out.distance.data[i] = __builtin_inf();
        out.material.data[i] = out.entity.data[i] = -1;
        out.normal.data[i] = out.facing.data[i] = Three(0.0f, 0.0f, 0.0f);
        if (with_texture != 0) out.opacity.data[i] = 1.0f;
        continue;
    }
    const int item = items.shape[0] > 0 ? items.data[i] : 0;
    if (take(face, item)) {
        const double* m = normal;
        const double size = wp::sqrt(m[0] * m[0] + m[1] * m[1] + m[2] * m[2]);
        for (int k = 0; k < 3; ++k) flat[k] = size > 0.0 ? (float)(m[k] / size) : 0.0f;
        if (with_texture != 0) texture(item);
    }
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
    double inner[3] = {(double)(smooth[0]), (double)(smooth[1]), (double)(smooth[2])}, bent[3];
    turned(part.to_local, inner, bent);
    if (item > 0) {
        for (int k = 0; k < 3; ++k) inner[k] = bent[k];
        turned(tables.object_inverse.data[item], inner, bent);
    }
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
    double way[3] = {direction[0], direction[1], direction[2]}, stretch = 0.0;
    if (item > 0) {
        const auto& m = tables.object_inverse.data[item];
        for (int k = 0; k < 3; ++k) {
            way[k] = 0.0;
            for (int j = 0; j < 3; ++j) way[k] += m.data[k][j] * direction[j];
        }
    }
    for (int k = 0; k < 3; ++k) {
        const double* m = part.to_local.data[k];
        const double component = m[0] * way[0] + m[1] * way[1] + m[2] * way[2];
        stretch += component * component;
    }
    out.uv.data[i] = uv + uv_one * b + uv_two * c;
    // Width of the ray in the texture.
    const float spread = cone * travelled * (float)(wp::sqrt(stretch));
    out.footprint.data[i] = spread * wp::sqrt(density / wp::max(area * wp::max(slant, 0.05f), 1.0e-20f));
    const auto& material = tables.materials.data[part.material];
    if (tables.colors.shape[0] > 0) {
        const auto* colors = tables.colors.data + part.color_shift;
        out.tint.data[i] = part.has_colors == 0 ? Three(1.0f, 1.0f, 1.0f)
            : colors[corners[0]] * a + colors[corners[1]] * b + colors[corners[2]] * c;
    }
    if (material.normal_map >= 0) {
        // Tangent (direction of the texture's u), and handedness of v: 1 or -1.
        const Three tangent = unit(along - shading * wp::dot(along, shading));
        const float side = wp::dot(wp::cross(shading, tangent), aside) < 0.0f ? -1.0f : 1.0f;
        out.tangent.data[i] = wp::vec_t<4, float>(tangent[0], tangent[1], tangent[2], side);
    }
    // Cut-out points are never hit.
    out.opacity.data[i] = material.blends == 0 ? 1.0f
        : Opacity::at(all, face + part.see_through_shift, b, c, slant, cone * travelled);
}
