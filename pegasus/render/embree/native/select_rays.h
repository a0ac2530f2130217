// Lists the shadow rays of points.

const int total = marks.shape[0], slots = choice.lamps.shape[1], lamps = counts.shape[0] - 1;
const int columns = width > 0 ? width : total, rows = total / columns;
const int* chosen = choice.lamps.data;
const auto level = [&](int i, int k) {
    return wp::dot(surface.normal.data[i], surface.normal.data[k]) > 0.98f
        && wp::dot(surface.facing.data[i], surface.facing.data[k]) > 0.98f;
};
// Whether there is no step or bend between two points.
const auto beside = [&](int i, int k) {
    const double step = surface.distance.data[k] - surface.distance.data[i];
    if (surface.material.data[k] < 0) return false;
    return wp::abs(step) <= 0.02 * surface.distance.data[i] && level(i, k);
};
const auto leaf = [&](int k) {
    return surface.material.data[k] >= 0 && materials.data[surface.material.data[k]].passes > 0.0f;
};
const auto seen_by = [&](int k, int lamp) {
    for (int slot = 0; slot < slots; ++slot)
        if (chosen[k * slots + slot] == lamp) return visible.data[k * slots + slot];
    return -1.0f;
};
for (int k = 0; k <= lamps; ++k) counts.data[k] = 0;
const int step = width > 0 && others == 0 ? 2 : 1, side = 4 * step;
for (int row = 0; row < rows; row += step) for (int column = 0; column < columns; column += step) {
    const int i = row * columns + column;
    marks.data[i] = 0;
    const bool alone = width == 0 || (row % 2 == 0 && column % 2 == 0);
    if (alone == (others != 0) || chosen[i * slots] < 0) continue;
    const int across = column % 2, down = row % 2 * columns;
    const int corners[4] = {i - across - down, i + across + down, i + across - down, i - across + down};
    const int distinct = across != 0 && down != 0 ? 4 : 2;
    const bool bounded = !alone && column + across < columns && i + across + down < total;
    bool alike = bounded;
    for (int k = 0; k < distinct; ++k) alike = alike && beside(i, corners[k]);
    // Shadows in the crown of a tree are finer than such pixels.
    const bool crown = bounded && !alike && leaf(i) && cone * surface.distance.data[i] > 0.02;
    for (int slot = 0; slot < slots; ++slot) {
        const int lamp = chosen[i * slots + slot];
        if (lamp < 0) break;
        if (crown) {
            float sum = 0.0f;
            int count = 0;
            for (int k = 0; k < distinct; ++k) {
                const int j = corners[k];
                if (!leaf(j)) continue;
                const float part = seen_by(j, lamp);
                const double step = surface.distance.data[j] - surface.distance.data[i];
                if (part < 0.0f || wp::abs(step) > 1.0) continue;
                sum += part;
                ++count;
            }
            if (count >= 2) {
                visible.data[i * slots + slot] = sum / (float)(count);
                continue;
            }
        }
        if (alike) {
            float sum = 0.0f, low = 1.0f, high = 0.0f;
            for (int k = 0; k < distinct; ++k) {
                const float part = seen_by(corners[k], lamp);
                sum += part;
                low = wp::min(low, part);
                high = wp::max(high, part);
            }
            if (low >= 0.0f && high - low < 0.01f) {
                visible.data[i * slots + slot] = sum / (float)(distinct);
                continue;
            }
        }
        marks.data[i] |= (unsigned char)(1 << slot);
        ++counts.data[lamp];
    }
}
int start = 0;
for (int k = 0; k <= lamps; ++k) {
    const int count = counts.data[k];
    counts.data[k] = start;
    start += count;
}
// Lamp by lamp, in tiles of four by four points.
for (int top = 0; top < rows; top += side) for (int left = 0; left < columns; left += side) {
    const int bottom = wp::min(top + side, rows), right = wp::min(left + side, columns);
    for (int row = top; row < bottom; row += step)
        for (int i = row * columns + left; i < row * columns + right; i += step)
            for (int slot = 0; slot < slots; ++slot)
                if (marks.data[i] >> slot & 1)
                    picks.data[counts.data[chosen[i * slots + slot]]++] = i * slots + slot;
}
