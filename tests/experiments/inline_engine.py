"""An engine that does each job in this process, so that a test can reach into it."""

from __future__ import annotations

from pathlib import Path

from nait.errors import NaitError
from nait.experiments.engines import Event
from nait.experiments.job import Ended, perform
from nait.experiments.plan import Job


class InlineEngine:
    """One job at a time."""

    retries = 0

    def __init__(self, folder: Path, jobs: int | None = None, retry_failed: bool = False) -> None:
        self._folder, self._retry_failed = folder, retry_failed
        self._events: list[Event] = []
        self.started: list[str] = []

    def has_room(self, job: Job) -> bool:
        return not self._events

    def start(self, job: Job) -> None:
        self.started.append(job.name)
        notes: list[str] = []
        try:
            ended = perform(job, self._folder, retry_failed=self._retry_failed, tell=notes.append)
            self._events.append(Event(job, ended, notes=tuple(notes)))
        except (NaitError, OSError) as error:
            self._events.append(Event(job, Ended.BROKEN, str(error)))

    def poll(self) -> list[Event]:
        events, self._events = self._events, []
        return events

    def stop(self) -> None:
        pass

    def close(self) -> None:
        pass
