# Kernels are in the language of Warp, which the type checker cannot follow.
# mypy: ignore-errors
"""Warp kernels that find the rays that may hit moving objects, and merge their hits."""

import warp as wp

from pegasus.render.embree.geometry_store import BOX
from pegasus.render.embree.ray_kernels import GROUP

wp.set_module_options({"enable_backward": False, "block_dim": 1})

_GROUP = """
    struct Range { float low[3], high[3]; };
    typedef wp::vec_t<3, float> Three;
    Range from, along;
    double base[3];
    float reach = -1.0f;
    for (int i = first; i < end; ++i) reach = limits.data[i] > reach ? limits.data[i] : reach;
    for (int k = 0; k < 3; ++k) {
        const int group = first / 64;
        from.low[k] = ranges.data[group * 4][k]; from.high[k] = ranges.data[group * 4 + 1][k];
        along.low[k] = ranges.data[group * 4 + 2][k]; along.high[k] = ranges.data[group * 4 + 3][k];
        base[k] = middle[k];
    }
    const auto misses = [&](const Range& places, const Range& ways, const float* low, const float* high) {
        float entry = 0.0f, exit = reach;
        for (int k = 0; k < 3; ++k) {
            const float margin = 1.0e-4f + 2.0e-6f * wp::max(wp::abs(places.low[k]), wp::abs(places.high[k]));
            float near_ = low[k] - places.high[k] - margin, far_ = high[k] - places.low[k] + margin;
            float slow = ways.low[k], fast = ways.high[k];
            if (far_ < 0.0f) {
                const float other = -near_, faster = -slow;
                near_ = -far_; far_ = other;
                slow = -fast; fast = faster;
            }
            if (near_ > 0.0f) {
                if (fast <= 0.0f) return true;
                entry = wp::max(entry, near_ / fast);
                if (slow > 0.0f) exit = wp::min(exit, far_ / slow);
            } else if (slow > 0.0f) {
                exit = wp::min(exit, far_ / slow);
            } else if (fast < 0.0f) {
                exit = wp::min(exit, near_ / fast);
            }
        }
        return entry > exit;
    };
    const auto group_misses_ball = [&](const auto& ball) {
        float low[3], high[3];
        for (int k = 0; k < 3; ++k) {
            const float center = (float)(ball[k] - base[k]), radius = (float)ball[3] * 1.001f;
            low[k] = center - radius;
            high[k] = center + radius;
        }
        return misses(from, along, low, high);
    };
    const auto group_misses_boxes = [&](int kind, int row) {
        const auto& turn = object_inverse.data[row];
        const auto& offset = object_offset.data[row];
        Range places, ways;
        for (int k = 0; k < 3; ++k) {
            double place = offset[k];
            float way = 0.0f, around = 0.0f, spread = 0.0f;
            for (int j = 0; j < 3; ++j) {
                const double t = turn.data[k][j];
                const float size = (float)wp::abs(t);
                place += t * (base[j] + 0.5 * (double)(from.low[j] + from.high[j]));
                way += (float)t * 0.5f * (along.low[j] + along.high[j]);
                around += size * 0.5f * (from.high[j] - from.low[j]);
                spread += size * 0.5f * (along.high[j] - along.low[j]);
            }
            places.low[k] = (float)place - around; places.high[k] = (float)place + around;
            ways.low[k] = way - spread; ways.high[k] = way + spread;
        }
        for (int k = spans.data[kind][2]; k < spans.data[kind + 1][2]; ++k)
            if (!misses(places, ways, &boxes.data[k].data[0][0], &boxes.data[k].data[1][0])) return false;
        return true;
    };
    const auto each_object = [&](int kind, const auto& found) {
        if (reach <= 0.0f) return;
        const auto &begins = spans.data[kind], &ends = spans.data[kind + 1];
        for (int c = begins[1]; c < ends[1]; ++c) {
            if (group_misses_ball(clusters.data[c])) continue;
            const int at = begins[0] + (c - begins[1]) * size;
            for (int k = at; k < wp::min(at + size, ends[0]); ++k) {
                if (group_misses_ball(balls.data[k]) || group_misses_boxes(kind, rows.data[k])) continue;
                if (found(k)) return;
            }
        }
    };
"""

_EACH_MEETING = f"""{_GROUP}
    const auto meets = [&](int i, const auto& ball) {{
        const auto &origin = origins.data[i * origin_step], &direction = directions.data[i];
        Three toward, d;
        for (int k = 0; k < 3; ++k) {{
            toward[k] = (float)(ball[k] - origin[k]);
            d[k] = (float)direction[k];
        }}
        const float part = wp::dot(toward, d);
        const Three aside = toward - d * part;
        const float radius = (float)ball[3] * 1.001f + 1.0e-6f * wp::abs(part);
        return wp::dot(aside, aside) < radius * radius && part > -radius
            && part - radius < limits.data[i] + (float)begin;
    }};
    const auto each_meeting = [&](const auto& found) {{
        each_object(kind, [&](int k) {{
            for (int i = first; i < end; ++i)
                if (limits.data[i] > 0.0f && meets(i, balls.data[k])) found(i, k);
            return false;
        }});
    }};
"""

_FIND = f"""
    for (int kind = 0; kind < met.shape[0]; ++kind) met.data[kind] = 0;
    const int total = limits.shape[0], kinds = met.shape[0];
    int left = kinds;
    for (int first = 0; first < total && left > 0; first += 64) {{
        const int end = wp::min(first + 64, total);
        {_GROUP}
        for (int kind = 0; kind < kinds; ++kind) {{
            if (met.data[kind]) continue;
            each_object(kind, [&](int) {{
                met.data[kind] = 1;
                --left;
                return true;
            }});
        }}
    }}
"""

_COUNT = f"""{_EACH_MEETING}
    for (int i = first; i < end; ++i) counts.data[i] = 0;
    each_meeting([&](int i, int) {{ ++counts.data[i]; }});
"""

_ENTER = f"""{_EACH_MEETING}
    int places[64];
    for (int i = first; i < end; ++i) places[i - first] = i > 0 ? ends.data[i - 1] : 0;
    each_meeting([&](int i, int k) {{
        const auto &origin = origins.data[i * origin_step], &direction = directions.data[i];
        const auto& ball = balls.data[k];
        const int row = rows.data[k], place = places[i - first]++;
        const auto& turn = object_inverse.data[row];
        const auto& offset = object_offset.data[row];
        double way = 0.0;
        for (int j = 0; j < 3; ++j) way += (ball[j] - origin[j]) * direction[j];
        const double start = (double)(float)wp::max(way - ball[3] * 1.01, begin);
        for (int j = 0; j < 3; ++j) {{
            double entry = offset[j], turned = 0.0;
            for (int m = 0; m < 3; ++m) {{
                entry += turn.data[j][m] * (origin[m] + direction[m] * start);
                turned += turn.data[j][m] * direction[m];
            }}
            short_origins.data[place][j] = (float)(entry - center[j]);
            short_directions.data[place][j] = (float)turned;
        }}
        starts.data[place] = (float)(start - begin);
        short_limits.data[place] = limits.data[i] - starts.data[place];
        items.data[place] = row;
    }});
"""


@wp.func_native(_FIND)
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


@wp.func_native(_COUNT)
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


@wp.func_native(_ENTER)
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
