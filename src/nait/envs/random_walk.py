"""The paper's image random walk: 19 states in a line, seen as noisy grey blocks (Section 4.1).

The paper gives the reward of state 19 to a0 in the text and to a1 in the transition diagram. Only a1
fits the rest: a1 moves right everywhere but in state 15, so a1 in state 19 leaves the line at its
right end, and the one reversal is what makes "always move right" fail. Were it a0, state 19 would be
a second reversal, and leaving it to the left would lead back to state 18 and to the same reward
again. Both ends of the line end the episode, as in the classic walk it is named after.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from nait.arrays import Arrays, from_generator, to_generator

STATES = 19
START = 9
REVERSED = 15
DISCOUNT = 0.9


class ImageRandomWalk(gymnasium.Env[NDArray[np.float32], np.int64]):
    """States 1 to 19, start in 9; a0 goes left, a1 right, the other way round in 15.

    :param size: height and width D of an observation
    :param noise: standard deviation sigma of its pixels
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 (Gymnasium's own declaration)

    def __init__(self, size: int = 5, noise: float = 0.1) -> None:
        self.size = size
        self.noise = noise
        self.action_space = Discrete(2)
        self.observation_space = Box(-np.inf, np.inf, (size, size), np.float32)
        self.state = START

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Go back to state 9."""
        super().reset(seed=seed)
        self.state = START
        return self.observe(self.state), {}

    def step(self, action: np.int64 | int) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """One state to the left or to the right."""
        self.state += move(self.state, int(action))
        reward = 1.0 if self.state > STATES else 0.0
        terminated = not 1 <= self.state <= STATES
        return self.observe(min(max(self.state, 1), STATES)), reward, terminated, False, {}

    def observe(self, state: int) -> NDArray[np.float32]:
        """A block of the intensity of `state`, scaled to [-1, 1], with noise."""
        intensity = 2 * (state - 1) / (STATES - 1) - 1
        return self.np_random.normal(intensity, self.noise, (self.size, self.size)).astype(np.float32)

    def snapshot(self) -> Arrays:
        """The state and the generator."""
        return {"state": np.array(self.state), "generator": from_generator(self.np_random)}

    def restore(self, arrays: Arrays) -> None:
        """Continue from a `snapshot`."""
        self.state = int(arrays["state"].item())
        to_generator(arrays["generator"], self.np_random)


def move(state: int, action: int) -> int:
    """-1 or +1: where `action` leads from `state`."""
    step = 1 if action == 1 else -1
    return -step if state == REVERSED else step


def optimal_q(gamma: float = DISCOUNT) -> NDArray[np.float64]:
    """Q*(s, a) as an array of shape (19, 2): gamma to the number of steps before the rewarded one."""
    q = np.zeros((STATES, 2))
    for _ in range(2 * STATES):
        for state in range(1, STATES + 1):
            for action in (0, 1):
                target = state + move(state, action)
                if target > STATES:
                    q[state - 1, action] = 1.0
                elif target >= 1:
                    q[state - 1, action] = gamma * q[target - 1].max()
    return q
