// The frames of the last stacks. Three of the four frames of a stack were in the one before, and knowing a frame again
// by its pixels is far cheaper than transforming it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

namespace nait {

class Film {
   public:
    static constexpr std::size_t kFrames = 4;
    using Places = std::array<std::size_t, kFrames>;

    explicit Film(std::size_t pixels) : pixels_(pixels), frames_(kFrames * pixels) {}

    // The place of the frame of each age, the newest first, in a stack that has the oldest first. Every frame that is
    // new gets the place of one that left, after `take(place, frame, before)`, where `before` is the frame that was
    // taken last, at first one of zeros.
    template <class Take>
    Places operator()(const std::uint8_t* stack, Take take) {
        Places at;
        std::array<bool, kFrames> taken{};
        for (std::size_t age = 0; age < kFrames; ++age) {
            at[age] = find(frame_of(stack, age));
            if (at[age] != kNowhere) taken[at[age]] = true;
        }
        for (std::size_t age = 0; age < kFrames; ++age) {
            if (at[age] != kNowhere) continue;
            const std::uint8_t* frame = frame_of(stack, age);
            at[age] = find(frame);  // a frame that stands twice in the stack
            if (at[age] == kNowhere) {
                at[age] = static_cast<std::size_t>(std::find(taken.begin(), taken.end(), false) - taken.begin());
                take(at[age], frame, frames_.data() + last_ * pixels_);
                last_ = at[age];
                held_ = std::max(held_, last_ + 1);
                std::copy_n(frame, pixels_, frames_.begin() + static_cast<std::ptrdiff_t>(last_ * pixels_));
            }
            taken[at[age]] = true;
        }
        return at;
    }

   private:
    static constexpr std::size_t kNowhere = kFrames;

    const std::uint8_t* frame_of(const std::uint8_t* stack, std::size_t age) const {
        return stack + (kFrames - 1 - age) * pixels_;
    }

    std::size_t find(const std::uint8_t* frame) const {
        std::size_t i = 0;
        while (i < held_ && std::memcmp(frames_.data() + i * pixels_, frame, pixels_) != 0) ++i;
        return i < held_ ? i : kNowhere;
    }

    std::size_t pixels_;
    std::vector<std::uint8_t> frames_;
    std::size_t held_ = 0;  // how many places are in use
    std::size_t last_ = 0;  // the place of the frame that was taken last
};

}  // namespace nait
