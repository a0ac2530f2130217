// Declares `look_up` for the textures of `tables`, and `spot`, whose layout must be -1 before the first texture of
// each point.

#include "pixels.h"
// Pixels around a point and their weights: four of the mip level that is larger than the footprint, then
// four of the smaller one, whose part in colours is `part`. Textures of one layout share them.
struct Spot { int layout, places[8]; float part, weights[8]; } spot;
spot.layout = -1;
const auto find_spot = [&](const auto& use, const float* uv, float footprint) {
    const int* image = tables.images.data + 4 * use.image;
    int first = 0, width = image[1], height = image[2];
    float s = use.u_row[0] * uv[0] + use.u_row[1] * uv[1] + use.u_row[2];
    float t = use.v_row[0] * uv[0] + use.v_row[1] * uv[1] + use.v_row[2];
    // Large coordinates of a repeated texture would lose precision.
    if (use.wrap_s == 0) s -= (float)(Pixels::down(s));
    if (use.wrap_t == 0) t -= (float)(Pixels::down(t));
    // Between powers of two the level is linear in the footprint.
    const float size = footprint * use.stretch * wp::sqrt((float)(width) * (float)(height));
    int whole = 0;
    spot.layout = use.layout;
    spot.part = 0.0f;
    if (size > 1.0f) {
        union { float number; unsigned bits; } code;
        code.number = size;
        whole = (int)(code.bits >> 23) - 127;
        code.bits = (code.bits & 0x7fffffu) | 0x3f800000u;
        spot.part = code.number - 1.0f;
    }
    if (whole >= image[3] - 1) { whole = image[3] - 1; spot.part = 0.0f; }
    if (spot.part <= 0.02f) spot.part = 0.0f;
    const auto smaller = [&]() {
        first += width * height;
        width = width > 1 ? width / 2 : 1;
        height = height > 1 ? height / 2 : 1;
    };
    for (int k = 0; k < whole; ++k) smaller();
    const auto four = [&](int* places, float* weights) {
        const float x = s * (float)(width) - 0.5f, y = (1.0f - t) * (float)(height) - 0.5f;
        const int left = Pixels::down(x), upper = Pixels::down(y);
        const float right = x - (float)(left), lower = y - (float)(upper);
        weights[0] = (1.0f - right) * (1.0f - lower);
        weights[1] = right * (1.0f - lower);
        weights[2] = (1.0f - right) * lower;
        weights[3] = right * lower;
        if (left >= 0 && left < width - 1 && upper >= 0 && upper < height - 1) {
            places[0] = first + upper * width + left;
            places[1] = places[0] + 1;
            places[2] = places[0] + width;
            places[3] = places[2] + 1;
            return;
        }
        for (int k = 0; k < 4; ++k) {
            const int column = Pixels::wrapped(left + k % 2, width, use.wrap_s);
            const int line = Pixels::wrapped(upper + k / 2, height, use.wrap_t);
            const bool inside = column >= 0 && line >= 0;
            places[k] = inside ? first + line * width + column : 0;
            // A pixel outside of an image that is black there has no weight.
            if (!inside) weights[k] = 0.0f;
        }
    };
    four(spot.places, spot.weights);
    if (spot.part == 0.0f) return;
    smaller();
    four(spot.places + 4, spot.weights + 4);
};
// Write `count` channels from `channel` on. Colours are interpolated between both mip levels, others come
// from the nearer one.
const auto look_up = [&](int row, const float* uv, float footprint, int channel, int count, bool colored,
        float* out) {
    const auto& use = tables.uses.data[row];
    if (use.layout != spot.layout) find_spot(use, uv, footprint);
    const unsigned* image = tables.pixels.data + tables.images.data[4 * use.image];
    const auto add = [&](int set, float part) {
        for (int j = 4 * set; j < 4 * set + 4; ++j) {
            const unsigned pixel = image[spot.places[j]];
            const float weight = spot.weights[j] * part;
            for (int k = 0; k < count; ++k) {
                const int from = channel + k;
                const float* codes = tables.decoding.data + (from == 3 ? 256 : use.decoding);
                out[k] += codes[pixel >> (8 * from) & 255u] * weight;
            }
        }
    };
    for (int k = 0; k < count; ++k) out[k] = 0.0f;
    if (colored && spot.part > 0.0f) {
        add(0, 1.0f - spot.part);
        add(1, spot.part);
    } else {
        add(spot.part > 0.5f ? 1 : 0, 1.0f);
    }
    for (int k = 0; k < count; ++k) out[k] = out[k] * use.scale[channel + k] + use.bias[channel + k];
};
