"""Does what the agent believes come true? Values of the actions it takes, held against the returns that follow.

The agent learns for --steps steps and then plays --episodes games by its values (`play=greedy`), without learning. Of
each action taken the value was either remembered for this very state or estimated from neighbours. For both kinds are
printed: the share of all steps; R^2, 1 where the value is always the discounted return to the end of the life that
followed and 0 where it says no more than the mean; and the mean value over the mean return.

    python benchmarks/calibration.py --steps 100000 MsPacman Gopher
"""

from __future__ import annotations

import argparse

import numpy as np
from estimates import discounted
from numpy.typing import NDArray

import nait
from nait.memory import ABSENT
from nait.policy import choose

Doubles = NDArray[np.float64]


def believed_and_true(game: str, steps: int, seed: int, episodes: int) -> tuple[NDArray[np.bool_], Doubles, Doubles]:
    """For each step played: whether the action's value was remembered, the value, and the return that followed."""
    env = nait.make_atari(game, seed=seed)
    agent = nait.NAIT(env, seed=seed).learn(steps)
    agent.cut_episode()
    remembered, values, rewards, ends = [], [], [], []
    for _ in range(episodes):
        stack, info = env.reset()
        lives, done = info["lives"], False
        while not done:
            lookup = agent.memory.lookup(agent.representation(stack), playing=True)
            action = choose(lookup, agent.config, None)
            stack, reward, terminated, truncated, info = env.step(action)
            done = terminated or truncated
            remembered.append(lookup.exact[action] != ABSENT)
            values.append(lookup.q[action])
            rewards.append(reward)
            ends.append(done or info["lives"] < lives)
            lives = info["lives"]
    returns = discounted(np.array(rewards), np.array(ends), agent.config.gamma)
    return np.array(remembered), np.array(values), returns


def row(values: Doubles, returns: Doubles, of: int) -> str:
    if len(values) < 20 or returns.std() == 0:
        return f"{len(values) / of:5.2f}      -       -  "
    fit = 1 - ((returns - values) ** 2).mean() / returns.var()
    return f"{len(values) / of:5.2f} {fit:7.2f} {values.mean() / returns.mean():7.2f}  "


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--episodes", type=int, default=8)
    parser.add_argument("games", nargs="*", default=["MsPacman", "Gopher"])
    arguments = parser.parse_args()
    print(f"{'':16s} remembered               estimated")
    print(f"{'':16s} share     R^2   ratio    share     R^2   ratio")
    for game in arguments.games:
        known, value, truth = believed_and_true(game, arguments.steps, arguments.seed, arguments.episodes)
        cells = (row(value[kind], truth[kind], len(known)) for kind in (known, ~known))
        print(f"{game:16s}", *cells, flush=True)
