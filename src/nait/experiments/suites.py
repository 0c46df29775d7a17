"""The 57 games, the 26 of Atari 100k among them, with random, human and the paper's scores.

The figures are those of the paper's appendix table; it leaves Surround out, whose random and human
scores are those of Wang et al. (2016), "Dueling Network Architectures".
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

BUDGETS = {100_000: "nait_100k", 250_000: "nait_250k", 500_000: "nait_500k", 750_000: "nait_750k", 1_000_000: "nait_1m"}


@dataclass(frozen=True)
class Game:
    """Published figures of one game."""

    name: str
    in_atari100k: bool
    random: float
    human: float
    paper: dict[int, float]
    """The paper's score after so many interactions; empty for Surround."""

    def normalised(self, score: float) -> float:
        """HNS: 0 for random play, 1 for a human's."""
        return (score - self.random) / (self.human - self.random)


@cache
def atari57() -> dict[str, Game]:
    """All games by name."""
    text = resources.files("nait.experiments").joinpath("atari_scores.csv").read_text()
    return {
        row["game"]: Game(
            row["game"],
            row["in_atari100k"] == "1",
            float(row["random"]),
            float(row["human"]),
            {budget: float(row[column]) for budget, column in BUDGETS.items() if row[column]},
        )
        for row in csv.DictReader(text.splitlines())
    }


@cache
def atari100k() -> dict[str, Game]:
    """The 26 games of the benchmark."""
    return {name: game for name, game in atari57().items() if game.in_atari100k}


def normalised_scores(scores: Mapping[str, float]) -> dict[str, float]:
    """HNS of those games that have published figures."""
    return {game: atari57()[game].normalised(score) for game, score in scores.items() if game in atari57()}
