# Kernels are in the language of Warp, which the type checker cannot follow.
# mypy: ignore-errors
"""Warp kernels that cast rays with Embree, in packets of eight where supported.

The native code follows the layout of Embree's headers (RTCRayHit8, RTCRay8, RTCIntersectArguments).
"""

import warp as wp

from pegasus.render.embree.native_code import native_code
from pegasus.render.embree.surface_tables import Tables

wp.set_module_options({"enable_backward": False, "block_dim": 1})

LANES = 8
"""Number of rays in a packet."""

PACKETS = wp.constant(32)
"""Number of packets that a thread of a kernel casts: Warp copies all arguments for each thread."""

COHERENT = 1 << 16
"""RTC_RAY_QUERY_FLAG_COHERENT: the rays of a packet are nearly parallel."""


@wp.func_native(native_code("intersect"))
def intersect(
    tables: Tables,
    eight: wp.uint64,
    single: wp.uint64,
    scene: wp.uint64,
    flags: wp.int32,
    opaque_count: wp.int32,
    first_see_through: wp.int32,
    first_packet: wp.int32,
    packets: wp.int32,
    total: wp.int32,
    width: wp.int32,
    tile: wp.int32,
    origins: wp.array(dtype=wp.vec3f),
    directions: wp.array(dtype=wp.vec3f),
    passed: wp.array(dtype=wp.float32),
    start: wp.float32,
    cone: wp.float32,
    limits: wp.array(dtype=wp.float32),
    faces: wp.array(dtype=wp.int32),
    u: wp.array(dtype=wp.float32),
    v: wp.array(dtype=wp.float32),
):
    """Cast the rays of some packets, and write their hits."""


@wp.func_native(native_code("occluded"))
def occluded(
    tables: Tables,
    eight: wp.uint64,
    single: wp.uint64,
    scene: wp.uint64,
    flags: wp.int32,
    first_see_through: wp.int32,
    first_packet: wp.int32,
    packets: wp.int32,
    total: wp.int32,
    origins: wp.array(dtype=wp.vec3f),
    directions: wp.array(dtype=wp.vec3f),
    passed: wp.array(dtype=wp.float32),
    start: wp.float32,
    cone: wp.float32,
    dark: wp.float32,
    limits: wp.array(dtype=wp.float32),
    light: wp.array(dtype=wp.float32),
):
    """Cast the rays of some packets, and write their transmittances."""


@wp.kernel
def find_nearest(
    tables: Tables,
    eight: wp.uint64,
    single: wp.uint64,
    scene: wp.uint64,
    flags: wp.int32,
    opaque_count: wp.int32,
    first_see_through: wp.int32,
    width: wp.int32,
    tile: wp.int32,
    origins: wp.array(dtype=wp.vec3f),
    directions: wp.array(dtype=wp.vec3f),
    passed: wp.array(dtype=wp.float32),
    start: wp.float32,
    cone: wp.float32,
    limits: wp.array(dtype=wp.float32),
    faces: wp.array(dtype=wp.int32),
    u: wp.array(dtype=wp.float32),
    v: wp.array(dtype=wp.float32),
):
    """Find the nearest triangle of each ray, -1 for none; limits become distances.

    The path before the origin of a ray has the length `start`, plus `passed` unless that is empty; the width
    of a ray grows by `cone` per length.
    """
    intersect(
        tables,
        eight,
        single,
        scene,
        flags,
        opaque_count,
        first_see_through,
        wp.tid() * PACKETS,
        PACKETS,
        faces.shape[0],
        width,
        tile,
        origins,
        directions,
        passed,
        start,
        cone,
        limits,
        faces,
        u,
        v,
    )


@wp.kernel
def shine(
    tables: Tables,
    eight: wp.uint64,
    single: wp.uint64,
    scene: wp.uint64,
    flags: wp.int32,
    first_see_through: wp.int32,
    dark: wp.float32,
    origins: wp.array(dtype=wp.vec3f),
    directions: wp.array(dtype=wp.vec3f),
    passed: wp.array(dtype=wp.float32),
    limits: wp.array(dtype=wp.float32),
    light: wp.array(dtype=wp.float32),
):
    """Write the transmittance along rays, from 0 to 1; values up to `dark` count as 0."""
    occluded(
        tables,
        eight,
        single,
        scene,
        flags,
        first_see_through,
        wp.tid() * PACKETS,
        PACKETS,
        light.shape[0],
        origins,
        directions,
        passed,
        0.0,
        0.0,
        dark,
        limits,
        light,
    )
