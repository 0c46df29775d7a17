from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from waiting import wait_for

from nait import checkpoint
from nait.errors import NaitError
from nait.experiments.run import RunSettings, open_run, train
from nait.experiments.tables import Table, read_table

COMMAND = [sys.executable, "-m", "nait", "train", "--quiet", "--json"]


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def same_result(a: Path, b: Path) -> None:
    """Episodes, evaluation and every array of the memory, bit for bit; the clock's readings aside."""
    assert (a / "episodes.csv").read_bytes() == (b / "episodes.csv").read_bytes()
    assert (a / "eval.json").read_bytes() == (b / "eval.json").read_bytes()
    timeless = [
        [{k: v for k, v in row.items() if k not in ("itr_s", "seconds")} for row in read_table(folder / "progress.csv")]
        for folder in (a, b)
    ]
    assert timeless[0] == timeless[1]
    (meta_a, arrays_a), (meta_b, arrays_b) = (checkpoint.load(f / "checkpoint.nait") for f in (a, b))
    assert json.dumps(meta_a) == json.dumps(meta_b)
    assert set(arrays_a) == set(arrays_b)
    for name, array in arrays_a.items():
        np.testing.assert_array_equal(arrays_b[name], array, err_msg=name)


@pytest.mark.parametrize(
    "what",
    [
        ("Breakout", "--steps", "3500", "--sticky-actions", "0.25", "--max-episode-frames", "2000"),
        ("CartPole-v1", "--steps", "4000", "--epsilon", "1:0:2000"),
        ("nait/ImageRandomWalk-v0", "--steps", "4000", "--gamma", "0.9", "--epsilon", "1:0:2000"),
    ],
    ids=lambda what: what[0],
)
def test_a_killed_run_resumes_and_ends_bit_identical(what: tuple[str, ...], tmp_path: Path) -> None:
    common = [*what, "--eval-episodes", "3", "--checkpoint-every", "400"]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    done = start(*common, "--out", str(whole))
    assert done.wait(120) == 0, done.communicate()[1]
    kills = 0
    for n in range(4):
        process = start(*common, "--out", str(killed), "--resume")
        wait_for((killed / "checkpoint.nait").exists, process)
        time.sleep(0.3 + 0.4 * n)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        process.wait()
    assert kills >= 1
    last = start(*common, "--out", str(killed), "--resume")
    assert last.wait(120) == 0, last.communicate()[1]
    same_result(whole, killed)


def test_ctrl_c_saves_and_the_run_resumes_bit_identical(tmp_path: Path) -> None:
    common = ["Breakout", "--steps", "2500", "--eval-episodes", "2", "--max-episode-frames", "2000"]
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    assert start(*common, "--out", str(whole)).wait(120) == 0
    process = start(*common, "--out", str(stopped))
    wait_for((stopped / "progress.csv").exists, process)
    time.sleep(0.7)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "--resume goes on" in said
    assert "Traceback" not in said
    saved = checkpoint.load(stopped / "checkpoint.nait")[0]["num_timesteps"]
    assert 0 < saved < 2500
    assert start(*common, "--out", str(stopped), "--resume").wait(120) == 0
    same_result(whole, stopped)


def test_the_same_seed_twice_gives_identical_episodes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        train(RunSettings(env="Breakout", seed=7), tmp_path / name, 2000, progress=False)
    train(RunSettings(env="Breakout", seed=8), tmp_path / "c", 2000, progress=False)
    a, b, c = ((tmp_path / name / "episodes.csv").read_bytes() for name in "abc")
    assert a == b
    assert a != c
    assert len(a.splitlines()) > 3


def test_a_runs_folder_holds_what_is_needed_to_run_it_again(tmp_path: Path) -> None:
    settings = RunSettings(env="Breakout", seed=3, hyperparameters={"k": 8}, env_options={"noop_max": 5})
    outcome = train(settings, tmp_path / "run", 2100, progress=False)
    assert outcome.finished
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    assert (config["env"], config["seed"]) == ("Breakout", 3)
    assert (config["hyperparameters"]["k"], config["hyperparameters"]["gamma"]) == (8, 0.99)
    assert (config["env_options"]["noop_max"], config["env_options"]["frame_skip"]) == (5, 4)
    assert {"nait", "numpy", "ale-py", "python"} <= set(config["versions"])
    progress = read_table(tmp_path / "run" / "progress.csv")
    assert [row["step"] for row in progress] == ["1000", "2000"]
    assert set(progress[0]) == {"step", "score5", "episodes", "states", "itr_s", "seconds"}
    episodes = read_table(tmp_path / "run" / "episodes.csv")
    assert [float(row["score"]) for row in episodes] == outcome.agent.episode_scores
    assert sum(int(row["length"]) for row in episodes) == int(episodes[-1]["step"])
    reopened, agent = open_run(tmp_path / "run")
    assert agent.num_timesteps == 2100
    assert agent.config == outcome.agent.config
    assert reopened.env_options["noop_max"] == 5


def test_training_on_continues_the_same_run(tmp_path: Path) -> None:
    settings = RunSettings(env="Breakout", seed=1)
    train(settings, tmp_path / "parts", 700, progress=False)
    train(settings, tmp_path / "parts", 1500, resume=True, progress=False)
    train(settings, tmp_path / "whole", 1500, progress=False)
    assert (tmp_path / "parts/episodes.csv").read_bytes() == (tmp_path / "whole/episodes.csv").read_bytes()


def test_a_run_older_than_an_option_goes_on(tmp_path: Path) -> None:
    settings = RunSettings(env="Breakout", seed=1, hyperparameters={"epsilon": (0.5, 0.0, 500)})
    train(settings, tmp_path / "old", 700, progress=False)
    path = tmp_path / "old" / "config.json"
    config = json.loads(path.read_text())
    del config["hyperparameters"]["trace_decay"], config["env_options"]["stack_fill"]
    path.write_text(json.dumps(config))
    train(settings, tmp_path / "old", 1500, resume=True, progress=False)
    train(settings, tmp_path / "new", 1500, progress=False)
    assert (tmp_path / "old/episodes.csv").read_bytes() == (tmp_path / "new/episodes.csv").read_bytes()
    path.write_text(json.dumps({**config, "env_options": {**config["env_options"], "colours": 8}}))
    for wrong in (
        lambda: train(settings, tmp_path / "old", 1600, resume=True, progress=False),
        lambda: open_run(path.parent),
    ):
        with pytest.raises(
            NaitError, match="unknown setting 'colours' of the Atari games: this version of nait has no"
        ):
            wrong()


def test_mistakes_are_told_and_leave_nothing_behind(tmp_path: Path) -> None:
    settings = RunSettings(env="Breakout", seed=1)
    train(settings, tmp_path / "run", 100, progress=False)
    before = sorted((p.name, p.stat().st_mtime_ns) for p in (tmp_path / "run").iterdir())
    for wrong, steps, resume, said in (
        (settings, 200, False, "holds a run already: --resume continues it"),
        (RunSettings(env="Breakout", seed=2), 200, True, "is a run with seed 1, not 2"),
        (RunSettings(env="Pong", seed=1), 200, True, "is a run with env Breakout, not Pong"),
        (RunSettings(env="Breakout", seed=1, hyperparameters={"k": 3}), 200, True, "is a run with k=64, not 3"),
        (settings, 50, True, "has 100 steps already"),
        (settings, 0, True, "steps must be at least 1"),
    ):
        with pytest.raises(NaitError, match=said):
            train(wrong, tmp_path / "run", steps, resume=resume, progress=False)
    assert sorted((p.name, p.stat().st_mtime_ns) for p in (tmp_path / "run").iterdir()) == before
    (tmp_path / "file").write_text("")
    with pytest.raises(NaitError, match=r"is a file, not a folder|cannot write into"):
        train(settings, tmp_path / "file", 100, progress=False)
    with pytest.raises(NaitError, match=r"is a file, not a folder|cannot write into"):
        train(settings, tmp_path / "file" / "below", 100, progress=False)
    with pytest.raises(NaitError, match="no game"):
        train(RunSettings(env="Brakout"), tmp_path / "new", 100, progress=False)
    with pytest.raises(NaitError, match="is a setting of the Atari games"):
        train(RunSettings(env="CartPole-v1", env_options={"noop_max": 3}), tmp_path / "new", 100, progress=False)
    assert not (tmp_path / "new").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(NaitError, match="cannot write"):
        train(RunSettings(env="Breakout"), tmp_path / "run", 100, progress=False)


def test_a_damaged_checkpoint_is_refused_and_the_one_before_it_works(tmp_path: Path) -> None:
    settings, folder = RunSettings(env="Breakout", seed=1), tmp_path / "run"
    train(settings, folder, 900, checkpoint_every=300, progress=False)
    path = folder / "checkpoint.nait"
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 8
    path.write_bytes(damaged)
    with pytest.raises(NaitError, match=r"damaged.*checkpoint\.nait\.previous: rename it"):
        train(settings, folder, 1200, resume=True, progress=False)
    checkpoint.previous(path).replace(path)
    train(settings, folder, 1200, resume=True, progress=False)
    train(settings, tmp_path / "whole", 1200, progress=False)
    assert (folder / "episodes.csv").read_bytes() == (tmp_path / "whole/episodes.csv").read_bytes()


def test_a_disk_that_fills_up_is_told_and_the_run_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, folder = RunSettings(env="Breakout", seed=1), tmp_path / "run"

    def full(self: Table, **row: object) -> None:
        if int(str(row["step"])) > 1000:
            raise OSError(28, "No space left on device")
        append(self, **row)

    append = Table.append
    monkeypatch.setattr(Table, "append", full)
    with pytest.raises(NaitError, match=r"cannot write into .*: No space left on device"):
        train(settings, folder, 1500, checkpoint_every=300, progress=False)
    monkeypatch.undo()
    train(settings, folder, 1500, resume=True, progress=False)
    train(settings, tmp_path / "whole", 1500, progress=False)
    assert (folder / "episodes.csv").read_bytes() == (tmp_path / "whole/episodes.csv").read_bytes()


def test_damaged_configurations_are_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(NaitError, match="not JSON"):
        open_run(tmp_path)
    (tmp_path / "config.json").write_text('{"env": "Pong"}')
    with pytest.raises(NaitError, match="not a run's configuration"):
        open_run(tmp_path)
    with pytest.raises(NaitError, match="holds no run"):
        open_run(tmp_path / "none")


def test_tables_drop_what_came_after_a_checkpoint_and_rows_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    table = Table(path, ("step", "x"))
    for step in (1, 2, 3):
        table.append(step=step, x=step * 10)
    table.close()
    with open(path, "a") as file:
        file.write("4,4")
    assert [row["step"] for row in read_table(path)] == ["1", "2", "3"]
    table = Table(path, ("step", "x"), after=2)
    table.append(step=5, x=50)
    table.close()
    assert path.read_text().split() == ["step,x", "1,10", "2,20", "5,50"]


def test_tensorboard_events_are_written_where_it_is_installed(tmp_path: Path) -> None:
    loader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    train(RunSettings(env="CartPole-v1", seed=1), tmp_path / "run", 2000, progress=False)
    events = loader.EventAccumulator(str(tmp_path / "run"))
    events.Reload()
    assert [scalar.step for scalar in events.Scalars("train/score5")] == [1000, 2000]
