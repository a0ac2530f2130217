// Sky and reflection models for eight points at a time. Needs eight.h and `sky`.
//
// Reflection is Lambertian plus a microfacet model with the distribution of Trowbridge and Reitz and Smith's shadowing
// (Walter et al. 2007; Karis 2013), for the sky with Karis' fit of the integral (2014).

const auto luminance_of = [](const Three& a) -> Eight {
    return a.x * 0.2126f + a.y * 0.7152f + a.z * 0.0722f;
};
// Radiance of the sky in the directions that are wanted, interpolated between the pixels of its image.
const auto sky_toward = [&](const Three& d, const Whole& wanted) -> Three {
    const int width = sky.image.shape[1], height = sky.image.shape[0];
    const Eight turn = angle(d.x, d.y) * (0.5f / pi);
    const Eight x = (turn < none ? turn + 1.0f : turn) * (float)(width) - 0.5f;
    const Eight upward = angle(d.z, root(most(one - d.z * d.z, none)));
    const Eight y = (0.5f - upward * (1.0f / pi)) * (float)(height) - 0.5f;
    Three value = {none, none, none};
    for (int j = 0; j < 8; ++j) {
        if (!wanted[j]) continue;
        int left = (int)(x[j] + 1.0f) - 1, upper = (int)(y[j] + 1.0f) - 1;
        const float across = x[j] - (float)(left), below = y[j] - (float)(upper);
        const int right = (left + 1) % width, lower = wp::min(wp::max(upper + 1, 0), height - 1);
        left = (left + width) % width;
        upper = wp::min(wp::max(upper, 0), height - 1);
        const auto *top = sky.image.data + upper * width, *bottom = sky.image.data + lower * width;
        const float a = (1.0f - across) * (1.0f - below), b = across * (1.0f - below);
        const float c = (1.0f - across) * below, e = across * below;
        value.x[j] = top[left][0] * a + top[right][0] * b + bottom[left][0] * c + bottom[right][0] * e;
        value.y[j] = top[left][1] * a + top[right][1] * b + bottom[left][1] * c + bottom[right][1] * e;
        value.z[j] = top[left][2] * a + top[right][2] * b + bottom[left][2] * c + bottom[right][2] * e;
    }
    return value;
};
// Irradiance of surfaces by the sky.
const auto sky_over = [&](const Three& n) -> Three {
    const Eight terms[9] = {
        one, n.y, n.z, n.x,
        n.x * n.y, n.y * n.z, n.z * n.z * 3.0f - 1.0f, n.x * n.z, n.x * n.x - n.y * n.y};
    Three value = {none, none, none};
    for (int k = 0; k < 9; ++k) {
        const auto& h = sky.harmonics.data[k];
        value = value + Three{terms[k] * h[0], terms[k] * h[1], terms[k] * h[2]};
    }
    return {most(value.x, none), most(value.y, none), most(value.z, none)};
};
// Reflection of surroundings: a sharp sky for smooth surfaces, irradiance for rough ones. `around` is the
// irradiance from the mirrored direction, `open` the visible part of the sky there.
const auto mirrored = [&](const Three& n, const Three& v, const Three& around, const Eight& open,
        const Three& mirror, const Eight& roughness, const Whole& here) -> Three {
    const Eight nv = least(most(-n.dot(v), none), one);
    const Eight dull = least(most((roughness - 0.1f) * 2.0f, none), one);
    Three seen = around * (dull * (1.0f / pi));
    const Whole smooth = here & (dull < one);
    if (any(smooth)) {
        const Three way = v + n * (nv * 2.0f);
        const Whole sky_lit = open > none;
        Three sharp = around;
        if (any(smooth & sky_lit)) {
            const Three others = around - sky_over(way) * open;
            sharp.x = sky_lit ? most(others.x, none) : around.x;
            sharp.y = sky_lit ? most(others.y, none) : around.y;
            sharp.z = sky_lit ? most(others.z, none) : around.z;
            sharp = sharp * (one / pi) + sky_toward(way, smooth & sky_lit) * open;
        } else {
            sharp = sharp * (one / pi);
        }
        seen = seen + sharp * (one - dull);
    }
    // Fit of the reflection's integral over the hemisphere (Karis 2014).
    const Eight r0 = one - roughness, r1 = 0.0425f - roughness * 0.0275f;
    const Eight r2 = 1.04f - roughness * 0.572f, r3 = roughness * 0.022f - 0.04f;
    // The exponential to the base of two.
    const Eight a = least(r0 * r0, power_of_two(nv * -9.28f)) * r0 + r1;
    const Eight top = least(luminance_of(mirror) * 50.0f, one) * (r3 + a * 1.04f);
    return seen * (mirror * (r2 - a * 1.04f) + top);
};
// Distribution times shadowing over 4 nl nv (Walter et al. 2007, eqs. 33 and 34). Half the angle from a
// lamp's middle to its edge widens it (Karis 2013).
const auto lobe = [&](const Eight& roughness, const Eight& half_angle, const Eight& nh, const Eight& nl,
        const Eight& nv) {
    const Eight alpha = least(most(roughness * roughness, none + 0.004f) + half_angle, one);
    const Eight square = alpha * alpha;
    const Eight q = nh * nh * (square - 1.0f) + 1.0f, k = alpha * 0.5f;
    const Eight value = square * 0.25f / (q * q * pi * (nl * (one - k) + k) * (nv * (one - k) + k));
    return value;
};
