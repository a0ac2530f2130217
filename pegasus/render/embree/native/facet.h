// Declares the plane of the triangle of the last hit, and the exact distance along a ray.

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
