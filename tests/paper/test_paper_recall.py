"""Recall and time of both indexes on random play."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from nait.cli import main
from nait.paper import recall
from nait.paper.recall import Plan

TINY = Plan(frames=1500, queries=60, efc=(100,), efs=(30, 400))


def test_both_indexes_find_more_with_more_candidates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(recall, "QUICK", TINY)
    out = tmp_path / "recall"
    arguments = ["paper", "recall", "--quick", "--games", "Breakout", "--out", str(out)]
    assert main(arguments) == 0
    rows = list(csv.DictReader((out / "recall.csv").read_text().splitlines()))
    assert [(row["index"], row["efs"]) for row in rows] == [
        ("native", "30"), ("native", "400"), ("hnswlib", "30"), ("hnswlib", "400"),
    ]  # fmt: skip
    shares = [float(row["recall"]) for row in rows]
    assert shares[1] >= shares[0] > 0.5
    assert shares[3] >= shares[2] > 0.5
    assert shares[3] > 0.97
    assert all(float(row["query_us"]) > 0 for row in rows)
    assert (out / "figures" / "recall.png").stat().st_size > 10_000

    saved = out / "recall" / "Breakout.json"
    before = saved.read_bytes()
    monkeypatch.setattr(recall, "measure", lambda *_: pytest.fail("it is measured already"))
    assert main(arguments) == 0
    assert saved.read_bytes() == before
    monkeypatch.setattr(recall, "measure", lambda *_: [recall.Point("native", 100, 30, 0.5, 1.0, 1.0)] * 4)
    strange = json.dumps({**json.loads(before), "found": [{"recall": 0.1}]})
    for damaged in ("{", strange):
        saved.write_text(damaged)
        with np.errstate(all="ignore"), pytest.warns(RuntimeWarning):
            assert main(arguments) == 0
        assert json.loads(saved.read_bytes())["found"][0]["recall"] == 0.5


def test_the_states_asked_about_are_not_among_the_stored() -> None:
    play = recall.play_randomly("Pong", TINY)
    assert len(play.whole) == len(play.floats) == 1560
    assert len({state.tobytes() for state in play.whole}) == 1560
    np.testing.assert_allclose(
        np.diff(play.whole[:50], axis=0) / 16, np.diff(play.floats[:50], axis=0), atol=0.26
    )  # the same states, to a rounding
