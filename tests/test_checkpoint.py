from __future__ import annotations

import json
import pickle
import random
import zipfile
from pathlib import Path

import numpy as np
import pytest

import nait
from nait import checkpoint
from nait.errors import NaitError

ARRAYS = {"a": np.arange(1000, dtype=np.float32).reshape(10, 100), "b.c": np.array(7), "none": np.empty((0, 3))}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "x.nait"
    checkpoint.save(path, {"name": "first"}, ARRAYS)
    return path


def test_what_was_saved_is_loaded(saved: Path) -> None:
    meta, arrays = checkpoint.load(saved)
    assert meta == {"version": checkpoint.VERSION, "name": "first"}
    assert set(arrays) == set(ARRAYS)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array)
        assert (arrays[name].dtype, arrays[name].shape) == (array.dtype, array.shape)


def test_numpy_alone_opens_the_file(saved: Path) -> None:
    with np.load(saved, allow_pickle=False) as arrays:
        np.testing.assert_array_equal(arrays["a"], ARRAYS["a"])


def test_the_file_before_it_is_kept(saved: Path) -> None:
    checkpoint.save(saved, {"name": "second"}, ARRAYS)
    assert checkpoint.load(saved)[0]["name"] == "second"
    assert checkpoint.load(checkpoint.previous(saved))[0]["name"] == "first"
    assert sorted(p.name for p in saved.parent.iterdir()) == ["x.nait", "x.nait.previous"]


def test_any_flipped_bit_is_found(saved: Path) -> None:
    content = saved.read_bytes()
    rng = random.Random(0)
    places = [0, 1, len(content) - 1, *rng.sample(range(len(content)), 60)]
    for place in places:
        damaged = bytearray(content)
        damaged[place] ^= 1 << rng.randrange(8)
        saved.write_bytes(damaged)
        with pytest.raises(NaitError, match=r"damaged|not a nait file"):
            checkpoint.load(saved)


def test_a_file_cut_anywhere_is_refused_in_one_line(saved: Path) -> None:
    content = saved.read_bytes()
    checkpoint.save(saved, {"name": "second"}, ARRAYS)
    for length in (0, 1, 10, len(content) // 2, len(content) - 1):
        saved.write_bytes(content[:length])
        with pytest.raises(NaitError) as error:
            checkpoint.load(saved)
        assert "\n" not in str(error.value)
    assert checkpoint.load(checkpoint.previous(saved))[0]["name"] == "first"


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.nait"
    for content in (b"", b"hello", pickle.dumps({"a": 1}), b"PK\x03\x04 and no more"):
        path.write_bytes(content)
        with pytest.raises(NaitError, match=r"not a nait file|damaged"):
            checkpoint.load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other.txt", "x")
    with pytest.raises(NaitError, match="damaged"):
        checkpoint.load(path)


def test_a_file_with_code_in_it_is_not_run(tmp_path: Path) -> None:
    path = tmp_path / "x.nait"
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        checkpoint.save(path, {}, {"a": np.array([print], dtype=object)})


def test_a_newer_format_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.nait"
    monkeypatch.setattr(checkpoint, "VERSION", 99)
    checkpoint.save(path, {}, ARRAYS)
    monkeypatch.undo()
    with pytest.raises(NaitError, match=r"format 99.*newer nait"):
        checkpoint.load(path)


def test_a_missing_file_and_an_unwritable_place_are_told(tmp_path: Path) -> None:
    with pytest.raises(NaitError, match="there is no file"):
        checkpoint.load(tmp_path / "none.nait")
    (tmp_path / "file").write_text("")
    with pytest.raises(NaitError, match="cannot write"):
        checkpoint.save(tmp_path / "file" / "x.nait", {}, ARRAYS)


def test_a_full_disk_leaves_the_old_file(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint.os, "fsync", full)
    with pytest.raises(NaitError, match="No space left"):
        checkpoint.save(saved, {"name": "second"}, ARRAYS)
    assert checkpoint.load(saved)[0]["name"] == "first"
    assert [p.name for p in saved.parent.iterdir()] == ["x.nait"]


def test_a_valid_file_that_is_no_agent_is_refused(saved: Path) -> None:
    with pytest.raises(NaitError, match="lacks a part of an agent"):
        nait.NAIT.load(saved)


@pytest.mark.parametrize("n", [37, 350, 900])
def test_a_loaded_agent_goes_on_bit_for_bit(n: int, tmp_path: Path) -> None:
    agent = nait.NAIT(nait.make_atari("Breakout", sticky_actions=0.25), seed=0).learn(n)
    agent.save(tmp_path / "a.nait")
    loaded = nait.NAIT.load(tmp_path / "a.nait", env=nait.make_atari("Breakout", sticky_actions=0.25))
    for one in (agent, loaded):
        one.learn(600)
        one.save(tmp_path / f"{id(one)}.nait")
    files = [checkpoint.load(tmp_path / f"{id(one)}.nait") for one in (agent, loaded)]
    assert json.dumps(files[0][0]) == json.dumps(files[1][0])
    for name, array in files[0][1].items():
        np.testing.assert_array_equal(files[1][1][name], array, err_msg=name)


def test_an_agent_of_another_game_or_action_set_is_refused(tmp_path: Path) -> None:
    nait.NAIT(nait.make_atari("Breakout"), seed=0).learn(20).save(tmp_path / "a.nait")
    for env, said in (
        (nait.make_atari("Pong"), "was trained on Breakout, not on Pong"),
        (nait.make_atari("Breakout", full_action_space=True), "4 actions, this environment has 18"),
        (nait.make_atari("Breakout", screen_size=42), "observations of shape"),
        (nait.make_env("CartPole-v1"), "was trained on Breakout, not on CartPole-v1"),
    ):
        with pytest.raises(NaitError, match=said):
            nait.NAIT.load(tmp_path / "a.nait", env=env)
