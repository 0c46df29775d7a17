// One action's proximity graph ("Projected Small World Graphs" in the paper): a single layer, since every search starts
// where the last query ended and game frames move slowly. Incremental insert with neighbour-diversity pruning.
//
// Besides its stored links a node leads to the slots before and after it, which cost no memory: traces are written in
// order, so those are its neighbours in time, and they keep every node reachable whatever is pruned.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "nodes.hpp"

namespace nait {

// Scratch of one thread of work, shared by all actions of a memory: no search allocates once it has grown.
struct Workspace {
    // A pool entry orders by distance, then by slot: float bits << 32 | slot << 1 | expanded.
    std::vector<std::uint64_t> pool, keys;
    std::vector<const std::uint8_t*> nears;
    std::vector<Slot> slots;
    std::vector<float> distances;
};

inline std::uint64_t pool_key(float distance, Slot slot) {
    std::uint32_t bits;
    std::memcpy(&bits, &distance, sizeof bits);
    return std::uint64_t{bits} << 32 | std::uint64_t{slot} << 1;
}
inline Slot key_slot(std::uint64_t key) { return static_cast<Slot>(key & 0xffffffffu) >> 1; }
inline float key_distance(std::uint64_t key) {
    const auto bits = static_cast<std::uint32_t>(key >> 32);
    float distance;
    std::memcpy(&distance, &bits, sizeof distance);
    return distance;
}

// Where a sequence of searches stands. Training and playing each have their own, so that neither disturbs the other.
struct Cursor {
    std::vector<Slot> seeds;   // where the next search starts: what the last one found
    std::uint32_t probed = 0;  // how many slots were probed so far
};

class Graph {
   public:
    Graph(const Layout& layout, Planes& planes, const Distances& distances, std::size_t ef_construction)
        : nodes(layout, planes),
          distances_(&distances),
          ef_construction_(ef_construction),
          expanded_(std::max(layout.links, ef_construction / kExpandedShare)),
          least_arrivals_(layout.links * kLeastArrivals / 16),
          other_(layout) {}

    Nodes nodes;

    // With 16 instead of 8 recall is the same to 0.0001 and a lookup takes 3 % longer (100,000 recorded steps of MsPacman,
    // Qbert, Assault and Hero).
    static constexpr std::size_t kProbes = 8;

    std::size_t nbytes() const { return visited_.capacity() * sizeof(std::uint64_t); }

    // The ef nearest by coarse distance that the links of the `expanded` nearest lead to from `starts`.
    void search(const Query& query, std::size_t ef, std::size_t expanded, const std::vector<Slot>& starts,
                std::size_t probes, std::uint32_t& probed, Workspace& work) {
        const Layout& layout = nodes.layout();
        const std::size_t size = linked_;
        work.pool.clear();
        if (size == 0) return;
        begin_visits();
        work.slots.resize(std::max(2 * starts.size() + probes + kJump, 2 * kExpand * (layout.links + 2)));
        Slot* slots = work.slots.data();
        std::size_t n = 0;
        for (const Slot s : starts) {
            n += visit(s, slots + n);
            if (s + 1 < size) n += visit(s + 1, slots + n);
        }
        const std::size_t near = n;
        for (std::size_t i = 0; i < probes; ++i) n += visit(probe(probed), slots + n);
        measure(query, 0, n, work);
        // Where a probe is nearer than all of the last query's neighbours, the query has jumped (a new episode, a new
        // level), and the graph is entered from all over.
        const float* found = work.distances.data();
        if (std::min_element(found, found + n) >= found + near) {
            const std::size_t before = n;
            for (std::size_t i = 0; i < kJump; ++i) n += visit(probe(probed), slots + n);
            measure(query, before, n, work);
        }
        auto& pool = work.pool;
        pool.resize(std::max(ef + 1, n));
        if (work.keys.size() < n + kSpareKeys) work.keys.resize(n + kSpareKeys);
        for (std::size_t i = 0; i < n; ++i) work.keys[i] = pool_key(work.distances[i], slots[i]);
        distances_->sort(work.keys.data(), n, pool.data());
        std::size_t filled = std::min(n, ef);
        for (std::size_t i = 0; i < filled; ++i) __builtin_prefetch(nodes.links(key_slot(pool[i])));

        // Nodes are expanded a few at a time, and what one batch leads to is measured while the records of the next are
        // on their way to the cache.
        const std::size_t room = kExpand * (layout.links + 2);
        if (work.nears.size() < 2 * room) work.nears.resize(2 * room);
        if (work.distances.size() < 2 * room) work.distances.resize(2 * room);
        std::size_t next = 0, from = 0;
        const auto expand = [&](std::size_t to) {
            std::size_t end = to;
            const std::size_t last = std::min(filled, expanded);
            for (std::size_t taken = 0; next < last && taken < kExpand; ++next) {
                if (pool[next] & 1) continue;
                pool[next] |= 1;
                ++taken;
                const Slot slot = key_slot(pool[next]);
                const std::uint8_t* links = nodes.links(slot);
                end += distances_->visit(visited_.data(), links, layout.links, slots + end);
                end += visit(slot + 1 < size ? slot + 1 : slot, slots + end);
                end += visit(slot > 0 ? slot - 1 : slot, slots + end);
            }
            for (std::size_t i = to; i < end; ++i) {
                work.nears[i] = nodes.near(slots[i]);
                prefetch(work.nears[i], layout.near);
            }
            return end - to;
        };
        n = expand(from);
        while (n > 0 || next < std::min(filled, expanded)) {
            const std::size_t coming = expand(room - from);
            distances_->coarse(query, layout, work.nears.data() + from, n, work.distances.data() + from);
            for (std::size_t i = from; i < from + n; ++i) {
                const std::uint64_t key = pool_key(work.distances[i], slots[i]);
                if (filled == ef && key > pool[ef - 1]) continue;
                __builtin_prefetch(nodes.links(slots[i]));
                const std::size_t at = position(pool.data(), filled, key);
                filled = std::min(filled + 1, ef);
                std::memmove(&pool[at + 1], &pool[at], (filled - at) * sizeof(std::uint64_t));
                pool[at] = key;
                next = std::min(next, at);
            }
            while (next < filled && (pool[next] & 1)) ++next;
            from = room - from;
            n = coming;
        }
        pool.resize(filled);
    }

    // Appends a packed state, and links it unless links have to wait. Nothing changes if memory runs out.
    Slot insert(const Query& query, double value, bool linked, Workspace& work) {
        nodes.reserve_one();
        if (visited_.size() <= nodes.size() / 64) visited_.resize(nodes.size() / 64 + 16);
        reserve_links(work);
        if (linked) find_links(query, work);
        const Slot slot = nodes.append(query);
        nodes.set_value(slot, value);
        if (linked) link(slot);
        return slot;
    }

    // Makes room for all that linking a node needs; the only part of it that can fail for want of memory.
    void reserve_links(Workspace& work) {
        const std::size_t links = nodes.layout().links, room = kExpand * (links + 2);
        const std::size_t first = 2 * (links + 1) + kInsertProbes + kJump;
        starts_.reserve(links + 1);
        selected_.reserve(links);
        passed_.reserve(ef_construction_);
        work.pool.reserve(std::max(ef_construction_ + 1, first));
        work.keys.reserve(first + kSpareKeys);
        work.slots.reserve(std::max(first, 2 * room));
        work.nears.reserve(std::max(first, 2 * room));
        work.distances.reserve(std::max(first, 2 * room));
    }

    // Links the next node that waits for it, after reserve_links; `query` is its state.
    void link_next(const Query& query, Workspace& work) {
        find_links(query, work);
        link(static_cast<Slot>(linked_));
    }

    // Fetches what the next search will measure first.
    void prefetch_seeds(const Cursor& cursor) const {
        for (const Slot s : cursor.seeds) prefetch(nodes.near(s), nodes.layout().near);
    }

    // After nodes were put in place from outside, with their links or without.
    void restored(bool linked) {
        visited_.resize(nodes.size() / 64 + 16);
        linked_ = linked ? nodes.size() : 0;
    }

   private:
    static constexpr std::size_t kInsertProbes = 64, kJump = 128;
    // Nodes followed at once. With 6 instead of 10 recall is lower by 0.0005 and a lookup no quicker, with 16 it is
    // slower.
    static constexpr std::size_t kExpand = 10;
    // An insert wants many candidates to choose diverse links from, but they need not be the very nearest: following the
    // links of a tenth of them instead of a third costs no recall and a third less time (RoadRunner, Qbert, Assault,
    // MsPacman, Hero with 50,000 to 103,000 states).
    static constexpr std::size_t kExpandedShare = 10;
    // How much nearer (squared) another link must be to stand for a node. On the same five recall falls off on either
    // side, steeply toward 1, where the graph is built for the one nearest neighbour (MsPacman: 0.981, 0.993, 0.990 and
    // 0.985 at 1.0, 1.3, 2.0 and 3.0).
    static constexpr float kDiversity = 1.4F;
    static constexpr float kOcclusion = 1.5F;
    // Of 16 links so many at least arrive at a node, where others have them to spare. What the search misses is mostly
    // what few links lead to: without this a quarter of it had two or fewer, as one state of a hundred had (RoadRunner,
    // 99,000 states; recall 0.988 without, 0.994 with it, at the same cost).
    static constexpr std::size_t kLeastArrivals = 10;

    // The links of the node to come, into selected_.
    void find_links(const Query& query, Workspace& work) {
        starts_.clear();
        selected_.clear();
        if (linked_ == 0) return;
        const auto last = static_cast<Slot>(linked_ - 1);
        starts_.push_back(last);
        for (std::size_t i = 0; i < nodes.degree(last); ++i) starts_.push_back(nodes.link(last, i));
        // Counted by the slot, so that the graph depends on what was inserted and on nothing else.
        auto probed = static_cast<std::uint32_t>(linked_ * kInsertProbes);
        search(query, ef_construction_, expanded_, starts_, kInsertProbes, probed, work);
        select(work);
    }

    void link(Slot slot) {
        for (std::size_t i = 0; i < selected_.size(); ++i) {
            nodes.set_link(slot, i, key_slot(selected_[i]));
            nodes.arrive(key_slot(selected_[i]));
        }
        for (const std::uint64_t key : selected_) link_back(key_slot(key), slot, key_distance(key));
        linked_ = std::size_t{slot} + 1;
    }

    void begin_visits() {
        const auto words = static_cast<std::ptrdiff_t>((linked_ + 63) / 64);
        std::fill(visited_.begin(), visited_.begin() + words, std::uint64_t{0});
    }

    std::size_t visit(Slot slot, Slot* to) { return nait::visit(visited_.data(), slot, to); }

    // How many keys of a sorted pool are below `key`.
    static std::size_t position(const std::uint64_t* pool, std::size_t n, std::uint64_t key) {
        const std::uint64_t* at = pool;
        while (n > 1) {
            const std::size_t half = n / 2;
            at += half * static_cast<std::size_t>(at[half - 1] < key);
            n -= half;
        }
        return static_cast<std::size_t>(at - pool) + static_cast<std::size_t>(n == 1 && *at < key);
    }

    // Slots spread evenly over the memory, other ones each time. Queries move slowly, so that over some steps the
    // probes see it all, and once one falls into a region of near states that the links do not lead to, the search
    // stays there.
    Slot probe(std::uint32_t& probed) const {
        return static_cast<Slot>(std::uint64_t{std::uint32_t(++probed * 2654435769u)} * linked_ >> 32);
    }

    // Distances of work.slots[from..n).
    void measure(const Query& query, std::size_t from, std::size_t n, Workspace& work) {
        if (work.nears.size() < n) work.nears.resize(n);
        if (work.distances.size() < n) work.distances.resize(n);
        for (std::size_t i = from; i < n; ++i) work.nears[i] = nodes.near(work.slots[i]);
        for (std::size_t i = from; i < std::min(n, from + kAhead); ++i) prefetch(work.nears[i], nodes.layout().near);
        distances_->coarse(query, nodes.layout(), work.nears.data() + from, n - from, work.distances.data() + from);
    }

    // Diverse neighbours first: a candidate nearer to one already chosen than to the new node is reached through that
    // one. What room is left goes to the nearest of those passed over.
    void select(Workspace& work) {
        const std::size_t links = nodes.layout().links;
        passed_.clear();
        const std::uint8_t* nears[256];
        float distance[256];
        for (const std::uint64_t raw : work.pool) {
            const std::uint64_t key = raw & ~std::uint64_t{1};
            if (selected_.size() == links) break;
            distances_->expand(nodes.layout(), nodes.near(key_slot(key)), other_);
            distances_->coarse(other_, nodes.layout(), nears, selected_.size(), distance);
            bool diverse = true;
            for (std::size_t i = 0; i < selected_.size(); ++i) diverse &= kDiversity * distance[i] >= key_distance(key);
            if (diverse) nears[selected_.size()] = nodes.near(key_slot(key));
            if (diverse)
                selected_.push_back(key);
            else
                passed_.push_back(key);
        }
        for (std::size_t i = 0; i < passed_.size() && selected_.size() < links; ++i) selected_.push_back(passed_[i]);
    }

    // Adds `to` to the links of `from`. A full list gives up the farthest link that `to` now leads to, else the
    // farthest; `to` itself is left out when a nearer link leads to it, unless too few links arrive there yet. No link is
    // given up that its end cannot spare. Linear in the links, where pruning the whole list anew is quadratic and was
    // most of the cost of an insert.
    void link_back(Slot from, Slot to, float distance) {
        const Layout& layout = nodes.layout();
        const std::size_t degree = nodes.degree(from);
        if (degree < layout.links) {
            nodes.set_link(from, degree, to);
            nodes.arrive(to);
            return;
        }
        const std::uint8_t* nears[256];
        float from_distance[256], to_distance[256];
        for (std::size_t i = 0; i < degree; ++i) nears[i] = nodes.near(nodes.link(from, i));
        distances_->expand(layout, nodes.near(from), other_);
        distances_->coarse(other_, layout, nears, degree, from_distance);
        distances_->expand(layout, nodes.near(to), other_);
        distances_->coarse(other_, layout, nears, degree, to_distance);
        const bool wanting = nodes.arrivals(to) < least_arrivals_;
        std::size_t victim = degree, farthest = degree;
        for (std::size_t i = 0; i < degree; ++i) {
            if (!wanting && from_distance[i] <= distance && kOcclusion * to_distance[i] < distance) return;
            if (nodes.arrivals(nodes.link(from, i)) <= least_arrivals_) continue;
            if (from_distance[i] > distance && to_distance[i] < from_distance[i] &&
                (victim == degree || from_distance[i] > from_distance[victim]))
                victim = i;
            if (farthest == degree || from_distance[i] > from_distance[farthest]) farthest = i;
        }
        if (victim == degree) {
            if (farthest == degree || (!wanting && from_distance[farthest] <= distance)) return;
            victim = farthest;
        }
        nodes.depart(nodes.link(from, victim));
        nodes.arrive(to);
        nodes.set_link(from, victim, to);
    }

    const Distances* distances_;
    std::size_t ef_construction_, expanded_, least_arrivals_;
    std::size_t linked_ = 0;  // how many nodes, the first ones, have links: all, or none before the order is known
    Query other_;
    std::vector<std::uint64_t> visited_;
    std::vector<Slot> starts_;
    std::vector<std::uint64_t> selected_, passed_;
};

}  // namespace nait
