"""The jobs of a benchmark on a Ray cluster (`pip install nait[ray]`).

Every node sees the store's folder under the same path: a run's files go straight there, and only the
job and the way it ended travel through Ray. A job whose node dies is begun again elsewhere, from the
last checkpoint in the folder.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import platform
import socket
import uuid
from pathlib import Path
from typing import Any

from nait.errors import NaitError
from nait.experiments import resources
from nait.experiments.engines import Event
from nait.experiments.job import Ended, perform
from nait.experiments.plan import Job

UNSEEN = "unseen"
CONNECT_SECONDS = 10.0


class RayEngine:
    """A task of one core for each job.

    :param folder: the store's
    :param jobs: tasks at the same time; None for one for every core of the cluster
    :param address: of a cluster, as `ray.init` takes it; None starts one on this machine
    """

    retries = 5  # machines that are lent come and go

    def __init__(
        self, folder: Path, jobs: int | None = None, retry_failed: bool = False, address: str | None = None
    ) -> None:
        try:
            ray: Any = importlib.import_module("ray")
        except ImportError:
            raise NaitError("--engine ray needs the package ray: pip install 'nait[ray]'") from None
        self._ray = ray
        self._jobs, self._retry_failed = jobs, retry_failed
        self._folder = folder.absolute()
        self._mine = not ray.is_initialized()
        if self._mine:
            self._connect(address)
        self._task = ray.remote(_task)
        self._marker = self._folder / f".visible-{uuid.uuid4().hex}"
        self._marker.touch()
        self._under_way: dict[Any, Job] = {}

    def _connect(self, address: str | None) -> None:
        own: dict[str, Any] = (
            {} if address else {"num_cpus": self._jobs or resources.cores(), "include_dashboard": False}
        )
        try:
            _check_answers(address)
            self._ray.init(address=address or "local", log_to_driver=False, logging_level=logging.ERROR, **own)
        except (OSError, ValueError, RuntimeError) as error:
            where = f"at {address}" if address else "here"
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise NaitError(f"there is no Ray cluster to use {where}: {reason}") from None

    def has_room(self, job: Job) -> bool:
        most = self._jobs or int(self._ray.cluster_resources().get("CPU", 0))
        return len(self._under_way) < most

    def start(self, job: Job) -> None:
        task = self._task.options(num_cpus=1, memory=self._memory(job), max_retries=0, name=job.name)
        ref = task.remote(job.to_json(), str(self._folder), self._marker.name, self._retry_failed)
        self._under_way[ref] = job

    def _memory(self, job: Job) -> int:
        """What the job needs, but no more than the largest node has: it would never be started."""
        most = max((node["Resources"].get("memory", 0) for node in self._ray.nodes() if node["Alive"]), default=0)
        return int(min(resources.needed_memory(job), most))

    def poll(self) -> list[Event]:
        if not self._under_way:
            return []
        refs = list(self._under_way)
        ready, _ = self._ray.wait(refs, num_returns=len(refs), timeout=0)
        return [self._event(ref, self._under_way.pop(ref)) for ref in ready]

    def _event(self, ref: Any, job: Job) -> Event:
        try:
            ended, *notes = self._ray.get(ref)
        except self._ray.exceptions.RayTaskError as error:
            return Event(job, Ended.BROKEN, " ".join(str(error.cause or error).split()))
        except self._ray.exceptions.RayError as error:
            return Event(job, Ended.LOST, f"its worker is gone ({type(error).__name__})")
        if ended == UNSEEN:
            raise NaitError(notes[0])
        return Event(job, Ended(ended), notes=tuple(notes))

    def stop(self) -> None:
        for ref in self._under_way:
            self._ray.cancel(ref, force=False)

    def close(self) -> None:
        for ref in self._under_way:
            with contextlib.suppress(Exception):  # the cluster may be gone
                self._ray.cancel(ref, force=True)
        self._under_way = {}
        with contextlib.suppress(OSError):
            self._marker.unlink()
        if self._mine:
            self._ray.shutdown()


def _check_answers(address: str | None) -> None:
    """Try the address first: Ray itself would wait for minutes."""
    host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
    if colon and port.isdigit():
        socket.create_connection((host, int(port)), timeout=CONNECT_SECONDS).close()


def _task(job: str, folder: str, marker: str, retry_failed: bool) -> tuple[str, ...]:
    """Do a job on the node that this runs on; how it ended, and lines for the user."""
    if not os.path.exists(os.path.join(folder, marker)):
        return UNSEEN, f"{folder} of this machine is not to be seen on {platform.node()}: give --out a shared folder"
    notes: list[str] = []
    ended = perform(Job.from_json(job), Path(folder), retry_failed=retry_failed, tell=notes.append)
    return str(ended), *notes
