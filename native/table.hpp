// The exact-match table of one action: is s in M_a, and in which slot? Open addressing over the packed bytes of a
// state.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "nodes.hpp"

namespace nait {

inline std::uint64_t hash_bytes(const std::uint8_t* bytes, std::size_t n) {
    std::uint64_t h = 0x9e3779b97f4a7c15u + n;
    std::size_t i = 0;
    const auto mix = [&h](std::uint64_t word) {
        h = (h ^ word) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    };
    for (; i + 8 <= n; i += 8) mix(load<std::uint64_t>(bytes + i));
    std::uint64_t tail = 0;
    std::memcpy(&tail, bytes + i, n - i);
    mix(tail);
    return h;
}

// Of a packed state.
inline std::uint64_t hash_of(const Layout& layout, Record record) {
    const Key key(layout, record);
    return hash_bytes(key.near, key.near_bytes) * 0x9e3779b97f4a7c15u + hash_bytes(key.far, key.far_bytes);
}
inline std::uint64_t hash_of(const Layout& layout, const Query& query) { return hash_of(layout, query.packed()); }

class Table {
   public:
    static constexpr std::int64_t kAbsent = -1;

    std::size_t nbytes() const { return tags_.capacity() + slots_.capacity() * sizeof(Slot); }

    // Fetches where `hash` would lie, so that the misses of all actions overlap.
    void touch(std::uint64_t hash) const {
        if (tags_.empty()) return;
        __builtin_prefetch(&tags_[hash & (tags_.size() - 1)]);
    }

    std::int64_t find(std::uint64_t hash, const Query& query, const Nodes& nodes) const {
        if (tags_.empty()) return kAbsent;
        const std::size_t mask = tags_.size() - 1;
        // A tag of 8 bits spares all but one in 256 of the looks at a record that is not the one.
        for (std::size_t at = hash & mask; tags_[at] != 0; at = (at + 1) & mask)
            if (tags_[at] == tag(hash) &&
                Key(nodes.layout(), nodes.record(slots_[at])) == Key(nodes.layout(), query.packed()))
                return slots_[at];
        return kAbsent;
    }

    // Makes room for one more; the only place that can fail for want of memory.
    void reserve_one(const Nodes& nodes) {
        if ((nodes.size() + 1) * 4 <= tags_.size() * 3) return;
        const std::size_t capacity = tags_.empty() ? 64 : 2 * tags_.size();
        std::vector<std::uint8_t> tags(capacity);
        std::vector<Slot> slots(capacity);
        tags_.swap(tags);
        slots_.swap(slots);
        for (std::size_t slot = 0; slot < nodes.size(); ++slot)
            add(hash_of(nodes.layout(), nodes.record(slot)), static_cast<Slot>(slot));
    }

    // After the nodes were packed anew.
    void rebuild(const Nodes& nodes) noexcept {
        std::fill(tags_.begin(), tags_.end(), std::uint8_t{0});
        for (std::size_t slot = 0; slot < nodes.size(); ++slot)
            add(hash_of(nodes.layout(), nodes.record(slot)), static_cast<Slot>(slot));
    }

    void add(std::uint64_t hash, Slot slot) noexcept {
        const std::size_t mask = tags_.size() - 1;
        std::size_t at = hash & mask;
        while (tags_[at] != 0) at = (at + 1) & mask;
        tags_[at] = tag(hash);
        slots_[at] = slot;
    }

   private:
    static std::uint8_t tag(std::uint64_t hash) { return static_cast<std::uint8_t>(hash >> 56) | 1; }

    std::vector<std::uint8_t> tags_;
    std::vector<Slot> slots_;
};

}  // namespace nait
