// Casts the rays of some packets, and writes their transmittances.

#include "opacity_filter.h"
query.light = light.data;
query.dark = dark;
const int width = 0, tile = 8;
#include "packet.h"
for (int packet = first_packet; packet < first_packet + packets; ++packet) {
#include "next_packet.h"
    for (int k = 0; k < count; ++k) light.data[ray[k]] = 1.0f;
    if (eight != 0) {
        ((Eight)eight)(valid, (void*)scene, &p, &arguments);
    } else {
        for (int k = 0; k < count; ++k) {
            take(k);
            ((Single)single)((void*)scene, &r, &arguments);
            p.far_[k] = r.far_;
        }
    }
    // Embree sets the length of a ray that meets something to minus infinity.
    for (int k = 0; k < count; ++k) if (p.far_[k] < -3.0e38f) light.data[ray[k]] = 0.0f;
}
