"""The random walk's page, with and without a DQN."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from inline_engine import InlineEngine

from nait.envs.random_walk import DISCOUNT, STATES, optimal_q
from nait.experiments import store
from nait.paper import dqn, random_walk, registry
from nait.paper.experiment import Request, perform
from nait.paper.random_walk import Learner, Size


def request(out: Path) -> Request:
    return Request(out=out, engine=InlineEngine, quick=True)


def test_a_learner_is_solved_from_where_its_mean_stays_up() -> None:
    scores = np.array([0.0] * 30 + [1.0] * 40)
    steps = 10.0 * np.arange(1, 71)
    one = Learner(steps, scores, optimal_q(DISCOUNT))
    assert one.error() == 0.0
    assert one.solved_at() == 490.0  # after the 49th episode, 19 of the last 20 were rewarded
    assert one.over_time(np.array([5.0, 300.0, 400.0]))[1:].tolist() == [0.0, 0.5]
    assert np.isnan(one.over_time(np.array([5.0]))[0])
    assert Learner(steps, np.zeros(70), np.zeros((STATES, 2))).solved_at() == np.inf


def test_nait_learns_the_walk_and_the_page_shows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_walk, "QUICK", Size(steps=3000, seeds=2, decay=1000))
    monkeypatch.setattr(dqn, "installed", lambda: False)
    out = tmp_path / "walk"
    path, page = perform(registry.EXPERIMENTS["random-walk"], request(out))
    text = path.read_text()
    assert 'pip install "nait\\[dqn\\]"' in text
    assert "2 of 2" in text
    assert page.failed == 0
    assert {record.game for record in store.read(out)} == {"nait/ImageRandomWalk-v0"}
    rows = list(csv.DictReader((out / "values.csv").read_text().splitlines()))
    assert len(rows) == 2 * STATES * 2
    last = [row for row in rows if row["state"] == "19" and row["action"] == "1"]
    assert all(float(row["learned"]) == pytest.approx(1.0, abs=0.1) for row in last)
    assert len((out / "episodes.csv").read_text().splitlines()) > 100
    assert (out / "runs.csv").exists()
    assert (out / "figures" / "random_walk.png").stat().st_size > 20_000

    stamps = {p: p.stat().st_mtime_ns for p in (out / "records").iterdir()}
    perform(registry.EXPERIMENTS["random-walk"], request(out))
    assert {p: p.stat().st_mtime_ns for p in (out / "records").iterdir()} == stamps  # nothing was run again


def test_a_dqn_stands_beside_it_and_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With figures in the DQN's place: the package need not be there."""
    calls = []

    def train(seed: int, steps: int, gamma: float, epsilon: object, sights: np.ndarray) -> dqn.Trained:
        calls.append((seed, steps, gamma, sights.shape))
        return dqn.Trained([50, 100, 200], [0.0, 1.0, 1.0], np.full((len(sights), 2), 0.25).tolist())

    monkeypatch.setattr(random_walk, "QUICK", Size(steps=300, seeds=2, decay=100))
    monkeypatch.setattr(dqn, "installed", lambda: True)
    monkeypatch.setattr(dqn, "train", train)
    monkeypatch.setattr(dqn.metadata, "version", lambda name: "0")
    for _ in range(2):
        path, _ = perform(registry.EXPERIMENTS["random-walk"], request(tmp_path))
    assert calls == [(seed, 300, DISCOUNT, (STATES * random_walk.SIGHTS, 5, 5)) for seed in (0, 1)]
    assert json.loads((tmp_path / "dqn" / "s0.json").read_bytes())["settings"] == dqn.SETTINGS
    assert "| DQN | 0 of 2 |" in path.read_text()
    assert "DQN,1,200,1" in (tmp_path / "episodes.csv").read_text()


@pytest.mark.sb3
def test_their_dqn_runs_on_the_walk() -> None:
    pytest.importorskip("stable_baselines3")
    sights = random_walk.look().reshape(-1, 5, 5)
    found = dqn.train(0, 400, DISCOUNT, (1.0, 0.0, 200), sights)
    assert len(found.steps) == len(found.scores) > 2
    assert np.array(found.values).shape == (STATES * random_walk.SIGHTS, 2)
