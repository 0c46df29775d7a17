// The records of one action's memory M_a: fixed-size chunks, so that growth copies nothing and pauses nobody.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "packed.hpp"

namespace nait {

using Slot = std::uint32_t;

// Hands out chunks cut from slabs of 2 MiB, on huge pages where the system has them: a search touches hundreds of
// records all over the memory, and with pages of 4 KiB nearly each would need its own address translation. One arena
// serves all actions of a memory, so that what the last slab wastes is wasted once. Chunks go back when the memory
// does.
class Arena {
   public:
    explicit Arena(std::size_t chunk_bytes) : chunk_bytes_(round_up(chunk_bytes, 64)), free_(0) {}

    std::uint8_t* chunk() {
        if (free_ < chunk_bytes_) {
            const std::size_t bytes = round_up(chunk_bytes_, kSlab);
            slabs_.reserve(slabs_.size() + 1);
            slabs_.emplace_back(static_cast<std::uint8_t*>(::operator new(bytes, std::align_val_t{kSlab})));
#if defined(__linux__) && defined(MADV_HUGEPAGE)
            madvise(slabs_.back().get(), bytes, MADV_HUGEPAGE);
#endif
            at_ = slabs_.back().get();
            free_ = bytes;
            nbytes_ += bytes;
        }
        std::uint8_t* const cut = at_;
        at_ += chunk_bytes_;
        free_ -= chunk_bytes_;
        return cut;
    }

    std::size_t nbytes() const { return nbytes_ - free_; }

   private:
    static constexpr std::size_t kSlab = std::size_t{1} << 21;
    struct Release {
        void operator()(std::uint8_t* p) const { ::operator delete(p, std::align_val_t{kSlab}); }
    };
    std::size_t chunk_bytes_, free_, nbytes_ = 0;
    std::uint8_t* at_ = nullptr;
    std::vector<std::unique_ptr<std::uint8_t, Release>> slabs_;
};

class Nodes {
   public:
    static constexpr std::size_t kChunk = 128;

    Nodes(const Layout& layout, Arena& arena) : layout_(layout), arena_(&arena) {}

    const Layout& layout() const { return layout_; }
    std::size_t size() const { return size_; }

    std::uint8_t* operator[](std::size_t slot) { return chunks_[slot / kChunk] + slot % kChunk * layout_.stride; }
    const std::uint8_t* operator[](std::size_t slot) const {
        return chunks_[slot / kChunk] + slot % kChunk * layout_.stride;
    }

    double value(std::size_t slot) const { return load<double>((*this)[slot] + layout_.value); }
    void set_value(std::size_t slot, double v) { store((*this)[slot] + layout_.value, v); }

    std::size_t degree(std::size_t slot) const { return (*this)[slot][layout_.degree]; }
    Slot link(std::size_t slot, std::size_t i) const { return load<Slot>((*this)[slot] + layout_.link + 4 * i); }
    void set_link(std::size_t slot, std::size_t i, Slot to) { store((*this)[slot] + layout_.link + 4 * i, to); }
    void set_degree(std::size_t slot, std::size_t n) { (*this)[slot][layout_.degree] = static_cast<std::uint8_t>(n); }

    // Makes room for one more record; the only place that can fail for want of memory.
    void reserve_one() {
        if (size_ < chunks_.size() * kChunk) return;
        if (size_ >= (std::size_t{1} << 31) - 1) throw std::bad_alloc();
        chunks_.reserve(chunks_.size() + 1);
        chunks_.push_back(arena_->chunk());
    }

    // After reserve_one.
    Slot append(const std::uint8_t* record) noexcept {
        std::memcpy((*this)[size_], record, layout_.stride);
        return static_cast<Slot>(size_++);
    }

   private:
    Layout layout_;
    std::size_t size_ = 0;
    Arena* arena_;
    std::vector<std::uint8_t*> chunks_;
};

}  // namespace nait
