// Declares `probes_at` and `ambient_toward` for `lights`: irradiance and visible sky at a point from the volume of
// probes. Needs eight.h.

const auto& volume = lights.volume;
const auto& sky = lights.sky;
typedef float Four __attribute__((vector_size(16)));
// The eight probes around a point, their weights, and the weight of the volume as a whole.
struct Probes { int rows[8]; Eight weights; float inside; };
const Eight steps[3] = {
    {0.0f, 1.0f, 0.0f, 1.0f, 0.0f, 1.0f, 0.0f, 1.0f},
    {0.0f, 0.0f, 1.0f, 1.0f, 0.0f, 0.0f, 1.0f, 1.0f},
    {0.0f, 0.0f, 0.0f, 0.0f, 1.0f, 1.0f, 1.0f, 1.0f}};
// Probes behind the surface or behind a nearer surface count little (Majercik et al. 2019, "Dynamic
// diffuse global illumination with ray-traced irradiance fields", with the mean distance along six axes).
// Outside of the grid the volume fades out over four of its steps.
const auto probes_at = [&](const float* point, const float* normal) {
    const int strides[3] = {1, volume.size[0], volume.size[0] * volume.size[1]};
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
    square = most(square, none + 1.0e-6f);
    Probes result;
    Eight reach[3];
    for (int k = 0; k < 8; ++k) {
        const int row = first + k % 2 + (k / 2) % 2 * strides[1] + k / 4 * strides[2];
        result.rows[k] = row;
        const float* reached = volume.reach.data + 6 * row;
        // From a low probe the point lies towards +, from a high one towards -.
        reach[0][k] = reached[k % 2];
        reach[1][k] = reached[2 + (k / 2) % 2];
        reach[2][k] = reached[4 + k / 4];
    }
    const Eight length = root(square);
    Eight clear = none;
    for (int axis = 0; axis < 3; ++axis) clear += away[axis] * away[axis] * reach[axis];
    Eight seen = least(clear / (square * length * volume.spacing), one);
    seen = seen * seen * seen;
    ahead = most(0.5f - 0.5f * ahead / length, none);
    weight = most(weight, none + 1.0e-4f) * most(seen, none + 1.0e-4f) * (ahead * ahead + 0.02f);
    float total = 0.0f;
    for (int k = 0; k < 8; ++k) total += weight[k];
    result.weights = weight * (1.0f / total);
    result.inside = wp::max(1.0f - 0.25f * beyond, 0.0f);
    return result;
};
// Indirect irradiance of a surface that faces a direction, and its visible part of the sky.
const auto ambient_toward = [&](const Probes& probes, const float* way) -> Four {
    const float inside = probes.inside;
    Four value = {}, sky_only = {0.0f, 0.0f, 0.0f, 1.0f};
    if (inside < 1.0f) {
        const float x = way[0], y = way[1], z = way[2];
        const float terms[9] = {1.0f, y, z, x, x * y, y * z, 3.0f * z * z - 1.0f, x * z, x * x - y * y};
        for (int k = 0; k < 3; ++k) {
            float sum = 0.0f;
            for (int j = 0; j < 9; ++j) sum += sky.harmonics.data[j][k] * terms[j];
            sky_only[k] = wp::max(sum, 0.0f);
        }
        if (inside == 0.0f) return sky_only;
    }
    for (int axis = 0; axis < 3; ++axis) {
        const int column = 2 * axis + (way[axis] < 0.0f ? 1 : 0);
        Four part = {};
        for (int k = 0; k < 8; ++k) {
            Four light;
            __builtin_memcpy(&light, volume.light.data + 6 * probes.rows[k] + column, 16);
            part += light * probes.weights[k];
        }
        value += part * (way[axis] * way[axis]);
    }
    return inside < 1.0f ? value * inside + sky_only * (1.0f - inside) : value;
};
