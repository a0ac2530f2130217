// Finds the prototypes an object of which may be hit by rays.

for (int kind = 0; kind < met.shape[0]; ++kind) met.data[kind] = 0;
const int total = limits.shape[0], kinds = met.shape[0];
int left = kinds;
for (int first = 0; first < total && left > 0; first += 64) {
    const int end = wp::min(first + 64, total);
    #include "object_group.h"
    for (int kind = 0; kind < kinds; ++kind) {
        if (met.data[kind]) continue;
        each_object(kind, [&](int) {
            met.data[kind] = 1;
            --left;
            return true;
        });
    }
}
