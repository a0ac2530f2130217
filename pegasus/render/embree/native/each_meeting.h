// Declares `each_meeting`: the rays and objects of a prototype that may meet.

#include "object_group.h"
const auto meets = [&](int i, const auto& ball) {
    const auto &origin = origins.data[i * origin_step], &direction = directions.data[i];
    Three toward, d;
    for (int k = 0; k < 3; ++k) {
        toward[k] = (float)(ball[k] - origin[k]);
        d[k] = (float)direction[k];
    }
    const float part = wp::dot(toward, d);
    const Three aside = toward - d * part;
    const float radius = (float)ball[3] * 1.001f + 1.0e-6f * wp::abs(part);
    return wp::dot(aside, aside) < radius * radius && part > -radius
        && part - radius < limits.data[i] + (float)begin;
};
const auto each_meeting = [&](const auto& found) {
    each_object(kind, [&](int k) {
        for (int i = first; i < end; ++i)
            if (limits.data[i] > 0.0f && meets(i, balls.data[k])) found(i, k);
        return false;
    });
};
