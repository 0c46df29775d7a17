"""The sweeps over hyperparameters: F, M, k and alpha (sensitivity), efs and efc (ef), gamma (discount)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from nait.experiments.plan import HYPERPARAMETERS
from nait.experiments.suites import atari100k
from nait.native_memory import EF_SEARCH_SHARE, LINKS_SHARE
from nait.paper.experiment import Experiment, Page, Request
from nait.paper.figures import Sweep, distributions, picture, score_against_speed
from nait.paper.suite import Outcome, Size, Variant, about, run_variants
from nait.paper.tables import sweep_table
from nait.report import figures
from nait.report.page import Section
from nait.report.study import of_columns

FULL = Size(tuple(atari100k()), seeds=10, steps=100_000)
QUICK = Size(("MsPacman",), seeds=1, steps=8000, episodes=3)
APART = "Freeway"  # the paper's example of a game in which the discount decides


@dataclass(frozen=True)
class Axis:
    """A hyperparameter and the values it takes."""

    name: str
    symbol: str
    values: tuple[float, ...]
    few: tuple[float, ...]
    """Of the quick version."""

    @property
    def default(self) -> str:
        """The paper's value."""
        return f"{HYPERPARAMETERS[self.name]:g}"

    def variants(self, quick: bool) -> list[Variant]:
        """One a value."""
        return [Variant(self.label(value), {self.name: value}) for value in (self.few if quick else self.values)]

    def label(self, value: float) -> str:
        """Of the variant."""
        return f"{self.symbol} = {value:g}"

    def sweep(self, outcome: Outcome, quick: bool) -> Sweep:
        """What was measured."""
        values, columns = self.few if quick else self.values, outcome.columns
        found = [(f"{v:g}", columns[self.label(v)]) for v in values if self.label(v) in columns]
        return Sweep(self.symbol, found, self.default, outcome.speed)


F = Axis("state_dim", "F", (49, 100, 196, 289, 484, 1024), (49, 289, 1024))
LINKS = Axis("M", "M", (10, 20, 40, 80, 160, 320), (10, 40, 160))
K = Axis("k", "k", (4, 16, 32, 64, 128, 256), (4, 64, 256))
ALPHA = Axis("alpha", "alpha", (0.01, 0.05, 0.1, 0.3, 0.5, 1.0), (0.1, 0.5, 1.0))
EFS = Axis("ef_search", "efs", (50, 100, 150, 200, 300, 400), (50, 200, 400))
EFC = Axis("ef_construction", "efc", (50, 100, 150, 200, 300, 400), (50, 200, 400))
GAMMA = Axis("gamma", "gamma", (0.9, 0.95, 0.97, 0.99, 0.995, 0.999, 1.0), (0.9, 0.99, 1.0))


def _run(
    name: str, request: Request, axes: Sequence[Axis], quick: Size = QUICK, *, paced: bool = True
) -> tuple[Outcome, list[Sweep]]:
    variants = [variant for axis in axes for variant in axis.variants(request.quick)]
    outcome = run_variants(name, request, variants, FULL, quick, paced=paced)
    sweeps = [axis.sweep(outcome, request.quick) for axis in axes]
    return outcome, [sweep for sweep in sweeps if len(sweep.values) > 1]


def sensitivity(request: Request) -> Page:
    """Score against speed for F and M, the spread of scores for k and alpha."""
    outcome, found = _run("sensitivity", request, (F, LINKS, K, ALPHA))
    speed = [sweep for sweep in found if sweep.symbol in (F.symbol, LINKS.symbol)]
    spread = [sweep for sweep in found if sweep.symbol in (K.symbol, ALPHA.symbol)]
    return _page(outcome, "sensitivity", found, speed, spread)


def ef(request: Request) -> Page:
    """The spread of scores, and score against speed, for efs and efc."""
    outcome, found = _run("ef", request, (EFS, EFC))
    return _page(outcome, "ef", found, found, found)


NATIVE = (
    f"The native index is measured. It takes {LINKS_SHARE} of M for its links and {EF_SEARCH_SHARE} of efs for its "
    "candidates; the values here are those given to it."
)


def _page(outcome: Outcome, name: str, found: Sequence[Sweep], speed: Sequence[Sweep], spread: Sequence[Sweep]) -> Page:
    parts: list[Any] = [sweep_table(name, "Every value", found)]
    if speed:
        caption = "Median human-normalised score and its 95 % interval against speed. Up and to the right is better."
        parts += picture(f"{name}_speed", caption, lambda: score_against_speed(speed))
    if spread:
        caption = "The games' human-normalised scores, each averaged over its seeds first. Boxes: the middle half."
        parts += picture(f"{name}_scores", caption, lambda: distributions(spread))
    return Page([about(outcome, NATIVE), Section("Score and speed", parts=parts)], failed=outcome.failed)


DISCOUNT_QUICK = replace(QUICK, games=("MsPacman", APART), steps=10_000, episodes=2)


def discount(request: Request) -> Page:
    """Scores over time for every discount, and Freeway's apart."""
    outcome, found = _run("discount", request, (GAMMA,), DISCOUNT_QUICK, paced=False)
    columns = list(outcome.columns.values())
    apart = [replace(column, runs=[run for run in column.runs if run.game == APART]) for column in columns]
    parts: list[Any] = [sweep_table("discount", "Every discount", found)]
    parts += picture(
        "discount",
        "The last five training episodes' score over time, for each discount. Diamonds: the paper's final scores.",
        lambda: figures.learning(of_columns(columns)),
    )
    parts += picture(
        "discount_freeway",
        f"{APART} alone: the mean score of the last five training episodes.",
        lambda: (
            figures.curves(of_columns([column for column in apart if column.runs]))
            if any(column.runs for column in apart)
            else None
        ),
    )
    return Page([about(outcome), Section("Discounts", parts=parts)], failed=outcome.failed)


SENSITIVITY = Experiment(
    "sensitivity",
    "score against speed for F and M, the spread of scores for k and alpha",
    "5,460 runs of 100k steps: one to two weeks of one core",
    sensitivity,
)
EF = Experiment(
    "ef",
    "the index's candidates: efs and efc against score and speed",
    "2,860 runs of 100k steps: days of one core",
    ef,
)
DISCOUNT = Experiment(
    "discount",
    "scores over time for discounts from 0.9 to 1, Freeway apart",
    "1,820 runs of 100k steps: days of one core",
    discount,
)
