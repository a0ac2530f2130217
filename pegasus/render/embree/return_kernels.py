# Kernels are in the language of Warp, which the type checker cannot follow.
# mypy: ignore-errors
"""Warp kernel that casts rays into a scene without moving objects, from rays to returns in one pass."""

import warp as wp

from pegasus.render.embree.packet_kernels import LANES, intersect
from pegasus.render.embree.ray_kernels import write_short_ray
from pegasus.render.embree.surface_kernels import write_surfaces
from pegasus.render.embree.surface_tables import Surface, Tables

wp.set_module_options({"enable_backward": False, "block_dim": 1})

_PACKET = wp.constant(LANES)


@wp.kernel
def find_returns(
    tables: Tables,
    eight: wp.uint64,
    single: wp.uint64,
    scene: wp.uint64,
    flags: wp.int32,
    opaque_count: wp.int32,
    first_see_through: wp.int32,
    width: wp.int32,
    tile: wp.int32,
    block: wp.int32,
    origins: wp.array(dtype=wp.vec3d),
    directions: wp.array(dtype=wp.vec3d),
    center: wp.vec3d,
    end: wp.float64,
    short_origins: wp.array(dtype=wp.vec3f),
    short_directions: wp.array(dtype=wp.vec3f),
    limits: wp.array(dtype=wp.float32),
    faces: wp.array(dtype=wp.int32),
    u: wp.array(dtype=wp.float32),
    v: wp.array(dtype=wp.float32),
    empty: wp.array(dtype=wp.float32),
    no_items: wp.array(dtype=wp.int32),
    out: Surface,
    normals: wp.array(dtype=wp.vec3d),
    first: wp.int32,
):
    """Cast blocks of `block` rays, from the ray `first` on, and write their hits.

    A block is a whole number of packets, and of rows of packets if the rays are rows of an image.
    """
    begin = first + wp.tid() * block
    last = wp.min(begin + block, faces.shape[0])
    for i in range(begin, last):
        write_short_ray(
            i,
            origins[i],
            directions[i],
            center,
            wp.float64(0.0),
            wp.float32(end),
            short_origins,
            short_directions,
            limits,
        )
    intersect(
        tables,
        eight,
        single,
        scene,
        flags,
        opaque_count,
        first_see_through,
        begin / _PACKET,
        block / _PACKET,
        faces.shape[0],
        width,
        tile,
        short_origins,
        short_directions,
        empty,
        0.0,
        0.0,
        limits,
        faces,
        u,
        v,
    )
    write_surfaces(
        tables,
        origins,
        1,
        directions,
        wp.float64(0.0),
        limits,
        faces,
        u,
        v,
        no_items,
        empty,
        0.0,
        0,
        out,
        begin,
        last,
        last,
    )
    for i in range(begin, last):
        normals[i] = wp.vec3d(out.normal[i])
