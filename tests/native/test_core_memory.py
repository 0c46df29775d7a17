"""The native memory against its NumPy twin."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from instruction_sets import outputs
from numpy.typing import NDArray
from twin import Twin, kept

from nait._core import Memory

KERNELS = ["tricubic", "uniform", "inverse", "triweight", "gaussian"]
LARGEST = 2**24


class Looker:
    """A memory with the arrays that its lookups fill."""

    def __init__(self, n_actions: int, dim: int, **options: Any) -> None:
        self.memory = Memory(n_actions, dim, **options)
        self.q, self.distance = np.empty(n_actions), np.empty(n_actions)
        self.exact = np.empty(n_actions, np.int64)

    def __call__(
        self, state: NDArray[np.int32], **options: Any
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        self.memory.lookup(state, self.q, self.distance, self.exact, search_thin=True, **options)
        return self.q.copy(), self.distance.copy(), self.exact.copy()


def states_of(rng: np.random.Generator, n: int, dim: int, spread: int) -> NDArray[np.int32]:
    return rng.integers(-spread, spread, (n, dim), dtype=np.int32, endpoint=True)


def walk(rng: np.random.Generator, n: int, dim: int, step: int = 40) -> NDArray[np.int32]:
    """States that move slowly, as those of a game do."""
    return np.cumsum(rng.integers(-step, step, (n, dim), endpoint=True), axis=0).astype(np.int32)


def fill(memory: Memory, action: int, states: NDArray[np.int32], values: NDArray[np.float64]) -> NDArray[np.int64]:
    return memory.write(np.full(len(states), action, np.int64), states, values, 0.1)


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    dim=st.one_of(st.integers(1, 40), st.sampled_from([63, 64, 65, 255, 256, 289, 320, 700])),
    n=st.integers(0, 60),
    k=st.integers(1, 20),
    spread=st.sampled_from([0, 1, 3, 300, 2039, 2040, 40_000, LARGEST]),
    kernel=st.sampled_from(KERNELS),
    thin=st.sampled_from(["infinite", "mean", "letter"]),
)
def test_scanned_memory_equals_brute_force(
    seed: int, dim: int, n: int, k: int, spread: int, kernel: str, thin: str
) -> None:
    rng = np.random.default_rng(seed)
    look = Looker(2, dim, k=k, kernel=kernel, thin=thin)
    twin = Twin(2, k, kernel, thin)
    states, targets = states_of(rng, n, dim, spread), rng.normal(size=n)
    for state, target in zip(states, targets, strict=True):
        slot = fill(look.memory, 1, state[None], np.array([target]))
        assert slot[0] == twin.write(1, state.astype(np.int64), target, 0.1)
    for state in [*states[:3], *states_of(rng, 3, dim, spread)]:
        q, distance, exact = look(state)
        expected = twin.lookup(1, state.astype(np.int64))
        assert exact[1] == expected[2]
        assert distance[1] == expected[1]
        assert q[1] == pytest.approx(expected[0], rel=1e-12, abs=1e-300)
        if kernel != "gaussian":
            assert q[1] == expected[0]
        assert (q[0], exact[0]) == (0.0, -1)
        slots, squared, weights, values = look.memory.neighbours(1)
        near = [(0, expected[2])] if expected[2] >= 0 else twin.nearest(1, state.astype(np.int64), n)
        assert list(zip(squared, slots, strict=True)) == near
        assert [twin.values[1][s] for s in slots] == list(values)
        assert (weights.sum() > 0) == (expected[2] >= 0 or len(near) >= k)


def test_distances_are_exact_for_the_largest_coordinates() -> None:
    for dim in (1, 289, 4096):
        look = Looker(1, dim, k=1)
        fill(look.memory, 0, np.full((1, dim), -LARGEST, np.int32), np.ones(1))
        _, distance, _ = look(np.full(dim, LARGEST, np.int32))
        assert distance[0] == float(dim * (2 * LARGEST) ** 2)


def test_equal_distances_go_to_the_lower_slot_and_weigh_the_same() -> None:
    look = Looker(1, 8, k=4)
    states = np.concatenate([np.eye(8, dtype=np.int32) * 100, -np.eye(8, dtype=np.int32) * 100])
    fill(look.memory, 0, states, np.arange(16.0))
    q, _, _ = look(np.zeros(8, np.int32))
    assert list(look.memory.neighbours(0)[0]) == [0, 1, 2, 3]
    assert q[0] == 1.5


def test_graph_finds_nearly_all_that_a_scan_finds() -> None:
    rng = np.random.default_rng(0)
    states = np.concatenate([walk(rng, 4000, 50), states_of(rng, 500, 50, 3000)])
    graph, scan = Looker(1, 50, k=32, flat_below=0), Looker(1, 50, k=32, settle=10**9)
    for look in (graph, scan):
        fill(look.memory, 0, states, np.zeros(len(states)))
    shared = []
    for state in states[::37] + rng.integers(-30, 30, (len(states[::37]), 50), dtype=np.int32):
        graph(state), scan(state)
        shared.append(len(np.intersect1d(graph.memory.neighbours(0)[0], scan.memory.neighbours(0)[0])) / 32)
    assert np.mean(shared) > 0.97


def test_a_search_after_every_insert_stays_within_its_marks() -> None:
    """At 1,024 and 2,048 entries the marks of visited slots fill their words; the sanitizers watch the next one."""
    look = Looker(1, 4, k=4, flat_below=8, settle=0)
    for slot, state in enumerate(walk(np.random.default_rng(0), 2100, 4)):
        fill(look.memory, 0, state[None], np.ones(1))
        assert look(state)[2][0] == slot
        assert look(state + 1)[0][0] == (slot >= 3)


def test_graph_survives_a_query_far_from_the_last() -> None:
    rng = np.random.default_rng(1)
    states = np.concatenate([walk(rng, 1500, 30) + 5000 * i for i in range(4)]).astype(np.int32)
    look = Looker(1, 30, k=8, flat_below=0, settle=0)
    fill(look.memory, 0, states, np.zeros(len(states)))
    for i in rng.integers(0, len(states), 200):
        look(states[i] + rng.integers(-20, 20, 30, dtype=np.int32))
        assert i in look.memory.neighbours(0)[0]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), flat=st.booleans())
def test_random_writes_updates_freezes_and_lookups_equal_brute_force(seed: int, flat: bool) -> None:
    rng = np.random.default_rng(seed)
    dim, k, n_actions = int(rng.integers(1, 12)), int(rng.integers(1, 8)), 3
    # A graph whose pool holds the whole memory finds all of it.
    flat_below, settle = 10**6 if flat else 0, int(rng.choice([0, 20, 60]))
    look = Looker(n_actions, dim, k=k, M=8, ef_search=400, ef_construction=400, flat_below=flat_below, settle=settle)
    twin = Twin(n_actions, k, graph_from=flat_below, settle=settle)
    rates = (0.25, None) if rng.integers(2) else (0.25, 0.75)
    pairs: list[tuple[int, int]] = []
    for _ in range(int(rng.integers(5, 25))):
        move = rng.integers(4)
        if move == 0:
            n = int(rng.integers(1, 12))
            actions, states, targets = rng.integers(0, n_actions, n), states_of(rng, n, dim, 3), rng.normal(size=n)
            slots = look.memory.write(actions, states, targets, *rates)
            for a, s, t, slot in zip(actions, states.astype(np.int64), targets, slots, strict=True):
                assert slot == twin.write(a, s, t, *rates)
                pairs.append((int(a), int(slot)))
        elif move == 1 and pairs:
            chosen = [pairs[i] for i in rng.integers(0, len(pairs), 5)]
            targets = rng.normal(size=5)
            actions, slots = (np.array(x, np.int64) for x in zip(*chosen, strict=True))
            look.memory.update(actions, slots, targets, *rates)
            for (a, slot), t in zip(chosen, targets, strict=True):
                twin.update(a, slot, t, *rates)
        elif move == 2:
            look.memory.freeze()
            twin.freeze()
        else:
            state = states_of(rng, 1, dim, 4)[0]
            q, distance, exact = look(state)
            for a in range(n_actions):
                assert (q[a], distance[a], exact[a]) == twin.lookup(a, state.astype(np.int64))
                assert look.memory.frozen_q(a) == twin.frozen_q(a, state.astype(np.int64))
            reach = int(rng.integers(2, 5))
            q, distance, exact = look(state, reach=reach, playing=True)
            for a in range(n_actions):
                assert (q[a], distance[a], exact[a]) == twin.lookup(a, state.astype(np.int64), reach)
    assert list(look.memory.sizes()) == [len(v) for v in twin.values]


def test_frozen_q_ignores_this_episode_however_much_of_it_is_near() -> None:
    rng = np.random.default_rng(2)
    look, old = (Looker(1, 20, k=8, flat_below=0, settle=0) for _ in range(2))
    before, after = states_of(rng, 800, 20, 2000), states_of(rng, 300, 20, 20)
    for x in (look, old):
        fill(x.memory, 0, before, np.arange(800.0))
    look.memory.freeze()
    fill(look.memory, 0, after, np.full(300, 1e6))
    state = np.zeros(20, np.int32)
    look(state)
    assert look.memory.frozen_q(0) == old(state)[0][0]


def run_and_digest(seed: int, restore_at: int | None = None) -> list[float]:
    """A run of lookups and writes; optionally moved into a fresh memory through export on the way."""
    rng = np.random.default_rng(seed)
    options: dict[str, Any] = {"k": 16, "flat_below": 100, "settle": 800}
    look = Looker(2, 40, **options)
    states, digest = walk(rng, 3000, 40), []
    for t in range(0, 3000, 50):
        if t == restore_at:
            fresh = Looker(2, 40, **options)
            if look.memory.order.size:
                fresh.memory.settle(look.memory.order)
            for a in range(2):
                fresh.memory.restore(a, look.memory.export(a))
            look = fresh
        for i in range(t, t + 50):
            q, distance, _ = look(states[i] + rng.integers(-9, 9, 40, dtype=np.int32))
            digest += [*q, *distance, look.memory.frozen_q(i % 2)]
        look.memory.write(rng.integers(0, 2, 50), states[t : t + 50], rng.normal(size=50), 0.1)
        if t % 500 == 0:
            look.memory.freeze()
    return digest


def test_restored_memory_goes_on_to_the_bit() -> None:
    whole = run_and_digest(3)
    assert whole == run_and_digest(3, restore_at=1250)
    assert whole == run_and_digest(3, restore_at=500)  # before the order is settled


def falling(rng: np.random.Generator, n: int, dim: int) -> NDArray[np.int32]:
    """States that move slowly, in some coordinates much and in most of them hardly at all."""
    spread = np.exp(-np.arange(dim) / (dim / 6))
    return (walk(rng, n, dim) * spread[rng.permutation(dim)]).astype(np.int32)


def test_the_coordinates_that_vary_most_come_first() -> None:
    states = falling(np.random.default_rng(10), 600, 300)
    memory = Memory(2, 300, k=4, settle=600)
    memory.write(np.arange(599) % 2, states[:599], np.zeros(599), 0.1)
    assert memory.order.size == 0
    memory.write(np.zeros(1, np.int64), states[599:], np.zeros(1), 0.1)
    seen = np.array([kept(s) for s in states.astype(np.int64)])
    spread = 600 * (seen**2).sum(0) - seen.sum(0) ** 2
    assert memory.order.tolist() == np.argsort(-spread, kind="stable").tolist()
    assert [memory.find(i % 2, states[i]) for i in range(599)] == [i // 2 for i in range(599)]
    assert np.array_equal(memory.entries(1, np.arange(299))[0], seen[1:599:2])


def test_the_coordinates_that_steer_find_nearly_all() -> None:
    rng = np.random.default_rng(11)
    states = falling(rng, 5000, 289)
    graph, scan = Looker(1, 289, k=64), Looker(1, 289, k=64, settle=10**9)
    for look in (graph, scan):
        fill(look.memory, 0, states, np.arange(5000.0))
    shared = []
    for state in states[::50] + rng.integers(-3, 3, (100, 289), dtype=np.int32):
        graph(state), scan(state)
        shared.append(len(np.intersect1d(graph.memory.neighbours(0)[0], scan.memory.neighbours(0)[0])) / 64)
    assert np.mean(shared) > 0.98


def test_an_order_is_taken_by_an_empty_memory_and_only_if_it_is_one() -> None:
    memory = Memory(1, 4, k=2)
    for bad in ([0, 1, 2], [0, 1, 2, 2], [0, 1, 2, 4]):
        with pytest.raises(ValueError):
            memory.settle(np.array(bad, np.uint16))
    memory.settle(np.array([2, 0, 3, 1], np.uint16))
    fill(memory, 0, np.arange(12, dtype=np.int32).reshape(3, 4), np.zeros(3))
    assert memory.order.tolist() == [2, 0, 3, 1]
    assert memory.entries(0, np.arange(3))[0].tolist() == np.arange(12).reshape(3, 4).tolist()
    with pytest.raises(ValueError, match="entries"):
        memory.settle(np.arange(4, dtype=np.uint16))


def test_an_export_without_an_order_is_linked_anew() -> None:
    states = falling(np.random.default_rng(12), 900, 100)
    old, new = (Memory(1, 100, k=8, flat_below=0, settle=500) for _ in range(2))
    fill(old, 0, states[:899], np.zeros(899))
    new.restore(0, old.export(0))
    assert new.order.size == 0
    fill(new, 0, states[899:], np.zeros(1))
    once = Memory(1, 100, k=8, flat_below=0, settle=900)
    fill(once, 0, states, np.zeros(900))
    assert new.order.tolist() == once.order.tolist()
    assert np.array_equal(new.export(0)["links"], once.export(0)["links"])


def test_play_that_begins_anew_does_not_depend_on_what_was_asked_before() -> None:
    rng = np.random.default_rng(5)
    states = states_of(rng, 1500, 60, 200)
    look = Looker(1, 60, k=10, ef_search=12, flat_below=50, settle=50)
    fill(look.memory, 0, states, rng.normal(size=len(states)))
    queries = states_of(rng, 40, 60, 200)

    def play() -> list[bytes]:
        return [look(query, playing=True)[1].tobytes() for query in queries]

    first = play()
    assert play() != first  # searches begin where others ended, and so find others
    look.memory.begin_play()
    assert play() == first


def test_playing_leaves_the_training_as_it_is() -> None:
    rng = np.random.default_rng(8)
    states = walk(rng, 2000, 30)
    quiet, played = (Looker(1, 30, k=8, flat_below=0, settle=0) for _ in range(2))
    for t in range(0, 2000, 50):
        for look in (quiet, played):
            for state in states[t : t + 50]:
                look(state)
                if look is played:
                    other = states[rng.integers(2000)]
                    look.memory.lookup(other, look.q, look.distance, look.exact, playing=True)
            fill(look.memory, 0, states[t : t + 50], np.zeros(50))
    one, other = quiet.memory.export(0), played.memory.export(0)
    assert all(np.array_equal(one[name], other[name]) for name in one)


def test_the_graph_depends_only_on_what_was_inserted() -> None:
    states = walk(np.random.default_rng(9), 1500, 20)
    asked, silent = (Looker(1, 20, k=8, flat_below=0, settle=0) for _ in range(2))
    for t in range(0, 1500, 100):
        for state in states[t : t + 30]:
            asked(state)
        fill(asked.memory, 0, states[t : t + 100], np.zeros(100))
    fill(silent.memory, 0, states, np.zeros(1500))
    assert np.array_equal(asked.memory.export(0)["links"], silent.memory.export(0)["links"])


def arrivals(data: dict[str, Any]) -> NDArray[np.intp]:
    """How many links lead to each node, counted anew."""
    used = np.arange(data["links"].shape[1]) < data["degrees"][:, None]
    return np.bincount(data["links"][used], minlength=len(data["degrees"]))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 250), spread=st.integers(0, 50), links=st.integers(2, 24))
def test_every_node_knows_how_many_links_arrive(seed: int, n: int, spread: int, links: int) -> None:
    memory = Memory(1, 6, k=2, M=links, settle=0)
    fill(memory, 0, states_of(np.random.default_rng(seed), n, 6, spread), np.zeros(n))
    data = memory.export(0)
    assert data["arrivals"].tolist() == arrivals(data).tolist()


def test_links_arrive_everywhere() -> None:
    """A crowd and its outliers: links of their own choice alone would leave some of them with none."""
    rng = np.random.default_rng(14)
    states = np.concatenate([rng.normal(0, 60, (1500, 20)), rng.normal(0, 600, (500, 20))]).astype(np.int32)
    memory = Memory(1, 20, k=8, settle=0)
    fill(memory, 0, rng.permutation(states), np.zeros(2000))
    assert arrivals(memory.export(0)).min() >= 10


def test_thin_actions_are_not_searched_unless_asked_to() -> None:
    look = Looker(1, 5, k=8)
    fill(look.memory, 0, states_of(np.random.default_rng(0), 5, 5, 9), np.ones(5))
    look.memory.lookup(np.full(5, 30, np.int32), look.q, look.distance, look.exact)
    assert (look.q[0], look.distance[0], len(look.memory.neighbours(0)[0])) == (0.0, np.inf, 0)
    look(np.full(5, 30, np.int32))
    assert (look.q[0], look.distance[0], len(look.memory.neighbours(0)[0])) == (0.0, np.inf, 5)


def test_entries_are_found_and_read_back() -> None:
    rng = np.random.default_rng(3)
    memory, states = Memory(2, 12, k=4), states_of(rng, 40, 12, 90_000)
    slots = fill(memory, 1, states, np.arange(40.0))
    assert [memory.find(1, state) for state in states] == slots.tolist()
    assert memory.find(0, states[0]) == -1
    read, values = memory.entries(1, slots[::-1].copy())
    assert np.array_equal(read[::-1], [kept(s) for s in states.astype(np.int64)])
    assert values.tolist() == list(range(39, -1, -1))
    found = memory.lookup(states[5], np.empty(2), np.empty(2), np.empty(2, np.int64))
    assert np.array_equal(found, kept(states[5].astype(np.int64)))
    with pytest.raises(ValueError, match="slot does not exist"):
        memory.entries(1, np.array([40]))


def test_two_threads_give_what_one_after_the_other_gives() -> None:
    results: dict[int, list[float]] = {}
    threads = [threading.Thread(target=lambda s=seed: results.update({s: run_and_digest(s)})) for seed in (4, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {4: run_and_digest(4), 5: run_and_digest(5)}


def test_every_instruction_set_gives_the_same_run() -> None:
    code = (
        "import hashlib, test_core_memory as t; print(hashlib.sha256(repr(t.run_and_digest(6)).encode()).hexdigest())"
    )
    assert len(outputs(code)) == 1


def test_unknown_instruction_set_is_refused() -> None:
    environment = {**os.environ, "NAIT_SIMD": "mmx", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", "import nait._core"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "NAIT_SIMD=mmx: choose plain, avx2 or avx512" in done.stderr


@pytest.mark.parametrize(
    "options",
    [{"k": 0}, {"M": 1}, {"M": 300}, {"ef_construction": 3}, {"ef_search": 0}, {"kernel": "cubic"}, {"thin": "fat"}],
)
def test_bad_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        Memory(2, 10, **options)


def test_wrong_arrays_are_refused() -> None:
    look = Looker(2, 10)
    with pytest.raises(ValueError):
        look(np.zeros(9, np.int32))
    with pytest.raises(ValueError):
        look(np.full(10, 2**24 + 1, np.int32))
    with pytest.raises(TypeError):
        look.memory.lookup(np.zeros(10), look.q, look.distance, look.exact)  # type: ignore[arg-type]
    with pytest.raises(ValueError):
        look.memory.write(np.array([2]), np.zeros((1, 10), np.int32), np.zeros(1), 0.1)
    with pytest.raises(ValueError):
        look.memory.update(np.array([0]), np.array([0]), np.zeros(1), 0.1)
    with pytest.raises(ValueError):
        look.memory.size(2)
    with pytest.raises(RuntimeError):
        look.memory.frozen_q(0)


def exported() -> tuple[Memory, dict[str, Any]]:
    memory = Memory(1, 10, k=4, settle=0)
    fill(memory, 0, states_of(np.random.default_rng(7), 50, 10, 500), np.arange(50.0))
    memory.freeze()
    fill(memory, 0, states_of(np.random.default_rng(7), 5, 10, 500), np.arange(5.0))
    return memory, memory.export(0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("states", np.zeros((50, 9), np.int32)),
        ("states", np.zeros((50, 10), np.int32)),
        ("states", np.zeros((50, 10), np.float32)),
        ("states", np.full((50, 10), 2**25, np.int32)),
        ("values", np.zeros(49)),
        ("degrees", np.full(50, 200, np.uint8)),
        ("arrivals", np.zeros(49, np.uint8)),
        ("arrivals", np.full(50, 254, np.uint8)),
        ("links", np.full((50, 16), 50, np.uint32)),
        ("links", np.zeros((50, 3), np.uint32)),
        ("frozen_size", 51),
        ("frozen_size", -1),
        ("frozen_size", "x"),
        ("frozen_slots", np.full(5, 50, np.uint32)),
        ("frozen_values", np.zeros(4)),
        ("seeds", np.array([50], np.uint32)),
        ("seeds", None),
        ("probed", -1),
    ],
)
def test_corrupt_export_is_refused_and_changes_nothing(name: str, value: object) -> None:
    memory, data = exported()
    with pytest.raises(ValueError):
        memory.restore(0, {**data, name: value})
    assert all(np.array_equal(memory.export(0)[key], data[key]) for key in data)


def test_restore_keeps_states_as_they_were_kept() -> None:
    memory, data = exported()
    assert np.array_equal(data["states"], [kept(s) for s in data["states"].astype(np.int64)])
    memory.restore(0, data)
    assert all(np.array_equal(memory.export(0)[key], data[key]) for key in data)


def test_want_of_memory_is_a_memory_error() -> None:
    resource = pytest.importorskip("resource")
    code = (
        "import resource, numpy as np\nfrom nait._core import Memory\n"
        "m = Memory(1, 4096, k=4)\nrng = np.random.default_rng(0)\n"
        "s = rng.integers(-99, 99, (50, 4096), dtype=np.int32)\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * 4096\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + (48 << 20),) * 2)\n"
        "try:\n    for i in range(1000):\n        m.write(np.zeros(50, np.int64), s + np.int32(i), np.zeros(50), .1)\n"
        "except MemoryError:\n    q = np.empty(1); d = np.empty(1); e = np.empty(1, np.int64)\n"
        "    m.lookup(s[0], q, d, e); assert e[0] == 0; print('refused', m.size(0) > 0)\n"
    )
    assert resource is not None
    if not os.path.exists("/proc/self/statm") or "libasan" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("needs an address-space limit")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "refused True\n", done.stderr
