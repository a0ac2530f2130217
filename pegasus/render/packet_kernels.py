# Kernels are in the language of Warp, which the type checker cannot follow.
# mypy: ignore-errors
"""Warp kernels that cast rays with Embree, eight neighbours at once where the processor can.

Their native parts lay the rays out as Embree's headers have it (RTCRayHit8, RTCRay8, RTCIntersectArguments)
and call it by address.
"""

import warp as wp

wp.set_module_options({"enable_backward": False})

LANES = 8
"""Rays of a packet."""

COHERENT = 1 << 16
"""RTC_RAY_QUERY_FLAG_COHERENT: the rays of a packet go nearly the same way."""

_RAYS = """
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
    struct { int flags; unsigned features; void* others[8]; } arguments = {};
    arguments.flags = flags;
    arguments.features = 0xffffffffu;
    alignas(64) int valid[8];
    for (int k = 0; k < 8; ++k) {
        const int i = k < count ? ray[k] : ray[0];
        valid[k] = k < count ? -1 : 0;
        p.ox[k] = origins.data[i][0]; p.oy[k] = origins.data[i][1]; p.oz[k] = origins.data[i][2];
        p.dx[k] = directions.data[i][0]; p.dy[k] = directions.data[i][1]; p.dz[k] = directions.data[i][2];
        p.near_[k] = 0.0f; p.time[k] = 0.0f; p.far_[k] = limits.data[i];
        p.mask[k] = 0xffffffffu; p.id[k] = 0u; p.flags[k] = 0u;
        p.face[k] = p.mesh[k] = p.instance[k] = p.more[k] = 0xffffffffu;
    }
    const auto take = [&](int k) {
        r.ox = p.ox[k]; r.oy = p.oy[k]; r.oz = p.oz[k]; r.near_ = 0.0f;
        r.dx = p.dx[k]; r.dy = p.dy[k]; r.dz = p.dz[k]; r.time = 0.0f; r.far_ = p.far_[k];
        r.mask = 0xffffffffu; r.id = 0u; r.flags = 0u;
        r.face = r.mesh = r.instance = 0xffffffffu;
    };
    typedef void (*Eight)(const int*, void*, void*, void*);
    typedef void (*Single)(void*, void*, void*);
"""

_LANES_OF = """
    int ray[8];
    int count = 0;
    if (width > 0) {
        // Four by two pixels; the last row of an odd number is four rays alone.
        const int across = width / 4, row = packet / across * 2, column = packet % across * 4;
        for (int k = 0; k < 8; ++k) {
            const int i = (row + k / 4) * width + column + k % 4;
            if (i < total) ray[count++] = i;
        }
    } else {
        for (int i = packet * 8; i < total && count < 8; ++i) ray[count++] = i;
    }
"""

_INTERSECT = f"""{_LANES_OF}{_RAYS}
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
        limits.data[i] = p.far_[k];
        faces.data[i] = p.mesh[k] == 0xffffffffu ? -1 : (int)p.face[k];
        u.data[i] = p.u[k];
        v.data[i] = p.v[k];
    }}
"""

_OCCLUDED = f"""{_LANES_OF}{_RAYS}
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
    for (int k = 0; k < count; ++k) blocked.data[ray[k]] = p.far_[k] < -3.0e38f ? 0 : -1;
"""


_ONE = """
    struct alignas(64) One {
        float ox, oy, oz, near_, dx, dy, dz, time, far_;
        unsigned mask, id, flags;
        float nx, ny, nz, u, v;
        unsigned face, mesh, instance, more[8];
    } r;
    r.ox = origin[0]; r.oy = origin[1]; r.oz = origin[2]; r.near_ = 0.0f;
    r.dx = direction[0]; r.dy = direction[1]; r.dz = direction[2]; r.time = 0.0f; r.far_ = limit;
    r.mask = 0xffffffffu; r.id = 0u; r.flags = 0u;
    r.face = r.mesh = r.instance = 0xffffffffu;
    typedef void (*Single)(void*, void*, void*);
    ((Single)single)((void*)scene, &r, nullptr);
    limits.data[i] = r.far_;
    faces.data[i] = r.mesh == 0xffffffffu ? -1 : (int)r.face;
    u.data[i] = r.u;
    v.data[i] = r.v;
"""


@wp.func_native(_ONE)
def intersect_one(
    single: wp.uint64,
    scene: wp.uint64,
    origin: wp.vec3f,
    direction: wp.vec3f,
    limit: wp.float32,
    i: wp.int32,
    limits: wp.array[wp.float32],
    faces: wp.array[wp.int32],
    u: wp.array[wp.float32],
    v: wp.array[wp.float32],
):
    """Cast one ray from `origin`, and write what it meets into row i."""


@wp.func_native(_INTERSECT)
def intersect(
    eight: wp.uint64,
    single: wp.uint64,
    scene: wp.uint64,
    flags: wp.int32,
    packet: wp.int32,
    total: wp.int32,
    width: wp.int32,
    origins: wp.array[wp.vec3f],
    directions: wp.array[wp.vec3f],
    limits: wp.array[wp.float32],
    faces: wp.array[wp.int32],
    u: wp.array[wp.float32],
    v: wp.array[wp.float32],
):
    """Cast the rays of a packet, and write what they meet."""


@wp.func_native(_OCCLUDED)
def occluded(
    eight: wp.uint64,
    single: wp.uint64,
    scene: wp.uint64,
    flags: wp.int32,
    packet: wp.int32,
    total: wp.int32,
    width: wp.int32,
    origins: wp.array[wp.vec3f],
    directions: wp.array[wp.vec3f],
    limits: wp.array[wp.float32],
    blocked: wp.array[wp.int32],
):
    """Cast the rays of a packet, and write whether they meet something."""


@wp.kernel
def find_nearest(
    eight: wp.uint64,
    single: wp.uint64,
    scene: wp.uint64,
    flags: wp.int32,
    width: wp.int32,
    origins: wp.array[wp.vec3f],
    directions: wp.array[wp.vec3f],
    limits: wp.array[wp.float32],
    faces: wp.array[wp.int32],
    u: wp.array[wp.float32],
    v: wp.array[wp.float32],
):
    """Find the triangle that each ray meets first, -1 for none; limits become distances."""
    total = faces.shape[0]
    intersect(eight, single, scene, flags, wp.tid(), total, width, origins, directions, limits, faces, u, v)


@wp.kernel
def find_any(
    eight: wp.uint64,
    single: wp.uint64,
    scene: wp.uint64,
    flags: wp.int32,
    width: wp.int32,
    origins: wp.array[wp.vec3f],
    directions: wp.array[wp.vec3f],
    limits: wp.array[wp.float32],
    blocked: wp.array[wp.int32],
):
    """Find out which rays meet something: 0, else -1."""
    total = blocked.shape[0]
    occluded(eight, single, scene, flags, wp.tid(), total, width, origins, directions, limits, blocked)
