from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nait.errors import NaitError
from nait.experiments import store
from nait.experiments.files import HeldError, is_locked, locked, write_json
from nait.experiments.store import Curve, Record, Score


def record(name: str = "Pong-s0", **changes: object) -> Record:
    score = Score(
        steps=1000, score=1.5, std=0.5, episodes=2, returns=(1.0, 2.0), train_last5=None, states=900,
        distinct_states=800, itr_s=50.0, walltime_s=21.0,
    )  # fmt: skip
    plain: dict[str, object] = {
        "name": name, "suite": "games", "game": "Pong", "seed": 0, "steps": 1000, "setting": "k=8",
        "settings": {"k": 8}, "config": {"k": 8}, "env_options": {}, "status": "done", "scores": (score,),
        "curve": Curve(steps=(1000,), score5=(None,), states=(900,), seconds=(20.0,)), "commit": "abc1234",
    }  # fmt: skip
    return Record(**{**plain, **changes})  # type: ignore[arg-type]


def make_store(folder: Path) -> Path:
    (folder / "records").mkdir(parents=True)
    return folder


def test_a_record_comes_back_as_it_was_written(tmp_path: Path) -> None:
    folder = make_store(tmp_path)
    store.write(folder, record())
    assert store.read(folder) == [record()]
    data = json.loads((folder / "records" / "Pong-s0.json").read_text())
    assert set(data) == {
        "format", "name", "suite", "game", "seed", "steps", "setting", "settings", "config", "env_options", "status",
        "error", "scores", "curve", "versions", "machine", "commit",
    }  # fmt: skip
    assert data["format"] == 1


def test_damaged_records_are_told_and_the_others_read(tmp_path: Path) -> None:
    folder = make_store(tmp_path)
    store.write(folder, record())
    whole = (folder / "records" / "Pong-s0.json").read_text()
    for name, text in {
        "cut": whole[: len(whole) // 2],
        "empty": "",
        "list": "[]",
        "lacking": '{"format": 1, "name": "lacking"}',
        "another": whole,
        "later": '{"format": 2}',
    }.items():
        (folder / "records" / f"{name}.json").write_text(text)
    said: list[str] = []
    assert [r.name for r in store.read(folder, said.append)] == ["Pong-s0"]
    assert len(said) == 6
    assert sum("is damaged: it is not a whole record" in line for line in said) == 5
    assert sum("install a newer nait" in line for line in said) == 1


def test_a_folder_without_a_store_is_told(tmp_path: Path) -> None:
    with pytest.raises(NaitError, match="holds no benchmark"):
        store.read(tmp_path)


def test_what_cannot_be_written_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_json(tmp_path / "a.json", {"a": 1})

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_json(tmp_path / "a.json", {"a": 2})
    assert [(p.name, json.loads(p.read_text())) for p in tmp_path.iterdir()] == [("a.json", {"a": 1})]


def test_a_lock_keeps_others_out_and_dies_with_its_process(tmp_path: Path) -> None:
    holder = "import sys, time, pathlib; from nait.experiments.files import locked\n"
    holder += "with locked(pathlib.Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", holder, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        assert is_locked(tmp_path)
        with pytest.raises(HeldError, match="another process is at work"), locked(tmp_path):
            raise AssertionError("two hold one lock")
        process.kill()
        process.wait()
    assert not is_locked(tmp_path)
    with locked(tmp_path):
        assert is_locked(tmp_path)


def test_pandas_reads_a_store_in_one_line(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    folder = make_store(tmp_path)
    store.write(folder, record())
    store.write(folder, record("Pong-s1", seed=1))
    records = [json.loads(path.read_text()) for path in sorted(folder.glob("records/*.json"))]
    table = pandas.json_normalize(records, "scores", ["game", "seed", "setting", "status"])
    assert table[["game", "seed", "steps", "score"]].values.tolist() == [["Pong", 0, 1000, 1.5], ["Pong", 1, 1000, 1.5]]
