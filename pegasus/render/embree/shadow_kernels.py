# Kernels are in the language of Warp, which the type checker cannot follow.
# mypy: ignore-errors
"""Warp kernels that select the shadow rays of an image, and generate them."""

import warp as wp

from pegasus.render.embree.lamp_choice import SPAN, Choice, Lights
from pegasus.render.embree.surface_tables import Surface, SurfaceMaterial

wp.set_module_options({"enable_backward": False, "block_dim": 1})

_SELECT = """
    const int total = marks.shape[0], slots = choice.lamps.shape[1], lamps = counts.shape[0] - 1;
    const int columns = width > 0 ? width : total, rows = total / columns;
    const int* chosen = choice.lamps.data;
    const auto level = [&](int i, int k) {
        return wp::dot(surface.normal.data[i], surface.normal.data[k]) > 0.98f
            && wp::dot(surface.facing.data[i], surface.facing.data[k]) > 0.98f;
    };
    // Whether there is no step or bend between two points.
    const auto beside = [&](int i, int k) {
        const double step = surface.distance.data[k] - surface.distance.data[i];
        if (surface.material.data[k] < 0) return false;
        return wp::abs(step) <= 0.02 * surface.distance.data[i] && level(i, k);
    };
    const auto leaf = [&](int k) {
        return surface.material.data[k] >= 0 && materials.data[surface.material.data[k]].passes > 0.0f;
    };
    const auto seen_by = [&](int k, int lamp) {
        for (int slot = 0; slot < slots; ++slot)
            if (chosen[k * slots + slot] == lamp) return visible.data[k * slots + slot];
        return -1.0f;
    };
    for (int k = 0; k <= lamps; ++k) counts.data[k] = 0;
    const int step = width > 0 && others == 0 ? 2 : 1, side = 4 * step;
    for (int row = 0; row < rows; row += step) for (int column = 0; column < columns; column += step) {
        const int i = row * columns + column;
        marks.data[i] = 0;
        const bool alone = width == 0 || (row % 2 == 0 && column % 2 == 0);
        if (alone == (others != 0) || chosen[i * slots] < 0) continue;
        const int across = column % 2, down = row % 2 * columns;
        const int corners[4] = {i - across - down, i + across + down, i + across - down, i - across + down};
        const int distinct = across != 0 && down != 0 ? 4 : 2;
        const bool bounded = !alone && column + across < columns && i + across + down < total;
        bool alike = bounded;
        for (int k = 0; k < distinct; ++k) alike = alike && beside(i, corners[k]);
        // Shadows in the crown of a tree are finer than such pixels.
        const bool crown = bounded && !alike && leaf(i) && cone * surface.distance.data[i] > 0.02;
        for (int slot = 0; slot < slots; ++slot) {
            const int lamp = chosen[i * slots + slot];
            if (lamp < 0) break;
            if (crown) {
                float sum = 0.0f;
                int count = 0;
                for (int k = 0; k < distinct; ++k) {
                    const int j = corners[k];
                    if (!leaf(j)) continue;
                    const float part = seen_by(j, lamp);
                    const double step = surface.distance.data[j] - surface.distance.data[i];
                    if (part < 0.0f || wp::abs(step) > 1.0) continue;
                    sum += part;
                    ++count;
                }
                if (count >= 2) {
                    visible.data[i * slots + slot] = sum / (float)(count);
                    continue;
                }
            }
            if (alike) {
                float sum = 0.0f, low = 1.0f, high = 0.0f;
                for (int k = 0; k < distinct; ++k) {
                    const float part = seen_by(corners[k], lamp);
                    sum += part;
                    low = wp::min(low, part);
                    high = wp::max(high, part);
                }
                if (low >= 0.0f && high - low < 0.01f) {
                    visible.data[i * slots + slot] = sum / (float)(distinct);
                    continue;
                }
            }
            marks.data[i] |= (unsigned char)(1 << slot);
            ++counts.data[lamp];
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
    surface: Surface,
    cone: wp.float32,
    width: wp.int32,
    others: wp.int32,
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
    surface: Surface,
    cone: wp.float32,
    width: wp.int32,
    others: wp.int32,
    visible: wp.array2d(dtype=wp.float32),
    marks: wp.array(dtype=wp.uint8),
    counts: wp.array(dtype=wp.int32),
    picks: wp.array(dtype=wp.int32),
):
    """List the shadow rays of points: index of the point times the number of slots, plus the slot.

    If `others` is 0 these are all rays of the points in even rows and columns of an image, of all points if
    the width is 0. If it is 1 these are the rays of the other points, unless their neighbours agree, two or
    four points that have cast rays: there is no step or bend between them, and they have chosen a lamp and
    see as much of it, which becomes the visible part there. Leaves whose pixel is wider than 2 cm take over
    the mean of at least two such points that are leaves, less than a metre nearer or farther.

    Rays to the same lamp follow each other, and those of a tile of the image; `counts` holds the end of each
    lamp's rays, the last row the number of all. `marks` is working memory for each point.
    """
    select(materials, choice, surface, cone, width, others, visible, marks, counts, picks)


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
        Three toward = lamp.axis, target = lamp.position;
        for (int k = 0; k < 3; ++k) {
            point[k] = origin[k] + direction[k] * distance;
            if (lamp.kind != 0) toward[k] = lamp.position[k] - (float)(point[k] - lights.middle[k]);
        }
        // Samples on the disc of a sun or ball, from its centre outwards, or within a flat lamp.
        if (spread[0] != 0.0f || spread[1] != 0.0f) {
            const Three other(toward[1], toward[2], toward[0] + 0.5f);
            const Three aside = wp::normalize(wp::cross(toward, other));
            const Three beyond = wp::normalize(wp::cross(toward, aside));
            const Three disc = (aside * spread[0] + beyond * spread[1]) * lamp.radius;
            if (lamp.kind == 0) toward += disc;
            else if (lamp.kind == 1) target += disc + lamp.across * spread[2];
            else if (lamp.round != 0) target += lamp.across * spread[0] + lamp.down * spread[1];
            else target += lamp.across * spread[2] + lamp.down * spread[3];
        }
        // Light from behind a leaf starts on its other side.
        const float side = wp::dot(surface.facing.data[i], toward) < 0.0f ? -lift : lift;
        for (int k = 0; k < 3; ++k) {
            const double above = (double)(surface.facing.data[i][k] * side);
            next_origins.data[j][k] = point[k] + above;
            if (lamp.kind != 0) toward[k] = target[k] - (float)(point[k] + above - lights.middle[k]);
        }
        const float length = wp::max(wp::sqrt(wp::dot(toward, toward)), 1.0e-6f);
        const float inside = lamp.kind == 1 ? lamp.radius * 1.02f : 0.0f;
        const float reach = lamp.kind == 0 ? 1.0e30f : wp::max(length * 0.999f - inside - lift, 0.0f);
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
    spread: wp.vec4f,
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
    spread: wp.vec4f,
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
        spread,
        next_origins,
        next_directions,
        next_reach,
        first,
        wp.min(first + SPAN, picks.shape[0]),
    )
