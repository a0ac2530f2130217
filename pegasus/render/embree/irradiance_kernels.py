# Kernels are in the language of Warp, which the type checker cannot follow.
# mypy: ignore-errors
"""Warp functions that read a volume of probes: irradiance, visible sky and visible lamps at a point.

Native code handles the eight probes around a point at a time.
"""

import warp as wp

from pegasus.render.embree.native_types import native_result
from pegasus.render.embree.reflection import SkyLight, sky_onto

wp.set_module_options({"enable_backward": False, "block_dim": 1})


@wp.struct
class Volume:
    """Probes on a grid, x fastest; six values each towards +x, -x, +y, -y, +z and -z.

    The light of a direction is the irradiance from there and the visible part of the sky.
    """

    origin: wp.vec3f
    spacing: wp.float32
    size: wp.vec3i
    light: wp.array2d(dtype=wp.vec4f)
    reach: wp.array2d(dtype=wp.float32)
    lamps: wp.array2d(dtype=wp.uint8)


Probes = native_result("Probes", wp.types.vector(length=17, dtype=wp.float32))
"""Rows of the eight probes around a point, their weights, and the weight of the volume as a whole."""

_PROBES = """
    typedef float Eight __attribute__((vector_size(32)));
    const Eight steps[3] = {
        {0.0f, 1.0f, 0.0f, 1.0f, 0.0f, 1.0f, 0.0f, 1.0f},
        {0.0f, 0.0f, 1.0f, 1.0f, 0.0f, 0.0f, 1.0f, 1.0f},
        {0.0f, 0.0f, 0.0f, 0.0f, 1.0f, 1.0f, 1.0f, 1.0f}};
    const int strides[3] = {1, volume.size[0], volume.size[0] * volume.size[1]};
    const Eight none = {};
    Eight away[3], weight = none + 1.0f, ahead = none, square = none;
    int first = 0;
    float beyond = 0.0f;
    for (int axis = 0; axis < 3; ++axis) {
        const float lifted = point[axis] + normal[axis] * (0.2f * volume.spacing) - volume.origin[axis];
        const float place = lifted / volume.spacing;
        const float held = wp::min(wp::max(place, 0.0f), (float)(volume.size[axis] - 1));
        beyond = wp::max(beyond, wp::abs(place - held));
        const int low = wp::min((int)(held), volume.size[axis] - 2);
        first += low * strides[axis];
        away[axis] = (held - (float)(low)) - steps[axis];
        weight *= 1.0f - (away[axis] > none ? away[axis] : -away[axis]);
        square += away[axis] * away[axis];
        ahead += away[axis] * normal[axis];
    }
    square = square > 1.0e-6f ? square : none + 1.0e-6f;
    wp::vec_t<17, wp::float32> result;
    Eight reach[3], length;
    for (int k = 0; k < 8; ++k) {
        const int row = first + k % 2 + (k / 2) % 2 * strides[1] + k / 4 * strides[2];
        result[k] = (float)(row);
        const float* reached = volume.reach.data + 6 * row;
        // From a low probe the point lies towards +, from a high one towards -.
        reach[0][k] = reached[k % 2];
        reach[1][k] = reached[2 + (k / 2) % 2];
        reach[2][k] = reached[4 + k / 4];
        length[k] = wp::sqrt(square[k]);
    }
    Eight clear = none;
    for (int axis = 0; axis < 3; ++axis) clear += away[axis] * away[axis] * reach[axis];
    Eight seen = clear / (square * length * volume.spacing);
    seen = seen < 1.0f ? seen : none + 1.0f;
    seen = seen * seen * seen;
    ahead = 0.5f - 0.5f * ahead / length;
    ahead = ahead > none ? ahead : none;
    weight = weight > 1.0e-4f ? weight : none + 1.0e-4f;
    weight *= (seen > 1.0e-4f ? seen : none + 1.0e-4f) * (ahead * ahead + 0.02f);
    float total = 0.0f;
    for (int k = 0; k < 8; ++k) total += weight[k];
    weight *= 1.0f / total;
    for (int k = 0; k < 8; ++k) result[8 + k] = weight[k];
    result[16] = wp::max(1.0f - 0.25f * beyond, 0.0f);
    return result;
"""

_TOWARD = """
    typedef float Four __attribute__((vector_size(16)));
    Four sum = {};
    for (int axis = 0; axis < 3; ++axis) {
        const int column = 2 * axis + (way[axis] < 0.0f ? 1 : 0);
        Four part = {};
        for (int k = 0; k < 8; ++k) {
            Four light;
            __builtin_memcpy(&light, volume.light.data + 6 * (int)(probes[k]) + column, 16);
            part += light * probes[8 + k];
        }
        sum += part * (way[axis] * way[axis]);
    }
    return wp::vec_t<4, wp::float32>(sum[0], sum[1], sum[2], sum[3]);
"""


@wp.func_native(_PROBES)
def probes_at(volume: Volume, point: wp.vec3f, normal: wp.vec3f) -> Probes:
    """Return the eight probes around a point, their weights, and the weight of the volume as a whole.

    Probes behind the surface or behind a nearer surface count little (Majercik et al. 2019, "Dynamic diffuse
    global illumination with ray-traced irradiance fields", with the mean distance along six axes). Outside of
    the grid the volume fades out over four of its steps.
    """


@wp.func_native(_TOWARD)
def light_toward(volume: Volume, probes: Probes, way: wp.vec3f) -> wp.vec4f:
    """Return the indirect irradiance of a surface among probes, and its visible part of the sky."""


@wp.func
def ambient_toward(volume: Volume, sky: SkyLight, probes: Probes, way: wp.vec3f) -> wp.vec4f:
    """Return the indirect irradiance of a surface that faces a direction, and its visible part of the sky."""
    inside = probes[16]
    if inside == 0.0:
        onto = sky_onto(sky, way)
        return wp.vec4f(onto[0], onto[1], onto[2], 1.0)
    value = light_toward(volume, probes, way)
    if inside < 1.0:
        onto = sky_onto(sky, way)
        value = value * inside + wp.vec4f(onto[0], onto[1], onto[2], 1.0) * (1.0 - inside)
    return value
