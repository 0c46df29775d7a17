"""The Ray engine on a cluster of two nodes on this machine: `pytest -m ray`."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from inline_engine import InlineEngine
from timeless import timeless

from nait.errors import NaitError
from nait.experiments import store
from nait.experiments.bench import Bench, look, prepare
from nait.experiments.engines import Engine
from nait.experiments.overview import Overview, Standing
from nait.experiments.plan import RANDOM_WALK, Job
from nait.experiments.ray_engine import UNSEEN, RayEngine, _task

pytestmark = pytest.mark.ray

WALK = Job(suite="random-walk", game=RANDOM_WALK, seed=0, steps=8000, episodes=3, checkpoint_every=400)
JOBS = [replace(WALK, seed=seed) for seed in range(3)]


@pytest.fixture
def cluster() -> Iterator[Any]:
    ray = pytest.importorskip("ray")
    utils = pytest.importorskip("ray.cluster_utils")
    cluster = utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def run(folder: Path, engine: Engine, jobs: list[Job]) -> tuple[Standing, str, bool]:
    told = io.StringIO()
    standing = look(folder, jobs, tell=print)
    ended = Bench(folder, standing, engine, Overview(folder, "test", told)).run()
    return standing, told.getvalue(), ended


class LosesNode(RayEngine):
    """Kills a node of the cluster once both nodes are at work."""

    raylet: int | None = None
    whole = True
    """Whether its workers die with it."""

    def poll(self) -> Any:
        begun = {path.parent.name for path in self._folder.glob("runs/*/checkpoint.nait")}
        if self.raylet is not None and len(begun & {job.name for job in self._under_way.values()}) == 2:
            children = Path(f"/proc/{self.raylet}/task/{self.raylet}/children").read_text().split()
            for pid in (self.raylet, *map(int, children if self.whole else [])):
                os.kill(pid, signal.SIGKILL)
            self.raylet = None
        return super().poll()


@pytest.mark.parametrize("whole", [True, False], ids=["with its workers", "its raylet alone"])
def test_a_node_that_dies_costs_no_record_and_no_bit(whole: bool, cluster: Any, tmp_path: Path) -> None:
    node = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    folder = tmp_path / "ray"
    prepare(folder)
    engine = LosesNode(folder, address=cluster.address)
    engine.raylet = node.all_processes["raylet"][0].process.pid
    engine.whole = whole
    standing, told, ended = run(folder, engine, JOBS)
    assert engine.raylet is None
    assert ended
    if whole:  # else Ray may let the worker finish what it is at
        assert "its worker is gone" in told
    assert set(standing.done) == {job.name for job in JOBS}
    plain = tmp_path / "plain"
    prepare(plain)
    run(plain, InlineEngine(plain), JOBS)
    assert timeless(folder) == timeless(plain)
    assert sorted(path.name for path in folder.iterdir()) == ["records", "runs"]


class StopsSoon(RayEngine):
    bench: Bench

    def poll(self) -> Any:
        if list(self._folder.glob("runs/*/checkpoint.nait")):
            self.bench.stopping = True
        return super().poll()


def test_a_stopped_benchmark_has_its_checkpoints(cluster: Any, tmp_path: Path) -> None:
    prepare(tmp_path)
    job = replace(WALK, steps=50_000)
    engine = StopsSoon(tmp_path, address=cluster.address)
    standing = look(tmp_path, [job], tell=print)
    engine.bench = Bench(tmp_path, standing, engine, Overview(tmp_path, "test", io.StringIO()))
    assert not engine.bench.run()
    assert store.read(tmp_path) == []
    assert (tmp_path / "runs" / job.name / "checkpoint.nait").exists()


def test_a_folder_that_a_node_does_not_see_is_told(cluster: Any, tmp_path: Path) -> None:
    assert _task(WALK.to_json(), str(tmp_path), ".visible-x", False)[0] == UNSEEN
    prepare(tmp_path)
    engine = RayEngine(tmp_path, address=cluster.address)
    engine._marker.unlink()
    with pytest.raises(NaitError, match=r"is not to be seen on .*: give --out a shared folder"):
        run(tmp_path, engine, [WALK])


def test_a_cluster_that_is_not_there_is_told(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    with pytest.raises(NaitError, match=r"there is no Ray cluster to use at 127\.0\.0\.1:1"):
        RayEngine(tmp_path, address="127.0.0.1:1")
