from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import nait
from nait import checkpoint
from nait.diary import REPEATS, Diary, Way
from nait.errors import NaitError

Step = tuple[int, int, float]
GAMES = st.lists(
    st.tuples(
        st.lists(
            st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(-3, 3).map(float)), min_size=1, max_size=12
        ),
        st.booleans(),
    ),
    max_size=8,
)


def written(games: list[tuple[list[Step], bool]], rest: list[Step] | None = None) -> Diary:
    diary = Diary()
    for steps, whole in games:
        for step in steps:
            diary.append(*step)
        diary.end(whole=whole)
    for step in rest or []:
        diary.append(*step)
    return diary


def outcomes(games: list[tuple[list[Step], bool]], rest: list[Step]) -> dict[tuple[int, int], list[int | None]]:
    """Where each action led in each state; None is the end of a game."""
    found: dict[tuple[int, int], list[int | None]] = {}
    for steps in [*(steps for steps, _ in games), rest]:
        for i, (key, action, _) in enumerate(steps):
            if i + 1 < len(steps) or steps is not rest:
                found.setdefault((key, action), []).append(steps[i + 1][0] if i + 1 < len(steps) else None)
    return found


def best_by_hand(games: list[tuple[list[Step], bool]], key: int) -> Way | None:
    best, number, led_to = None, 0, outcomes(games, [])
    for steps, whole in games:
        for t, (seen, action, _) in enumerate(steps):
            score = math.fsum(reward for _, _, reward in steps[t:])
            after = steps[t + 1][0] if t + 1 < len(steps) else None
            usual = 2 * led_to[seen, action].count(after) >= len(led_to[seen, action])
            if whole and usual and seen == key and (best is None or score > best.score):
                best = Way(action, number, score)
            number += 1
    return best


def repeats_by_hand(games: list[tuple[list[Step], bool]]) -> float:
    seen = [led_to for led_to in outcomes(games, []).values() if len(led_to) > 1]
    usual = [2 * led_to.count(one) >= len(led_to) for led_to in seen for one in led_to]
    return sum(usual) / len(usual) if usual else 1.0


@given(GAMES)
def test_the_best_way_is_that_of_the_highest_score_to_the_end_of_a_whole_game(
    games: list[tuple[list[Step], bool]],
) -> None:
    diary = written(games)
    assert diary.repeats() == pytest.approx(repeats_by_hand(games))
    for key in range(7):
        assert diary.best(key) == (best_by_hand(games, key) if diary.repeats() >= REPEATS else None)


def test_a_game_that_was_cut_or_goes_on_promises_nothing() -> None:
    """A Pong that is cut before the first point would look better than every whole one."""
    whole = [(7, 0, 0.0), (8, 0, -1.0)]
    diary = written([(whole, True), ([(7, 1, 0.0)], False)], rest=[(7, 2, 0.0)])
    assert diary.best(7) == Way(0, 0, -1.0)


def test_what_comes_later_is_seen_once_its_game_has_ended() -> None:
    diary = written([([(7, 0, 1.0)], True)])
    assert diary.best(7) == Way(0, 0, 1.0)
    diary.append(7, 1, 5.0)
    assert diary.best(7) == Way(0, 0, 1.0)
    diary.end(whole=True)
    assert diary.best(7) == Way(1, 1, 5.0)
    diary.end(whole=True)  # nothing has been played since
    assert len(diary.save()["ends"]) == 2


def test_keys_of_64_bits_are_told_apart() -> None:
    large = 2**64 - 1
    diary = written([([(large, 1, 1.0), (large - 1, 2, 1.0)], True)])
    assert diary.best(large) == Way(1, 0, 2.0)
    assert diary.best(large - 1) == Way(2, 1, 1.0)
    assert diary.best(large - 2) is None


@given(GAMES)
def test_a_diary_that_was_saved_says_the_same(games: list[tuple[list[Step], bool]]) -> None:
    diary, again = written(games, [(3, 1, 2.0)]), Diary()
    again.load(diary.save(), n_actions=3)
    assert len(again) == len(diary)
    for mine in (diary, again):
        mine.append(4, 0, 1.0)
        mine.end(whole=True)
    assert [again.best(key) for key in range(6)] == [diary.best(key) for key in range(6)]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("keys", np.zeros(3, dtype=np.uint64)),
        ("keys", np.zeros(2, dtype=np.int64)),
        ("actions", np.array([0, 3], dtype=np.int32)),
        ("actions", np.array([0, -1], dtype=np.int32)),
        ("rewards", np.zeros((2, 1))),
        ("ends", np.array([3], dtype=np.int64)),
        ("whole", np.zeros(2, dtype=np.int8)),
    ],
)
def test_a_damaged_diary_is_refused(name: str, value: NDArray[Any]) -> None:
    saved = written([([(1, 0, 1.0), (2, 1, 0.0)], True)]).save()
    with pytest.raises(NaitError, match="diary is not sound"):
        Diary().load({**saved, name: value}, n_actions=3)


class Fork(gymnasium.Env[NDArray[np.float32], int]):
    """One choice, then nine steps; the first way pays 3 at once, the second 5 at the end, or nothing if luck is out."""

    observation_space = Box(-1, 10, (2,), np.float32)
    action_space = Discrete(2)

    def __init__(self, chance: bool) -> None:
        self.chance = chance

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.time, self.way = 0, -1
        return self._seen(), {}

    def step(self, action: int) -> Any:
        reward = 0.0
        if self.time == 0:
            self.way = int(action)
            reward = 3.0 if action == 0 else 0.0
        self.time += 1
        if self.chance and self.way == 1 and self.time == 1 and self.np_random.random() < 0.75:
            self.way = 0
        done = self.time == 9
        if done and self.way == 1:
            reward = 5.0
        return self._seen(), reward, done, False, {}

    def _seen(self) -> NDArray[np.float32]:
        return np.array([self.time, self.way], dtype=np.float32)


def test_play_follows_the_best_game_to_its_end_where_values_see_only_what_is_near() -> None:
    """With gamma = 0.5 the 5 points at the end are worth next to nothing at the choice."""
    agent = nait.NAIT(Fork(chance=False), seed=0, k=1, gamma=0.5, epsilon=0.3, epsilon_hold=1).learn(400)
    first = np.array([0, -1], dtype=np.float32)
    decision = agent.explain(first)
    assert decision.action == agent.predict(first)[0] == 1
    assert decision.remembered is not None
    assert decision.remembered.step == 0
    assert decision.remembered.score == agent.episode_scores[decision.remembered.episode - 1] == 5.0
    assert nait.evaluate_policy(agent, Fork(chance=False), 3) == (5.0, 0.0)
    known = nait.NAIT(Fork(chance=False), seed=0, k=1, gamma=0.5, epsilon=0.3, epsilon_hold=1, play="known").learn(400)
    assert nait.evaluate_policy(known, Fork(chance=False), 3) == (3.0, 0.0)
    assert known.explain(first).remembered is None


def test_where_luck_is_needed_the_luckiest_game_is_not_followed() -> None:
    agent = nait.NAIT(Fork(chance=True), seed=0, k=1, alpha_up=0.1, epsilon=0.6, epsilon_hold=1).learn(900)
    assert max(agent.episode_scores) == 5.0
    remembered = agent.explain(np.array([0, -1], dtype=np.float32)).remembered
    assert remembered is not None
    assert remembered.score == 3.0


def test_in_a_world_of_chance_no_game_is_followed() -> None:
    """Keys in the order of dice, a third of whose throws go on as usual."""
    rng, diary = np.random.default_rng(0), Diary()
    for _ in range(50):
        for key in rng.integers(0, 3, 20).tolist():
            diary.append(key, 0, 1.0)
        diary.end(whole=True)
    assert diary.repeats() < REPEATS
    assert [diary.best(key) for key in range(3)] == [None] * 3


def test_a_game_that_evaluation_cut_promises_nothing() -> None:
    env = Fork(chance=False)
    agent = nait.NAIT(env, seed=0, k=1).learn(4)
    nait.evaluate_policy(agent, env, 1)
    assert agent.diary.best(agent.diary.save()["keys"][0].item()) is None


def test_a_diary_is_kept_in_the_file_of_an_agent(tmp_path: Path) -> None:
    agent = nait.NAIT(nait.make_atari("Breakout"), seed=0, k=8).learn(700)
    agent.save(tmp_path / "a.nait")
    again = nait.NAIT.load(tmp_path / "a.nait", env=nait.make_atari("Breakout"))
    for mine in (agent, again):
        mine.learn(500)
    for name, array in agent.diary.save().items():
        np.testing.assert_array_equal(again.diary.save()[name], array)
    observation, _ = nait.make_atari("Breakout").reset(seed=0)  # as the training's first game began
    remembered = again.explain(observation).remembered
    assert remembered is not None
    assert remembered == agent.explain(observation).remembered


def test_a_file_of_a_time_before_there_were_diaries_still_plays_and_goes_on(tmp_path: Path) -> None:
    nait.NAIT(Fork(chance=False), seed=0, k=1).learn(90).save(tmp_path / "a.nait")
    meta, arrays = checkpoint.load(tmp_path / "a.nait")
    older = {name: array for name, array in arrays.items() if not name.startswith("diary.")}
    checkpoint.save(tmp_path / "older.nait", {n: v for n, v in meta.items() if n != "version"}, older)
    agent = nait.NAIT.load(tmp_path / "older.nait", env=Fork(chance=False))
    first = np.array([0, -1], dtype=np.float32)
    assert agent.explain(first).remembered is None
    remembered = agent.learn(90).explain(first).remembered
    assert remembered is not None
    assert remembered.episode > len(arrays["episode_ends"])
    assert agent.episode_scores[remembered.episode - 1] == remembered.score
