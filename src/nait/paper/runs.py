"""The default agent's runs: to 1M steps (long-run), against the clock (walltime), its speed, and the overview."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from nait.errors import NaitError
from nait.experiments import provenance, resources
from nait.experiments.suites import atari57, atari100k
from nait.paper.experiment import SUITE_OPTIONS, Experiment, Page, Request
from nait.paper.figures import picture
from nait.paper.suite import Outcome, Size, Variant, about, run_variants
from nait.paper.tables import comparison_table
from nait.report import figures, published, style
from nait.report.aggregates import Estimate
from nait.report.figures import HNS, diamond, dot, legend, rate_axis
from nait.report.page import Section
from nait.report.results import Column, columns_of, read_source
from nait.report.study import of_columns
from nait.report.tables import game_speed_table, milestones_table, ranges, speed_of, speed_table

NAIT = [Variant("nait")]


# long-run

LONG = Size(tuple(atari57()), seeds=10, steps=1_000_000)
LONG_QUICK = Size(("MsPacman", "Asterix"), seeds=2, steps=10_000, episodes=3)


def long_run(request: Request) -> Page:
    """Median and mean over time, DQN's published level as a line, and the scores after each milestone."""
    outcome = run_variants("long-run", request, NAIT, LONG, LONG_QUICK)
    columns = list(outcome.columns.values())
    (dqn,) = (row for row in published.printed() if row.method == "DQN")
    every = any(game not in atari100k() for column in columns for game in column.games())
    level = (dqn.median_57 or 0.0, dqn.mean_57 or 0.0) if every else (dqn.median_26, dqn.mean_26)
    label = f"DQN after 2M steps, published, {57 if every else 26} games"
    parts: list[Any] = picture(
        "long_run",
        "Median and mean over games of the last five training episodes' score. Bands: 95 % intervals over seeds. "
        "Diamonds: the paper's final scores. Dashed: DQN's as the paper's table gives it.",
        lambda: figures.learning(of_columns(columns), {label: level}),
    )
    parts += [milestones_table(number, column) for number, column in enumerate(columns, 1)]
    parts += picture(
        "long_run_games", "The games one by one.", lambda: figures.curves(of_columns(columns)) if columns else None
    )
    return Page([about(outcome), Section("Scores over time", parts=parts)], failed=outcome.failed)


# walltime

WALL = Size((figures.WALLTIME_GAME,), seeds=10, steps=250_000)
WALL_QUICK = Size((figures.WALLTIME_GAME,), seeds=3, steps=6000, episodes=1)


def walltime(request: Request) -> Page:
    """Every run on its own against the minutes of training."""
    if len(request.games) > 1:
        raise NaitError(f"walltime shows one game, not {len(request.games)}")
    outcome = run_variants("walltime", request, NAIT, WALL, WALL_QUICK)
    columns = list(outcome.columns.values())
    parts: list[Any] = picture(
        "walltime",
        "The score of the last five training episodes every 1,000 steps against the minutes of training; every run on "
        "its own, nothing averaged.",
        lambda: figures.walltime_of_game(of_columns(columns)),
    )
    texts = ("SPR runs on a GPU, NAIT in one CPU thread; SPR's level is the mean of its published runs.", _machine())
    return Page(
        [about(outcome, *texts), Section("Score against time", parts=[*parts, game_speed_table(columns)])],
        failed=outcome.failed,
    )


# speed

SPEED = Size(tuple(atari57()), seeds=1, steps=100_000, episodes=1)
SPEED_QUICK = Size(("MsPacman", "Asterix"), seeds=1, steps=4000, episodes=1)


def speed(request: Request) -> Page:
    """Steps a second and the time of the full set beside the paper's table."""
    outcome = run_variants("speed", request, NAIT, SPEED, SPEED_QUICK)
    columns = list(outcome.columns.values())
    parts: list[Any] = [speed_table(columns)]
    parts += picture(
        "speed",
        "Steps a second. Ours: one thread, and all cores of this machine if each keeps that rate.",
        lambda: draw_speed(columns),
    )
    parts.append(game_speed_table(columns))
    return Page([about(outcome, _machine()), Section("Speed", parts=parts)], failed=outcome.failed)


def _machine() -> str:
    machine = provenance.machine()
    return f"This machine: {machine['cpu']}, {resources.cores()} cores for runs, {machine['system']}."


def draw_speed(columns: Sequence[Column]) -> Figure | None:
    """A bar a method, on a logarithmic scale."""
    found = next((rate for column in columns if (rate := speed_of(column)) is not None), None)
    if found is None:
        return None
    names = {"NAIT": published.PAPER}
    bars = [(f"{names.get(s.method, s.method)}, {s.hardware}", s.itr_s, style.GREY) for s in published.speeds()]
    cores = resources.cores()
    bars.append(("ours, one CPU thread", found[0], style.colour(0)))
    bars.append((f"ours, {cores} cores at that rate", cores * found[0], style.OURS[5]))
    bars.sort(key=lambda bar: bar[1])
    figure = Figure(figsize=(0.85 * style.WIDTH, 1.0 + 0.32 * len(bars)), layout="constrained")
    axes = figure.subplots()
    axes.barh(range(len(bars)), [bar[1] for bar in bars], color=[bar[2] for bar in bars], height=0.6)
    for place, (_, value, _) in enumerate(bars):
        axes.text(1.1 * value, place, f"{value:,.4g}" if value < 1000 else f"{value:,.0f}", va="center", fontsize=9)
    axes.set_yticks(range(len(bars)), [bar[0] for bar in bars])
    rate_axis(axes)
    axes.set_xlim(right=8 * max(bar[1] for bar in bars))
    axes.set_xlabel(
        "steps a second (dark blue: measured; light blue: computed from it; grey: as the paper prints them)"
    )
    axes.grid(axis="y", visible=False)
    return figure


# overview

OVERVIEW = Size(tuple(atari100k()), seeds=10, steps=100_000)
OVERVIEW_QUICK = Size(("MsPacman", "Asterix"), seeds=1, steps=4000, episodes=3)


def overview(request: Request) -> Page:
    """Median score against speed for all methods."""
    outcome = _given(request) if request.results is not None else None
    outcome = outcome or run_variants("overview", request, NAIT, OVERVIEW, OVERVIEW_QUICK)
    columns = list(outcome.columns.values())
    parts: list[Any] = picture(
        "overview",
        "Median human-normalised score on the 26 games against steps a second. Up and to the right is better. The "
        "published methods: scores after 100k steps and rates as the paper prints them.",
        lambda: draw_overview(columns),
    )
    parts += [*comparison_table("overview", "Aggregates", columns), speed_table(columns)]
    return Page([about(outcome), Section("Score against speed", parts=parts)], failed=outcome.failed)


def _given(request: Request) -> Outcome:
    """Runs that are there already."""
    assert request.results is not None
    if request.games or request.seeds or request.steps is not None or request.episodes is not None:
        raise NaitError("--results has its own runs: leave out --games, --seeds, --steps and --episodes")
    source = read_source(request.results)
    columns = {column.label: column for column in columns_of([source]) if column.done}
    seeds = sorted({seed for column in columns.values() for seed in column.seeds})
    games = max((len(column.games()) for column in columns.values()), default=0)
    text = f"{games} games, seeds {ranges(seeds)}, read from {request.results}."
    return Outcome(columns, text, [f"Left out: {line}" for line in source.damaged], 0)


LABELS = {"DrQ": (-8, -3, "right"), "OT-Rainbow": (8, -8, "left")}  # where they meet no others


def draw_overview(columns: Sequence[Column]) -> Figure:
    """Ours as measured in one thread beside the published methods."""
    figure = Figure(figsize=(0.8 * style.WIDTH, 4.8), layout="constrained")
    axes = figure.subplots()
    scores = {row.method: row.median_26 for row in published.printed() if row.samples == published.BUDGET}
    for known in published.speeds():
        if known.method not in scores:
            continue
        theirs = known.method == "NAIT"
        look: dict[str, Any] = {"marker": "s", "markersize": 7, "color": style.GREY, "linestyle": "none"}
        axes.plot(known.itr_s, scores[known.method], **(figures.DIAMOND | {"markersize": 8} if theirs else look))
        name = f"NAIT (paper), {known.hardware}" if theirs else known.method
        right, up, side = (0, 9, "center") if theirs else LABELS.get(known.method, (8, -3, "left"))
        axes.annotate(
            name, (known.itr_s, scores[known.method]), (right, up), textcoords="offset points", fontsize=9, ha=side
        )
    handles: list[Any] = []
    study = of_columns(columns)
    rows = study.sets[0][1] if study.sets else []
    for number, column in enumerate(columns):
        found = speed_of(column)
        score: Estimate | None = next(
            (row.estimates["median"] for row in rows if row.entry.label == column.label), None
        )
        if found is None or score is None:
            continue
        colour = style.colour(number)
        if score.low is not None and score.high is not None:
            axes.plot([found[0]] * 2, [score.low, score.high], color=colour, linewidth=2.6, alpha=0.5)
        axes.plot(found[0], score.value, marker=style.marker(number), markersize=10, color=colour, linestyle="none")
        label = f"{column.label}, one CPU thread, {len(study.sets[0][0].games)} games"
        handles.append(dot(colour, label, style.marker(number)))
    handles += [dot(style.GREY, "published, GPU node", "s"), diamond("the paper's NAIT")]
    rate_axis(axes)
    low, high = axes.get_xlim()
    axes.set_xlim(low, 60 * high)  # room for the last label
    axes.set_ylim(min(0.0, axes.get_ylim()[0]), 1.05 * axes.get_ylim()[1])
    axes.set_xlabel("steps a second")
    axes.set_ylabel(f"median {HNS}")
    legend(figure, handles)
    return figure


LONG_RUN = Experiment(
    "long-run",
    "scores to 1M steps over the 57 games, DQN's published level as a line",
    "570 runs of 1M steps: one to two weeks of one core",
    long_run,
)
WALLTIME = Experiment(
    "walltime",
    "raw score against the clock on MsPacman, ten runs laid over each other, SPR's level beside them",
    "10 runs of 250k steps: about an hour of one core",
    walltime,
)
SPEED_EXPERIMENT = Experiment(
    "speed",
    "steps a second and time for the full set on this machine, beside the paper's table",
    "57 runs of 100k steps: a few hours of one core",
    speed,
)
OVERVIEW_EXPERIMENT = Experiment(
    "overview",
    "the paper's first figure: median score against speed for all methods, ours measured",
    "260 runs of 100k steps: half a day of one core; seconds with --results",
    overview,
    (*SUITE_OPTIONS, "results"),
)
