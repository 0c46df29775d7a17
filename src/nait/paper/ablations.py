"""The table of ablations: what each part of the agent adds to its score and to its speed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from matplotlib.figure import Figure

from nait.experiments.run import LOG_EVERY
from nait.experiments.suites import atari100k
from nait.paper.experiment import Experiment, Page, Request
from nait.paper.figures import aggregates, picture
from nait.paper.suite import Outcome, Size, Variant, about, run_variants
from nait.paper.tables import DIFFERENCE, difference_cells, rate
from nait.report import style
from nait.report.aggregates import Estimate
from nait.report.figures import HNS, diamond, dot, legend, rate_axis
from nait.report.page import Section
from nait.report.results import Column
from nait.report.tables import NONE, OURS, PLAIN, PUBLISHED, Table, hns, interval, steps_name


@dataclass(frozen=True)
class Ablation:
    """A row of the table: the paper's median HNS and steps a second, None where it gives none."""

    component: str
    replacement: str
    settings: dict[str, Any]
    score: float | None
    itr_s: float | None
    speed_only: bool = False
    beside: str = "NAIT"
    """The row that its scores are compared with, by its label."""

    @property
    def label(self) -> str:
        """In a few words."""
        return f"{self.component}: {self.replacement}" if self.replacement else self.component


PLAIN_TEXT = "NAIT by the paper's text alone"
TEXT: dict[str, Any] = {"alpha_up": 0.1, "epsilon": 0.0, "trace_end": "episode", "play": "greedy", "play_reach": 1}
ABLATIONS = (
    Ablation("NAIT", "", {}, 0.312, 163.4),
    Ablation("DCT projection", "very sparse", {"representation": "very_sparse"}, 0.215, 121.3),
    Ablation("DCT projection", "sparse", {"representation": "sparse"}, 0.281, 91.4),
    Ablation("DCT projection", "none", {"representation": "identity"}, None, 1.5, speed_only=True),
    Ablation("tie-break", "uniform", {"tie_break": "uniform"}, 0.121, 125.3),
    Ablation("inter-trace update", "Monte-Carlo", {"update": "monte_carlo"}, 0.136, 141.2),
    Ablation("tricubic kernel", "mean", {"kernel": "uniform"}, 0.284, 161.4),
    Ablation("better returns at once", "one rate", {"alpha_up": 0.1}, None, None),
    Ablation("known first in play", "greedy", {"play": "greedy"}, None, None),
    Ablation("twice as many neighbours in play", "k", {"play_reach": 1}, None, None),
    Ablation("held random actions", "none", {"epsilon": 0.0}, None, None),
    Ablation(PLAIN_TEXT, "", TEXT, None, None),
    Ablation("tie-break, text alone", "uniform", TEXT | {"tie_break": "uniform"}, None, None, beside=PLAIN_TEXT),
    Ablation("tie-break, text alone", "the first", TEXT | {"tie_break": "first"}, None, None, beside=PLAIN_TEXT),
    Ablation("update, text alone", "Monte-Carlo", TEXT | {"update": "monte_carlo"}, None, None, beside=PLAIN_TEXT),
    Ablation("native index", "KD-tree", {"index": "kdtree"}, None, 0.3, speed_only=True),
)
FULL = Size(tuple(atari100k()), seeds=10, steps=100_000, speed_steps=5000)
QUICK = Size(("MsPacman",), seeds=1, steps=2500, episodes=2, speed_steps=2000)


def make(request: Request) -> Page:
    """Run the variants; a table beside the paper's, and the same as a figure."""
    variants = [Variant(row.label, row.settings, row.speed_only) for row in ABLATIONS]
    outcome = run_variants("ablations", request, variants, FULL, QUICK, paced=True)
    whole = [outcome.columns[row.label] for row in ABLATIONS if row.label in outcome.columns and not row.speed_only]
    scores = aggregates(whole)["median"]
    speeds = {row.label: _speed(row, outcome) for row in ABLATIONS}
    rows = [_cells(row, outcome.columns, scores.get(row.label), speeds[row.label]) for row in ABLATIONS]
    few = next(
        (column.budget for row in ABLATIONS if row.speed_only and (column := outcome.columns.get(row.label))), None
    )
    headings = [("component", PLAIN), ("replaced by", PLAIN)]
    headings += [("median HNS", OURS), ("median HNS", PUBLISHED)]
    headings += [(heading, OURS) for heading in DIFFERENCE] + [("steps/s", OURS), ("steps/s", PUBLISHED)]
    drawn = picture(
        "ablations",
        "Median human-normalised score with its 95 % interval, and steps a second. Diamonds: the paper's.",
        lambda: draw(outcome.columns, scores, speeds),
    )
    texts = (
        "Raw frames are no states of the native index: they search with hnswlib.",
        f"Raw frames and the KD-tree were run for {steps_name(few)} steps and for their speed alone, that of the last "
        "1,000. Both slow down as the memory grows, so whole runs are slower still.",
        "Better returns at once, what is known first in play, more neighbours there, and held random actions are this "
        "implementation's own. The rows by the paper's text alone are without them, and their traces end with the "
        "episode instead of a life.",
        "Differences are from NAIT; those of the variants of the text alone from NAIT by the paper's text alone.",
        "The paper's figures are over the 26 games after 100k steps, on an AWS c5d.24xlarge.",
    )
    table = Table("ablations", "Ablations", headings, [(PLAIN, row) for row in rows])
    return Page([about(outcome, *texts), Section("Ablations", parts=[table, *drawn])], failed=outcome.failed)


def _cells(row: Ablation, columns: Mapping[str, Column], score: Estimate | None, speed: float | None) -> list[str]:
    column = columns.get(row.label)
    return [
        row.component,
        row.replacement or NONE,
        interval(score, hns),
        NONE if row.score is None else hns(row.score),
        *difference_cells(None if row.speed_only else column, columns.get(row.beside)),
        rate(speed),
        NONE if row.itr_s is None else f"{row.itr_s:g}",
    ]


def _speed(row: Ablation, outcome: Outcome) -> float | None:
    """Steps a second; of a variant that is run for its speed alone, those at the end, when its memory is searched."""
    column = outcome.columns.get(row.label)
    if column is None:
        return None
    late = [
        LOG_EVERY / (run.curve.seconds[-1] - run.curve.seconds[-2])
        for run in column.done
        if row.speed_only and run.curve is not None and run.curve.seconds is not None and len(run.curve.seconds) > 1
    ]
    return float(median(late)) if late else outcome.speed(column)


def draw(columns: Mapping[str, Column], scores: Mapping[str, Estimate], speeds: Mapping[str, float | None]) -> Figure:
    """Scores on the left, speeds on the right, a row an ablation that was run."""
    shown = [row for row in ABLATIONS if row.label in columns]
    figure = Figure(figsize=(style.WIDTH, 1.4 + 0.36 * len(shown)), layout="constrained")
    panels: Any = figure.subplots(1, 2, sharey=True)
    for place, row in enumerate(shown):
        score = scores.get(row.label)
        if score is not None:
            _point(panels[0], place, score)
        speed = speeds[row.label]
        if speed is not None:
            _point(panels[1], place, Estimate(speed))
    _diamonds(panels[0], [row.score for row in shown])
    _diamonds(panels[1], [row.itr_s for row in shown])
    panels[0].set_yticks(range(len(shown)), [row.label for row in shown])
    panels[0].set_ylim(len(shown) - 0.5, -0.5)
    panels[0].set_xlim(left=min(0.0, panels[0].get_xlim()[0]))
    panels[0].set_xlabel(f"median {HNS}")
    panels[1].set_xlabel("steps a second, one thread")
    rate_axis(panels[1])
    legend(figure, [dot(style.colour(0), "ours, measured"), diamond("the paper's")])
    return figure


def _point(axes: Any, place: int, estimate: Estimate) -> None:
    if estimate.low is not None and estimate.high is not None:
        axes.plot([estimate.low, estimate.high], [place, place], color=style.colour(0), linewidth=2.6, alpha=0.5)
    axes.plot(estimate.value, place, marker="o", markersize=7, color=style.colour(0), linestyle="none")


def _diamonds(axes: Any, values: Sequence[float | None]) -> None:
    places = [place for place, value in enumerate(values) if value is not None]
    known = [value for value in values if value is not None]
    axes.plot(known, places, linestyle="none", marker="D", markerfacecolor="none", markeredgecolor=style.PAPER)


EXPERIMENT = Experiment(
    "ablations",
    "what the representation, the tie-break, the update, the kernel and the index add to score and speed",
    "3,640 runs of 100k steps: days of one core, hours of a node",
    make,
)
