"""All that a report tells, computed once: the columns, their aggregates, and how they compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nait.errors import NaitError
from nait.experiments.suites import atari57
from nait.report import comparison, published
from nait.report.aggregates import Estimate
from nait.report.comparison import Entry, GameSet
from nait.report.results import Column, columns_of, read_source


@dataclass(frozen=True)
class Row:
    """An entry's aggregates over a set of games."""

    entry: Entry
    games: list[str]
    estimates: dict[str, Estimate | None]
    extra: bool = False
    """Over more games than the others: not to be compared with them."""


@dataclass(frozen=True)
class Improvement:
    """How probably a run of one beats one of the other, over the games that both have."""

    ours: str
    other: Entry
    games: int
    estimate: Estimate


@dataclass(frozen=True)
class Study:
    """What the tables and figures are made from."""

    columns: list[Column]
    damaged: list[str]
    entries: list[Entry]
    others: list[Entry]
    sets: list[tuple[GameSet, list[Row]]]
    improvements: list[Improvement]
    seed: int

    @property
    def budget(self) -> int | None:
        """The steps of the first column that has any."""
        return next((column.budget for column in self.columns if column.budget is not None), None)


def study(paths: Sequence[Path], against: str | None = None, seed: int = 0) -> Study:
    """Read and compare.

    :param against: a published method or another folder to compare with; None for all published methods, and
        for the first of several columns
    :param seed: of the bootstrap
    """
    if seed < 0:
        raise NaitError(f"seed must be at least 0, not {seed}")
    extra = Path(against) if against is not None and Path(against).exists() else None
    method = published.method_or_error(against) if against is not None and extra is None else None
    sources = [read_source(path) for path in _distinct((*paths, *([extra] if extra else [])))]
    columns = columns_of(sources)
    entries = comparison.ours(columns)
    others = comparison.others(next((column.budget for column in columns if column.budget is not None), None))
    compared = entries
    if method is not None:
        baselines = [comparison.of_method(method)]
    elif extra is not None:
        theirs = [column.path.resolve() == extra.resolve() for column in columns]
        baselines = [entry for entry, other in zip(entries, theirs, strict=True) if other]
        compared = [entry for entry, other in zip(entries, theirs, strict=True) if not other]
    else:
        baselines = [*(entries[:1] if len(entries) > 1 else []), *others]
    found = of_columns(columns, [line for source in sources for line in source.damaged], seed)
    return replace(found, improvements=_improvements(compared, baselines, seed))


def of_columns(columns: Sequence[Column], damaged: Sequence[str] = (), seed: int = 0) -> Study:
    """The columns and the published methods over the games that all of the columns have; no improvements."""
    entries = comparison.ours(columns)
    others = comparison.others(next((column.budget for column in columns if column.budget is not None), None))
    scored = [entry for entry in entries if any(game in atari57() for game in entry.scores)]
    return Study(
        columns=list(columns),
        damaged=list(damaged),
        entries=entries,
        others=others,
        sets=[(games, _rows(games, scored, others, seed)) for games in comparison.game_sets(scored)],
        improvements=[],
        seed=seed,
    )


def _distinct(paths: Sequence[Path]) -> list[Path]:
    return list({path.resolve(): path for path in reversed(paths)}.values())[::-1]


def _rows(games: GameSet, entries: Sequence[Entry], others: Sequence[Entry], seed: int) -> list[Row]:
    """Ours over the common games, and over their own where they have more; then the published methods."""

    def row(entry: Entry, over: list[str], extra: bool = False) -> Row:
        return Row(entry, over, comparison.aggregates(entry, over, seed), extra)

    rows = []
    for entry in entries:
        rows.append(row(entry, games.games))
        own = [game for game in games.wanted if game in entry.scores]
        if len(own) > len(games.games):
            rows.append(row(replace(entry, label=f"{entry.label}, all its {len(own)} games"), own, extra=True))
    for other in others:
        there = [game for game in games.games if game in other.scores]
        absent = set(games.games) - set(there)
        if not absent:
            rows.append(row(other, there))
        elif there and absent == {"Surround"} and other.label == published.PAPER:  # its table leaves that out
            rows.append(row(replace(other, label=f"{other.label}, without Surround"), there))
    return rows


def _improvements(entries: Sequence[Entry], baselines: Sequence[Entry], seed: int) -> list[Improvement]:
    found = []
    for entry in entries:
        for other in baselines:
            games = [game for game in atari57() if game in entry.scores and game in other.scores]
            if games and other is not entry:
                estimate = comparison.improvement(entry, other, games, seed)
                found.append(Improvement(entry.label, other, len(games), estimate))
    return found
