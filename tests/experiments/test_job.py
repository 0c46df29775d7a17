"""One run of a benchmark: milestones, going on, failing, mending."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from nait import checkpoint
from nait.envs import ImageRandomWalk
from nait.experiments import job as job_module
from nait.experiments import plan, store
from nait.experiments.job import Ended, perform, satisfied
from nait.experiments.plan import Job
from nait.experiments.run import RunLog
from nait.experiments.store import Record
from nait.experiments.tables import Table, read_table

WALK = Job(suite="random-walk", game=plan.RANDOM_WALK, seed=3, steps=1200, episodes=4, checkpoint_every=250)
BREAKOUT = Job(
    suite="games", game="Breakout", seed=1, steps=900, episodes=2, overrides={"max_episode_frames": 1200, "k": 8}
)
CARTPOLE = Job(suite="games", game="CartPole-v1", seed=2, steps=900, episodes=3, overrides={"epsilon": 0.5})


def make_store(folder: Path) -> Path:
    (folder / "records").mkdir(parents=True)
    return folder


def done(job: Job, folder: Path, **options: Any) -> Record:
    assert perform(job, folder, **options) is Ended.DONE
    return store.load(store.record_path(folder, job.name))


def timeless(record: Record) -> dict[str, Any]:
    """A record without what the clock says."""
    data = json.loads(json.dumps(record.to_json()))
    for score in data["scores"]:
        del score["itr_s"], score["walltime_s"]
    del data["curve"]["seconds"]
    return data


def same_memory(a: Path, b: Path) -> None:
    (meta_a, arrays_a), (meta_b, arrays_b) = (checkpoint.load(path / "checkpoint.nait") for path in (a, b))
    assert json.dumps(meta_a) == json.dumps(meta_b)
    assert set(arrays_a) == set(arrays_b)
    for name, array in arrays_a.items():
        np.testing.assert_array_equal(arrays_b[name], array, err_msg=name)


@pytest.mark.parametrize("job", [WALK, BREAKOUT, CARTPOLE], ids=lambda job: job.game)
def test_milestones_do_not_change_the_training(job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = done(job, make_store(tmp_path / "plain"))
    monkeypatch.setattr(plan, "BUDGETS", {230: "", 500: "", 5000: ""})
    watched = done(job, make_store(tmp_path / "watched"))
    assert [score.steps for score in watched.scores] == [230, 500, job.steps]
    assert [score.steps for score in plain.scores] == [job.steps]
    assert timeless(watched)["scores"][-1] == timeless(plain)["scores"][0]
    assert timeless(watched)["curve"] == timeless(plain)["curve"]
    same_memory(tmp_path / "plain/runs" / job.name, tmp_path / "watched/runs" / job.name)


def test_a_milestone_is_the_end_of_a_shorter_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = make_store(tmp_path / "parts")
    short = done(replace(BREAKOUT, steps=500), parts)
    longer = done(BREAKOUT, parts)
    monkeypatch.setattr(plan, "BUDGETS", {500: ""})
    whole = done(BREAKOUT, make_store(tmp_path / "whole"))
    assert longer.steps == 900
    assert longer.scores[0] == short.scores[0]
    assert timeless(longer) == timeless(whole)
    same_memory(parts / "runs" / BREAKOUT.name, tmp_path / "whole/runs" / BREAKOUT.name)


@pytest.mark.parametrize("game", [WALK, CARTPOLE], ids=lambda job: job.game)
def test_an_interrupted_evaluation_is_done_again_alone(
    game: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "BUDGETS", {500: ""})
    job = replace(game, steps=1000)
    whole = done(job, make_store(tmp_path / "whole"))
    folder, evaluate = make_store(tmp_path / "parts"), job_module.evaluate
    for at in (500, 1000):

        def stop_there(agent: Any, settings: Any, episodes: int, at: int = at) -> Any:
            if agent.num_timesteps == at:
                signal.raise_signal(signal.SIGTERM)
            return evaluate(agent, settings, episodes)

        monkeypatch.setattr(job_module, "evaluate", stop_there)
        assert perform(job, folder) is Ended.STOPPED
        assert not (folder / "records" / f"{job.name}.json").exists()
        assert (folder / "runs" / job.name / "eval-500.json").exists() == (at == 1000)
    monkeypatch.setattr(job_module, "evaluate", evaluate)
    assert timeless(done(job, folder)) == timeless(whole)


def test_what_is_done_is_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_store(tmp_path)
    record = done(WALK, folder)

    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("it ran again")

    monkeypatch.setattr(job_module, "train_here", never)
    assert done(WALK, folder) == record
    assert satisfied(replace(WALK, episodes=1), record)
    assert not satisfied(replace(WALK, episodes=5), record)
    assert not satisfied(replace(WALK, steps=1300), record)


def test_more_episodes_evaluate_again_without_training(tmp_path: Path) -> None:
    folder = make_store(tmp_path)
    few = done(WALK, folder)
    more = done(replace(WALK, episodes=6), folder)
    assert more.scores[0].returns[:4] == few.scores[0].returns
    assert more.scores[0].episodes == 6
    assert more.curve == few.curve


def test_a_discarded_checkpoint_saves_disk_and_more_steps_begin_anew(tmp_path: Path) -> None:
    folder, kept = make_store(tmp_path / "a"), make_store(tmp_path / "b")
    run = folder / "runs" / WALK.name
    short, whole = replace(WALK, steps=500, keep_checkpoints=False), replace(WALK, steps=1000)
    assert done(short, folder).steps == 500
    assert not list(run.glob("checkpoint.nait*"))
    done(replace(short, keep_checkpoints=True), kept)
    assert timeless(done(whole, folder)) == timeless(done(whole, kept))


def test_seconds_are_counted_over_interruptions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_store(tmp_path)
    now = [0.0]
    monkeypatch.setattr("nait.experiments.run.time.perf_counter", lambda: now[0])
    on_step = RunLog._on_step

    def step(self: RunLog) -> bool:
        now[0] += 0.01  # every step takes a hundredth of a second
        return on_step(self)

    monkeypatch.setattr(RunLog, "_on_step", step)
    for steps in (1000, 1700, 3000):
        now[0] += 5000.0  # nothing runs in between
        record = done(replace(WALK, steps=steps), folder)
    assert [score.itr_s for score in record.scores] == [100.0, 100.0, 100.0]
    assert record.curve.seconds == pytest.approx((10.0, 20.0, 30.0))
    rows = read_table(folder / "runs" / WALK.name / "progress.csv")
    assert [float(row["itr_s"]) for row in rows] == pytest.approx([100.0, 100.0, 100.0])


def test_the_curve_of_a_long_run_is_thinned_and_keeps_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nait.experiments.job.MOST_POINTS", 2)
    record = done(replace(WALK, steps=3000), make_store(tmp_path))
    assert record.curve.steps == (1000, 3000)
    assert len(record.curve.score5) == len(record.curve.states) == len(record.curve.seconds) == 2


class FragileWalk(ImageRandomWalk):
    """Breaks after 700 steps of training as long as it is told to."""

    fragile = True
    steps = 0

    def step(self, action: Any) -> Any:
        self.steps += 1
        if self.fragile and self.steps > 700:
            raise RuntimeError("the walk\nhas broken")
        return super().step(action)


gymnasium.register("FragileWalk-v0", FragileWalk, max_episode_steps=200)


def test_a_failed_run_is_recorded_and_tried_again_only_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, job = make_store(tmp_path / "a"), replace(WALK, game="FragileWalk-v0")
    path = store.record_path(folder, job.name)
    assert perform(job, folder) is Ended.FAILED
    failed = store.load(path)
    assert (failed.status, failed.error) == ("failed", "RuntimeError: the walk has broken")
    assert failed.config["gamma"] == 0.99
    log = folder / "runs" / job.name / "error.log"
    assert "Traceback" in log.read_text()
    monkeypatch.setattr(FragileWalk, "fragile", False)
    assert perform(job, folder) is Ended.FAILED
    mended = done(job, folder, retry_failed=True)
    assert mended.error is None
    assert not log.exists()
    assert timeless(mended) == timeless(done(job, make_store(tmp_path / "b")))


def test_a_damaged_record_is_moved_aside_and_made_anew(tmp_path: Path) -> None:
    folder = make_store(tmp_path)
    record = done(WALK, folder)
    path = store.record_path(folder, WALK.name)
    path.write_text(path.read_text()[:200])
    said: list[str] = []
    again = done(WALK, folder, tell=said.append)
    assert again == record
    assert path.with_name(path.name + ".damaged").stat().st_size == 200
    assert len(said) == 1
    assert "is damaged" in said[0]


@pytest.mark.parametrize("both", [False, True], ids=["the last", "both"])
def test_damaged_checkpoints_cost_steps_but_not_the_run(both: bool, tmp_path: Path) -> None:
    folder, run = make_store(tmp_path / "a"), tmp_path / "a/runs" / WALK.name
    done(replace(WALK, steps=600), folder)
    paths = [run / "checkpoint.nait", run / "checkpoint.nait.previous"]
    for path in paths[: 1 + both]:
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 8
        path.unlink()  # it may share its bytes with the other
        path.write_bytes(data)
    said: list[str] = []
    record = done(replace(WALK, steps=1000), folder, tell=said.append)
    assert len(said) == 1 + both
    assert len(list(run.glob("*.damaged"))) == 1 + both
    whole = make_store(tmp_path / "b")
    done(replace(WALK, steps=600), whole)
    assert timeless(record) == timeless(done(replace(WALK, steps=1000), whole))


def test_a_full_disk_fails_the_run_which_then_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, append = make_store(tmp_path / "a"), Table.append

    def full(self: Table, **row: object) -> None:
        if int(str(row["step"])) > 600:
            raise OSError(28, "No space left on device")
        append(self, **row)

    monkeypatch.setattr(Table, "append", full)
    assert perform(WALK, folder) is Ended.FAILED
    monkeypatch.undo()
    error = store.load(store.record_path(folder, WALK.name)).error
    assert error is not None
    assert error.endswith("No space left on device")
    assert timeless(done(WALK, folder, retry_failed=True)) == timeless(done(WALK, make_store(tmp_path / "b")))


def test_a_disk_too_full_for_a_record_leaves_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, fsync = make_store(tmp_path / "a"), os.fsync
    left = [3]

    def full(descriptor: int) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(28, "No space left on device")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        perform(WALK, folder)
    monkeypatch.undo()
    assert list((folder / "records").iterdir()) == []
    assert timeless(done(WALK, folder)) == timeless(done(WALK, make_store(tmp_path / "b")))


def test_a_run_beyond_the_steps_asked_for_keeps_its_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "BUDGETS", {500: ""})
    folder = make_store(tmp_path)
    far = done(WALK, folder)
    store.record_path(folder, WALK.name).unlink()
    short = done(replace(WALK, steps=500), folder)
    assert short.steps == 1200
    assert short.scores == far.scores
