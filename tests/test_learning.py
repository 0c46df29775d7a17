"""That the agent learns, on the games and on environments that are not games."""

from __future__ import annotations

import gymnasium
import numpy as np

import nait
from nait.experiments.suites import atari57


def test_ten_thousand_steps_of_mspacman_clearly_beat_random_play() -> None:
    random = atari57()["MsPacman"].random
    means = []
    for seed in range(3):
        agent = nait.NAIT(nait.make_atari("MsPacman"), seed=seed).learn(10_000)
        means.append(nait.evaluate_policy(agent, nait.make_atari("MsPacman"), 10, seed=1)[0])
    assert min(means) > random
    assert np.mean(means) > 1.3 * random


def test_a_vector_environment_is_learned() -> None:
    agent = nait.NAIT(gymnasium.make("CartPole-v1"), seed=0, epsilon=(1.0, 0.0, 5000)).learn(10_000)
    early, late = np.mean(agent.episode_scores[:30]), np.mean(agent.episode_scores[-10:])
    assert late > 100
    assert late > 4 * early


def test_pictures_of_a_grid_world_are_learned() -> None:
    import minigrid  # noqa: F401 (registers its environments)
    from minigrid.wrappers import ImgObsWrapper, RGBImgObsWrapper

    def grid() -> gymnasium.Env:
        return ImgObsWrapper(RGBImgObsWrapper(gymnasium.make("MiniGrid-Empty-5x5-v0"), tile_size=8))

    agent = nait.NAIT(grid(), seed=0, k=4, epsilon=(0.3, 0.0, 2000), gamma=0.95).learn(4000)
    mean, _ = nait.evaluate_policy(agent, grid(), 5, seed=0)
    assert mean > 0.8  # 0.955 is the most there is
    assert np.mean(agent.episode_scores[:5]) < 0.5
