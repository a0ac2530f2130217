# Kernels are in the language of Warp, which the type checker cannot follow.
# mypy: ignore-errors
"""Reflection models as Warp functions.

Reflection is Lambertian plus a microfacet model with the distribution of Trowbridge and Reitz and Smith's
shadowing (Walter et al. 2007; Karis 2013), for the sky with Karis' fit of the integral (2014).
"""

from typing import Any

import warp as wp

PI = wp.constant(wp.float32(3.14159265))


@wp.struct
class SkyLight:
    """Sky as an image and as irradiance."""

    image: wp.array2d(dtype=wp.vec3f)
    harmonics: wp.array(dtype=wp.vec3f)
    emission: wp.float32


@wp.struct
class Look:
    """Reflection parameters of a surface point, textures applied."""

    base: wp.vec3f
    mirror: wp.vec3f
    roughness: wp.float32
    clearcoat: wp.float32
    clearcoat_roughness: wp.float32
    normal: wp.vec3f


@wp.func
def sky_toward(sky: SkyLight, d: wp.vec3f) -> wp.vec3f:
    """Return the sky's radiance, interpolated between the pixels of its image."""
    height = sky.image.shape[0]
    width = sky.image.shape[1]
    turn = wp.atan2(d[0], d[1]) / (2.0 * PI)
    x = (turn - wp.floor(turn)) * wp.float32(width) - 0.5
    y = (0.5 - wp.asin(wp.clamp(d[2], -1.0, 1.0)) / PI) * wp.float32(height) - 0.5
    left = wp.int32(wp.floor(x))
    upper = wp.int32(wp.floor(y))
    across = x - wp.float32(left)
    down = y - wp.float32(upper)
    right = (left + 1) % width
    left = (left + width) % width
    lower = wp.clamp(upper + 1, 0, height - 1)
    upper = wp.clamp(upper, 0, height - 1)
    top = sky.image[upper, left] * (1.0 - across) + sky.image[upper, right] * across
    bottom = sky.image[lower, left] * (1.0 - across) + sky.image[lower, right] * across
    return top * (1.0 - down) + bottom * down


@wp.func
def sky_onto(sky: SkyLight, n: wp.vec3f) -> wp.vec3f:
    """Return the irradiance of a surface by the sky."""
    h = sky.harmonics
    value = h[0] + h[1] * n[1] + h[2] * n[2] + h[3] * n[0]
    value += h[4] * (n[0] * n[1]) + h[5] * (n[1] * n[2]) + h[6] * (3.0 * n[2] * n[2] - 1.0)
    value += h[7] * (n[0] * n[2]) + h[8] * (n[0] * n[0] - n[1] * n[1])
    return wp.max(value, wp.vec3f(0.0, 0.0, 0.0))


@wp.func
def luminance(color: wp.vec3f) -> wp.float32:
    """Return the luminance of a colour."""
    return 0.2126 * color[0] + 0.7152 * color[1] + 0.0722 * color[2]


@wp.func
def lobe(roughness: wp.float32, nh: wp.float32, nl: wp.float32, nv: wp.float32) -> wp.float32:
    """Return distribution times shadowing over 4 nl nv (Walter et al. 2007, eqs. 33 and 34)."""
    alpha = wp.max(roughness * roughness, 0.004)
    square = alpha * alpha
    q = nh * nh * (square - 1.0) + 1.0
    distribution = square / (PI * q * q)
    k = 0.5 * alpha
    return distribution * 0.25 / ((nl * (1.0 - k) + k) * (nv * (1.0 - k) + k))


@wp.func
def reflected(look: Look, v: wp.vec3f, way: wp.vec3f) -> wp.vec3f:
    """Return the radiance reflected towards -v, for light from `way` with unit normal irradiance."""
    n = look.normal
    nl = wp.dot(n, way)
    if nl <= 0.0:
        return wp.vec3f(0.0, 0.0, 0.0)
    nv = wp.max(-wp.dot(n, v), 1.0e-3)
    half = wp.normalize(way - v)
    nh = wp.clamp(wp.dot(n, half), 0.0, 1.0)
    vh = wp.clamp(-wp.dot(v, half), 0.0, 1.0)
    slant = 1.0 - vh
    grazing = slant * slant * slant * slant * slant
    top = wp.min(50.0 * luminance(look.mirror), 1.0)
    fresnel = look.mirror * (1.0 - grazing) + wp.vec3f(top, top, top) * grazing
    value = look.base / PI + fresnel * lobe(look.roughness, nh, nl, nv)
    if look.clearcoat > 0.0:
        coat = look.clearcoat * (0.04 + 0.96 * grazing)
        gloss = coat * lobe(look.clearcoat_roughness, nh, nl, nv)
        value = value * (1.0 - coat) + wp.vec3f(gloss, gloss, gloss)
    return value * nl


@wp.func
def mirrored(
    sky: SkyLight,
    around: wp.vec4f,
    look: Look,
    v: wp.vec3f,
    mirror: wp.vec3f,
    roughness: wp.float32,
) -> wp.vec3f:
    """Return the reflection of surroundings: a sharp sky for smooth surfaces, irradiance for rough ones.

    `around` is the irradiance from the mirrored direction, and the visible part of the sky there.
    """
    nv = wp.clamp(-wp.dot(look.normal, v), 0.0, 1.0)
    way = v + look.normal * (2.0 * nv)
    dull = wp.clamp((roughness - 0.1) / 0.5, 0.0, 1.0)
    light = wp.vec3f(around[0], around[1], around[2])
    seen = light / PI * dull
    if dull < 1.0:
        sharp = light / PI
        if around[3] > 0.0:
            others = wp.max(light - sky_onto(sky, way) * around[3], wp.vec3f(0.0, 0.0, 0.0))
            sharp = others / PI + sky_toward(sky, way) * around[3]
        seen += sharp * (1.0 - dull)
    # Fit of the reflection's integral over the hemisphere (Karis 2014).
    r0 = 1.0 - roughness
    r1 = 0.0425 - 0.0275 * roughness
    r2 = 1.04 - 0.572 * roughness
    r3 = -0.04 + 0.022 * roughness
    a = wp.min(r0 * r0, wp.exp(-6.4324059 * nv)) * r0 + r1
    top = wp.min(50.0 * luminance(mirror), 1.0) * (r3 + 1.04 * a)
    return wp.cw_mul(seen, mirror * (r2 - 1.04 * a) + wp.vec3f(top, top, top))


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
