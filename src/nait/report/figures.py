"""The report's figures; each function draws one, or returns None where there is nothing to draw."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from nait.experiments.suites import BUDGETS, atari57
from nait.report import comparison, published, style
from nait.report.aggregates import REPS, STATISTICS, Band, Estimate, Floats, mean_over_runs, performance_profile
from nait.report.comparison import Entry
from nait.report.results import Column, in_order
from nait.report.study import Row, Study
from nait.report.tables import score, speed_of, steps_name

POINTS = 200  # of a curve: more cannot be seen
PANELS = 5  # learning curves a row
MOST_ROWS = 30  # of a figure of comparisons
LONGEST = 44  # letters of a label
MOST_BANDS = 4  # columns; bands of more hide one another
HNS = "human-normalised score"
WALLTIME_GAME = "MsPacman"  # the paper's, as it is often its median game


@dataclass(frozen=True)
class Picture:
    """A drawn figure with its file's name and what to say below it."""

    name: str
    caption: str
    png: bytes
    svg: bytes


def pictures(study: Study) -> list[Picture]:
    """All that there is to draw."""
    over = study.sets[0][0].title if study.sets else ""
    drawn: list[tuple[str, str, Callable[[], Figure | None]]] = []
    for number, (games, rows) in enumerate(study.sets):
        suffix = "" if number == 0 else "_57"
        drawn += [
            (
                f"aggregates{suffix}",
                f"Aggregates over {games.title}, with 95 % intervals. Diamonds: only the games' means are published.",
                lambda rows=rows: aggregates(rows),  # type: ignore[misc]
            ),
            (
                f"profiles{suffix}",
                f"Performance profiles over {games.title}: the share of runs above each score. Bands: 95 % intervals.",
                lambda rows=rows: profiles(rows, study),  # type: ignore[misc]
            ),
        ]
    drawn += [
        (
            "improvement",
            "How probably a run beats a run of another method on the same game.",
            lambda: improvement(study),
        ),
        (
            "games",
            "Each game's mean over runs with its 95 % interval, beside the paper's; 0 is random play, 1 a human's.",
            lambda: by_game(study),
        ),
        (
            "learning",
            "Median and mean over games of the last five training episodes' score. Bands: 95 % intervals over seeds. "
            "Diamonds: the paper's final scores, over the same games.",
            lambda: learning(study),
        ),
        (
            "curves",
            "The mean score of the last five training episodes. Bands: 95 % intervals over seeds. Dashed: a human's "
            "score, or its value at the top where it lies far above. Diamonds: the paper's final score.",
            lambda: curves(study),
        ),
        (
            "walltime",
            f"Score against the time of one run of 100,000 steps. Ours as measured in one thread, over {over}; the "
            "others' scores and rates as the paper prints them, over the 26 games.",
            lambda: walltime(study),
        ),
        (
            "walltime_game",
            "The last five training episodes' score against the minutes of training: every run on its own.",
            lambda: walltime_of_game(study),
        ),
    ]
    found = []
    for name, caption, draw in drawn:
        with style.styled():
            figure = draw()
            if figure is not None:
                found.append(Picture(name, caption, *style.encode(figure)))
    return found


def aggregates(rows: Sequence[Row]) -> Figure:
    """Median, mean, IQM and optimality gap of every entry, with intervals."""
    figure = Figure(figsize=(style.WIDTH, 1.1 + 0.3 * len(rows)), layout="constrained")
    panels: Any = figure.subplots(1, len(STATISTICS), sharey=True)
    for axes, statistic in zip(panels, STATISTICS, strict=True):
        for place, row in enumerate(rows):
            estimate = row.estimates[statistic]
            if estimate is not None:
                interval(axes, place, estimate, row.entry, row.entry.number)
        better = "lower is better" if statistic == "optimality gap" else "higher is better"
        axes.set_title(f"{statistic}\n({better})")
        axes.set_xlabel(HNS if statistic != "optimality gap" else "gap to a human's score")
        axes.grid(axis="y", visible=False)
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
    _name_rows(panels[0], [row.entry for row in rows])
    return figure


def improvement(study: Study) -> Figure | None:
    """The probability of improvement of each column over each of the others."""
    shown = study.improvements
    if len(shown) > MOST_ROWS:  # the table has them all
        shown = [found for found in shown if found.other.ours or found.other.label == published.PAPER]
    if not shown:
        return None
    number = len(shown)
    figure = Figure(figsize=(0.75 * style.WIDTH, 1.1 + 0.3 * number), layout="constrained")
    axes = figure.subplots()
    labels = [entry.label for entry in study.entries]
    for place, found in enumerate(shown):
        interval(axes, place, found.estimate, None, labels.index(found.ours))
    several = len({found.ours for found in shown}) > 1
    names = [f"{_brief(f.ours)} over {_brief(f.other.label)}" if several else _brief(f.other.label) for f in shown]
    axes.set_yticks(range(number), names)
    axes.set_ylim(number - 0.5, -0.5)
    axes.axvline(0.5, color=style.HUMAN, linewidth=1.0)
    axes.set_xlim(0, 1)
    if several:
        axes.set_xlabel("probability of a higher score, first over second")
    else:
        axes.set_xlabel("probability of a higher score")
        axes.set_title(f"{_brief(shown[0].ours)} over \u2026")
    axes.grid(axis="y", visible=False)
    return figure


def profiles(rows: Sequence[Row], study: Study) -> Figure:
    """The share of runs above each human-normalised score."""
    figure = Figure(figsize=(0.85 * style.WIDTH, 4.6), layout="constrained")
    axes = figure.subplots()
    taus = np.linspace(0, 3, 151)
    for row in rows:
        if not row.entry.has_runs or row.extra:
            continue
        reps = REPS if row.entry.ours else 0  # bands of all would hide one another
        band = performance_profile(row.entry.normalised(row.games), taus, reps, study.seed)
        if row.entry.ours:
            number, colour = row.entry.number, _colour(row.entry)
            _band(axes, taus, band, colour, study)
            axes.plot(
                taus, band.value, color=colour, linestyle=style.line(number), linewidth=2.4, label=row.entry.label
            )
        else:
            colour, dash = style.THEIRS[row.entry.label]
            axes.plot(
                taus, band.value, color=colour, linestyle=dash, linewidth=1.3, label=f"{row.entry.label}, published"
            )
    axes.axvline(1.0, color=style.HUMAN, linewidth=0.8)
    axes.text(1.01, 0.99, "a human's", transform=axes.get_xaxis_transform(), va="top", fontsize=9)
    axes.set_xlim(0, 3)
    axes.set_ylim(0, 1)
    axes.set_xlabel(f"{HNS} \u03c4")
    axes.set_ylabel("share of runs above \u03c4")
    handles, _ = axes.get_legend_handles_labels()
    for handle in handles:
        handle.set_label(_brief(str(handle.get_label())))
    figure.legend(handles=handles, loc="outside right upper")
    return figure


def by_game(study: Study) -> Figure | None:
    """Each game's human-normalised score, ours beside the paper's."""
    known = atari57()
    paper = next(other for other in study.others if other.label == published.PAPER)
    games = [game for game in in_order({g for e in study.entries for g in e.scores}) if game in known]
    if not games:
        return None
    games.sort(key=lambda game: -_mean_hns(paper if game in paper.scores else _having(study.entries, game), game))
    shown = [entry for entry in study.entries if entry.scores]
    height = max(0.26, 0.09 * len(shown) + 0.12)
    figure = Figure(figsize=(0.85 * style.WIDTH, 1.3 + height * len(games)), layout="constrained")
    axes = figure.subplots()
    for number, entry in enumerate(study.entries):
        offset = 0.0 if len(study.entries) == 1 else 0.6 * (number / (len(study.entries) - 1) - 0.5)
        for place, game in enumerate(games):
            if game in entry.scores:
                (runs,) = entry.normalised([game])
                estimate = comparison.game_estimate(runs, study.seed)
                interval(axes, place + offset, estimate, entry, number, size=5)
    for place in range(0, len(games), 2):
        axes.axhspan(place - 0.5, place + 0.5, color="#f4f4f4", linewidth=0, zorder=0)
    axes.grid(axis="y", visible=False)
    there = [(place, game) for place, game in enumerate(games) if game in paper.scores]
    axes.plot(
        [_mean_hns(paper, game) for _, game in there],
        [place for place, _ in there],
        linestyle="none",
        marker="D",
        markersize=5,
        markerfacecolor="white",
        markeredgecolor=style.PAPER,
        zorder=4,
    )
    axes.axvline(1.0, color=style.HUMAN, linewidth=1.0, linestyle="--")
    axes.axvline(0.0, color=style.GREY, linewidth=1.0)
    axes.set_yticks(range(len(games)), games)
    axes.set_ylim(len(games) - 0.5, -0.5)
    bent = _bend_beyond_one(axes)
    axes.set_xlabel(f"{HNS} (linear up to 1, then logarithmic)" if bent else HNS)
    handles = [
        dot(style.colour(number), entry.label, style.marker(number))
        for number, entry in enumerate(study.entries)
        if entry.scores
    ]
    budget = steps_name(comparison.paper_budget(study.budget))
    handles += [
        diamond(f"paper, {budget} steps"),
        Line2D([], [], color=style.HUMAN, linestyle="--", label="a human's"),
    ]
    legend(figure, handles)
    return figure


def learning(study: Study, levels: Mapping[str, tuple[float, float]] = MappingProxyType({})) -> Figure | None:
    """Median and mean human-normalised score over games as the training goes on.

    :param levels: of other methods to draw as lines, their median and mean by name
    """
    timed = [(number, column, _hns_curves(column)) for number, column in enumerate(study.columns)]
    drawn = [(number, column, found) for number, column, found in timed if found is not None]
    if not drawn:
        return None
    figure = Figure(figsize=(style.WIDTH, 4.2), layout="constrained")
    panels: Any = figure.subplots(1, 2)
    last = max(float(found.steps[-1]) for _, _, found in drawn)
    games = drawn[0][2].games
    for axes, name, statistic in ((panels[0], "median", np.median), (panels[1], "mean", np.mean)):
        for number, column, found in drawn:
            band = found.band(statistic, study.seed)
            _band(axes, found.steps, band, style.colour(number), study)
            axes.plot(
                found.steps,
                band.value,
                color=style.colour(number),
                linestyle=style.line(number),
                linewidth=1.8,
                label=f"{column.label}, {len(found.games)} games",
            )
        for budget in BUDGETS:
            paper = comparison.of_method(published.paper(budget))
            listed = [game for game in games if game in paper.scores]
            if budget <= 1.001 * last and listed:
                value = float(statistic([_mean_hns(paper, game) for game in listed]))
                axes.plot(budget, value, **DIAMOND, clip_on=False, zorder=4)
        for place, (label, values) in enumerate(levels.items()):
            level = values[0 if name == "median" else 1]
            axes.axhline(level, color=style.GREY, linestyle=style.DASHES[1 + place % 2], label=label)
        axes.set_title(f"{name} over games")
        axes.set_xlabel("steps")
        axes.set_ylabel(HNS)
        step_axis(axes, last)
    handles, _ = panels[0].get_legend_handles_labels()
    legend(figure, [*handles, diamond("paper, final")])
    return figure


def curves(study: Study) -> Figure | None:
    """Learning curves of every game in small multiples."""
    games = in_order({run.game for column in study.columns for run in column.done if run.curve is not None})
    if not games:
        return None
    handles: list[Any] = [
        Line2D([], [], color=style.colour(number), linestyle=style.line(number), linewidth=2, label=column.label)
        for number, column in enumerate(study.columns)
        if any(run.curve is not None for run in column.done)
    ]
    if len(study.columns) <= MOST_BANDS:
        handles.append(Patch(color=style.GREY, alpha=0.3, linewidth=0, label="95 % interval"))
    handles += [
        Line2D([], [], color=style.HUMAN, linestyle="--", linewidth=1, label="a human's"),
        diamond("paper, final"),
    ]
    across = min(PANELS, len(games))
    down = -(-len(games) // across)
    figure = Figure(figsize=(style.WIDTH, 1.0))
    above = 0.55 + 0.19 * -(-len(handles) // _legend_columns(figure, handles))  # inches: title and legend
    height = above + (1.85 if len(games) > 1 else 3.2) * down + 0.45
    figure.set_size_inches(style.WIDTH, height)
    places = {
        "left": 0.075,
        "right": 0.98,
        "bottom": 0.55 / height,
        "top": 1 - above / height,
    }  # a layout engine is slow
    panels: Any = figure.subplots(down, across, squeeze=False, gridspec_kw={**places, "wspace": 0.38, "hspace": 0.45})
    for axes, game in zip(panels.flat, games, strict=False):
        _draw_curves(axes, game, study)
    for axes in panels.flat[len(games) :]:
        axes.set_visible(False)
    for axes in panels.flat[max(0, len(games) - across) : len(games)]:  # the lowest of each column of panels
        axes.set_xlabel("steps")
    figure.supylabel("score of the last five episodes", fontsize=10, x=0.012)
    legend(figure, handles, loc="upper center")
    return figure


def walltime(study: Study) -> Figure | None:
    """Median and mean score against the time of a run, for one game of 100,000 steps."""
    measured = [speed_of(column) for column in study.columns]
    if not study.sets or not any(measured):
        return None
    _, rows = study.sets[0]
    figure = Figure(figsize=(style.WIDTH, 4.8), layout="constrained")
    panels: Any = figure.subplots(1, 2)
    scores = {row.method: row for row in published.printed() if row.samples == published.BUDGET}
    for axes, name in zip(panels, ("median", "mean"), strict=True):
        for speed in published.speeds():
            if speed.method in scores and speed.hardware != "48-core CPU node":
                known = scores[speed.method]
                value = known.median_26 if name == "median" else known.mean_26
                _labelled_point(axes, speed.minutes_a_game, value, speed.method, name)
        for number, (column, speed_) in enumerate(zip(study.columns, measured, strict=True)):
            row = next((row for row in rows if row.entry.label == column.label), None)
            if row is None or speed_ is None:
                continue
            minutes = speed_[1] * published.BUDGET / (column.budget or published.BUDGET) / 60
            _vertical(axes, minutes, row.estimates[name], number)
        axes.set_xscale("log")
        _time_axis(axes)
        axes.set_title(f"{name} over games")
        axes.set_xlabel("time of one run of 100,000 steps")
        axes.set_ylabel(HNS)
        axes.set_ylim(bottom=0 if axes.get_ylim()[0] > -0.05 else None)
    handles = [
        dot(style.colour(number), f"{column.label}, one CPU thread", style.marker(number))
        for number, (column, speed_) in enumerate(zip(study.columns, measured, strict=True))
        if speed_ is not None
    ]
    handles += [dot(style.GREY, "published, GPU node", "s"), diamond("paper, one CPU thread")]
    legend(figure, handles)
    return figure


def walltime_of_game(study: Study) -> Figure | None:
    """The score of one game against the minutes of training, every run on its own, as the paper draws it."""
    timed = {
        run.game
        for column in study.columns
        for run in column.done
        if run.curve is not None and run.curve.seconds is not None
    }
    if not timed:
        return None
    game = WALLTIME_GAME if WALLTIME_GAME in timed else in_order(timed)[0]
    figure = Figure(figsize=(0.75 * style.WIDTH, 4.0), layout="constrained")
    axes = figure.subplots()
    for number, column in enumerate(study.columns):
        runs = [run for run in column.done if run.game == game and run.curve is not None]
        for place, run in enumerate(runs):
            if run.curve is None or run.curve.seconds is None:
                continue
            axes.plot(
                run.curve.seconds / 60,
                run.curve.score,
                color=style.colour(number),
                linestyle=style.line(number),
                linewidth=1.1,
                alpha=0.75,
                label=f"{column.label}, {len(runs)} runs" if place == 0 else None,
            )
    spr = published.methods()["SPR"].scores.get(game)
    if spr is not None:
        (speed,) = (s for s in published.speeds() if s.method == "SPR (augmented)")
        hours = speed.minutes_a_game / 60
        axes.axhline(
            float(spr.mean()),
            color=style.GREY,
            linestyle=(0, (5, 2)),
            label=f"SPR after 100k steps, published ({hours:.1f} hours)",
        )
    axes.set_title(game)
    axes.set_xlabel("minutes of training")
    axes.set_ylabel("score, mean of the last five episodes")
    axes.set_xlim(left=0)
    legend(figure, axes.get_legend_handles_labels()[0])
    return figure


@dataclass(frozen=True)
class _HnsCurves:
    steps: Floats
    games: list[str]
    runs: list[Floats]
    """Of each game, (runs x steps) human-normalised."""

    def band(self, statistic: Callable[..., Any], seed: int) -> Band:
        """The statistic over games of the means over seeds; the bootstrap draws seeds within each game."""
        means = np.stack([np.nanmean(game, axis=0) for game in self.runs])
        value = np.asarray(statistic(means, axis=0), dtype=np.float64)
        rng = np.random.default_rng(seed)
        drawn = []
        for _ in range(300):
            picked = [game[rng.integers(len(game), size=len(game))] for game in self.runs]
            sample = [_mean_or(part, mean) for part, mean in zip(picked, means, strict=True)]
            drawn.append(statistic(np.stack(sample), axis=0))
        low, high = np.quantile(np.stack(drawn), (0.025, 0.975), axis=0)
        return Band(value, low, high)


def _mean_or(values: Floats, fallback: Floats) -> Floats:
    there = np.isfinite(values)
    number = there.sum(axis=0)
    total = np.where(there, values, 0.0).sum(axis=0)
    return np.asarray(np.where(number > 0, total / np.maximum(number, 1), fallback), dtype=np.float64)


def _hns_curves(column: Column) -> _HnsCurves | None:
    """From the step on at which every game has ended an episode."""
    known = atari57()
    games = [game for game in in_order({run.game for run in column.done if run.curve is not None}) if game in known]
    if not games:
        return None
    found = [_on_grid(column, game) for game in games]
    last = min(float(steps[-1]) for steps, _ in found)
    grid = found[0][0][found[0][0] <= last]
    runs = []
    for game, (steps, values) in zip(games, found, strict=True):
        places = np.searchsorted(steps, grid, side="right") - 1
        row = np.where(places[None, :] >= 0, values[:, np.maximum(places, 0)], np.nan)
        runs.append((row - known[game].random) / (known[game].human - known[game].random))
    whole = np.all([np.isfinite(game).any(axis=0) for game in runs], axis=0)
    if not whole.any():
        return None
    first = int(np.argmax(whole))
    return _HnsCurves(grid[first:], games, [game[:, first:] for game in runs])


def _on_grid(column: Column, game: str) -> tuple[Floats, Floats]:
    """The steps and, for each run of the game, the latest value at each; NaN beyond a run's end."""
    found = [run.curve for run in column.done if run.game == game and run.curve is not None]
    steps = np.unique(np.concatenate([curve.steps for curve in found]))
    if len(steps) > POINTS:
        steps = steps[np.unique(np.linspace(0, len(steps) - 1, POINTS).round().astype(int))]
    values = np.full((len(found), len(steps)), np.nan)
    for row, curve in zip(values, found, strict=True):
        places = np.searchsorted(curve.steps, steps, side="right") - 1
        inside = (places >= 0) & (steps <= curve.steps[-1])
        row[inside] = curve.score[places[inside]]
    return steps, values


def _draw_curves(axes: Any, game: str, study: Study) -> None:
    highest, lowest, last = -np.inf, np.inf, 0.0
    for number, column in enumerate(study.columns):
        if not any(run.game == game and run.curve is not None for run in column.done):
            continue
        steps, values = _on_grid(column, game)
        band = mean_over_runs(values, reps=500, seed=study.seed)
        _band(axes, steps, band, style.colour(number), study)
        axes.plot(steps, band.value, color=style.colour(number), linestyle=style.line(number), linewidth=1.5)
        ends = np.concatenate([band.low, band.high, band.value])
        if np.isfinite(ends).any():
            highest, lowest = max(highest, float(np.nanmax(ends))), min(lowest, float(np.nanmin(ends)))
        last = max(last, float(steps[-1]))
    axes.set_title(game, pad=4)
    known = atari57().get(game)
    if known is not None:
        marks = {budget: value for budget, value in known.paper.items() if budget <= 1.001 * last}
        axes.plot(list(marks), list(marks.values()), **DIAMOND, clip_on=False, zorder=4)
        highest, lowest = max([highest, *marks.values()]), min([lowest, *marks.values()])
    if known is not None and np.isfinite(highest):
        if known.human <= highest + 0.6 * (highest - lowest):
            axes.axhline(known.human, color=style.HUMAN, linestyle="--", linewidth=1)
        else:
            text = f"human {score(known.human)} \u2191"
            axes.text(0.03, 0.97, text, transform=axes.transAxes, va="top", fontsize=8.5, color="#333333")
            axes.set_ylim(top=highest + 0.22 * (highest - lowest))
    axes.tick_params(labelsize=8.5)
    axes.locator_params(axis="y", nbins=4)
    axes.yaxis.set_major_formatter(_thousands)
    step_axis(axes, last)


DIAMOND: dict[str, Any] = {
    "linestyle": "none",
    "marker": "D",
    "markersize": 5,
    "markerfacecolor": "white",
    "markeredgecolor": style.PAPER,
}


def interval(
    axes: Any, place: float, estimate: Estimate, entry: Entry | None, number: int = 0, size: float = 6.5
) -> None:
    """A row's point and interval: of a published entry, or of our column of that number."""
    theirs = entry is not None and not entry.ours
    runs = entry is None or entry.has_runs
    colour = style.GREY if theirs else style.colour(number)
    if estimate.low is not None and estimate.high is not None:
        axes.plot([estimate.low, estimate.high], [place, place], color=colour, linewidth=2.6, alpha=0.55)
    axes.plot(
        estimate.value,
        place,
        marker=("o" if theirs else style.marker(number)) if runs else "D",
        markersize=size if runs else 5,
        color=colour if runs else "white",
        markeredgecolor=colour,
        zorder=3,
    )


def _band(axes: Any, x: Floats, band: Band, colour: str, study: Study) -> None:
    if len(study.columns) <= MOST_BANDS:
        axes.fill_between(x, band.low, band.high, color=colour, alpha=0.22, linewidth=0)


def _vertical(axes: Any, minutes: float, estimate: Estimate | None, number: int) -> None:
    if estimate is None:
        return
    colour = style.colour(number)
    if estimate.low is not None and estimate.high is not None:
        axes.plot([minutes, minutes], [estimate.low, estimate.high], color=colour, linewidth=2.6, alpha=0.55)
    axes.plot(minutes, estimate.value, marker=style.marker(number), markersize=9, color=colour, zorder=4)


# where the label of a published point goes, in points, so that neighbours do not meet
_LABELS = {
    ("DE-Rainbow", "median"): (7, -9, "left"),
    ("OT-Rainbow", "median"): (8, 4, "left"),
    ("CURL", "median"): (-8, 0, "right"),
    ("CURL", "mean"): (-7, 0, "right"),
    ("DE-Rainbow", "mean"): (-8, 0, "right"),
    ("OT-Rainbow", "mean"): (8, -6, "left"),
    ("SPR (augmented)", "mean"): (-8, 0, "right"),
    ("SPR (augmented)", "median"): (-8, 0, "right"),
    ("SimPLe", "median"): (-8, 0, "right"),
    ("SimPLe", "mean"): (-8, 0, "right"),
}


def _labelled_point(axes: Any, minutes: float, value: float, name: str, statistic: str) -> None:
    if name == "NAIT":
        axes.plot(minutes, value, **{**DIAMOND, "markersize": 8}, zorder=3)
        return
    axes.plot(minutes, value, marker="s", markersize=7, color=style.GREY, linestyle="none", zorder=3)
    right, up, side = _LABELS.get((name, statistic), (8, 0, "left"))
    axes.annotate(
        name, (minutes, value), xytext=(right, up), textcoords="offset points", ha=side, va="center", fontsize=9
    )


def _time_axis(axes: Any) -> None:
    low, high = axes.get_xlim()
    axes.set_xlim(min(low, 0.5), max(high, 6000))
    ticks = {1: "1 min", 10: "10 min", 60: "1 h", 600: "10 h", 6000: "100 h"}
    axes.set_xticks(list(ticks), list(ticks.values()))
    axes.minorticks_off()


def step_axis(axes: Any, last: float) -> None:
    """Steps from 0, in thousands."""
    axes.set_xlim(0, last)
    axes.locator_params(axis="x", nbins=2)
    axes.xaxis.set_major_formatter(lambda value, _: _short(value))


def rate_axis(axes: Any) -> None:
    """Steps a second on a logarithmic scale."""
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}")
    axes.xaxis.set_minor_formatter(lambda value, _: "")


def _short(steps: float) -> str:
    if steps >= 1_000_000:
        return f"{steps / 1_000_000:g}M"
    return f"{steps / 1000:g}k" if steps >= 1000 else f"{steps:g}"


def _thousands(value: float, place: Any = None) -> str:
    return f"{value / 1000:g}k" if abs(value) >= 1000 else f"{value:g}"


def _bend_beyond_one(axes: Any) -> bool:
    """A logarithmic scale above 1, where scores reach far beyond it."""
    low, high = axes.get_xlim()
    axes.set_xlim(low, high)
    if high <= 3:
        return False
    axes.set_xscale("symlog", linthresh=1.0, linscale=1.5)
    ticks = [tick for tick in (-2, -1, -0.5, 0, 0.25, 0.5, 0.75, 1, 2, 5, 10, 20, 50) if low <= tick <= high]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    return True


def _name_rows(axes: Any, entries: Sequence[Entry]) -> None:
    axes.set_yticks(range(len(entries)), [_brief(e.label) if e.ours else f"{e.label}, published" for e in entries])
    axes.set_ylim(len(entries) - 0.5, -0.5)
    for label, entry in zip(axes.get_yticklabels(), entries, strict=True):
        label.set_fontweight("bold" if entry.ours else "normal")


def _colour(entry: Entry) -> str:
    return style.colour(entry.number) if entry.ours else style.GREY


def legend(figure: Figure, handles: Sequence[Any], loc: Any = "outside upper center") -> None:
    """Above the panels, in as many columns as fit."""
    for handle in handles:
        handle.set_label(_brief(str(handle.get_label())))
    figure.legend(handles=handles, loc=loc, ncols=_legend_columns(figure, handles))


def _legend_columns(figure: Figure, handles: Sequence[Any]) -> int:
    longest = max(len(_brief(str(handle.get_label()))) for handle in handles)
    return max(1, min(len(handles), int(11 * figure.get_size_inches()[0] / (longest + 8))))


def _brief(label: str) -> str:
    return label if len(label) <= LONGEST else f"{label[: LONGEST // 2]}\u2026{label[1 - LONGEST // 2 :]}"


def dot(colour: str, label: str, marker: str = "o") -> Line2D:
    """An entry of a legend."""
    return Line2D([], [], color=colour, marker=marker, linestyle="none", markersize=7, label=label)


def diamond(label: str) -> Line2D:
    """An entry of a legend for the paper's own figures."""
    return Line2D([], [], label=label, **DIAMOND)


def _mean_hns(entry: Entry, game: str) -> float:
    return float(np.mean(entry.normalised([game])[0]))


def _having(entries: Sequence[Entry], game: str) -> Entry:
    return next(entry for entry in entries if game in entry.scores)
