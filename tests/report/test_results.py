from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from synthetic import change, damage, failed, record, suite

from nait.errors import NaitError
from nait.experiments.store import write
from nait.experiments.suites import atari100k
from nait.report.results import Column, columns_of, differences, read_source

PREVIEW = Path(__file__).parents[2] / "results" / "preview" / "runs.csv"


def column(folder: Path) -> Column:
    (found,) = columns_of([read_source(folder)])
    return found


def test_a_whole_suite_is_one_column_without_gaps(tmp_path: Path) -> None:
    found = column(suite(tmp_path))
    assert found.label == "nait"
    assert found.games() == list(atari100k())
    assert found.missing() == {}
    expected = [record("Pong", seed).scores[0].score for seed in range(3)]
    np.testing.assert_array_equal(found.scores()["Pong"], expected)


def test_what_is_missing_is_known(tmp_path: Path) -> None:
    folder = suite(tmp_path, games=[game for game in atari100k() if game != "Hero"])
    (folder / "records" / "Pong-s1.json").unlink()
    write(folder, failed("Krull", 2, "MemoryError: no space"))
    found = column(folder)
    assert found.missing() == {"Hero": [0, 1, 2], "Krull": [2], "Pong": [1]}
    assert [(run.game, run.seed, run.error) for run in found.failed] == [("Krull", 2, "MemoryError: no space")]
    assert len(found.scores()["Krull"]) == 2


@pytest.mark.parametrize(
    ("content", "values", "reason"),
    [
        ('{"format": 1, "na', {}, "not a whole record"),
        ("[]", {}, "not a whole record"),
        ('{"format": 2}', {}, "format 2"),
        (None, {"status": "under way"}, "not a whole record"),
        (None, {"scores": []}, "without a score"),
        (None, {"seed": "zero"}, "seed"),
        (None, {"game": 7}, "must be text"),
        (None, {"scores": [{**record("Pong", 1).to_json()["scores"][0], "score": float("nan")}]}, "its score is nan"),
        (None, {"scores": [{**record("Pong", 1).to_json()["scores"][0], "score": "12"}]}, "its score is '12'"),
    ],
    ids=["cut", "list", "format", "status", "no score", "seed", "game", "nan", "text"],
)
def test_a_damaged_record_costs_only_itself(
    content: str | None, values: dict[str, object], reason: str, tmp_path: Path
) -> None:
    folder = suite(tmp_path, games=["Pong", "Boxing"])
    if content is not None:
        damage(folder, "Pong-s1", content)
    else:
        change(folder, "Pong-s1", **values)
    source = read_source(folder)
    assert len(source.runs) == 5
    (line,) = source.damaged
    assert reason in line
    assert "Pong-s1.json" in line


def test_a_broken_curve_does_not_cost_the_score(tmp_path: Path) -> None:
    folder = suite(tmp_path, games=["Pong"])
    change(folder, "Pong-s1", curve={"steps": [1000, 2000], "score5": [1.0], "states": [], "seconds": []})
    change(folder, "Pong-s2", curve={"steps": [1000], "score5": ["high"], "states": [], "seconds": []})
    runs = read_source(folder).runs
    assert [run.curve is None for run in runs] == [False, True, True]
    assert all(run.scores for run in runs)


def test_settings_are_columns_and_their_differences_are_listed(tmp_path: Path) -> None:
    columns = columns_of([read_source(suite(tmp_path, games=["Pong"], settings=("k=16", "")))])
    assert [found.label for found in columns] == ["default", "k=16"]
    assert differences(columns) == {"k": ["64", "16"]}


def test_folders_are_told_apart_by_as_much_of_their_path_as_needed(tmp_path: Path) -> None:
    one = suite(tmp_path / "a" / "results", games=["Pong"], commit="aaa")
    two = suite(tmp_path / "b" / "results", games=["Pong"], commit="bbb")
    columns = columns_of([read_source(one), read_source(two)])
    assert [found.label for found in columns] == ["a/results", "b/results"]
    assert differences(columns) == {"commit": ["aaa", "bbb"]}


def test_runs_of_different_versions_in_one_column_are_listed(tmp_path: Path) -> None:
    folder = suite(tmp_path, games=["Pong"])
    change(folder, "Pong-s1", commit="fff")
    assert differences([column(folder)]) == {"commit": ["0123abc, fff"]}


def test_a_longer_run_of_the_same_seed_takes_the_shorter_one_in(tmp_path: Path) -> None:
    folder = suite(tmp_path, games=["Pong"], seeds=1)
    longer = record("Pong", 0, milestones=(250_000,)).to_json()
    damage(folder, "longer", json.dumps({**longer, "name": "longer"}))
    found = column(folder)
    assert found.milestones == [100_000, 250_000]
    assert found.budget == 100_000
    assert len(found.runs) == 1


def test_the_first_results_are_read(tmp_path: Path) -> None:
    found = column(PREVIEW)
    assert len(found.runs) == 43
    assert found.games() == list(atari100k())
    np.testing.assert_array_equal(found.scores()["RoadRunner"], [11350.0, 710.0])
    assert found.missing()["MsPacman"] == [1]
    assert all(run.curve is None for run in found.runs)


def test_a_folder_that_holds_a_table_alone_is_read_as_one(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text("game,seed,steps,score\nPong,0,100000,-7.5\n")
    source = read_source(tmp_path)
    assert (source.path, [run.game for run in source.runs]) == (tmp_path, ["Pong"])
    (tmp_path / "records").mkdir()
    with pytest.raises(NaitError, match="holds no results"):
        read_source(tmp_path)


def test_a_table_may_have_settings_milestones_and_bad_lines(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(
        "setting,game,seed,steps,score\n,Pong,0,100000,-5\n,Pong,0,250000,3\nk=16,Pong,0,100000,-9\n"
        ",Pong,1,100000,nan\n,,1,100000,4\n,Pong,one,100000,4\n,Pong\n,Pong,0,250000,8\n"
    )
    source = read_source(path)
    assert [line.partition(":")[0] for line in source.damaged] == ["line 5", "line 6", "line 7", "line 8", "line 9"]
    default, other = columns_of([source])
    assert (default.label, default.milestones) == ("default", [100_000, 250_000])
    assert default.scores(250_000)["Pong"].tolist() == [3.0]
    assert other.scores()["Pong"].tolist() == [-9.0]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("nowhere", None, "there is no"),
        ("runs.csv", "game,score\nPong,3\n", "must name seed, steps"),
        ("runs.csv", "game,seed,steps,score\n", "holds no results"),
        ("runs.csv", "game,seed,steps,score\nPong,0,100000,inf\n", "that can be read: line 2: its score is 'inf'"),
        ("runs.csv", b"\xff\xfe\x00", "cannot read"),
        ("runs.csv", "", "must name game"),
    ],
)
def test_what_is_no_result_is_told(name: str, content: str | bytes | None, said: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        path.write_text(content)
    with pytest.raises(NaitError, match=said):
        read_source(path)


def test_an_empty_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(NaitError, match="nait bench"):
        read_source(tmp_path)
    (tmp_path / "records").mkdir()
    with pytest.raises(NaitError, match="holds no results"):
        read_source(tmp_path)
