"""The score of a trained agent: episodes in which it acts and does not learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import gymnasium

    from nait.agent import NAIT


def evaluate_policy(
    agent: NAIT,
    env: gymnasium.Env[Any, Any],
    n_eval_episodes: int = 50,
    deterministic: bool = True,
    return_episode_rewards: bool = False,
    seed: int | None = None,
    on_episode: Callable[[int, float], None] | None = None,
) -> Any:
    """Mean and standard deviation of the score over episodes, with the memory left as it is.

    :param env: may be the one the agent learns in; an episode under way there is cut first
    :param deterministic: take the likeliest action of a tie instead of drawing one, as training does
    :param return_episode_rewards: return the scores and lengths of the episodes instead
    :param seed: of the first reset
    :param on_episode: told the number of episodes done and the last one's score
    """
    if env is agent.env:
        agent.cut_episode()
    agent.begin_play()
    scores, lengths = [], []
    for episode in range(n_eval_episodes):
        observation, _ = env.reset(seed=seed if episode == 0 else None)
        state, score, length, done = None, 0.0, 0, False
        while not done:
            action, state = agent.predict(observation, state, deterministic=deterministic)
            observation, reward, terminated, truncated, info = env.step(action)
            score += float(info.get("raw_reward", reward))
            length += 1
            done = bool(terminated or truncated)
        scores.append(score)
        lengths.append(length)
        if on_episode is not None:
            on_episode(episode + 1, score)
    if return_episode_rewards:
        return scores, lengths
    return float(np.mean(scores)), float(np.std(scores))
