from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import cv2
import pytest
from mistakes import check_mistake
from PIL import Image

from nait.cli import main


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "mspacman"
    arguments = ["train", "MsPacman", "--steps", "600", "--eval-episodes", "1", "--quiet", "--out", str(folder)]
    assert main(arguments) == 0
    return folder


def test_train_prints_the_score_beside_the_published_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    assert main(["train", "MsPacman", "--steps", "300", "--eval-episodes", "2", "--out", str(out)]) == 0
    said = capsys.readouterr().out
    for text in ("random        307.3", "human        6951.6", "paper        2579.2", "mean of 2 episodes", str(out)):
        assert text in said
    assert "nait eval" in said
    assert json.loads((out / "eval.json").read_text())["episodes"] == 2


def test_train_answers_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["train", "MsPacman", "--steps", "200", "--eval-episodes", "1", "--json", "--k", "8", "--quiet"]
    assert main([*arguments, "--no-full-action-space", "--out", str(tmp_path / "r")]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["env"], result["steps"], result["episodes"]) == ("MsPacman", 200, 1)
    config = json.loads((tmp_path / "r" / "config.json").read_text())
    assert config["hyperparameters"]["k"] == 8
    assert config["env_options"]["full_action_space"] is False


def test_without_a_terminal_progress_is_plain_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = "import sys, nait.progress as p; p.LINE_SECONDS = 0.0; from nait.cli import main; sys.exit(main())"
    arguments = ["train", "MsPacman", "--steps", "400", "--eval-episodes", "0", "--out", str(tmp_path / "r")]
    done = subprocess.run([sys.executable, "-c", command, *arguments], capture_output=True, text=True, check=True)
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 8
    assert lines[-1].startswith("400 of 400 steps, ")
    assert "itr/s" in lines[-1]
    assert "\r" not in done.stderr


@pytest.mark.parametrize("name", ["film.mp4", "film.gif"])
def test_eval_films_an_episode(run: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    film = tmp_path / name
    assert main(["eval", str(run), "--episodes", "1", "--video", str(film), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["video_score"] >= 0
    if film.suffix == ".mp4":
        video = cv2.VideoCapture(str(film))
        assert int(video.get(cv2.CAP_PROP_FRAME_COUNT)) > 20
        assert video.read()[1].shape == (420, 320, 3)
    else:
        assert Image.open(film).n_frames > 20
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_eval_is_repeatable(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = []
    for _ in range(2):
        assert main(["eval", str(run), "--episodes", "2", "--json", "--quiet"]) == 0
        answers.append(capsys.readouterr().out)
    assert answers[0] == answers[1]


def test_eval_can_play_otherwise_than_the_run_says(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for given, expected in (([], "known"), (["--play", "greedy"], "greedy")):
        assert main(["eval", str(run), "--episodes", "1", "--json", "--quiet", *given]) == 0
        assert json.loads(capsys.readouterr().out)["play"] == expected
        assert json.loads((run / "eval.json").read_text())["play"] == expected


def test_games_lists_57_and_26(capsys: pytest.CaptureFixture[str]) -> None:
    for suite, count in (("atari57", 57), ("atari100k", 26)):
        assert main(["games", "--suite", suite, "--json"]) == 0
        games = json.loads(capsys.readouterr().out)
        assert len(games) == count
        assert main(["games", "--suite", suite]) == 0
        assert len(capsys.readouterr().out.splitlines()) == count + 1
    pacman = next(game for game in games if game["game"] == "MsPacman")
    assert pacman["paper"]["100000"] == 2579.2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["train", "MsPackman"], "did you mean MsPacman"),
        (["train", "Pendulum-v1"], "discrete actions"),
        (["train", "Nowhere-v0"], "Gymnasium cannot make 'Nowhere-v0'"),
        (["train", "Pong", "--k", "0"], "k must be a whole number of at least 1"),
        (["train", "Pong", "--k", "many"], "invalid int value: 'many'"),
        (["train", "Pong", "--state-dim", "290"], "must be a square for the DCT, such as 289 or 324"),
        (["train", "Pong", "--kernel", "cubic"], "invalid choice: 'cubic'"),
        (["train", "Pong", "--epsilon", "2"], "epsilon must be"),
        (["train", "Pong", "--epsilon", "1:2"], "START:END:STEPS"),
        (["train", "Pong", "--steps", "-5"], "steps must be at least 1"),
        (["train", "Pong", "--seed", "-5"], "seed must be"),
        (["train", "Pong", "--eval-episodes", "-1"], "eval-episodes must be at least 0"),
        (["train", "Pong", "--sticky-actions", "1.5"], "sticky_actions must lie in"),
        (["train", "CartPole-v1", "--sticky-actions", "0.5"], "is a setting of the Atari games"),
        (["train", "Pong", "--out", "/proc/nowhere/run"], "cannot write into"),
        (["train"], "the following arguments are required: GAME"),
        (["eval", "nowhere"], "holds no run"),
        (["eval", "nowhere", "--video", "film.avi"], "must end in .mp4 or .gif"),
        (["eval", "nowhere", "--video", "no/folder/film.gif"], "there is no folder"),
        ([], "required: COMMAND"),
        (["fly"], "invalid choice: 'fly'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_are_answered_in_one_line(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    check_mistake(arguments, said, capsys)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["train", "eval", "games", "bench"])
def test_help_shows_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main([command, "--help"])
    assert exit_.value.code == 0
    assert f"example: nait {command}" in " ".join(capsys.readouterr().out.split())


def test_a_reader_who_leaves_early_is_no_error() -> None:
    command = f"{sys.executable} -m nait games | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.startswith("game")


def test_the_command_starts_without_the_libraries_that_few_commands_need() -> None:
    heavy = {"matplotlib", "scipy", "ray", "torch"}
    told = subprocess.run(
        [sys.executable, "-c", "import sys, nait.cli; print(*{name.partition('.')[0] for name in sys.modules})"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert not heavy & set(told.stdout.split())
