// Writes distances, materials and entities of hits.

#include "facet.h"
for (int i = first; i < end; ++i) {
    ask_ahead(i, false, false);
    const int face = faces.data[i];
    if (face < 0) {
        distances.data[i] = __builtin_inf();
        materials.data[i] = entities.data[i] = -1;
        continue;
    }
    take(face, items.shape[0] > 0 ? items.data[i] : 0);
    distances.data[i] = distance_along(i);
    materials.data[i] = tables.parts.data[part_number].material;
    entities.data[i] = entity;
}
