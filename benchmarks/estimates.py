"""How well an estimate says what follows: R^2 of several on the agent's own play.

The agent plays --steps steps. The traces of the first two thirds are the memory; for the states of the later ones and
the action taken there each estimate is held against the discounted return that followed (1 is perfect, 0 the mean):

- Q: the paper's Eq. 4, the k nearest states of that action;
- V: the k nearest states whatever was done there;
- mixed: both under one bandwidth, the least distance of an action's k-th neighbour: states of that action with their
  weights, and V with the weight of --prior states.

States are those of the paper or of --states, any of several others for comparison: a DCT of more or fewer coefficients,
of the newest frame alone, or of the newest frame beside how it has changed over the stack, which counts twice. The
agent plays by the paper's in any case.

    python benchmarks/estimates.py --steps 30000 MsPacman Alien Breakout
    python benchmarks/estimates.py --steps 45000 --states paper coarse motion -- Pong UpNDown
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import nait
from nait.experiments.speed import Recorder, squared_distances
from nait.representation import DCT, Representation, Stateless

K = 64
SHAPE, FRAME = (4, 84, 84), (1, 84, 84)
EVERY = 8  # of the later steps one in so many is a query

Doubles = NDArray[np.float64]


class Newest(Stateless):
    """The newest frame alone."""

    def __init__(self, size: int) -> None:
        self._dct = DCT(FRAME, size)
        self.dim = self._dct.dim

    def __call__(self, stack: NDArray[np.generic]) -> NDArray[np.float32]:
        return self._dct(stack[-1:])


class Motion(Stateless):
    """The newest frame, and twice what has changed since the oldest."""

    def __init__(self, size: int, change: int) -> None:
        self._newest, self._change = DCT(FRAME, size), DCT(FRAME, change)
        self.dim = self._newest.dim + self._change.dim

    def __call__(self, stack: NDArray[np.generic]) -> NDArray[np.float32]:
        changed = stack[-1:].astype(np.float64) - stack[:1]
        return np.concatenate([self._newest(stack[-1:]), 2 * self._change(changed)])


class SideBySide(Stateless):
    """Several representations in one state."""

    def __init__(self, parts: list[Representation]) -> None:
        self._parts = parts
        self.dim = sum(part.dim for part in parts)

    def __call__(self, stack: NDArray[np.generic]) -> NDArray[np.float32]:
        return np.concatenate([part(stack) for part in self._parts])

    def split(self, states: NDArray[np.float32]) -> list[NDArray[np.float32]]:
        return np.split(states, np.cumsum([part.dim for part in self._parts])[:-1], axis=1)


STATES: dict[str, Representation] = {
    "paper": DCT(SHAPE, 17),
    "fine": DCT(SHAPE, 24),
    "coarse": DCT(SHAPE, 12),
    "newest": Newest(16),
    "motion": Motion(12, 10),
}


@dataclass(frozen=True)
class Play:
    states: list[NDArray[np.float32]]
    """Of each step, by each representation."""
    actions: NDArray[np.int64]
    returns: Doubles
    traces: NDArray[np.int64]
    n_actions: int


def play(game: str, steps: int, seed: int, states: list[str]) -> Play:
    agent = nait.NAIT(nait.make_atari(game), seed=seed)
    recorded = SideBySide([STATES[name] for name in states])
    recorder = Recorder(agent.representation, recorded)
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
    returns = discounted(rewards, ends, agent.config.gamma)
    split = recorded.split(recorder.states)
    return Play(split, actions, returns, np.cumsum(ends) - ends, agent.n_actions)


def discounted(rewards: Doubles, ends: NDArray[np.bool_], gamma: float) -> Doubles:
    """The return that followed each step, to the end of its trace."""
    returns, later = np.empty(len(rewards)), 0.0
    for t in reversed(range(len(rewards))):
        later = returns[t] = rewards[t] + (0.0 if ends[t] else gamma * later)
    return returns


def tricubic(squared: Doubles, bandwidth: Doubles) -> Doubles:
    weights: Doubles = np.clip(1 - np.clip(squared / np.maximum(bandwidth, 1e-9), 0, 1) ** 1.5, 0, 1) ** 3
    return weights


def estimates(played: Play, states: NDArray[np.float32], prior: float) -> tuple[Doubles, dict[str, Doubles]]:
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
            distances = squared_distances(states[asked[rows]], states[mine])
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
    parser.add_argument("--states", nargs="+", choices=STATES, default=["paper"])
    parser.add_argument("games", nargs="*", default=["MsPacman", "Alien", "Breakout"])
    arguments = parser.parse_args()
    for game in arguments.games:
        played = play(game, arguments.steps, arguments.seed, arguments.states)
        for name, states in zip(arguments.states, played.states, strict=True):
            truth, said = estimates(played, states, arguments.prior)
            row = (f"{name} {1 - ((s - truth) ** 2).mean() / truth.var():6.3f}" for name, s in said.items())
            print(f"{game:16s}", f"{name:8s}", *row, f"({len(truth)} states)", sep="   ", flush=True)
