"""What costs the core its recall, and what recall costs: rounded states, and the graph. On the agent's own play.

The agent plays --steps steps. Then, for the states of its last --queries steps and the action it took most often:

- an exact search on states rounded in several ways, against an exact search on the float32 states;
- the core's graph with several settings, filled with the play and asked step after step, and hnswlib at the paper's,
  each with the median time of a lookup of all actions, and the core with the mean time of an insert.

    OMP_NUM_THREADS=1 python benchmarks/recall.py --steps 100000 MsPacman Qbert UpNDown
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import nait
from nait._core import Memory
from nait.config import Config
from nait.experiments.speed import Recorder, recall, squared_distances
from nait.neighbours import make_index
from nait.representation import DCT

K, SIDE, EFC = 64, 17, 200
F = SIDE * SIDE
SIXTEENTHS = 16.0  # the core's states are whole sixteenths of the paper's before they are packed
ROWS = [np.arange(F).reshape(SIDE, SIDE)[row] for row in range(SIDE)]

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class Play:
    states: Floats
    actions: NDArray[np.int64]
    n_actions: int


def play(game: str, steps: int) -> Play:
    agent = nait.NAIT(nait.make_atari(game), seed=0)
    recorder = Recorder(agent.representation, DCT((4, 84, 84), SIDE))
    agent.representation = recorder
    actions: list[int] = []
    step = agent.env.step
    agent.env.step = lambda action: actions.append(int(action)) or step(action)
    agent.learn(steps)
    return Play(recorder.states, np.array(actions), agent.n_actions)


def packed(sixteenths: Doubles, largest: int, groups: list[NDArray[np.int64]]) -> Doubles:
    """Mantissas of at most `largest` under an exponent for each state and group of coordinates."""
    kept = np.empty_like(sixteenths)
    for group in groups:
        numbers, unit = sixteenths[:, group], np.ones(len(sixteenths))
        while True:
            mantissas = np.floor(numbers / unit[:, None] + 0.5)
            large = np.abs(mantissas).max(axis=1) > largest
            if not large.any():
                break
            unit[large] *= 2
        kept[:, group] = mantissas * unit[:, None]
    return kept


def exact_search(states: Doubles, rows: NDArray[np.intp], queries: list[int], truth: list[Doubles]) -> float:
    found = squared_distances(states[queries], states[rows])
    return float(np.mean([recall(t, np.argpartition(s, K)[:K], K) for s, t in zip(found, truth, strict=True)]))


def core(played: Play, fill: int, asked: range, links: int, ef: int) -> tuple[float, float, float]:
    """The mean recall over all actions that have k states, microseconds a lookup of all actions and an insert."""
    memory = Memory(played.n_actions, F, k=K, M=links, ef_construction=EFC, ef_search=ef)
    integers = np.rint(SIXTEENTHS * (played.states - played.states[0])).astype(np.int32)
    slots = np.empty(fill, np.int64)
    start = time.process_time()
    for i in range(0, fill, 50):
        batch = slice(i, min(i + 50, fill))
        slots[batch] = memory.write(played.actions[batch], integers[batch], np.zeros(batch.stop - i), 0.1)
    insert = (time.process_time() - start) / memory.sizes().sum()
    rows = []
    for action in range(played.n_actions):
        mine = np.flatnonzero(played.actions[:fill] == action)
        rows.append(mine[np.unique(slots[mine], return_index=True)[1]])
    q, distance, exact = np.empty(played.n_actions), np.empty(played.n_actions), np.empty(played.n_actions, np.int64)
    scores, seconds = [], []
    for t in asked:
        start = time.perf_counter()
        memory.lookup(integers[t], q, distance, exact)
        seconds.append(time.perf_counter() - start)
        if t % 10:
            continue
        for action, mine in enumerate(rows):
            if len(mine) >= K and exact[action] < 0:
                squared = squared_distances(played.states[t][None], played.states[mine])[0]
                scores.append(recall(squared, memory.neighbours(action)[0], K))
    return float(np.mean(scores)), 1e6 * float(np.median(seconds)), 1e6 * float(insert)


def reference(played: Play, fill: int, asked: range) -> tuple[float, float]:
    scores, microseconds = [], 0.0
    for action in range(played.n_actions):
        mine = np.flatnonzero(played.actions[:fill] == action)
        mine = mine[np.unique(played.states[mine], axis=0, return_index=True)[1]]
        if len(mine) < K:
            continue
        states = played.states[np.sort(mine)]
        index = make_index(Config(index="hnswlib"), F)
        index.add(np.arange(len(states)), states)
        seconds = []
        for t in asked[::10]:
            squared = squared_distances(played.states[t][None], states)[0]
            if squared.min() > 0:
                start = time.perf_counter()
                found = index.search(played.states[t], K)[0]
                seconds.append(time.perf_counter() - start)
                scores.append(recall(squared, found, K))
        microseconds += 1e6 * float(np.median(seconds))
    return float(np.mean(scores)), microseconds


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=50_000)
    parser.add_argument("--queries", type=int, default=6000)
    parser.add_argument("games", nargs="*", default=["MsPacman", "Qbert", "UpNDown"])
    arguments = parser.parse_args()
    for game in arguments.games:
        played = play(game, arguments.steps)
        fill = arguments.steps - arguments.queries
        action = int(np.bincount(played.actions[:fill]).argmax())
        rows = np.flatnonzero(played.actions[:fill] == action)
        rows = np.sort(rows[np.unique(played.states[rows], axis=0, return_index=True)[1]])
        asked = list(range(fill, arguments.steps, 40))
        squared = squared_distances(played.states[asked], played.states[rows])
        new = [i for i in range(len(asked)) if squared[i].min() > 1e-6 * squared[i].max()]
        asked, truth = [asked[i] for i in new], [squared[i] for i in new]
        centred = (played.states - played.states[0]).astype(np.float64)
        sixteenths = np.rint(SIXTEENTHS * centred)
        whole = [np.arange(F)]
        print(f"{game}: {len(rows)} states of action {action}, {len(asked)} queries")
        for name, states in (
            ("12 bits, one exponent (the core)", packed(sixteenths, 2039, whole)),
            ("12 bits, an exponent a row of the DCT", packed(sixteenths, 2047, ROWS)),
            ("16 bits, one exponent", packed(sixteenths, 32767, whole)),
        ):
            print(f"  exact search, {name:40s} {exact_search(states, rows, asked, truth):.4f}", flush=True)
        steps = range(fill, arguments.steps)
        for links, ef in ((16, 80), (16, 96), (16, 112), (16, 200), (24, 80), (24, 96), (32, 96)):
            score, lookup, insert = core(played, fill, steps, links, ef)
            print(f"  core, {links} links, ef = {ef:<33} {score:.4f} {lookup:7.1f} us {insert:6.1f} us", flush=True)
        score, microseconds = reference(played, fill, steps)
        print(f"  hnswlib, M = 40, ef = 200 {'':22s} {score:.4f} {microseconds:7.1f} us", flush=True)
