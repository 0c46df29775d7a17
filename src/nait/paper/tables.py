"""Tables that several experiments have in common."""

from __future__ import annotations

from collections.abc import Sequence

from nait.experiments.suites import atari57
from nait.paper.figures import Sweep, aggregates
from nait.report import comparison
from nait.report.aggregates import difference
from nait.report.results import Column
from nait.report.study import of_columns
from nait.report.tables import NONE, PLAIN, Table, aggregates_table, hns, interval, speed_of


def rate(value: float | None) -> str:
    """Steps a second."""
    return NONE if value is None else f"{value:,.0f}" if value >= 100 else f"{value:,.1f}"


DIFFERENCE = ("mean difference ± s.e. over games", "higher on")
"""Headings of `difference_cells`."""


def difference_cells(column: Column | None, base: Column | None) -> list[str]:
    """By how much a variant's HNS are above those of another, game by game, and on how many games they are."""
    if column is None or base is None or column is base:
        return [NONE, NONE]
    mine, theirs = comparison.ours([column, base])
    games = [game for game in mine.scores if game in theirs.scores and game in atari57()]
    if not games:
        return [NONE, NONE]
    found = difference(mine.normalised(games), theirs.normalised(games))
    error = "" if found.error is None else f" ± {hns(found.error)}"
    return [f"{found.value:+.3f}{error}", f"{found.better} of {found.games}"]


def difference_table(name: str, columns: Sequence[Column]) -> list[Table]:
    """Every column but the first beside the first one; none of a single column."""
    rows = [[column.label, *difference_cells(column, columns[0])] for column in columns[1:]]
    headings = ["", *DIFFERENCE]
    title = f"HNS beside {columns[0].label}, over the games of both" if rows else ""
    return [plain_table(f"{name}_difference", title, headings, rows)] if rows else []


def sweep_table(name: str, title: str, sweeps: Sequence[Sweep]) -> Table:
    """Median and mean HNS of the values that have all games, the difference from the paper's value, and speed."""
    rows = []
    for sweep in sweeps:
        columns = [column for _, column in sweep.values]
        base = next((column for value, column in sweep.values if value == sweep.default), None)
        median, mean = aggregates(columns, "median"), aggregates(columns, "mean")
        for value, column in sweep.values:
            marked = f"{value} (the paper's)" if value == sweep.default else value
            cells = [
                sweep.symbol,
                marked,
                interval(median.get(column.label), hns),
                interval(mean.get(column.label), hns),
                *difference_cells(column, base),
            ]
            speed = speed_of(column)
            rows.append([*cells, rate(speed[0] if speed else None)])
    headings = ["hyperparameter", "value", "median HNS", "mean HNS", *DIFFERENCE, "steps/s"]
    return plain_table(name, title, headings, rows)


def comparison_table(name: str, title: str, columns: Sequence[Column]) -> list[Table]:
    """Median, mean, IQM and optimality gap of our columns and the paper's NAIT, for each set of games."""
    return [
        aggregates_table(
            f"{name}{number or ''}",
            f"{title} over {games.title}",
            [row for row in rows if row.entry.ours or row.entry.label.startswith("NAIT")],
        )
        for number, (games, rows) in enumerate(of_columns(columns).sets)
    ]


def plain_table(name: str, title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Cells under headings, all of them ours."""
    return Table(name, title, [(heading, PLAIN) for heading in headings], [(PLAIN, list(row)) for row in rows])
