"""`nait paper`: names, options, mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest
from mistakes import check_mistake

from nait.cli import main
from nait.paper import registry

NAMES = (
    "random-walk", "ablations", "sensitivity", "ef", "recall", "discount", "kernels", "clipping", "sticky", "long-run",
    "walltime", "speed", "overview", "mfec",
)  # fmt: skip


def test_the_list_names_every_experiment_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["paper", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sorted(line.split()[0] for line in lines) == sorted(NAMES) == sorted(registry.EXPERIMENTS)
    assert all(line.endswith(")") and len(line) > 40 for line in lines)


def test_help_shows_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["paper", "--help"])
    assert exit_.value.code == 0
    assert "example: nait paper" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ablation"], "did you mean ablations?"),
        (["figure9"], "`nait paper list` names them"),
        (["kernels", "--games", "Pong"], "kernels takes no --games"),
        (["recall", "--steps", "100"], "recall takes no --steps"),
        (["ablations", "--results", "x"], "ablations takes no --results"),
        (["recall", "--games", "MsPackman"], "did you mean MsPacman"),
        (["ablations", "--games", "MsPackman"], "did you mean MsPacman"),
        (["ablations", "--steps", "0"], "--steps must be at least 1"),
        (["ablations", "--steps", "2000000"], "at most 1,000,000"),
        (["ablations", "--episodes", "0"], "--episodes must be at least 1"),
        (["random-walk", "--episodes", "5"], "random-walk takes no --episodes"),
        (["ablations", "--seeds", "none"], "--seeds takes"),
        (["ablations", "--jobs", "0"], "--jobs must be at least 1"),
        (["ablations", "--address", "auto"], "add --engine ray"),
        (["walltime", "--games", "Pong,Breakout"], "walltime shows one game"),
        (["random-walk", "--steps", "10"], "at least 100 steps"),
        (["overview", "--results", "nowhere"], "there is no nowhere"),
        (["overview", "--results", "nowhere", "--games", "Pong"], "leave out --games"),
        (["kernels", "--out", "/proc/nowhere/x"], "cannot write into"),
        (["ablations", "--quick", "--out", "/proc/nowhere/x"], "cannot write into"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_are_answered_in_one_line_and_leave_nothing(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    check_mistake(["paper", *arguments], said, capsys)
    assert list(tmp_path.iterdir()) == []
