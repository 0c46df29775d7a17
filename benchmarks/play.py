"""States of real play for the benchmarks: held random actions from the full set of 18.

Writes GAME.npz into --out: float32 DCT states (F = 289), the action taken in each, where episodes begin, and the
raw screens of the first steps for the benchmark of the transform.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import ale_py
import cv2
import numpy as np
from numpy.typing import NDArray

GAMES = ("MsPacman", "Breakout", "Pong", "Freeway", "RoadRunner", "UpNDown", "Hero", "Qbert")
SIDE = 17


def dct_basis(n: int, kept: int) -> NDArray[np.float64]:
    """The first `kept` rows of the orthonormal DCT-II of size n."""
    i = np.arange(kept)[:, None]
    basis: NDArray[np.float64] = np.sqrt(2.0 / n) * np.cos(np.pi / n * (np.arange(n)[None, :] + 0.5) * i)
    basis[0] /= np.sqrt(2.0)
    return basis


def rom_name(game: str) -> str:
    return "".join(("_" if c.isupper() and i else "") + c.lower() for i, c in enumerate(game))


def play(game: str, steps: int, seed: int, kept_screens: int) -> dict[str, NDArray[np.generic]]:
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    ale = ale_py.ALEInterface()
    ale.setFloat("repeat_action_probability", 0.0)
    ale.setInt("random_seed", seed)
    roms = Path(ale_py.__file__).parent / "roms"
    ale.loadROM(str(roms / f"{rom_name(game)}.bin"))
    actions = ale.getLegalActionSet()
    rng = np.random.default_rng(seed)
    basis = dct_basis(168, SIDE).astype(np.float32)
    states = np.empty((steps, SIDE * SIDE), np.float32)
    taken = np.empty(steps, np.int32)
    first = np.zeros(steps, np.bool_)
    screens = np.empty((min(steps, kept_screens), 2, 210, 160), np.uint8)
    a, b = np.empty((210, 160), np.uint8), np.empty((210, 160), np.uint8)
    grid = np.empty((168, 168), np.float32)
    frames = np.zeros((4, 84, 84), np.uint8)
    action, hold, fresh = 0, 0, True
    for t in range(steps):
        if fresh or ale.game_over():
            ale.reset_game()
            for _ in range(int(rng.integers(1, 31))):
                ale.act(actions[0])
            ale.getScreenGrayscale(a)
            b[:] = a
            fresh, first[t], hold = False, True, 0
        if t < len(screens):
            screens[t, 0], screens[t, 1] = a, b
        frame = cv2.resize(np.maximum(a, b), (84, 84), interpolation=cv2.INTER_LINEAR)
        if first[t]:
            frames[:] = frame
        else:
            frames[1:] = frames[:-1].copy()
            frames[0] = frame
        grid[:84, :84], grid[:84, 84:], grid[84:, :84], grid[84:, 84:] = frames
        states[t] = (basis @ grid @ basis.T).ravel()
        if hold == 0:
            action, hold = int(rng.integers(len(actions))), int(rng.geometric(1 / 6))
        hold -= 1
        taken[t] = action
        for i in range(4):
            ale.act(actions[action])
            if i == 2:
                ale.getScreenGrayscale(a)
        ale.getScreenGrayscale(b)
    return {"states": states, "actions": taken, "first": first, "screens": screens}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(".data"))
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("games", nargs="*", default=GAMES)
    arguments = parser.parse_args()
    arguments.out.mkdir(exist_ok=True)
    for game in arguments.games or GAMES:
        start = time.perf_counter()
        record = play(game, arguments.steps, 0, 2000)
        np.savez(arguments.out / f"{game}.npz", allow_pickle=False, **record)
        print(game, f"{arguments.steps / (time.perf_counter() - start):.0f} steps/s", flush=True)
