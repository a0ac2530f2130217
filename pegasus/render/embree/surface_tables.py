# Kernels are in the language of Warp, which the type checker cannot follow.
# mypy: ignore-errors
"""Kernel tables of triangles, materials and textures, and texture lookup."""

from typing import Any

import numpy as np
import warp as wp


@wp.struct
class TextureUse:
    """One use of an image as an input of a material."""

    image: wp.int32
    decoding: wp.int32
    channel: wp.int32
    wrap_s: wp.int32
    wrap_t: wp.int32
    scale: wp.vec4f
    bias: wp.vec4f
    u_row: wp.vec3f
    v_row: wp.vec3f
    stretch: wp.float32


@wp.struct
class SurfaceMaterial:
    """Inputs of UsdPreviewSurface: a constant, and a row of the texture uses or -1."""

    diffuse: wp.vec3f
    diffuse_map: wp.int32
    emissive: wp.vec3f
    emissive_map: wp.int32
    specular: wp.vec3f
    specular_map: wp.int32
    has_specular: wp.int32
    metallic: wp.float32
    metallic_map: wp.int32
    roughness: wp.float32
    roughness_map: wp.int32
    clearcoat: wp.float32
    clearcoat_roughness: wp.float32
    opacity: wp.float32
    opacity_map: wp.int32
    threshold: wp.float32
    reflectance: wp.float32
    normal_map: wp.int32
    blends: wp.int32
    passes: wp.float32


@wp.struct
class SeeThrough:
    """Coordinates of a triangle of a transparent material in the opacity texture."""

    a: wp.vec2f
    one: wp.vec2f
    two: wp.vec2f
    density: wp.float32
    material: wp.int32


@wp.struct
class Part:
    """Geometry with a material in the frame of its object."""

    inverse: wp.mat33d
    offset: wp.vec3d
    material: wp.int32
    entity: wp.int32
    see_through_shift: wp.int32
    color_shift: wp.int32
    has_colors: wp.int32


@wp.struct
class Tables:
    """Kernel tables of triangles and materials."""

    triangles: wp.array(dtype=wp.vec4i)
    parts: wp.array(dtype=Part)
    see_through: wp.array(dtype=SeeThrough)
    vertices: wp.array(dtype=wp.vec3f)
    normals: wp.array(dtype=wp.vec3f)
    uvs: wp.array(dtype=wp.vec2f)
    colors: wp.array(dtype=wp.vec3f)
    materials: wp.array(dtype=SurfaceMaterial)
    uses: wp.array(dtype=TextureUse)
    images: wp.array2d(dtype=wp.int32)
    pixels: wp.array(dtype=wp.uint32)
    decoding: wp.array(dtype=wp.float32)
    object_inverse: wp.array(dtype=wp.mat33d)
    object_offset: wp.array(dtype=wp.vec3d)
    object_entity: wp.array(dtype=wp.int32)


@wp.struct
class Surface:
    """Hits of rays, one row for each."""

    distance: wp.array(dtype=wp.float64)
    facing: wp.array(dtype=wp.vec3f)
    normal: wp.array(dtype=wp.vec3f)
    uv: wp.array(dtype=wp.vec2f)
    footprint: wp.array(dtype=wp.float32)
    opacity: wp.array(dtype=wp.float32)
    material: wp.array(dtype=wp.int32)
    entity: wp.array(dtype=wp.int32)
    tint: wp.array(dtype=wp.vec3f)
    tangent: wp.array(dtype=wp.vec4f)


@wp.func
def wrapped(index: wp.int32, count: wp.int32, mode: wp.int32) -> wp.int32:
    """Return the wrapped row or column of an image; -1 for none."""
    if index >= 0 and index < count:
        return index
    if mode == 1:
        return wp.clamp(index, 0, count - 1)
    if mode == 3:
        return -1
    if mode == 2:
        period = 2 * count
        k = index % period
        if k < 0:
            k += period
        if k >= count:
            return period - 1 - k
        return k
    k = index % count
    if k < 0:
        k += count
    return k


@wp.func
def texel(
    pixels: wp.array(dtype=wp.uint32),
    decoding: wp.array(dtype=wp.float32),
    codes: wp.int32,
    wrap: wp.vec2i,
    first: wp.int32,
    size: wp.vec2i,
    x: wp.int32,
    y: wp.int32,
) -> wp.vec4f:
    """Return a pixel as linear values."""
    column = wrapped(x, size[0], wrap[0])
    row = wrapped(y, size[1], wrap[1])
    if column < 0 or row < 0:
        return wp.vec4f(0.0, 0.0, 0.0, 0.0)
    code = pixels[first + row * size[0] + column]
    low = wp.uint32(255)
    return wp.vec4f(
        decoding[codes + wp.int32(code & low)],
        decoding[codes + wp.int32((code >> wp.uint32(8)) & low)],
        decoding[codes + wp.int32((code >> wp.uint32(16)) & low)],
        decoding[256 + wp.int32(code >> wp.uint32(24))],
    )


@wp.func
def bilinear(
    pixels: wp.array(dtype=wp.uint32),
    decoding: wp.array(dtype=wp.float32),
    codes: wp.int32,
    wrap: wp.vec2i,
    first: wp.int32,
    size: wp.vec2i,
    u: wp.float32,
    v: wp.float32,
) -> wp.vec4f:
    """Return the bilinear value of four pixels."""
    x = u * wp.float32(size[0]) - 0.5
    y = (1.0 - v) * wp.float32(size[1]) - 0.5
    left = wp.int32(wp.floor(x))
    upper = wp.int32(wp.floor(y))
    across = x - wp.float32(left)
    down = y - wp.float32(upper)
    top = texel(pixels, decoding, codes, wrap, first, size, left, upper) * (1.0 - across)
    top += texel(pixels, decoding, codes, wrap, first, size, left + 1, upper) * across
    bottom = texel(pixels, decoding, codes, wrap, first, size, left, upper + 1) * (1.0 - across)
    bottom += texel(pixels, decoding, codes, wrap, first, size, left + 1, upper + 1) * across
    return top * (1.0 - down) + bottom * down


@wp.struct
class Spot:
    """Lookup position in a texture: a mip level, the next smaller one, and the weight of the latter."""

    uv: wp.vec2f
    first: wp.int32
    size: wp.vec2i
    next_first: wp.int32
    next_size: wp.vec2i
    part: wp.float32


@wp.func
def spot_of(tables: Tables, use: TextureUse, uv: wp.vec2f, footprint: wp.float32) -> Spot:
    """Return the two mip levels that match the footprint, and the position in them."""
    spot = Spot()
    u = use.u_row[0] * uv[0] + use.u_row[1] * uv[1] + use.u_row[2]
    v = use.v_row[0] * uv[0] + use.v_row[1] * uv[1] + use.v_row[2]
    # Large coordinates of a repeated texture would lose precision.
    if use.wrap_s == 0:
        u = u - wp.floor(u)
    if use.wrap_t == 0:
        v = v - wp.floor(v)
    spot.uv = wp.vec2f(u, v)
    first = tables.images[use.image, 0]
    width = tables.images[use.image, 1]
    height = tables.images[use.image, 2]
    count = tables.images[use.image, 3]
    texels = footprint * use.stretch * wp.sqrt(wp.float32(width) * wp.float32(height))
    level = wp.clamp(wp.log2(wp.max(texels, 1.0e-6)), 0.0, wp.float32(count - 1))
    whole = wp.int32(level)
    for _ in range(whole):
        first += width * height
        width = wp.max(width / 2, 1)
        height = wp.max(height / 2, 1)
    spot.first = first
    spot.size = wp.vec2i(width, height)
    spot.part = wp.float32(0.0)
    part = level - wp.float32(whole)
    if part > 0.02 and whole + 1 < count:
        spot.part = part
        spot.next_first = first + width * height
        spot.next_size = wp.vec2i(wp.max(width / 2, 1), wp.max(height / 2, 1))
    return spot


@wp.func
def look_up(tables: Tables, row: wp.int32, uv: wp.vec2f, footprint: wp.float32) -> wp.vec4f:
    """Return a texture value, interpolated between the two mip levels that match the footprint."""
    use = tables.uses[row]
    spot = spot_of(tables, use, uv, footprint)
    wrap = wp.vec2i(use.wrap_s, use.wrap_t)
    u = spot.uv[0]
    v = spot.uv[1]
    value = bilinear(tables.pixels, tables.decoding, use.decoding, wrap, spot.first, spot.size, u, v)
    if spot.part > 0.0:
        smaller = bilinear(
            tables.pixels, tables.decoding, use.decoding, wrap, spot.next_first, spot.next_size, u, v
        )
        value = value * (1.0 - spot.part) + smaller * spot.part
    return wp.cw_mul(value, use.scale) + use.bias


@wp.func
def level_of_one(
    tables: Tables, use: TextureUse, channel: wp.int32, first: wp.int32, size: wp.vec2i, uv: wp.vec2f
) -> wp.float32:
    """Return the bilinear value of one channel in a mip level."""
    x = uv[0] * wp.float32(size[0]) - 0.5
    y = (1.0 - uv[1]) * wp.float32(size[1]) - 0.5
    left = wp.int32(wp.floor(x))
    upper = wp.int32(wp.floor(y))
    across = x - wp.float32(left)
    down = y - wp.float32(upper)
    codes = wp.where(channel == 3, 256, use.decoding)
    value = wp.float32(0.0)
    for k in range(4):
        column = wrapped(left + k % 2, size[0], use.wrap_s)
        row = wrapped(upper + k / 2, size[1], use.wrap_t)
        if column >= 0 and row >= 0:
            code = tables.pixels[first + row * size[0] + column] >> wp.uint32(8 * channel)
            weight = wp.where(k % 2 == 0, 1.0 - across, across) * wp.where(k / 2 == 0, 1.0 - down, down)
            value += tables.decoding[codes + wp.int32(code & wp.uint32(255))] * weight
    return value


@wp.func
def look_up_nearest(tables: Tables, row: wp.int32, uv: wp.vec2f, footprint: wp.float32) -> wp.vec4f:
    """Return a texture value from the nearer of the two mip levels."""
    use = tables.uses[row]
    spot = spot_of(tables, use, uv, footprint)
    if spot.part > 0.5:
        spot.first = spot.next_first
        spot.size = spot.next_size
    wrap = wp.vec2i(use.wrap_s, use.wrap_t)
    value = bilinear(
        tables.pixels, tables.decoding, use.decoding, wrap, spot.first, spot.size, spot.uv[0], spot.uv[1]
    )
    return wp.cw_mul(value, use.scale) + use.bias


@wp.func
def look_up_nearest_number(tables: Tables, row: wp.int32, uv: wp.vec2f, footprint: wp.float32) -> wp.float32:
    """Return the used channel of a texture, from the nearer of the two mip levels."""
    use = tables.uses[row]
    spot = spot_of(tables, use, uv, footprint)
    if spot.part > 0.5:
        spot.first = spot.next_first
        spot.size = spot.next_size
    channel = wp.max(use.channel, 0)
    value = level_of_one(tables, use, channel, spot.first, spot.size, spot.uv)
    return value * use.scale[channel] + use.bias[channel]


@wp.func
def texture_point(
    tables: Tables,
    corners: wp.vec4i,
    u: wp.float32,
    v: wp.float32,
    area: wp.float32,
    slant: wp.float32,
    spread: wp.float32,
) -> wp.vec3f:
    """Return the texture coordinates of a point on a triangle, and the footprint of a ray in the texture.

    `area` is twice that of the triangle, and `spread` is the width of the ray in the triangle's frame.
    """
    a = tables.uvs[corners[0]]
    one = tables.uvs[corners[1]] - a
    two = tables.uvs[corners[2]] - a
    uv = a + one * u + two * v
    density = wp.abs(one[0] * two[1] - one[1] * two[0]) / wp.max(area * wp.max(slant, 0.05), 1.0e-20)
    return wp.vec3f(uv[0], uv[1], spread * wp.sqrt(density))


def empty_rows(struct: Any, count: int) -> Any:
    """Return zero-initialized rows of a Warp struct, shape (count,)."""
    return np.zeros(count, struct.numpy_dtype())
