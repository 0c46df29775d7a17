// The representation phi as a random projection (Eq. 3): four frames times a matrix of small whole numbers.
//
// The projection is linear, so a frame's share at each of the four ages is computed once, when it is first seen, from
// the shares of the frame before and the pixels in which the two differ. Integers throughout: the same bits on every
// CPU.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "film.hpp"
#include "packed.hpp"

namespace nait {

class Projection {
   public:
    static constexpr std::size_t kFrames = Film::kFrames;
    static constexpr std::int64_t kBrightest = 255;
    static constexpr int kStateBits = 24;  // a coordinate is at most 2^24 in size, whatever the frames

    // `weights` has a row a coordinate, of the pixels of a stack, oldest frame first.
    Projection(std::size_t height, std::size_t width, std::size_t dim, const std::int8_t* weights)
        : height_(height),
          width_(width),
          dim_(dim),
          lanes_(round_up(dim, 32)),
          film_(height * width),
          table_(height * width * kFrames * lanes_),
          sums_(kFrames * lanes_),
          shares_(kFrames * kFrames * lanes_),
          centre_(dim) {
        const std::size_t pixels = height * width;
        std::int64_t largest = 0;
        for (std::size_t i = 0; i < dim; ++i) {
            const std::int8_t* row = weights + i * kFrames * pixels;
            std::int64_t length = 0;
            for (std::size_t age = 0; age < kFrames; ++age) {
                for (std::size_t p = 0; p < pixels; ++p) {
                    const std::int8_t weight = row[(kFrames - 1 - age) * pixels + p];
                    table_[(p * kFrames + age) * lanes_ + i] = weight;
                    length += std::abs(weight);
                }
            }
            largest = std::max(largest, length);
        }
        while (kBrightest * largest >> shift_ > std::int64_t{1} << kStateBits) ++shift_;
#if NAIT_X86
        if (simd() == Simd::avx2) add_ = add_avx2;
        if (simd() == Simd::avx512) add_ = add_avx512;
#endif
    }

    std::size_t height() const { return height_; }
    std::size_t width() const { return width_; }
    std::size_t dim() const { return dim_; }
    std::vector<std::int32_t>& centre() { return centre_; }
    // A step of a coordinate is 2^shift of the weights' product with the pixels.
    int shift() const { return shift_; }

    // Sums of one frame fit 32 bits.
    static bool fits(std::size_t pixels) {
        return static_cast<std::int64_t>(pixels) * 128 * kBrightest < std::int64_t{1} << 31;
    }

    void operator()(const std::uint8_t* stack, std::int32_t* state) {
        const Film::Places at = film_(stack, [this](std::size_t place, const std::uint8_t* frame,
                                                    const std::uint8_t* before) { set(place, frame, before); });
        for (std::size_t i = 0; i < dim_; ++i) {
            std::int64_t x = 0;
            for (std::size_t age = 0; age < kFrames; ++age) x += shares_[(at[age] * kFrames + age) * lanes_ + i];
            state[i] = static_cast<std::int32_t>((x + (std::int64_t{1} << shift_ >> 1)) >> shift_) - centre_[i];
        }
    }

   private:
    // Every partial sum on the way is that of a frame made of pixels of both, and so as small.
    void set(std::size_t place, const std::uint8_t* frame, const std::uint8_t* before) {
        const std::size_t lanes = kFrames * lanes_;
        for (std::size_t p = 0; p < height_ * width_; ++p)
            if (frame[p] != before[p]) add_(frame[p] - before[p], table_.data() + p * lanes, lanes, sums_.data());
        std::copy(sums_.begin(), sums_.end(), shares_.begin() + static_cast<std::ptrdiff_t>(place * lanes));
    }

    __attribute__((always_inline)) static void body(std::int32_t change, const std::int8_t* weights, std::size_t lanes,
                                                    std::int32_t* sums) {
        for (std::size_t i = 0; i < lanes; ++i) sums[i] += change * weights[i];
    }
    static void add_plain(std::int32_t change, const std::int8_t* weights, std::size_t lanes, std::int32_t* sums) {
        body(change, weights, lanes, sums);
    }
#if NAIT_X86
    NAIT_AVX2 static void add_avx2(std::int32_t change, const std::int8_t* weights, std::size_t lanes,
                                   std::int32_t* sums) {
        body(change, weights, lanes, sums);
    }
    NAIT_AVX512 static void add_avx512(std::int32_t change, const std::int8_t* weights, std::size_t lanes,
                                       std::int32_t* sums) {
        body(change, weights, lanes, sums);
    }
#endif

    std::size_t height_, width_, dim_, lanes_;
    int shift_ = 0;
    Film film_;
    std::vector<std::int8_t> table_;    // [pixel][age][coordinate]
    std::vector<std::int32_t> sums_;    // [age][coordinate] of the frame that was taken last
    std::vector<std::int32_t> shares_;  // [frame][age][coordinate]
    std::vector<std::int32_t> centre_;
    void (*add_)(std::int32_t, const std::int8_t*, std::size_t, std::int32_t*) = add_plain;
};

}  // namespace nait
