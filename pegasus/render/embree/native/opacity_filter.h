// Declares `query` and `Filter::call` from the arguments of a function that casts rays.
//
// Embree calls the filter for each hit while it casts a ray, so that a ray through foliage is cast once. The layout is
// that of Embree's headers (RTCFilterFunctionNArguments).

#include "opacity.h"
struct Query {
    // Embree's own part: the instances that it is in.
    unsigned instances[16];
    decltype(all) known;
    const float* passed;
    float start, cone, dark;
    float* light;
    int first;
};
struct Candidates {
    int* valid; void* owner; const Query* query; float* rays; float* hits; unsigned count;
};
struct Filter {
    static void call(const Candidates* candidates) {
        const Query& query = *candidates->query;
        const unsigned n = candidates->count;
        for (unsigned k = 0; k < n; ++k) {
            if (candidates->valid[k] == 0) continue;
            const float *ray = candidates->rays + k, *hit = candidates->hits + k;
            const float x = ray[4 * n], y = ray[5 * n], z = ray[6 * n];
            const float a = hit[0], b = hit[n], c = hit[2 * n];
            const float squares = (x * x + y * y + z * z) * (a * a + b * b + c * c);
            const float slant = wp::abs(a * x + b * y + c * z) / wp::sqrt(wp::max(squares, 1e-30f));
            const unsigned id = ((const unsigned*)ray)[10 * n], face = ((const unsigned*)hit)[5 * n];
            const float way = ray[8 * n] + query.start + (query.passed ? query.passed[id] : 0.0f);
            const float value = Opacity::at(
                query.known, query.first + (int)(face), hit[3 * n], hit[4 * n], slant, query.cone * way);
            if (query.light == nullptr) {
                if (value <= 0.0f) candidates->valid[k] = 0;
            } else if (value < 1.0f) {
                query.light[id] *= 1.0f - value;
                if (query.light[id] > query.dark) candidates->valid[k] = 0;
            }
        }
    }
};
Query query;
for (int k = 0; k < 16; ++k) query.instances[k] = 0xffffffffu;
query.known = all;
query.first = first_see_through;
query.passed = passed.shape[0] > 0 ? passed.data : nullptr;
query.start = start;
query.cone = cone;
