"""The results of a benchmark in one folder: a run's folder and one small record for each run.

DIR/runs/NAME/           the run, as `nait train` makes it
DIR/records/NAME.json    what came of it

Each record is a file of its own, written under another name and renamed, by the process that holds
the run's lock. So any number of processes may write to one folder, and a reader never sees half a record.
"""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from statistics import fmean
from typing import Any

from nait.errors import NaitError
from nait.experiments.files import write_json

FORMAT = 1
DONE, FAILED = "done", "failed"


class DamagedError(NaitError):
    """The file is no whole record."""


@dataclass(frozen=True, kw_only=True)
class Score:
    """An evaluation after so many steps of training."""

    steps: int
    score: float
    """Mean over the episodes."""
    std: float
    episodes: int
    returns: tuple[float, ...]
    """Of each episode, in the game's own reward."""
    train_last5: float | None
    """Mean of the last five training episodes; None if none has ended."""
    states: int
    """Entries of the memory, pairs of state and action."""
    distinct_states: int
    itr_s: float
    """Steps of training by the seconds they took, interruptions and evaluations left out."""
    walltime_s: float
    """Seconds of training and of the evaluations so far, this one included."""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """The run every 1000 steps of training."""

    steps: tuple[int, ...] = ()
    score5: tuple[float | None, ...] = ()
    """Mean of the last five episodes; None before the first has ended."""
    states: tuple[int, ...] = ()
    seconds: tuple[float, ...] = ()
    """Of training, from the run's beginning."""


@dataclass(frozen=True, kw_only=True)
class Record:
    """What came of one run."""

    name: str
    """Of the run's folder and of this record's file."""
    suite: str
    game: str
    seed: int
    steps: int
    """Steps of training reached."""
    setting: str
    """What differs from the defaults, such as `gamma=0.9 k=16`; empty for the defaults."""
    settings: dict[str, Any]
    """The same by name."""
    config: dict[str, Any]
    """Every hyperparameter."""
    env_options: dict[str, Any]
    status: str
    """`done` or `failed`"""
    error: str | None = None
    scores: tuple[Score, ...] = ()
    """One a milestone, the last one at the end of the budget."""
    curve: Curve = field(default_factory=Curve)
    versions: dict[str, str] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)
    commit: str | None = None

    def score_at(self, steps: int) -> Score | None:
        """The evaluation after exactly so many steps."""
        return next((score for score in self.scores if score.steps == steps), None)

    @property
    def last(self) -> Score | None:
        """The latest evaluation."""
        return self.scores[-1] if self.scores else None

    def to_json(self) -> dict[str, Any]:
        """As the file holds it."""
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Record:
        """Read what `to_json` wrote; names of later versions are left out."""
        known = _known(cls, data)
        known["scores"] = tuple(
            Score(**{**_known(Score, score), "returns": tuple(score["returns"])}) for score in data["scores"]
        )
        known["curve"] = Curve(**{name: tuple(column) for name, column in _known(Curve, data["curve"]).items()})
        return cls(**known)


def _known(kind: Any, data: dict[str, Any]) -> dict[str, Any]:
    return {entry.name: data[entry.name] for entry in fields(kind) if entry.name in data}


def run_folder(store: Path, name: str) -> Path:
    """Where a run is kept."""
    return store / "runs" / name


def record_path(store: Path, name: str) -> Path:
    """Where what came of it is kept."""
    return store / "records" / f"{name}.json"


def write(store: Path, record: Record) -> None:
    """Put a record in its place, whole or not at all."""
    write_json(record_path(store, record.name), record.to_json(), indent=None)


def load(path: Path) -> Record:
    """One record; whatever is wrong with it is said in one line."""
    try:
        data = json.loads(path.read_bytes())
        if data["format"] > FORMAT:
            raise NaitError(
                f"{path} is of format {data['format']}, this nait reads up to {FORMAT}: install a newer nait"
            )
        record = Record.from_json(data)
        if record.status not in (DONE, FAILED) or record.name != path.stem:
            raise ValueError
        return record
    except NaitError:
        raise
    except OSError as error:
        raise NaitError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise DamagedError(f"{path} is damaged: it is not a whole record") from None


def _tell(line: str) -> None:
    print(f"nait: {line}", file=sys.stderr)


def read(folder: str | Path, on_damaged: Callable[[str], None] = _tell) -> list[Record]:
    """All records of a store, by name.

    :param on_damaged: told of each file that is no record; the others are read all the same
    """
    records = Path(folder) / "records"
    if not records.is_dir():
        raise NaitError(f"{folder} holds no benchmark: `nait bench ... --out {folder}` makes one")
    found = []
    for path in sorted(records.glob("*.json")):
        try:
            found.append(load(path))
        except NaitError as error:
            on_damaged(str(error))
    return found


def finished(records: Iterable[Record]) -> list[Record]:
    """Those that have ended well."""
    return [record for record in records if record.status == DONE]


def mean_scores(records: Iterable[Record], steps: int, setting: str = "") -> dict[str, float]:
    """Score of each game after so many steps: the mean over the seeds of each seed's mean over episodes."""
    seeds: dict[str, list[float]] = {}
    for record in finished(records):
        score = record.score_at(steps)
        if score is not None and record.setting == setting:
            seeds.setdefault(record.game, []).append(score.score)
    return {game: fmean(scores) for game, scores in seeds.items()}


CSV_COLUMNS = ("game", "seed", "steps", "score", "episodes", "train_last5", "states", "itr_s", "commit")


def write_csv(path: Path, records: Iterable[Record]) -> int:
    """Write one row for each score of the finished runs; returns how many.

    A column `setting` comes first where the runs differ in it.
    """
    done = sorted(finished(records), key=lambda record: (record.setting, record.game, record.seed))
    several = len({record.setting for record in done}) > 1
    rows = [
        {
            "setting": record.setting,
            "game": record.game,
            "seed": record.seed,
            "commit": record.commit,
            **{name: _short(getattr(score, name)) for name in CSV_COLUMNS if hasattr(score, name)},
        }
        for record in done
        for score in record.scores
    ]
    temporary = path.with_name(path.name + ".tmp")
    try:
        with open(temporary, "w", newline="") as file:
            columns = ("setting", *CSV_COLUMNS) if several else CSV_COLUMNS
            writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        os.replace(temporary, path)
    except OSError as error:
        raise NaitError(f"cannot write {path}: {error.strerror or error}") from None
    return len(rows)


def _short(value: Any) -> Any:
    return round(value, 4) if isinstance(value, float) else value
