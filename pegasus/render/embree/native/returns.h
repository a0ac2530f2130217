// Casts the rays `begin` to `last` of a block, and writes their hits.
//
// Rays of a block are numbered from 0; between the steps they lie in the scratch memory, which stays in the processor's
// cache.

typedef wp::vec_t<3, float> Short;
typedef wp::vec_t<3, double> Long;
const int total = last - begin, found = total;
const Long* lines = (const Long*)directions_at + begin;
char* room = (char*)scratch;
struct { Short* data; } near_origins, near_directions, faced, shaded;
struct { float* data; } limits, u, v;
struct { int* data; } faces;
near_origins.data = (Short*)room;
near_directions.data = near_origins.data + block;
faced.data = near_directions.data + block;
shaded.data = faced.data + block;
limits.data = (float*)(shaded.data + block);
u.data = limits.data + block;
v.data = u.data + block;
faces.data = (int*)(v.data + block);
struct { int shape[1]; const float* data; } passed = {{0}, nullptr};
struct { int shape[1]; const int* data; } items = {{0}, nullptr};
struct Starts {
    const Long* first;
    int begin, share;
    const Long& operator[](int i) const { return first[(begin + i) / share]; }
};
struct { Starts data; } starts = {{(const Long*)origins_at, begin, share}};
for (int i = 0; i < total; ++i) {
    const Long &origin = starts.data[i], &direction = lines[i];
    Short &near_origin = near_origins.data[i], &near_direction = near_directions.data[i];
    const bool exists = direction[0] * direction[0] + direction[1] * direction[1]
        + direction[2] * direction[2] > 0.5;
    for (int k = 0; k < 3; ++k) {
        near_origin[k] = exists ? (float)(origin[k] - center[k] + direction[k] * start_at) : 0.0f;
        near_direction[k] = exists ? (float)(direction[k]) : (k == 2 ? 1.0f : 0.0f);
    }
    limits.data[i] = exists ? reach : -1.0f;
}
{
    const auto &origins = near_origins, &directions = near_directions;
    const int first_packet = 0, packets = block / 8;
    const float start = (float)(start_at);
    [&]() {
        #include "intersect.h"
    }();
}
const auto& origins = starts;
const int origin_step = 1, first = 0, end = total;
const double start = start_at;
struct { const Long* data; } directions = {lines};
struct { double* data; } distances = {(double*)distances_at + begin};
struct { int* data; } materials = {(int*)materials_at + begin};
decltype(materials) entities = {(int*)entities_at + begin};
Long* normals = (Long*)normals_at + begin;
if (normals_at == 0) {
    #include "distances.h"
} else {
    const int with_texture = 0;
    struct {
        decltype(distances) distance;
        decltype(materials) material, entity;
        struct { Short* data; } facing, normal, tint;
        struct { wp::vec_t<2, float>* data; } uv;
        struct { float* data; } footprint, opacity;
        struct { wp::vec_t<4, float>* data; } tangent;
    } out = {};
    out.distance = distances;
    out.material = materials;
    out.entity = entities;
    out.facing = {faced.data};
    out.normal = {shaded.data};
    #include "surfaces.h"
    for (int i = 0; i < total; ++i)
        for (int k = 0; k < 3; ++k) normals[i][k] = (double)(shaded.data[i][k]);
}
