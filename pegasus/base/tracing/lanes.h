// Operations of traced code, on one row (PEGASUS_LANES 1) or on several rows side by side.
// Text of a function's body: PEGASUS_REAL, PEGASUS_WHOLE and PEGASUS_LANES are defined before it.
// Each operation rounds once, alike in both forms: px_exact, at the start of a block, forbids contraction.
typedef PEGASUS_REAL px_real;
typedef PEGASUS_WHOLE px_whole;
typedef unsigned long long px_uword;

#if PEGASUS_LANES == 1
typedef px_real px_reals;
typedef px_whole px_wholes;
typedef px_uword px_words;
typedef double px_wide;
typedef bool px_truths;
#define px_yes true
#define px_select_words(c, a, b) ((c) ? (a) : (b))
#define px_not(c) (!(c))
#define px_any(c) (c)
#define px_convert(x, kind) ((kind)(x))
#else
typedef px_real px_reals __attribute__((ext_vector_type(PEGASUS_LANES)));
typedef px_whole px_wholes __attribute__((ext_vector_type(PEGASUS_LANES)));
typedef px_uword px_words __attribute__((ext_vector_type(PEGASUS_LANES)));
typedef double px_wide __attribute__((ext_vector_type(PEGASUS_LANES)));
typedef px_wholes px_truths;
typedef px_reals px_unaligned __attribute__((aligned(4)));
typedef px_real px_row __attribute__((ext_vector_type(8), aligned(4)));
struct px_places { unsigned PEGASUS_WHOLE at[PEGASUS_LANES]; };
typedef long long px_longs __attribute__((ext_vector_type(PEGASUS_LANES)));
#define px_yes px_truths(-1)
#define px_select_words(c, a, b) (px_convert(c, px_longs) ? (a) : (b))
#define px_not(c) (~(c))
#define px_any(c) (__builtin_reduce_or(c) != 0)
#define px_convert(x, kind) __builtin_convertvector(x, kind)
#endif
#define px_no px_truths(0)
#define px_select(c, a, b) ((c) ? (a) : (b))
#define px_is(c) px_convert(c, px_truths)

#ifdef __CUDACC__
#define px_inline
#define px_exact
#define px_body
#define px_run
#define px_sqrt(x) ::sqrt(x)
#define px_floor(x) ::floor(x)
#define px_abs(x) ::fabs(x)
#define px_fma(a, b, c) ::fma(a, b, c)
#define px_bits(x) ((px_words)__double_as_longlong((double)(x)))
#define px_number(x) ((px_real)__longlong_as_double((long long)(x)))
#else
// How rows side by side would be handed to a function differs between processors; all functions here are inlined.
#pragma clang diagnostic ignored "-Wpsabi"
#define px_inline __attribute__((always_inline))
#define px_exact _Pragma("clang fp contract(off)")
// Compiled once, although Warp has several copies of the function.
#define px_body [&]() __attribute__((noinline))
#define px_run ()
#define px_sqrt(x) __builtin_elementwise_sqrt(x)
#define px_floor(x) __builtin_elementwise_floor(x)
#define px_abs(x) __builtin_elementwise_abs(x)
#if defined(__FMA__) || defined(__aarch64__)
#define px_fma(a, b, c) __builtin_elementwise_fma(a, b, c)
#else
#define px_fma(a, b, c) ((a) * (b) + (c))
#endif
#define px_bits(x) __builtin_bit_cast(px_words, px_convert(x, px_wide))
#define px_number(x) px_convert(__builtin_bit_cast(px_wide, x), px_reals)
#endif

#if PEGASUS_LANES == 1
#define px_aligned
#define px_fence
#define px_end
#else
// A local line of a cache lets the compiler lay what it keeps on the stack on whole lines.
#define px_aligned alignas(64) char px_line[64]; asm volatile("" : : "r"(px_line));
// Operations stay on their side of a fence, which is no instruction: mixed, those of several rotors need more numbers
// at a time than there are registers.
#define px_fence asm goto("" : : : : px_left);
#define px_end px_left: ;
#endif

// The quotient of whole numbers, rounded down.
#define px_floordiv(a, b) (((a) - ((((a) % (b)) + (b)) % (b))) / (b))

// Numbers of a table at places within it: a row that does not use the number may have any place.
#if PEGASUS_LANES == 1
auto px_gather = [](const px_real* table, px_wholes k, px_whole size) px_inline {
    return table[k < 0 ? 0 : k < size ? k : size - 1];
};
// Eight numbers side by side from a place on.
auto px_eight = [](const px_real* table, px_wholes k, px_whole size, px_reals* out) px_inline {
    const px_real* row = table + (k < 0 ? 0 : k < size ? k : size - 1);
    _Pragma("unroll") for (int q = 0; q < 8; q++) out[q] = row[q];
};
auto px_real_load = [](const px_real* rows, long long width, int k) px_inline { return rows[k]; };
auto px_real_store = [](px_real* rows, long long width, int k, px_reals x) px_inline { rows[k] = x; };
auto px_whole_load = [](const int* rows, long long width, int k) px_inline { return px_wholes(rows[k]); };
auto px_whole_store = [](int* rows, long long width, int k, px_wholes x) px_inline { rows[k] = (int)x; };
auto px_word_load = [](const px_uword* rows, long long width, int k) px_inline { return rows[k]; };
auto px_word_store = [](px_uword* rows, long long width, int k, px_words x) px_inline { rows[k] = x; };
// Sets a number for all rows to 1 if that of this row is not 0.
auto px_signal = [](px_real* cell, px_reals x, long long left) px_inline {
    if (x != 0) cell[0] = px_real(1);
};
#else
auto px_gather = [](const px_real* table, px_wholes k, px_whole size) px_inline {
    px_wholes place = k < px_wholes(0) ? px_wholes(0) : k;
    place = place < px_wholes(size) ? place : px_wholes(size - 1);
    px_reals x;
    _Pragma("unroll") for (int l = 0; l < PEGASUS_LANES; l++) x[l] = table[place[l]];
    return x;
};
auto px_eight = [](const px_real* table, px_wholes k, px_whole size, px_reals* out) px_inline {
    px_wholes within = k < px_wholes(0) ? px_wholes(0) : k;
    within = within < px_wholes(size) ? within : px_wholes(size - 1);
    px_places place = __builtin_bit_cast(px_places, within);
#if PEGASUS_LANES == 8
    // Rows as they lie in memory, then the transposed matrix by three rounds of exchanges: pairs of numbers, then
    // the registers' parts of 128 bits.
    px_reals r[8], a[8], c[8];
    _Pragma("unroll") for (int l = 0; l < 8; l++) r[l] = *(const px_unaligned*)(table + place.at[l]);
    if (sizeof(px_real) == 8) {
        _Pragma("unroll") for (int l = 0; l < 8; l += 2) {
            a[l] = __builtin_shufflevector(r[l], r[l + 1], 0, 8, 2, 10, 4, 12, 6, 14);
            a[l + 1] = __builtin_shufflevector(r[l], r[l + 1], 1, 9, 3, 11, 5, 13, 7, 15);
        }
        _Pragma("unroll") for (int l = 0; l < 8; l += 4) for (int odd = 0; odd < 2; odd++) {
            c[l + odd] = __builtin_shufflevector(a[l + odd], a[l + 2 + odd], 0, 1, 4, 5, 8, 9, 12, 13);
            c[l + 2 + odd] = __builtin_shufflevector(a[l + odd], a[l + 2 + odd], 2, 3, 6, 7, 10, 11, 14, 15);
        }
        _Pragma("unroll") for (int l = 0; l < 4; l++) {
            out[l] = __builtin_shufflevector(c[l], c[l + 4], 0, 1, 4, 5, 8, 9, 12, 13);
            out[l + 4] = __builtin_shufflevector(c[l], c[l + 4], 2, 3, 6, 7, 10, 11, 14, 15);
        }
        return;
    }
    _Pragma("unroll") for (int l = 0; l < 8; l += 2) {
        a[l] = __builtin_shufflevector(r[l], r[l + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        a[l + 1] = __builtin_shufflevector(r[l], r[l + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    _Pragma("unroll") for (int l = 0; l < 8; l += 4) {
        c[l] = __builtin_shufflevector(a[l], a[l + 2], 0, 1, 8, 9, 4, 5, 12, 13);
        c[l + 1] = __builtin_shufflevector(a[l], a[l + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        c[l + 2] = __builtin_shufflevector(a[l + 1], a[l + 3], 0, 1, 8, 9, 4, 5, 12, 13);
        c[l + 3] = __builtin_shufflevector(a[l + 1], a[l + 3], 2, 3, 10, 11, 6, 7, 14, 15);
    }
    _Pragma("unroll") for (int l = 0; l < 4; l++) {
        out[l] = __builtin_shufflevector(c[l], c[l + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        out[l + 4] = __builtin_shufflevector(c[l], c[l + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
#elif PEGASUS_LANES == 16
    // Likewise; a register holds the rows l and l + 4.
    px_reals r[8], a[8], c[8];
    _Pragma("unroll") for (int l = 0; l < 8; l++) {
        const int k = l + (l & 4);
        const px_row one = *(const px_row*)(table + place.at[k]), other = *(const px_row*)(table + place.at[k + 4]);
        r[l] = __builtin_shufflevector(one, other, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    }
    _Pragma("unroll") for (int l = 0; l < 8; l += 2) {
        a[l] = __builtin_shufflevector(
            r[l], r[l + 1], 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
        a[l + 1] = __builtin_shufflevector(
            r[l], r[l + 1], 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
    }
    _Pragma("unroll") for (int l = 0; l < 8; l += 4) for (int odd = 0; odd < 2; odd++) {
        c[l + 2 * odd] = __builtin_shufflevector(
            a[l + odd], a[l + 2 + odd], 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
        c[l + 2 * odd + 1] = __builtin_shufflevector(
            a[l + odd], a[l + 2 + odd], 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
    }
    _Pragma("unroll") for (int l = 0; l < 4; l++) {
        out[l] = __builtin_shufflevector(
            c[l], c[l + 4], 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
        out[l + 4] = __builtin_shufflevector(
            c[l], c[l + 4], 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
    }
#else
    _Pragma("unroll") for (int q = 0; q < 8; q++)
        _Pragma("unroll") for (int l = 0; l < PEGASUS_LANES; l++) out[q][l] = table[place.at[l] + q];
#endif
};
auto px_real_load = [](const px_real* rows, long long width, int k) px_inline {
    if (width == 1) return px_reals(*(const px_unaligned*)rows);
    px_reals x;
    _Pragma("unroll") for (int l = 0; l < PEGASUS_LANES; l++) x[l] = rows[l * width + k];
    return x;
};
auto px_real_store = [](px_real* rows, long long width, int k, px_reals x) px_inline {
    if (width == 1)
        *(px_unaligned*)rows = x;
    else
        _Pragma("unroll") for (int l = 0; l < PEGASUS_LANES; l++) rows[l * width + k] = x[l];
};
auto px_signal = [](px_real* cell, px_reals x, long long left) px_inline {
    px_truths on = px_is(x != px_reals(0));
    if (!px_any(on)) return;
    for (int l = 0; l < PEGASUS_LANES && l < left; l++)
        if (on[l]) cell[0] = px_real(1);
};
auto px_whole_load = [](const int* rows, long long width, int k) px_inline {
    px_wholes x;
    _Pragma("unroll") for (int l = 0; l < PEGASUS_LANES; l++) x[l] = rows[l * width + k];
    return x;
};
auto px_whole_store = [](int* rows, long long width, int k, px_wholes x) px_inline {
    _Pragma("unroll") for (int l = 0; l < PEGASUS_LANES; l++) rows[l * width + k] = (int)x[l];
};
auto px_word_load = [](const px_uword* rows, long long width, int k) px_inline {
    px_words x;
    _Pragma("unroll") for (int l = 0; l < PEGASUS_LANES; l++) x[l] = rows[l * width + k];
    return x;
};
auto px_word_store = [](px_uword* rows, long long width, int k, px_words x) px_inline {
    _Pragma("unroll") for (int l = 0; l < PEGASUS_LANES; l++) rows[l * width + k] = x[l];
};
// The last rows, fewer than the lanes: into a buffer with zeros behind them, and back.
auto px_take = [](const auto* rows, long long width, int size, long long left, auto* buffer) {
    for (int l = 0; l < PEGASUS_LANES; l++)
        for (int k = 0; k < size; k++) buffer[l * size + k] = l < left ? rows[l * width + k] : 0;
};
auto px_give = [](const auto* buffer, auto* rows, long long width, int size, long long left) {
    for (int l = 0; l < left; l++)
        for (int k = 0; k < size; k++) rows[l * width + k] = buffer[l * size + k];
};
#endif
