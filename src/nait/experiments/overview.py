"""Where a benchmark stands, and how it is shown: a few lines on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median
from typing import TextIO

from nait.experiments import resources, store
from nait.experiments.plan import Job
from nait.experiments.store import Record
from nait.experiments.suites import atari57, normalised_scores
from nait.experiments.tables import last_step
from nait.progress import LINE_SECONDS

REFRESH_SECONDS = 0.5
SHOWN_RUNS = 8
SHOWN_SETTINGS = 4


@dataclass
class Standing:
    """Where the jobs of a benchmark stand."""

    jobs: dict[str, Job]
    begun_at: dict[str, int]
    """The step from which each goes on; 0 for a new one."""
    done: dict[str, Record] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    """The error of each."""
    running: dict[str, Job] = field(default_factory=dict)
    elsewhere: dict[str, float] = field(default_factory=dict)
    """Those that another process holds, and when to look again."""

    def open(self) -> list[Job]:
        """Jobs that are neither done nor failed, the longest of each seed first."""
        left = [job for name, job in self.jobs.items() if name not in self.done and name not in self.failed]
        seeds = list(dict.fromkeys(job.seed for job in self.jobs.values()))
        return sorted(left, key=lambda job: (seeds.index(job.seed), self.begun_at[job.name] - job.steps))


class Overview:
    """Shows a standing while it changes.

    :param folder: the store's, from which the steps of the runs under way are read
    """

    def __init__(self, folder: Path, title: str, stream: TextIO | None = None) -> None:
        self._folder = folder
        self._title = title
        self._stream = stream or sys.stderr
        self._live = self._stream.isatty()
        self._begun = self._shown = time.monotonic()
        self._lines = 0

    def show(self, standing: Standing) -> None:
        """Bring it up to date, if it is time to."""
        now = time.monotonic()
        if now - self._shown < (REFRESH_SECONDS if self._live else LINE_SECONDS):
            return
        self._shown = now
        self._draw(standing)

    def note(self, line: str) -> None:
        """Say something that stays."""
        self._erase()
        print(f"nait: {line}", file=self._stream, flush=True)

    def close(self, standing: Standing) -> None:
        """Show it a last time."""
        self._draw(standing)
        self._lines = 0

    def _draw(self, standing: Standing) -> None:
        lines = self._summary(standing)
        if not self._live:
            print(", ".join(lines), file=self._stream, flush=True)
            return
        lines += self._runs(standing)
        width = shutil.get_terminal_size().columns - 1
        self._erase()
        self._stream.write("".join(f"{line[:width]}\n" for line in lines))
        self._stream.flush()
        self._lines = len(lines)

    def _erase(self) -> None:
        if self._lines:
            self._stream.write(f"\x1b[{self._lines}F\x1b[J")
            self._lines = 0

    def _summary(self, standing: Standing) -> list[str]:
        counts = f"{self._title}: {len(standing.done)} of {len(standing.jobs)} runs done, "
        counts += f"{len(standing.running)} under way, {len(standing.failed)} failed"
        if standing.elsewhere:
            counts += f", {len(standing.elsewhere)} in another process"
        return [counts, self._speed(standing), *scores_so_far(standing)]

    def _speed(self, standing: Standing) -> str:
        made = sum(self._step(standing, name) - first for name, first in standing.begun_at.items())
        left = sum(job.steps - self._step(standing, job.name) for job in standing.open())
        rate = max(made, 0) / max(time.monotonic() - self._begun, 1e-9)
        if not left or not rate:
            return f"{rate:,.0f} itr/s in all"
        return f"{rate:,.0f} itr/s in all, about {duration(left / rate)} left"

    def _step(self, standing: Standing, name: str) -> int:
        job = standing.jobs[name]
        if name in standing.done:
            return job.steps
        if name in standing.running or name in standing.elsewhere:
            return min(last_step(store.run_folder(self._folder, name) / "progress.csv"), job.steps)
        return standing.begun_at[name]

    def _runs(self, standing: Standing) -> list[str]:
        names = list(standing.running)
        lines = [
            f"  {name}: {self._step(standing, name):,} of {standing.jobs[name].steps:,} steps"
            for name in names[:SHOWN_RUNS]
        ]
        return lines + ([f"  and {len(names) - SHOWN_RUNS} more"] if len(names) > SHOWN_RUNS else [])


def duration(seconds: float) -> str:
    """In the two largest units that tell something."""
    minutes, hours = seconds / 60, seconds / 3600
    if hours >= 24:
        return f"{int(hours // 24)} d {int(hours % 24)} h"
    if hours >= 1:
        return f"{int(hours)} h {int(minutes % 60)} min"
    return f"{minutes:.0f} min" if minutes >= 2 else f"{seconds:.0f} s"


def settings_of(standing: Standing) -> list[str]:
    """The labels of all settings, in the plan's order."""
    return list(dict.fromkeys(job.setting for job in standing.jobs.values()))


def scores_so_far(standing: Standing) -> list[str]:
    """Mean and median HNS over the games that have a finished run, for the first few settings."""
    lines, settings = [], settings_of(standing)
    steps = next(iter(standing.jobs.values())).steps
    for setting in settings[:SHOWN_SETTINGS]:
        hns = normalised_scores(store.mean_scores(standing.done.values(), steps, setting))
        if hns:
            label = f" with {setting}" if len(settings) > 1 and setting else ""
            lines.append(f"{aggregates(hns.values())} over {_games(len(hns))}{label}")
    return lines


def aggregates(hns: Iterable[float]) -> str:
    """Mean and median in words."""
    scores = list(hns)
    return f"HNS mean {fmean(scores):.3f}, median {median(scores):.3f}"


def _games(count: int) -> str:
    return "1 game" if count == 1 else f"{count} games"


def plan_lines(standing: Standing, folder: Path) -> list[str]:
    """What would run, one line a job."""
    lines = []
    for name, job in standing.jobs.items():
        begun = standing.begun_at[name]
        if name in standing.done:
            state = "done"
        elif name in standing.failed:
            state = f"failed: {standing.failed[name]} (--retry-failed tries it again)"
        else:
            state = f"goes on from about step {begun:,}" if begun else "new"
        lines.append(f"{name}  {job.steps:,} steps  {state}")
    left = standing.open()
    steps = sum(job.steps - standing.begun_at[job.name] for job in left)
    memory = max((resources.needed_memory(job) for job in left), default=0.0)
    lines.append(
        f"{len(left)} of {len(lines)} runs to do in {folder}, {steps:,} steps, up to {memory / 1e9:.1f} GB a run"
    )
    return lines


# At the end


def tables(standing: Standing) -> list[str]:
    """The scores of what is done: by game for a single setting, by setting and milestone for several."""
    settings = settings_of(standing)
    records = list(standing.done.values())
    milestones = next(iter(standing.jobs.values())).milestones
    lines: list[str] = []
    if len(settings) == 1:
        lines = _game_table(records, milestones[-1], settings[0])
    if len(settings) > 1 or len(milestones) > 1:
        lines += _setting_table(records, milestones, settings)
    return lines


def _game_table(records: Sequence[Record], steps: int, setting: str) -> list[str]:
    scores = store.mean_scores(records, steps, setting)
    hns = normalised_scores(scores)
    width = max((len(game) for game in scores), default=0) + 2
    lines = [f"{'game':<{width}}{'seeds':>6}{'score':>12}{'HNS':>9}{'paper':>12}{'its HNS':>9}"]
    theirs: dict[str, float] = {}
    for game, score in scores.items():
        seeds = sum(record.game == game for record in records)
        line = f"{game:<{width}}{seeds:>6}{score:>12.1f}" + (f"{hns[game]:>9.3f}" if game in hns else f"{'-':>9}")
        paper = atari57()[game].paper.get(steps) if game in hns else None
        if paper is not None:
            theirs[game] = atari57()[game].normalised(paper)
            line += f"{paper:>12.1f}{theirs[game]:>9.3f}"
        lines.append(line)
    if hns:
        lines.append(f"nait: {aggregates(hns.values())} over {_games(len(hns))}")
    if theirs:
        lines.append(f"paper: {aggregates(theirs.values())} over {_games(len(theirs))}")
    return lines


def _setting_table(records: Sequence[Record], milestones: Sequence[int], settings: Sequence[str]) -> list[str]:
    width = max(len(setting or "default") for setting in settings) + 2
    lines = [f"{'setting':<{width}}{'steps':>10}{'games':>7}{'mean':>12}{'median':>12}"]
    for setting in settings:
        for steps in milestones:
            scores = store.mean_scores(records, steps, setting)
            values = list((normalised_scores(scores) or scores).values())
            if values:
                cells = f"{steps:>10,}{len(values):>7}{fmean(values):>12.3f}{median(values):>12.3f}"
                lines.append(f"{setting or 'default':<{width}}{cells}")
    return [*lines, "mean and median are those of the human-normalised scores, or of the scores where there are none"]
