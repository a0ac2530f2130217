# Kernels are in the language of Warp, which the type checker cannot follow.
# mypy: ignore-errors
"""Warp functions that read a volume of probes: irradiance, visible sky and visible lamps at a point."""

import warp as wp

from pegasus.render.embree.reflection import SkyLight, sky_onto

wp.set_module_options({"enable_backward": False, "block_dim": 1})


@wp.struct
class Volume:
    """Probes on a grid, x fastest; six values each towards +x, -x, +y, -y, +z and -z."""

    origin: wp.vec3f
    spacing: wp.float32
    size: wp.vec3i
    light: wp.array2d(dtype=wp.vec3f)
    openness: wp.array2d(dtype=wp.float32)
    reach: wp.array2d(dtype=wp.float32)
    lamps: wp.array2d(dtype=wp.uint8)


Rows = wp.types.vector(length=8, dtype=wp.int32)
Weights = wp.types.vector(length=8, dtype=wp.float32)


@wp.func
def side_of(axis: wp.int32, component: wp.float32) -> wp.int32:
    """Return the column of a probe's value along an axis."""
    return 2 * axis + wp.where(component < 0.0, 1, 0)


@wp.func
def probes_at(volume: Volume, point: wp.vec3f, normal: wp.vec3f):
    """Return the eight probes around a point, their weights, and the weight of the volume as a whole.

    Probes behind the surface or behind a nearer surface count little (Majercik et al. 2019, "Dynamic diffuse
    global illumination with ray-traced irradiance fields", with the mean distance along six axes). Outside of
    the grid the volume fades out over four of its steps.
    """
    lifted = point + normal * (0.2 * volume.spacing) - volume.origin
    low = wp.vec3i(0, 0, 0)
    part = wp.vec3f(0.0, 0.0, 0.0)
    beyond = wp.float32(0.0)
    for axis in range(3):
        last = wp.float32(volume.size[axis] - 1)
        place = lifted[axis] / volume.spacing
        held = wp.clamp(place, 0.0, last)
        beyond = wp.max(beyond, wp.abs(place - held))
        low[axis] = wp.min(wp.int32(held), volume.size[axis] - 2)
        part[axis] = held - wp.float32(low[axis])
    rows = Rows(0)
    weights = Weights(0.0)
    total = wp.float32(0.0)
    for k in range(8):
        x = k % 2
        y = (k / 2) % 2
        z = k / 4
        row = ((low[2] + z) * volume.size[1] + low[1] + y) * volume.size[0] + low[0] + x
        away = wp.vec3f(part[0] - wp.float32(x), part[1] - wp.float32(y), part[2] - wp.float32(z))
        weight = (1.0 - wp.abs(away[0])) * (1.0 - wp.abs(away[1])) * (1.0 - wp.abs(away[2]))
        square = wp.max(wp.length_sq(away), 1.0e-6)
        clear = wp.float32(0.0)
        for axis in range(3):
            clear += away[axis] * away[axis] / square * volume.reach[row, side_of(axis, away[axis])]
        length = wp.sqrt(square)
        seen = wp.min(clear / (length * volume.spacing), 1.0)
        ahead = wp.max(0.5 - 0.5 * wp.dot(away, normal) / length, 0.0)
        weight = wp.max(weight, 1.0e-4) * wp.max(seen * seen * seen, 1.0e-4) * (ahead * ahead + 0.02)
        rows[k] = row
        weights[k] = weight
        total += weight
    return rows, weights / total, wp.max(1.0 - 0.25 * beyond, 0.0)


@wp.func
def lamp_seen(volume: Volume, rows: Rows, weights: Weights, inside: wp.float32, lamp: wp.int32) -> wp.float32:
    """Return the visible fraction of a lamp among probes."""
    value = wp.float32(0.0)
    for k in range(8):
        value += weights[k] * wp.float32(volume.lamps[rows[k], lamp])
    return 1.0 - inside + inside * value / 255.0


@wp.func
def ambient_toward(
    volume: Volume,
    sky: SkyLight,
    rows: Rows,
    weights: Weights,
    inside: wp.float32,
    way: wp.vec3f,
) -> wp.vec4f:
    """Return the indirect irradiance of a surface that faces a direction, and its visible part of the sky."""
    value = wp.vec3f(0.0, 0.0, 0.0)
    openness = wp.float32(1.0)
    if inside > 0.0:
        opened = wp.float32(0.0)
        for axis in range(3):
            column = side_of(axis, way[axis])
            square = way[axis] * way[axis]
            for k in range(8):
                value += volume.light[rows[k], column] * (square * weights[k])
                opened += volume.openness[rows[k], column] * (square * weights[k])
        value *= inside
        openness = 1.0 - inside + inside * opened
    if inside < 1.0:
        value += sky_onto(sky, way) * (1.0 - inside)
    return wp.vec4f(value[0], value[1], value[2], openness)
