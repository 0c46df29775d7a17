"""A benchmark: every job of a plan brought to its record, whatever stands in the way."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Sequence
from pathlib import Path

from nait.errors import NaitError
from nait.experiments import store
from nait.experiments.engines import Engine, Event
from nait.experiments.files import HeldError, is_locked, locked
from nait.experiments.job import Ended, read_record, satisfied, write_record
from nait.experiments.overview import Overview, Standing
from nait.experiments.plan import Job
from nait.experiments.run import make_folder
from nait.experiments.signals import on_signal
from nait.experiments.store import Record
from nait.experiments.tables import last_step

TICK = 0.1
LOOK_AGAIN = 1.0  # seconds between two looks at a run that another process holds


def look(
    folder: Path, jobs: Sequence[Job], *, retry_failed: bool = False, tell: Callable[[str], None], mend: bool = True
) -> Standing:
    """Where the jobs stand by what is in the store.

    :param mend: move damaged records aside
    """
    standing = Standing({job.name: job for job in jobs}, {})
    for job in jobs:
        record = read_record(folder, job.name, tell, mend=mend)
        if record is not None and record.status == store.DONE:
            _check_not_beyond(folder, job, record)
        standing.begun_at[job.name] = min(last_step(store.run_folder(folder, job.name) / "progress.csv"), job.steps)
        if record is not None and satisfied(job, record):
            standing.done[job.name] = record
            standing.begun_at[job.name] = job.steps
        elif record is not None and record.status == store.FAILED and not retry_failed:
            standing.failed[job.name] = record.error or ""
    return standing


def _check_not_beyond(folder: Path, job: Job, record: Record) -> None:
    for steps in job.milestones:
        if steps < record.steps and record.score_at(steps) is None:
            raise NaitError(
                f"{job.name} has {record.steps:,} steps in {folder} and no score at {steps:,}: use another --out"
            )


def prepare(folder: Path) -> None:
    """Make the store's folders, and see whether they can be written to."""
    for part in (folder, folder / "runs", folder / "records"):
        make_folder(part)
    probe = folder / f".probe-{uuid.uuid4().hex}"
    try:
        probe.write_text("nait\n")
        probe.unlink()
    except OSError as error:
        with contextlib.suppress(OSError):
            probe.unlink()
        raise NaitError(f"cannot write into {folder}: {error.strerror or error}") from None


class Bench:
    """Runs what is open, and keeps the standing.

    :param folder: the store's, made by `prepare`
    """

    def __init__(self, folder: Path, standing: Standing, engine: Engine, overview: Overview) -> None:
        self.standing = standing
        self.stopping = False
        self._folder = folder
        self._engine = engine
        self._overview = overview
        self._waiting = deque(standing.open())
        self._deaths: Counter[str] = Counter()

    def run(self) -> bool:
        """Go on until all jobs are done or have failed; False if it was stopped before."""
        standing = self.standing
        try:
            with on_signal(self._stop):
                while self._waiting or standing.running or standing.elsewhere:
                    for event in self._engine.poll():
                        self._take(event)
                    if self.stopping and not standing.running:
                        break
                    if self.stopping:
                        self._engine.stop()
                    else:
                        self._look_elsewhere()
                        self._start()
                    self._overview.show(standing)
                    time.sleep(TICK)
        finally:
            self._engine.close()
            self._overview.close(standing)
        return not standing.open()

    def _start(self) -> None:
        while self._waiting and self._engine.has_room(self._waiting[0]):
            job = self._waiting.popleft()
            if is_locked(store.run_folder(self._folder, job.name)):
                self._leave(job)
            else:
                self.standing.running[job.name] = job
                self._engine.start(job)

    def _leave(self, job: Job) -> None:
        """To the process that holds it."""
        self.standing.elsewhere[job.name] = time.monotonic() + LOOK_AGAIN

    def _look_elsewhere(self) -> None:
        """Runs that other processes held: done by now, still held, or free for the taking."""
        standing, now = self.standing, time.monotonic()
        for name in [name for name, due in standing.elsewhere.items() if due <= now]:
            job = standing.jobs[name]
            if is_locked(store.run_folder(self._folder, name)):
                self._leave(job)
            else:
                del standing.elsewhere[name]
                if not self._settled(job):
                    self._waiting.appendleft(job)

    def _settled(self, job: Job) -> bool:
        """Take note of a job that has its record."""
        record = read_record(self._folder, job.name, self._overview.note)
        if record is not None and satisfied(job, record):
            self.standing.done[job.name] = record
            return True
        return False

    def _take(self, event: Event) -> None:
        """Note how a job has ended."""
        job = event.job
        del self.standing.running[job.name]
        for note in event.notes:
            self._overview.note(note)
        if event.ended is Ended.DONE and self._settled(job):
            return
        if event.ended is Ended.FAILED:
            record = read_record(self._folder, job.name, self._overview.note)
            self._fail(job, (record.error if record is not None else None) or "its record is missing")
        elif event.ended is Ended.BROKEN:
            self._fail(job, event.message)
        elif event.ended is Ended.HELD:
            self._leave(job)
        elif not self.stopping:  # its process died, or somebody stopped it
            self._again(job, event.message or "its process was stopped")

    def _again(self, job: Job, cause: str) -> None:
        self._deaths[job.name] += 1
        if self._deaths[job.name] <= self._engine.retries:
            self._overview.note(f"{job.name}: {cause}; it goes on from its checkpoint")
            self._waiting.appendleft(job)
            return
        try:
            with locked(store.run_folder(self._folder, job.name)):
                write_record(job, self._folder, store.FAILED, cause)
        except HeldError:
            self._leave(job)
            return
        except (NaitError, OSError) as error:
            self._overview.note(f"the record of {job.name} cannot be written: {error}")
        self._fail(job, cause)

    def _fail(self, job: Job, error: str) -> None:
        self.standing.failed[job.name] = error
        self._overview.note(f"{job.name} failed: {error}")

    def _stop(self) -> None:
        """Let the runs write their checkpoints."""
        self.stopping = True
