// How a state lies in memory, and the exact integer distances between packed states (the L2 lookup of the Q estimate).
//
// A state of F integers (DCT coefficients in sixteenths, say) is kept in 12 bits a coordinate under one exponent of its
// own (block floating point): a plane of F high bytes, which alone steers the search, and a plane of F nibbles, which
// ranks what the search found. A node's planes, value and links share one record: F = 289 with 16 links is 512 bytes,
// eight cache lines, of which a step of the search reads the first five or the last.
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

// Byte offsets within a record. Nothing is aligned but the record itself: the 512 bytes leave no room for gaps.
struct Layout {
    std::size_t dim, links;
    std::size_t exponent, norm, low, key_bytes, degree, value, link, stride;

    Layout(std::size_t dim_, std::size_t links_) : dim(dim_), links(links_) {
        exponent = dim;
        norm = exponent + 1;
        low = norm + 4;
        key_bytes = low + (dim + 1) / 2;  // two states are equal when these bytes are
        degree = key_bytes;
        value = degree + 1;
        link = value + 8;
        stride = std::max(round_up(link + 4 * links, 64), round_up(dim, 64));
    }
};

// A query in every form that the distance kernels want it in, filled once a lookup.
struct Query {
    std::vector<std::uint8_t> record;    // packed as a node is
    std::vector<std::int16_t> mantissa;  // v / 2^exponent, |v| <= 2039
    std::vector<std::int8_t> high;       // round(mantissa / 16), zeros up to whole cache lines
    std::vector<std::int16_t> high_wide;
    int exponent = 0;
    std::int64_t high_norm = 0;  // sum of squared highs
    std::int64_t high_sum = 0;
    std::int64_t norm = 0;  // sum of squared mantissas

    explicit Query(const Layout& layout)
        : record(layout.stride),
          mantissa(layout.dim),
          high(round_up(layout.dim, 64)),
          high_wide(round_up(layout.dim, 64)) {}
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

inline void pack(const Layout& layout, const std::int32_t* state, Query& query) {
    const std::size_t dim = layout.dim, half = dim / 2;
    const int e = exponent_of(state, dim);
    query.exponent = e;
    query.high_norm = query.high_sum = query.norm = 0;
    std::uint8_t* record = query.record.data();
    std::uint8_t* low = record + layout.low;
    std::memset(record, 0, layout.stride);
    for (std::size_t i = 0; i < dim; ++i) {
        const int v = (state[i] + ((1 << e) >> 1)) >> e;
        const int h = (v + 8) >> 4;
        const int nibble = v - 16 * h + 8;
        query.mantissa[i] = static_cast<std::int16_t>(v);
        query.high[i] = static_cast<std::int8_t>(h);
        query.high_wide[i] = static_cast<std::int16_t>(h);
        query.high_norm += h * h;
        query.high_sum += h;
        query.norm += v * v;
        record[i] = static_cast<std::uint8_t>(h + 128);
        // Nibble planes split in halves, not in pairs, so that unpacking needs no shuffle.
        if (i < 2 * half && i >= half)
            low[i - half] |= static_cast<std::uint8_t>(nibble << 4);
        else
            low[i < half ? i : half] |= static_cast<std::uint8_t>(nibble);
    }
    record[layout.exponent] = static_cast<std::uint8_t>(e);
    store(record + layout.norm, static_cast<std::uint32_t>(query.high_norm));
}

inline void unpack(const Layout& layout, const std::uint8_t* record, std::int32_t* state) {
    const std::size_t half = layout.dim / 2;
    const std::uint8_t* low = record + layout.low;
    for (std::size_t i = 0; i < layout.dim; ++i) {
        const int nibble = i >= half && i < 2 * half ? low[i - half] >> 4 : low[i < half ? i : half] & 15;
        state[i] = (16 * (record[i] - 128) + nibble - 8) * (1 << record[layout.exponent]);
    }
}

// A stored node as a coarse query: what pruning its links asks for.
__attribute__((always_inline)) inline void expand_body(const Layout& layout, const std::uint8_t* record, Query& query) {
    query.exponent = record[layout.exponent];
    query.high_norm = load<std::uint32_t>(record + layout.norm);
    std::int32_t sum = 0;
    std::int8_t* high = query.high.data();
    std::int16_t* wide = query.high_wide.data();
    for (std::size_t i = 0; i < layout.dim; ++i) {
        const auto h = static_cast<std::int16_t>(record[i] - 128);
        high[i] = static_cast<std::int8_t>(h);
        wide[i] = h;
        sum += h;
    }
    query.high_sum = sum;
}

inline void expand_plain(const Layout& layout, const std::uint8_t* record, Query& query) {
    expand_body(layout, record, query);
}

// Coarse squared distance, in units of 16 quanta, rounded to float32: it orders the search. The rounding of an exact
// integer is the same everywhere, and a float's bits order as the float does, so a pool entry is one 64-bit key.
inline float coarse(const Query& query, const Layout& layout, const std::uint8_t* record, std::int64_t dot) {
    const int ex = record[layout.exponent], eq = query.exponent;
    const auto norm = static_cast<std::int64_t>(load<std::uint32_t>(record + layout.norm));
    const std::int64_t cross = dot - 128 * query.high_sum;
    return static_cast<float>((query.high_norm << 2 * eq) + (norm << 2 * ex) - cross * (std::int64_t{2} << (eq + ex)));
}

inline std::int32_t dot_plain(const Query& query, const std::uint8_t* record, std::size_t dim) {
    const std::int16_t* q = query.high_wide.data();
    std::int32_t sum = 0;
    for (std::size_t i = 0; i < dim; ++i) sum += static_cast<std::int16_t>(record[i]) * q[i];
    return sum;
}

// Of the full mantissas, from which the exact squared distance follows.
struct Products {
    std::int64_t dot, norm;
};

// Over the pairs of coordinates (i, i + F / 2) from i = `from` on, and the odd one at the end.
inline Products products(const Query& query, const Layout& layout, const std::uint8_t* record, std::size_t from) {
    const std::size_t dim = layout.dim, half = dim / 2;
    const std::uint8_t* low = record + layout.low;
    const std::int16_t* q = query.mantissa.data();
    Products sum{0, 0};
    const auto add = [&](std::size_t i, int nibble) {
        const int x = 16 * record[i] + nibble - 2056;
        sum.dot += x * q[i];
        sum.norm += x * x;
    };
    for (std::size_t i = from; i < half; ++i) {
        add(i, low[i] & 15);
        add(i + half, low[i] >> 4);
    }
    if (dim % 2 != 0) add(dim - 1, low[half]);
    return sum;
}

inline std::int64_t fine(const Query& query, const Layout& layout, const std::uint8_t* record, Products sum) {
    const int ex = record[layout.exponent], eq = query.exponent;
    return (query.norm << 2 * eq) + (sum.norm << 2 * ex) - sum.dot * (std::int64_t{2} << (eq + ex));
}

inline void prefetch(const std::uint8_t* p, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; i += 64) __builtin_prefetch(p + i);
}

// Records ahead that are fetched while one is measured.
constexpr std::size_t kAhead = 16;

__attribute__((always_inline)) inline void look_ahead(const std::uint8_t* const* records, std::size_t i, std::size_t n,
                                                      std::size_t bytes) {
    if (i + kAhead < n) prefetch(records[i + kAhead], bytes);
}

inline void coarse_plain(const Query& query, const Layout& layout, const std::uint8_t* const* records, std::size_t n,
                         float* out) {
    for (std::size_t i = 0; i < n; ++i) {
        look_ahead(records, i, n, layout.dim);
        out[i] = coarse(query, layout, records[i], dot_plain(query, records[i], layout.dim));
    }
}

inline void fine_plain(const Query& query, const Layout& layout, const std::uint8_t* const* records, std::size_t n,
                       std::int64_t* out) {
    for (std::size_t i = 0; i < n; ++i)
        out[i] = fine(query, layout, records[i], products(query, layout, records[i], 0));
}

#if NAIT_X86
NAIT_AVX2 inline void expand_avx2(const Layout& layout, const std::uint8_t* record, Query& query) {
    expand_body(layout, record, query);
}

// A byte turns signed when its top bit is flipped; the sum is a product with ones. Nothing here asks for high_wide.
NAIT_AVX512 inline void expand_avx512(const Layout& layout, const std::uint8_t* record, Query& query) {
    query.exponent = record[layout.exponent];
    query.high_norm = load<std::uint32_t>(record + layout.norm);
    __m512i sum = _mm512_setzero_si512();
    for (std::size_t i = 0; i < layout.dim; i += 64) {
        const std::size_t rest = layout.dim - i;
        const __mmask64 mask = rest >= 64 ? ~__mmask64{0} : (__mmask64{1} << rest) - 1;
        const __m512i x = _mm512_maskz_loadu_epi8(mask, record + i);
        sum = _mm512_dpbusd_epi32(sum, x, _mm512_set1_epi8(1));
        _mm512_storeu_si512(query.high.data() + i, _mm512_xor_si512(x, _mm512_maskz_set1_epi8(mask, -128)));
    }
    query.high_sum = _mm512_reduce_add_epi32(sum) - 128 * static_cast<std::int64_t>(layout.dim);
}

NAIT_AVX2 inline void coarse_avx2(const Query& query, const Layout& layout, const std::uint8_t* const* records,
                                  std::size_t n, float* out) {
    const std::size_t end = round_up(layout.dim, 32);
    for (std::size_t i = 0; i < n; ++i) {
        look_ahead(records, i, n, layout.dim);
        __m256i even = _mm256_setzero_si256(), odd = _mm256_setzero_si256();
        for (std::size_t j = 0; j < end; j += 32) {
            const auto* x = reinterpret_cast<const __m128i*>(records[i] + j);
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
        out[i] = coarse(query, layout, records[i], _mm_cvtsi128_si32(s));
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
NAIT_AVX2 inline std::int64_t fine_avx2_one(const Query& query, const Layout& layout, const std::uint8_t* record) {
    const std::size_t dim = layout.dim, half = dim / 2;
    const std::uint8_t* low = record + layout.low;
    const std::int16_t* q = query.mantissa.data();
    // Two sums each, so that an addition need not wait for the one before it.
    __m256i dots[2] = {}, norms[2] = {};
    std::size_t i = 0;
    for (; i + 16 <= half; i += 16) {
        const __m256i l = _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(low + i)));
        const __m256i a = mantissas_avx2(record + i, _mm256_and_si256(l, _mm256_set1_epi16(15)));
        const __m256i b = mantissas_avx2(record + i + half, _mm256_srli_epi16(l, 4));
        const __m256i qa = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(q + i));
        const __m256i qb = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(q + i + half));
        dots[0] = _mm256_add_epi32(dots[0], _mm256_madd_epi16(a, qa));
        dots[1] = _mm256_add_epi32(dots[1], _mm256_madd_epi16(b, qb));
        norms[0] = _mm256_add_epi32(norms[0], _mm256_madd_epi16(a, a));
        norms[1] = _mm256_add_epi32(norms[1], _mm256_madd_epi16(b, b));
    }
    const Products rest = products(query, layout, record, i);
    return fine(query, layout, record,
                {rest.dot + sum_avx2(_mm256_add_epi32(dots[0], dots[1])),
                 rest.norm + sum_avx2(_mm256_add_epi32(norms[0], norms[1]))});
}

NAIT_AVX2 inline void fine_avx2(const Query& query, const Layout& layout, const std::uint8_t* const* records,
                                std::size_t n, std::int64_t* out) {
    for (std::size_t i = 0; i < n; ++i) out[i] = fine_avx2_one(query, layout, records[i]);
}

// VNNI multiplies unsigned by signed bytes: hence highs stored with an offset of 128, taken off again by high_sum.
NAIT_AVX512 inline void coarse_avx512(const Query& query, const Layout& layout, const std::uint8_t* const* records,
                                      std::size_t n, float* out) {
    const std::size_t lines = (layout.dim + 63) / 64;
    const std::int8_t* q = query.high.data();
    // The first five lines of the query, all of F = 289, stay in registers.
    __m512i held[5];
    for (std::size_t j = 0; j < 5; ++j) held[j] = j < lines ? _mm512_loadu_si512(q + 64 * j) : _mm512_setzero_si512();
    for (std::size_t i = 0; i < n; ++i) {
        look_ahead(records, i, n, layout.dim);
        const std::uint8_t* x = records[i];
        const __m512i zero = _mm512_setzero_si512();
        __m512i even = _mm512_dpbusd_epi32(zero, _mm512_loadu_si512(x), held[0]), odd = zero;
        if (lines >= 5) {
            odd = _mm512_dpbusd_epi32(odd, _mm512_loadu_si512(x + 64), held[1]);
            even = _mm512_dpbusd_epi32(even, _mm512_loadu_si512(x + 128), held[2]);
            odd = _mm512_dpbusd_epi32(odd, _mm512_loadu_si512(x + 192), held[3]);
            even = _mm512_dpbusd_epi32(even, _mm512_loadu_si512(x + 256), held[4]);
            for (std::size_t j = 5; j < lines; ++j)
                odd = _mm512_dpbusd_epi32(odd, _mm512_loadu_si512(x + 64 * j), _mm512_loadu_si512(q + 64 * j));
        } else {
            for (std::size_t j = 1; j < lines; ++j)
                odd = _mm512_dpbusd_epi32(odd, _mm512_loadu_si512(x + 64 * j), _mm512_loadu_si512(q + 64 * j));
        }
        out[i] = coarse(query, layout, x, _mm512_reduce_add_epi32(_mm512_add_epi32(even, odd)));
    }
}

// 256 bits at a time: nine times 16 are half of F = 289, where 32 at a time leave a rest to mask.
NAIT_AVX512 inline std::int64_t fine_avx512_one(const Query& query, const Layout& layout, const std::uint8_t* record) {
    const std::size_t half = layout.dim / 2;
    const std::uint8_t* low = record + layout.low;
    const std::int16_t* q = query.mantissa.data();
    __m256i dots[2] = {}, norms[2] = {};
    std::size_t i = 0;
    for (; i + 16 <= half; i += 16) {
        const __m256i l = _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(low + i)));
        const __m256i a = mantissas_avx2(record + i, _mm256_and_si256(l, _mm256_set1_epi16(15)));
        const __m256i b = mantissas_avx2(record + i + half, _mm256_srli_epi16(l, 4));
        dots[0] = _mm256_dpwssd_epi32(dots[0], a, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(q + i)));
        dots[1] = _mm256_dpwssd_epi32(dots[1], b, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(q + i + half)));
        norms[0] = _mm256_dpwssd_epi32(norms[0], a, a);
        norms[1] = _mm256_dpwssd_epi32(norms[1], b, b);
    }
    const Products rest = products(query, layout, record, i);
    return fine(query, layout, record,
                {rest.dot + sum_avx2(_mm256_add_epi32(dots[0], dots[1])),
                 rest.norm + sum_avx2(_mm256_add_epi32(norms[0], norms[1]))});
}

NAIT_AVX512 inline void fine_avx512(const Query& query, const Layout& layout, const std::uint8_t* const* records,
                                    std::size_t n, std::int64_t* out) {
    for (std::size_t i = 0; i < n; ++i) out[i] = fine_avx512_one(query, layout, records[i]);
}
#endif

// The kernels of the instruction set in use.
struct Distances {
    void (*expand)(const Layout&, const std::uint8_t*, Query&) = expand_plain;
    void (*coarse)(const Query&, const Layout&, const std::uint8_t* const*, std::size_t, float*) = coarse_plain;
    void (*fine)(const Query&, const Layout&, const std::uint8_t* const*, std::size_t, std::int64_t*) = fine_plain;

    Distances() {
#if NAIT_X86
        if (simd() == Simd::avx2) expand = expand_avx2, coarse = coarse_avx2, fine = fine_avx2;
        if (simd() == Simd::avx512) expand = expand_avx512, coarse = coarse_avx512, fine = fine_avx512;
#endif
    }
};

}  // namespace nait
