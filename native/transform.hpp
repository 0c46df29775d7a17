// The representation phi: the low-frequency block of the orthonormal 2-D DCT-II of four frames in a 2x2 grid.
//
// The DCT is linear, so a frame's share in each of the four places of the grid is computed once, when it is first seen,
// and a state is a sum of four cached shares. Of a frame only the rows that differ from the frame before are
// transformed. Integers throughout, whose sums are exact in any order: the same bits on every CPU. A state is in
// sixteenths of a coefficient less a given centre; the error before rounding is well under one sixteenth.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "film.hpp"
#include "packed.hpp"

namespace nait {

// The cosines on half of the grid's axis. On the second half cos(pi i (n + h + 1/2) / 2h) is the first half's cosine up
// to its sign for even i, and a sine for odd i: 25 rows serve 2 x 17.
class HalfBasis {
   public:
    struct Place {
        std::size_t row;
        int sign;
    };

    HalfBasis(std::size_t length_, std::size_t kept_) : length(length_), kept(kept_), rows(kept_ + kept_ / 2) {
        for (std::size_t i = 0; i < kept; ++i) {
            places_[0].push_back({i, 1});
            places_[1].push_back(i % 2 == 0 ? Place{i, i % 4 == 0 ? 1 : -1} : Place{kept + i / 2, i % 4 == 1 ? -1 : 1});
        }
    }

    const std::size_t length, kept, rows;

    // Where the basis functions of one half of the axis are to be found, and with which sign.
    const std::vector<Place>& places(std::size_t half) const { return places_[half]; }

    double operator()(std::size_t row, std::size_t x) const {
        const std::size_t i = row < kept ? row : 2 * (row - kept) + 1;
        const double n = 2.0 * static_cast<double>(length);
        const double angle = 3.14159265358979323846 * static_cast<double>(i) * (static_cast<double>(x) + 0.5) / n;
        return std::sqrt((i == 0 ? 1.0 : 2.0) / n) * (row < kept ? std::cos(angle) : std::sin(angle));
    }

   private:
    std::array<std::vector<Place>, 2> places_;
};

// Rows of pixels times the basis along them, in exact 32-bit sums. The table holds pairs of 16-bit weights for pairs of
// pixels, the rows of one pair side by side, so that a vector multiply-add of pairs serves 8 rows at once.
constexpr std::size_t kRows = 32;  // rows in flight: enough sums to hide the latency of an addition

class Across {
   public:
    Across(const HalfBasis& basis)
        : width(basis.length),
          padded(round_up(basis.rows, kRows)),
          scale_(whole_scale(basis.length)),
          table_(round_up(width, 2) * padded) {
        for (std::size_t r = 0; r < basis.rows; ++r) {
            // Rounding errors are carried on to the next weight: neighbouring pixels are alike, so that they cancel.
            double carried = 0.0;
            for (std::size_t x = 0; x < width; ++x) {
                carried += scale_ * basis(r, x);
                const double weight = std::rint(carried);
                table_[(x / 2 * padded + r) * 2 + x % 2] = static_cast<std::int16_t>(weight);
                carried -= weight;
            }
        }
#if NAIT_X86
        if (simd() >= Simd::avx2) run_ = avx2;
#endif
    }

    const std::size_t width, padded;
    double scale() const { return scale_; }

    // Of one row of pixels, as doubles, which hold these integers exactly.
    void operator()(const std::uint8_t* pixels, double* out) const { run_(*this, pixels, out); }

   private:
    // The largest scale at which weights fit 16 bits and sums 31, cut so that the constant function is a whole number.
    static double whole_scale(std::size_t width) {
        const double root = std::sqrt(2.0 * static_cast<double>(width));
        const double largest = std::min(32000.0 * root / std::sqrt(2.0), std::ldexp(1.0, 30) / (255.0 * root));
        return std::floor(largest / root) * root;
    }

    static void plain(const Across& self, const std::uint8_t* row, double* out) {
        for (std::size_t block = 0; block < self.padded; block += 8) {
            std::int32_t sum[8] = {};
            for (std::size_t x = 0; x < self.width; x += 2) {
                const auto first = static_cast<std::int16_t>(row[x]);
                const auto second = static_cast<std::int16_t>(x + 1 < self.width ? row[x + 1] : 0);
                const std::int16_t* weights = self.table_.data() + (x / 2 * self.padded + block) * 2;
                for (std::size_t r = 0; r < 8; ++r) sum[r] += first * weights[2 * r] + second * weights[2 * r + 1];
            }
            for (std::size_t r = 0; r < 8; ++r) out[block + r] = sum[r];
        }
    }

#if NAIT_X86
    NAIT_AVX2 static void avx2(const Across& self, const std::uint8_t* row, double* out) {
        for (std::size_t block = 0; block < self.padded; block += kRows) {
            __m256i sum[kRows / 8] = {};
            for (std::size_t x = 0; x < self.width; x += 2) {
                const std::int32_t second = x + 1 < self.width ? row[x + 1] : 0;
                const __m256i pixels = _mm256_set1_epi32(row[x] | second << 16);
                const auto* weights =
                    reinterpret_cast<const __m256i*>(self.table_.data() + (x / 2 * self.padded + block) * 2);
                for (std::size_t i = 0; i < kRows / 8; ++i)
                    sum[i] = _mm256_add_epi32(sum[i], _mm256_madd_epi16(pixels, _mm256_loadu_si256(weights + i)));
            }
            for (std::size_t i = 0; i < kRows / 8; ++i, out += 8) {
                _mm256_storeu_pd(out, _mm256_cvtepi32_pd(_mm256_castsi256_si128(sum[i])));
                _mm256_storeu_pd(out + 4, _mm256_cvtepi32_pd(_mm256_extracti128_si256(sum[i], 1)));
            }
        }
    }
#endif

    double scale_;
    std::vector<std::int16_t> table_;
    void (*run_)(const Across&, const std::uint8_t*, double*) = plain;
};

// Columns of those sums times the basis down them. Products and sums of integers below 2^53 are exact in doubles, in
// whatever order, and doubles vectorise on every CPU.
class Down {
   public:
    // `largest` bounds what the sums would be at scale 1.
    Down(const HalfBasis& basis, double largest)
        : height(basis.length), rows(basis.rows), table_(basis.rows * basis.length) {
        const double root = std::sqrt(2.0 * static_cast<double>(height));
        scale_ = std::floor(std::ldexp(1.0, 52) / largest / root) * root;
        for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t y = 0; y < height; ++y) table_[r * height + y] = std::rint(scale_ * basis(r, y));
#if NAIT_X86
        if (simd() == Simd::avx2) run_ = avx2;
        if (simd() == Simd::avx512) run_ = avx512;
#endif
    }

    const std::size_t height, rows;
    double scale() const { return scale_; }

    // Adds the shares of the rows `ys`, whose sums across lie one after the other, to `out`.
    void operator()(const std::vector<std::size_t>& ys, const double* across, std::size_t padded, double* out) const {
        run_(*this, ys, across, padded, out);
    }

   private:
    using Rows = std::vector<std::size_t>;

    __attribute__((always_inline)) static void body(const Down& self, const Rows& ys, const double* across,
                                                    std::size_t padded, double* out) {
        for (std::size_t r = 0; r < self.rows; ++r, out += padded) {
            for (std::size_t block = 0; block < padded; block += kRows) {
                double sum[kRows];
                for (std::size_t i = 0; i < kRows; ++i) sum[i] = out[block + i];
                for (std::size_t j = 0; j < ys.size(); ++j) {
                    const double weight = self.table_[r * self.height + ys[j]];
                    const double* row = across + j * padded + block;
                    for (std::size_t i = 0; i < kRows; ++i) sum[i] += weight * row[i];
                }
                for (std::size_t i = 0; i < kRows; ++i) out[block + i] = sum[i];
            }
        }
    }
    static void plain(const Down& self, const Rows& ys, const double* across, std::size_t padded, double* out) {
        body(self, ys, across, padded, out);
    }
#if NAIT_X86
    NAIT_AVX2 static void avx2(const Down& self, const Rows& ys, const double* across, std::size_t padded,
                               double* out) {
        body(self, ys, across, padded, out);
    }
    NAIT_AVX512 static void avx512(const Down& self, const Rows& ys, const double* across, std::size_t padded,
                                   double* out) {
        body(self, ys, across, padded, out);
    }
#endif

    double scale_;
    std::vector<double> table_;
    void (*run_)(const Down&, const Rows&, const double*, std::size_t, double*) = plain;
};

class Transform {
   public:
    static constexpr std::size_t kFrames = Film::kFrames;

    Transform(std::size_t height, std::size_t width, std::size_t side)
        : side_(side),
          columns_(width, side),
          rows_(height, side),
          across_(columns_),
          down_(rows_, across_.scale() * 255.0 * std::sqrt(static_cast<double>(height * width))),
          unit_(std::ldexp(1.0, kBitsShare) / (across_.scale() * down_.scale())),
          centre_(side * side),
          film_(height * width),
          shares_(kFrames * kFrames * side * side),
          wide_(height * across_.padded),
          change_(height * across_.padded),
          spectrum_(down_.rows * across_.padded),
          rounded_(spectrum_.size()) {}

    std::size_t height() const { return down_.height; }
    std::size_t width() const { return across_.width; }
    std::size_t dim() const { return side_ * side_; }
    std::vector<std::int32_t>& centre() { return centre_; }

    // phi(o_t, o_t-1, o_t-2, o_t-3) of a stack, oldest frame first.
    void operator()(const std::uint8_t* stack, std::int32_t* state) {
        const Film::Places at = film_(stack, [this](std::size_t place, const std::uint8_t* frame,
                                                    const std::uint8_t* before) { set(place, frame, before); });
        sum(at, state);
    }

   private:
    static constexpr int kBitsShare = 13, kBitsState = 4;  // fraction bits of a cached share and of a state

    void set(std::size_t i, const std::uint8_t* frame, const std::uint8_t* before) {
        follow(frame, before);
        for (std::size_t j = 0; j < spectrum_.size(); ++j)
            rounded_[j] = static_cast<std::int32_t>(std::lrint(spectrum_[j] * unit_));
        std::int32_t* share = shares_.data() + i * kFrames * dim();
        for (std::size_t place = 0; place < kFrames; ++place) {
            for (const HalfBasis::Place& row : rows_.places(place / 2)) {
                const std::int32_t* spectrum = rounded_.data() + row.row * across_.padded;
                for (const HalfBasis::Place& column : columns_.places(place % 2))
                    *share++ = spectrum[column.row] * (row.sign * column.sign);
            }
        }
    }

    // Turns the spectrum of the frame before, at first one of zeros, into this frame's. On the way there every partial
    // sum is the spectrum of a frame made of rows of both, and so as small.
    void follow(const std::uint8_t* frame, const std::uint8_t* before) {
        const std::size_t padded = across_.padded;
        changed_.clear();
        for (std::size_t y = 0; y < height(); ++y) {
            if (std::memcmp(frame + y * width(), before + y * width(), width()) == 0) continue;
            double *row = wide_.data() + y * padded, *change = change_.data() + changed_.size() * padded;
            std::copy_n(row, padded, change);
            across_(frame + y * width(), row);
            for (std::size_t j = 0; j < padded; ++j) change[j] = row[j] - change[j];
            changed_.push_back(y);
        }
        down_(changed_, change_.data(), padded, spectrum_.data());
    }

    void sum(const Film::Places& at, std::int32_t* state) const {
        const std::size_t n = dim();
        const std::int32_t* share[kFrames];
        for (std::size_t age = 0; age < kFrames; ++age) share[age] = shares_.data() + (at[age] * kFrames + age) * n;
        for (std::size_t i = 0; i < n; ++i) {
            const std::int64_t x = std::int64_t{share[0][i]} + share[1][i] + share[2][i] + share[3][i];
            state[i] =
                static_cast<std::int32_t>((x + (1 << (kBitsShare - kBitsState - 1))) >> (kBitsShare - kBitsState)) -
                centre_[i];
        }
    }

    std::size_t side_;
    HalfBasis columns_, rows_;
    Across across_;
    Down down_;
    double unit_;  // of the spectrum, in shares
    std::vector<std::int32_t> centre_;
    Film film_;
    std::vector<std::int32_t> shares_;  // [frame][place][F]
    std::vector<std::size_t> changed_;
    std::vector<double> wide_, change_, spectrum_;  // wide_ and spectrum_ are of the frame that was taken last
    std::vector<std::int32_t> rounded_;
};

}  // namespace nait
