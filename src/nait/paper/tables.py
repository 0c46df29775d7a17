"""Tables that several experiments have in common."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nait.paper.figures import Sweep, aggregates
from nait.report import comparison
from nait.report.aggregates import Difference, Floats, difference
from nait.report.results import Column
from nait.report.study import of_columns
from nait.report.tables import NONE, PLAIN, Table, aggregates_table, hns, interval


def rate(value: float | None) -> str:
    """Steps a second."""
    return NONE if value is None else f"{value:,.0f}" if value >= 100 else f"{value:,.1f}"


DIFFERENCE = ("mean difference ± s.e. over games", "the same, games clipped to 1", "higher on")
"""Headings of `difference_cells`."""


def difference_cells(column: Column | None, base: Column | None) -> list[str]:
    """By how much a variant's HNS are above those of another, game by game, and on how many games they are.

    Clipped, a game counts no more than a human's score, so that one or two of them do not decide the mean.
    """
    nothing = [NONE] * len(DIFFERENCE)
    if column is None or base is None or column is base:
        return nothing
    entries = comparison.ours([column, base])
    sets = comparison.game_sets(entries)
    if not sets:
        return nothing
    mine, theirs = (entry.normalised(sets[-1].games) for entry in entries)
    found = difference(mine, theirs)
    clipped = difference(_clipped(mine), _clipped(theirs))
    return [_with_error(found), _with_error(clipped), f"{found.better} of {found.games}"]


def _clipped(games: Sequence[Floats]) -> list[Floats]:
    return [np.minimum(runs.mean(keepdims=True), 1.0) for runs in games]


def _with_error(found: Difference) -> str:
    error = "" if found.error is None else f" ± {hns(found.error)}"
    return f"{found.value:+.3f}{error}"


def difference_table(name: str, columns: Sequence[Column]) -> list[Table]:
    """Every column but the first beside the first one; none of a single column."""
    if len(columns) < 2:
        return []
    rows = [[column.label, *difference_cells(column, columns[0])] for column in columns[1:]]
    title = f"HNS beside {columns[0].label}, over the games of both"
    return [plain_table(f"{name}_difference", title, ["", *DIFFERENCE], rows)]


def sweep_table(name: str, title: str, sweeps: Sequence[Sweep]) -> Table:
    """Median and mean HNS of the values that have all games, the difference from the paper's value, and speed."""
    rows = []
    for sweep in sweeps:
        columns = [column for _, column in sweep.values]
        base = next((column for value, column in sweep.values if value == sweep.default), None)
        found = aggregates(columns)
        for value, column in sweep.values:
            marked = f"{value} (the paper's)" if value == sweep.default else value
            cells = [
                sweep.symbol,
                marked,
                interval(found["median"].get(column.label), hns),
                interval(found["mean"].get(column.label), hns),
                *difference_cells(column, base),
            ]
            rows.append([*cells, rate(sweep.speed(column))])
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
