# Kernels are in the language of Warp, which the type checker cannot follow.
# mypy: ignore-errors
"""Warp kernels that select the shadow rays of an image, and generate them."""

import warp as wp

from pegasus.render.embree.lamp_choice import SPAN, Choice, Lights
from pegasus.render.embree.surface_tables import Surface, SurfaceMaterial

wp.set_module_options({"enable_backward": False, "block_dim": 1})

ROUNDS = 3
"""Number of rounds of shadow rays of an image."""

_SELECT = """
    const int total = marks.shape[0], slots = choice.lamps.shape[1], lamps = counts.shape[0] - 1;
    const int columns = width > 0 ? width : total, rows = total / columns;
    const int* const chosen = choice.lamps.data;
    const int *const material = surface.material.data, *const entity = surface.entity.data;
    const float* const normal = (const float*)surface.normal.data;
    const float* const facing = (const float*)surface.facing.data;
    const double *const distance = surface.distance.data, *const direction = (const double*)directions.data;
    float* const shown = visible.data;
    int* const count_of = counts.data;
    unsigned char* const marked = marks.data;
    const auto product = [=](const float* all, int i, int k) {
        const float *a = all + 3 * i, *b = all + 3 * k;
        return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    };
    // Whether two points lie on a surface without a step or bend between them.
    const auto beside = [=](int i, int k) {
        if (material[k] < 0) return false;
        const double here = distance[i], step = wp::abs(distance[k] - here);
        if (step > 0.25 * here) return false;
        if (product(facing, i, k) <= 0.98f || product(normal, i, k) <= 0.98f) return false;
        if (step <= 0.02 * here) return true;
        double above = 0.0;
        for (int j = 0; j < 3; ++j)
            above += facing[3 * i + j] * (direction[3 * k + j] * distance[k] - direction[3 * i + j] * here);
        return wp::abs(above) <= 0.002 * here;
    };
    // Whether two points are close to each other on an uneven object.
    const auto together = [=](int i, int k) {
        return material[k] == material[i] && entity[k] == entity[i]
            && wp::abs(distance[k] - distance[i]) <= 0.02 * distance[i];
    };
    const auto leaf = [&](int k) { return material[k] >= 0 && materials.data[material[k]].passes > 0.0f; };
    // Whether shadows in the crown of a tree are finer than a pixel.
    const auto distant_leaf = [&](int k) { return leaf(k) && cone * distance[k] > 0.02; };
    const auto seen_by = [=](int k, int lamp) {
        for (int slot = 0; slot < slots; ++slot)
            if (chosen[k * slots + slot] == lamp) return shown[k * slots + slot];
        return -1.0f;
    };
    const auto cast = [=](int i, int slot) {
        marked[i] |= (unsigned char)(1 << slot);
        ++count_of[chosen[i * slots + slot]];
    };
    // Take over what points with the same lamps see of these, or cast.
    const auto settle = [=](int i, const int* around, int count) {
        for (int slot = 0; slot < slots && chosen[i * slots + slot] >= 0; ++slot) {
            float sum = 0.0f, low = 1.0f, high = 0.0f;
            for (int k = 0; k < count; ++k) {
                const float part = shown[around[k] * slots + slot];
                sum += part;
                low = wp::min(low, part);
                high = wp::max(high, part);
            }
            if (high - low < 0.01f) shown[i * slots + slot] = sum / (float)(count);
            else cast(i, slot);
        }
    };
    for (int k = 0; k <= lamps; ++k) count_of[k] = 0;
    const int step = width > 0 && turn < 2 ? 2 : 1, side = 4 * step;
    for (int row = 0; row < rows; row += step) for (int column = 0; column < columns; column += step) {
        const int i = row * columns + column;
        marked[i] = 0;
        if (chosen[i * slots] < 0) continue;
        const int odd = row % 2 + column % 2;
        int own = width > 0 && odd != 0 ? 2 : 0;
        if (width > 0 && odd == 0 && (row + column) / 2 % 2 != 0 && distant_leaf(i)) own = 1;
        if (turn != own) continue;
        if (turn == 0) {
            for (int slot = 0; slot < slots && chosen[i * slots + slot] >= 0; ++slot) cast(i, slot);
            continue;
        }
        // Points around that have rays already, the nearest first.
        int around[6], count = 0;
        const auto ask = [&](int across, int down) {
            const int x = column + across, y = row + down;
            if (x >= 0 && x < columns && y >= 0 && y < rows) around[count++] = y * columns + x;
        };
        const int nearest = turn == 2 && odd == 1 ? 2 : 4, right = column % 2, lower = row % 2;
        if (turn == 1) {
            ask(-2, 0); ask(2, 0); ask(0, -2); ask(0, 2);
        } else if (odd == 2) {
            ask(-1, -1); ask(1, 1); ask(1, -1); ask(-1, 1);
        } else {
            ask(-right, -lower); ask(right, lower);
        }
        bool alike = count == nearest, equal = true;
        for (int k = 0; k < count && alike; ++k) {
            alike = beside(i, around[k]);
            for (int slot = 0; slot < slots; ++slot)
                equal = equal && chosen[around[k] * slots + slot] == chosen[i * slots + slot];
        }
        // Mostly all of them have chosen the same lamps.
        if (alike && equal) {
            settle(i, around, count);
            continue;
        }
        const bool crown = !alike && distant_leaf(i);
        // The shadows of an only lamp, such as the sun, have the most contrast.
        const int needed = alike || crown || slots > 1 ? 2 : 3;
        int kept = 0;
        const auto keep = [&](int first) {
            for (int k = first; k < count; ++k) {
                const int j = around[k];
                if (crown ? leaf(j) && wp::abs(distance[j] - distance[i]) <= 1.0
                        : alike || (slots > 1 && together(i, j)) || beside(i, j)) around[kept++] = j;
            }
        };
        keep(0);
        if (nearest == 2 && kept < needed && !crown) {
            count = kept;
            ask(-right - 2 * lower, -lower - 2 * right);
            ask(right + 2 * lower, lower + 2 * right);
            ask(right - 2 * lower, lower - 2 * right);
            ask(-right + 2 * lower, -lower + 2 * right);
            keep(kept);
        }
        for (int slot = 0; slot < slots && chosen[i * slots + slot] >= 0; ++slot) {
            const int lamp = chosen[i * slots + slot];
            float sum = 0.0f, low = 1.0f, high = 0.0f;
            int agreed = 0;
            for (int k = 0; k < kept; ++k) {
                const int there = around[k] * slots + slot;
                const float part = chosen[there] == lamp ? shown[there] : seen_by(around[k], lamp);
                if (part < 0.0f) continue;
                sum += part;
                low = wp::min(low, part);
                high = wp::max(high, part);
                ++agreed;
            }
            if (agreed >= needed && (crown || high - low < 0.01f))
                shown[i * slots + slot] = sum / (float)(agreed);
            else
                cast(i, slot);
        }
    }
    int start = 0;
    for (int k = 0; k <= lamps; ++k) {
        const int count = counts.data[k];
        counts.data[k] = start;
        start += count;
    }
    // Lamp by lamp, in tiles of four by four points.
    for (int top = 0; top < rows; top += side) for (int left = 0; left < columns; left += side) {
        const int bottom = wp::min(top + side, rows), right = wp::min(left + side, columns);
        for (int row = top; row < bottom; row += step)
            for (int i = row * columns + left; i < row * columns + right; i += step)
                for (int slot = 0; slot < slots; ++slot)
                    if (marks.data[i] >> slot & 1)
                        picks.data[counts.data[chosen[i * slots + slot]]++] = i * slots + slot;
    }
"""


@wp.func_native(_SELECT)
def select(
    materials: wp.array(dtype=SurfaceMaterial),
    choice: Choice,
    directions: wp.array(dtype=wp.vec3d),
    surface: Surface,
    cone: wp.float32,
    width: wp.int32,
    turn: wp.int32,
    visible: wp.array2d(dtype=wp.float32),
    marks: wp.array(dtype=wp.uint8),
    counts: wp.array(dtype=wp.int32),
    picks: wp.array(dtype=wp.int32),
):
    """Do the work of `select_rays`."""


@wp.kernel
def select_rays(
    materials: wp.array(dtype=SurfaceMaterial),
    choice: Choice,
    directions: wp.array(dtype=wp.vec3d),
    surface: Surface,
    cone: wp.float32,
    width: wp.int32,
    turn: wp.int32,
    visible: wp.array2d(dtype=wp.float32),
    marks: wp.array(dtype=wp.uint8),
    counts: wp.array(dtype=wp.int32),
    picks: wp.array(dtype=wp.int32),
):
    """List the shadow rays of points: index of the point times the number of slots, plus the slot.

    In round 0 these are all rays of the points in even rows and columns of an image, of all points if the
    width is 0. Round 1 has half of these points where they are leaves whose pixel is wider than 2 cm, and
    round 2 the points in odd rows or columns. Points of these rounds cast only if points around them do not
    agree: at least two with rays and no step or bend between them, or close to each other on one object,
    that have chosen a lamp and see as much of it, which becomes the visible part there. In scenes of one lamp
    three are needed at edges, and objects do not count. Such leaves take over
    the mean of at least two others, less than a metre nearer or farther.

    Rays to the same lamp follow each other, and those of a tile of the image; `counts` holds the end of each
    lamp's rays, the last row the number of all. `marks` is working memory for each point.
    """
    select(materials, choice, directions, surface, cone, width, turn, visible, marks, counts, picks)


_LEAVE = """
    const int slots = choice.lamps.shape[1];
    typedef wp::vec_t<3, float> Three;
    for (int j = first; j < end; ++j) {
        const int i = picks.data[j] / slots;
        const auto& lamp = lights.lamps.data[choice.lamps.data[picks.data[j]]];
        const auto &origin = origins.data[i * origin_step], &direction = directions.data[i];
        const double distance = surface.distance.data[i];
        const float lift = 2.0e-4f + 2.0e-6f * (float)(distance);
        double point[3];
        Three toward = lamp.axis;
        for (int k = 0; k < 3; ++k) {
            point[k] = origin[k] + direction[k] * distance;
            if (lamp.kind != 0) toward[k] = lamp.position[k] - (float)(point[k] - lights.middle[k]);
        }
        // Light from behind a leaf starts on its other side.
        const float side = wp::dot(surface.facing.data[i], toward) < 0.0f ? -lift : lift;
        for (int k = 0; k < 3; ++k) {
            const double above = (double)(surface.facing.data[i][k] * side);
            next_origins.data[j][k] = point[k] + above;
            if (lamp.kind != 0) toward[k] = lamp.position[k] - (float)(point[k] + above - lights.middle[k]);
        }
        float length = wp::max(wp::sqrt(wp::dot(toward, toward)), 1.0e-6f), reach = 1.0e30f;
        if (lamp.kind == 0) {
            // Samples on the disc of a sun, from its centre outwards.
            if (jitter[0] != 0.0f || jitter[1] != 0.0f) {
                const Three other(toward[1], toward[2], toward[0] + 0.5f);
                const Three aside = wp::normalize(wp::cross(toward, other));
                toward += (aside * jitter[0] + wp::cross(toward, aside) * jitter[1]) * lamp.radius;
                length = wp::sqrt(wp::dot(toward, toward));
            }
        } else {
            const float inside = lamp.kind == 1 ? lamp.radius * 1.02f : 0.0f;
            reach = wp::max(length * 0.999f - inside - lift, 0.0f);
        }
        for (int k = 0; k < 3; ++k) next_directions.data[j][k] = (double)(toward[k] / length);
        next_reach.data[j] = reach;
    }
"""


@wp.func_native(_LEAVE)
def leave(
    lights: Lights,
    choice: Choice,
    picks: wp.array(dtype=wp.int32),
    origins: wp.array(dtype=wp.vec3d),
    origin_step: wp.int32,
    directions: wp.array(dtype=wp.vec3d),
    surface: Surface,
    jitter: wp.vec2f,
    next_origins: wp.array(dtype=wp.vec3d),
    next_directions: wp.array(dtype=wp.vec3d),
    next_reach: wp.array(dtype=wp.float32),
    first: wp.int32,
    end: wp.int32,
):
    """Write some rays from surface points to their chosen lamps."""


@wp.kernel
def leave_for_lamps(
    lights: Lights,
    choice: Choice,
    picks: wp.array(dtype=wp.int32),
    origins: wp.array(dtype=wp.vec3d),
    origin_step: wp.int32,
    directions: wp.array(dtype=wp.vec3d),
    surface: Surface,
    jitter: wp.vec2f,
    next_origins: wp.array(dtype=wp.vec3d),
    next_directions: wp.array(dtype=wp.vec3d),
    next_reach: wp.array(dtype=wp.float32),
):
    """Write rays from surface points to their chosen lamps."""
    first = wp.tid() * SPAN
    leave(
        lights,
        choice,
        picks,
        origins,
        origin_step,
        directions,
        surface,
        jitter,
        next_origins,
        next_directions,
        next_reach,
        first,
        wp.min(first + SPAN, picks.shape[0]),
    )
