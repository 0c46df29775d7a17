"""How well an estimate says what follows: R^2 of several on the agent's own play.

The agent plays --steps steps. The traces of the first two thirds are the memory; for the states of the later ones and
the action taken there each estimate is held against the discounted return that followed (1 is perfect, 0 the mean):

- Q: the paper's Eq. 4, the k nearest states of that action;
- V: the k nearest states whatever was done there;
- mixed: both under one bandwidth, the least distance of an action's k-th neighbour: states of that action with their
  weights, and V with the weight of --prior states.

    python benchmarks/estimates.py --steps 30000 MsPacman Alien Breakout
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import nait
from nait.experiments.speed import Recorder, squared_distances
from nait.representation import DCT

K, SIDE = 64, 17
EVERY = 8  # of the later steps one in so many is a query

Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class Play:
    states: NDArray[np.float32]
    actions: NDArray[np.int64]
    returns: Doubles
    traces: NDArray[np.int64]
    n_actions: int


def play(game: str, steps: int, seed: int) -> Play:
    agent = nait.NAIT(nait.make_atari(game), seed=seed)
    recorder = Recorder(agent.representation, DCT((4, 84, 84), SIDE))
    agent.representation = recorder
    taken: list[tuple[int, float, bool]] = []
    step, lives = agent.env.step, 0

    def watched(action: int) -> tuple[object, ...]:
        nonlocal lives
        observation, reward, terminated, truncated, info = step(action)
        taken.append((int(action), float(reward), terminated or truncated or info["lives"] < lives))
        lives = info["lives"]
        return observation, reward, terminated, truncated, info

    agent.env.step = watched
    agent.learn(steps)
    actions, rewards, ends = (np.array(column) for column in zip(*taken, strict=True))
    returns = np.empty(steps)
    later = 0.0
    for t in reversed(range(steps)):
        later = returns[t] = rewards[t] + (0.0 if ends[t] else agent.config.gamma * later)
    return Play(recorder.states, actions, returns, np.cumsum(ends) - ends, agent.n_actions)


def tricubic(squared: Doubles, bandwidth: Doubles) -> Doubles:
    weights: Doubles = np.clip(1 - np.clip(squared / np.maximum(bandwidth, 1e-9), 0, 1) ** 1.5, 0, 1) ** 3
    return weights


def estimates(played: Play, prior: float) -> tuple[Doubles, dict[str, Doubles]]:
    """The returns that followed, and what each estimate said."""
    now = played.traces[2 * len(played.returns) // 3]
    before = np.flatnonzero(played.traces < now)
    asked = np.flatnonzero((played.traces > now) & (played.traces < played.traces[-1]))[::EVERY]
    squared = np.full((len(asked), played.n_actions, K), np.inf)
    values = np.zeros_like(squared)
    for action in range(played.n_actions):
        mine = before[played.actions[before] == action]
        if len(mine) <= K:
            continue
        for start in range(0, len(asked), 200):
            rows = slice(start, start + 200)
            distances = squared_distances(played.states[asked[rows]], played.states[mine])
            nearest = np.argpartition(distances, K, axis=1)[:, :K]
            squared[rows, action] = np.maximum(np.take_along_axis(distances, nearest, axis=1), 0)
            values[rows, action] = played.returns[mine][nearest]
    each, taken = np.arange(len(asked)), played.actions[asked]
    own, own_values = squared[each, taken], values[each, taken]
    known = np.isfinite(own[:, 0])
    own_weights = np.where(known[:, None], tricubic(own, own.max(axis=1, keepdims=True)), 1.0) + 1e-12
    q = (own_weights * own_values).sum(axis=1) / own_weights.sum(axis=1)
    pooled = np.sort(squared.reshape(len(asked), -1), axis=1)[:, K - 1]
    bandwidth = squared.max(axis=2).min(axis=1)

    def mean(width: Doubles) -> tuple[Doubles, Doubles]:
        weights = tricubic(squared, width[:, None, None]) + np.where(np.isfinite(squared), 1e-12, 0)
        return (weights * values).sum(axis=(1, 2)) / weights.sum(axis=(1, 2)), weights[each, taken]

    v, _ = mean(pooled)
    wide, mine = mean(bandwidth)
    mixed = ((mine * own_values).sum(axis=1) + prior * wide) / (mine.sum(axis=1) + prior)
    return played.returns[asked], {"Q": q, "V": v, "mixed": mixed}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=30_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--prior", type=float, default=10.0)
    parser.add_argument("games", nargs="*", default=["MsPacman", "Alien", "Breakout"])
    arguments = parser.parse_args()
    for game in arguments.games:
        truth, said = estimates(play(game, arguments.steps, arguments.seed), arguments.prior)
        row = (f"{name} {1 - ((s - truth) ** 2).mean() / truth.var():6.3f}" for name, s in said.items())
        print(f"{game:16s}", *row, f"({len(truth)} states)", sep="   ", flush=True)
