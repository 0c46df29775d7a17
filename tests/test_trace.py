from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nait.config import Config
from nait.memory import ABSENT, Memory
from nait.trace import Trace

steps = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 1), st.sampled_from([0.0, 1.0, -2.0, 10.5])), min_size=1, max_size=60
)


def plain_targets(played: list[tuple[int, int, float]], gamma: float, bootstrap: float) -> dict[tuple[int, int], float]:
    """Eq. 7 for every pair from its first visit, each sum on its own."""
    first: dict[tuple[int, int], int] = {}
    for t, (s, a, _) in enumerate(played):
        first.setdefault((s, a), t)
    end = len(played)
    return {
        pair: sum(gamma ** (t - i) * played[t][2] for t in range(i, end)) + gamma ** (end - i) * bootstrap
        for pair, i in first.items()
    }


def play(trace: Trace, memory: Memory, s: int, a: int, reward: float) -> None:
    trace.append(memory, memory.lookup(np.array([s], dtype=np.float32)), a, trace.time)
    trace.receive(reward)


@settings(deadline=None)
@given(played=steps, gamma=st.sampled_from([0.0, 0.5, 0.9, 0.99, 1.0]), bootstrap=st.floats(-10, 10))
def test_vectorised_targets_equal_equation_7_from_first_visits(
    played: list[tuple[int, int, float]], gamma: float, bootstrap: float
) -> None:
    memory, trace = Memory(2, 1, Config(k=1, index="flat")), Trace(gamma, 1, every=50)
    for s, a, reward in played:
        play(trace, memory, s, a, reward)
    expected = plain_targets(played, gamma, bootstrap)
    np.testing.assert_allclose(trace.targets(bootstrap), list(expected.values()), rtol=1e-9, atol=1e-9)
    assert len(trace) == len(expected)
    trace.write(memory, trace.targets(bootstrap))
    for (s, a), target in expected.items():
        found = memory.lookup(np.array([s], dtype=np.float32))
        assert found.q[a] == pytest.approx(target, rel=1e-9, abs=1e-9)


@settings(deadline=None)
@given(played=steps, cuts=st.sets(st.integers(0, 59)), values=st.lists(st.floats(-9, 9), min_size=60, max_size=60))
def test_the_final_write_forgets_every_intermediate_target(
    played: list[tuple[int, int, float]], cuts: set[int], values: list[float]
) -> None:
    """Writes at any moments with any bootstraps leave, after the end of the trace, what one write leaves."""
    memories = []
    for written in (cuts, set()):
        memory, trace = Memory(2, 1, Config(k=1, index="flat")), Trace(0.9, 1, every=50)
        for _ in range(2):  # the second trace meets pairs that M' knows
            trace.clear()
            memory.freeze()
            for t, (s, a, reward) in enumerate(played):
                play(trace, memory, s, a, reward)
                if t in written:
                    trace.write(memory, trace.targets(values[t]))
            trace.write(memory, trace.returns)
        memories.append(memory.save())
    for name, array in memories[0].items():
        np.testing.assert_array_equal(memories[1][name], array, err_msg=name)


@settings(deadline=None)
@given(
    played=steps,
    gamma=st.sampled_from([0.5, 0.99, 1.0]),
    decay=st.sampled_from([0.0, 0.5, 0.97, 1.0]),
    values=st.lists(st.floats(-9, 9), min_size=60, max_size=60),
)
def test_averaged_targets_are_the_weighted_mean_of_all_inter_trace_targets(
    played: list[tuple[int, int, float]], gamma: float, decay: float, values: list[float]
) -> None:
    memory, trace = Memory(2, 1, Config(k=1, index="flat")), Trace(gamma, 1, every=50, decay=decay)
    play(trace, memory, 0, 0, 1.0)
    trace.write(memory, trace.returns)
    memory.freeze()
    trace.clear()
    for (s, a, reward), bootstrap in zip(played, values, strict=False):
        play(trace, memory, s, a, reward)
        trace.average(bootstrap)
    found = dict(zip(plain_targets(played, gamma, 0.0), trace.targets(values[len(played) - 1]), strict=True))
    for pair, target in found.items():
        # Eq. 7 at every time from the first visit on, weighted by (1 - lambda) lambda^n, the rest of it on the last
        first = [p[:2] for p in played].index(pair)
        n_step = [plain_targets(played[: t + 1], gamma, values[t])[pair] for t in range(first, len(played))]
        known = pair == (0, 0)
        weights = [0.0 if known else (1 - decay) * decay**n for n in range(len(n_step) - 1)]
        weights.append(1 - sum(weights))
        assert target == pytest.approx(np.dot(weights, n_step), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("at_once", [False, True])
def test_staggered_writing_takes_each_pair_in_its_own_time(at_once: bool) -> None:
    memory, trace = Memory(1, 1, Config(k=1, index="flat")), Trace(1.0, 1, every=3)
    seen: list[list[float | None]] = []
    for t in range(8):
        play(trace, memory, t, 0, 1.0)
        trace.write_due(memory, 0.0, at_once=at_once)
        found = [memory.lookup(np.array([s], dtype=np.float32)) for s in range(t + 1)]
        seen.append([float(one.q[0]) if one.exact[0] != ABSENT else None for one in found])
    # 3 and 6 steps after its visit a pair has the returns 4 and 7, and the return 1 at once if it is asked for
    new = 1 if at_once else None
    assert seen[0] == [new]
    assert seen[2] == [new, new, new]
    assert seen[3] == [4, new, new, new]
    assert seen[7] == [7, 7, 4, 4, 4, new, new, new]


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1)), min_size=1, max_size=40),
    st.integers(1, 7) | st.just(10**12),  # longer than any trace
    st.booleans(),
)
def test_staggered_writing_against_the_words_of_the_paper(
    visits: list[tuple[int, int]], every: int, at_once: bool
) -> None:
    """(t0 - t) mod r = 0 for every pair by itself, with t0 its first visit; after the end all hold their returns."""
    memory, trace = Memory(2, 1, Config(k=1, index="flat")), Trace(0.5, 1, every=every)
    first: dict[tuple[int, int], int] = {}
    held: dict[tuple[int, int], float] = {}
    for t, (s, a) in enumerate(visits):
        play(trace, memory, s, a, float(t % 3))
        first.setdefault((s, a), t)
        trace.write_due(memory, 2.0, at_once=at_once)
        for pair, t0 in first.items():
            if (t0 - t) % every == 0 and (at_once or t > t0):
                held[pair] = sum(0.5 ** (i - t0) * (i % 3) for i in range(t0, t + 1)) + 0.5 ** (t + 1 - t0) * 2.0
        for s_, a_ in first:
            lookup = memory.lookup(np.array([s_], dtype=np.float32))
            assert (lookup.exact[a_] != ABSENT) == ((s_, a_) in held)
            if (s_, a_) in held:
                assert lookup.q[a_] == pytest.approx(held[s_, a_], rel=1e-12, abs=1e-12)
    trace.write(memory, trace.returns)
    assert len(memory) == len(first)
    for (s_, a_), t0 in first.items():
        last = sum(0.5 ** (i - t0) * (i % 3) for i in range(t0, len(visits)))
        assert memory.lookup(np.array([s_], dtype=np.float32)).q[a_] == pytest.approx(last, rel=1e-12, abs=1e-12)


def test_a_loaded_trace_goes_on_as_the_saved_one() -> None:
    memory = Memory(2, 1, Config(k=1, index="flat"))
    trace, other = Trace(0.9, 1, every=50), Trace(0.9, 1, every=50)
    for s in range(6):
        play(trace, memory, s, s % 2, float(s))
        if s == 3:
            trace.write(memory, trace.targets(2.0))
    other.load(trace.save())
    copies = [memory, Memory(2, 1, Config(k=1, index="flat"))]
    copies[1].load(memory.save())
    for one, m in zip((trace, other), copies, strict=True):
        for s in (5, 2, 9):
            play(one, m, s, 1, 1.0)
        one.write(m, one.returns)
    np.testing.assert_array_equal(other.returns, trace.returns)
    for name, array in copies[0].save().items():
        np.testing.assert_array_equal(copies[1].save()[name], array)
