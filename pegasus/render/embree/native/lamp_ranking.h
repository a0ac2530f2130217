// Declares `rank_lamps` for `lights`: ranks all lamps at a point, eight lamps at a time. Needs eight.h and
// irradiance.h.

// How much a reflection of a lamp counts beside its diffuse light, over the albedo of most surfaces.
const float favoured = 10.0f;
typedef unsigned char Bytes __attribute__((vector_size(8)));
// What a point reflects of a lamp beside its diffuse light, relative to that: `weight` times the lobe of
// the reflection model, at most `most`, with Schlick's reflectance (1994) at the cosine of eye and
// normal, `view`; `mask` is the k of Smith's shadowing.
struct Gloss { float weight, alpha, mask, view, most; };
const auto gloss_of = [&](const auto& material, float view) -> Gloss {
    const bool coated = material.clearcoat > 0.0f;
    const float roughness =
        coated ? wp::min(material.roughness, material.clearcoat_roughness) : material.roughness;
    const float alpha = wp::max(roughness * roughness, 0.004f), square = alpha * alpha;
    view = wp::min(wp::max(view, 1.0e-3f), 1.0f);
    const float slant = 1.0f - view, grazing = slant * slant * slant * slant * slant;
    const auto& mirror = material.specular;
    const float least = material.has_specular != 0 ? (mirror[0] + mirror[1] + mirror[2]) / 3.0f
                                                   : material.reflectance + 0.6f * material.metallic;
    const float mask = 0.5f * alpha;
    const float shine = least + (1.0f - least) * grazing;
    const float weight = 0.25f * favoured * shine / (view * (1.0f - mask) + mask);
    // Reflections of up to a tenth of the diffuse light change nothing.
    return {weight, alpha, mask, view, weight > square ? weight / (square * mask) : 0.0f};
};
// The three lamps with the strongest light at a point, as probes see it: -1 for none, their values, and
// their irradiance per unit of strength; then the light of all lamps, and the squared distance to the
// nearest one. Lamps whose reflection is visible on a glossy surface take precedence.
struct Ranking { int names[3]; float values[3], shares[3], total[3], nearest; };
const auto rank_lamps = [&](const Probes& probes, const float* point, const float* normal,
        const float* facing, float passes, const float* way, const Gloss& gloss) {
    const auto& lamps = lights.columns;
    const int count = lamps.shape[1];
    const float inside = probes.inside;
    const auto column = [&](int field, int k) {
        Eight value;
        __builtin_memcpy(&value, lamps.data + field * count + k, 32);
        return value;
    };
    const unsigned char* seen_by[8] = {};
    if (inside > 0.0f)
        for (int j = 0; j < 8; ++j) seen_by[j] = volume.lamps.data + (long long)(probes.rows[j]) * count;
    Ranking result = {{-1, -1, -1}, {}, {}, {}, 1.0e30f};
    Eight red = none, green = none, blue = none, nearest = none + 1.0e30f;
    for (int k = 0; k < count; k += 8) {
        const Eight local = column(0, k);
        const Eight x = column(1, k) - local * point[0];
        const Eight y = column(2, k) - local * point[1];
        const Eight z = column(3, k) - local * point[2];
        const Eight square = x * x + y * y + z * z;
        nearest = least(square + column(13, k), nearest);
        const Eight cosine = x * normal[0] + y * normal[1] + z * normal[2];
        const Eight side = x * facing[0] + y * facing[1] + z * facing[2];
        const Eight onto = side > none ? cosine : cosine * -passes;
        const Whole lit = onto > none;
        if (!any(lit)) continue;
        const Eight held = most(square, column(12, k));
        const Eight along = most(-(x * column(4, k) + y * column(5, k) + z * column(6, k)), none);
        const Whole flat = column(10, k) > none;
        const Eight spread = held * (flat ? held + column(11, k) : root(held));
        Eight share = lit ? onto * (flat ? along : one) / spread : none;
        const Eight slope = column(15, k);
        if (any(slope > none)) {
            const Eight cosine_to_axis = along / root(most(square, none + 1.0e-12f));
            const Eight part = least(most(slope * cosine_to_axis + column(16, k), none), one);
            share *= part * part * (3.0f - 2.0f * part);
        }
        Eight seen = one;
        if (inside > 0.0f) {
            Eight sum = none;
            for (int j = 0; j < 8; ++j) {
                Bytes part;
                __builtin_memcpy(&part, seen_by[j] + k, 8);
                sum += __builtin_convertvector(part, Eight) * probes.weights[j];
            }
            seen = 1.0f - inside + sum * (inside / 255.0f);
        }
        const Eight own_red = column(7, k), own_green = column(8, k), own_blue = column(9, k);
        const Eight lit_by = share * seen;
        red += own_red * lit_by;
        green += own_green * lit_by;
        blue += own_blue * lit_by;
        // Probes may miss what a gap lets through.
        const Eight brightness = own_red * 0.2126f + own_green * 0.7152f + own_blue * 0.0722f;
        const Eight value = brightness * share * (seen * 0.9f + 0.1f);
        if (!any(value * (1.0f + gloss.most) > none + result.values[2])) continue;
        Eight ranked = value;
        if (gloss.most > 0.0f) {
            const Eight inverse = one / root(most(square, none + 1.0e-12f));
            const Eight nl = most(cosine, none) * inverse, between = nl + gloss.view;
            // Square of the sum of both directions; the cosine of half vector and normal is
            // `between` over its root.
            const Eight toward_eye = (x * way[0] + y * way[1] + z * way[2]) * -inverse;
            const Eight sum = most(toward_eye * 2.0f + 2.0f, none + 1.0e-6f);
            const Eight alpha = least(column(14, k) * inverse + gloss.alpha, one), narrow = alpha * alpha;
            const Eight q = between * between * (narrow - 1.0f) + sum;
            const Eight shadowing = nl * (1.0f - gloss.mask) + gloss.mask;
            const Eight lobe = sum * sum * narrow / (q * q * shadowing);
            ranked *= lobe * gloss.weight + 1.0f;
            if (!any(ranked > none + result.values[2])) continue;
        }
        for (int j = 0; j < 8; ++j) {
            float own = ranked[j], own_share = lit_by[j];
            if (!(own > result.values[2])) continue;
            int name = k + j;
            for (int slot = 0; slot < 3; ++slot) {
                if (!(own > result.values[slot])) continue;
                const float value_there = result.values[slot], share_there = result.shares[slot];
                const int name_there = result.names[slot];
                result.values[slot] = own;
                result.names[slot] = name;
                result.shares[slot] = own_share;
                own = value_there;
                name = name_there;
                own_share = share_there;
            }
        }
    }
    for (int j = 0; j < 8; ++j) {
        result.total[0] += red[j];
        result.total[1] += green[j];
        result.total[2] += blue[j];
        result.nearest = wp::min(result.nearest, nearest[j]);
    }
    return result;
};
