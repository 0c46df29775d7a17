"""Published figures on these games: single runs, printed aggregates, speeds. `data/SOURCES.md` says whence."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np

from nait.errors import NaitError
from nait.experiments.suites import atari57
from nait.report.aggregates import Floats

PAPER = "NAIT (paper)"
BUDGET = 100_000  # steps after which the other methods were scored


@dataclass(frozen=True)
class Method:
    """A method's scores by game: its single runs, or one figure a game, the mean of its runs."""

    name: str
    scores: dict[str, Floats]
    has_runs: bool


@dataclass(frozen=True)
class Printed:
    """Aggregates as a paper prints them; None where it prints none."""

    method: str
    section: str
    samples: int
    median_26: float
    mean_26: float
    median_57: float | None
    mean_57: float | None
    source: str


@dataclass(frozen=True)
class PrintedSpeed:
    """A row of the paper's speed table, or its single thread's rate."""

    method: str
    hardware: str
    itr_s: float
    hours_57: float | None

    @property
    def minutes_a_game(self) -> float:
        """For 100,000 steps at this rate."""
        return BUDGET / self.itr_s / 60


@cache
def methods() -> dict[str, Method]:
    """The methods with scores for each of the 26 games, by name."""
    scores: dict[str, dict[str, Floats]] = {}
    for row in _rows("runs.csv"):
        scores.setdefault(row["method"], {})[row["game"]] = np.array(row["scores"].split(), dtype=np.float64)
    found = [Method(name, games, max(map(len, games.values())) > 1) for name, games in scores.items()]
    return {method.name: method for method in found}


@cache
def paper(budget: int = BUDGET) -> Method:
    """NAIT's own means over ten seeds after so many steps."""
    scores = {name: np.array([game.paper[budget]]) for name, game in atari57().items() if budget in game.paper}
    return Method(PAPER, scores, has_runs=False)


def find_method(name: str) -> Method | None:
    """By name, in any case; `paper` and `NAIT` are the paper's own figures."""
    known = {method.casefold(): found for method, found in methods().items()}
    return {**known, "paper": paper(), "nait": paper(), PAPER.casefold(): paper()}.get(name.casefold())


def method_or_error(name: str) -> Method:
    """As `find_method`, but a name that nobody has is a mistake."""
    method = find_method(name)
    if method is None:
        raise NaitError(f"{name} is neither a folder nor one of the published methods: paper, {', '.join(methods())}")
    return method


@cache
def printed() -> tuple[Printed, ...]:
    """The table of final performance, and BBF."""
    return tuple(
        Printed(
            row["method"],
            row["section"],
            int(row["samples"]),
            float(row["median_26"]),
            float(row["mean_26"]),
            float(row["median_57"]) if row["median_57"] else None,
            float(row["mean_57"]) if row["mean_57"] else None,
            row["source"],
        )
        for row in _rows("aggregates.csv")
    )


@cache
def speeds() -> tuple[PrintedSpeed, ...]:
    """The paper's speed table."""
    return tuple(
        PrintedSpeed(
            row["method"],
            row["hardware"],
            float(row["itr_s"]),
            float(row["hours_57"]) if row["hours_57"] else None,
        )
        for row in _rows("speeds.csv")
    )


def _rows(name: str) -> list[dict[str, str]]:
    text = resources.files("nait.report").joinpath("data", name).read_text()
    return list(csv.DictReader(text.splitlines()))
