# Kernels are in the language of Warp, which the type checker cannot follow.
# mypy: ignore-errors
"""Sky and reflection models, as native code of kernels.

Reflection is Lambertian plus a microfacet model with the distribution of Trowbridge and Reitz and Smith's
shadowing (Walter et al. 2007; Karis 2013), for the sky with Karis' fit of the integral (2014).
"""

from typing import Any

import warp as wp


@wp.struct
class SkyLight:
    """Sky as an image and as irradiance."""

    image: wp.array2d(dtype=wp.vec3f)
    harmonics: wp.array(dtype=wp.vec3f)
    emission: wp.float32


EIGHT = """
    typedef float Eight __attribute__((vector_size(32)));
    typedef int Whole __attribute__((vector_size(32)));
    struct Three {
        Eight x, y, z;
        Three operator+(const Three& b) const { return {x + b.x, y + b.y, z + b.z}; }
        Three operator-(const Three& b) const { return {x - b.x, y - b.y, z - b.z}; }
        Three operator*(const Three& b) const { return {x * b.x, y * b.y, z * b.z}; }
        Three operator*(const Eight& b) const { return {x * b, y * b, z * b}; }
        Three operator+(const Eight& b) const { return {x + b, y + b, z + b}; }
        Eight dot(const Three& b) const { return x * b.x + y * b.y + z * b.z; }
    };
    const Eight none = {}, one = none + 1.0f;
    const float pi = 3.14159265f;
    const auto any = [](const Whole& mask) {
        int some = 0;
        for (int j = 0; j < 8; ++j) some |= mask[j];
        return some != 0;
    };
    const auto most = [](const Eight& a, const Eight& b) -> Eight { return a > b ? a : b; };
    const auto least = [](const Eight& a, const Eight& b) -> Eight { return a < b ? a : b; };
    const auto root = [](const Eight& a) -> Eight {
        Eight value;
        for (int j = 0; j < 8; ++j) value[j] = wp::sqrt(a[j]);
        return value;
    };
    const auto unit = [&](const Three& a) -> Three {
        return a * (one / root(most(a.dot(a), none + 1.0e-30f)));
    };
    // Two to a power between -126 and 0, by Taylor's series of the fraction.
    const auto power_of_two = [&](const Eight& exponent) -> Eight {
        const Whole whole = __builtin_convertvector(exponent, Whole);
        const Eight t = (exponent - __builtin_convertvector(whole, Eight)) * 0.69314718f;
        Eight sum = t * (1.0f / 5040.0f) + 1.0f / 720.0f;
        sum = sum * t + 1.0f / 120.0f;
        sum = sum * t + 1.0f / 24.0f;
        sum = sum * t + 1.0f / 6.0f;
        sum = sum * t + 0.5f;
        sum = sum * t + 1.0f;
        sum = sum * t + 1.0f;
        const Whole bits = (whole + 127) << 23;
        Eight scale;
        __builtin_memcpy(&scale, &bits, 32);
        return sum * scale;
    };
    // Angle of a vector to the x axis, within 3e-6 rad.
    const auto angle = [&](const Eight& y, const Eight& x) -> Eight {
        const Eight up = y < none ? -y : y, side = x < none ? -x : x;
        const Eight t = least(up, side) / most(most(up, side), none + 1.0e-30f), s = t * t;
        Eight sum = s * -0.01172120f + 0.05265332f;
        sum = sum * s - 0.11643287f;
        sum = sum * s + 0.19354346f;
        sum = sum * s - 0.33262347f;
        sum = (sum * s + 0.99997726f) * t;
        sum = up > side ? 0.5f * pi - sum : sum;
        sum = x < none ? pi - sum : sum;
        return y < none ? -sum : sum;
    };
"""
"""Native code for eight numbers, and eight vectors, at a time."""

REFLECTION = """
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
"""
"""Native code of reflection models for eight points at a time; it needs `EIGHT` and `sky`."""


def sky_light(image: Any, harmonics: Any, emission: float) -> Any:
    """Return the sky for kernels.

    Args:
        image: Radiance of the sky, float32, shape (H, 2 H, 3).
        harmonics: Its irradiance in spherical harmonics, float32, shape (9, 3).
        emission: Radiance of an emissive colour of 1.
    """
    light = SkyLight()
    light.image = wp.array(image, dtype=wp.vec3f, ndim=2, device="cpu", copy=False)
    light.harmonics = wp.array(harmonics, dtype=wp.vec3f, device="cpu", copy=False)
    light.emission = emission
    return light
