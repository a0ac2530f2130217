# Kernels are in the language of Warp, which the type checker cannot follow.
# mypy: ignore-errors
"""Warp kernels that cast rays with Embree, in packets of eight where supported.

The native code follows the layout of Embree's headers (RTCRayHit8, RTCRay8, RTCIntersectArguments).
"""

import warp as wp

from pegasus.render.embree.surface_tables import Tables
from pegasus.render.embree.transparency import FILTER

wp.set_module_options({"enable_backward": False, "block_dim": 1})

LANES = 8
"""Number of rays in a packet."""

PACKETS = wp.constant(32)
"""Number of packets that a thread of a kernel casts: Warp copies all arguments for each thread."""

COHERENT = 1 << 16
"""RTC_RAY_QUERY_FLAG_COHERENT: the rays of a packet are nearly parallel."""

_TYPES = """
    struct alignas(64) Packet {
        float ox[8], oy[8], oz[8], near_[8], dx[8], dy[8], dz[8], time[8], far_[8];
        unsigned mask[8], id[8], flags[8];
        float nx[8], ny[8], nz[8], u[8], v[8];
        unsigned face[8], mesh[8], instance[8], more[8];
    } p;
    struct alignas(64) One {
        float ox, oy, oz, near_, dx, dy, dz, time, far_;
        unsigned mask, id, flags;
        float nx, ny, nz, u, v;
        unsigned face, mesh, instance, more[8];
    } r;
    typedef void (*Eight)(const int*, void*, void*, void*);
    typedef void (*Single)(void*, void*, void*);
    struct {
        int flags; unsigned features; Query* query; void (*filter)(const Candidates*); void* others[6];
    } arguments = {};
    arguments.flags = flags;
    arguments.features = 0xffffffffu;
    arguments.query = &query;
    arguments.filter = &Filter::call;
    alignas(64) int valid[8];
    int ray[8];
    const auto take = [&](int k) {
        r.ox = p.ox[k]; r.oy = p.oy[k]; r.oz = p.oz[k]; r.near_ = 0.0f;
        r.dx = p.dx[k]; r.dy = p.dy[k]; r.dz = p.dz[k]; r.time = 0.0f; r.far_ = p.far_[k];
        r.mask = 0xffffffffu; r.id = p.id[k]; r.flags = 0u;
        r.face = r.mesh = r.instance = 0xffffffffu;
    };
"""

_NEXT_PACKET = """
        int count = 0;
        if (width > 0) {
            // Such as four by two pixels; the last rows may be fewer.
            const int across = width / tile;
            const int row = packet / across * (8 / tile), column = packet % across * tile;
            for (int k = 0; k < 8; ++k) {
                const int i = (row + k / tile) * width + column + k % tile;
                if (i < total) ray[count++] = i;
            }
        } else {
            for (int i = packet * 8; i < total && count < 8; ++i) ray[count++] = i;
        }
        if (count == 0) return;
        for (int k = 0; k < 8; ++k) {
            const int i = k < count ? ray[k] : ray[0];
            valid[k] = k < count ? -1 : 0;
            p.ox[k] = origins.data[i][0]; p.oy[k] = origins.data[i][1]; p.oz[k] = origins.data[i][2];
            p.dx[k] = directions.data[i][0]; p.dy[k] = directions.data[i][1]; p.dz[k] = directions.data[i][2];
            p.near_[k] = 0.0f; p.time[k] = 0.0f; p.far_[k] = limits.data[i];
            p.mask[k] = 0xffffffffu; p.id[k] = unsigned(i); p.flags[k] = 0u;
            p.face[k] = p.mesh[k] = p.instance[k] = p.more[k] = 0xffffffffu;
        }
"""

INTERSECT = f"""{FILTER}
    query.light = nullptr;
{_TYPES}
    for (int packet = first_packet; packet < first_packet + packets; ++packet) {{
{_NEXT_PACKET}
        if (eight != 0) {{
            ((Eight)eight)(valid, (void*)scene, &p, &arguments);
        }} else {{
            for (int k = 0; k < count; ++k) {{
                take(k);
                ((Single)single)((void*)scene, &r, &arguments);
                p.far_[k] = r.far_; p.face[k] = r.face; p.mesh[k] = r.mesh; p.u[k] = r.u; p.v[k] = r.v;
            }}
        }}
        for (int k = 0; k < count; ++k) {{
            const int i = ray[k];
            const int shift = p.mesh[k] == 0u ? 0 : opaque_count;
            limits.data[i] = p.far_[k];
            faces.data[i] = p.mesh[k] == 0xffffffffu ? -1 : (int)p.face[k] + shift;
            u.data[i] = p.u[k];
            v.data[i] = p.v[k];
        }}
    }}
"""
"""Native code of `intersect`."""

_OCCLUDED = f"""{FILTER}
    query.light = light.data;
    query.dark = dark;
    const int width = 0, tile = 8;
{_TYPES}
    for (int packet = first_packet; packet < first_packet + packets; ++packet) {{
{_NEXT_PACKET}
        for (int k = 0; k < count; ++k) light.data[ray[k]] = 1.0f;
        if (eight != 0) {{
            ((Eight)eight)(valid, (void*)scene, &p, &arguments);
        }} else {{
            for (int k = 0; k < count; ++k) {{
                take(k);
                ((Single)single)((void*)scene, &r, &arguments);
                p.far_[k] = r.far_;
            }}
        }}
        // Embree sets the length of a ray that meets something to minus infinity.
        for (int k = 0; k < count; ++k) if (p.far_[k] < -3.0e38f) light.data[ray[k]] = 0.0f;
    }}
"""


@wp.func_native(INTERSECT)
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


@wp.func_native(_OCCLUDED)
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
