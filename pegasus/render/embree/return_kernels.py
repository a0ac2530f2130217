# Kernels are in the language of Warp, which the type checker cannot follow.
# mypy: ignore-errors
"""Warp kernel that casts rays into a scene without moving objects, from rays to hits in one pass."""

import warp as wp

from pegasus.render.embree.native_code import native_code
from pegasus.render.embree.surface_tables import Tables

wp.set_module_options({"enable_backward": False, "block_dim": 1})

SCRATCH_BYTES = 64
"""Bytes of scratch memory per ray of a block."""

# Rays of a block are numbered from 0; between the steps they lie in the scratch memory, which stays in the
# processor's cache.


@wp.func_native(native_code("returns"))
def write_returns(
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
    share: wp.int32,
    origins_at: wp.uint64,
    directions_at: wp.uint64,
    center: wp.vec3d,
    start_at: wp.float64,
    reach: wp.float32,
    cone: wp.float32,
    distances_at: wp.uint64,
    normals_at: wp.uint64,
    entities_at: wp.uint64,
    materials_at: wp.uint64,
    scratch: wp.uint64,
    begin: wp.int32,
    last: wp.int32,
):
    """Cast the rays `begin` to `last` of a block, and write their hits."""


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
    share: wp.int32,
    origins_at: wp.uint64,
    directions_at: wp.uint64,
    center: wp.vec3d,
    start_at: wp.float64,
    reach: wp.float32,
    cone: wp.float32,
    distances_at: wp.uint64,
    normals_at: wp.uint64,
    entities_at: wp.uint64,
    materials_at: wp.uint64,
    scratch: wp.uint64,
    first: wp.int32,
    count: wp.int32,
):
    """Cast blocks of `block` rays, from the ray `first` on up to the ray `count`, and write their hits.

    A block is a whole number of packets, and of rows of packets if the rays are rows of an image. `share`
    neighbouring rays have one origin; a ray begins `start_at` from there and has the length `reach`. Arrays
    are given by their addresses, because an array object of Warp costs 20 microseconds; without that of the
    normals these are not computed.
    """
    begin = first + wp.tid() * block
    write_returns(
        tables,
        eight,
        single,
        scene,
        flags,
        opaque_count,
        first_see_through,
        width,
        tile,
        block,
        share,
        origins_at,
        directions_at,
        center,
        start_at,
        reach,
        cone,
        distances_at,
        normals_at,
        entities_at,
        materials_at,
        scratch,
        begin,
        wp.min(begin + block, count),
    )
