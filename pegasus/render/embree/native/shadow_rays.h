// Writes some rays from surface points to their chosen lamps.

const int slots = choice.lamps.shape[1];
typedef wp::vec_t<3, float> Three;
for (int j = first; j < end; ++j) {
    const int i = picks.data[j] / slots;
    const auto& lamp = lights.lamps.data[choice.lamps.data[picks.data[j]]];
    const auto &origin = origins.data[i * origin_step], &direction = directions.data[i];
    const double distance = surface.distance.data[i];
    const float lift = 2.0e-4f + 2.0e-6f * (float)(distance);
    double point[3];
    Three toward = lamp.axis, target = lamp.position;
    for (int k = 0; k < 3; ++k) {
        point[k] = origin[k] + direction[k] * distance;
        if (lamp.kind != 0) toward[k] = lamp.position[k] - (float)(point[k] - lights.middle[k]);
    }
    // Samples on the disc of a sun or ball, from its centre outwards, or within a flat lamp.
    if (spread[0] != 0.0f || spread[1] != 0.0f) {
        const Three other(toward[1], toward[2], toward[0] + 0.5f);
        const Three aside = wp::normalize(wp::cross(toward, other));
        const Three beyond = wp::normalize(wp::cross(toward, aside));
        const Three disc = (aside * spread[0] + beyond * spread[1]) * lamp.radius;
        if (lamp.kind == 0) toward += disc;
        else if (lamp.kind == 1) target += disc + lamp.across * spread[2];
        else if (lamp.round != 0) target += lamp.across * spread[0] + lamp.down * spread[1];
        else target += lamp.across * spread[2] + lamp.down * spread[3];
    }
    // Light from behind a leaf starts on its other side.
    const float side = wp::dot(surface.facing.data[i], toward) < 0.0f ? -lift : lift;
    for (int k = 0; k < 3; ++k) {
        const double above = (double)(surface.facing.data[i][k] * side);
        next_origins.data[j][k] = point[k] + above;
        if (lamp.kind != 0) toward[k] = target[k] - (float)(point[k] + above - lights.middle[k]);
    }
    const float length = wp::max(wp::sqrt(wp::dot(toward, toward)), 1.0e-6f);
    const float inside = lamp.kind == 1 ? lamp.radius * 1.02f : 0.0f;
    const float reach = lamp.kind == 0 ? 1.0e30f : wp::max(length * 0.999f - inside - lift, 0.0f);
    for (int k = 0; k < 3; ++k) next_directions.data[j][k] = (double)(toward[k] / length);
    next_reach.data[j] = reach;
}
