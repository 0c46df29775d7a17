"""States of real play for the benchmarks: held random actions from the full set of 18.

Writes GAME.npz into --out: the paper's float32 states (F = 289), the action taken in each, and the raw grey screens of
the first steps for the benchmark of the transform.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import nait
from nait.representation import DCT

GAMES = ("MsPacman", "Breakout", "Pong", "Freeway", "RoadRunner", "UpNDown", "Hero", "Qbert")
SHAPE, SIDE = (4, 84, 84), 17
HELD = 6  # steps an action is held, in the mean


def play(game: str, steps: int, seed: int, kept_screens: int) -> dict[str, NDArray[np.generic]]:
    env = nait.make_atari(game, seed=seed, full_action_space=True)
    dct, rng = DCT(SHAPE, SIDE), np.random.default_rng(seed)
    states = np.empty((steps, SIDE * SIDE), np.float32)
    actions = np.empty(steps, np.int32)
    screens = []
    stack, _ = env.reset()
    action, held = 0, 0
    for t in range(steps):
        if t < kept_screens:
            screens.append(env.ale.getScreenGrayscale())
        if held == 0:
            action, held = int(rng.integers(len(env.get_action_meanings()))), int(rng.geometric(1 / HELD))
        held -= 1
        states[t], actions[t] = dct(stack), action
        stack, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            stack, _ = env.reset()
    return {"states": states, "actions": actions, "screens": np.array(screens)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(".data"))
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("games", nargs="*", default=GAMES)
    arguments = parser.parse_args()
    arguments.out.mkdir(exist_ok=True)
    for game in arguments.games:
        start = time.perf_counter()
        record = play(game, arguments.steps, seed=0, kept_screens=200)
        np.savez(arguments.out / f"{game}.npz", allow_pickle=False, **record)
        print(game, f"{arguments.steps / (time.perf_counter() - start):.0f} steps/s", flush=True)
