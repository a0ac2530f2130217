// Writes each ray of a group in the frames of the objects that it may hit.

#include "each_meeting.h"
int places[64];
for (int i = first; i < end; ++i) places[i - first] = i > 0 ? ends.data[i - 1] : 0;
each_meeting([&](int i, int k) {
    const auto &origin = origins.data[i * origin_step], &direction = directions.data[i];
    const auto& ball = balls.data[k];
    const int row = rows.data[k], place = places[i - first]++;
    const auto& turn = object_inverse.data[row];
    const auto& offset = object_offset.data[row];
    double way = 0.0;
    for (int j = 0; j < 3; ++j) way += (ball[j] - origin[j]) * direction[j];
    const double start = (double)(float)wp::max(way - ball[3] * 1.01, begin);
    for (int j = 0; j < 3; ++j) {
        double entry = offset[j], turned = 0.0;
        for (int m = 0; m < 3; ++m) {
            entry += turn.data[j][m] * (origin[m] + direction[m] * start);
            turned += turn.data[j][m] * direction[m];
        }
        short_origins.data[place][j] = (float)(entry - center[j]);
        short_directions.data[place][j] = (float)turned;
    }
    starts.data[place] = (float)(start - begin);
    short_limits.data[place] = limits.data[i] - starts.data[place];
    items.data[place] = row;
});
