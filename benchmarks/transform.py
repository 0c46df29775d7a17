"""From two screens to a state: the core beside OpenCV and NumPy. Screens come from play.py."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from play import SIDE, dct_basis

from nait._core import Transform, resize_linear, simd


def fastest(work: Callable[[int], object], n: int) -> float:
    """Microseconds a call, the best of five passes."""
    passes = []
    for _ in range(5):
        start = time.perf_counter()
        for i in range(n):
            work(i)
        passes.append((time.perf_counter() - start) / n)
    return 1e6 * min(passes)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("game", nargs="?", default="MsPacman")
    arguments = parser.parse_args()
    # Few enough to stay in the cache, as the emulator's own two screens do.
    screens: NDArray[np.uint8] = np.load(arguments.data / f"{arguments.game}.npz")["screens"][100:108].copy()
    frames = [resize_linear(np.maximum(a, b), 84, 84) for a, b in screens]
    basis, grid = dct_basis(168, SIDE).astype(np.float32), np.zeros((168, 168), np.float32)
    transform, n = Transform(), len(screens)

    def with_opencv(i: int) -> object:
        frame = cv2.resize(np.maximum(*screens[i % n]), (84, 84), interpolation=cv2.INTER_LINEAR)
        grid[84:, 84:], grid[84:, :84], grid[:84, 84:] = grid[84:, :84], grid[:84, 84:], grid[:84, :84]
        grid[:84, :84] = frame
        return (basis @ grid @ basis.T).ravel()

    print("instruction set:", simd)
    print(f"core, screens to state       {fastest(lambda i: transform.push_screens(*screens[i % n]), 1000):6.1f} us")
    print(f"core, 84x84 frame to state   {fastest(lambda i: transform.push(frames[i % n]), 1000):6.1f} us")
    print(f"core, encode a whole stack   {fastest(lambda i: transform.encode(np.stack(frames[:4])), 300):6.1f} us")
    print(f"OpenCV and NumPy             {fastest(with_opencv, 1000):6.1f} us")
