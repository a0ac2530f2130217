// Casts the rays of some packets, and writes their hits.

#include "opacity_filter.h"
query.light = nullptr;
#include "packet.h"
for (int packet = first_packet; packet < first_packet + packets; ++packet) {
#include "next_packet.h"
    if (eight != 0) {
        ((Eight)eight)(valid, (void*)scene, &p, &arguments);
    } else {
        for (int k = 0; k < count; ++k) {
            take(k);
            ((Single)single)((void*)scene, &r, &arguments);
            p.far_[k] = r.far_; p.face[k] = r.face; p.mesh[k] = r.mesh; p.u[k] = r.u; p.v[k] = r.v;
        }
    }
    for (int k = 0; k < count; ++k) {
        const int i = ray[k];
        const int shift = p.mesh[k] == 0u ? 0 : opaque_count;
        limits.data[i] = p.far_[k];
        faces.data[i] = p.mesh[k] == 0xffffffffu ? -1 : (int)p.face[k] + shift;
        u.data[i] = p.u[k];
        v.data[i] = p.v[k];
    }
}
