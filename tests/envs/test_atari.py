from __future__ import annotations

import warnings
from typing import Any

import ale_py
import cv2
import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation

import nait
from nait.envs.atari import AtariEnv
from nait.envs.games import game_name, rom_name
from nait.errors import NaitError
from nait.experiments.suites import atari57

gymnasium.register_envs(ale_py)


def theirs(game: str, **options: Any) -> gymnasium.Env[Any, Any]:
    """Gymnasium's own stack of wrappers."""
    env = gymnasium.make(
        f"ALE/{game}-v5", frameskip=1, repeat_action_probability=0.0, full_action_space=options.pop("full", False)
    )
    return FrameStackObservation(AtariPreprocessing(env, noop_max=0, **options), 4)


@pytest.mark.parametrize(
    ("game", "ours", "gymnasiums"),
    [
        ("MsPacman", {}, {}),
        ("Breakout", {"full_action_space": True}, {"full": True}),
        ("SpaceInvaders", {"screen_size": 42}, {"screen_size": 42}),
        ("Pong", {"frame_skip": 2}, {"frame_skip": 2}),
        ("Qbert", {"terminal_on_life_loss": True}, {"terminal_on_life_loss": True}),
        ("Freeway", {"greyscale": False}, {"grayscale_obs": False}),
    ],
    ids=str,
)
def test_frames_equal_those_of_gymnasiums_preprocessing(
    game: str, ours: dict[str, Any], gymnasiums: dict[str, Any]
) -> None:
    settings = {"fire_on_reset": False, "noop_max": 0, "interpolation": "area", **ours}
    mine, other = AtariEnv(game, **settings), theirs(game, **gymnasiums)
    rng = np.random.default_rng(0)
    # The very first frames after loading a cartridge may differ from those after a second reset.
    for env in (mine, other):
        env.reset(seed=0)
        env.reset()
    a, b = mine.reset()[0], other.reset()[0]
    np.testing.assert_array_equal(a, b)
    assert mine.action_space == other.action_space
    for _ in range(400):
        action = int(rng.integers(mine.action_space.n))
        a, reward, terminated, truncated, info = mine.step(action)
        b, reward_b, terminated_b, truncated_b, info_b = other.step(action)
        np.testing.assert_array_equal(a, b)
        assert (reward, terminated, truncated) == (reward_b, terminated_b, truncated_b)
        assert info["lives"] == info_b["lives"]
        if terminated or truncated:
            np.testing.assert_array_equal(mine.reset()[0], other.reset()[0])


def test_linear_interpolation_is_the_default_and_opencvs() -> None:
    env = AtariEnv("Hero", frame_pooling=False)
    env.reset(seed=0)
    observation, *_ = env.step(3)
    screen = env.ale.getScreenGrayscale()
    np.testing.assert_array_equal(observation[-1], cv2.resize(screen, (84, 84), interpolation=cv2.INTER_LINEAR))


@pytest.mark.parametrize("options", [{}, {"sticky_actions": 0.25, "greyscale": False}], ids=str)
def test_gymnasiums_checks_pass(options: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make("nait/Atari-v0", game="Assault", **options).unwrapped, skip_render_check=True)


@pytest.mark.parametrize("game", atari57())
def test_a_snapshot_of_every_game_goes_on_in_another_emulator(game: str) -> None:
    rng = np.random.default_rng(0)
    env = nait.make_atari(game, seed=1, sticky_actions=0.25)
    actions = rng.integers(env.action_space.n, size=90)
    for action in actions[:30]:
        if any(env.step(action)[2:4]):
            env.reset()
    snapshot = env.snapshot()
    other = nait.make_atari(game, seed=77, sticky_actions=0.25)
    np.testing.assert_array_equal(other.restore(snapshot), snapshot["frames"])
    for action in actions[30:]:
        a, b = env.step(action), other.step(action)
        np.testing.assert_array_equal(a[0], b[0])
        assert a[1:] == b[1:]
        if a[2] or a[3]:
            np.testing.assert_array_equal(env.reset()[0], other.reset()[0])


def test_sticky_actions_repeat_a_quarter_of_the_frames() -> None:
    env = nait.make_atari("Pong", seed=0, sticky_actions=0.25)
    held = []
    for i in range(4000):
        env._press(env._actions[i % 6])
        held.append(env._held == env._actions[i % 6])
    assert np.mean(held) == pytest.approx(0.75, abs=0.03)


def test_noop_starts_are_seeded_and_vary() -> None:
    env = nait.make_atari("MsPacman")
    starts = [env.reset(seed=4)[1]["episode_frame_number"]]
    starts += [env.reset()[1]["episode_frame_number"] for _ in range(40)]
    again = [env.reset(seed=4)[1]["episode_frame_number"]]
    again += [env.reset()[1]["episode_frame_number"] for _ in range(40)]
    assert starts == again
    assert len(set(starts)) > 10
    assert min(starts) >= 1
    assert max(starts) <= 30


def test_the_first_stack_is_filled_with_the_first_frame_or_zeros() -> None:
    filled, _ = nait.make_atari("Pong").reset(seed=0)
    assert all(np.array_equal(frame, filled[-1]) for frame in filled)
    empty, _ = nait.make_atari("Pong", stack_fill="zeros").reset(seed=0)
    assert not empty[:3].any()
    np.testing.assert_array_equal(empty[3], filled[3])


def test_frames_move_through_the_stack_oldest_first() -> None:
    env = nait.make_atari("Breakout", seed=0)
    before, _ = env.reset()
    for action in (1, 3, 3, 2):
        after, *_ = env.step(action)
        np.testing.assert_array_equal(after[:-1], before[1:])
        before = after


def test_action_sets() -> None:
    assert nait.make_atari("Breakout", full_action_space=True).action_space.n == 18
    env = nait.make_atari("Breakout")
    assert env.get_action_meanings() == ["NOOP", "FIRE", "RIGHT", "LEFT"]


def test_clipped_rewards_keep_the_score() -> None:
    agents = [nait.NAIT(nait.make_atari("Assault", reward_clipping=c), seed=0, epsilon=1.0) for c in (False, True)]
    for agent in agents:
        agent.learn(1500)
    assert agents[0].episode_scores == agents[1].episode_scores
    assert max(agents[0].episode_scores) >= 21
    raw, clipped = (
        max(array.max(initial=0) for name, array in agent.memory.save().items() if name.endswith("values"))
        for agent in agents
    )
    assert clipped < raw


def test_a_lost_life_ends_the_episode_only_if_asked_to() -> None:
    for terminal in (False, True):
        env = nait.make_atari("Breakout", seed=0, terminal_on_life_loss=terminal)
        env.reset()
        lives, ended = [], False
        while not ended and len(lives) < 500:
            *_, ended, _, info = env.step(1)
            lives.append(info["lives"])
        assert ended
        assert lives[-1] == (4 if terminal else 0)


def test_long_episodes_are_cut() -> None:
    env = nait.make_atari("Pong", seed=0, max_episode_frames=100)
    env.reset()
    steps = 1
    while not env.step(0)[3]:
        steps += 1
    assert 18 <= steps <= 25


def test_fire_is_pressed_after_reset_and_lost_life() -> None:
    def lives(**options: bool) -> list[int]:
        env = nait.make_atari("Breakout", seed=0, **options)
        env.reset()
        return [env.step(0)[4]["lives"] for _ in range(200)]

    pressed = lives(fire_on_reset=True)
    assert pressed[-1] <= 3  # the ball is in play without the agent's FIRE
    assert lives(fire_on_reset=False)[-1] == 5
    assert lives() == pressed


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"interpolation": "cubic"}, "linear or area"),
        ({"sticky_actions": 1.0}, "sticky_actions"),
        ({"frame_skip": 0}, "frame_skip must be a whole number of at least 1"),
        ({"stack_fill": "ones"}, "stack_fill"),
        ({"noop_max": -1}, "noop_max"),
    ],
)
def test_wrong_settings_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(NaitError, match=said):
        nait.make_atari("Pong", **options)


def test_unknown_games_are_answered_with_the_nearest() -> None:
    for wrong, right in (("MsPackman", "MsPacman"), ("ms_pacman", "MsPacman"), ("qbert", "Qbert"), ("Pongg", "Pong")):
        with pytest.raises(NaitError, match=right):
            nait.make_atari(wrong)
    with pytest.raises(NaitError, match="nait games"):
        nait.make_atari("")


def test_every_game_of_the_suite_has_its_rom() -> None:
    for name in atari57():
        assert game_name(rom_name(name)) == name


def test_a_snapshot_of_other_settings_is_refused() -> None:
    snapshot = nait.make_atari("Pong", seed=0, screen_size=42).snapshot()
    with pytest.raises(NaitError, match="frames are not those"):
        nait.make_atari("Pong", seed=0).restore(snapshot)
