"""Figures that several experiments have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from nait.experiments.suites import atari57
from nait.report import style
from nait.report.aggregates import STATISTICS, Estimate
from nait.report.figures import HNS, Picture
from nait.report.results import Column
from nait.report.study import of_columns

MEDIAN, MEAN = style.OURS[1], style.OURS[2]


@dataclass(frozen=True)
class Sweep:
    """A hyperparameter and a column for each of its values."""

    symbol: str
    values: list[tuple[str, Column]]
    default: str
    """The paper's value."""
    speed: Callable[[Column], float | None]
    """Its steps a second."""


def picture(name: str, caption: str, draw: Callable[[], Figure | None]) -> list[Picture]:
    """The figure in the report's style; none where there is nothing to draw."""
    with style.styled():
        figure = draw()
        return [] if figure is None else [Picture(name, caption, *style.encode(figure))]


def whole(columns: Sequence[Column]) -> list[Column]:
    """The columns that lack no game that another one has; others do not compare."""
    every = {game for column in columns for game in column.games()}
    return [column for column in columns if every <= set(column.games())]


def aggregates(columns: Sequence[Column]) -> dict[str, dict[str, Estimate]]:
    """Each statistic's estimates by label, of the columns that lack no game that another one has."""
    sets = of_columns(whole(columns)).sets
    rows = [row for row in sets[-1][1] if row.entry.ours] if sets else []
    return {
        name: {row.entry.label: found for row in rows if (found := row.estimates[name]) is not None}
        for name in STATISTICS
    }


def game_scores(column: Column) -> list[float]:
    """The human-normalised score of every game, averaged over its seeds."""
    known = atari57()
    return [known[game].normalised(float(runs.mean())) for game, runs in column.scores().items() if game in known]


def score_against_speed(sweeps: Sequence[Sweep]) -> Figure:
    """Median HNS against steps a second as each hyperparameter grows: up and to the right is better."""
    figure = Figure(figsize=(0.5 * style.WIDTH * len(sweeps), 4.2), layout="constrained")
    panels: Any = figure.subplots(1, len(sweeps), squeeze=False)[0]
    for axes, sweep in zip(panels, sweeps, strict=True):
        estimates = aggregates([column for _, column in sweep.values])["median"]
        shown = [(value, estimates.get(column.label), sweep.speed(column)) for value, column in sweep.values]
        points = [(value, score, speed) for value, score, speed in shown if score is not None and speed is not None]
        axes.plot([p[2] for p in points], [p[1].value for p in points], color=style.GREY, linewidth=1.0, zorder=1)
        for value, score, speed in points:
            colour = style.colour(1 if value == sweep.default else 0)
            if score.low is not None and score.high is not None:
                axes.plot([speed, speed], [score.low, score.high], color=colour, linewidth=2.4, alpha=0.45)
            axes.plot(speed, score.value, marker="o", markersize=7, color=colour, linestyle="none")
            axes.annotate(value, (speed, score.value), xytext=(7, 6), textcoords="offset points", fontsize=9)
        axes.margins(x=0.15, y=0.15)
        axes.set_title(f"{sweep.symbol} (the paper's: {sweep.default}, in orange)")
        axes.set_xlabel("steps a second, one thread")
        axes.set_ylabel(f"median {HNS}")
    return figure


def distributions(sweeps: Sequence[Sweep]) -> Figure:
    """The spread of the games' human-normalised scores for each value: boxes, median lines, mean diamonds.

    A value without all of the games is left out.
    """
    figure = Figure(figsize=(0.5 * style.WIDTH * len(sweeps), 4.2), layout="constrained")
    panels: Any = figure.subplots(1, len(sweeps), squeeze=False, sharey=True)[0]
    drawn: list[float] = []
    for axes, sweep in zip(panels, sweeps, strict=True):
        columns = whole([column for _, column in sweep.values])
        shown = [(value, game_scores(column)) for value, column in sweep.values if column in columns]
        scores = [mine for _, mine in shown]
        drawn += [score for mine in scores for score in mine]
        axes.boxplot(
            scores,
            showmeans=True,
            widths=0.55,
            medianprops={"color": MEDIAN, "linewidth": 2.0},
            meanprops={"marker": "D", "markerfacecolor": MEAN, "markeredgecolor": MEAN, "markersize": 6},
            showfliers=False,  # every game is drawn as a point
        )
        rng = np.random.default_rng(0)
        for place, mine in enumerate(scores, 1):
            x = place + rng.uniform(-0.13, 0.13, len(mine))
            axes.plot(x, mine, linestyle="none", marker=".", markersize=4, color=style.GREY, alpha=0.6, zorder=1)
        axes.set_xticks(range(1, len(shown) + 1), [value for value, _ in shown])
        axes.set_xlabel(sweep.symbol)
        axes.grid(axis="x", visible=False)
    panels[0].set_ylabel(f"{HNS}, a point a game")
    _bend_beyond_one(panels[0], drawn)
    handles: list[Any] = [
        Line2D([], [], color=MEDIAN, linewidth=2, label="median over games"),
        Line2D([], [], color=MEAN, marker="D", linestyle="none", label="mean over games"),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=2)
    return figure


def _bend_beyond_one(axes: Any, scores: Sequence[float]) -> None:
    """A logarithmic scale above 1, where scores reach far beyond it."""
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    if high > 2.5:
        axes.set_yscale("symlog", linthresh=1.0)
        axes.set_ylim(min(low - 0.1, 0.0), 1.3 * high)
        ticks = [tick for tick in (-2, -1, -0.5, 0, 0.5, 1, 2, 5, 10, 20) if low - 0.1 <= tick <= 1.3 * high]
        axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
