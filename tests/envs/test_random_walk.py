from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import nait
from nait.envs.random_walk import REVERSED, STATES, ImageRandomWalk, move, optimal_q

WALK = "nait/ImageRandomWalk-v0"


@pytest.mark.filterwarnings("ignore:.*Box observation space m..imum value:UserWarning")
def test_gymnasiums_checks_pass() -> None:
    check_env(gymnasium.make(WALK).unwrapped, skip_render_check=True)


def test_actions_move_left_and_right_and_are_reversed_in_state_15() -> None:
    for state in range(1, STATES + 1):
        expected = (1, -1) if state == REVERSED else (-1, 1)
        assert (move(state, 0), move(state, 1)) == expected


def test_the_one_reward_is_for_leaving_on_the_right() -> None:
    env = ImageRandomWalk()
    env.reset(seed=0)
    rewards = []
    while env.state <= STATES:
        _, reward, terminated, *_ = env.step(0 if env.state == REVERSED else 1)
        rewards.append(reward)
    assert rewards == [0.0] * 10 + [1.0]
    assert terminated
    env.reset()
    for _ in range(9):
        _, reward, terminated, *_ = env.step(0)
    assert (reward, terminated) == (0.0, True)


def test_always_moving_right_does_not_succeed() -> None:
    env = gymnasium.make(WALK)
    env.reset(seed=0)
    total, done = 0.0, False
    while not done:
        _, reward, terminated, truncated, _ = env.step(1)
        total, done = total + float(reward), terminated or truncated
    assert truncated
    assert total == 0


def test_observations_are_noisy_blocks_of_the_states_intensity() -> None:
    env = ImageRandomWalk()
    env.reset(seed=0)
    for state, intensity in ((1, -1.0), (10, 0.0), (19, 1.0)):
        blocks = np.stack([env.observe(state) for _ in range(400)])
        assert blocks.shape == (400, 5, 5)
        assert blocks.mean() == pytest.approx(intensity, abs=0.01)
        assert blocks.std() == pytest.approx(0.1, rel=0.05)


def test_optimal_values_follow_from_the_distance_to_the_reward() -> None:
    q = optimal_q(0.9)
    best = q.max(axis=1)
    np.testing.assert_allclose(best, 0.9 ** (STATES - np.arange(1, STATES + 1)))
    assert [s + 1 for s in range(STATES) if q[s].argmax() == 0] == [REVERSED]
    assert q[0, 0] == 0


def greedy_values(agent: nait.NAIT) -> np.ndarray:
    """Q averaged over ten noisy sights of each state."""
    env = ImageRandomWalk()
    env.reset(seed=1234)
    return np.array(
        [
            np.mean([[a.value for a in agent.explain(env.observe(s)).actions] for _ in range(10)], axis=0)
            for s in range(1, STATES + 1)
        ]
    )


@pytest.mark.parametrize("seed", range(10))
def test_nait_finds_the_optimal_policy_and_its_values(seed: int) -> None:
    agent = nait.NAIT(gymnasium.make(WALK), seed=seed, gamma=0.9, epsilon=(1.0, 0.0, 1000), epsilon_hold=1)
    optimal = optimal_q(0.9)
    on_the_way = np.arange(8, STATES)  # the states an optimal walk meets
    best = optimal.argmax(axis=1)[on_the_way]
    agent.learn(3000)
    assert (greedy_values(agent).argmax(axis=1)[on_the_way] == best).all()
    scores, lengths = nait.evaluate_policy(agent, gymnasium.make(WALK), 20, return_episode_rewards=True, seed=seed)
    assert scores == [1.0] * 20
    assert np.mean(lengths) < 14  # 11 is the least; now and then noise makes one state look like the next
    errors = [np.abs(greedy_values(agent) - optimal)[on_the_way, best].max()]
    agent.learn(5000)
    errors.append(np.abs(greedy_values(agent) - optimal)[on_the_way, best].max())
    assert errors[1] < errors[0]
    assert errors[1] < 0.1


def test_a_snapshot_goes_on_in_another_walk() -> None:
    a, b = ImageRandomWalk(), ImageRandomWalk()
    a.reset(seed=1)
    b.reset(seed=2)
    a.step(1)
    b.restore(a.snapshot())
    for _ in range(5):
        np.testing.assert_array_equal(a.step(1)[0], b.step(1)[0])
