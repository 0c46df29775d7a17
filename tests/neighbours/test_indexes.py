from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from nait.config import Config
from nait.neighbours import make_index
from nait.representation import DCT

NAMES = ("hnswlib", "flat", "kdtree")


def brute(states: NDArray[np.float32], query: NDArray[np.float32], k: int) -> tuple[list[int], list[float]]:
    """Every distance in float64; ties by id."""
    squared = [float(((s.astype(np.float64) - query.astype(np.float64)) ** 2).sum()) for s in states]
    order = sorted(range(len(states)), key=lambda i: (squared[i], i))[:k]
    return order, [squared[i] for i in order]


coordinates = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e4, 1e4, width=32))


@settings(max_examples=60, deadline=None)
@given(
    states=arrays(np.float32, st.tuples(st.integers(1, 60), st.just(5)), elements=coordinates),
    query=arrays(np.float32, 5, elements=coordinates),
    k=st.integers(1, 80),
)
def test_flat_equals_a_float64_brute_force(states: NDArray[np.float32], query: NDArray[np.float32], k: int) -> None:
    index = make_index(Config(index="flat"), 5)
    index.add(np.arange(len(states)), states)
    ids, squared = index.search(query, k)
    expected_ids, expected = brute(states, query, k)
    assert ids.tolist() == expected_ids
    np.testing.assert_allclose(squared, expected, rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_indexes_find_the_true_neighbours_of_real_states(name: str, stacks: NDArray[np.uint8]) -> None:
    dct = DCT((4, 84, 84), 17)
    states = np.stack([dct(stack) for stack in stacks])
    index = make_index(Config(index=name), 289)
    index.add(np.arange(200), states[:200])
    found = 0
    for query in states[200:]:
        ids, squared = index.search(query, 20)
        expected_ids, expected = brute(states[:200], query, 20)
        found += len(set(ids.tolist()) & set(expected_ids))
        if name != "hnswlib":
            np.testing.assert_allclose(squared, expected, rtol=1e-6)
    assert found / (20 * 100) > (0.97 if name == "hnswlib" else 0.9999)


@pytest.mark.parametrize("name", NAMES)
def test_a_search_returns_what_there_is(name: str) -> None:
    index = make_index(Config(index=name), 3)
    ids, squared = index.search(np.zeros(3, dtype=np.float32), 5)
    assert len(ids) == len(squared) == len(index) == 0
    index.add(np.array([7, 9]), np.array([[1, 0, 0], [0, 0, 0]], dtype=np.float32))
    ids, squared = index.search(np.zeros(3, dtype=np.float32), 5)
    assert ids.tolist() == [9, 7]
    assert squared.tolist() == [0.0, 1.0]
    assert len(index) == 2


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("k", [64, 500])
def test_many_copies_of_one_state_are_all_found(name: str, k: int) -> None:
    index = make_index(Config(index=name), 4)
    index.add(np.arange(700), np.ones((700, 4), dtype=np.float32))
    ids, squared = index.search(np.ones(4, dtype=np.float32), k)
    assert len(set(ids.tolist())) == k
    assert (squared == 0).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_loaded_index_answers_and_grows_as_the_saved_one(name: str) -> None:
    rng = np.random.default_rng(0)
    states = rng.normal(size=(3000, 16)).astype(np.float32)
    saved, loaded = make_index(Config(index=name, M=4), 16), make_index(Config(index=name, M=4), 16)
    for start in range(0, 2000, 50):  # past the first capacity, twice
        saved.add(np.arange(start, start + 50), states[start : start + 50])
    loaded.load(np.arange(2000), states[:2000], saved.save())
    for index in (saved, loaded):
        index.add(np.arange(2000, 2500), states[2000:2500])
    for query in states[2500:2600]:
        for a, b in zip(saved.search(query, 64), loaded.search(query, 64), strict=True):
            np.testing.assert_array_equal(a, b)


def test_only_who_asks_for_hnswlib_loads_it() -> None:
    """It is compiled for the machine it was installed on, and may not run on another one."""
    code = "import sys, nait; assert 'hnswlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
