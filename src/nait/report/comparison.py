"""Ours beside what is published: both as entries with scores by game, over games that all of ours have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nait.experiments.suites import BUDGETS, atari57, atari100k
from nait.report import published
from nait.report.aggregates import Estimate, Floats, aggregate, mean_over_runs, probability_of_improvement
from nait.report.published import Method
from nait.report.results import Column

IN_TIME = ("SimPLe", "CURL", "DrQ(eps)", "SPR", "MuZero", "EfficientZero", "IRIS", "DIAMOND")
NEEDS_RUNS = ("IQM", "optimality gap")  # of a method whose games have only a mean they would be something else


@dataclass(frozen=True, eq=False)
class Entry:
    """A row of a comparison."""

    label: str
    ours: bool
    scores: dict[str, Floats]
    has_runs: bool = True
    number: int = 0
    """Of our column, which decides its colour."""

    def normalised(self, games: Sequence[str]) -> list[Floats]:
        """Human-normalised runs of each game."""
        known = atari57()
        return [np.array([known[game].normalised(score) for score in self.scores[game]]) for game in games]


@dataclass(frozen=True)
class GameSet:
    """Games over which entries are aggregated."""

    name: str
    wanted: list[str]
    games: list[str]
    """Of those, the ones that all of ours have."""

    @property
    def title(self) -> str:
        """Tells when some are missing."""
        return f"the {self.name}" if len(self.games) == len(self.wanted) else f"{len(self.games)} of the {self.name}"


def ours(columns: Sequence[Column]) -> list[Entry]:
    """Each column after its own budget."""
    return [Entry(column.label, True, column.scores(), number=number) for number, column in enumerate(columns)]


def others(budget: int | None) -> list[Entry]:
    """The paper after as many steps as ours where it tells them, then the published methods in the order of time."""
    known = published.methods()
    shown = [published.paper(paper_budget(budget)), *(known[name] for name in IN_TIME)]
    return [of_method(method) for method in shown]


def of_method(method: Method) -> Entry:
    """A published method."""
    return Entry(method.name, False, method.scores, method.has_runs)


def paper_budget(budget: int | None) -> int:
    """The budget of the paper's that ours is put beside."""
    return budget if budget in BUDGETS else published.BUDGET


def game_sets(entries: Sequence[Entry]) -> list[GameSet]:
    """The 26 games, and the 57 where there are others; of both, those that every entry has."""
    common = [game for game in atari57() if entries and all(game in entry.scores for entry in entries)]
    few = [game for game in common if game in atari100k()]
    sets = [GameSet("26 games of Atari 100k", list(atari100k()), few)] if few else []
    if len(common) > len(few):
        sets.append(GameSet("57 games", list(atari57()), common))
    return sets


def aggregates(entry: Entry, games: Sequence[str], seed: int) -> dict[str, Estimate | None]:
    """By name; None for what needs single runs that the entry has not."""
    found = aggregate(entry.normalised(games), seed=seed)
    return {name: None if name in NEEDS_RUNS and not entry.has_runs else estimate for name, estimate in found.items()}


def improvement(entry: Entry, other: Entry, games: Sequence[str], seed: int) -> Estimate:
    """The probability that a run of `entry` beats one of `other`."""
    return probability_of_improvement(entry.normalised(games), other.normalised(games), seed=seed)


def game_estimate(runs: Floats, seed: int) -> Estimate:
    """The mean over the runs of one game, with its interval."""
    band = mean_over_runs(np.sort(runs)[:, None], seed=seed)
    if len(runs) < 2:
        return Estimate(float(band.value[0]))
    return Estimate(float(band.value[0]), float(band.low[0]), float(band.high[0]))


@dataclass(frozen=True)
class Recomputed:
    """The paper's printed median and mean HNS beside those of its rows."""

    budget: int
    games: int
    printed_median: float
    median: float
    printed_mean: float
    mean: float


def paper_recomputed() -> list[Recomputed]:
    """For each budget, over the 26 games and over all that the paper's table lists."""
    rows = []
    for budget in BUDGETS:
        (printed,) = (row for row in published.printed() if row.method == "NAIT" and row.samples == budget)
        entry = of_method(published.paper(budget))
        assert printed.median_57 is not None
        assert printed.mean_57 is not None
        for games, median, mean in (
            (list(atari100k()), printed.median_26, printed.mean_26),
            (list(entry.scores), printed.median_57, printed.mean_57),
        ):
            found = aggregate(entry.normalised(games))
            rows.append(Recomputed(budget, len(games), median, found["median"].value, mean, found["mean"].value))
    return sorted(rows, key=lambda row: (row.games, row.budget))
