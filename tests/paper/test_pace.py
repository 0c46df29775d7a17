"""The speed of variants side by side."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nait.errors import NaitError
from nait.experiments.plan import Job, Suite, make_jobs
from nait.paper import pace
from nait.paper.pace import Plan, paces

GAMES = ("MsPacman", "Freeway", "Breakout", "Pong", "Qbert")
TINY = Plan(steps=40, block=10)


def variants(*settings: dict[str, int]) -> dict[str, list[Job]]:
    return {str(one): make_jobs(Suite("x", GAMES), [0, 1], [one]) for one in settings}


class Fake:
    """Stands for the process that measures."""

    def __init__(self) -> None:
        self.games: list[str] = []

    def __call__(self, jobs: dict[str, Job], plan: Plan) -> dict[str, float]:
        self.games.append(next(iter(jobs.values())).game)
        assert {job.seed for job in jobs.values()} == {0}
        return {label: 100.0 * len(self.games) + place for place, label in enumerate(jobs)}


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    made = Fake()
    monkeypatch.setattr(pace, "_measure", made)
    return made


def test_a_variant_that_computes_more_is_slower(tmp_path: Path) -> None:
    """Whole frames have a hundred times as many coordinates."""
    jobs = make_jobs(Suite("x", ("MsPacman",)), [0], [{}, {"representation": "identity"}])
    found = paces(tmp_path, "x", {"plain": [jobs[0]], "twin": [jobs[0]], "slow": [jobs[1]]}, Plan(steps=300, block=50))
    assert found["plain"] == found["twin"]  # one agent for both
    assert 0 < found["slow"] < found["plain"]
    kept = json.loads((tmp_path / "pace" / "x-MsPacman.json").read_text())
    assert kept["machine"]["cpu"]
    assert kept["found"] == found


def test_every_fourth_game_is_measured_once_and_the_rates_are_averaged(tmp_path: Path, fake: Fake) -> None:
    jobs = variants({}, {"k": 4})
    found = paces(tmp_path, "x", jobs, TINY)
    assert fake.games == ["MsPacman", "Qbert"]
    assert list(found.values()) == [150.0, 151.0]
    assert paces(tmp_path, "x", jobs, TINY) == found
    (tmp_path / "pace" / "x-Qbert.json").write_text("{")  # damaged: it is measured again
    assert paces(tmp_path, "x", jobs, TINY)["{}"] == (100 + 300) / 2
    assert fake.games == ["MsPacman", "Qbert", "Qbert"]


@pytest.mark.parametrize("found", [None, 3, [1.0], {}, {"{}": 1.0}, {"{}": 1.0, "{'k': 4}": [2.0]}])
def test_a_kept_file_without_every_rate_is_measured_again(found: object, tmp_path: Path, fake: Fake) -> None:
    jobs = variants({}, {"k": 4})
    whole = paces(tmp_path, "x", jobs, TINY)
    path = tmp_path / "pace" / "x-MsPacman.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "found": found}))
    assert paces(tmp_path, "x", jobs, TINY, draw=True) == {"{}": 200.0, "{'k': 4}": 201.0}  # of Qbert alone
    assert paces(tmp_path, "x", jobs, TINY) != whole
    assert fake.games == ["MsPacman", "Qbert", "MsPacman"]


def test_another_plan_or_other_variants_are_measured_anew(tmp_path: Path, fake: Fake) -> None:
    paces(tmp_path, "x", variants({}, {"k": 4}), TINY)
    paces(tmp_path, "x", variants({}, {"k": 4}), Plan(steps=41, block=10))
    paces(tmp_path, "x", variants({}, {"k": 5}), TINY)
    paces(tmp_path, "y", variants({}, {"k": 5}), TINY)
    assert len(fake.games) == 8


def test_to_draw_nothing_is_measured(tmp_path: Path, fake: Fake) -> None:
    jobs = variants({}, {"k": 4})
    assert paces(tmp_path, "x", jobs, TINY, draw=True) == {}
    assert not any(tmp_path.iterdir())
    found = paces(tmp_path, "x", jobs, TINY)
    assert paces(tmp_path, "x", jobs, TINY, draw=True) == found
    assert fake.games == ["MsPacman", "Qbert"]


def test_what_cannot_be_written_is_one_line(fake: Fake) -> None:
    with pytest.raises(NaitError, match="cannot write into /proc/nowhere/pace"):
        paces(Path("/proc/nowhere"), "x", variants({}), TINY)
