"""The report's tables, as text in cells; `page.py` writes them as HTML and as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from nait.experiments.suites import BUDGETS, atari57, atari100k
from nait.report import comparison, published
from nait.report.aggregates import STATISTICS, Estimate, aggregate
from nait.report.comparison import Entry
from nait.report.results import Column, Milestone, differences, in_order
from nait.report.study import Row, Study

OURS, PUBLISHED, PLAIN = "ours", "published", ""
NONE = "–"  # noqa: RUF001 (a dash for an empty cell)
BUDGET_NAMES = {100_000: "100k", 250_000: "250k", 500_000: "500k", 750_000: "750k", 1_000_000: "1M", 2_000_000: "2M"}


@dataclass(frozen=True)
class Table:
    """Cells of text under headings; columns and rows say whether they are ours or published."""

    name: str
    title: str
    headings: list[tuple[str, str]]
    """Text and kind."""
    rows: list[tuple[str, list[str]]]
    """Kind and cells."""
    notes: tuple[str, ...] = ()


def score(value: float) -> str:
    """A raw score."""
    digits = 0 if abs(value) >= 1000 else 1
    return f"{round(value, digits) + 0.0:,.{digits}f}"  # no -0.0


def hns(value: float) -> str:
    """A human-normalised score."""
    return f"{value:.3f}"


def interval(estimate: Estimate | None, form: Callable[[float], str]) -> str:
    """A value and its interval in brackets."""
    if estimate is None:
        return NONE
    if estimate.low is None or estimate.high is None:
        return form(estimate.value)
    return f"{form(estimate.value)} [{form(estimate.low)}, {form(estimate.high)}]"


def score_interval(estimate: Estimate) -> str:
    """A raw score and its interval, all with as many decimals."""
    ends = [value for value in (estimate.value, estimate.low, estimate.high) if value is not None]
    digits = 0 if max(map(abs, ends)) >= 1000 else 1
    return interval(estimate, lambda value: f"{round(value, digits) + 0.0:,.{digits}f}")


def steps_name(steps: int | None) -> str:
    """100k and the like."""
    return BUDGET_NAMES.get(steps or 0, f"{steps:,}" if steps else NONE)


def runs_table(columns: Sequence[Column]) -> Table:
    """What was run, at a glance."""
    rows = []
    for column in columns:
        facts = column.facts()
        missing = sum(map(len, column.missing().values()))
        scored = [run.scores[column.budget] for run in column.done if column.budget in run.scores]
        cells = [
            column.label,
            str(len(column.games())),
            ranges(column.seeds),
            ", ".join(map(steps_name, column.milestones)) or NONE,
            str(len(scored)),
            str(len(column.failed)),
            str(missing),
            spread([m.episodes for m in scored if m.episodes is not None]),
            ", ".join(value[:16] for value in facts.get("commit", [NONE])),
        ]
        rows.append((OURS, cells))
    names = ("column", "games", "seeds", "steps", "runs scored", "failed", "missing", "episodes a score", "commit")
    return Table("runs", "What was run", [(name, PLAIN) for name in names], rows)


def aggregates_table(name: str, title: str, rows: Sequence[Row]) -> Table:
    """Median, mean, IQM and optimality gap of each entry."""
    cells = [
        (
            OURS if row.entry.ours else PUBLISHED,
            [
                row.entry.label,
                spread([len(row.entry.scores[game]) for game in row.games]) if row.entry.has_runs else "means only",
                *(interval(row.estimates[statistic], hns) for statistic in STATISTICS),
            ],
        )
        for row in rows
    ]
    headings = ["", "runs a game", *STATISTICS]
    return Table(name, title, [(heading, PLAIN) for heading in headings], cells)


def improvement_table(study: Study) -> Table:
    """The probability that a run of one of ours beats one of another's."""
    rows = [
        (
            PLAIN,
            [
                found.ours,
                found.other.label if found.other.ours else f"{found.other.label}, published",
                str(found.games),
                spread([len(runs) for runs in found.other.scores.values()]) if found.other.has_runs else "means only",
                interval(found.estimate, hns),
            ],
        )
        for found in study.improvements
    ]
    headings = [("X", OURS), ("Y", PLAIN), ("games", PLAIN), ("runs of Y a game", PLAIN), ("P(X > Y)", PLAIN)]
    notes = ("Where only the games' means of Y are published, X is compared with these, which is no run's score.",)
    return Table("improvement", "Probability of improvement", headings, rows, notes)


def games_table(study: Study) -> Table:
    """Every game with a score: ours beside random play, a human's, the paper's and the published methods'."""
    games = [game for game in in_order({g for e in study.entries for g in e.scores}) if game in atari57()]
    others = [other for other in study.others if any(game in other.scores for game in games)]
    headings = [("game", PLAIN), ("random", PUBLISHED), ("human", PUBLISHED)]
    for entry in study.entries:
        headings += [(entry.label, OURS), ("HNS", OURS)]
    for other in others:
        headings += [(other.label, PUBLISHED), *([("HNS", PUBLISHED)] if other.label == published.PAPER else [])]
    rows = []
    for name in games:
        game = atari57()[name]
        cells = [name, score(game.random), score(game.human)]
        for entry in study.entries:
            cells += _score_and_hns(entry, name, study.seed)
        for other in others:
            shown = _score_and_hns(other, name, study.seed, bare=True)
            cells += shown if other.label == published.PAPER else shown[:1]
        rows.append((PLAIN, cells))
    return Table("games", "Scores by game", headings, rows)


def _score_and_hns(entry: Entry, name: str, seed: int, bare: bool = False) -> list[str]:
    runs = entry.scores.get(name)
    if runs is None:
        return [NONE, NONE]
    mean = float(np.mean(runs))
    text = score(mean) if bare else score_interval(comparison.game_estimate(runs, seed))
    return [text, f"{atari57()[name].normalised(mean):.2f}"]


def standing_table(study: Study) -> Table:
    """How many games reach the paper's mean: with their own mean, with its interval at the least, or not."""
    paper = comparison.of_method(published.paper(comparison.paper_budget(study.budget)))
    rows = []
    for entry in study.entries:
        reached: dict[str, list[str]] = {"mean": [], "interval": [], "none": []}
        for game in in_order(entry.scores.keys() & paper.scores.keys()):
            found, aim = comparison.game_estimate(entry.scores[game], study.seed), float(np.mean(paper.scores[game]))
            top = found.value if found.high is None else found.high
            reached["mean" if found.value >= aim else "interval" if top >= aim else "none"].append(game)
        counts = [str(len(games)) for games in reached.values()]
        if any(reached.values()):
            rows.append((OURS, [entry.label, *counts, ", ".join(reached["none"]) or NONE]))
    names = ("", "games at or above the paper's mean", "below it, the interval reaches it", "below it", "which")
    return Table("standing", "Beside the paper's means", [(name, PLAIN) for name in names], rows)


def other_games_table(study: Study) -> Table:
    """Environments that have no human score."""
    games = [game for game in in_order({g for e in study.entries for g in e.scores}) if game not in atari57()]
    headings = [("environment", PLAIN), *((entry.label, OURS) for entry in study.entries)]
    rows = []
    for game in games:
        cells = [game]
        for entry in study.entries:
            runs = entry.scores.get(game)
            cells.append(NONE if runs is None else score_interval(comparison.game_estimate(runs, study.seed)))
        rows.append((PLAIN, cells))
    return Table("other_games", "Other environments", headings, rows)


def milestones_table(number: int, column: Column) -> Table:
    """A column's scores after each milestone beside the paper's."""
    milestones = column.milestones
    found = {steps: column.scores(steps) for steps in milestones}
    headings = [("game", PLAIN)]
    for steps in milestones:
        headings.append((f"{column.label} {steps_name(steps)}", OURS))
        if steps in BUDGETS:
            headings.append((f"paper {steps_name(steps)}", PUBLISHED))
    rows = []
    for name in in_order({game for scores in found.values() for game in scores}):
        cells = [name]
        for steps in milestones:
            runs = found[steps].get(name)
            cells.append(NONE if runs is None else score(float(np.mean(runs))))
            if steps in BUDGETS:
                known = atari57()[name].paper.get(steps) if name in atari57() else None
                cells.append(NONE if known is None else score(known))
        rows.append((PLAIN, cells))
    rows += _milestone_aggregates(column, milestones)
    notes = (
        "The medians and means are over the games that both ours and the paper's table have after that many steps.",
    )
    return Table(f"milestones_{number}", f"Scores after each milestone: {column.label}", headings, rows, notes)


def _milestone_aggregates(column: Column, milestones: Sequence[int]) -> list[tuple[str, list[str]]]:
    """Median and mean HNS after each milestone, ours with intervals and the paper's, over the same games."""
    cells: dict[str, list[str]] = {}
    for steps in milestones:
        mine = Entry(column.label, True, column.scores(steps))
        paper = comparison.of_method(published.paper(steps)) if steps in BUDGETS else None
        for title, wanted in (("26 games", atari100k()), ("all games", atari57())):
            games = [game for game in wanted if game in mine.scores and (paper is None or game in paper.scores)]
            if not games:
                continue
            found = [aggregate(entry.normalised(games)) for entry in (mine, *([paper] if paper else []))]
            for statistic in ("median", "mean"):
                row = cells.setdefault(f"{statistic} HNS, {title}", [])
                row += [interval(estimates[statistic], hns) for estimates in found]
    width = sum(2 if steps in BUDGETS else 1 for steps in milestones)
    if cells.get("mean HNS, 26 games") == cells.get("mean HNS, all games"):
        cells = {name: row for name, row in cells.items() if name.endswith("26 games")}
    return [("foot", [name, *row]) for name, row in cells.items() if len(row) == width]


def speed_of(column: Column) -> tuple[float, float] | None:
    """Steps a second and seconds of training a run: the median over games of the means over seeds."""
    found: dict[str, list[Milestone]] = {}
    for run in column.done:
        if column.budget in run.scores and run.scores[column.budget].itr_s:
            found.setdefault(run.game, []).append(run.scores[column.budget])
    if not found:
        return None
    rates = [float(np.mean([m.itr_s for m in runs if m.itr_s])) for runs in found.values()]
    times = [float(np.mean([m.training_s for m in runs if m.training_s])) for runs in found.values()]
    return median(rates), median(times)


def speed_table(columns: Sequence[Column]) -> Table:
    """Ours as measured, in one thread a run, beside the paper's table."""
    rows = []
    for column in columns:
        speed = speed_of(column)
        if speed is None:
            continue
        rate, seconds = speed
        hardware = f"one thread, {', '.join(machine_names(column))}" if machine_names(column) else "one CPU thread"
        hours = 57 * published.BUDGET / rate / 3600
        scaled = seconds * published.BUDGET / (column.budget or published.BUDGET)
        rows.append((OURS, [column.label, hardware, f"{rate:,.0f}", _minutes(scaled / 60), f"{hours:,.2f}"]))
    for known in published.speeds():
        hours = known.hours_57 if known.hours_57 is not None else 57 * known.minutes_a_game / 60
        node = known.itr_s > 10_000
        rows.append(
            (
                PUBLISHED,
                [
                    published.PAPER if known.method == "NAIT" else known.method,
                    known.hardware,
                    f"{known.itr_s:,.4g}" if known.itr_s < 1000 else f"{known.itr_s:,.0f}",
                    NONE if node else _minutes(known.minutes_a_game),
                    f"{hours:,.2f}",
                ],
            )
        )
    headings = ["", "on", "steps/s", "minutes for 100k steps", "hours for 57 games"]
    notes = (
        "Ours: the median over games of the mean over seeds, each run in one thread, as many at once as the benchmark "
        "was told; the hours are those of one thread. Training alone, without the evaluation after it.",
        "Published: the paper's speed table, and the single thread's rate from its table of ablations. The speed table "
        "has the rates of a whole node. For methods on GPUs they are taken for the rate of one run, as the paper's own "
        "4.6 hours for SPR are; NAIT's is that of many runs at once. The text also says 7.2 minutes a game in one "
        "thread.",
    )
    return Table("speed", "Speed", [(heading, PLAIN) for heading in headings], rows, notes)


def game_speed_table(columns: Sequence[Column]) -> Table:
    """Rate, minutes of training (and with evaluation, where that was timed) and memory of each game."""
    shown = [column for column in columns if speed_of(column) is not None]
    headings = [("game", PLAIN)]
    for column in shown:
        prefix = f"{column.label}: " if len(shown) > 1 else ""
        headings += [(f"{prefix}steps/s", OURS), ("minutes", OURS), ("with evaluation", OURS), ("states", OURS)]
    rows = []
    for game in in_order({game for column in shown for game in column.games()}):
        cells = [game]
        for column in shown:
            runs = [r.scores[column.budget] for r in column.done if r.game == game and column.budget in r.scores]
            cells += [
                _mean([m.itr_s for m in runs if m.itr_s], lambda x: f"{x:,.0f}"),
                _mean([m.training_s / 60 for m in runs if m.training_s], _minutes),
                _mean([m.walltime_s / 60 for m in runs if m.walltime_s], _minutes),
                _mean([m.states for m in runs if m.states is not None], lambda x: f"{x:,.0f}"),
            ]
        rows.append((PLAIN, cells))
    return Table("game_speed", "Speed by game", headings, rows)


def differences_table(columns: Sequence[Column]) -> Table:
    """What is not the same in all columns."""
    found = differences(columns)
    headings = [("", PLAIN), *((column.label, OURS) for column in columns)]
    return Table("differences", "What differs", headings, [(PLAIN, [name, *values]) for name, values in found.items()])


def printed_table() -> Table:
    """Medians and means as printed in papers."""
    rows = []
    for row in published.printed():
        values = (row.median_26, row.mean_26, row.median_57, row.mean_57)
        name = f"{row.method} (pretrained)" if row.section == "pretrained" else row.method
        cells = [name, steps_name(row.samples), *(NONE if v is None else f"{v:g}" for v in values)]
        rows.append((PLAIN, cells))
    headings = ["method", "steps", "median, 26 games", "mean, 26 games", "median, 57 games", "mean, 57 games"]
    notes = ("From the paper's table of final performance; BBF from its own paper, about 7 GPU hours a game.",)
    return Table("printed", "Medians and means as printed", [(name, PLAIN) for name in headings], rows, notes)


def recomputed_table() -> Table:
    """The paper's printed medians and means beside those of its rows."""
    rows = [
        (
            PLAIN,
            [
                f"{row.games} games",
                steps_name(row.budget),
                f"{row.printed_median:.4f}",
                f"{row.median:.4f}",
                f"{row.printed_mean:.4f}",
                f"{row.mean:.4f}",
            ],
        )
        for row in comparison.paper_recomputed()
    ]
    headings = ["over", "steps", "median, printed", "median, its rows", "mean, printed", "mean, its rows"]
    notes = ("The paper's table of scores leaves Surround out: 56 rows where it prints aggregates of 57 games.",)
    return Table("recomputed", "The paper's aggregates recomputed", [(name, PLAIN) for name in headings], rows, notes)


def ranges(numbers: Sequence[int]) -> str:
    """0 to 9 as `0-9`."""
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)


def spread(numbers: Sequence[int]) -> str:
    """`50`, or `8-50` where they differ."""
    if not numbers:
        return NONE
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low}-{high}"


def _minutes(value: float) -> str:
    return f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def _mean(values: Sequence[float], form: Callable[[float], str]) -> str:
    return form(float(np.mean(values))) if values else NONE


def machine_names(column: Column) -> list[str]:
    """The processors that a column's runs were made on."""
    facts = column.facts()
    names = ("machine cpu", "machine model", "machine processor")
    return next((facts[name] for name in names if name in facts), [])
