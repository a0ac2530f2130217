# Kernels are in the language of Warp, which the type checker cannot follow.
# mypy: ignore-errors
"""Ranking of all lamps at a point, eight lamps at a time."""

import numpy as np
import numpy.typing as npt
import warp as wp

from pegasus.render.embree.irradiance_kernels import Probes, Volume
from pegasus.render.embree.native_types import native_result

wp.set_module_options({"enable_backward": False, "block_dim": 1})

LANES = 8
"""Number of lamps at a time."""

Ranking = native_result("Ranking", wp.types.vector(length=13, dtype=wp.float32))

_COLUMNS = 14
_NEVER = 1.0e30

_RANK = """
    typedef float Eight __attribute__((vector_size(32)));
    typedef int Mask __attribute__((vector_size(32)));
    typedef unsigned char Bytes __attribute__((vector_size(8)));
    const int count = lamps.shape[1];
    const float inside = probes[16];
    const auto column = [&](int field, int k) {
        Eight value;
        __builtin_memcpy(&value, lamps.data + field * count + k, 32);
        return value;
    };
    const Eight none = {};
    const unsigned char* seen_by[8] = {};
    if (inside > 0.0f)
        for (int j = 0; j < 8; ++j) seen_by[j] = volume.lamps.data + (long long)(probes[j]) * count;
    float names[3] = {-1.0f, -1.0f, -1.0f}, values[3] = {0.0f, 0.0f, 0.0f};
    float shares[3] = {0.0f, 0.0f, 0.0f};
    Eight red = none, green = none, blue = none, nearest = none + 1.0e30f;
    for (int k = 0; k < count; k += 8) {
        const Eight local = column(0, k);
        const Eight x = column(1, k) - local * point[0];
        const Eight y = column(2, k) - local * point[1];
        const Eight z = column(3, k) - local * point[2];
        const Eight square = x * x + y * y + z * z;
        const Eight away = square + column(13, k);
        nearest = away < nearest ? away : nearest;
        const Eight cosine = x * normal[0] + y * normal[1] + z * normal[2];
        const Eight side = x * facing[0] + y * facing[1] + z * facing[2];
        const Eight onto = side > none ? cosine : cosine * -passes;
        const Mask lit = onto > none;
        int some = 0;
        for (int j = 0; j < 8; ++j) some |= lit[j];
        if (some == 0) continue;
        const Eight least = column(12, k), held = square > least ? square : least;
        Eight root;
        for (int j = 0; j < 8; ++j) root[j] = wp::sqrt(held[j]);
        const Eight along = -(x * column(4, k) + y * column(5, k) + z * column(6, k));
        const Eight flat = (along > none ? along : none) / (held * (held + column(11, k)));
        const Eight share = lit ? onto * (column(10, k) > none ? flat : 1.0f / (held * root)) : none;
        Eight seen = none + 1.0f;
        if (inside > 0.0f) {
            Eight sum = none;
            for (int j = 0; j < 8; ++j) {
                Bytes part;
                __builtin_memcpy(&part, seen_by[j] + k, 8);
                sum += __builtin_convertvector(part, Eight) * probes[8 + j];
            }
            seen = 1.0f - inside + sum * (inside / 255.0f);
        }
        const Eight own_red = column(7, k), own_green = column(8, k), own_blue = column(9, k);
        red += own_red * (share * seen);
        green += own_green * (share * seen);
        blue += own_blue * (share * seen);
        // Probes may miss what a gap lets through.
        const Eight brightness = own_red * 0.2126f + own_green * 0.7152f + own_blue * 0.0722f;
        const Eight value = brightness * share * (seen * 0.9f + 0.1f);
        const Eight toward = x * mirrored_way[0] + y * mirrored_way[1] + z * mirrored_way[2];
        const Eight aligned = (toward > none ? toward * toward : none) / (square > 1.0e-12f ? square : 1.0f);
        const Eight four = aligned * aligned, eight = four * four;
        const Eight ranked = value * (1.0f + gloss * (eight * eight));
        const Mask high = ranked > values[2];
        some = 0;
        for (int j = 0; j < 8; ++j) some |= high[j];
        if (some == 0) continue;
        for (int j = 0; j < 8; ++j) {
            float own = ranked[j];
            if (!(own > values[2])) continue;
            float name = (float)(k + j), lit_by = share[j] * seen[j];
            for (int slot = 0; slot < 3; ++slot) {
                if (own > values[slot]) {
                    const float value_there = values[slot];
                    const float name_there = names[slot], lit_there = shares[slot];
                    values[slot] = own;
                    names[slot] = name;
                    shares[slot] = lit_by;
                    own = value_there;
                    name = name_there;
                    lit_by = lit_there;
                }
            }
        }
    }
    wp::vec_t<13, wp::float32> result;
    for (int slot = 0; slot < 3; ++slot) {
        result[slot] = names[slot];
        result[3 + slot] = values[slot];
        result[6 + slot] = 0.0f;
        result[10 + slot] = shares[slot];
    }
    result[9] = 1.0e30f;
    for (int j = 0; j < 8; ++j) {
        result[6] += red[j];
        result[7] += green[j];
        result[8] += blue[j];
        result[9] = wp::min(result[9], nearest[j]);
    }
    return result;
"""


@wp.func_native(_RANK)
def rank_lamps(
    lamps: wp.array2d(dtype=wp.float32),
    volume: Volume,
    probes: Probes,
    point: wp.vec3f,
    normal: wp.vec3f,
    facing: wp.vec3f,
    passes: wp.float32,
    mirrored_way: wp.vec3f,
    gloss: wp.float32,
) -> Ranking:
    """Return the three lamps with the strongest light at a point, their values, and more.

    Lamps count by the part that probes see of them; those whose mirror reflection is visible on a glossy
    surface take precedence. The rest of the row is the light of all lamps together as probes see it, the
    squared distance to the nearest lamp, and the irradiance by each of the three per unit of its strength.
    """


def lamp_columns(lamps: npt.NDArray[np.void]) -> npt.NDArray[np.float32]:
    """Return lamps as columns for `rank_lamps`, their number a multiple of `LANES`, shape (14, P).

    A distant lamp is one at its direction from each point; lamps that fill up the last columns are dark.

    Args:
        lamps: Lamps as a structured array.
    """
    count = len(lamps)
    columns = np.zeros((_COLUMNS, padded(count)), np.float32)
    distant = lamps["kind"] == 0
    columns[0, :count] = ~distant
    columns[1:4, :count] = np.where(distant[:, None], lamps["axis"], lamps["position"]).T
    columns[4:7, :count] = lamps["axis"].T
    columns[7:10, :count] = lamps["strength"].T
    columns[10, :count] = lamps["kind"] == 2
    columns[11, :count] = lamps["softness"]
    columns[12, :count] = np.where(distant, 0.0, lamps["radius"] ** 2)
    columns[12, count:] = 1.0
    columns[13] = _NEVER
    columns[13, :count][~distant] = 0.0
    return columns


def padded(count: int) -> int:
    """Return the number of columns for a number of lamps."""
    return -(-count // LANES) * LANES
