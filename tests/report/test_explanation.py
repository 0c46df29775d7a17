from __future__ import annotations

import json
from pathlib import Path

import cv2
import pytest

from nait.cli import main


@pytest.mark.parametrize(("env", "steps"), [("MsPacman", "700"), ("CartPole-v1", "700")])
def test_a_decision_is_drawn_and_told(env: str, steps: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, picture = str(tmp_path / "run"), tmp_path / "why.png"
    assert main(["train", env, "--steps", steps, "--eval-episodes", "0", "--quiet", "--k", "8", "--out", run]) == 0
    assert main(["explain", run, "--step", "5", "--out", str(picture)]) == 0
    image = cv2.imread(str(picture))
    assert image is not None
    assert image.std() > 10
    capsys.readouterr()
    assert main(["explain", run, "--step", "5", "--json"]) == 0
    decision = json.loads(capsys.readouterr().out)
    best = max(decision["actions"], key=lambda action: action["value"])
    assert decision["actions"][decision["action"]]["value"] == best["value"]
    assert sum(n["weight"] for n in best["neighbours"]) == pytest.approx(1)


@pytest.mark.filterwarnings("error")
def test_an_action_tried_too_seldom_is_drawn_and_told_without_a_value(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, picture = str(tmp_path / "run"), tmp_path / "why.png"
    assert main(["train", "Breakout", "--steps", "90", "--eval-episodes", "0", "--quiet", "--out", run]) == 0
    capsys.readouterr()
    assert main(["explain", run, "--step", "5", "--out", str(picture)]) == 0
    assert "tried too seldom" in capsys.readouterr().out
    assert picture.exists()
    assert main(["explain", run, "--step", "5", "--json"]) == 0

    def no_constant(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    decision = json.loads(capsys.readouterr().out, parse_constant=no_constant)
    assert decision["actions"][decision["action"]]["value"] is None


def test_mistakes_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = str(tmp_path / "run")
    main(["train", "CartPole-v1", "--steps", "200", "--eval-episodes", "0", "--quiet", "--out", run])
    for arguments, said in (
        (["--step", "100000"], "the episode ended after"),
        (["--step", "-1"], "--step must be at least 0"),
        (["--out", str(tmp_path / "why.bmp"), "--step", "1"], "must end in .png, .svg or .pdf"),
        (["--out", str(tmp_path / "no" / "why.png"), "--step", "1"], "cannot write"),
    ):
        assert main(["explain", run, *arguments]) == 2
        assert said in capsys.readouterr().err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run"]
