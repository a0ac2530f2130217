// Declares the pixel before a coordinate, and the index of a pixel beyond the edges of an image, -1 for none.

struct Pixels {
    static int down(float x) {
        const int k = (int)(x);
        return k - (x < (float)(k));
    }
    static int wrapped(int index, int count, int mode) {
        if (index >= 0 && index < count) return index;
        if (mode == 1) return index < 0 ? 0 : count - 1;
        if (mode == 3) return -1;
        const int period = mode == 2 ? 2 * count : count;
        int k = index % period;
        if (k < 0) k += period;
        return k >= count ? period - 1 - k : k;
    }
};
