from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from nait import memory as memory_module
from nait.config import Config
from nait.errors import NaitError
from nait.memory import ABSENT, Memory, hash_of
from nait.representation import DCT

State = tuple[float, ...]


class PlainMemory:
    """Eq. 4 and Algorithm 2 as the paper writes them: dictionaries, a real copy for M', one pair at a time."""

    def __init__(self, n_actions: int, k: int, alpha: float, alpha_up: float) -> None:
        self.m: list[dict[State, float]] = [{} for _ in range(n_actions)]
        self.frozen = copy.deepcopy(self.m)
        self.k, self.alpha, self.alpha_up = k, alpha, alpha_up

    def freeze(self) -> None:
        self.frozen = copy.deepcopy(self.m)

    def update(self, pairs: list[tuple[State, int]], targets: list[float]) -> None:
        for (s, a), target in zip(pairs, targets, strict=True):
            if s in self.frozen[a]:
                old = self.frozen[a][s]
                self.m[a][s] = old + (self.alpha_up if target > old else self.alpha) * (target - old)
            else:
                self.m[a][s] = target

    def neighbours(self, m: dict[State, float], s: State, reach: int = 1) -> list[tuple[float, float]]:
        pairs = [(sum((x - y) ** 2 for x, y in zip(s, other, strict=True)), v) for other, v in m.items()]
        return sorted(pairs, key=lambda pair: pair[0])[: reach * self.k]

    def q(self, s: State, a: int, frozen: bool = False, reach: int = 1) -> float:
        m = (self.frozen if frozen else self.m)[a]
        if s in m:
            return m[s]
        if len(m) < self.k:
            return 0.0
        near = self.neighbours(m, s, reach)
        farthest = max(d for d, _ in near) ** 0.5
        weights = [(1 - (d**0.5 / farthest) ** 3) ** 3 if farthest else 1.0 for d, _ in near]
        if sum(weights) == 0:
            weights = [1.0] * len(near)
        return sum(w * v for w, (_, v) in zip(weights, near, strict=True)) / sum(weights)

    def distance(self, s: State, a: int, thin: str) -> float:
        if s in self.m[a]:
            return 0.0
        near = self.neighbours(self.m[a], s)
        if len(near) < self.k and (thin == "infinite" or (thin == "mean" and not near)):
            return float("inf")
        return sum(d for d, _ in near) / (len(near) if thin == "mean" else self.k)


def write(memory: Memory, pairs: list[tuple[State, int]], targets: list[float], born: int = 0) -> None:
    """Algorithm 2 through the two calls the trace makes."""
    ids = []
    for s, a in pairs:
        state = np.array(s, dtype=np.float32)
        known = int(memory.lookup(state).exact[a])
        if known == ABSENT:
            known = int(memory.insert(state[None], [hash_of(state)], np.array([a]), np.array([born]))[0])
        ids.append(known)
    memory.update(np.array(ids, dtype=np.int64), np.array(targets))


# Irregular coordinates, so that no two distances tie and the k nearest are one set.
grid = st.integers(0, 40).map(lambda i: float(np.float32(np.sqrt(2.0 + i) * 7 % 5)))
states = st.tuples(grid, grid)
pair = st.tuples(states, st.integers(0, 1))
operation = st.one_of(
    st.tuples(st.just("write"), st.dictionaries(pair, st.floats(-100, 100), min_size=1, max_size=12)),
    st.tuples(st.just("freeze"), st.none()),
)


@settings(max_examples=80, deadline=None)
@given(
    operations=st.lists(operation, max_size=14),
    queries=st.lists(states, min_size=1, max_size=4),
    thin=st.sampled_from(["infinite", "mean", "letter"]),
)
def test_memory_equals_the_papers_equations(operations: list[Any], queries: list[State], thin: str) -> None:
    memory = Memory(2, 2, Config(k=3, alpha=0.25, alpha_up=0.5, index="flat", thin_value="zero", thin_distance=thin))
    plain = PlainMemory(2, 3, 0.25, 0.5)
    for name, given_pairs in operations:
        if name == "freeze":
            memory.freeze()
            plain.freeze()
        else:
            write(memory, list(given_pairs), list(given_pairs.values()))
            plain.update(list(given_pairs), list(given_pairs.values()))
    known = [s for m in plain.m for s in m]
    for s in queries + known[:3]:
        lookup = memory.lookup(np.array(s, dtype=np.float32))
        for a in (0, 1):
            near = [d for d, _ in plain.neighbours(plain.m[a], s)]
            if len(set(near)) < len(near) or len({d for d, _ in plain.neighbours(plain.frozen[a], s)}) < 3:
                continue  # a tie at the edge: the k nearest are not one set
            assert lookup.q[a] == pytest.approx(plain.q(s, a), rel=1e-9, abs=1e-9)
            assert memory.frozen_q(lookup, a) == pytest.approx(plain.q(s, a, frozen=True), rel=1e-9, abs=1e-9)
            assert lookup.distance[a] == pytest.approx(plain.distance(s, a, thin), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("index", ["flat", "hnswlib", "kdtree"])
def test_q_on_real_states_equals_the_plain_equations(index: str, stacks: NDArray[np.uint8]) -> None:
    dct = DCT((4, 84, 84), 17)
    rng = np.random.default_rng(0)
    memory, plain = Memory(3, 289, Config(k=16, index=index)), PlainMemory(3, 16, 0.1, Config().alpha_up)
    played = [(tuple(dct(stack).tolist()), int(rng.integers(3))) for stack in stacks[:280]]
    pairs = list(dict.fromkeys(played))
    targets = rng.normal(size=len(pairs)).tolist()
    for part in (slice(0, 150), slice(150, None)):
        write(memory, pairs[part], targets[part])
        plain.update(pairs[part], targets[part])
        if part.start == 0:
            memory.freeze()
            plain.freeze()
    for stack in stacks[270:]:
        lookup = memory.lookup(dct(stack))
        s = tuple(dct(stack).tolist())
        for a in range(3):
            assert lookup.q[a] == pytest.approx(plain.q(s, a), rel=1e-4, abs=1e-4)
            assert memory.frozen_q(lookup, a) == pytest.approx(plain.q(s, a, frozen=True), rel=1e-4, abs=1e-4)


def test_equal_hashes_of_different_states_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_module, "hash_of", lambda state: 7)
    memory = Memory(2, 2, Config(k=1, index="flat"))
    ids = memory.insert(np.array([[1, 1], [2, 2]], dtype=np.float32), [7, 7], np.array([0, 0]), np.array([0, 0]))
    memory.update(ids, np.array([5.0, 9.0]))
    assert memory.lookup(np.array([2, 2], dtype=np.float32)).exact.tolist() == [1, ABSENT]
    assert memory.lookup(np.array([1, 1], dtype=np.float32)).q[0] == 5.0
    assert memory.lookup(np.array([3, 3], dtype=np.float32)).exact.tolist() == [ABSENT, ABSENT]


def test_fewer_than_k_states_can_be_worth_nothing_and_infinitely_new() -> None:
    memory = Memory(1, 1, Config(k=3, index="flat", thin_value="zero", thin_distance="infinite"))
    write(memory, [((0.0,), 0), ((1.0,), 0)], [5.0, 7.0])
    lookup = memory.lookup(np.array([0.5], dtype=np.float32))
    assert lookup.q[0] == 0
    assert lookup.distance[0] == np.inf
    assert memory.lookup(np.array([1.0], dtype=np.float32)).q[0] == 7.0


def test_rates_of_0_and_1_keep_the_larger_value_and_set_new_ones() -> None:
    memory = Memory(1, 1, Config(k=1, alpha=0.0, alpha_up=1.0, index="flat"))
    pairs: list[tuple[State, int]] = [((0.0,), 0), ((1.0,), 0)]
    write(memory, pairs, [2.0, -3.0])
    memory.freeze()
    write(memory, [*pairs, ((2.0,), 0)], [1.0, -1.0, -7.0])
    assert memory.values_of(np.arange(3)).tolist() == [2.0, -1.0, -7.0]


def test_freezing_touches_only_what_has_changed() -> None:
    memory = Memory(1, 1, Config(k=1, alpha=0.5, alpha_up=0.5, index="flat"))
    write(memory, [((float(i),), 0) for i in range(5000)], [1.0] * 5000)  # past capacity 1000, thrice doubled
    memory.freeze()
    write(memory, [((3.0,), 0), ((4.0,), 0)], [9.0, 9.0])
    assert sum(len(ids) for ids in memory._touched) == 2
    lookup = memory.lookup(np.array([3.0], dtype=np.float32))
    assert (lookup.q[0], memory.frozen_q(lookup, 0)) == (5.0, 1.0)
    memory.freeze()
    assert memory.frozen_q(lookup, 0) == 5.0
    assert memory._touched == []


def test_states_of_the_trace_under_way_never_enter_the_frozen_estimate() -> None:
    memory = Memory(1, 1, Config(k=2, index="flat"))
    write(memory, [((100.0,), 0), ((101.0,), 0), ((110.0,), 0)], [1.0, 1.0, 3.0])
    memory.freeze()
    write(memory, [((float(i) / 10,), 0) for i in range(50)], [50.0] * 50)  # crowd round the query
    lookup = memory.lookup(np.array([0.05], dtype=np.float32))
    assert lookup.q[0] == 50.0
    assert memory.frozen_q(lookup, 0) == 1.0


def test_a_loaded_memory_is_the_saved_one() -> None:
    rng = np.random.default_rng(0)
    config = Config(k=4, index="flat")
    memory = Memory(3, 6, config)

    def some(n: int) -> list[tuple[State, int]]:
        rows = rng.normal(size=(n, 6)).astype(np.float32).tolist()
        return [(tuple(row), int(rng.integers(3))) for row in rows]

    first = some(40)
    write(memory, first, rng.normal(size=40).tolist(), born=11)
    memory.freeze()
    write(memory, first[:7] + some(9), rng.normal(size=16).tolist(), born=12)
    loaded = Memory(3, 6, config)
    loaded.load(memory.save())
    more = some(5)
    for one in (memory, loaded):
        one.freeze()
        write(one, first[:3] + more, [1.0] * 8)
    for name, array in memory.save().items():
        np.testing.assert_array_equal(loaded.save()[name], array)
    query = np.zeros(6, dtype=np.float32)
    np.testing.assert_array_equal(loaded.lookup(query).q, memory.lookup(query).q)


def test_a_memory_of_another_shape_is_refused() -> None:
    memory = Memory(2, 3, Config(index="flat"))
    write(memory, [((1.0, 2.0, 3.0), 1)], [1.0])
    with pytest.raises(NaitError, match="length 3"):
        Memory(2, 4, Config(index="flat")).load(memory.save())
    with pytest.raises(NaitError, match="actions outside"):
        Memory(1, 3, Config(index="flat")).load(memory.save())
    with pytest.raises(NaitError, match="differ in length"):
        Memory(2, 3, Config(index="flat")).load({**memory.save(), "values": np.zeros(5)})


def test_distinct_states_are_counted_over_all_actions() -> None:
    memory = Memory(2, 1, Config(index="flat"))
    write(memory, [((1.0,), 0), ((1.0,), 1), ((2.0,), 0)], [0.0, 0.0, 0.0])
    assert (len(memory), memory.sizes(), memory.distinct_states()) == (3, [2, 1], 2)
