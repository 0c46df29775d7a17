"""How far a variant lies from what it is compared with."""

from __future__ import annotations

from pathlib import Path

import pytest

from nait.experiments.suites import atari100k
from nait.paper.tables import difference_cells
from nait.report.results import Column, columns_of, read_source

HEADINGS = "game,seed,steps,score,episodes,train_last5,states,itr_s,commit"


def column(folder: Path, **hns: list[float]) -> Column:
    """Of runs with these human-normalised scores."""
    folder.mkdir()
    rows = [
        f"{game},{seed},100000,{known.random + value * (known.human - known.random)},10,0,100,900,abc"
        for game, values in hns.items()
        for known in [atari100k()[game]]
        for seed, value in enumerate(values)
    ]
    (folder / "runs.csv").write_text("\n".join([HEADINGS, *rows, ""]))
    (found,) = columns_of([read_source(folder / "runs.csv")])
    return found


def test_a_game_above_a_humans_score_counts_no_more_than_that_when_clipped(tmp_path: Path) -> None:
    mine = column(tmp_path / "a", Krull=[3.0], Pong=[0.3], Boxing=[0.5])
    theirs = column(tmp_path / "b", Krull=[2.0], Pong=[0.1], Boxing=[0.6], Qbert=[0.9])
    plain, clipped, higher = difference_cells(mine, theirs)
    assert plain == "+0.367 ± 0.328"  # of 1.0, 0.2 and -0.1
    assert clipped == "+0.033 ± 0.088"  # of 0, 0.2 and -0.1
    assert higher == "2 of 3"


def test_it_is_a_games_mean_that_is_clipped(tmp_path: Path) -> None:
    mine, theirs = column(tmp_path / "a", Pong=[0.0, 1.6]), column(tmp_path / "b", Pong=[0.5])
    assert difference_cells(mine, theirs)[1] == "+0.300"


@pytest.mark.parametrize("games", [{}, {"Pong": [0.2]}])
def test_without_a_game_in_common_there_is_nothing_to_say(tmp_path: Path, games: dict[str, list[float]]) -> None:
    mine = column(tmp_path / "a", Boxing=[0.1])
    theirs = column(tmp_path / "b", **games) if games else None
    assert difference_cells(mine, theirs) == ["–"] * 3  # noqa: RUF001
