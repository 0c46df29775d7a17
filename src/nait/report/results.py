"""Results as the report sees them: the runs of one or several folders (or runs.csv files), sorted into columns.

A column is what is compared: one setting of one folder. Nothing here stops at a damaged or failed run;
it is kept and told.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from nait.errors import NaitError
from nait.experiments import store
from nait.experiments.suites import atari57, atari100k
from nait.report.aggregates import Floats
from nait.report.published import BUDGET

CSV_COLUMNS = ("game", "seed", "steps", "score")
SUITES = {"atari100k": atari100k, "atari57": atari57}


@dataclass(frozen=True)
class Milestone:
    """A run's score after so many steps; None is what its file does not tell."""

    steps: int
    score: float
    episodes: int | None = None
    states: int | None = None
    itr_s: float | None = None
    walltime_s: float | None = None
    """Seconds of training and evaluation."""

    @property
    def training_s(self) -> float | None:
        """Seconds of training alone."""
        return self.steps / self.itr_s if self.itr_s else None


@dataclass(frozen=True)
class Curve:
    """The mean of the last five training episodes while the run went on; NaN before the first."""

    steps: Floats
    score: Floats
    seconds: Floats | None


@dataclass(frozen=True)
class Run:
    """One game and seed of one setting."""

    game: str
    seed: int
    setting: str
    suite: str
    scores: dict[int, Milestone]
    curve: Curve | None
    error: str | None
    facts: dict[str, str]
    """Configuration, versions, machine and commit by name: what may differ between columns."""

    @property
    def done(self) -> bool:
        """Not failed."""
        return self.error is None


@dataclass(frozen=True)
class Source:
    """What one folder or file holds."""

    path: Path
    runs: list[Run]
    damaged: list[str] = field(default_factory=list)
    """One line a record that cannot be used, with the reason."""


@dataclass(frozen=True)
class Column:
    """The runs that are put together under one heading."""

    label: str
    path: Path
    setting: str
    runs: list[Run]

    @property
    def done(self) -> list[Run]:
        """Without the failed ones."""
        return [run for run in self.runs if run.done]

    @property
    def failed(self) -> list[Run]:
        """The others."""
        return [run for run in self.runs if not run.done]

    @property
    def milestones(self) -> list[int]:
        """The numbers of steps after which runs were scored."""
        return sorted({steps for run in self.done for steps in run.scores})

    @property
    def budget(self) -> int | None:
        """The steps that scores are compared after: the benchmark's, or the most there are."""
        milestones = self.milestones
        if BUDGET in milestones:
            return BUDGET
        return milestones[-1] if milestones else None

    @property
    def seeds(self) -> list[int]:
        """Of all games together."""
        return sorted({run.seed for run in self.runs})

    def games(self) -> list[str]:
        """Those with a score after `budget` steps, in the order of the benchmark."""
        scored = {run.game for run in self.done if self.budget in run.scores}
        return in_order(scored)

    def scores(self, budget: int | None = None) -> dict[str, Floats]:
        """Of all runs by game, after `budget` steps."""
        steps = self.budget if budget is None else budget
        found: dict[str, list[float]] = {}
        for run in sorted(self.done, key=lambda run: run.seed):
            if steps in run.scores:
                found.setdefault(run.game, []).append(run.scores[steps].score)
        return {game: np.array(found[game]) for game in in_order(found)}

    def facts(self) -> dict[str, list[str]]:
        """By name, the values met among the runs."""
        values: dict[str, set[str]] = {}
        for run in self.runs:
            for name, value in run.facts.items():
                values.setdefault(name, set()).add(value)
        return {name: sorted(met) for name, met in values.items()}

    def missing(self) -> dict[str, list[int]]:
        """Games of the suite and the seeds that have no score yet, failed runs included.

        The seeds are those met in any game.
        """
        there = {(run.game, run.seed) for run in self.done if self.budget in run.scores}
        wanted = {game: [seed for seed in self.seeds if (game, seed) not in there] for game in self._expected()}
        return {game: seeds for game, seeds in wanted.items() if seeds}

    def _expected(self) -> list[str]:
        games = {run.game for run in self.runs}
        for suite in {run.suite for run in self.runs}:
            if suite in SUITES:
                games |= set(SUITES[suite]())
        return in_order(games)


def in_order(games: Iterable[str]) -> list[str]:
    """The benchmark's games in its order, then others by name."""
    known = list(atari57())
    places = {game: place for place, game in enumerate(known)}
    return sorted(games, key=lambda game: (places.get(game, len(known)), game))


def read_source(path: Path) -> Source:
    """A results folder, or a runs.csv file, or a folder that has only such a file."""
    table = path / "runs.csv"
    if path.is_dir():
        alone = table.exists() and not (path / "records").exists()
        source = replace(_read_csv(table), path=path) if alone else _read_folder(path)
    elif path.exists():
        source = _read_csv(path)
    else:
        raise NaitError(f"there is no {path}: give a folder of `nait bench` or a runs.csv file")
    if not source.runs and not source.damaged:
        raise NaitError(f"{path} holds no results: `nait bench` writes them into DIR/records")
    if not source.runs:
        raise NaitError(f"{path} holds no results that can be read: {source.damaged[0]}")
    return source


def columns_of(sources: Sequence[Source]) -> list[Column]:
    """One column a setting of each source, under labels that tell them apart."""
    names = _distinct_names([source.path for source in sources])
    columns = []
    for source, name in zip(sources, names, strict=True):
        settings = sorted({run.setting for run in source.runs}, key=lambda setting: (setting != "", setting))
        for setting in settings:
            runs = [run for run in source.runs if run.setting == setting]
            columns.append(Column(_label(name, setting, len(sources), len(settings)), source.path, setting, runs))
    return columns


def differences(columns: Sequence[Column]) -> dict[str, list[str]]:
    """What is not the same in all columns (or within one): its name, and the values in each column."""
    facts = [column.facts() for column in columns]
    names = list(dict.fromkeys(name for known in facts for name in known))
    values = {name: [", ".join(known.get(name, ["-"])) for known in facts] for name in names}
    mixed = {name for known in facts for name, met in known.items() if len(met) > 1}
    return {name: row for name, row in values.items() if len(set(row)) > 1 or name in mixed}


def _label(name: str, setting: str, sources: int, settings: int) -> str:
    if sources == 1 and settings == 1 and not setting:
        return "nait"
    shown = setting or ("default" if settings > 1 else "")
    if sources == 1:
        return shown
    return f"{name}: {shown}" if shown else name


def _distinct_names(paths: Sequence[Path]) -> list[str]:
    """The shortest ends of the paths that differ."""
    parts = [(path.parent if path.suffix == ".csv" else path).resolve().parts for path in paths]
    for length in range(1, max(map(len, parts)) + 1):
        names = ["/".join(part[-length:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    return [f"{names[-1]} ({number})" for number, names in enumerate(parts, 1)]


def _read_folder(folder: Path) -> Source:
    runs: dict[tuple[str, str, int], Run] = {}
    damaged: list[str] = []
    for record in store.read(folder, damaged.append):
        try:
            run = _run(record)
        except NaitError as error:
            damaged.append(f"{store.record_path(folder, record.name)} is damaged: {error}")
        else:
            key = (run.setting, run.game, run.seed)
            runs[key] = _joined(runs[key], run) if key in runs else run
    return Source(folder, list(runs.values()), damaged)


def _joined(first: Run, second: Run) -> Run:
    """Two records of the same game and seed: the longer one, with the other's milestones where it has none."""
    kept, other = sorted((second, first), key=lambda run: (run.done, max(run.scores, default=0)), reverse=True)
    if not other.done:
        return kept
    return Run(**{**vars(kept), "scores": {**other.scores, **kept.scores}})


def _run(record: store.Record) -> Run:
    """A record whose names and figures are what they should be."""
    if not all(isinstance(text, str) for text in (record.game, record.setting, record.suite)):
        raise NaitError("its game, setting and suite must be text")
    if not isinstance(record.seed, int):
        raise NaitError(f"its seed is {record.seed!r}")
    done = record.status == store.DONE
    milestones = [_milestone(score) for score in record.scores] if done else []
    if done and not milestones:
        raise NaitError("it is done, but without a score")
    return Run(
        game=record.game,
        seed=record.seed,
        setting=record.setting,
        suite=record.suite,
        scores={milestone.steps: milestone for milestone in milestones},
        curve=_curve(record.curve),
        error=None if done else str(record.error or "no reason given"),
        facts=_facts(record),
    )


def _milestone(score: store.Score) -> Milestone:
    for name in ("steps", "score", "episodes", "states", "itr_s", "walltime_s"):
        value = getattr(score, name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise NaitError(f"its {name} is {value!r}")
    whole = (int(score.steps), float(score.score), int(score.episodes), int(score.states))
    return Milestone(*whole, score.itr_s, score.walltime_s)


def _curve(curve: store.Curve) -> Curve | None:
    """None where there is none; a curve is an addition, so a broken one does not cost the score."""
    try:
        steps, score, seconds = (np.array(x, dtype=np.float64) for x in (curve.steps, curve.score5, curve.seconds))
    except (TypeError, ValueError):
        return None
    if (
        steps.ndim != 1
        or not steps.size
        or steps.shape != score.shape
        or not np.isfinite(steps).all()
        or np.any(np.diff(steps) <= 0)
    ):
        return None
    timed = seconds.shape == steps.shape and bool(np.isfinite(seconds).all())
    return Curve(steps, score, seconds if timed else None)


def _facts(record: store.Record) -> dict[str, str]:
    facts = {"steps": str(record.steps)} if record.status == store.DONE else {}
    facts["commit"] = str(record.commit or "-")
    groups = {"": record.config, "env ": record.env_options, "version of ": record.versions, "machine ": record.machine}
    for prefix, entries in groups.items():
        if isinstance(entries, dict):
            facts |= {f"{prefix}{name}": str(value) for name, value in entries.items()}
    return facts


def _read_csv(path: Path) -> Source:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            rows, columns = list(reader), reader.fieldnames or []
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise NaitError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    absent = [name for name in CSV_COLUMNS if name not in columns]
    if absent:
        raise NaitError(f"{path} is no runs.csv: its first line must name {', '.join(absent)}")
    runs: dict[tuple[str, str, int], Run] = {}
    damaged = []
    for line, row in enumerate(rows, 2):
        try:
            run = _csv_run(row)
        except NaitError as error:
            damaged.append(f"line {line}: {error}")
            continue
        key = (run.setting, run.game, run.seed)
        if key in runs and run.scores.keys() & runs[key].scores.keys():
            damaged.append(f"line {line}: {run.game}, seed {run.seed} has a score after so many steps already")
        else:
            runs[key] = _joined(runs[key], run) if key in runs else run
    suite = "atari100k" if all(run.game in atari100k() for run in runs.values()) else ""
    return Source(path, [Run(**{**vars(run), "suite": suite}) for run in runs.values()], damaged)


def _csv_run(row: dict[str, Any]) -> Run:
    if not row["game"]:
        raise NaitError("it names no game")
    milestone = Milestone(
        steps=_whole(row, "steps"),
        score=_finite(row, "score"),
        episodes=_whole(row, "episodes") if row.get("episodes") else None,
        states=_whole(row, "states") if row.get("states") else None,
        itr_s=_finite(row, "itr_s") if row.get("itr_s") else None,
    )
    facts = {"commit": row["commit"]} if row.get("commit") else {}
    seed = _whole(row, "seed")
    return Run(row["game"], seed, row.get("setting") or "", "", {milestone.steps: milestone}, None, None, facts)


def _whole(row: dict[str, Any], name: str) -> int:
    try:
        return int(row[name])
    except (TypeError, ValueError):
        raise NaitError(f"its {name} is {row[name]!r}") from None


def _finite(row: dict[str, Any], name: str) -> float:
    try:
        value = float(row[name])
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise NaitError(f"its {name} is {row[name]!r}")
    return value
