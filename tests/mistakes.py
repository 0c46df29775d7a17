"""How the command answers a user's mistake."""

from __future__ import annotations

import pytest

from nait.cli import main


def check_mistake(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2 and one line that says what is wrong, nothing else."""
    try:
        code: object = main(arguments)
    except SystemExit as exit_:
        code = exit_.code
    captured = capsys.readouterr()
    assert code == 2
    assert said in captured.err
    assert len(captured.err.strip().splitlines()) == 1
    assert captured.out == ""
