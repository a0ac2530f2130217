# Kernels are in the language of Warp, which the type checker cannot follow.
# mypy: ignore-errors
"""Warp kernels that find the rays that may hit moving objects, and merge their hits."""

import warp as wp

from pegasus.render.embree.geometry_store import BOX
from pegasus.render.embree.native_code import native_code
from pegasus.render.embree.ray_kernels import GROUP

wp.set_module_options({"enable_backward": False, "block_dim": 1})


@wp.func_native(native_code("find_prototypes"))
def find_met(
    limits: wp.array(dtype=wp.float32),
    balls: wp.array(dtype=wp.vec4d),
    clusters: wp.array(dtype=wp.vec4d),
    size: wp.int32,
    rows: wp.array(dtype=wp.int32),
    boxes: wp.array(dtype=BOX),
    spans: wp.array(dtype=wp.vec3i),
    object_inverse: wp.array(dtype=wp.mat33d),
    object_offset: wp.array(dtype=wp.vec3d),
    middle: wp.vec3d,
    ranges: wp.array(dtype=wp.vec3f),
    met: wp.array(dtype=wp.uint8),
):
    """Do the work of `find_prototypes`."""


@wp.kernel
def find_prototypes(
    limits: wp.array(dtype=wp.float32),
    balls: wp.array(dtype=wp.vec4d),
    clusters: wp.array(dtype=wp.vec4d),
    size: wp.int32,
    rows: wp.array(dtype=wp.int32),
    boxes: wp.array(dtype=BOX),
    spans: wp.array(dtype=wp.vec3i),
    object_inverse: wp.array(dtype=wp.mat33d),
    object_offset: wp.array(dtype=wp.vec3d),
    middle: wp.vec3d,
    ranges: wp.array(dtype=wp.vec3f),
    met: wp.array(dtype=wp.uint8),
):
    """Find the prototypes an object of which may be hit by rays; most images and shadows meet none.

    Bounding spheres of objects and of clusters of them, and the boxes around parts of an object, are compared
    with all rays of a group at once by interval arithmetic (Boulos et al. 2006, "Geometric and arithmetic
    culling methods for entire ray packets"): `ranges` holds the lower and the upper ends of origins, relative
    to `middle`, and of directions, for each group.
    """
    find_met(
        limits,
        balls,
        clusters,
        size,
        rows,
        boxes,
        spans,
        object_inverse,
        object_offset,
        middle,
        ranges,
        met,
    )


@wp.func_native(native_code("count_meetings"))
def count_group(
    origins: wp.array(dtype=wp.vec3d),
    origin_step: wp.int32,
    directions: wp.array(dtype=wp.vec3d),
    limits: wp.array(dtype=wp.float32),
    begin: wp.float64,
    balls: wp.array(dtype=wp.vec4d),
    clusters: wp.array(dtype=wp.vec4d),
    size: wp.int32,
    rows: wp.array(dtype=wp.int32),
    boxes: wp.array(dtype=BOX),
    spans: wp.array(dtype=wp.vec3i),
    object_inverse: wp.array(dtype=wp.mat33d),
    object_offset: wp.array(dtype=wp.vec3d),
    middle: wp.vec3d,
    ranges: wp.array(dtype=wp.vec3f),
    kind: wp.int32,
    first: wp.int32,
    end: wp.int32,
    counts: wp.array(dtype=wp.int32),
):
    """Do the work of `count_meetings` for a group."""


@wp.kernel
def count_meetings(
    origins: wp.array(dtype=wp.vec3d),
    origin_step: wp.int32,
    directions: wp.array(dtype=wp.vec3d),
    limits: wp.array(dtype=wp.float32),
    begin: wp.float64,
    balls: wp.array(dtype=wp.vec4d),
    clusters: wp.array(dtype=wp.vec4d),
    size: wp.int32,
    rows: wp.array(dtype=wp.int32),
    boxes: wp.array(dtype=BOX),
    spans: wp.array(dtype=wp.vec3i),
    object_inverse: wp.array(dtype=wp.mat33d),
    object_offset: wp.array(dtype=wp.vec3d),
    middle: wp.vec3d,
    ranges: wp.array(dtype=wp.vec3f),
    kind: wp.int32,
    counts: wp.array(dtype=wp.int32),
):
    """Count the objects of a prototype that each ray may hit; see `find_prototypes`."""
    first = wp.tid() * GROUP
    count_group(
        origins,
        origin_step,
        directions,
        limits,
        begin,
        balls,
        clusters,
        size,
        rows,
        boxes,
        spans,
        object_inverse,
        object_offset,
        middle,
        ranges,
        kind,
        first,
        wp.min(first + GROUP, counts.shape[0]),
        counts,
    )


@wp.func_native(native_code("enter_objects"))
def enter_group(
    origins: wp.array(dtype=wp.vec3d),
    origin_step: wp.int32,
    directions: wp.array(dtype=wp.vec3d),
    limits: wp.array(dtype=wp.float32),
    begin: wp.float64,
    balls: wp.array(dtype=wp.vec4d),
    clusters: wp.array(dtype=wp.vec4d),
    size: wp.int32,
    rows: wp.array(dtype=wp.int32),
    boxes: wp.array(dtype=BOX),
    spans: wp.array(dtype=wp.vec3i),
    object_inverse: wp.array(dtype=wp.mat33d),
    object_offset: wp.array(dtype=wp.vec3d),
    middle: wp.vec3d,
    ranges: wp.array(dtype=wp.vec3f),
    kind: wp.int32,
    first: wp.int32,
    end: wp.int32,
    center: wp.vec3d,
    ends: wp.array(dtype=wp.int32),
    short_origins: wp.array(dtype=wp.vec3f),
    short_directions: wp.array(dtype=wp.vec3f),
    short_limits: wp.array(dtype=wp.float32),
    starts: wp.array(dtype=wp.float32),
    items: wp.array(dtype=wp.int32),
):
    """Do the work of `enter_objects` for a group."""


@wp.kernel
def enter_objects(
    origins: wp.array(dtype=wp.vec3d),
    origin_step: wp.int32,
    directions: wp.array(dtype=wp.vec3d),
    limits: wp.array(dtype=wp.float32),
    begin: wp.float64,
    balls: wp.array(dtype=wp.vec4d),
    clusters: wp.array(dtype=wp.vec4d),
    size: wp.int32,
    rows: wp.array(dtype=wp.int32),
    boxes: wp.array(dtype=BOX),
    spans: wp.array(dtype=wp.vec3i),
    object_inverse: wp.array(dtype=wp.mat33d),
    object_offset: wp.array(dtype=wp.vec3d),
    middle: wp.vec3d,
    ranges: wp.array(dtype=wp.vec3f),
    kind: wp.int32,
    center: wp.vec3d,
    ends: wp.array(dtype=wp.int32),
    short_origins: wp.array(dtype=wp.vec3f),
    short_directions: wp.array(dtype=wp.vec3f),
    short_limits: wp.array(dtype=wp.float32),
    starts: wp.array(dtype=wp.float32),
    items: wp.array(dtype=wp.int32),
):
    """Write each ray, starting at the bounding sphere, in the frames of the objects that it may hit.

    Origins are relative to `center`; `ends` holds the cumulative counts of `count_meetings`.
    """
    first = wp.tid() * GROUP
    end = wp.min(first + GROUP, ends.shape[0])
    before = wp.int32(0)
    if first > 0:
        before = ends[first - 1]
    if ends[end - 1] == before:
        return
    enter_group(
        origins,
        origin_step,
        directions,
        limits,
        begin,
        balls,
        clusters,
        size,
        rows,
        boxes,
        spans,
        object_inverse,
        object_offset,
        middle,
        ranges,
        kind,
        first,
        end,
        center,
        ends,
        short_origins,
        short_directions,
        short_limits,
        starts,
        items,
    )


@wp.kernel
def keep_nearest(
    ends: wp.array(dtype=wp.int32),
    first_face: wp.int32,
    found_limits: wp.array(dtype=wp.float32),
    found_faces: wp.array(dtype=wp.int32),
    found_u: wp.array(dtype=wp.float32),
    found_v: wp.array(dtype=wp.float32),
    starts: wp.array(dtype=wp.float32),
    found_items: wp.array(dtype=wp.int32),
    limits: wp.array(dtype=wp.float32),
    faces: wp.array(dtype=wp.int32),
    u: wp.array(dtype=wp.float32),
    v: wp.array(dtype=wp.float32),
    items: wp.array(dtype=wp.int32),
):
    """Replace hits by hits of moving objects where these are nearer."""
    first_ray = wp.tid() * GROUP
    for i in range(first_ray, wp.min(first_ray + GROUP, limits.shape[0])):
        place = wp.int32(0)
        if i > 0:
            place = ends[i - 1]
        for k in range(place, ends[i]):
            if found_faces[k] >= 0 and found_limits[k] + starts[k] < limits[i]:
                limits[i] = found_limits[k] + starts[k]
                faces[i] = first_face + found_faces[k]
                u[i] = found_u[k]
                v[i] = found_v[k]
                items[i] = found_items[k]


@wp.kernel
def dim(
    ends: wp.array(dtype=wp.int32),
    passing: wp.array(dtype=wp.float32),
    light: wp.array(dtype=wp.float32),
):
    """Multiply the transmittance of rays by that of moving objects."""
    first_ray = wp.tid() * GROUP
    for i in range(first_ray, wp.min(first_ray + GROUP, light.shape[0])):
        place = wp.int32(0)
        if i > 0:
            place = ends[i - 1]
        for k in range(place, ends[i]):
            light[i] = light[i] * passing[k]
