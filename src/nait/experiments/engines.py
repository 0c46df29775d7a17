"""What runs the jobs of a benchmark: processes on this machine, or (`ray_engine.py`) a cluster."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from nait.experiments import resources
from nait.experiments.job import Ended
from nait.experiments.plan import Job
from nait.experiments.worker import EXIT_CODES, MARK

ENDINGS = {code: ended for ended, code in EXIT_CODES.items()}


@dataclass(frozen=True)
class Event:
    """A job that is not under way any more."""

    job: Job
    ended: Ended
    message: str = ""
    """Why, if it is `BROKEN` or `LOST`."""
    notes: tuple[str, ...] = ()
    """What the user should know besides."""


class Engine(Protocol):
    """Runs jobs at the same time."""

    retries: int
    """How often a job whose process died is begun again."""

    def has_room(self, job: Job) -> bool:
        """Whether it can be started now."""
        ...

    def start(self, job: Job) -> None:
        """Begin it, or go on with it."""
        ...

    def poll(self) -> list[Event]:
        """Those that have ended since the last call; does not wait."""
        ...

    def stop(self) -> None:
        """Let every job write its checkpoint and end, which `poll` tells; may be called more than once."""
        ...

    def close(self) -> None:
        """End whatever still runs, at once."""
        ...


@dataclass(frozen=True)
class _Worker:
    job: Job
    process: subprocess.Popen[str]
    said: IO[str]


class LocalEngine:
    """A process for each job, one thread each, as many as cores and memory allow.

    :param folder: the store's
    :param jobs: processes at the same time; None for one a core
    """

    retries = 2

    def __init__(self, folder: Path, jobs: int | None = None, retry_failed: bool = False) -> None:
        self.jobs = jobs or resources.cores()
        self._command = [sys.executable, "-m", "nait.experiments.worker", str(folder.absolute())]
        if retry_failed:
            self._command.append("--retry-failed")
        self._workers: list[_Worker] = []

    def has_room(self, job: Job) -> bool:
        if not self._workers:
            return True
        return len(self._workers) < self.jobs and self._has_memory(job)

    def _has_memory(self, job: Job) -> bool:
        available = resources.available_memory()
        growth = sum(
            max(resources.needed_memory(worker.job) - resources.resident_memory(worker.process.pid), 0.0)
            for worker in self._workers
        )
        return available is None or growth + resources.needed_memory(job) <= available

    def start(self, job: Job) -> None:
        said = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed when the process has ended)
        process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=said,
            text=True,
            env={**os.environ, **resources.ONE_THREAD},
        )
        assert process.stdin is not None
        with contextlib.suppress(OSError):  # it may have died already, which `poll` will find
            process.stdin.write(job.to_json() + "\n")
            process.stdin.flush()
        self._workers.append(_Worker(job, process, said))

    def poll(self) -> list[Event]:
        ended = [worker for worker in self._workers if worker.process.poll() is not None]
        self._workers = [worker for worker in self._workers if worker not in ended]
        return [_event(worker) for worker in ended]

    def stop(self) -> None:
        for worker in self._workers:
            _close_input(worker.process)

    def close(self) -> None:
        for worker in self._workers:
            worker.process.kill()
            worker.process.wait()
            _close_input(worker.process)
            worker.said.close()
        self._workers = []


def _close_input(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    with contextlib.suppress(OSError):  # it may have ended
        process.stdin.close()


def _event(worker: _Worker) -> Event:
    _close_input(worker.process)
    worker.said.seek(0)
    lines = worker.said.read().splitlines()
    worker.said.close()
    code = worker.process.returncode
    notes = tuple(line.removeprefix(MARK) for line in lines if line.startswith(MARK))
    ended = ENDINGS.get(code, Ended.LOST)
    if ended is Ended.BROKEN:
        return Event(worker.job, ended, notes[-1] if notes else "", notes[:-1])
    return Event(worker.job, ended, _cause(code, lines) if ended is Ended.LOST else "", notes)


def _cause(code: int, lines: list[str]) -> str:
    if code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else str(-code)
        hint = "; the machine may have run out of memory: fewer --jobs take less" if -code == signal.SIGKILL else ""
        return f"its process was killed ({name}){hint}"
    return f"its process ended with code {code}" + (f": {lines[-1]}" if lines else "")
