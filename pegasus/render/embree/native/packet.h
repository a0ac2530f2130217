// Ray packets of Embree, with the layout of its headers (RTCRayHit8, RTCRayHit, RTCIntersectArguments).

struct alignas(64) Packet {
    float ox[8], oy[8], oz[8], near_[8], dx[8], dy[8], dz[8], time[8], far_[8];
    unsigned mask[8], id[8], flags[8];
    float nx[8], ny[8], nz[8], u[8], v[8];
    unsigned face[8], mesh[8], instance[8], more[8];
} p;
struct alignas(64) One {
    float ox, oy, oz, near_, dx, dy, dz, time, far_;
    unsigned mask, id, flags;
    float nx, ny, nz, u, v;
    unsigned face, mesh, instance, more[8];
} r;
typedef void (*Eight)(const int*, void*, void*, void*);
typedef void (*Single)(void*, void*, void*);
struct {
    int flags; unsigned features; Query* query; void (*filter)(const Candidates*); void* others[6];
} arguments = {};
arguments.flags = flags;
arguments.features = 0xffffffffu;
arguments.query = &query;
arguments.filter = &Filter::call;
alignas(64) int valid[8];
int ray[8];
const auto take = [&](int k) {
    r.ox = p.ox[k]; r.oy = p.oy[k]; r.oz = p.oz[k]; r.near_ = 0.0f;
    r.dx = p.dx[k]; r.dy = p.dy[k]; r.dz = p.dz[k]; r.time = 0.0f; r.far_ = p.far_[k];
    r.mask = 0xffffffffu; r.id = p.id[k]; r.flags = 0u;
    r.face = r.mesh = r.instance = 0xffffffffu;
};
