"""One run of a benchmark from wherever it stands to its record, in the process that calls it.

Beside what `nait train` writes, a run's folder then holds

eval-STEPS.json  the score after so many steps; it is not computed again
error.log        the traceback, if the run failed
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import traceback
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any

from nait import checkpoint
from nait.agent import NAIT
from nait.errors import NaitError
from nait.experiments import provenance, store
from nait.experiments.files import HeldError, locked, write_json
from nait.experiments.plan import Job
from nait.experiments.run import RunLog, Stopped, evaluate, make_folder, trailing_score, train_here
from nait.experiments.store import Curve, Record, Score
from nait.experiments.tables import read_table

MOST_POINTS = 250  # of a curve: what a long run's record holds stays small enough to be kept and passed on


class Ended(StrEnum):
    """How an attempt at a job ended."""

    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"
    """By a signal; what it had is on the disk."""
    HELD = "held"
    """Another process is at work on the run."""
    BROKEN = "broken"
    """It failed, and that could not be recorded."""
    LOST = "lost"
    """Its process died."""


def satisfied(job: Job, record: Record | None) -> bool:
    """Whether a record has all that the job asks for."""
    if record is None or record.status != store.DONE:
        return False
    last = record.score_at(job.steps)
    enough = last is not None and (last.episodes >= job.episodes or record.steps > job.steps)
    return enough and all(record.score_at(steps) is not None for steps in job.milestones)


def read_record(folder: Path, name: str, tell: Callable[[str], None], mend: bool = True) -> Record | None:
    """A run's record; a damaged one counts as none, and is moved aside to `mend` the store."""
    path = store.record_path(folder, name)
    if not path.exists():
        return None
    try:
        return store.load(path)
    except store.DamagedError as error:
        if not mend:
            tell(str(error))
            return None
        try:
            os.replace(path, path.with_name(path.name + ".damaged"))
        except FileNotFoundError:  # another process was quicker
            return None
        except OSError as failure:
            raise NaitError(f"{error}, and cannot be moved aside: {failure.strerror or failure}") from None
        tell(f"{error}; it is kept as {path.name}.damaged and made anew")
        return None


def perform(
    job: Job, folder: Path, *, retry_failed: bool = False, tell: Callable[[str], None] = lambda line: None
) -> Ended:
    """Do what is left of a job, and write its record.

    :param folder: the store's
    :param tell: given a line about whatever was found damaged
    """
    run = store.run_folder(folder, job.name)
    make_folder(run)
    try:
        with locked(run):
            record = read_record(folder, job.name, tell)
            if satisfied(job, record):
                return Ended.DONE
            if record is not None and record.status == store.FAILED and not retry_failed:
                return Ended.FAILED
            return _perform_here(job, folder, run, tell)
    except HeldError:
        return Ended.HELD


def _perform_here(job: Job, folder: Path, run: Path, tell: Callable[[str], None]) -> Ended:
    try:
        mend(run, tell)
        outcome = train_here(
            job.settings,
            run,
            max(job.steps, _steps_reached(run)),
            resume=True,
            checkpoint_every=job.checkpoint_every,
            pauses=job.milestones,
            on_pause=lambda agent, log: _milestone(job, run, agent, log),
        )
        if not outcome.finished:
            return Ended.STOPPED
        write_record(job, folder, store.DONE)
        if not job.keep_checkpoints:
            for path in (run / "checkpoint.nait", checkpoint.previous(run / "checkpoint.nait")):
                path.unlink(missing_ok=True)
        (run / "error.log").unlink(missing_ok=True)
        return Ended.DONE
    except Stopped:
        return Ended.STOPPED
    except Exception as error:
        with contextlib.suppress(OSError):
            (run / "error.log").write_text(traceback.format_exc())
        write_record(job, folder, store.FAILED, describe(error))
        return Ended.FAILED


def describe(error: BaseException) -> str:
    """An error in one line: our own messages alone, others with their type."""
    message = " ".join(str(error).split())
    return message if isinstance(error, NaitError) else f"{type(error).__name__}: {message}"


def mend(run: Path, tell: Callable[[str], None]) -> None:
    """Move a damaged checkpoint aside, so that the one before it is used; without that one the run begins anew."""
    path = run / "checkpoint.nait"
    for candidate in (path, checkpoint.previous(path)):
        if not candidate.exists():
            continue
        try:
            checkpoint.load(candidate)
        except checkpoint.DamagedError:
            os.replace(candidate, candidate.with_name(candidate.name + ".damaged"))
            tell(f"{candidate} is damaged; the run goes on from before it")
        else:
            if candidate != path:
                os.replace(candidate, path)
            return


def _steps_reached(run: Path) -> int:
    """The steps of a finished run that has gone further than is asked now; 0 if there is no telling."""
    rows = read_table(run / "checkpoints.csv") if (run / "checkpoints.csv").exists() else []
    return int(rows[-1]["step"]) if rows and (run / "checkpoint.nait").exists() else 0


# Milestones


def _eval_path(run: Path, steps: int) -> Path:
    return run / f"eval-{steps}.json"


def _read_eval(run: Path, steps: int) -> dict[str, Any] | None:
    try:
        data: dict[str, Any] = json.loads(_eval_path(run, steps).read_bytes())
        return data if data["steps"] == steps and len(data["scores"]) == data["episodes"] else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _milestone(job: Job, run: Path, agent: NAIT, log: RunLog) -> None:
    """Evaluate here, unless that is done."""
    steps = agent.num_timesteps
    known = _read_eval(run, steps)
    if known is not None and known["episodes"] >= job.episodes:
        return
    begun = time.perf_counter()
    result = evaluate(agent, job.settings, job.episodes)
    result["train_last5"] = trailing_score(agent)
    result["train_seconds"] = round(log.seconds(), 3)
    result["eval_seconds"] = round(time.perf_counter() - begun, 3)
    write_json(_eval_path(run, steps), result)


def _scores(run: Path) -> tuple[Score, ...]:
    """Every evaluation of a run, in order."""
    steps = sorted(int(path.stem.removeprefix("eval-")) for path in run.glob("eval-*.json"))
    found, eval_seconds = [], 0.0
    for data in (data for count in steps if (data := _read_eval(run, count)) is not None):
        eval_seconds += data["eval_seconds"]
        found.append(
            Score(
                steps=data["steps"],
                score=data["score"],
                std=data["std"],
                episodes=data["episodes"],
                returns=tuple(data["scores"]),
                train_last5=data["train_last5"],
                states=data["states"],
                distinct_states=data["distinct_states"],
                itr_s=round(data["steps"] / data["train_seconds"], 1),
                walltime_s=round(data["train_seconds"] + eval_seconds, 1),
            )
        )
    return tuple(found)


def _curve(run: Path) -> Curve:
    rows = read_table(run / "progress.csv") if (run / "progress.csv").exists() else []
    rows = rows[:: -max(1, -(-len(rows) // MOST_POINTS))][::-1]  # evenly, the last one among them
    return Curve(
        steps=tuple(int(row["step"]) for row in rows),
        score5=tuple(float(row["score5"]) if row["score5"] else None for row in rows),
        states=tuple(int(row["states"]) for row in rows),
        seconds=tuple(float(row["seconds"]) for row in rows),
    )


def write_record(job: Job, folder: Path, status: str, error: str | None = None) -> None:
    """Write what has come of a job; only for one who holds its run's lock."""
    run = store.run_folder(folder, job.name)
    description, scores = job.settings.to_json(), _scores(run)
    lacking = [steps for steps in job.milestones if all(score.steps != steps for score in scores)]
    if status == store.DONE and lacking:
        raise NaitError(f"{run} has gone beyond {lacking[0]:,} steps without a score there: use another --out")
    record = Record(
        name=job.name,
        suite=job.suite,
        game=job.game,
        seed=job.seed,
        steps=_steps_reached(run),
        setting=job.setting,
        settings=job.overrides,
        config=description["hyperparameters"],
        env_options=description["env_options"],
        status=status,
        error=error,
        scores=scores,
        curve=_curve(run),
        versions=provenance.versions(),
        machine=provenance.machine(),
        commit=provenance.commit(),
    )
    store.write(folder, record)
