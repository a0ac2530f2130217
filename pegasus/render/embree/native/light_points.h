// Writes the radiance along some rays, eight points at a time.

#include "eight.h"
#include "texture_lookup.h"
const auto& sky = lights.sky;
#include "reflection.h"
const int slots = choice.lamps.shape[1];
// Parameters of eight surface points, textures applied.
struct alignas(32) Points {
    float n[3][8], tangent[4][8], bump[3][8], v[3][8], place[3][8], base[3][8], mirror[3][8];
    float rest[3][8], around[4][8], glow[3][8], roughness[8], coat[8], coat_roughness[8], passes[8];
} points;
struct alignas(32) Lamps {
    float kind[8], position[3][8], axis[3][8], strength[3][8], softness[8], radius[8], shown[8];
    float slope[8], offset[8];
    float half_extent[8];
} lamps;
typedef float Row[8];
const auto row = [](const Row& values) {
    Eight value;
    __builtin_memcpy(&value, values, 32);
    return value;
};
const auto rows = [&](const Row* values) -> Three {
    return {row(values[0]), row(values[1]), row(values[2])};
};
for (int start = first; start < end; start += 8) {
    const int count = wp::min(8, end - start);
    Whole here = {}, bumped = {}, outside = {};
    __builtin_memset(&points, 0, sizeof points);
    for (int j = 0; j < count; ++j) {
        const int i = start + j;
        const auto& direction = directions.data[i];
        const float v[3] = {(float)(direction[0]), (float)(direction[1]), (float)(direction[2])};
        for (int k = 0; k < 3; ++k) points.v[k][j] = v[k];
        const int number = surface.material.data[i];
        if (number < 0) {
            outside[j] = v[0] * v[0] + v[1] * v[1] + v[2] * v[2] > 0.5f ? -1 : 0;
            continue;
        }
        here[j] = -1;
        const auto& material = tables.materials.data[number];
        const float uv[2] = {surface.uv.data[i][0], surface.uv.data[i][1]};
        const float footprint = surface.footprint.data[i];
        spot.layout = -1;
        const auto color = [&](const wp::vec_t<3, float>& constant, int map, float* out) {
            for (int k = 0; k < 3; ++k) out[k] = constant[k];
            if (map >= 0) look_up(map, uv, footprint, 0, 3, true, out);
        };
        const auto parameter = [&](float constant, int map) {
            if (map < 0) return constant;
            const int channel = wp::max(tables.uses.data[map].channel, 0);
            look_up(map, uv, footprint, channel, 1, false, &constant);
            return constant;
        };
        if (material.normal_map >= 0) {
            float bump[3];
            look_up(material.normal_map, uv, footprint, 0, 3, false, bump);
            for (int k = 0; k < 3; ++k) points.bump[k][j] = bump[k];
            for (int k = 0; k < 4; ++k) points.tangent[k][j] = surface.tangent.data[i][k];
            bumped[j] = -1;
        }
        float base[3], mirror[3], glow[3];
        color(material.diffuse, material.diffuse_map, base);
        if (tables.colors.shape[0] > 0) for (int k = 0; k < 3; ++k) base[k] *= surface.tint.data[i][k];
        const float roughness = parameter(material.roughness, material.roughness_map);
        points.roughness[j] = wp::min(wp::max(roughness, 0.0f), 1.0f);
        if (material.has_specular != 0) {
            color(material.specular, material.specular_map, mirror);
        } else {
            const float metallic = parameter(material.metallic, material.metallic_map);
            const float f = material.reflectance * (1.0f - metallic);
            for (int k = 0; k < 3; ++k) mirror[k] = f + base[k] * metallic;
            for (int k = 0; k < 3; ++k) base[k] *= 1.0f - metallic;
        }
        color(material.emissive, material.emissive_map, glow);
        // A blended surface contributes its own colour times its opacity, and its full reflections.
        const float opacity = surface.opacity.data[i];
        const auto& origin = origins.data[i * origin_step];
        const double distance = surface.distance.data[i];
        for (int k = 0; k < 3; ++k) {
            points.n[k][j] = surface.normal.data[i][k];
            points.place[k][j] = (float)(origin[k] + direction[k] * distance - lights.middle[k]);
            points.base[k][j] = base[k] * opacity;
            points.mirror[k][j] = mirror[k];
            points.glow[k][j] = glow[k] * (sky.emission * opacity);
            points.rest[k][j] = choice.rest.data[i][k];
        }
        for (int k = 0; k < 4; ++k) points.around[k][j] = choice.around.data[i][k];
        points.coat[j] = material.clearcoat;
        points.coat_roughness[j] = material.clearcoat_roughness;
        points.passes[j] = material.passes;
    }
    const Three v = rows(points.v);
    Three value = {none, none, none};
    if (any(outside)) {
        value = sky_toward(v, outside);
        for (int k = 0; k < lights.lamps.shape[0] && discs != 0; ++k) {
            const auto& lamp = lights.lamps.data[k];
            if (lamp.kind != 0) continue;
            const auto& a = lamp.axis;
            const float disc = lamp.softness;
            // For small angles the sine is accurate where the cosine is not.
            const Three aside = {
                v.y * a[2] - v.z * a[1], v.z * a[0] - v.x * a[2], v.x * a[1] - v.y * a[0]};
            const Whole ahead = v.x * a[0] + v.y * a[1] + v.z * a[2] > none;
            const Whole hit = ahead & (root(aside.dot(aside)) < none + lamp.radius);
            value.x += outside & hit ? none + lamp.strength[0] * disc : none;
            value.y += outside & hit ? none + lamp.strength[1] * disc : none;
            value.z += outside & hit ? none + lamp.strength[2] * disc : none;
        }
    }
    if (any(here)) {
        Three n = rows(points.n);
        if (any(bumped)) {
            // The tangent is zero if the texture has no direction.
            const Three along = rows(points.tangent), bump = rows(points.bump);
            const Three cross = {
                n.y * along.z - n.z * along.y,
                n.z * along.x - n.x * along.z,
                n.x * along.y - n.y * along.x};
            const Three bent = unit(along * bump.x + cross * (row(points.tangent[3]) * bump.y)
                + n * most(bump.z, none + 0.05f));
            n.x = bumped ? bent.x : n.x;
            n.y = bumped ? bent.y : n.y;
            n.z = bumped ? bent.z : n.z;
        }
        const Three base = rows(points.base), mirror = rows(points.mirror);
        const Three around = rows(points.around);
        const Eight roughness = row(points.roughness), open = row(points.around[3]);
        const Eight passes = row(points.passes);
        const Eight coat = row(points.coat), coat_roughness = row(points.coat_roughness);
        const bool coated = any(coat > none), passing = any(passes > none);
        Three lit = rows(points.glow) + rows(points.rest) * base * (one / pi);
        lit = lit + mirrored(n, v, around, open, mirror, roughness, here);
        if (coated) {
            const Three gloss = {coat * 0.04f, coat * 0.04f, coat * 0.04f};
            lit = lit + mirrored(n, v, around, open, gloss, coat_roughness, here & (coat > none));
        }
        const Eight top = least(luminance_of(mirror) * 50.0f, one), nv = most(-n.dot(v), none + 1.0e-3f);
        const Three place = rows(points.place);
        for (int slot = 0; slot < slots; ++slot) {
            bool some = false;
            for (int j = 0; j < 8; ++j) {
                const int entry = wp::min(start + j, end - 1) * slots + slot;
                const int chosen = choice.lamps.data[entry];
                const bool used = here[j] != 0 && chosen >= 0;
                lamps.shown[j] = used ? visible.data[entry] : 0.0f;
                some = some || lamps.shown[j] > 0.0f;
                const auto& lamp = lights.lamps.data[used ? chosen : 0];
                for (int k = 0; k < 3; ++k) {
                    lamps.position[k][j] = lamp.position[k];
                    lamps.axis[k][j] = lamp.axis[k];
                    lamps.strength[k][j] = lamp.strength[k];
                }
                lamps.kind[j] = (float)(lamp.kind);
                lamps.softness[j] = lamp.softness;
                lamps.radius[j] = lamp.radius;
                lamps.half_extent[j] = lamp.half_extent;
                lamps.slope[j] = lamp.cone[0];
                lamps.offset[j] = lamp.cone[1];
            }
            if (!some) continue;
            // Irradiance at normal incidence: exactly pi L r^2 / d^2 from a sphere, and
            // L A / (d^2 + A / pi) from a disk on its axis. The reflection model applies the cosine.
            const Eight kind = row(lamps.kind), radius = row(lamps.radius);
            const Three axis = rows(lamps.axis), toward = rows(lamps.position) - place;
            const Eight length = most(root(toward.dot(toward)), none + 1.0e-6f);
            const Eight square = most(length * length, radius * radius);
            const Eight flat = most(-toward.dot(axis), none) / (square * (square + row(lamps.softness)));
            const Eight onto = kind > none + 1.5f ? length * flat : length / (square * root(square));
            const Whole distant = kind < none + 0.5f;
            const Three near = toward * (one / length);
            const Three way = {
                distant ? axis.x : near.x, distant ? axis.y : near.y, distant ? axis.z : near.z};
            Eight shown = row(lamps.shown);
            const Eight slope = row(lamps.slope);
            if (any(slope > none)) {
                // UsdLuxShapingAPI, cone:softness, over the cosine in place of the angle.
                const Eight part = least(most(row(lamps.offset) - slope * near.dot(axis), none), one);
                shown *= part * part * (3.0f - 2.0f * part);
            }
            const Three light = rows(lamps.strength) * (shown * (distant ? one : onto));
            const Eight cosine = n.dot(way), nl = most(cosine, none);
            const Three half = unit(way - v);
            const Eight nh = least(most(n.dot(half), none), one);
            const Eight vh = least(most(-v.dot(half), none), one);
            const Eight slant = one - vh, squared = slant * slant, grazing = squared * squared * slant;
            const Eight half_angle = row(lamps.half_extent) * (distant ? one : one / length);
            const Eight gloss = lobe(roughness, half_angle, nh, nl, nv);
            Three sent = base * (one / pi) + (mirror * (one - grazing) + top * grazing) * gloss;
            if (coated) {
                const Eight shine = coat * (grazing * 0.96f + 0.04f);
                sent = sent * (one - shine) + shine * lobe(coat_roughness, half_angle, nh, nl, nv);
            }
            lit = lit + light * sent * nl;
            if (passing) lit = lit + light * base * (most(-cosine, none) * passes * (one / pi));
        }
        value.x = here ? lit.x : value.x;
        value.y = here ? lit.y : value.y;
        value.z = here ? lit.z : value.z;
    }
    for (int j = 0; j < count; ++j)
        radiance.data[start + j] = wp::vec_t<3, float>(value.x[j], value.y[j], value.z[j]);
}
