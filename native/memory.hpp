// The memories M_a of all actions and their frozen copies M'_a: the Q estimate, the tie-break distances and
// Algorithm 2.
//
// M'_a is not copied. A slot at or beyond the count at the last freeze does not exist in it, and an entry changed since
// then has its old value set aside, so that freezing costs what the episode changed.
//
// Which coordinates steer the searches is not known before there are states. So until `settle` entries are held all of
// them are measured; then the coordinates are put in the order of their variance, and the graphs are built.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "estimate.hpp"
#include "graph.hpp"
#include "table.hpp"

namespace nait {

// The tie-break distance of an action with fewer than k entries, which the paper leaves open: infinite; the mean over
// what there is; or the formula to the letter, the sum over what there is divided by k.
enum class Thin { infinite, mean, letter };

inline Thin thin_of(const std::string& name) {
    if (name == "infinite") return Thin::infinite;
    if (name == "mean") return Thin::mean;
    if (name == "letter") return Thin::letter;
    throw std::invalid_argument("thin '" + name + "': choose infinite, mean or letter");
}

struct Settings {
    std::size_t n_actions, dim, k, links, ef_construction, ef_search, flat_below, settle;
    Kernel kernel;
    Thin thin;
};

struct Neighbour {
    std::int64_t squared;
    Slot slot;
};

// Learning rates of Algorithm 2 for pairs that M'_a holds: of a target below what is known, and of one above it.
struct Rates {
    double down, up;
};

// One action's M_a with its M'_a.
struct ActionMemory {
    Graph graph;
    Table table;
    std::size_t frozen_size = 0;
    std::unordered_map<Slot, double> frozen;  // old values of entries changed since the freeze
    Cursor training, playing;
    std::int64_t exact = Table::kAbsent;  // of the last lookup, as is what follows
    std::vector<Neighbour> found;         // the k nearest, and those next to them as far as they were measured
    std::vector<Neighbour> neighbours;    // L(s, a): the k nearest

    ActionMemory(const Layout& layout, Planes& planes, const Distances& distances, std::size_t ef_construction)
        : graph(layout, planes, distances, ef_construction) {}

    double frozen_value(Slot slot) const {
        const auto old = frozen.find(slot);
        return old == frozen.end() ? graph.nodes.value(slot) : old->second;
    }

    void update(Slot slot, double target, Rates alpha) {
        double value = target;
        if (slot < frozen_size) {
            const double old = frozen.emplace(slot, graph.nodes.value(slot)).first->second;
            value = old + (target > old ? alpha.up : alpha.down) * (target - old);
        }
        graph.nodes.set_value(slot, value);
    }
};

class Memory {
   public:
    explicit Memory(const Settings& settings)
        : settings_(settings),
          layout_(settings.dim, settings.links),
          planes_(Nodes::planes(layout_)),
          order_(settings.dim),
          reach_(reach_of(settings, settings.k)),
          query_(layout_),
          incoming_(layout_) {
        for (std::size_t a = 0; a < settings.n_actions; ++a)
            actions_.emplace_back(layout_, planes_, distances_, settings.ef_construction);
        std::iota(order_.begin(), order_.end(), std::uint16_t{0});
        settled_ = settings.settle == 0;
    }

    const Settings& settings() const { return settings_; }
    const Layout& layout() const { return layout_; }

    // Q(s, a), the tie-break distance and the slot of s (-1: not in M_a) for every action, and s as it is kept, by the
    // `wanted` nearest, k or more of them. Actions with fewer than k entries, whose value is 0, are searched only if asked
    // to or if the tie-break needs their distances.
    void lookup(const std::int32_t* state, std::size_t wanted, bool playing, bool search_thin, std::int32_t* kept,
                double* q, double* distance, std::int64_t* exact) {
        const std::lock_guard<std::mutex> lock(mutex_);
        reach_ = reach_of(settings_, wanted);
        pack(layout_, order_, state, query_);
        unpack(layout_, order_, query_.packed(), kept);
        looked_up_ = true;
        playing_ = playing;
        search_thin = search_thin || settings_.thin != Thin::infinite;
        const std::uint64_t hash = hash_of(layout_, query_);
        for (const ActionMemory& memory : actions_) memory.table.touch(hash);
        // Back and forth: the actions searched last are searched first now, while their records are still in the cache.
        backwards_ = !backwards_;
        const std::size_t last = actions_.size() - 1;
        for (std::size_t i = 0; i <= last; ++i) {
            const std::size_t a = backwards_ ? last - i : i;
            if (i < last) {
                ActionMemory& next = actions_[backwards_ ? a - 1 : a + 1];
                next.graph.prefetch_seeds(cursor(next));
            }
            ActionMemory& memory = actions_[a];
            Graph& graph = memory.graph;
            std::vector<Slot>& seeds = cursor(memory).seeds;
            memory.exact = memory.table.find(hash, query_, graph.nodes);
            exact[a] = memory.exact;
            if (memory.exact != Table::kAbsent) {
                const auto slot = static_cast<Slot>(memory.exact);
                memory.found.clear();
                memory.neighbours.assign(1, Neighbour{0, slot});
                seeds.assign(1, slot);
                for (std::size_t j = 0; j < graph.nodes.degree(slot); ++j) seeds.push_back(graph.nodes.link(slot, j));
                q[a] = graph.nodes.value(slot);
                distance[a] = 0.0;
                continue;
            }
            memory.found.clear();
            if (search_thin || graph.nodes.size() >= settings_.k) nearest(memory, graph.nodes.size(), memory.found);
            const std::size_t n = std::min(wanted, memory.found.size());
            memory.neighbours.assign(memory.found.begin(), memory.found.begin() + static_cast<std::ptrdiff_t>(n));
            seeds.clear();
            for (const Neighbour& near : memory.found) seeds.push_back(near.slot);
            q[a] = estimate(memory.neighbours, [&](Slot slot) { return graph.nodes.value(slot); });
            distance[a] = mean_distance(memory.neighbours);
        }
    }

    // Searches of play begin anew, as in a memory that has just been restored.
    void begin_play() {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (ActionMemory& memory : actions_) memory.playing = Cursor{};
    }

    // Q'(s, a) of the state last looked up: the estimate from M'_a, by its own k nearest.
    double frozen_q(std::size_t action) {
        const std::lock_guard<std::mutex> lock(mutex_);
        ActionMemory& memory = looked_up(action);
        if (memory.exact != Table::kAbsent && static_cast<std::size_t>(memory.exact) < memory.frozen_size)
            return memory.frozen_value(static_cast<Slot>(memory.exact));
        if (memory.frozen_size < settings_.k) return 0.0;
        // What the lookup found is often enough; else entries of this trace have crowded it.
        if (!frozen_of(memory.found, memory.frozen_size)) {
            reach_ = reach_of(settings_, settings_.k);
            nearest(memory, memory.frozen_size, frozen_found_);
            frozen_of(frozen_found_, memory.frozen_size);
        }
        return estimate(frozen_neighbours_, [&](Slot slot) { return memory.frozen_value(slot); });
    }

    // The neighbours of the last lookup, nearest first, with their weights in Q (zero where Q does not rest on them).
    std::size_t neighbours(std::size_t action, std::vector<std::int64_t>& slots, std::vector<std::int64_t>& squared,
                           std::vector<double>& weights, std::vector<double>& values) {
        const std::lock_guard<std::mutex> lock(mutex_);
        ActionMemory& memory = looked_up(action);
        const std::size_t n = memory.neighbours.size();
        slots.resize(n);
        squared.resize(n);
        weights.assign(n, 0.0);
        values.resize(n);
        for (std::size_t i = 0; i < n; ++i) {
            slots[i] = memory.neighbours[i].slot;
            squared[i] = memory.neighbours[i].squared;
            values[i] = memory.graph.nodes.value(memory.neighbours[i].slot);
        }
        if (memory.exact != Table::kAbsent || n >= settings_.k)
            weigh(settings_.kernel, squared.data(), n, weights.data());
        return n;
    }

    // The slot of s in M_a as it is now, -1 if it is not there.
    std::int64_t find(std::size_t action, const std::int32_t* state) {
        const std::lock_guard<std::mutex> lock(mutex_);
        pack(layout_, order_, state, incoming_);
        const std::uint64_t hash = hash_of(layout_, incoming_);
        return actions_[action].table.find(hash, incoming_, actions_[action].graph.nodes);
    }

    // Algorithm 2 for first visits of (s, a); s enters M_a if it is not there yet.
    Slot write(std::size_t action, const std::int32_t* state, double target, Rates alpha) {
        const std::lock_guard<std::mutex> lock(mutex_);
        ActionMemory& memory = actions_[action];
        pack(layout_, order_, state, incoming_);
        const std::uint64_t hash = hash_of(layout_, incoming_);
        const std::int64_t known = memory.table.find(hash, incoming_, memory.graph.nodes);
        if (known != Table::kAbsent) {
            memory.update(static_cast<Slot>(known), target, alpha);
            return static_cast<Slot>(known);
        }
        memory.table.reserve_one(memory.graph.nodes);
        const Slot slot = memory.graph.insert(incoming_, target, settled_, work_);
        memory.table.add(hash, slot);
        if (!settled_ && entries() >= settings_.settle) settle();
        return slot;
    }

    // Algorithm 2 for a pair whose slot is known.
    void update(std::size_t action, Slot slot, double target, Rates alpha) {
        const std::lock_guard<std::mutex> lock(mutex_);
        actions_[action].update(slot, target, alpha);
    }

    // M'_a <- M_a for all a.
    void freeze() {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (ActionMemory& memory : actions_) {
            memory.frozen_size = memory.graph.nodes.size();
            memory.frozen.clear();
        }
    }

    std::size_t size(std::size_t action) const { return actions_[action].graph.nodes.size(); }

    // The order of the coordinates; empty as long as it is not settled.
    Order order() const { return settled_ ? order_ : Order{}; }

    // Take this order, a permutation, for a memory without entries, into which `replace` puts those of another.
    void settle_empty(Order order) {
        const std::lock_guard<std::mutex> lock(mutex_);
        order_ = std::move(order);
        settled_ = true;
        looked_up_ = false;
    }

    std::size_t entries() const {
        std::size_t n = 0;
        for (const ActionMemory& memory : actions_) n += memory.graph.nodes.size();
        return n;
    }

    std::size_t nbytes() const {
        std::size_t bytes = planes_.near.nbytes() + planes_.link.nbytes() + planes_.far.nbytes();
        for (const ActionMemory& memory : actions_)
            bytes += memory.graph.nbytes() + memory.table.nbytes() +
                     memory.frozen.size() * (sizeof(std::pair<Slot, double>) + 2 * sizeof(void*));
        return bytes;
    }

    const ActionMemory& action(std::size_t a) const { return actions_[a]; }
    ActionMemory empty_action() { return {layout_, planes_, distances_, settings_.ef_construction}; }
    void replace(std::size_t a, ActionMemory&& memory) {
        const std::lock_guard<std::mutex> lock(mutex_);
        actions_[a] = std::move(memory);
        looked_up_ = false;
    }
    bool settled() const { return settled_; }
    const Order& records_order() const { return order_; }

   private:
    static constexpr std::size_t kCrowd = 2;

    // Puts the coordinates in the order of their variance over all entries, packs every state anew and builds the
    // graphs, in the order in which the nodes came. The sums are exact, so all this is the same everywhere. Nothing
    // changes if memory runs out.
    void settle() {
        __extension__ using Wide = __int128;
        std::vector<std::int64_t> sum(layout_.dim);
        std::vector<Wide> squares(layout_.dim), spread(layout_.dim);
        std::vector<std::int32_t> state(layout_.dim);
        for (ActionMemory& memory : actions_) {
            memory.graph.reserve_links(work_);
            for (std::size_t slot = 0; slot < memory.graph.nodes.size(); ++slot) {
                unpack(layout_, order_, memory.graph.nodes.record(slot), state.data());
                for (std::size_t i = 0; i < layout_.dim; ++i) {
                    sum[i] += state[i];
                    squares[i] += std::int64_t{state[i]} * state[i];
                }
            }
        }
        const auto n = static_cast<Wide>(entries());
        for (std::size_t i = 0; i < layout_.dim; ++i) spread[i] = n * squares[i] - Wide{sum[i]} * sum[i];
        Order order = order_;
        std::stable_sort(order.begin(), order.end(),
                         [&](std::uint16_t a, std::uint16_t b) { return spread[a] > spread[b]; });
        for (ActionMemory& memory : actions_) {
            Nodes& nodes = memory.graph.nodes;
            for (std::size_t slot = 0; slot < nodes.size(); ++slot) {
                unpack(layout_, order_, nodes.record(slot), state.data());
                pack(layout_, order, state.data(), incoming_);
                nodes.put_state(static_cast<Slot>(slot), incoming_);
                memory.graph.link_next(incoming_, work_);
            }
            memory.table.rebuild(nodes);
        }
        if (looked_up_) {
            unpack(layout_, order_, query_.packed(), state.data());
            pack(layout_, order, state.data(), query_);
        }
        order_ = std::move(order);
        settled_ = true;
    }

    // How far a search goes: how many neighbours are wanted, how many are measured exactly to find them, and how many
    // candidates it keeps.
    struct Reach {
        std::size_t wanted, width, ef;
    };

    // Measured are as many as the search keeps, but no more than half as many again as are wanted: the coarse order is
    // nearly the exact one.
    static Reach reach_of(const Settings& settings, std::size_t wanted) {
        const std::size_t spare = settings.ef_search > wanted ? settings.ef_search - wanted : 0;
        const std::size_t width = wanted + std::max(std::min(spare, wanted / 2), std::size_t{8});
        return {wanted, width, std::max(settings.ef_search, width)};
    }

    // The nearest of the first `limit` slots to query_, as far as reach_ goes: of them all in a small memory, else of the
    // best that the graph leads to by coarse distance, in the order of the exact one.
    void nearest(ActionMemory& memory, std::size_t limit, std::vector<Neighbour>& out) {
        Graph& graph = memory.graph;
        const std::size_t added = graph.nodes.size() - limit;
        const std::size_t ef = reach_.ef;
        out.clear();
        if (settled_ && graph.nodes.size() >= settings_.flat_below) {
            // Entries beyond the limit crowd the pool, which is widened for them. Where they leave too few of the
            // others in it all the same, all are measured.
            const std::size_t wide = ef + std::min(added, kCrowd * ef);
            graph.search(query_, wide, wide, cursor(memory).seeds, Graph::kProbes, cursor(memory).probed, work_);
            take(graph, limit, out);
        }
        if (out.size() < std::min(reach_.wanted, limit)) scan(graph, limit, out);
    }

    // The nearest of the pool that lie below `limit`, in the order of the exact distance.
    void take(const Graph& graph, std::size_t limit, std::vector<Neighbour>& out) {
        std::size_t n = 0;
        records_.resize(std::max(records_.size(), reach_.width));
        work_.slots.resize(std::max(work_.slots.size(), reach_.width));
        for (std::size_t i = 0; i < work_.pool.size() && n < reach_.width; ++i) {
            const Slot slot = key_slot(work_.pool[i]);
            if (slot >= limit) continue;
            work_.slots[n] = slot;
            records_[n] = graph.nodes.record(slot);
            prefetch(records_[n].far, layout_.far);
            ++n;
        }
        squared_.resize(std::max(squared_.size(), n));
        distances_.fine(query_, layout_, records_.data(), n, squared_.data());
        out.resize(n);
        for (std::size_t i = 0; i < n; ++i) {
            // The coarse order is nearly the fine one, so that insertion beats a sort.
            const Neighbour found{squared_[i], work_.slots[i]};
            std::size_t at = i;
            for (; at > 0 && before(found, out[at - 1]); --at) out[at] = out[at - 1];
            out[at] = found;
        }
    }

    // The nearest of the first `limit` slots, all of them measured exactly.
    void scan(const Graph& graph, std::size_t limit, std::vector<Neighbour>& out) {
        constexpr std::size_t kBatch = 64;
        Record records[kBatch];
        std::int64_t squared[kBatch];
        out.clear();
        for (std::size_t start = 0; start < limit; start += kBatch) {
            const std::size_t n = std::min(kBatch, limit - start);
            for (std::size_t i = 0; i < n; ++i) records[i] = graph.nodes.record(start + i);
            distances_.fine(query_, layout_, records, n, squared);
            for (std::size_t i = 0; i < n; ++i) out.push_back({squared[i], static_cast<Slot>(start + i)});
            if (out.size() >= 4 * reach_.width + kBatch) keep_nearest(out);
        }
        keep_nearest(out);
        std::sort(out.begin(), out.end(), before);
    }

    void keep_nearest(std::vector<Neighbour>& found) const {
        if (found.size() <= reach_.width) return;
        std::nth_element(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(reach_.width), found.end(), before);
        found.resize(reach_.width);
    }

    // The first k of `found` that are in M'_a, into frozen_neighbours_; whether there are as many.
    bool frozen_of(const std::vector<Neighbour>& found, std::size_t frozen_size) {
        frozen_neighbours_.clear();
        for (const Neighbour& n : found)
            if (n.slot < frozen_size && frozen_neighbours_.size() < settings_.k) frozen_neighbours_.push_back(n);
        return frozen_neighbours_.size() == settings_.k;
    }

    static bool before(const Neighbour& a, const Neighbour& b) {
        return a.squared != b.squared ? a.squared < b.squared : a.slot < b.slot;
    }

    template <class Value>
    double estimate(const std::vector<Neighbour>& neighbours, Value value) {
        if (neighbours.size() < settings_.k) return 0.0;
        const std::size_t n = neighbours.size();
        squared_.resize(std::max(squared_.size(), n));
        weights_.resize(std::max(weights_.size(), n));
        values_.resize(std::max(values_.size(), n));
        for (std::size_t i = 0; i < n; ++i) {
            squared_[i] = neighbours[i].squared;
            values_[i] = value(neighbours[i].slot);
        }
        weigh(settings_.kernel, squared_.data(), n, weights_.data());
        return weighted_mean(weights_.data(), values_.data(), n);
    }

    double mean_distance(const std::vector<Neighbour>& neighbours) const {
        std::int64_t sum = 0;
        for (const Neighbour& n : neighbours) sum += n.squared;
        const std::size_t n = neighbours.size();
        if (n < settings_.k && settings_.thin == Thin::letter)
            return static_cast<double>(sum) / static_cast<double>(settings_.k);
        if (n < settings_.k && (settings_.thin == Thin::infinite || n == 0))
            return std::numeric_limits<double>::infinity();
        return static_cast<double>(sum) / static_cast<double>(n);
    }

    Cursor& cursor(ActionMemory& memory) const { return playing_ ? memory.playing : memory.training; }

    ActionMemory& looked_up(std::size_t action) {
        if (!looked_up_) throw std::logic_error("look a state up first");
        return actions_[action];
    }

    Settings settings_;
    Layout layout_;
    Planes planes_;
    Distances distances_;
    Order order_;
    bool settled_ = false;
    Reach reach_;  // of the searches at hand
    std::vector<ActionMemory> actions_;
    Query query_, incoming_;
    bool looked_up_ = false, playing_ = false, backwards_ = false;
    Workspace work_;
    std::vector<Record> records_;
    std::vector<Neighbour> frozen_found_, frozen_neighbours_;
    std::vector<std::int64_t> squared_;
    std::vector<double> weights_, values_;
    std::mutex mutex_;
};

}  // namespace nait
