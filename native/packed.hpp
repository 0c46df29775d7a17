// How a state lies in memory, and the exact integer distances between packed states (the L2 lookup of the Q estimate).
//
// A state of F integers (DCT coefficients in sixteenths, say) is kept in 12 bits a coordinate under one exponent of its
// own (block floating point): a high byte and a nibble. The coordinates are put in an order, those that vary most
// first, and the high bytes of the first of them alone steer the search. So a node has three records, each in a plane
// of its own: the near one, with most of the high bytes, its links, and the far one, with the rest of the state and the
// value. F = 289 with 16 links makes 256 + 64 + 192 bytes. A search goes through near records and links only, which lie
// close together: in one record of 512 bytes they would be spread over the whole memory and use a part of the cache's
// sets.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "simd.hpp"

#if NAIT_X86
#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 warns of its own headers.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#endif

namespace nait {

using Slot = std::uint32_t;

// |mantissa| <= 2039 keeps the rounded high byte within int8, and makes packing a packed state again change nothing.
constexpr int kMantissaLimit = 2039;

template <class T>
inline T load(const std::uint8_t* p) {
    T x;
    std::memcpy(&x, p, sizeof x);
    return x;
}

template <class T>
inline void store(std::uint8_t* p, T x) {
    std::memcpy(p, &x, sizeof x);
}

inline std::size_t round_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

// Byte offsets within the records of a node.
struct Layout {
    // Of the near record: how many links arrive at the node, then the state's norm and exponent, then high bytes.
    static constexpr std::size_t kArrivals = 0, kNorm = 1, kExponent = 5, kHigh = 6;

    std::size_t dim, links;
    std::size_t steer;                      // how many coordinates steer: they have their high bytes in the near record
    std::size_t near;                       // size of the near record
    std::size_t rest;                       // how many have it in the far record, which begins with them
    std::size_t low, rest_low, value, far;  // nibbles of both; far: size of the record
    std::size_t link;                       // size of the links

    // 250 of 289: of the 64 nearest by all coordinates nearly all are among the 96 nearest by these. With 186 that is
    // not so on Pong and DemonAttack.
    Layout(std::size_t dim_, std::size_t links_) : dim(dim_), links(links_) {
        near = round_up(8 * dim / 10 + kHigh, 64);
        steer = std::min(dim, near - kHigh);
        rest = dim - steer;
        low = rest;
        rest_low = low + (steer + 1) / 2;
        value = rest_low + (rest + 1) / 2;
        far = round_up(value + 8, 8);
        link = 4 * links;
    }
};

// Which coordinate of a state comes first, second, ... in its records.
using Order = std::vector<std::uint16_t>;

// A node's records, or a query's.
struct Record {
    const std::uint8_t *near, *far;
};

// A query in every form that the distance kernels want it in, filled once a lookup.
struct Query {
    std::vector<std::uint8_t> near, far;  // packed as a node is
    std::vector<std::int16_t> mantissa;   // v / 2^exponent, |v| <= 2039, in the order of the records
    std::vector<std::int8_t> high;        // round(mantissa / 16) of what steers, zeros up to whole cache lines
    std::vector<std::int16_t> high_wide;
    int exponent = 0;
    std::int64_t high_norm = 0;  // sum of squared highs of what steers
    std::int64_t high_sum = 0;
    std::int64_t norm = 0;  // sum of squared mantissas

    explicit Query(const Layout& layout)
        : near(layout.near), far(layout.far), mantissa(layout.dim), high(layout.near), high_wide(layout.near) {}

    Record packed() const { return {near.data(), far.data()}; }
};

// The smallest exponent under which every rounded coordinate is at most kMantissaLimit in size.
inline int exponent_of(const std::int32_t* state, std::size_t dim) {
    int lowest = 0, highest = 0;
    for (std::size_t i = 0; i < dim; ++i) {
        lowest = std::min<int>(lowest, state[i]);
        highest = std::max<int>(highest, state[i]);
    }
    int e = 0;
    const auto rounded = [&e](int v) { return (v + ((1 << e) >> 1)) >> e; };
    while (rounded(highest) > kMantissaLimit || rounded(lowest) < -kMantissaLimit) ++e;
    return e;
}

// Nibbles of n coordinates lie in halves, not in pairs, so that unpacking needs no shuffle: the first n / 2 in the low
// halves of the bytes, the others in the high ones, and an odd one in a byte of its own.
inline void put_nibble(std::uint8_t* low, std::size_t n, std::size_t i, int nibble) {
    const std::size_t half = n / 2;
    if (i >= half && i < 2 * half)
        low[i - half] |= static_cast<std::uint8_t>(nibble << 4);
    else
        low[i < half ? i : half] |= static_cast<std::uint8_t>(nibble);
}
inline int get_nibble(const std::uint8_t* low, std::size_t n, std::size_t i) {
    const std::size_t half = n / 2;
    return i >= half && i < 2 * half ? low[i - half] >> 4 : low[i < half ? i : half] & 15;
}

inline void pack(const Layout& layout, const Order& order, const std::int32_t* state, Query& query) {
    const int e = exponent_of(state, layout.dim);
    query.exponent = e;
    query.high_norm = query.high_sum = query.norm = 0;
    std::uint8_t *near = query.near.data(), *far = query.far.data();
    std::memset(near, 0, layout.near);
    std::memset(far, 0, layout.far);
    for (std::size_t i = 0; i < layout.dim; ++i) {
        const int v = (state[order[i]] + ((1 << e) >> 1)) >> e;
        const int h = (v + 8) >> 4;
        const int nibble = v - 16 * h + 8;
        query.mantissa[i] = static_cast<std::int16_t>(v);
        query.norm += v * v;
        if (i < layout.steer) {
            query.high[Layout::kHigh + i] = static_cast<std::int8_t>(h);
            query.high_wide[Layout::kHigh + i] = static_cast<std::int16_t>(h);
            query.high_norm += h * h;
            query.high_sum += h;
            near[Layout::kHigh + i] = static_cast<std::uint8_t>(h + 128);
            put_nibble(far + layout.low, layout.steer, i, nibble);
        } else {
            far[i - layout.steer] = static_cast<std::uint8_t>(h + 128);
            put_nibble(far + layout.rest_low, layout.rest, i - layout.steer, nibble);
        }
    }
    near[Layout::kExponent] = static_cast<std::uint8_t>(e);
    store(near + Layout::kNorm, static_cast<std::uint32_t>(query.high_norm));
}

inline void unpack(const Layout& layout, const Order& order, Record record, std::int32_t* state) {
    const int scale = 1 << record.near[Layout::kExponent];
    for (std::size_t i = 0; i < layout.steer; ++i) {
        const int nibble = get_nibble(record.far + layout.low, layout.steer, i);
        state[order[i]] = (16 * (record.near[Layout::kHigh + i] - 128) + nibble - 8) * scale;
    }
    for (std::size_t i = 0; i < layout.rest; ++i) {
        const int nibble = get_nibble(record.far + layout.rest_low, layout.rest, i);
        state[order[layout.steer + i]] = (16 * (record.far[i] - 128) + nibble - 8) * scale;
    }
}

// The bytes that two packed states have in common when they are the same: all but the arrivals, which come first in the
// near record, and the value, which comes last in the far one.
struct Key {
    const std::uint8_t *near, *far;
    std::size_t near_bytes, far_bytes;

    Key(const Layout& layout, Record record)
        : near(record.near + Layout::kNorm),
          far(record.far),
          near_bytes(Layout::kHigh - Layout::kNorm + layout.steer),
          far_bytes(layout.value) {}

    bool operator==(const Key& other) const {
        return std::memcmp(near, other.near, near_bytes) == 0 && std::memcmp(far, other.far, far_bytes) == 0;
    }
};

// A stored node as a coarse query: what pruning its links asks for.
__attribute__((always_inline)) inline void expand_body(const Layout& layout, const std::uint8_t* near, Query& query) {
    query.exponent = near[Layout::kExponent];
    query.high_norm = load<std::uint32_t>(near + Layout::kNorm);
    std::int32_t sum = 0;
    std::int8_t* high = query.high.data();
    std::int16_t* wide = query.high_wide.data();
    for (std::size_t i = Layout::kHigh; i < Layout::kHigh + layout.steer; ++i) {
        const auto h = static_cast<std::int16_t>(near[i] - 128);
        high[i] = static_cast<std::int8_t>(h);
        wide[i] = h;
        sum += h;
    }
    query.high_sum = sum;
}

inline void expand_plain(const Layout& layout, const std::uint8_t* near, Query& query) {
    expand_body(layout, near, query);
}

// Coarse squared distance of what steers, in units of 16 quanta, rounded to float32: it orders the search. The rounding
// of an exact integer is the same everywhere, and a float's bits order as the float does, so a pool entry is one 64-bit
// key.
inline float coarse(const Query& query, const std::uint8_t* near, std::int64_t dot) {
    const int ex = near[Layout::kExponent], eq = query.exponent;
    const auto norm = static_cast<std::int64_t>(load<std::uint32_t>(near + Layout::kNorm));
    const std::int64_t cross = dot - 128 * query.high_sum;
    return static_cast<float>((query.high_norm << 2 * eq) + (norm << 2 * ex) - cross * (std::int64_t{2} << (eq + ex)));
}

inline std::int32_t dot_plain(const Query& query, const std::uint8_t* near, std::size_t steer) {
    const std::int16_t* q = query.high_wide.data();
    std::int32_t sum = 0;
    for (std::size_t i = Layout::kHigh; i < Layout::kHigh + steer; ++i)
        sum += static_cast<std::int16_t>(near[i]) * q[i];
    return sum;
}

// Of the full mantissas, from which the exact squared distance follows.
struct Products {
    std::int64_t dot = 0, norm = 0;
};

// The coordinates of the near record, or the others: their high bytes, nibbles and the query's mantissas.
struct Part {
    const std::uint8_t *high, *low;
    const std::int16_t* q;
    std::size_t n;
};

inline Part near_part(const Query& query, const Layout& layout, Record record) {
    return {record.near + Layout::kHigh, record.far + layout.low, query.mantissa.data(), layout.steer};
}
inline Part far_part(const Query& query, const Layout& layout, Record record) {
    return {record.far, record.far + layout.rest_low, query.mantissa.data() + layout.steer, layout.rest};
}

// Over the pairs of coordinates (i, i + n / 2) from i = `from` on, and the odd one at the end.
inline void add_products(const Part& part, std::size_t from, Products& sum) {
    const std::size_t half = part.n / 2;
    const auto add = [&](std::size_t i, int nibble) {
        const int x = 16 * part.high[i] + nibble - 2056;
        sum.dot += x * part.q[i];
        sum.norm += x * x;
    };
    for (std::size_t i = from; i < half; ++i) {
        add(i, part.low[i] & 15);
        add(i + half, part.low[i] >> 4);
    }
    if (part.n % 2 != 0) add(part.n - 1, part.low[half]);
}

inline std::int64_t fine(const Query& query, const std::uint8_t* near, Products sum) {
    const int ex = near[Layout::kExponent], eq = query.exponent;
    return (query.norm << 2 * eq) + (sum.norm << 2 * ex) - sum.dot * (std::int64_t{2} << (eq + ex));
}

inline void prefetch(const std::uint8_t* p, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; i += 64) __builtin_prefetch(p + i);
}

// Records ahead that are fetched while one is measured.
constexpr std::size_t kAhead = 16;

__attribute__((always_inline)) inline void look_ahead(const std::uint8_t* const* nears, std::size_t i, std::size_t n,
                                                      std::size_t bytes) {
    if (i + kAhead < n) prefetch(nears[i + kAhead], bytes);
}

inline void coarse_plain(const Query& query, const Layout& layout, const std::uint8_t* const* nears, std::size_t n,
                         float* out) {
    for (std::size_t i = 0; i < n; ++i) {
        look_ahead(nears, i, n, layout.near);
        out[i] = coarse(query, nears[i], dot_plain(query, nears[i], layout.steer));
    }
}

inline void fine_plain(const Query& query, const Layout& layout, const Record* records, std::size_t n,
                       std::int64_t* out) {
    for (std::size_t i = 0; i < n; ++i) {
        Products sum;
        add_products(near_part(query, layout, records[i]), 0, sum);
        add_products(far_part(query, layout, records[i]), 0, sum);
        out[i] = fine(query, records[i].near, sum);
    }
}

#if NAIT_X86
NAIT_AVX2 inline void expand_avx2(const Layout& layout, const std::uint8_t* near, Query& query) {
    expand_body(layout, near, query);
}

// A byte turns signed when its top bit is flipped; the sum is a product with ones. Nothing here asks for high_wide.
NAIT_AVX512 inline void expand_avx512(const Layout& layout, const std::uint8_t* near, Query& query) {
    query.exponent = near[Layout::kExponent];
    query.high_norm = load<std::uint32_t>(near + Layout::kNorm);
    __m512i sum = _mm512_setzero_si512();
    for (std::size_t i = 0; i < layout.near; i += 64) {
        const std::size_t left = Layout::kHigh + layout.steer - i;
        __mmask64 mask = left >= 64 ? ~__mmask64{0} : (__mmask64{1} << left) - 1;
        if (i == 0) mask &= ~__mmask64{0} << Layout::kHigh;
        const __m512i x = _mm512_maskz_loadu_epi8(mask, near + i);
        sum = _mm512_dpbusd_epi32(sum, x, _mm512_set1_epi8(1));
        _mm512_storeu_si512(query.high.data() + i, _mm512_xor_si512(x, _mm512_maskz_set1_epi8(mask, -128)));
    }
    query.high_sum = _mm512_reduce_add_epi32(sum) - 128 * static_cast<std::int64_t>(layout.steer);
}

// Whole cache lines are read; the query is zero where they hold no coordinate that steers.
NAIT_AVX2 inline void coarse_avx2(const Query& query, const Layout& layout, const std::uint8_t* const* nears,
                                  std::size_t n, float* out) {
    for (std::size_t i = 0; i < n; ++i) {
        look_ahead(nears, i, n, layout.near);
        __m256i even = _mm256_setzero_si256(), odd = _mm256_setzero_si256();
        for (std::size_t j = 0; j < layout.near; j += 32) {
            const auto* x = reinterpret_cast<const __m128i*>(nears[i] + j);
            const auto* q = reinterpret_cast<const __m256i*>(query.high_wide.data() + j);
            even = _mm256_add_epi32(even,
                                    _mm256_madd_epi16(_mm256_cvtepu8_epi16(_mm_loadu_si128(x)), _mm256_loadu_si256(q)));
            odd = _mm256_add_epi32(
                odd, _mm256_madd_epi16(_mm256_cvtepu8_epi16(_mm_loadu_si128(x + 1)), _mm256_loadu_si256(q + 1)));
        }
        const __m256i sum = _mm256_add_epi32(even, odd);
        __m128i s = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
        s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
        s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1));
        out[i] = coarse(query, nears[i], _mm_cvtsi128_si32(s));
    }
}

// 16 mantissas from their high bytes and nibbles.
NAIT_AVX2 inline __m256i mantissas_avx2(const std::uint8_t* high, __m256i nibbles) {
    const __m256i h = _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(high)));
    return _mm256_add_epi16(_mm256_slli_epi16(h, 4), _mm256_sub_epi16(nibbles, _mm256_set1_epi16(2056)));
}

NAIT_AVX2 inline std::int64_t sum_avx2(__m256i x) {
    __m256i wide = _mm256_add_epi64(_mm256_cvtepi32_epi64(_mm256_castsi256_si128(x)),
                                    _mm256_cvtepi32_epi64(_mm256_extracti128_si256(x, 1)));
    const __m128i s = _mm_add_epi64(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
    return _mm_cvtsi128_si64(s) + _mm_extract_epi64(s, 1);
}

// A lane sums at most 4096 / 8 products of at most 2039^2: 31 bits just hold it.
NAIT_AVX2 inline void add_products_avx2(const Part& part, Products& sum) {
    const std::size_t half = part.n / 2;
    // Two sums each, so that an addition need not wait for the one before it.
    __m256i dots[2] = {}, norms[2] = {};
    std::size_t i = 0;
    for (; i + 16 <= half; i += 16) {
        const __m256i l = _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(part.low + i)));
        const __m256i a = mantissas_avx2(part.high + i, _mm256_and_si256(l, _mm256_set1_epi16(15)));
        const __m256i b = mantissas_avx2(part.high + i + half, _mm256_srli_epi16(l, 4));
        const __m256i qa = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(part.q + i));
        const __m256i qb = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(part.q + i + half));
        dots[0] = _mm256_add_epi32(dots[0], _mm256_madd_epi16(a, qa));
        dots[1] = _mm256_add_epi32(dots[1], _mm256_madd_epi16(b, qb));
        norms[0] = _mm256_add_epi32(norms[0], _mm256_madd_epi16(a, a));
        norms[1] = _mm256_add_epi32(norms[1], _mm256_madd_epi16(b, b));
    }
    sum.dot += sum_avx2(_mm256_add_epi32(dots[0], dots[1]));
    sum.norm += sum_avx2(_mm256_add_epi32(norms[0], norms[1]));
    add_products(part, i, sum);
}

NAIT_AVX2 inline void fine_avx2(const Query& query, const Layout& layout, const Record* records, std::size_t n,
                                std::int64_t* out) {
    for (std::size_t i = 0; i < n; ++i) {
        Products sum;
        add_products_avx2(near_part(query, layout, records[i]), sum);
        add_products_avx2(far_part(query, layout, records[i]), sum);
        out[i] = fine(query, records[i].near, sum);
    }
}

// VNNI multiplies unsigned by signed bytes: hence highs stored with an offset of 128, taken off again by high_sum.
NAIT_AVX512 inline void coarse_avx512(const Query& query, const Layout& layout, const std::uint8_t* const* nears,
                                      std::size_t n, float* out) {
    const std::size_t lines = layout.near / 64;
    const std::int8_t* q = query.high.data();
    // The first four lines of the query, all that steers of F = 289, stay in registers.
    __m512i held[4];
    for (std::size_t j = 0; j < 4; ++j) held[j] = j < lines ? _mm512_loadu_si512(q + 64 * j) : _mm512_setzero_si512();
    for (std::size_t i = 0; i < n; ++i) {
        look_ahead(nears, i, n, layout.near);
        const std::uint8_t* x = nears[i];
        const __m512i zero = _mm512_setzero_si512();
        __m512i even = _mm512_dpbusd_epi32(zero, _mm512_loadu_si512(x), held[0]), odd = zero;
        if (lines > 1) odd = _mm512_dpbusd_epi32(odd, _mm512_loadu_si512(x + 64), held[1]);
        if (lines > 2) even = _mm512_dpbusd_epi32(even, _mm512_loadu_si512(x + 128), held[2]);
        if (lines > 3) odd = _mm512_dpbusd_epi32(odd, _mm512_loadu_si512(x + 192), held[3]);
        for (std::size_t j = 4; j < lines; ++j)
            odd = _mm512_dpbusd_epi32(odd, _mm512_loadu_si512(x + 64 * j), _mm512_loadu_si512(q + 64 * j));
        out[i] = coarse(query, x, _mm512_reduce_add_epi32(_mm512_add_epi32(even, odd)));
    }
}

// 32 mantissas, zero where the mask is.
NAIT_AVX512 inline __m512i mantissas_avx512(__mmask32 mask, const std::uint8_t* high, __m512i nibbles) {
    const __m512i h = _mm512_cvtepu8_epi16(_mm256_maskz_loadu_epi8(mask, high));
    return _mm512_maskz_add_epi16(mask, _mm512_slli_epi16(h, 4), _mm512_sub_epi16(nibbles, _mm512_set1_epi16(2056)));
}

NAIT_AVX512 inline void add_products_avx512(const Part& part, __m512i& dots, __m512i& norms, Products& odd) {
    const std::size_t half = part.n / 2;
    for (std::size_t i = 0; i < half; i += 32) {
        const std::size_t left = half - i;
        const __mmask32 mask = left >= 32 ? ~__mmask32{0} : (__mmask32{1} << left) - 1;
        const __m512i l = _mm512_cvtepu8_epi16(_mm256_maskz_loadu_epi8(mask, part.low + i));
        const __m512i a = mantissas_avx512(mask, part.high + i, _mm512_and_si512(l, _mm512_set1_epi16(15)));
        const __m512i b = mantissas_avx512(mask, part.high + i + half, _mm512_srli_epi16(l, 4));
        dots = _mm512_dpwssd_epi32(dots, a, _mm512_maskz_loadu_epi16(mask, part.q + i));
        dots = _mm512_dpwssd_epi32(dots, b, _mm512_maskz_loadu_epi16(mask, part.q + i + half));
        norms = _mm512_dpwssd_epi32(norms, a, a);
        norms = _mm512_dpwssd_epi32(norms, b, b);
    }
    add_products(part, half, odd);
}

NAIT_AVX512 inline std::int64_t sum_avx512(__m512i x) {
    return _mm512_reduce_add_epi64(_mm512_add_epi64(_mm512_cvtepi32_epi64(_mm512_castsi512_si256(x)),
                                                    _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(x, 1))));
}

NAIT_AVX512 inline void fine_avx512(const Query& query, const Layout& layout, const Record* records, std::size_t n,
                                    std::int64_t* out) {
    for (std::size_t i = 0; i < n; ++i) {
        Products sum;
        __m512i dots = _mm512_setzero_si512(), norms = dots;
        add_products_avx512(near_part(query, layout, records[i]), dots, norms, sum);
        add_products_avx512(far_part(query, layout, records[i]), dots, norms, sum);
        sum.dot += sum_avx512(dots);
        sum.norm += sum_avx512(norms);
        out[i] = fine(query, records[i].near, sum);
    }
}
#endif

// Distinct keys in ascending order, into `sorted`. Behind them `keys` has room for kSpareKeys more.
constexpr std::size_t kSpareKeys = 8;

inline void sort_plain(std::uint64_t* keys, std::size_t n, std::uint64_t* sorted) {
    std::copy(keys, keys + n, sorted);
    std::sort(sorted, sorted + n);
}

#if NAIT_X86
// A key's place is the number of keys below it: n^2 / 8 comparisons without a branch beat a sort of a few hundred.
NAIT_AVX512 inline void sort_avx512(std::uint64_t* keys, std::size_t n, std::uint64_t* sorted) {
    if (n > 512) return sort_plain(keys, n, sorted);
    for (std::size_t i = 0; i < kSpareKeys; ++i) keys[n + i] = ~std::uint64_t{0};
    for (std::size_t i = 0; i < n; ++i) {
        const __m512i key = _mm512_set1_epi64(static_cast<long long>(keys[i]));
        std::size_t below = 0;
        for (std::size_t j = 0; j < n; j += 8) {
            const __mmask8 lower = _mm512_cmplt_epu64_mask(_mm512_loadu_si512(keys + j), key);
            below += static_cast<std::size_t>(__builtin_popcount(lower));
        }
        sorted[below] = keys[i];
    }
}
#endif

// 1 if the slot is new to a search, and then put at `to`; without a branch, which would be a coin toss. One bit a slot
// keeps the marks of 100,000 in the first-level cache.
inline std::size_t visit(std::uint64_t* visited, Slot slot, Slot* to) {
    *to = slot;
    std::uint64_t& word = visited[slot / 64];
    const std::uint64_t old = word;
    word = old | std::uint64_t{1} << slot % 64;
    return ~old >> slot % 64 & 1;
}

// The same for n links.
inline std::size_t visit_plain(std::uint64_t* visited, const std::uint8_t* links, std::size_t n, Slot* to) {
    std::size_t found = 0;
    for (std::size_t i = 0; i < n; ++i) found += visit(visited, load<Slot>(links + 4 * i), to + found);
    return found;
}

#if NAIT_X86
// Three of four links lead to where the search has been: 16 marks are read at once, and only what is new is marked.
NAIT_AVX512 inline std::size_t visit_avx512(std::uint64_t* visited, const std::uint8_t* links, std::size_t n,
                                            Slot* to) {
    std::size_t found = 0;
    for (std::size_t i = 0; i < n; i += 16) {
        const __mmask16 lanes = n - i >= 16 ? __mmask16(0xffff) : static_cast<__mmask16>((1u << (n - i)) - 1);
        const __m512i slots = _mm512_maskz_loadu_epi32(lanes, links + 4 * i);
        const __m512i words = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), lanes, _mm512_srli_epi32(slots, 5),
                                                          visited, 4);
        const __m512i marks = _mm512_sllv_epi32(_mm512_set1_epi32(1), _mm512_and_si512(slots, _mm512_set1_epi32(31)));
        const __mmask16 unseen = _mm512_mask_testn_epi32_mask(lanes, words, marks);
        Slot fresh[16];
        _mm512_storeu_si512(fresh, _mm512_maskz_compress_epi32(unseen, slots));
        const auto count = static_cast<std::size_t>(__builtin_popcount(unseen));
        for (std::size_t j = 0; j < count; ++j) found += visit(visited, fresh[j], to + found);
    }
    return found;
}
#endif

// The kernels of the instruction set in use.
struct Distances {
    void (*expand)(const Layout&, const std::uint8_t*, Query&) = expand_plain;
    void (*coarse)(const Query&, const Layout&, const std::uint8_t* const*, std::size_t, float*) = coarse_plain;
    void (*fine)(const Query&, const Layout&, const Record*, std::size_t, std::int64_t*) = fine_plain;
    void (*sort)(std::uint64_t*, std::size_t, std::uint64_t*) = sort_plain;
    std::size_t (*visit)(std::uint64_t*, const std::uint8_t*, std::size_t, Slot*) = visit_plain;

    Distances() {
#if NAIT_X86
        if (simd() == Simd::avx2) expand = expand_avx2, coarse = coarse_avx2, fine = fine_avx2;
        if (simd() == Simd::avx512)
            expand = expand_avx512, coarse = coarse_avx512, fine = fine_avx512, sort = sort_avx512,
            visit = visit_avx512;
#endif
    }
};

}  // namespace nait
