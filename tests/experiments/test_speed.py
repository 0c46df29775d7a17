from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from waiting import wait_for

import nait
from nait.cli import main
from nait.errors import NaitError
from nait.experiments.speed import (
    Speed,
    SpeedSettings,
    contents,
    hnswlib_bytes,
    in_turns,
    mean,
    measure,
    recall,
    squared_distances,
    store,
)
from nait.memory import Memory
from nait.native_memory import NativeMemory

COLUMNS = {field.name for field in fields(Speed)}


def speed(**changes: float | None) -> Speed:
    return Speed(**{**dict.fromkeys(COLUMNS, 1.0), **changes})


def test_one_run_measures_all_three_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["speed", "MsPacman", "--states", "1500", "--steps", "300", "--json"]) == 0
    said = capsys.readouterr()
    result = json.loads(said.out)
    assert set(result) == {"games", "mean"}
    (row,) = result["games"]
    assert set(row) == {"game", *COLUMNS}
    assert {name: row[name] for name in COLUMNS} == result["mean"]
    assert row["game"] == "MsPacman"
    assert 1500 <= row["states"] < 1600
    for name in ("emulator_itr_s", "nait_itr_s", "reference_itr_s"):
        assert row[name] > 0
    assert row["of_emulator"] == pytest.approx(row["nait_itr_s"] / row["emulator_itr_s"], rel=1e-3)
    assert row["over_reference"] == pytest.approx(row["nait_itr_s"] / row["reference_itr_s"], rel=1e-3)
    assert 0.8 < row["recall"] <= 1
    assert 0.8 < row["reference_recall"] <= 1
    assert 0 < row["bytes_per_state"] < row["reference_bytes_per_state"]
    assert "MsPacman, 1 of 1" in said.err


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="asks /proc for the processes")
def test_no_process_is_left_when_it_is_killed() -> None:
    command = [sys.executable, "-m", "nait", "speed", "Pong", "--states", "100000"]
    measuring = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        wait_for(lambda: len(processes_of(measuring.pid)) == 2)
        measuring.kill()
        measuring.wait()
        wait_for(lambda: not processes_of(measuring.pid))
    finally:
        for left in processes_of(measuring.pid):
            os.kill(left, signal.SIGKILL)


def processes_of(session: int) -> list[int]:
    """The Python processes of a session that play or let play; not those that keep books for them."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it may have ended meanwhile
            state, *numbers = process.joinpath("stat").read_text().rpartition(") ")[2].split()
            if (
                int(numbers[2]) == session
                and state != "Z"
                and b"resource_tracker" not in process.joinpath("cmdline").read_bytes()
            ):
                found.append(int(process.name))
    return found


def test_the_table_has_a_row_a_game_and_the_mean(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = {"Pong": speed(of_emulator=0.5), "Hero": speed(of_emulator=0.7, recall=None)}
    monkeypatch.setattr("nait.cli.measure", lambda games, settings: ((game, rows[game]) for game in games))
    assert main(["speed", "Pong", "Hero"]) == 0
    title, *lines = capsys.readouterr().out.splitlines()
    assert title.split()[:3] == ["game", "emulator", "nait"]
    assert [line.split()[0] for line in lines] == ["Pong", "Hero", "mean"]
    assert [line.split()[4] for line in lines] == ["0.50", "0.70", "0.60"]
    assert [line.split()[6] for line in lines] == ["1.0000", "-", "1.0000"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["Pong", "MsPackman"], "there is no game 'MsPackman': did you mean MsPacman"),
        (["CartPole-v1"], "there is no game 'CartPole-v1'"),
        (["Pong", "--states", "10"], "states must be a whole number of at least 1000, not 10"),
        (["Pong", "--steps", "0"], "steps must be a whole number of at least 1, not 0"),
        (["Pong", "--seed", "-1"], "seed must be a whole number of at least 0, not -1"),
        (["Pong", "--states", "many"], "invalid int value: 'many'"),
    ],
)
def test_wrong_use_is_refused_in_one_line(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main(["speed", *arguments])
    except SystemExit as stop:  # argparse's way out
        code = int(stop.code or 0)
    captured = capsys.readouterr()
    assert code == 2
    assert captured.out == ""
    assert said in captured.err
    assert captured.err.count("\n") == 1


def test_games_are_checked_before_the_first_is_played() -> None:
    with pytest.raises(NaitError, match="there is no game"):
        measure(["Pong", "Nothing"], SpeedSettings())


def test_the_mean_of_ratios_is_the_mean_over_games() -> None:
    fast = speed(emulator_itr_s=4000.0, nait_itr_s=3000.0, of_emulator=0.75, recall=None)
    slow = speed(emulator_itr_s=1000.0, nait_itr_s=250.0, of_emulator=0.25, recall=0.9)
    average = mean([fast, slow])
    assert average.of_emulator == 0.5
    assert (average.emulator_itr_s, average.recall) == (2500.0, 0.9)
    assert mean([fast]).recall is None


def test_the_reference_gets_the_same_entries() -> None:
    env = nait.make_atari("Breakout")
    ours, theirs = nait.NAIT(env, seed=0), nait.NAIT(env, seed=0, index="hnswlib")
    play = []
    encode, exact = ours.representation, theirs.representation
    ours.representation = lambda stack: (play.append(exact(stack)), encode(stack))[1]  # type: ignore[assignment]
    ours.learn(400)
    ours.representation = encode
    assert isinstance(ours.memory, NativeMemory)
    assert isinstance(theirs.memory, Memory)
    filled = contents(ours.memory, np.array(play))
    store(filled, theirs.memory)
    assert theirs.memory.sizes() == ours.memory.sizes()
    ids = np.arange(len(theirs.memory))
    assert (np.diff(theirs.memory.born(ids)) > 0).all()
    for action in range(env.action_space.n):
        mine = np.flatnonzero(filled.actions == action)
        slots = np.arange(len(mine)) * ours.n_actions + action
        np.testing.assert_array_equal(theirs.memory.values_of(mine), ours.memory.values_of(slots))
        centre = encode.save()["centre"]
        kept = (ours.memory.states_of(slots) + centre) * encode.unit  # type: ignore[attr-defined]
        np.testing.assert_allclose(theirs.memory.states_of(mine), kept, atol=16)


def test_recall_counts_whatever_is_as_near_as_the_kth() -> None:
    squared = np.array([4.0, 1.0, 2.0, 2.0, 9.0])
    assert recall(squared, np.array([1, 2]), 2) == 1
    assert recall(squared, np.array([1, 3]), 2) == 1
    assert recall(squared, np.array([1, 0]), 2) == 0.5
    assert recall(squared, np.array([0, 4]), 2) == 0


def test_distances_are_exact_enough() -> None:
    rng = np.random.default_rng(0)
    states = (1000 + rng.standard_normal((50, 289))).astype(np.float32)
    queries = (1000 + rng.standard_normal((7, 289))).astype(np.float32)
    truth = ((queries[:, None].astype(np.float64) - states) ** 2).sum(axis=2)
    np.testing.assert_allclose(squared_distances(queries, states), truth, rtol=1e-9)


def test_turns_cover_all_steps() -> None:
    turns: list[tuple[str, int]] = []
    seconds = in_turns([lambda n: turns.append(("a", n)), lambda n: turns.append(("b", n))], steps=25, block=10)
    assert turns == [("a", 10), ("b", 10), ("a", 10), ("b", 10), ("a", 5), ("b", 5)]
    assert len(seconds) == 2


RESIDENT = """
import hnswlib, numpy as np
states = np.random.default_rng(0).standard_normal((8000, 289), dtype=np.float32)
resident = lambda: int(open("/proc/self/statm").read().split()[1]) * 4096
def index(n):
    made = hnswlib.Index("l2", 289)
    made.init_index(n, M=40, ef_construction=40)
    made.set_num_threads(1)
    made.add_items(states[:n])
    return made
index(1)
start = resident()
small = index(1)
middle = resident()
large = index(8000)
print((resident() - middle - (middle - start)) / 8000)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_hnswlibs_bytes_are_what_a_process_really_allocates() -> None:
    done = subprocess.run([sys.executable, "-c", RESIDENT], capture_output=True, text=True, check=True)
    assert hnswlib_bytes(289, 40) == pytest.approx(float(done.stdout), rel=0.03)
