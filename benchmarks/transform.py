"""From screens to a state: the core beside OpenCV, NumPy and scipy. Screens come from play.py."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import scipy.fft
from numpy.typing import NDArray
from play import SHAPE, SIDE

from nait._core import Resize, Transform, simd
from nait.representation import DCT, NativeProjection, Projection

SIZE = SHAPE[1:]


def fastest(work: Callable[[int], object], n: int = 1000) -> float:
    """Microseconds a call, the best of five passes."""
    passes = []
    for _ in range(5):
        start = time.perf_counter()
        for i in range(n):
            work(i)
        passes.append((time.perf_counter() - start) / n)
    return 1e6 * min(passes)


def scipy_dct(stack: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The whole transform of the grid, newest frame first, of which a corner is kept."""
    grid = np.block([[stack[3], stack[2]], [stack[1], stack[0]]]).astype(np.float32)
    return np.asarray(scipy.fft.dctn(grid, norm="ortho")[:SIDE, :SIDE].ravel())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("game", nargs="?", default="MsPacman")
    arguments = parser.parse_args()
    # Few enough to stay in the cache, as the emulator's own screen does.
    screens: NDArray[np.uint8] = np.load(arguments.data / f"{arguments.game}.npz")["screens"][100:108].copy()
    height, width = screens.shape[1:]
    resize, frame = Resize(height, width, *SIZE), np.empty(SIZE, np.uint8)
    frames = np.empty((len(screens), *SIZE), np.uint8)
    for screen, out in zip(screens, frames, strict=True):
        resize(screen, out)
    stacks = [np.roll(frames, -i, axis=0)[:4].copy() for i in range(len(frames))]
    transform, dct, n = Transform(*SIZE, SIDE), DCT(SHAPE, SIDE), len(screens)
    work: dict[str, Callable[[int], object]] = {
        "resize, core": lambda i: resize(screens[i % n], frame),
        "resize, OpenCV": lambda i: cv2.resize(screens[i % n], SIZE[::-1], interpolation=cv2.INTER_LINEAR),
        "stack to state, core": lambda i: transform(stacks[i % n]),
        "stack to state, two NumPy products": lambda i: dct(stacks[i % n]),
        "stack to state, scipy.fft.dctn": lambda i: scipy_dct(stacks[i % n]),
    }
    for kind in ("very_sparse", "sparse", "gaussian"):
        core = NativeProjection(kind, SHAPE, SIDE * SIDE, np.random.default_rng(0))
        plain = Projection(kind, math.prod(SHAPE), SIDE * SIDE, np.random.default_rng(0))
        work[f"{kind} projection, core"] = lambda i, phi=core: phi(stacks[i % n])  # type: ignore[misc]
        work[f"{kind} projection, one product"] = lambda i, phi=plain: phi(stacks[i % n])  # type: ignore[misc]
    print("instruction set:", simd)
    for name, one in work.items():
        print(f"{name:36s} {fastest(one):7.1f} us", flush=True)
