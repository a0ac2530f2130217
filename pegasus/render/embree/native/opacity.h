// Declares `Opacity::at`, the opacity of triangles by texture or constant, and `all`, the tables that it needs.

#include "pixels.h"
const auto* all = &tables;
struct Opacity {
    // Opacity at barycentric weights of the second and third corner; `slant` is the cosine of ray and
    // normal, `spread` the width of the ray there. A texture is read between four pixels of the mip level
    // that matches the ray best.
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
            if (use.wrap_s == 0) s -= (float)(Pixels::down(s));
            if (use.wrap_t == 0) t -= (float)(Pixels::down(t));
            // The square of the width in pixels; half its binary exponent is the level.
            const float across = spread * triangle.density;
            union { float number; int bits; } pixels;
            pixels.number = across * across * ((float)(width) * (float)(height)) / wp::max(slant, 0.05f);
            const int level = wp::min(wp::max(((pixels.bits >> 23) - 127) >> 1, 0), image[3] - 1);
            for (int k = 0; k < level; ++k) {
                first += width * height;
                width = wp::max(width / 2, 1);
                height = wp::max(height / 2, 1);
            }
            const float x = s * (float)(width) - 0.5f, y = (1.0f - t) * (float)(height) - 0.5f;
            const int left = Pixels::down(x), upper = Pixels::down(y);
            const bool inside = left >= 0 && left < width - 1 && upper >= 0 && upper < height - 1;
            const int place = first + upper * width + left;
            if (use.cells >= 0) {
                const int shift = use.cells - image[0];
                int kind = 2;
                if (inside) {
                    kind = known->cells.data[place + shift];
                } else {
                    const bool over = left < 0 || left >= width, beyond = upper < 0 || upper >= height;
                    if (!(over && use.wrap_s != 0) && !(beyond && use.wrap_t != 0)) {
                        const int column = over ? Pixels::wrapped(left, width, 0) : left;
                        const int line = beyond ? Pixels::wrapped(upper, height, 0) : upper;
                        kind = known->cells.data[first + shift + line * width + column];
                    }
                }
                if (kind != 2) return (float)(kind);
            }
            const int channel = use.channel < 0 ? 0 : use.channel;
            const float* codes = known->decoding.data + (channel == 3 ? 256 : use.decoding);
            const float right = x - (float)(left), lower = y - (float)(upper);
            float corners[4];
            for (int k = 0; k < 4; ++k) {
                int pixel = place + k % 2 + k / 2 * width;
                if (!inside) {
                    const int column = Pixels::wrapped(left + k % 2, width, use.wrap_s);
                    const int line = Pixels::wrapped(upper + k / 2, height, use.wrap_t);
                    pixel = column < 0 || line < 0 ? -1 : first + line * width + column;
                }
                corners[k] = pixel < 0 ? 0.0f : codes[known->pixels.data[pixel] >> (8 * channel) & 255u];
            }
            const float top = corners[0] + (corners[1] - corners[0]) * right;
            const float bottom = corners[2] + (corners[3] - corners[2]) * right;
            value = (top + (bottom - top) * lower) * use.scale[channel] + use.bias[channel];
        }
        if (material.threshold > 0.0f) return value < material.threshold ? 0.0f : 1.0f;
        return value < 0.002f ? 0.0f : wp::min(value, 1.0f);
    }
};
