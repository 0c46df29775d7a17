from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu, trim_mean

from nait.experiments.suites import atari100k
from nait.report.aggregates import (
    Runs,
    aggregate,
    difference,
    mean_over_runs,
    performance_profile,
    probability_of_improvement,
)
from nait.report.published import methods

REFERENCE = json.loads((Path(__file__).parent / "rliable_reference.json").read_text())

scores = st.floats(-2, 10, allow_nan=False, width=32)
runs_of_a_game = st.lists(scores, min_size=1, max_size=6).map(np.array)
ragged = st.lists(runs_of_a_game, min_size=1, max_size=8)


def published(method: str) -> Runs:
    games = atari100k()
    found = methods()[method].scores
    return [np.array([games[game].normalised(score) for score in found[game]]) for game in games]


def test_hand_computed() -> None:
    runs = [np.array([0.0, 0.2]), np.array([0.4, 0.6]), np.array([1.0, 3.0])]
    found = aggregate(runs)
    assert found["median"].value == pytest.approx(0.5)  # of 0.1, 0.5, 2.0
    assert found["mean"].value == pytest.approx(2.6 / 3)
    assert found["IQM"].value == pytest.approx((0.2 + 0.4 + 0.6 + 1.0) / 4)  # one of six off each end
    assert found["optimality gap"].value == pytest.approx(1 - (0.1 + 0.5 + 1.0) / 3)


def test_a_game_with_fewer_runs_weighs_as_much() -> None:
    """One run of a game is as good as the same run twice."""
    few = [np.array([0.3]), np.array([0.1, 0.5]), np.array([2.0]), np.array([0.7, 0.9])]
    repeated = [np.array([0.3, 0.3]), few[1], np.array([2.0, 2.0]), few[3]]
    for name, estimate in aggregate(few).items():
        assert estimate.value == pytest.approx(aggregate(repeated)[name].value)
    other = [np.array([0.4, 0.4])] * 4
    ahead = probability_of_improvement(few, other).value
    assert ahead == pytest.approx(probability_of_improvement(repeated, other).value)
    assert ahead == pytest.approx((0 + 0.5 + 1 + 1) / 4)


def test_a_difference_is_paired_by_game() -> None:
    ours = [np.array([0.5]), np.array([1.0, 3.0]), np.array([0.2]), np.array([0.3])]
    theirs = [np.array([0.4, 0.2]), np.array([1.0]), np.array([0.2]), np.array([0.9])]
    found = difference(ours, theirs)  # 0.2, 1, 0, -0.6
    assert (found.better, found.games) == (2, 4)
    assert found.value == pytest.approx(0.15)
    assert found.error == pytest.approx(np.sqrt((0.05**2 + 0.85**2 + 0.15**2 + 0.75**2) / 3 / 4))
    assert difference(ours[:1], theirs[:1]).error is None
    with pytest.raises(ValueError, match="shorter"):
        difference(ours, theirs[:2])


@given(pairs=st.lists(st.tuples(runs_of_a_game, runs_of_a_game), min_size=1, max_size=8))
def test_a_difference_turns_its_sign_with_the_sides(pairs: list[tuple[np.ndarray, np.ndarray]]) -> None:
    ours, theirs = [x for x, _ in pairs], [y for _, y in pairs]
    there, back = difference(ours, theirs), difference(theirs, ours)
    assert there.value == pytest.approx(-back.value)
    assert there.error == (None if len(pairs) == 1 else pytest.approx(back.error))
    assert there.better + back.better <= there.games


@pytest.mark.parametrize("method", list(REFERENCE["aggregates"]))
def test_aggregates_are_those_of_rliable(method: str) -> None:
    found = aggregate(published(method))
    for name, (value, low, high) in REFERENCE["aggregates"][method].items():
        estimate = found[name]
        assert estimate.value == pytest.approx(value, abs=1e-12)
        assert estimate.low == pytest.approx(low, abs=0.08 * (high - low))  # other draws
        assert estimate.high == pytest.approx(high, abs=0.08 * (high - low))


@pytest.mark.parametrize("pair", list(REFERENCE["probability of improvement"]))
def test_probability_of_improvement_is_that_of_rliable(pair: str) -> None:
    ours, theirs = pair.split(",")
    value, low, high = REFERENCE["probability of improvement"][pair]
    found = probability_of_improvement(published(ours), published(theirs))
    assert found.value == pytest.approx(value, abs=1e-12)
    assert found.low == pytest.approx(low, abs=0.08 * (high - low))
    assert found.high == pytest.approx(high, abs=0.08 * (high - low))


@pytest.mark.parametrize("method", list(REFERENCE["profiles"]))
def test_performance_profiles_are_those_of_rliable(method: str) -> None:
    expected = REFERENCE["profiles"][method]
    found = performance_profile(published(method), np.array(REFERENCE["taus"]))
    np.testing.assert_allclose(found.value, expected["value"], atol=1e-12)
    np.testing.assert_allclose(found.low, expected["low"], atol=0.01)
    np.testing.assert_allclose(found.high, expected["high"], atol=0.01)


def test_published_medians_and_means() -> None:
    """Those that DIAMOND's and IRIS's own tables give."""
    expected = {
        "SPR": (0.396, 0.616),
        "IRIS": (0.289, 1.046),
        "DIAMOND": (0.373, 1.459),
        "EfficientZero": (1.090, 1.943),
    }
    for method, (median, mean) in expected.items():
        found = aggregate(published(method))
        assert (found["median"].value, found["mean"].value) == pytest.approx((median, mean), abs=6e-4)


@given(st.integers(1, 6), st.integers(1, 7), st.integers(0, 2**31))
@settings(max_examples=30, deadline=None)
def test_statistics_of_equal_numbers_of_runs_are_the_textbook_ones(number: int, games: int, seed: int) -> None:
    values = np.random.default_rng(seed).normal(0.5, 1.0, size=(number, games))
    found = aggregate(list(values.T), reps=10)
    assert found["IQM"].value == pytest.approx(trim_mean(values, 0.25, axis=None))
    assert found["median"].value == pytest.approx(np.median(values.mean(axis=0)))
    assert found["optimality gap"].value == pytest.approx(1 - np.minimum(values, 1).mean())


@given(ragged, st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_the_order_of_runs_makes_no_difference(runs: Runs, random: object) -> None:
    shuffled = [np.array(random.sample(list(game), len(game))) for game in runs]  # type: ignore[attr-defined]
    assert aggregate(runs, reps=50) == aggregate(shuffled, reps=50)
    assert probability_of_improvement(runs, runs, reps=50) == probability_of_improvement(shuffled, shuffled, reps=50)


@given(ragged)
@settings(max_examples=40, deadline=None)
def test_an_interval_is_in_order_and_holds_the_mean(runs: Runs) -> None:
    found = aggregate(runs, reps=400)
    for name, estimate in found.items():
        if estimate.low is None or estimate.high is None:
            assert all(len(game) == 1 for game in runs)
            continue
        assert estimate.low <= estimate.high
        if name in ("mean", "optimality gap"):  # a linear statistic; percentile intervals of others may miss it
            assert estimate.low - 1e-9 <= estimate.value <= estimate.high + 1e-9


@given(st.lists(st.tuples(runs_of_a_game, runs_of_a_game), min_size=1, max_size=6))
@settings(max_examples=60, deadline=None)
def test_probability_of_improvement_is_antisymmetric(pairs: list[tuple[np.ndarray, np.ndarray]]) -> None:
    ours, theirs = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    there = probability_of_improvement(ours, theirs, reps=50)
    back = probability_of_improvement(theirs, ours, reps=50)
    assert there.value + back.value == pytest.approx(1)
    assert 0 <= there.value <= 1
    textbook = [mannwhitneyu(x, y).statistic / (len(x) * len(y)) for x, y in pairs]
    assert there.value == pytest.approx(np.mean(textbook))


@given(ragged)
@settings(max_examples=30, deadline=None)
def test_a_profile_falls_from_all_to_none(runs: Runs) -> None:
    band = performance_profile(runs, np.linspace(-3, 11, 40), reps=60)
    assert band.value[0] == 1.0
    assert band.value[-1] == 0.0
    assert np.all(np.diff(band.value) <= 1e-12)
    assert np.all(band.low <= band.high)


def test_equal_runs_leave_no_doubt() -> None:
    for estimate in aggregate([np.full(4, 0.25), np.full(4, 0.25)]).values():
        assert estimate.low == pytest.approx(estimate.value)
        assert estimate.high == pytest.approx(estimate.value)


def test_single_runs_have_no_interval() -> None:
    estimate = aggregate([np.array([0.25]), np.array([0.5])])["mean"]
    assert (estimate.low, estimate.high) == (None, None)


def test_the_seed_decides_the_interval() -> None:
    runs = published("IRIS")
    assert aggregate(runs, seed=1) == aggregate(runs, seed=1)
    assert aggregate(runs, seed=1)["mean"] != aggregate(runs, seed=2)["mean"]


def test_a_curve_averages_the_runs_that_have_a_value() -> None:
    band = mean_over_runs(np.array([[np.nan, np.nan, 1.0, 4.0], [np.nan, 2.0, 3.0, 4.0]]))
    np.testing.assert_array_equal(band.value, [np.nan, 2.0, 2.0, 4.0])
    assert (band.low[2], band.high[2]) == (1.0, 3.0)
    assert (band.low[3], band.high[3]) == (4.0, 4.0)
    assert np.isnan(band.low[0])


def test_what_cannot_be_aggregated_is_refused() -> None:
    for runs in ([], [np.array([])], [np.array([1.0, np.nan])]):
        with pytest.raises(ValueError, match="every game needs"):
            aggregate(runs)
    with pytest.raises(ValueError, match="cannot be compared"):
        probability_of_improvement([np.ones(2)], [np.ones(2), np.ones(2)])
