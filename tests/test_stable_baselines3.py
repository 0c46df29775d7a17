"""Stable-Baselines3's own tools take our agent."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import pytest

import nait

pytestmark = pytest.mark.sb3


def test_their_evaluate_policy_takes_our_agent() -> None:
    evaluation = pytest.importorskip("stable_baselines3.common.evaluation")
    for env in (
        nait.make_atari("MsPacman", max_episode_frames=1000),
        gymnasium.make("CartPole-v1"),
        gymnasium.wrappers.TimeLimit(nait.make_env("ALE/MsPacman-v5"), 200),
    ):
        agent = nait.NAIT(env, seed=0).learn(400)
        mean, std = evaluation.evaluate_policy(agent, env, n_eval_episodes=2, deterministic=True, warn=False)
        assert mean >= 0
        assert std >= 0


def test_their_evaluation_is_ours() -> None:
    evaluation = pytest.importorskip("stable_baselines3.common.evaluation")
    agent = nait.NAIT(nait.make_atari("MsPacman", noop_max=0), seed=0).learn(2000)
    theirs = evaluation.evaluate_policy(agent, nait.make_atari("MsPacman", noop_max=0), 2, warn=False)
    ours = nait.evaluate_policy(agent, nait.make_atari("MsPacman", noop_max=0), 2)
    assert theirs == ours


def test_their_callbacks_work(tmp_path: Path) -> None:
    callbacks = pytest.importorskip("stable_baselines3.common.callbacks")
    agent = nait.NAIT(gymnasium.make("CartPole-v1"), seed=0)
    saver = callbacks.CheckpointCallback(save_freq=100, save_path=str(tmp_path), name_prefix="agent")
    agent.learn(250, callback=saver)
    assert len(list(tmp_path.iterdir())) == 2

    class Stop(callbacks.BaseCallback):
        def _on_step(self) -> bool:
            return self.num_timesteps < 300

    agent.learn(1000, callback=[Stop()])
    assert agent.num_timesteps == 300
