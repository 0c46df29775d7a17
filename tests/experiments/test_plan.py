from __future__ import annotations

from typing import Any

import pytest

from nait.errors import NaitError
from nait.experiments.plan import Job, Suite, find_suite, make_jobs, parse_grid, parse_seeds, suites

WALK = "nait/ImageRandomWalk-v0"


def test_the_suites_have_26_57_and_one_environments() -> None:
    assert {name: len(suite.games) for name, suite in suites().items()} == {
        "atari100k": 26,
        "atari57": 57,
        "random-walk": 1,
    }


def test_games_narrow_a_suite_or_make_one() -> None:
    assert find_suite("atari100k", ["Pong", "Alien"]).games == ("Alien", "Pong")
    assert find_suite(None, ["Surround", WALK]).games == ("Surround", WALK)
    for name, games, said in (
        ("atari100k", ["Surround"], "atari100k has no game 'Surround'"),
        ("atari100k", ["Pomg"], "did you mean Pong"),
        ("atari10k", [], "did you mean atari100k"),
        (None, [], "name a suite"),
    ):
        with pytest.raises(NaitError, match=said):
            find_suite(name, games)


@pytest.mark.parametrize(
    ("text", "seeds"), [("3", (0, 1, 2)), ("3,5-7", (3, 5, 6, 7)), ("4,", (4,)), ("2-3,3,0", (2, 3, 0))]
)
def test_seeds_are_a_number_or_a_list(text: str, seeds: tuple[int, ...]) -> None:
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize("text", ["0", "-3", "a", "3-", "5-3", ",", "", "1.5"])
def test_other_seeds_are_refused(text: str) -> None:
    with pytest.raises(NaitError, match="--seeds takes"):
        parse_seeds(text)


def test_a_grid_is_the_product_of_its_axes() -> None:
    assert parse_grid([]) == [{}]
    grid = parse_grid(["k=16,64", "gamma=0.9,0.99", "fire-on-reset=true"])
    assert len(grid) == 4
    assert grid[0] == {"k": 16, "gamma": 0.9, "fire_on_reset": True}
    assert grid[3] == {"k": 64, "gamma": 0.99, "fire_on_reset": True}
    assert parse_grid(["epsilon=0.1,1:0:5000"]) == [{"epsilon": 0.1}, {"epsilon": (1.0, 0.0, 5000)}]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["k"], "--set takes NAME=VALUE"),
        (["k="], "--set takes NAME=VALUE"),
        (["gama=0.9"], "did you mean gamma"),
        (["k=a"], "k must be a whole number, not 'a'"),
        (["gamma=high"], "gamma must be a number, not 'high'"),
        (["fire_on_reset=maybe"], "fire_on_reset must be true or false"),
        (["k=1", "k=2"], "given twice"),
        (["epsilon=1:2"], "START:END:STEPS"),
    ],
)
def test_mistakes_in_a_grid_are_told(given: list[str], said: str) -> None:
    with pytest.raises(NaitError, match=said):
        parse_grid(given)


def jobs(*grid: dict[str, Any], **options: Any) -> list[Job]:
    return make_jobs(Suite("games", ("Pong", "Breakout")), (1, 0), grid or ({},), **options)


def test_the_games_of_one_seed_come_before_the_next_seed() -> None:
    assert [job.name for job in jobs()] == ["Pong-s1", "Breakout-s1", "Pong-s0", "Breakout-s0"]


def test_the_default_written_out_is_the_same_run() -> None:
    grid = parse_grid(["k=16,64", "sticky_actions=0.0"])
    names = [job.name for job in jobs(*grid)]
    assert names[:4] == ["Pong-k=16-s1", "Breakout-k=16-s1", "Pong-s1", "Breakout-s1"]
    assert [job.setting for job in jobs(*grid)][:3:2] == ["k=16", ""]


def test_what_is_set_reaches_the_agent_and_the_game() -> None:
    overrides = {"k": 16, "noop_max": 3, "frame_stack": 2, "representation": "very_sparse", "epsilon": (1.0, 0.0, 50)}
    job = jobs(overrides)[0]
    assert job.setting == "epsilon=1:0:50 frame_stack=2 k=16 noop_max=3 representation=very_sparse"
    settings = job.settings.to_json()
    assert (settings["hyperparameters"]["k"], settings["hyperparameters"]["frame_stack"]) == (16, 2)
    assert (settings["env_options"]["noop_max"], settings["env_options"]["frame_stack"]) == (3, 2)
    assert Job.from_json(job.to_json()) == job


def test_names_are_safe_and_short() -> None:
    numbers = {"k": 3, "gamma": 0.123456789, "alpha": 0.123456789}
    names = {"representation": "very_sparse", "update": "monte_carlo", "kernel": "triweight", "tie_break": "uniform"}
    long = jobs({**numbers, **names, "thin_distance": "letter"})
    assert len({job.name for job in long}) == 4
    assert all(len(job.name) <= 120 and "/" not in job.name for job in long)
    assert Job(suite="", game=WALK, seed=1, steps=5).name == "nait-ImageRandomWalk-v0-s1"


def test_scores_are_due_at_the_papers_budgets_and_at_the_end() -> None:
    def milestones(steps: int) -> tuple[int, ...]:
        return Job(suite="", game="Pong", seed=0, steps=steps).milestones

    assert milestones(1000) == (1000,)
    assert milestones(100_000) == (100_000,)
    assert milestones(300_000) == (100_000, 250_000, 300_000)
    assert milestones(1_000_000) == (100_000, 250_000, 500_000, 750_000, 1_000_000)


@pytest.mark.parametrize(
    ("suite", "grid", "options", "said"),
    [
        (Suite("games", ("Pomg",)), {}, {}, "did you mean Pong"),
        (Suite("games", ("Pendulum-v1",)), {}, {}, "discrete actions"),
        (Suite("games", ("CartPole-v1",)), {"noop_max": 3}, {}, "is a setting of the Atari games"),
        (Suite("games", ("Pong",)), {"k": 0}, {}, "k must be a whole number of at least 1"),
        (Suite("games", ("Pong",)), {}, {"steps": 0}, "steps must be at least 1"),
        (Suite("games", ("Pong",)), {}, {"steps": 2_000_000}, "at most 1,000,000"),
        (Suite("games", ("Pong",)), {}, {"episodes": 0}, "episodes must be at least 1"),
        (Suite("games", ("Pong",)), {}, {"checkpoint_every": 0}, "checkpoint_every must be at least 1"),
    ],
)
def test_a_plan_that_cannot_run_is_refused(suite: Suite, grid: Any, options: Any, said: str) -> None:
    with pytest.raises(NaitError, match=said):
        make_jobs(suite, (0,), [grid], **options)
