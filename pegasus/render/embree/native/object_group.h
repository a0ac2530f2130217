// Declares `each_object`: the objects of a prototype that a group of rays may hit, by interval arithmetic (Boulos et
// al. 2006).

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
