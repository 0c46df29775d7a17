"""Aggregates over games and runs with bootstrap intervals, as Agarwal et al. (2021) define them.

The scores of a method are one array of runs a game; games may have different numbers of runs, and every
game then counts the same. A bootstrap sample draws runs with replacement within each game. It is kept as
the count of how often each run was drawn, so that every statistic is a weighted one and the sample itself
is the case where all counts are 1. With equally many runs a game the statistics are those of rliable.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Runs = Sequence[Floats]
"""The human-normalised scores of a method: one array of runs a game."""
Statistic = Callable[[Runs, Runs], Floats]
"""Of the runs and, for each game, a (samples x runs) array of counts; one value a sample."""

REPS = 2000
CHUNK = 250  # samples at a time: bounds the memory that 100 runs of 26 games take
LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A statistic of the runs and its interval, which is absent where no game has two runs."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Difference:
    """Between two methods on the same games, in means over a game's runs; it needs no second run of any game."""

    value: float
    """Averaged over games."""
    error: float | None
    """The standard error of that average, from how the games differ among themselves; None of a single game."""
    better: int
    """The games on which the first method scores more."""
    games: int


@dataclass(frozen=True)
class Band:
    """A curve and its pointwise interval; without one, `low` and `high` are the curve itself."""

    value: Floats
    low: Floats
    high: Floats


def median(runs: Runs, counts: Runs) -> Floats:
    """Of the games' means."""
    return np.asarray(np.median(_game_means(runs, counts), axis=1), dtype=np.float64)


def mean(runs: Runs, counts: Runs) -> Floats:
    """Over games, of the games' means."""
    return np.asarray(_game_means(runs, counts).mean(axis=1), dtype=np.float64)


def iqm(runs: Runs, counts: Runs) -> Floats:
    """Interquartile mean: of all runs of all games, without the lowest and the highest quarter.

    A game with fewer runs has them repeated, so that it weighs as much as the others.
    """
    repeats = math.lcm(*(len(game) for game in runs))
    total = repeats * len(runs)
    cut = total // 4
    scores = np.concatenate(runs)
    order = np.argsort(scores, kind="stable")
    weights = np.concatenate([count * (repeats // count.shape[1]) for count in counts], axis=1)[:, order]
    kept = np.diff(np.clip(np.cumsum(weights, axis=1), cut, total - cut), axis=1, prepend=cut)
    return np.asarray(kept @ scores[order] / (total - 2 * cut), dtype=np.float64)


def optimality_gap(runs: Runs, counts: Runs) -> Floats:
    """How far runs fall short of a human's score on average; what is above it does not count."""
    return 1.0 - mean([np.minimum(game, 1.0) for game in runs], counts)


STATISTICS: dict[str, Statistic] = {"median": median, "mean": mean, "IQM": iqm, "optimality gap": optimality_gap}


def aggregate(runs: Runs, reps: int = REPS, seed: int = 0) -> dict[str, Estimate]:
    """All statistics by name, with 95 % intervals of the stratified bootstrap.

    :param seed: of the bootstrap's draws; the order of the runs makes no difference
    """
    runs = _checked(runs)
    ones = _whole(runs)
    values = {name: float(statistic(runs, ones)[0]) for name, statistic in STATISTICS.items()}
    if not _resamples(runs):
        return {name: Estimate(value) for name, value in values.items()}
    drawn: dict[str, list[Floats]] = {name: [] for name in STATISTICS}
    for counts in _samples(runs, reps, np.random.default_rng(seed)):
        for name, statistic in STATISTICS.items():
            drawn[name].append(statistic(runs, counts))
    return {name: _estimate(values[name], np.concatenate(drawn[name])) for name in STATISTICS}


def probability_of_improvement(ours: Runs, theirs: Runs, reps: int = REPS, seed: int = 0) -> Estimate:
    """How probably a run of ours beats one of theirs on the same game, averaged over games; ties count half."""
    ours, theirs = _checked(ours), _checked(theirs)
    if len(ours) != len(theirs):
        raise ValueError(f"{len(ours)} and {len(theirs)} games cannot be compared")
    wins = [(x[:, None] > y[None, :]) + 0.5 * (x[:, None] == y[None, :]) for x, y in zip(ours, theirs, strict=True)]

    def probability(counts: Runs, others: Runs) -> Floats:
        games = [np.sum((a @ win) * b, axis=1) / win.size for a, win, b in zip(counts, wins, others, strict=True)]
        return np.asarray(np.mean(games, axis=0), dtype=np.float64)

    value = float(probability(_whole(ours), _whole(theirs))[0])
    if not (_resamples(ours) or _resamples(theirs)):
        return Estimate(value)
    rng = np.random.default_rng(seed)
    pairs = zip(_samples(ours, reps, rng), _samples(theirs, reps, np.random.default_rng(seed + 1)), strict=True)
    return _estimate(value, np.concatenate([probability(a, b) for a, b in pairs]))


def difference(ours: Runs, theirs: Runs) -> Difference:
    """How much higher ours score than theirs, game by game."""
    ours, theirs = _checked(ours), _checked(theirs)
    found = np.array([x.mean() - y.mean() for x, y in zip(ours, theirs, strict=True)])
    error = float(found.std(ddof=1) / math.sqrt(len(found))) if len(found) > 1 else None
    return Difference(float(found.mean()), error, int((found > 0.0).sum()), len(found))


def performance_profile(runs: Runs, taus: Floats, reps: int = REPS, seed: int = 0) -> Band:
    """The share of runs that score above each of `taus`, every game counting the same.

    :param reps: bootstrap samples; 0 for the curve alone
    """
    runs = _checked(runs)
    above = [(game[:, None] > taus[None, :]).astype(np.float64) for game in runs]

    def profile(counts: Runs) -> Floats:
        games = [count @ shares / len(shares) for count, shares in zip(counts, above, strict=True)]
        return np.asarray(np.mean(games, axis=0), dtype=np.float64)

    value = profile(_whole(runs))[0]
    if not reps or not _resamples(runs):
        return Band(value, value, value)
    drawn = np.concatenate([profile(counts) for counts in _samples(runs, reps, np.random.default_rng(seed))])
    return Band(value, *_interval(drawn))


def mean_over_runs(values: Floats, reps: int = REPS, seed: int = 0) -> Band:
    """The mean of (runs x points) over runs at each point; a NaN is a run that has no value there yet."""
    values = np.asarray(values, dtype=np.float64)
    there = np.isfinite(values)
    filled = np.where(there, values, 0.0)

    def average(counts: Floats) -> Floats:
        number = counts @ there
        return np.asarray(np.divide(counts @ filled, number, out=np.full(number.shape, np.nan), where=number > 0))

    value = average(np.ones((1, len(values))))[0]
    if len(values) < 2:
        return Band(value, value, value)
    (counts,) = _draw([values[:, 0]], reps, np.random.default_rng(seed))
    drawn = average(counts)
    known = np.isfinite(value)
    low, high = np.full_like(value, np.nan), np.full_like(value, np.nan)
    if known.any():
        tail = (1.0 - LEVEL) / 2.0
        low[known], high[known] = np.nanquantile(drawn[:, known], (tail, 1.0 - tail), axis=0)
    return Band(value, low, high)


def _checked(runs: Runs) -> Runs:
    """In ascending order within each game, so that no result depends on the order of the runs."""
    arrays = [np.sort(np.asarray(game, dtype=np.float64)) for game in runs]
    if not arrays or any(game.ndim != 1 or not game.size or not np.isfinite(game).all() for game in arrays):
        raise ValueError("every game needs at least one run, and every run a finite score")
    return arrays


def _whole(runs: Runs) -> Runs:
    return [np.ones((1, len(game))) for game in runs]


def _resamples(runs: Runs) -> bool:
    return any(len(game) > 1 for game in runs)


def _samples(runs: Runs, reps: int, rng: np.random.Generator) -> Iterator[Runs]:
    for start in range(0, reps, CHUNK):
        yield _draw(runs, min(CHUNK, reps - start), rng)


def _draw(runs: Runs, reps: int, rng: np.random.Generator) -> Runs:
    """For each game, how often each run is drawn in each of `reps` samples."""
    counts = []
    for game in runs:
        number = len(game)
        drawn = rng.integers(number, size=(reps, number)) + number * np.arange(reps)[:, None]
        counts.append(np.bincount(drawn.ravel(), minlength=reps * number).reshape(reps, number).astype(np.float64))
    return counts


def _game_means(runs: Runs, counts: Runs) -> Floats:
    return np.stack([count @ game / len(game) for game, count in zip(runs, counts, strict=True)], axis=1)


def _estimate(value: float, drawn: Floats) -> Estimate:
    low, high = _interval(drawn)
    return Estimate(value, float(low), float(high))


def _interval(drawn: Floats) -> tuple[Floats, Floats]:
    tail = (1.0 - LEVEL) / 2.0
    low, high = np.quantile(drawn, (tail, 1.0 - tail), axis=0)
    return low, high
