// Prints one number that hangs on every bit of a made-up run: screens that scroll, resized, transformed, looked up in
// the memories of three actions, written there. The same on every machine.
#include <cstdio>

#include "../../native/memory.hpp"
#include "../../native/resize.hpp"
#include "../../native/transform.hpp"

int main() {
    constexpr std::size_t kActions = 3, kNeighbours = 16, kSide = 17, kDim = kSide * kSide, kSize = 84, kSteps = 3000;
    constexpr int kHeight = 210, kWidth = 160;
    nait::Resize resize(kHeight, kWidth, kSize, kSize);
    nait::Transform transform(kSize, kSize, kSide);
    nait::Memory memory({kActions, kDim, kNeighbours, 16, 60, 48, 200, 500, nait::Kernel::tricubic, nait::Thin::letter});
    std::vector<std::uint8_t> screen(kHeight * kWidth), stack(4 * kSize * kSize);
    std::vector<std::int32_t> state(kDim), kept(kDim);
    double q[kActions], distance[kActions];
    std::int64_t exact[kActions];
    std::uint64_t digest = 0, dice = 1;
    const auto mix = [&digest](const void* data, std::size_t bytes) {
        digest ^= nait::hash_bytes(static_cast<const std::uint8_t*>(data), bytes) + 0x9e3779b97f4a7c15u + (digest << 6) +
                  (digest >> 2);
    };
    for (std::size_t t = 0; t < kSteps; ++t) {
        dice = dice * 6364136223846793005u + 1442695040888963407u;
        const auto shift = static_cast<int>((t / 3 + (dice >> 60)) % 97);
        for (int y = 0; y < kHeight; ++y)
            for (int x = 0; x < kWidth; ++x)
                screen[static_cast<std::size_t>(y * kWidth + x)] =
                    static_cast<std::uint8_t>(((x + shift) * 7 ^ (y * 3 + shift / 2)) & 255);
        std::memmove(stack.data(), stack.data() + kSize * kSize, 3 * kSize * kSize);
        resize(screen.data(), stack.data() + 3 * kSize * kSize);
        transform(stack.data(), state.data());
        memory.lookup(state.data(), kNeighbours, false, false, kept.data(), q, distance, exact);
        const std::size_t action = (dice >> 33) % kActions;
        const double frozen = memory.frozen_q(action);
        memory.write(action, kept.data(), 0.99 * frozen + static_cast<double>(shift), {0.1, 1.0});
        if (t % 250 == 249) memory.freeze();
        mix(kept.data(), kDim * sizeof(std::int32_t));
        mix(q, sizeof q);
        mix(distance, sizeof distance);
        mix(exact, sizeof exact);
        mix(&frozen, sizeof frozen);
    }
    std::printf("%016llx %zu %zu %zu\n", static_cast<unsigned long long>(digest), memory.size(0), memory.size(1),
                memory.size(2));
}
