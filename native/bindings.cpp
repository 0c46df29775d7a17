// nait._core as Python sees it: arrays checked at the door, the work done without the GIL.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "memory.hpp"
#include "projection.hpp"
#include "resize.hpp"
#include "transform.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using nait::Slot;

template <class T, class... Shape>
using In = nb::ndarray<const T, Shape..., nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Array = nb::ndarray<nb::numpy, T>;

constexpr std::int32_t kLargest = 1 << 24;  // of a coordinate: squared distances of 4096 of them fit 63 bits

template <class T>
Array<T> make_array(std::vector<T>&& data, std::initializer_list<std::size_t> shape) {
    auto* owned = new std::vector<T>(std::move(data));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return Array<T>(owned->data(), shape, owner);
}

[[noreturn]] void fail(const std::string& message) { throw nb::value_error(message.c_str()); }

// A message that is put together belongs into `if (...) fail(...)`: building one for each coordinate of a state that
// is sound cost as much as a search.
void expect(bool ok, const char* message) {
    if (!ok) fail(message);
}

void expect_states(const std::int32_t* states, std::size_t n) {
    bool ok = true;
    for (std::size_t i = 0; i < n; ++i) ok &= (states[i] >= -kLargest) & (states[i] <= kLargest);
    expect(ok, "state coordinates must lie within 2**24 of zero");
}

std::size_t checked_action(const nait::Memory& memory, std::int64_t action) {
    if (action < 0 || static_cast<std::size_t>(action) >= memory.settings().n_actions)
        fail("action " + std::to_string(action) + " of " + std::to_string(memory.settings().n_actions));
    return static_cast<std::size_t>(action);
}

template <class T>
void expect_length(const T& array, std::size_t n, const char* name) {
    if (array.size() != n)
        fail(std::string(name) + " has " + std::to_string(array.size()) + " entries, not " + std::to_string(n));
}

nait::Settings checked_settings(std::size_t n_actions, std::size_t dim, std::size_t k, std::size_t links,
                                std::size_t ef_construction, std::size_t ef_search, std::size_t flat_below,
                                std::size_t settle, const std::string& kernel, const std::string& thin) {
    expect(n_actions >= 1 && n_actions <= 4096, "n_actions must be 1 to 4096");
    expect(dim >= 1 && dim <= 4096, "dim must be 1 to 4096");
    expect(k >= 1 && k <= 65536, "k must be 1 to 65536");
    expect(links >= 2 && links <= 255, "M must be 2 to 255");
    expect(ef_construction >= links && ef_construction <= 65536, "ef_construction must be M to 65536");
    expect(ef_search >= 1 && ef_search <= 65536, "ef_search must be 1 to 65536");
    return {n_actions,          dim, k, links, ef_construction, ef_search, flat_below, settle, nait::kernel_of(kernel),
            nait::thin_of(thin)};
}

nb::typed<nb::dict, nb::str, nb::object> export_action(const nait::Memory& memory, std::int64_t which) {
    const nait::ActionMemory& action = memory.action(checked_action(memory, which));
    const nait::Nodes& nodes = action.graph.nodes;
    const std::size_t n = nodes.size(), dim = memory.layout().dim, links = memory.layout().links;
    std::vector<std::int32_t> states(n * dim);
    std::vector<double> values(n);
    std::vector<std::uint8_t> degrees(n), arrivals(n);
    std::vector<Slot> out(n * links), frozen_slots, seeds = action.training.seeds;
    std::vector<double> frozen_values;
    for (std::size_t slot = 0; slot < n; ++slot) {
        nait::unpack(memory.layout(), memory.records_order(), nodes.record(slot), states.data() + slot * dim);
        values[slot] = nodes.value(slot);
        degrees[slot] = static_cast<std::uint8_t>(nodes.degree(slot));
        arrivals[slot] = nodes.arrivals(slot);
        for (std::size_t i = 0; i < degrees[slot]; ++i) out[slot * links + i] = nodes.link(slot, i);
    }
    for (const auto& [slot, value] : action.frozen) frozen_slots.push_back(slot);
    std::sort(frozen_slots.begin(), frozen_slots.end());
    for (const Slot slot : frozen_slots) frozen_values.push_back(action.frozen.at(slot));
    const std::size_t changed = frozen_slots.size(), started = seeds.size();
    nb::typed<nb::dict, nb::str, nb::object> result;
    result["states"] = make_array(std::move(states), {n, dim});
    result["values"] = make_array(std::move(values), {n});
    result["degrees"] = make_array(std::move(degrees), {n});
    result["arrivals"] = make_array(std::move(arrivals), {n});
    result["links"] = make_array(std::move(out), {n, links});
    result["frozen_size"] = action.frozen_size;
    result["frozen_slots"] = make_array(std::move(frozen_slots), {changed});
    result["frozen_values"] = make_array(std::move(frozen_values), {changed});
    result["probed"] = action.training.probed;
    result["seeds"] = make_array(std::move(seeds), {started});
    return result;
}

template <class T>
In<T> field(const nb::dict& data, const char* name, std::size_t ndim) {
    if (!data.contains(name)) fail(std::string("restore: no '") + name + "'");
    In<T> array;
    if (!nb::try_cast(data[name], array, false)) fail(std::string("restore: '") + name + "' has the wrong type");
    if (array.ndim() != ndim) fail(std::string("restore: '") + name + "' has the wrong number of dimensions");
    return array;
}

void restore_action(nait::Memory& memory, std::int64_t which, const nb::typed<nb::dict, nb::str, nb::object>& data) {
    const std::size_t action = checked_action(memory, which);
    const auto states = field<std::int32_t>(data, "states", 2);
    const auto values = field<double>(data, "values", 1);
    const auto degrees = field<std::uint8_t>(data, "degrees", 1);
    const auto arrivals = field<std::uint8_t>(data, "arrivals", 1);
    const auto links = field<Slot>(data, "links", 2);
    const auto frozen_slots = field<Slot>(data, "frozen_slots", 1);
    const auto frozen_values = field<double>(data, "frozen_values", 1);
    const auto seeds = field<Slot>(data, "seeds", 1);
    std::size_t frozen_size = 0;
    expect(data.contains("frozen_size") && nb::try_cast(data["frozen_size"], frozen_size),
           "restore: no valid 'frozen_size'");
    std::uint32_t probed = 0;
    expect(data.contains("probed") && nb::try_cast(data["probed"], probed), "restore: no valid 'probed'");
    const std::size_t n = states.shape(0), dim = memory.layout().dim, width = memory.layout().links;
    if (states.shape(1) != dim)
        fail("restore: states have " + std::to_string(states.shape(1)) + " coordinates, not " + std::to_string(dim));
    expect(links.shape(0) == n && links.shape(1) == width, "restore: links do not match the states and M");
    expect_length(values, n, "restore: values");
    expect_length(degrees, n, "restore: degrees");
    expect_length(arrivals, n, "restore: arrivals");
    expect_length(frozen_values, frozen_slots.size(), "restore: frozen_values");
    expect(frozen_size <= n, "restore: frozen_size exceeds the number of states");
    expect_states(states.data(), states.size());
    for (std::size_t i = 0; i < n; ++i) {
        expect(degrees.data()[i] <= width, "restore: a degree exceeds M");
        for (std::size_t j = 0; j < degrees.data()[i]; ++j)
            expect(links.data()[i * width + j] < n && links.data()[i * width + j] != i,
                   "restore: a link leads nowhere");
    }
    if (memory.settled()) {
        std::vector<std::size_t> counted(n);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < degrees.data()[i]; ++j) ++counted[links.data()[i * width + j]];
        // A count that has once been too large for its byte stays there, whatever has departed since.
        for (std::size_t i = 0; i < n; ++i)
            expect(arrivals.data()[i] == nait::Nodes::kMany || arrivals.data()[i] == counted[i],
                   "restore: arrivals do not match the links");
    }
    for (std::size_t i = 0; i < frozen_slots.size(); ++i)
        expect(frozen_slots.data()[i] < frozen_size, "restore: a frozen slot does not exist");
    for (std::size_t i = 0; i < seeds.size(); ++i) expect(seeds.data()[i] < n, "restore: a seed does not exist");

    nait::ActionMemory fresh = memory.empty_action();
    bool distinct = true;
    {
        const nb::gil_scoped_release release;
        nait::Query query(memory.layout());
        for (std::size_t slot = 0; slot < n && distinct; ++slot) {
            nait::pack(memory.layout(), memory.records_order(), states.data() + slot * dim, query);
            const std::uint64_t hash = nait::hash_of(memory.layout(), query);
            distinct = fresh.table.find(hash, query, fresh.graph.nodes) == nait::Table::kAbsent;
            fresh.table.reserve_one(fresh.graph.nodes);
            fresh.graph.nodes.reserve_one();
            fresh.table.add(hash, fresh.graph.nodes.append(query));
            fresh.graph.nodes.set_value(slot, values.data()[slot]);
            if (!memory.settled()) continue;
            fresh.graph.nodes.set_arrivals(slot, arrivals.data()[slot]);
            for (std::size_t j = 0; j < degrees.data()[slot]; ++j)
                fresh.graph.nodes.set_link(slot, j, links.data()[slot * width + j]);
        }
        fresh.graph.restored(memory.settled());
        fresh.training.seeds.assign(seeds.data(), seeds.data() + seeds.size());
        fresh.training.probed = probed;
        fresh.frozen_size = frozen_size;
        for (std::size_t i = 0; i < frozen_slots.size(); ++i)
            fresh.frozen[frozen_slots.data()[i]] = frozen_values.data()[i];
    }
    expect(distinct, "restore: the same state is stored twice");
    memory.replace(action, std::move(fresh));
}

using Image = In<std::uint8_t, nb::ndim<2>>;

// What every representation of stacks of frames has.
template <class Phi>
void def_phi(nb::class_<Phi>& type) {
    type.def(
            "__call__",
            [](Phi& self, In<std::uint8_t, nb::ndim<3>> stack) {
                if (stack.shape(0) != Phi::kFrames || stack.shape(1) != self.height() || stack.shape(2) != self.width())
                    fail("a stack is four frames of " + std::to_string(self.height()) + "x" +
                         std::to_string(self.width()));
                std::vector<std::int32_t> state(self.dim());
                {
                    const nb::gil_scoped_release release;
                    self(stack.data(), state.data());
                }
                const std::size_t n = state.size();
                return make_array(std::move(state), {n});
            },
            "stack"_a.noconvert(), "The state of a stack, oldest frame first.")
        .def_prop_rw(
            "centre",
            [](Phi& self) {
                std::vector<std::int32_t> copy = self.centre();
                const std::size_t n = copy.size();
                return make_array(std::move(copy), {n});
            },
            [](Phi& self, In<std::int32_t, nb::ndim<1>> centre) {
                expect_length(centre, self.dim(), "centre");
                expect_states(centre.data(), centre.size());
                self.centre().assign(centre.data(), centre.data() + centre.size());
            },
            nb::for_getter(nb::rv_policy::move), "What every state is taken relative to, zeros at first.");
}

}  // namespace

NB_MODULE(_core, m) {
    m.doc() = "The native core: packed states, proximity graphs, the Q estimate and the DCT of frames.";
    m.attr("simd") = nait::simd_name(nait::simd());

    using nait::Memory;
    nb::class_<Memory>(
        m, "Memory",
        "The memories M_a of all actions and their frozen copies M'_a.\n\n"
        "States are int32 vectors, kept in 12 bits a coordinate under an exponent of their own; distances are\n"
        "exact integers between the states as kept. A memory of fewer than flat_below entries is scanned, and so are\n"
        "all until there are `settle` entries, which say which coordinates vary most: those steer the searches.\n"
        "M and the two ef mean what they do in HNSW; the defaults are lower than the paper's, because searches\n"
        "start at the last query's neighbours and slots before and after are links too.")
        .def(
            "__init__",
            [](Memory* self, std::size_t n_actions, std::size_t dim, std::size_t k, std::size_t links,
               std::size_t ef_construction, std::size_t ef_search, std::size_t flat_below, std::size_t settle,
               const std::string& kernel, const std::string& thin) {
                new (self) Memory(checked_settings(n_actions, dim, k, links, ef_construction, ef_search, flat_below,
                                                   settle, kernel, thin));
            },
            "n_actions"_a, "dim"_a, nb::kw_only(), "k"_a = 64, "M"_a = 16, "ef_construction"_a = 100,
            "ef_search"_a = 80, "flat_below"_a = 400, "settle"_a = 2048, "kernel"_a = "tricubic", "thin"_a = "infinite")
        .def(
            "lookup",
            [](Memory& self, In<std::int32_t, nb::ndim<1>> state, Out<double> q, Out<double> distance,
               Out<std::int64_t> exact, std::size_t reach, bool playing, bool search_thin) {
                expect(reach >= 1 && reach <= 1u << 20, "reach must lie between 1 and 2^20");
                expect_length(state, self.layout().dim, "state");
                expect_states(state.data(), state.size());
                for (const std::size_t n : {q.size(), distance.size(), exact.size()})
                    expect(n == self.settings().n_actions, "q, distance and exact need one entry an action");
                std::vector<std::int32_t> kept(self.layout().dim);
                {
                    const nb::gil_scoped_release release;
                    self.lookup(state.data(), reach * self.settings().k, playing, search_thin, kept.data(), q.data(),
                                distance.data(), exact.data());
                }
                const std::size_t n = kept.size();
                return make_array(std::move(kept), {n});
            },
            "state"_a.noconvert(), "q"_a.noconvert(), "distance"_a.noconvert(), "exact"_a.noconvert(), nb::kw_only(),
            "reach"_a = 1, "playing"_a = false, "search_thin"_a = false,
            "Fill Q(s, a), the tie-break distance and the slot of s (-1 if s is not in M_a) for every action. Returns "
            "the\n"
            "state as a memory keeps it; two states with the same one are the same state.\n\n"
            "reach: take so many times k neighbours, or all if there are fewer. playing: leave the sequence of "
            "training\n"
            "lookups as it is. search_thin: find neighbours also where there are fewer than k.")
        .def("begin_play", &Memory::begin_play, "Let the lookups of play begin anew, whatever was asked before.")
        .def(
            "find",
            [](Memory& self, std::int64_t action, In<std::int32_t, nb::ndim<1>> state) {
                const std::size_t a = checked_action(self, action);
                expect_length(state, self.layout().dim, "state");
                expect_states(state.data(), state.size());
                return self.find(a, state.data());
            },
            "action"_a, "state"_a.noconvert(), "The slot of a state in M_a, or -1.")
        .def(
            "entries",
            [](const Memory& self, std::int64_t action, In<std::int64_t, nb::ndim<1>> slots) {
                const std::size_t a = checked_action(self, action), n = slots.size(), dim = self.layout().dim;
                const nait::Nodes& nodes = self.action(a).graph.nodes;
                std::vector<std::int32_t> states(n * dim);
                std::vector<double> values(n);
                for (std::size_t i = 0; i < n; ++i) {
                    const std::int64_t slot = slots.data()[i];
                    expect(slot >= 0 && static_cast<std::size_t>(slot) < nodes.size(), "a slot does not exist");
                    nait::unpack(self.layout(), self.records_order(), nodes.record(static_cast<std::size_t>(slot)),
                                 states.data() + i * dim);
                    values[i] = nodes.value(static_cast<std::size_t>(slot));
                }
                return std::make_tuple(make_array(std::move(states), {n, dim}), make_array(std::move(values), {n}));
            },
            "action"_a, "slots"_a.noconvert(), "States and values of entries of M_a.")
        .def(
            "frozen_q",
            [](Memory& self, std::int64_t action) {
                const std::size_t a = checked_action(self, action);
                const nb::gil_scoped_release release;
                return self.frozen_q(a);
            },
            "action"_a, "Q'(s, a) of the state last looked up, from the frozen memory M'_a.")
        .def(
            "neighbours",
            [](Memory& self, std::int64_t action) {
                const std::size_t a = checked_action(self, action);
                std::vector<std::int64_t> slots, squared;
                std::vector<double> weights, values;
                const std::size_t n = self.neighbours(a, slots, squared, weights, values);
                return std::make_tuple(make_array(std::move(slots), {n}), make_array(std::move(squared), {n}),
                                       make_array(std::move(weights), {n}), make_array(std::move(values), {n}));
            },
            "action"_a, "Slots, squared distances, weights and values of the last lookup's neighbours, nearest first.")
        .def(
            "write",
            [](Memory& self, In<std::int64_t, nb::ndim<1>> actions, In<std::int32_t, nb::ndim<2>> states,
               In<double, nb::ndim<1>> targets, double alpha, std::optional<double> alpha_up) {
                const std::size_t n = actions.size(), dim = self.layout().dim;
                expect(states.shape(0) == n && states.shape(1) == dim,
                       "states must be one row an action, of the memory's dim");
                expect_length(targets, n, "targets");
                for (std::size_t i = 0; i < n; ++i) checked_action(self, actions.data()[i]);
                expect_states(states.data(), states.size());
                std::vector<std::int64_t> slots(n);
                {
                    const nb::gil_scoped_release release;
                    for (std::size_t i = 0; i < n; ++i)
                        slots[i] = self.write(static_cast<std::size_t>(actions.data()[i]), states.data() + i * dim,
                                              targets.data()[i], {alpha, alpha_up.value_or(alpha)});
                }
                return make_array(std::move(slots), {n});
            },
            "actions"_a.noconvert(), "states"_a.noconvert(), "targets"_a.noconvert(), "alpha"_a,
            "alpha_up"_a = nb::none(),
            "Algorithm 2: move known pairs towards their targets, by alpha_up where these are higher than what is "
            "known, "
            "insert\nthe others. Returns the slots.")
        .def(
            "update",
            [](Memory& self, In<std::int64_t, nb::ndim<1>> actions, In<std::int64_t, nb::ndim<1>> slots,
               In<double, nb::ndim<1>> targets, double alpha, std::optional<double> alpha_up) {
                const std::size_t n = actions.size();
                expect_length(slots, n, "slots");
                expect_length(targets, n, "targets");
                for (std::size_t i = 0; i < n; ++i) {
                    const std::size_t a = checked_action(self, actions.data()[i]);
                    expect(slots.data()[i] >= 0 && static_cast<std::size_t>(slots.data()[i]) < self.size(a),
                           "a slot does not exist");
                }
                const nb::gil_scoped_release release;
                for (std::size_t i = 0; i < n; ++i)
                    self.update(static_cast<std::size_t>(actions.data()[i]), static_cast<Slot>(slots.data()[i]),
                                targets.data()[i], {alpha, alpha_up.value_or(alpha)});
            },
            "actions"_a.noconvert(), "slots"_a.noconvert(), "targets"_a.noconvert(), "alpha"_a,
            "alpha_up"_a = nb::none(), "Algorithm 2 for pairs whose slots are known from write.")
        .def("freeze", &Memory::freeze, nb::call_guard<nb::gil_scoped_release>(),
             "M'_a <- M_a for all actions; costs what changed.")
        .def(
            "size", [](const Memory& self, std::int64_t action) { return self.size(checked_action(self, action)); },
            "action"_a, "Number of entries of M_a.")
        .def(
            "sizes",
            [](const Memory& self) {
                std::vector<std::int64_t> sizes;
                for (std::size_t a = 0; a < self.settings().n_actions; ++a)
                    sizes.push_back(static_cast<std::int64_t>(self.size(a)));
                const std::size_t n = sizes.size();
                return make_array(std::move(sizes), {n});
            },
            "Number of entries of every M_a.")
        .def_prop_ro(
            "order",
            [](const Memory& self) {
                nait::Order order = self.order();
                const std::size_t n = order.size();
                return make_array(std::move(order), {n});
            },
            nb::rv_policy::move, "The coordinates in the order of their variance, empty until it is settled.")
        .def(
            "settle",
            [](Memory& self, In<std::uint16_t, nb::ndim<1>> order) {
                expect(self.entries() == 0, "the order of a memory with entries cannot be set");
                expect_length(order, self.layout().dim, "order");
                std::vector<bool> met(order.size());
                for (std::size_t i = 0; i < order.size(); ++i) {
                    const std::size_t at = order.data()[i];
                    expect(at < met.size() && !met[at], "order is no permutation of the coordinates");
                    met[at] = true;
                }
                self.settle_empty(nait::Order(order.data(), order.data() + order.size()));
            },
            "order"_a.noconvert(),
            "Take the order of another memory's coordinates, before `restore` brings its states.")
        .def("nbytes", &Memory::nbytes, "Bytes allocated for states, values, links and tables.")
        .def("export", &export_action, "action"_a,
             "All of M_a, M'_a and where the next search starts, as plain arrays.")
        .def("restore", &restore_action, "action"_a, "data"_a,
             "Replace M_a by what export gave; ValueError if it is not sound. Look a state up before asking for "
             "neighbours.");

    using nait::Transform;
    nb::class_<Transform> transform(
        m, "Transform",
        "phi: four frames in a 2x2 grid to the side x side low-frequency block of its orthonormal 2-D DCT-II.\n\n"
        "States are int32, in sixteenths of a coefficient, less `centre`.");
    transform.def(
        "__init__",
        [](Transform* self, std::size_t height, std::size_t width, std::size_t side) {
            expect(height >= 1 && height <= 512 && width >= 1 && width <= 512,
                   "frames must have 1 to 512 rows and columns");
            expect(side >= 1 && side <= 64 && side <= 2 * height && side <= 2 * width,
                   "side must be 1 to 64 and within the grid");
            new (self) Transform(height, width, side);
        },
        "height"_a = 84, "width"_a = 84, "side"_a = 17);
    def_phi(transform);

    using nait::Projection;
    nb::class_<Projection> projection(m, "Projection",
                                      "phi: four frames times a matrix of whole numbers.\n\n"
                                      "States are int32, in steps of 2^shift of the product, less `centre`.");
    projection
        .def(
            "__init__",
            [](Projection* self, std::size_t height, std::size_t width, In<std::int8_t, nb::ndim<2>> weights) {
                expect(height >= 1 && height <= 4096 && width >= 1 && width <= 4096 && Projection::fits(height * width),
                       "frames must have 1 to 65,793 pixels");
                expect(weights.shape(0) >= 1 && weights.shape(0) <= 4096, "weights must have 1 to 4096 rows");
                expect(weights.shape(1) == Projection::kFrames * height * width,
                       "weights must have a column a pixel of four frames");
                new (self) Projection(height, width, weights.shape(0), weights.data());
            },
            "height"_a, "width"_a, "weights"_a.noconvert())
        .def_prop_ro("shift", &Projection::shift, "How many bits of the product are rounded off.");
    def_phi(projection);

    using nait::Resize;
    nb::class_<Resize>(m, "Resize", "OpenCV's INTER_LINEAR on uint8, to the bit, from one size to another.")
        .def(
            "__init__",
            [](Resize* self, std::size_t from_height, std::size_t from_width, std::size_t height, std::size_t width) {
                for (const std::size_t side : {from_height, from_width, height, width})
                    expect(side >= 1 && side <= 4096, "images must have 1 to 4096 rows and columns");
                new (self) Resize(static_cast<int>(from_height), static_cast<int>(from_width), static_cast<int>(height),
                                  static_cast<int>(width));
            },
            "from_height"_a, "from_width"_a, "height"_a, "width"_a)
        .def(
            "__call__",
            [](Resize& self, Image image, nb::ndarray<std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu> out) {
                expect(static_cast<int>(image.shape(0)) == self.height() &&
                           static_cast<int>(image.shape(1)) == self.width(),
                       "the image is not of the size to resize from");
                expect(static_cast<int>(out.shape(0)) == self.out_height() &&
                           static_cast<int>(out.shape(1)) == self.out_width(),
                       "out is not of the size to resize to");
                const nb::gil_scoped_release release;
                self(image.data(), out.data());
            },
            "image"_a.noconvert(), "out"_a.noconvert(), "Resize `image` into `out`.");
}
