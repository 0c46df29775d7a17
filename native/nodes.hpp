// The nodes of one action's memory M_a: chunks of fixed size, so that growth copies nothing and pauses nobody.
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

// Where the chunks of a memory come from, a plane for each kind of record.
struct Planes {
    Arena near, link, far;
};

class Nodes {
   public:
    static constexpr std::size_t kChunk = 64;
    static constexpr std::uint8_t kMany = 255;

    static Planes planes(const Layout& layout) {
        return {Arena(layout.near * kChunk), Arena(layout.link * kChunk), Arena(layout.far * kChunk)};
    }

    Nodes(const Layout& layout, Planes& planes) : layout_(&layout), planes_(&planes) {}

    const Layout& layout() const { return *layout_; }
    std::size_t size() const { return size_; }

    const std::uint8_t* near(std::size_t slot) const { return near_[slot / kChunk] + slot % kChunk * layout_->near; }
    const std::uint8_t* far(std::size_t slot) const { return far_[slot / kChunk] + slot % kChunk * layout_->far; }
    const std::uint8_t* links(std::size_t slot) const { return link_[slot / kChunk] + slot % kChunk * layout_->link; }
    Record record(std::size_t slot) const { return {near(slot), far(slot)}; }

    double value(std::size_t slot) const { return load<double>(far(slot) + layout_->value); }
    void set_value(std::size_t slot, double v) { store(write(far(slot)) + layout_->value, v); }

    // Links in use come first; the others lead to the node itself.
    std::size_t degree(std::size_t slot) const {
        std::size_t n = 0;
        while (n < layout_->links && link(slot, n) != slot) ++n;
        return n;
    }
    Slot link(std::size_t slot, std::size_t i) const { return load<Slot>(links(slot) + 4 * i); }
    void set_link(std::size_t slot, std::size_t i, Slot to) { store(write(links(slot)) + 4 * i, to); }

    // How many links of others lead here. A count that reaches kMany stays there.
    std::uint8_t arrivals(std::size_t slot) const { return near(slot)[Layout::kArrivals]; }
    void set_arrivals(std::size_t slot, std::uint8_t n) { write(near(slot))[Layout::kArrivals] = n; }
    void arrive(std::size_t slot) {
        if (arrivals(slot) < kMany) set_arrivals(slot, static_cast<std::uint8_t>(arrivals(slot) + 1));
    }
    void depart(std::size_t slot) {
        if (arrivals(slot) < kMany) set_arrivals(slot, static_cast<std::uint8_t>(arrivals(slot) - 1));
    }

    // Makes room for one more node; the only place that can fail for want of memory.
    void reserve_one() {
        if (size_ < far_.size() * kChunk) return;
        if (size_ >= (std::size_t{1} << 31) - 1) throw std::bad_alloc();
        // A failure part of the way leaves a chunk for the next call to use.
        const std::size_t chunks = far_.size() + 1;
        for (auto* plane : {&near_, &link_, &far_}) plane->reserve(chunks);
        if (near_.size() < chunks) near_.push_back(planes_->near.chunk());
        if (link_.size() < chunks) link_.push_back(planes_->link.chunk());
        far_.push_back(planes_->far.chunk());
    }

    // After reserve_one. A new node leads nowhere: a link not in use leads to the node itself, so that a search follows
    // all of them without asking how many.
    Slot append(const Query& query) noexcept {
        const auto slot = static_cast<Slot>(size_++);
        put_state(slot, query);
        set_arrivals(slot, 0);
        for (std::size_t i = 0; i < layout_->links; ++i) set_link(slot, i, slot);
        return slot;
    }

    // The state alone; value, arrivals and links stay.
    void put_state(Slot slot, const Query& query) noexcept {
        const Key from(*layout_, query.packed()), to(*layout_, record(slot));
        std::memcpy(write(to.near), from.near, from.near_bytes);
        std::memcpy(write(to.far), from.far, from.far_bytes);
    }

   private:
    static std::uint8_t* write(const std::uint8_t* p) { return const_cast<std::uint8_t*>(p); }

    const Layout* layout_;
    std::size_t size_ = 0;
    Planes* planes_;
    std::vector<std::uint8_t*> near_, link_, far_;
};

}  // namespace nait
