"""Tables that several experiments have in common."""

from __future__ import annotations

from collections.abc import Sequence

from nait.paper.figures import Sweep, aggregates
from nait.report.results import Column
from nait.report.study import of_columns
from nait.report.tables import NONE, PLAIN, Table, aggregates_table, hns, interval, speed_of


def rate(value: float | None) -> str:
    """Steps a second."""
    return NONE if value is None else f"{value:,.0f}" if value >= 100 else f"{value:,.1f}"


def sweep_table(name: str, title: str, sweeps: Sequence[Sweep]) -> Table:
    """Median and mean HNS, over the games that all values have, and the speed of each hyperparameter's values."""
    rows = []
    for sweep in sweeps:
        columns = [column for _, column in sweep.values]
        median, mean = aggregates(columns, "median"), aggregates(columns, "mean")
        for value, column in sweep.values:
            marked = f"{value} (the paper's)" if value == sweep.default else value
            cells = [
                sweep.symbol,
                marked,
                interval(median.get(column.label), hns),
                interval(mean.get(column.label), hns),
            ]
            speed = speed_of(column)
            rows.append([*cells, rate(speed[0] if speed else None)])
    headings = ["hyperparameter", "value", "median HNS", "mean HNS", "steps/s"]
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
