// Chooses the lamps with the strongest light at points in rows of an image, and sums up all other light.

#include "eight.h"
#include "irradiance.h"
#include "lamp_ranking.h"
const float small = 0.06f;
const int total = choice.rest.shape[0], slots = choice.lamps.shape[1];
int* chosen = choice.lamps.data;
typedef wp::vec_t<3, float> Vector;
typedef float Place[3];
// Points from `start` on, relative to the middle of the lamps.
int start = 0;
Place places[64];
const auto& number = surface.material.data;
// Whether the normals of two points have nearly the same direction.
const auto level = [&](int i, int k) {
    return wp::dot(surface.normal.data[i], surface.normal.data[k]) > 0.98f
        && wp::dot(surface.facing.data[i], surface.facing.data[k]) > 0.98f;
};
const auto same_lamps = [&](int i, int k) {
    const int *one = chosen + i * slots, *other = chosen + k * slots;
    bool same = true;
    for (int slot = 0; slot < slots; ++slot) same = same && one[slot] == other[slot];
    return same;
};
const auto apart = [](const Place& a, const Place& b) {
    const float x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
    return x * x + y * y + z * z;
};
const auto choose_at = [&](int i) {
    const Place& point = places[i - start];
    const Vector &normal = surface.normal.data[i], &facing = surface.facing.data[i];
    const auto& direction = directions.data[i];
    const auto& material = materials.data[number[i]];
    const float passes = material.passes;
    float v[3], mirrored_way[3], slope = 0.0f;
    for (int k = 0; k < 3; ++k) {
        v[k] = (float)(direction[k]);
        slope += v[k] * normal[k];
    }
    for (int k = 0; k < 3; ++k) mirrored_way[k] = v[k] - normal[k] * (2.0f * slope);
    Probes probes = {};
    if (volume.spacing > 0.0f) probes = probes_at(point, facing.c);
    const Gloss gloss = gloss_of(material, -slope);
    const Ranking ranking = rank_lamps(probes, point, normal.c, facing.c, passes, v, gloss);
    const float* sum = ranking.total;
    float nearest = ranking.nearest, rest[3] = {sum[0], sum[1], sum[2]};
    // As close to each other as probes must be to differ little.
    const float close = 0.5f * volume.spacing / small;
    if (volume.spacing > 0.0f) nearest = wp::min(nearest, close * close);
    // Lamps with a small contribution are not traced.
    const float least_value = 0.02f * (0.2126f * sum[0] + 0.7152f * sum[1] + 0.0722f * sum[2]);
    int names[3];
    for (int slot = 0; slot < 3; ++slot) {
        const float value = ranking.values[slot];
        names[slot] = value > 0.0f && value >= least_value ? ranking.names[slot] : -1;
        if (names[slot] < 0) continue;
        const Vector& strength = lights.lamps.data[names[slot]].strength;
        for (int k = 0; k < 3; ++k) rest[k] -= strength[k] * ranking.shares[slot];
    }
    // Sorted by index, so that neighbours with the same lamps have them in the same slots.
    for (int round = 0; round < 2; ++round) for (int slot = 0; slot < 2; ++slot) {
        const int before = names[slot], after = names[slot + 1];
        if (after < 0 || (before >= 0 && after >= before)) continue;
        names[slot] = after;
        names[slot + 1] = before;
    }
    for (int slot = 0; slot < slots; ++slot) chosen[i * slots + slot] = names[slot];
    Four onto = ambient_toward(probes, normal.c);
    if (passes > 0.0f) {
        const float back[3] = {-normal[0], -normal[1], -normal[2]};
        onto += ambient_toward(probes, back) * passes;
    }
    const Four around = ambient_toward(probes, mirrored_way);
    for (int k = 0; k < 3; ++k) choice.rest.data[i][k] = wp::max(rest[k], 0.0f) + onto[k];
    for (int k = 0; k < 4; ++k) choice.around.data[i][k] = around[k];
    choice.reach.data[i] = small * small * nearest;
};
const auto interpolate = [&](int i, int a, int b, float part) {
    for (int slot = 0; slot < slots; ++slot) chosen[i * slots + slot] = chosen[a * slots + slot];
    choice.rest.data[i] = choice.rest.data[a] * (1.0f - part) + choice.rest.data[b] * part;
    choice.around.data[i] = choice.around.data[a] * (1.0f - part) + choice.around.data[b] * part;
    choice.reach.data[i] = choice.reach.data[a];
};
// Choose for the points between two of a row, first for the one halfway if these chose different lamps.
const auto fill = [&](int from, int to) {
    int ends[16], open = 0;
    for (ends[open++] = to; open > 0;) {
        const int end = ends[open - 1];
        if (end - from < 2 || same_lamps(from, end)) {
            for (int k = from + 1; k < end; ++k)
                interpolate(k, from, end, (float)(k - from) / (float)(end - from));
            from = end;
            --open;
            continue;
        }
        const int middle = (from + end) / 2;
        choose_at(middle);
        ends[open++] = middle;
    }
};
for (int end; start < total; start = end) {
    end = wp::min(start + 64, (start / width + 1) * width);
    for (int i = start; i < end; ++i) for (int k = 0; k < 3; ++k) {
        const double along = directions.data[i][k] * surface.distance.data[i];
        places[i - start][k] = (float)(origins.data[i * origin_step][k] + along - lights.middle[k]);
    }
    int known = -1;
    bool near = false;
    const auto near_known = [&](int i) {
        return number[i] >= 0 && level(i, known)
            && apart(places[i - start], places[known - start]) < choice.reach.data[known];
    };
    for (int i = start; i < end; ++i) {
        if (number[i] < 0) {
            near = false;
            for (int slot = 0; slot < slots; ++slot) chosen[i * slots + slot] = -1;
            continue;
        }
        // The last point near the known one ends the interval.
        if (near && i + 1 < end && near_known(i + 1)) continue;
        choose_at(i);
        if (near) fill(known, i);
        known = i;
        near = i + 1 < end && near_known(i + 1);
    }
}
