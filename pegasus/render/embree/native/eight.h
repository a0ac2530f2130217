// Arithmetic of eight numbers, and of eight vectors, at a time.

typedef float Eight __attribute__((vector_size(32)));
typedef int Whole __attribute__((vector_size(32)));
struct Three {
    Eight x, y, z;
    Three operator+(const Three& b) const { return {x + b.x, y + b.y, z + b.z}; }
    Three operator-(const Three& b) const { return {x - b.x, y - b.y, z - b.z}; }
    Three operator*(const Three& b) const { return {x * b.x, y * b.y, z * b.z}; }
    Three operator*(const Eight& b) const { return {x * b, y * b, z * b}; }
    Three operator+(const Eight& b) const { return {x + b, y + b, z + b}; }
    Eight dot(const Three& b) const { return x * b.x + y * b.y + z * b.z; }
};
const Eight none = {}, one = none + 1.0f;
const float pi = 3.14159265f;
const auto any = [](const Whole& mask) {
    int some = 0;
    for (int j = 0; j < 8; ++j) some |= mask[j];
    return some != 0;
};
const auto most = [](const Eight& a, const Eight& b) -> Eight { return a > b ? a : b; };
const auto least = [](const Eight& a, const Eight& b) -> Eight { return a < b ? a : b; };
const auto root = [](const Eight& a) -> Eight {
    Eight value;
    for (int j = 0; j < 8; ++j) value[j] = wp::sqrt(a[j]);
    return value;
};
const auto unit = [&](const Three& a) -> Three {
    return a * (one / root(most(a.dot(a), none + 1.0e-30f)));
};
// Two to a power between -126 and 0, by Taylor's series of the fraction.
const auto power_of_two = [&](const Eight& exponent) -> Eight {
    const Whole whole = __builtin_convertvector(exponent, Whole);
    const Eight t = (exponent - __builtin_convertvector(whole, Eight)) * 0.69314718f;
    Eight sum = t * (1.0f / 5040.0f) + 1.0f / 720.0f;
    sum = sum * t + 1.0f / 120.0f;
    sum = sum * t + 1.0f / 24.0f;
    sum = sum * t + 1.0f / 6.0f;
    sum = sum * t + 0.5f;
    sum = sum * t + 1.0f;
    sum = sum * t + 1.0f;
    const Whole bits = (whole + 127) << 23;
    Eight scale;
    __builtin_memcpy(&scale, &bits, 32);
    return sum * scale;
};
// Angle of a vector to the x axis, within 3e-6 rad.
const auto angle = [&](const Eight& y, const Eight& x) -> Eight {
    const Eight up = y < none ? -y : y, side = x < none ? -x : x;
    const Eight t = least(up, side) / most(most(up, side), none + 1.0e-30f), s = t * t;
    Eight sum = s * -0.01172120f + 0.05265332f;
    sum = sum * s - 0.11643287f;
    sum = sum * s + 0.19354346f;
    sum = sum * s - 0.33262347f;
    sum = (sum * s + 0.99997726f) * t;
    sum = up > side ? 0.5f * pi - sum : sum;
    sum = x < none ? pi - sum : sum;
    return y < none ? -sum : sum;
};
