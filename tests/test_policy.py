from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nait.config import Config
from nait.memory import ABSENT, Lookup
from nait.policy import choose, draw_hold, tie_probabilities


def lookup(q: list[float], distance: list[float], exact: list[int] | None = None) -> Lookup:
    entries = np.array(exact if exact is not None else [ABSENT] * len(q), dtype=np.int64)
    return Lookup(np.zeros(1, dtype=np.float32), 0, np.array(q), np.array(distance), entries, {})


@given(st.lists(st.floats(0, 50), min_size=1, max_size=18), st.floats(0.5, 100))
def test_ties_are_drawn_from_the_softmax_of_distances(distances: list[float], temperature: float) -> None:
    exponentials = [math.exp(d / temperature) for d in distances]
    expected = [e / sum(exponentials) for e in exponentials]
    np.testing.assert_allclose(tie_probabilities(np.array(distances), temperature), expected, rtol=1e-9)


@given(st.lists(st.one_of(st.floats(0, 1e12), st.just(math.inf)), min_size=1, max_size=18))
def test_the_softmax_is_safe_at_any_scale(distances: list[float]) -> None:
    p = tie_probabilities(np.array(distances), 1.0)
    assert np.isfinite(p).all()
    assert p.sum() == pytest.approx(1)
    assert p[np.argmax(distances)] == p.max()


def test_unknown_actions_share_a_tie_equally() -> None:
    np.testing.assert_array_equal(tie_probabilities(np.array([3.0, math.inf, math.inf]), 1.0), [0, 0.5, 0.5])


def test_the_highest_value_wins_however_new_the_others_are() -> None:
    rng = np.random.default_rng(0)
    assert choose(lookup([0, 2, 1], [math.inf, 0, math.inf]), Config(), rng) == 1
    assert choose(lookup([-3, -2, -4], [9, 0, 9]), Config(), None) == 1


def test_among_equals_the_newest_wins_and_lesser_values_are_out() -> None:
    rng = np.random.default_rng(0)
    found = lookup([1, 1, 0, 1], [10.0, 5000.0, 9e9, 400.0])
    assert {choose(found, Config(), rng) for _ in range(50)} == {1}
    assert choose(found, Config(), None) == 1


def test_the_uniform_tie_break_ignores_distances() -> None:
    rng = np.random.default_rng(0)
    found = lookup([1, 1, 0, 1], [10.0, 5000.0, 9e9, 400.0])
    drawn = [choose(found, Config(tie_break="uniform"), rng) for _ in range(600)]
    assert [drawn.count(action) / 600 for action in range(4)] == pytest.approx([1 / 3, 1 / 3, 0, 1 / 3], abs=0.07)


def test_the_first_of_equals_can_be_taken() -> None:
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    assert choose(lookup([0, 1, 0, 1], [10.0, 5000.0, 9e9, 9e9]), Config(tie_break="first"), rng) == 1
    assert rng.bit_generator.state == before


def test_what_is_known_comes_first_unless_half_of_the_others_promise_as_much() -> None:
    rng = np.random.default_rng(0)
    cases = [
        ([1, 3, 9, 2, 2], 1),  # one of three
        ([1, 3, 9, 3, 2], 2),  # two of three
        ([1, 2, 9, 8, 7], 2),
        ([4, 3, 9, 1, 1], 0),
    ]
    for q, expected in cases:
        found = lookup(q, [0.0, 0.0, 7.0, 7.0, 7.0], [5, 6, ABSENT, ABSENT, ABSENT])
        assert choose(found, Config(), rng, known_first=True) == expected
        assert choose(found, Config(), None, known_first=True) == expected
        assert choose(found, Config(), rng) == int(np.argmax(q))
    half = lookup([3, 9, 2], [0.0, 7.0, 7.0], [5, ABSENT, ABSENT])
    assert choose(half, Config(), rng, known_first=True) == 1


@given(st.lists(st.tuples(st.floats(-9, 9), st.booleans()), min_size=1, max_size=18))
def test_known_first_is_greedy_among_the_known_or_among_all(actions: list[tuple[float, bool]]) -> None:
    q, known = [value for value, _ in actions], [known for _, known in actions]
    found = lookup(q, [0.0] * len(q), [0 if k else ABSENT for k in known])
    chosen = choose(found, Config(), None, known_first=True)
    mine, others = [v for v, k in actions if k], [v for v, k in actions if not k]
    if mine and others and max(mine) > sorted(others)[len(others) // 2]:
        assert known[chosen]
        assert q[chosen] == max(mine)
    else:
        assert q[chosen] == max(q)


@given(st.integers(1, 200), st.integers(0, 2**32))
def test_a_hold_lasts_one_step_to_the_longest(longest: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    assert all(1 <= draw_hold(longest, rng) <= longest for _ in range(20))


def test_holds_grow_rarer_as_the_square_of_their_length() -> None:
    rng = np.random.default_rng(0)
    drawn = np.array([draw_hold(4, rng) for _ in range(8000)])
    shares = np.array([1, 1 / 4, 1 / 9, 1 / 16])
    np.testing.assert_allclose([(drawn == n).mean() for n in (1, 2, 3, 4)], shares / shares.sum(), atol=0.02)


def test_a_hold_of_one_step_draws_nothing() -> None:
    rng, untouched = np.random.default_rng(0), np.random.default_rng(0)
    assert draw_hold(1, rng) == 1
    assert rng.random() == untouched.random()
