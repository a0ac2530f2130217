// Writes the lower and the upper ends of the origins and directions of a group of rays.

typedef float Four __attribute__((vector_size(16)));
const Four none = {};
Four ends[4] = {none + 3.0e38f, none - 3.0e38f, none + 3.0e38f, none - 3.0e38f};
for (int i = first; i < end; ++i) {
    if (!(limits.data[i] > 0.0f)) continue;
    const auto &place = short_origins.data[i], &way = short_directions.data[i];
    const Four from = {place[0], place[1], place[2], 0.0f}, along = {way[0], way[1], way[2], 0.0f};
    ends[0] = from < ends[0] ? from : ends[0];
    ends[1] = from > ends[1] ? from : ends[1];
    ends[2] = along < ends[2] ? along : ends[2];
    ends[3] = along > ends[3] ? along : ends[3];
}
for (int k = 0; k < 3; ++k) {
    // Origins were rounded.
    const float error = 1.0e-5f + 2.0e-7f * wp::max(wp::abs(ends[0][k]), wp::abs(ends[1][k]));
    ranges.data[4 * group][k] = ends[0][k] - error;
    ranges.data[4 * group + 1][k] = ends[1][k] + error;
    ranges.data[4 * group + 2][k] = ends[2][k] - 1.0e-6f;
    ranges.data[4 * group + 3][k] = ends[3][k] + 1.0e-6f;
}
