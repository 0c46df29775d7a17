"""Variants of the agent through the benchmark's suite: what is missing is run, all of it is read back as columns.

Every variant's runs lie in one store, under the names that `nait bench` would give them. So experiments
that are given the same folder share the runs that they have in common.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nait.experiments.bench import Bench, look, prepare
from nait.experiments.overview import Overview, Standing
from nait.experiments.plan import Job, Suite, make_jobs
from nait.experiments.store import read, write_csv
from nait.paper import pace
from nait.paper.experiment import Request, Unfinished
from nait.report.page import Section
from nait.report.results import Column, Source, read_source
from nait.report.tables import machine_names, ranges, speed_of, spread, steps_name


@dataclass(frozen=True)
class Variant:
    """One way to set the agent or the games."""

    label: str
    settings: dict[str, Any] = field(default_factory=dict)
    """What differs from the defaults."""
    speed_only: bool = False
    """Too slow for whole runs: a few steps of one seed tell its speed, and its score nothing."""


@dataclass(frozen=True)
class Size:
    """How much is run of every variant."""

    games: tuple[str, ...]
    seeds: int
    steps: int
    episodes: int = 50
    """Of each evaluation."""
    speed_steps: int = 5000
    """Of variants that are run for their speed only."""


PACED = (
    "Steps a second are those of learning, without evaluation, and were measured apart from the runs: on every fourth "
    "game all variants played by turns in one process of one thread, and the second half of their steps was timed."
)


@dataclass(frozen=True)
class Outcome:
    """The runs of all variants."""

    columns: dict[str, Column]
    """By the variant's label; a variant without a finished run has none."""
    description: str
    warnings: list[str]
    failed: int
    paces: dict[str, float] = field(default_factory=dict)
    """Steps a second by the variant's label, where they were measured side by side."""

    def speed(self, column: Column) -> float | None:
        """Steps a second: side by side, or else of the column's own runs."""
        whole = speed_of(column)
        return self.paces.get(column.label, whole[0] if whole else None)


def run_variants(
    name: str, request: Request, variants: Sequence[Variant], full: Size, quick: Size, *, paced: bool = False
) -> Outcome:
    """Run what is missing of every variant.

    :param name: of the experiment
    :param paced: measure their speed side by side, too
    """
    size = quick if request.quick else full
    games = tuple(dict.fromkeys(request.games)) or size.games
    seeds = request.seeds or tuple(range(size.seeds))
    size = replace(size, games=games, steps=request.steps or size.steps, episodes=request.episodes or size.episodes)
    jobs = {variant.label: _jobs(name, variant, size, seeds) for variant in variants}
    standing = run_jobs(name, request, [job for mine in jobs.values() for job in mine])
    write_csv(request.out / "runs.csv", read(request.out))
    source = read_source(request.out)
    found = _paces(name, request, variants, jobs, size) if paced else {}
    columns = {label: _column(source, label, mine) for label, mine in jobs.items()}
    scores = [run.scores[max(run.scores)] for column in columns.values() for run in column.done if run.scores]
    episodes = spread([score.episodes for score in scores if score.episodes is not None])
    description = (
        f"{_listed(games)}, seed{'s' * (len(seeds) > 1)} {ranges(seeds)}, {steps_name(size.steps)} steps, "
        f"{episodes} evaluation episode{'s' * (episodes != '1')} a run."
    )
    return Outcome(
        {label: column for label, column in columns.items() if column.done},
        description,
        _warnings(request, standing, columns, found),
        len(standing.failed),
        found,
    )


def _paces(
    name: str, request: Request, variants: Sequence[Variant], jobs: dict[str, list[Job]], size: Size
) -> dict[str, float]:
    whole = {variant.label: jobs[variant.label] for variant in variants if not variant.speed_only}
    plan = (pace.QUICK if request.quick else pace.FULL).within(size.steps)
    return pace.paces(request.out, name, whole, plan, draw=request.draw)


def run_jobs(name: str, request: Request, jobs: Sequence[Job]) -> Standing:
    """Bring all jobs to their records in `request.out`, unless only what is there is to be drawn."""
    overview = Overview(request.out, f"paper {name}")
    unlike = {job.name: job for job in jobs}  # variants may have runs in common
    standing = look(
        request.out,
        list(unlike.values()),
        retry_failed=request.retry_failed,
        tell=overview.note,
        mend=not request.draw,
    )
    if request.draw:
        return standing
    prepare(request.out)
    if standing.open() and not Bench(request.out, standing, request.engine(request.out), overview).run():
        raise Unfinished(f"{len(standing.open())} of {len(unlike)} runs are left")
    return standing


def _jobs(name: str, variant: Variant, size: Size, seeds: Sequence[int]) -> list[Job]:
    few = variant.speed_only
    return make_jobs(
        Suite(name, size.games),
        seeds[:1] if few else seeds,
        [variant.settings],
        steps=min(size.speed_steps, size.steps) if few else size.steps,
        episodes=1 if few else size.episodes,
        keep_checkpoints=False,  # those of hundreds of finished runs fill a disk
    )


def _column(source: Source, label: str, jobs: Sequence[Job]) -> Column:
    """The runs of these jobs, without scores beyond what was asked for."""
    wanted = {(job.setting, job.game, job.seed): job.steps for job in jobs}
    found = []
    for run in source.runs:
        steps = wanted.get((run.setting, run.game, run.seed))
        if steps is not None:
            scores = {count: score for count, score in run.scores.items() if count <= steps}
            found.append(replace(run, scores=scores))
    return Column(label, source.path, jobs[0].setting, found)


def _warnings(
    request: Request, standing: Standing, columns: Mapping[str, Column], paces: Mapping[str, float]
) -> list[str]:
    lines = [f"{name} failed: {error}" for name, error in standing.failed.items()]
    if standing.open():
        lines.append(f"{len(standing.open())} of {len(standing.jobs)} runs have not been made.")
    scored = [runs for column in columns.values() for runs in column.scores().values()]
    if scored and all(len(runs) == 1 for runs in scored):
        lines.append("No game has more than one run, so medians and means have no intervals.")
    timed = [column for label, column in columns.items() if label not in paces]  # by their runs alone
    machines = sorted({name for column in timed for name in machine_names(column)})
    if len(machines) > 1:
        lines.append(f"Made on several machines ({', '.join(machines)}): speeds of different variants do not compare.")
    if request.quick:
        lines.append("A quick version: it shows how the figure is made. So few steps and games prove nothing.")
    return lines


def _listed(games: Sequence[str]) -> str:
    return ", ".join(games) if len(games) <= 3 else f"{len(games)} games"


def about(outcome: Outcome, *texts: str) -> Section:
    """The first section of a page: what was run, and what to know before reading on."""
    paced = [PACED] if outcome.paces else []
    return Section("What was run", [outcome.description, *texts, *paced], outcome.warnings)
