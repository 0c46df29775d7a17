"""Recorded play that the tests share: real frames, not only random ones."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import nait

GAMES = ("MsPacman", "Breakout", "RoadRunner")


@pytest.fixture(scope="session")
def stacks() -> NDArray[np.uint8]:
    """300 stacks of frames of three games under random play."""
    recorded = []
    for game in GAMES:
        env = nait.make_atari(game, seed=0)
        env.action_space.seed(0)
        observation, _ = env.reset()
        for _ in range(100):
            recorded.append(observation)
            observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
            if terminated or truncated:
                observation, _ = env.reset()
    return np.stack(recorded)
