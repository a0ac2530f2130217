# Kernels are in the language of Warp, which the type checker cannot follow.
# mypy: ignore-errors
"""Kernel tables of triangles, materials and textures."""

from typing import Any

import numpy as np
import warp as wp


@wp.struct
class TextureUse:
    """One use of an image as an input of a material.

    Uses of one `layout` place images of one size alike: at a point they read the same pixels of each.
    """

    image: wp.int32
    layout: wp.int32
    decoding: wp.int32
    channel: wp.int32
    wrap_s: wp.int32
    wrap_t: wp.int32
    scale: wp.vec4f
    bias: wp.vec4f
    u_row: wp.vec3f
    v_row: wp.vec3f
    stretch: wp.float32
    cells: wp.int32


@wp.struct
class SurfaceMaterial:
    """Inputs of UsdPreviewSurface: a constant, and a row of the texture uses or -1.

    Roughness and metalness are the means of their textures where there are any.
    """

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

    to_local: wp.mat33d
    to_world: wp.mat33d
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
    cells: wp.array(dtype=wp.uint8)
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


def empty_rows(struct: Any, count: int) -> Any:
    """Return zero-initialized rows of a Warp struct, shape (count,)."""
    return np.zeros(count, struct.numpy_dtype())
