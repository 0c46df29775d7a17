"""Whole benchmarks: on processes that are killed, stopped, and started twice."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from inline_engine import InlineEngine
from mistakes import check_mistake
from timeless import timeless
from waiting import wait_for

from nait import cli
from nait.cli import main
from nait.envs import ImageRandomWalk
from nait.experiments import resources, store
from nait.experiments.bench import Bench, look, prepare
from nait.experiments.engines import LocalEngine
from nait.experiments.files import locked
from nait.experiments.overview import Overview, Standing, duration, tables
from nait.experiments.plan import RANDOM_WALK, Job
from nait.experiments.store import Record, Score
from nait.experiments.suites import atari57

SUITE = ["--games", f"{RANDOM_WALK},CartPole-v1", "--seeds", "2", "--steps", "2000", "--episodes", "3"]
SUITE += ["--checkpoint-every", "300", "--jobs", "2", "--set", "epsilon=0.2"]


def bench(folder: Path, *more: str, **options: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "nait", "bench", *SUITE, *more, "--out", str(folder)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, **options
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a benchmark that nothing has disturbed."""
    folder = tmp_path_factory.mktemp("bench") / "whole"
    process = bench(folder)
    said, told = process.communicate(timeout=120)
    assert process.returncode == 0, told
    assert "4 of 4 runs done, 0 under way, 0 failed" in told
    assert "CartPole-v1" in said
    return folder


def test_every_run_has_its_record(whole: Path) -> None:
    records = store.read(whole)
    assert [(r.game, r.seed, r.status, r.steps) for r in records] == [
        (game, seed, "done", 2000) for game in ("CartPole-v1", RANDOM_WALK) for seed in (0, 1)
    ]
    for record in records:
        assert record.setting == "epsilon=0.2"
        assert record.config["epsilon"] == 0.2
        assert record.config["gamma"] == 0.99
        assert record.curve.steps == (1000, 2000)
        assert record.machine["cpu"]
        assert record.versions["nait"]
        (score,) = record.scores
        assert score.score == pytest.approx(sum(score.returns) / 3)
        assert score.itr_s == pytest.approx(2000 / record.curve.seconds[-1], rel=0.2)
        assert 0 < score.distinct_states <= score.states <= 2000
    assert len({r.scores[0].returns for r in records}) > 1


def test_what_is_there_is_not_run_again(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "LocalEngine", None)
    before = {path: path.stat().st_mtime_ns for path in whole.rglob("*") if path.is_file()}
    assert main(["bench", *SUITE, "--out", str(whole), "--csv", str(tmp_path / "runs.csv")]) == 0
    assert {path: path.stat().st_mtime_ns for path in whole.rglob("*") if path.is_file()} == before
    assert "4 rows" in capsys.readouterr().out
    lines = (tmp_path / "runs.csv").read_text().splitlines()
    assert lines[0] == "game,seed,steps,score,episodes,train_last5,states,itr_s,commit"
    assert [line.split(",")[:3] for line in lines[1:3]] == [["CartPole-v1", "0", "2000"], ["CartPole-v1", "1", "2000"]]


def test_a_killed_benchmark_goes_on_and_ends_bit_identical(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "killed"
    process = bench(folder)
    wait_for(lambda: list(folder.glob("runs/*/checkpoint.nait")), process)
    os.killpg(process.pid, signal.SIGKILL)  # its workers with it
    process.communicate()
    assert len(list(folder.glob("records/*.json"))) < 4
    again = bench(folder)
    assert again.wait(120) == 0, again.communicate()[1]
    assert timeless(folder) == timeless(whole)


def test_the_workers_of_a_killed_benchmark_end_and_ctrl_c_saves(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "stopped"
    process = bench(folder)
    wait_for(lambda: list(folder.glob("runs/*/checkpoint.nait")), process)
    process.kill()  # without its workers
    process.communicate()
    orphans = time.time() + 2
    second = bench(folder)
    wait_for(lambda: any(path.stat().st_mtime > orphans for path in folder.glob("runs/*/checkpoint.nait")), second)
    second.send_signal(signal.SIGINT)
    _, told = second.communicate(timeout=60)
    left = 4 - len(list(folder.glob("records/*.json")))
    if left:  # a fast machine may have been done
        assert second.returncode == 130
        assert f"stopped with {left} of 4 runs left; the same command goes on" in told
    assert "Traceback" not in told
    last = bench(folder)
    assert last.wait(120) == 0, last.communicate()[1]
    assert timeless(folder) == timeless(whole)


def test_two_benchmarks_on_one_folder_do_each_run_once(whole: Path, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")  # leaves one file for each time that a run is taken up
    folder = tmp_path / "shared"
    both = [bench(folder, "--jobs", "1") for _ in range(2)]
    for process in both:
        assert process.wait(120) == 0, process.communicate()[1]
    assert timeless(folder) == timeless(whole)
    for run in (folder / "runs").iterdir():
        assert len(list(run.glob("events.*"))) == 1, run


def test_extra_seeds_games_and_settings_run_only_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started: list[str] = []

    class Engine(InlineEngine):
        def start(self, job: Job) -> None:
            started.append(f"{job.name} to {job.steps}")
            super().start(job)

    monkeypatch.setattr(cli, "LocalEngine", Engine)
    for more, names in (
        (["random-walk", "--seeds", "1"], ["nait-ImageRandomWalk-v0-gamma=0.9-s0 to 300"]),
        (["random-walk", "--seeds", "2"], ["nait-ImageRandomWalk-v0-gamma=0.9-s1 to 300"]),
        (["--games", RANDOM_WALK, "--seeds", "1", "--set", "gamma=0.9,0.99"], ["nait-ImageRandomWalk-v0-s0 to 300"]),
        (["--games", "CartPole-v1", "--seeds", "1-1", "--set", "k=4"], ["CartPole-v1-k=4-s1 to 300"]),
        (["random-walk", "--seeds", "1", "--steps", "400"], ["nait-ImageRandomWalk-v0-gamma=0.9-s0 to 400"]),
        (["random-walk", "--seeds", "2", "--steps", "300", "--dry-run"], []),
    ):
        started.clear()
        steps = [] if "--steps" in more else ["--steps", "300"]
        assert main(["bench", *more, *steps, "--episodes", "2", "--out", str(tmp_path / "s")]) == 0
        assert started == names
    assert "0 of 2 runs to do" in capsys.readouterr().out
    code = main(["bench", "random-walk", "--seeds", "1", "--steps", "200", "--out", str(tmp_path / "s")])
    assert code == 2
    assert "has 400 steps in" in capsys.readouterr().err
    csv = tmp_path / "all.csv"
    store.write_csv(csv, store.read(tmp_path / "s"))
    lines = csv.read_text().splitlines()
    assert lines[0].startswith("setting,game,seed,steps,")
    assert [line.split(",")[0] for line in lines[1:]] == ["", "gamma=0.9", "gamma=0.9", "gamma=0.9", "k=4"]


class CliffWalk(ImageRandomWalk):
    broken = True

    def step(self, action: Any) -> Any:
        if self.broken:
            raise ZeroDivisionError("a cliff")
        return super().step(action)


gymnasium.register("CliffWalk-v0", CliffWalk, max_episode_steps=200)


def test_a_failing_run_stops_no_other_and_is_tried_again_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "LocalEngine", InlineEngine)
    command = ["bench", "--games", f"CliffWalk-v0,{RANDOM_WALK}", "--seeds", "1", "--steps", "300", "--episodes", "2"]
    command += ["--out", str(tmp_path / "s")]
    assert main(command) == 1
    told = capsys.readouterr().err
    assert "CliffWalk-v0-s0 failed: ZeroDivisionError: a cliff" in told
    assert "1 of 2 runs failed" in told
    assert "--retry-failed tries them again" in told
    assert {r.game: r.status for r in store.read(tmp_path / "s")} == {"CliffWalk-v0": "failed", RANDOM_WALK: "done"}
    monkeypatch.setattr(CliffWalk, "broken", False)
    assert main(command) == 1
    assert main([*command, "--retry-failed"]) == 0
    assert {r.status for r in store.read(tmp_path / "s")} == {"done"}


WALK = Job(suite="random-walk", game=RANDOM_WALK, seed=0, steps=4000, episodes=2, checkpoint_every=300)


class Deadly(LocalEngine):
    """Kills its workers once they have a checkpoint."""

    kills = 1

    def poll(self) -> Any:
        for worker in self._workers:
            if self.kills and list(self.folder.glob("runs/*/checkpoint.nait")):
                worker.process.kill()
                self.kills -= 1
                worker.process.wait()
        return super().poll()


def run_here(folder: Path, engine: LocalEngine, *jobs: Job) -> tuple[Standing, str]:
    prepare(folder)
    told = io.StringIO()
    standing = look(folder, jobs, tell=print)
    assert Bench(folder, standing, engine, Overview(folder, "test", told)).run()
    return standing, told.getvalue()


def test_a_run_whose_process_is_killed_is_taken_up_again(tmp_path: Path) -> None:
    engine = Deadly(tmp_path / "killed", 1)
    engine.folder = tmp_path / "killed"
    standing, told = run_here(engine.folder, engine, WALK)
    assert "its process was killed (SIGKILL)" in told
    assert "it goes on from its checkpoint" in told
    assert list(standing.done) == [WALK.name]
    run_here(tmp_path / "whole", InlineEngine(tmp_path / "whole"), WALK)  # type: ignore[arg-type]
    assert timeless(tmp_path / "killed") == timeless(tmp_path / "whole")


def test_a_run_that_kills_every_process_is_recorded_as_failed(tmp_path: Path) -> None:
    engine = Deadly(tmp_path, 1)
    engine.folder, engine.retries = tmp_path, 0
    standing, _ = run_here(tmp_path, engine, WALK)
    assert "was killed (SIGKILL)" in standing.failed[WALK.name]
    (record,) = store.read(tmp_path)
    assert (record.status, record.error) == ("failed", standing.failed[WALK.name])
    assert record.steps >= 300


def test_a_job_waits_for_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = replace(WALK, steps=1_000_000)
    need = resources.needed_memory(job)
    assert need > 1e9
    assert resources.needed_memory(replace(job, overrides={"index": "hnswlib"})) > 1.5 * need
    engine = LocalEngine(tmp_path, 4)
    monkeypatch.setattr(resources, "available_memory", lambda: 0.0)
    assert engine.has_room(job)  # one at least, whatever it needs

    class Worker:
        def __init__(self) -> None:
            self.job, self.process = job, type("P", (), {"pid": os.getpid()})

    engine._workers = [Worker()]  # type: ignore[list-item]
    for available, room in ((2.1 * need, True), (1.5 * need, False), (None, True)):
        monkeypatch.setattr(resources, "available_memory", lambda left=available: left)
        assert engine.has_room(job) is room
    engine._workers *= 4
    monkeypatch.setattr(resources, "available_memory", lambda: 1e15)
    assert not engine.has_room(job)


def test_the_limit_of_a_container_counts(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal: 9000 kB\nMemAvailable:    8000 kB\n")
    assert resources.available_memory(tmp_path) == 8000 * 1024
    group = tmp_path / "sys/fs/cgroup"
    group.mkdir(parents=True)
    (group / "memory.max").write_text("max\n")
    (group / "memory.current").write_text("3000000\n")
    (group / "memory.stat").write_text("anon 5\ninactive_file 500000\n")
    assert resources.available_memory(tmp_path) == 8000 * 1024
    (group / "memory.max").write_text("4000000\n")
    assert resources.available_memory(tmp_path) == 1_500_000


def finished(game: str, seed: int, score: float, setting: str = "", steps: int = 100_000) -> Record:
    evaluation = Score(
        steps=steps, score=score, std=0.0, episodes=1, returns=(score,), train_last5=1.0, states=1,
        distinct_states=1, itr_s=1.0, walltime_s=1.0,
    )  # fmt: skip
    return Record(
        name=f"{game}{setting}-s{seed}", suite="games", game=game, seed=seed, steps=steps, setting=setting,
        settings={}, config={}, env_options={}, status="done", scores=(evaluation,),
    )  # fmt: skip


def standing_of(*records: Record) -> Standing:
    jobs = {
        r.name: Job(suite="g", game=r.game, seed=r.seed, steps=100_000, overrides={"k": 1} if r.setting else {})
        for r in records
    }
    return Standing(jobs, dict.fromkeys(jobs, 0), done={r.name: r for r in records})


def test_scores_are_averaged_over_seeds_then_normalised_then_over_games() -> None:
    # random and human scores: Pong -20.7 and 14.6, Breakout 1.7 and 30.5, Alien 227.8 and 7127.7
    figures = {name: (game.random, game.human) for name, game in atari57().items()}
    assert [figures[game] for game in ("Pong", "Breakout", "Alien")] == [(-20.7, 14.6), (1.7, 30.5), (227.8, 7127.7)]
    records = [
        finished("Pong", 0, 14.6),
        finished("Pong", 1, -20.7),  # the mean is half way: 0.5
        finished("Breakout", 0, 59.3),  # 2
        finished("Alien", 0, 227.8),  # 0
    ]
    lines = tables(standing_of(*records))
    assert "nait: HNS mean 0.833, median 0.500 over 3 games" in lines
    # the paper's -7.89, 11.665 and 918.35 are 12.81 / 35.3, 9.965 / 28.8 and 690.55 / 6899.9 of the way
    assert "paper: HNS mean 0.270, median 0.346 over 3 games" in lines
    assert lines[1].split() == ["Pong", "2", "-3.0", "0.500", "-7.9", "0.363"]


def test_several_settings_are_told_apart() -> None:
    lines = tables(standing_of(finished("Pong", 0, 14.6), finished("Pong", 0, -20.7, "k=1")))
    assert lines[1].split() == ["default", "100,000", "1", "1.000", "1.000"]
    assert lines[2].split() == ["k=1", "100,000", "1", "0.000", "0.000"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_overview_is_redrawn_on_a_terminal_and_a_line_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nait.experiments.overview.REFRESH_SECONDS", 0.0)
    monkeypatch.setattr("nait.experiments.overview.LINE_SECONDS", 0.0)
    standing = standing_of(finished("Pong", 0, 14.6), finished("Alien", 0, 227.8))
    del standing.done["Alien-s0"]
    standing.running["Alien-s0"] = standing.jobs["Alien-s0"]
    run = tmp_path / "runs" / "Alien-s0"
    run.mkdir(parents=True)
    (run / "progress.csv").write_text("step,score5,episodes,states,itr_s,seconds\n1000,,0,9,9,9\n2000,,0,9,9,9\n30")
    terminal, plain = Terminal(), io.StringIO()
    for stream in (terminal, plain):
        overview = Overview(tmp_path, "games", stream)
        overview.show(standing)
        overview.note("something")
        overview.show(standing)
        overview.close(standing)
    first = "games: 1 of 2 runs done, 1 under way, 0 failed"
    assert terminal.getvalue().count(first) == 3
    assert "Alien-s0: 2,000 of 100,000 steps" in terminal.getvalue()
    assert terminal.getvalue().count("\x1b[4F\x1b[J") == 2
    lines = plain.getvalue().splitlines()
    assert len(lines) == 4
    assert lines[1] == "nait: something"
    assert lines[0].startswith(first)
    assert lines[0].endswith("left, HNS mean 1.000, median 1.000 over 1 game")
    assert "\x1b" not in plain.getvalue()


def test_durations_are_short() -> None:
    assert [duration(s) for s in (5, 150, 7300, 200_000)] == ["5 s", "2 min", "2 h 1 min", "2 d 7 h"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name a suite"),
        (["atari10k"], "did you mean atari100k"),
        (["--games", "Pomg"], "did you mean Pong"),
        (["atari100k", "--seeds", "none"], "--seeds takes"),
        (["atari100k", "--set", "gama=0.5"], "did you mean gamma"),
        (["atari100k", "--set", "gamma=5"], "gamma must lie in"),
        (["atari100k", "--jobs", "0"], "--jobs must be at least 1"),
        (["atari100k", "--episodes", "0"], "episodes must be at least 1"),
        (["atari100k", "--steps", "0"], "steps must be at least 1"),
        (["atari100k", "--address", "auto"], "add --engine ray"),
        (["random-walk", "--csv", "no/where.csv"], "there is no folder no"),
        (["random-walk", "--out", "/proc/nowhere/bench"], "cannot write into /proc/nowhere/bench"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_are_answered_in_one_line(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    check_mistake(["bench", *arguments], said, capsys)
    assert list(tmp_path.iterdir()) == []


def test_a_read_only_folder_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(self: Path, text: str) -> None:  # root may write everywhere, so it is the system that says no
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "write_text", refuse)
    assert main(["bench", "random-walk", "--out", str(tmp_path / "s")]) == 2
    assert capsys.readouterr().err == f"nait: cannot write into {tmp_path / 's'}: Read-only file system\n"


def test_train_keeps_out_of_a_run_that_another_process_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["train", "CartPole-v1", "--steps", "200", "--eval-episodes", "0", "--quiet", "--out", str(tmp_path)]
    with locked(tmp_path):
        assert main(command) == 2
    told = capsys.readouterr().err
    assert "another process is at work in" in told
    assert len(told.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]
    assert main(command) == 0
