// Bilinear resize of a grey image, equal to the bit to OpenCV's INTER_LINEAR on uint8: 11-bit weights, rows first, and
// its truncations on the way.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "simd.hpp"

#if NAIT_X86
#include <immintrin.h>
#endif

namespace nait {

class Resize {
   public:
    Resize(int height, int width, int to_height, int to_width)
        : height_(height), width_(width), rows_(taps(height, to_height, false)), columns_(taps(width, to_width, true)) {
        above_.resize(columns_.size());
        below_.resize(columns_.size());
#if NAIT_X86
        if (simd() >= Simd::avx2) group();
#endif
    }

    int height() const { return height_; }
    int width() const { return width_; }
    int out_height() const { return static_cast<int>(rows_.size()); }
    int out_width() const { return static_cast<int>(columns_.size()); }

    void operator()(const std::uint8_t* source, std::uint8_t* out) {
        const auto row = [&](int y) { return source + static_cast<std::size_t>(y) * static_cast<std::size_t>(width_); };
        int have_above = -1, have_below = -1;
        for (const Tap& tap : rows_) {
            // Where the image grows a row is needed again.
            if (tap.first == have_below) std::swap(above_, below_), std::swap(have_above, have_below);
            if (tap.first != have_above) across(row(tap.first), above_), have_above = tap.first;
            if (tap.second != have_below) across(row(tap.second), below_), have_below = tap.second;
            blend(tap, out);
            out += columns_.size();
        }
    }

   private:
    struct Tap {
        int first, second;
        std::int32_t near, far;  // weights out of 2048
    };

    // Beyond the edge a column takes the edge pixel whole, a row takes it twice by the weights it has.
    static std::vector<Tap> taps(int from, int to, bool column) {
        std::vector<Tap> out(static_cast<std::size_t>(to));
        const double scale = static_cast<double>(from) / to;
        for (int i = 0; i < to; ++i) {
            auto f = static_cast<float>((i + 0.5) * scale - 0.5);
            int at = static_cast<int>(std::floor(f));
            f -= static_cast<float>(at);
            if (column && at < 0) at = 0, f = 0.0F;
            if (column && at >= from - 1) at = from - 1, f = 0.0F;
            const auto near = static_cast<std::int32_t>(std::lrint((1.0F - f) * 2048.0F));
            const auto far = static_cast<std::int32_t>(std::lrint(f * 2048.0F));
            out[static_cast<std::size_t>(i)] = {std::clamp(at, 0, from - 1), std::clamp(at + 1, 0, from - 1), near,
                                                far};
        }
        return out;
    }

    void across(const std::uint8_t* row, std::vector<std::int16_t>& out) const {
#if NAIT_X86
        if (!groups_.empty()) return across_avx2(row, out.data());
#endif
        for (std::size_t x = 0; x < columns_.size(); ++x) {
            const Tap& tap = columns_[x];
            out[x] = static_cast<std::int16_t>((row[tap.first] * tap.near + row[tap.second] * tap.far) >> 4);
        }
    }

    void blend(const Tap& tap, std::uint8_t* out) const {
        for (std::size_t x = 0; x < columns_.size(); ++x)
            out[x] = static_cast<std::uint8_t>(((tap.near * above_[x] >> 16) + (tap.far * below_[x] >> 16) + 2) >> 2);
    }

#if NAIT_X86
    // Eight columns whose pixels lie within 16 bytes: a byte shuffle gathers the pairs, a multiply-add weighs them.
    struct Group {
        int from;
        std::size_t to;
        std::array<std::uint8_t, 16> pairs;
        std::array<std::int16_t, 16> weights;
    };

    // Leaves groups_ empty where the image is too small or shrinks too much for them.
    void group() {
        const std::size_t n = columns_.size();
        if (n < 8 || width_ < 16) return;
        std::vector<Group> groups;
        for (std::size_t start = 0; start < n; start += 8) {
            Group g{};
            g.to = std::min(start, n - 8);
            g.from = std::min(columns_[g.to].first, width_ - 16);
            for (std::size_t i = 0; i < 8; ++i) {
                const Tap& tap = columns_[g.to + i];
                if (tap.second - g.from > 15) return;
                g.pairs[2 * i] = static_cast<std::uint8_t>(tap.first - g.from);
                g.pairs[2 * i + 1] = static_cast<std::uint8_t>(tap.second - g.from);
                g.weights[2 * i] = static_cast<std::int16_t>(tap.near);
                g.weights[2 * i + 1] = static_cast<std::int16_t>(tap.far);
            }
            groups.push_back(g);
        }
        groups_ = std::move(groups);
    }

    NAIT_AVX2 void across_avx2(const std::uint8_t* row, std::int16_t* out) const {
        for (const Group& g : groups_) {
            const __m128i pixels = _mm_loadu_si128(reinterpret_cast<const __m128i*>(row + g.from));
            const __m128i pairs =
                _mm_shuffle_epi8(pixels, _mm_loadu_si128(reinterpret_cast<const __m128i*>(g.pairs.data())));
            const __m256i sums = _mm256_srli_epi32(
                _mm256_madd_epi16(_mm256_cvtepu8_epi16(pairs),
                                  _mm256_loadu_si256(reinterpret_cast<const __m256i*>(g.weights.data()))),
                4);
            const __m128i packed = _mm_packs_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
            _mm_storeu_si128(reinterpret_cast<__m128i*>(out + g.to), packed);
        }
    }

    std::vector<Group> groups_;
#endif

    int height_, width_;
    std::vector<Tap> rows_, columns_;
    std::vector<std::int16_t> above_, below_;
};

}  // namespace nait
