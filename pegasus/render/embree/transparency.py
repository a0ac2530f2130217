"""Transparency of triangles by texture or constant, as a filter of Embree's hits.

Embree calls the filter for each hit while it casts a ray, so that a ray through foliage is cast once. The
native code follows the layout of Embree's headers (RTCFilterFunctionNArguments).
"""

OPACITY = """
    const auto* all = &tables;
    struct Opacity {
        static int wrapped(int index, int count, int mode) {
            if (index >= 0 && index < count) return index;
            if (mode == 1) return index < 0 ? 0 : count - 1;
            if (mode == 3) return -1;
            const int period = mode == 2 ? 2 * count : count;
            int k = index % period;
            if (k < 0) k += period;
            return k >= count ? period - 1 - k : k;
        }
        // One channel of a texture between four pixels of a level of its image.
        static float level(decltype(all) known, int row, int first, int width, int height, float u, float v) {
            const auto& use = known->uses.data[row];
            const float x = u * width - 0.5f, y = (1.0f - v) * height - 0.5f;
            const int left = (int)(wp::floor(x)), upper = (int)(wp::floor(y));
            const float across = x - left, down = y - upper;
            const int channel = use.channel < 0 ? 0 : use.channel, codes = channel == 3 ? 256 : use.decoding;
            float value = 0.0f;
            for (int k = 0; k < 4; ++k) {
                const int column = wrapped(left + k % 2, width, use.wrap_s);
                const int line = wrapped(upper + k / 2, height, use.wrap_t);
                if (column < 0 || line < 0) continue;
                const unsigned code = known->pixels.data[first + line * width + column] >> (8 * channel);
                const float weight = (k % 2 ? across : 1.0f - across) * (k / 2 ? down : 1.0f - down);
                value += known->decoding.data[codes + (int)(code & 255u)] * weight;
            }
            return value * use.scale[channel] + use.bias[channel];
        }
        // Class of the cell between four pixels: 0 if it is wholly cut out, 1 if opaque, else 2.
        static int cell(decltype(all) known, int row, int first, int width, int height, float u, float v) {
            const auto& use = known->uses.data[row];
            const int left = (int)(wp::floor(u * width - 0.5f));
            const int upper = (int)(wp::floor((1.0f - v) * height - 0.5f));
            const bool across = left >= 0 && left < width, down = upper >= 0 && upper < height;
            if ((!across && use.wrap_s != 0) || (!down && use.wrap_t != 0)) return 2;
            const int column = across ? left : wrapped(left, width, 0);
            const int line = down ? upper : wrapped(upper, height, 0);
            return known->cells.data[first + line * width + column];
        }
        // Opacity at barycentric weights of the second and third corner; `slant` is the cosine of ray and
        // normal, `spread` the width of the ray there.
        static float at(decltype(all) known, int row, float u, float v, float slant, float spread) {
            const auto& triangle = known->see_through.data[row];
            const auto& material = known->materials.data[triangle.material];
            float value = material.opacity;
            const int map = material.opacity_map;
            if (map >= 0) {
                const auto& use = known->uses.data[map];
                const int* image = known->images.data + 4 * use.image;
                int first = image[0], width = image[1], height = image[2];
                float s = triangle.a[0] + triangle.one[0] * u + triangle.two[0] * v;
                float t = triangle.a[1] + triangle.one[1] * u + triangle.two[1] * v;
                // Repeating far from the origin would cost the fraction its digits.
                if (use.wrap_s == 0) s -= wp::floor(s);
                if (use.wrap_t == 0) t -= wp::floor(t);
                const float area = (float)(width) * (float)(height) / wp::max(slant, 0.05f);
                const float texels = spread * triangle.density * wp::sqrt(area);
                const float most = (float)(image[3] - 1);
                const float fine = texels > 1.0f ? wp::min(wp::log2(texels), most) : 0.0f;
                const int whole = (int)(fine), base = first;
                for (int k = 0; k < whole; ++k) {
                    first += width * height;
                    width = wp::max(width / 2, 1);
                    height = wp::max(height / 2, 1);
                }
                const float part = fine - (float)(whole);
                const bool blend = part > 0.02f && whole < image[3] - 1;
                const int next = first + width * height;
                const int across = wp::max(width / 2, 1), down = wp::max(height / 2, 1);
                if (use.cells >= 0) {
                    const int shift = use.cells - base;
                    const int kind = cell(known, map, first + shift, width, height, s, t);
                    if (kind != 2 && (!blend || cell(known, map, next + shift, across, down, s, t) == kind))
                        return (float)(kind);
                }
                value = level(known, map, first, width, height, s, t);
                if (blend) {
                    value = value * (1.0f - part) + level(known, map, next, across, down, s, t) * part;
                }
            }
            if (material.threshold > 0.0f) return value < material.threshold ? 0.0f : 1.0f;
            return value < 0.002f ? 0.0f : wp::min(value, 1.0f);
        }
    };
"""
"""Native code that declares `Opacity::at` and `all`, the tables that it needs."""

FILTER = f"""{OPACITY}
    struct Query {{
        // Embree's own part: the instances that it is in.
        unsigned instances[16];
        decltype(all) known;
        const float* passed;
        float start, cone, dark;
        float* light;
        int first;
    }};
    struct Candidates {{
        int* valid; void* owner; const Query* query; float* rays; float* hits; unsigned count;
    }};
    struct Filter {{
        static void call(const Candidates* candidates) {{
            const Query& query = *candidates->query;
            const unsigned n = candidates->count;
            for (unsigned k = 0; k < n; ++k) {{
                if (candidates->valid[k] == 0) continue;
                const float *ray = candidates->rays + k, *hit = candidates->hits + k;
                const float x = ray[4 * n], y = ray[5 * n], z = ray[6 * n];
                const float a = hit[0], b = hit[n], c = hit[2 * n];
                const float squares = (x * x + y * y + z * z) * (a * a + b * b + c * c);
                const float slant = wp::abs(a * x + b * y + c * z) / wp::sqrt(wp::max(squares, 1e-30f));
                const unsigned id = ((const unsigned*)ray)[10 * n], face = ((const unsigned*)hit)[5 * n];
                const float way = ray[8 * n] + query.start + (query.passed ? query.passed[id] : 0.0f);
                const float value = Opacity::at(
                    query.known, query.first + (int)(face), hit[3 * n], hit[4 * n], slant, query.cone * way);
                if (query.light == nullptr) {{
                    if (value <= 0.0f) candidates->valid[k] = 0;
                }} else if (value < 1.0f) {{
                    query.light[id] *= 1.0f - value;
                    if (query.light[id] > query.dark) candidates->valid[k] = 0;
                }}
            }}
        }}
    }};
    Query query;
    for (int k = 0; k < 16; ++k) query.instances[k] = 0xffffffffu;
    query.known = all;
    query.first = first_see_through;
    query.passed = passed.shape[0] > 0 ? passed.data : nullptr;
    query.start = start;
    query.cone = cone;
"""
"""Native code that declares `query` and `Filter::call` from the arguments of a function that casts rays."""
