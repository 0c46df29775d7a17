"""The pace of an agent's variants, side by side.

Runs of a benchmark tell their speed too, but those of one variant may have been made on another machine, or beside
other work, than those of the next. So every fourth game is played once more by all variants, which take turns of a few
steps in one process of one thread: whatever else the machine does falls on all alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from nait.errors import NaitError
from nait.experiments.plan import Job
from nait.experiments.run import new_agent
from nait.experiments.speed import apart, in_turns
from nait.paper.measured import measured, read


@dataclass(frozen=True)
class Plan:
    """What is measured."""

    steps: int = 20_000
    """Of each variant in each game; the second half of them is timed."""
    block: int = 250
    """Steps that one variant takes before it is the next one's turn."""

    def within(self, steps: int) -> Plan:
        """Of runs that are no longer than `steps`."""
        return Plan(min(self.steps, steps), self.block)


FULL = Plan()
QUICK = Plan(steps=1000)


def paces(
    folder: Path, name: str, jobs: Mapping[str, Sequence[Job]], plan: Plan, *, draw: bool = False
) -> dict[str, float]:
    """Steps a second of each variant: the mean over the games that were measured.

    :param name: of the experiment
    :param jobs: of each variant by its label, the same games for all
    :param draw: measure nothing, take what is there
    """
    games: dict[str, dict[str, Job]] = {}
    for label, mine in jobs.items():
        for job in mine:
            games.setdefault(job.game, {}).setdefault(label, job)
    found: list[dict[str, float]] = []
    with tqdm(list(games)[::4], unit="game", desc="pace", disable=True if draw else None) as bar:
        for game in bar:
            wanted = {"overrides": {label: job.overrides for label, job in games[game].items()}, **asdict(plan)}
            path = folder / "pace" / f"{name}-{game}.json"
            parse = partial(_rates, labels=list(jobs))
            if draw:
                known = read(path, wanted, parse)
            else:
                known = measured(path, wanted, partial(_measure, games[game], plan), parse)
            if known is not None:
                found.append(known)
    return {label: float(np.mean([rates[label] for rates in found])) for label in jobs} if found else {}


def _rates(found: Any, labels: Sequence[str]) -> dict[str, float]:
    return {label: float(found[label]) for label in labels}


def _measure(jobs: Mapping[str, Job], plan: Plan) -> dict[str, float]:
    try:
        return apart(measure, dict(jobs), plan)
    except BrokenProcessPool:
        raise NaitError("the process that measured speeds was killed; is there too little memory?") from None


def measure(jobs: Mapping[str, Job], plan: Plan) -> dict[str, float]:
    """Steps a second of each variant of one game, in this process."""
    unlike = {job.name: job for job in jobs.values()}
    players = [new_agent(job.settings).learn for job in unlike.values()]
    half = plan.steps // 2
    in_turns(players, half, plan.block)
    seconds = dict(zip(unlike, in_turns(players, plan.steps - half, plan.block), strict=True))
    return {label: round((plan.steps - half) / seconds[job.name], 1) for label, job in jobs.items()}
