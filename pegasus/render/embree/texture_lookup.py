"""Native code of texture lookups for the lighting, without function calls."""

TEXTURE = """
    const auto down = [](float x) { const int k = (int)(x); return k - (x < (float)(k)); };
    const auto wrapped = [](int index, int count, int mode) {
        if (index >= 0 && index < count) return index;
        if (mode == 1) return index < 0 ? 0 : count - 1;
        if (mode == 3) return -1;
        const int period = mode == 2 ? 2 * count : count;
        int k = index % period;
        if (k < 0) k += period;
        return k >= count ? period - 1 - k : k;
    };
    // Write `count` channels from `channel` on. Colours are interpolated between the two mip levels that
    // match the footprint, others come from the nearer one.
    const auto look_up = [&](int row, const float* uv, float footprint, int channel, int count, bool colored,
            float* out) {
        const auto& use = tables.uses.data[row];
        const int* image = tables.images.data + 4 * use.image;
        int first = image[0], width = image[1], height = image[2];
        float s = use.u_row[0] * uv[0] + use.u_row[1] * uv[1] + use.u_row[2];
        float t = use.v_row[0] * uv[0] + use.v_row[1] * uv[1] + use.v_row[2];
        // Large coordinates of a repeated texture would lose precision.
        if (use.wrap_s == 0) s -= (float)(down(s));
        if (use.wrap_t == 0) t -= (float)(down(t));
        // Between powers of two the level is linear in the footprint.
        const float size = footprint * use.stretch * wp::sqrt((float)(width) * (float)(height));
        int whole = 0;
        float part = 0.0f;
        if (size > 1.0f) {
            union { float number; unsigned bits; } code;
            code.number = size;
            whole = (int)(code.bits >> 23) - 127;
            code.bits = (code.bits & 0x7fffffu) | 0x3f800000u;
            part = code.number - 1.0f;
        }
        if (whole >= image[3] - 1) { whole = image[3] - 1; part = 0.0f; }
        const auto smaller = [&]() {
            first += width * height;
            width = width > 1 ? width / 2 : 1;
            height = height > 1 ? height / 2 : 1;
        };
        for (int k = 0; k < whole; ++k) smaller();
        // Four pixels and their weights; a pixel outside of an image that is black there has no weight.
        unsigned pixels[4];
        float weights[4];
        const auto four = [&]() {
            const float x = s * (float)(width) - 0.5f, y = (1.0f - t) * (float)(height) - 0.5f;
            const int left = down(x), upper = down(y);
            const float right = x - (float)(left), lower = y - (float)(upper);
            weights[0] = (1.0f - right) * (1.0f - lower);
            weights[1] = right * (1.0f - lower);
            weights[2] = (1.0f - right) * lower;
            weights[3] = right * lower;
            if (left >= 0 && left < width - 1 && upper >= 0 && upper < height - 1) {
                const unsigned* place = tables.pixels.data + first + upper * width + left;
                pixels[0] = place[0]; pixels[1] = place[1];
                pixels[2] = place[width]; pixels[3] = place[width + 1];
                return;
            }
            for (int k = 0; k < 4; ++k) {
                const int column = wrapped(left + k % 2, width, use.wrap_s);
                const int line = wrapped(upper + k / 2, height, use.wrap_t);
                const bool inside = column >= 0 && line >= 0;
                pixels[k] = inside ? tables.pixels.data[first + line * width + column] : 0u;
                if (!inside) weights[k] = 0.0f;
            }
        };
        const auto value_of = [&](int k) {
            const float* codes = tables.decoding.data + (k == 3 ? 256 : use.decoding);
            float value = 0.0f;
            for (int j = 0; j < 4; ++j) value += codes[pixels[j] >> (8 * k) & 255u] * weights[j];
            return value;
        };
        const bool blended = colored && part > 0.02f;
        if (!colored && part > 0.5f) smaller();
        four();
        for (int k = 0; k < count; ++k) out[k] = value_of(channel + k);
        if (blended) {
            smaller();
            four();
            for (int k = 0; k < count; ++k) out[k] += (value_of(channel + k) - out[k]) * part;
        }
        for (int k = 0; k < count; ++k) out[k] = out[k] * use.scale[channel + k] + use.bias[channel + k];
    };
"""
"""Native code that declares `look_up` for the textures of `tables`."""
