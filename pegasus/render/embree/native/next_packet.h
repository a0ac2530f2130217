// Collects the rays of the next packet, such as four by two pixels of an image.

    int count = 0;
    if (width > 0) {
        // Such as four by two pixels; the last rows may be fewer.
        const int across = width / tile;
        const int row = packet / across * (8 / tile), column = packet % across * tile;
        for (int k = 0; k < 8; ++k) {
            const int i = (row + k / tile) * width + column + k % tile;
            if (i < total) ray[count++] = i;
        }
    } else {
        for (int i = packet * 8; i < total && count < 8; ++i) ray[count++] = i;
    }
    if (count == 0) return;
    for (int k = 0; k < 8; ++k) {
        const int i = k < count ? ray[k] : ray[0];
        valid[k] = k < count ? -1 : 0;
        p.ox[k] = origins.data[i][0]; p.oy[k] = origins.data[i][1]; p.oz[k] = origins.data[i][2];
        p.dx[k] = directions.data[i][0]; p.dy[k] = directions.data[i][1]; p.dz[k] = directions.data[i][2];
        p.near_[k] = 0.0f; p.time[k] = 0.0f; p.far_[k] = limits.data[i];
        p.mask[k] = 0xffffffffu; p.id[k] = unsigned(i); p.flags[k] = 0u;
        p.face[k] = p.mesh[k] = p.instance[k] = p.more[k] = 0xffffffffu;
    }
