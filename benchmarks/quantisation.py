"""Which scale to quantise DCT states with: clipped share, merged states, and recall@64 of an exact search on integers.

Truth is an exact float32 search per action, as the agent does it. `int8` stores every coefficient in a byte,
`mixed` the 31 lowest frequencies in two bytes and the others in one.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

K = 64
SCALES = (2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0)


def low_frequencies(side: int, kept: int) -> NDArray[np.intp]:
    i, j = np.divmod(np.arange(side * side), side)
    return np.lexsort((i, i + j))[:kept]


def nearest(memory: NDArray[np.float64], queries: NDArray[np.float64]) -> NDArray[np.intp]:
    squared = (memory**2).sum(1)[None, :] - 2.0 * queries @ memory.T
    return np.argpartition(squared, K, axis=1)[:, :K]


def recall(found: NDArray[np.intp], truth: NDArray[np.intp]) -> float:
    return float(np.mean([len(np.intersect1d(f, t)) / K for f, t in zip(found, truth, strict=True)]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("--actions", type=int, nargs="*", default=[1, 3, 11])
    parser.add_argument("games", nargs="*")
    arguments = parser.parse_args()
    for path in sorted(arguments.data.glob("*.npz")):
        if arguments.games and path.stem not in arguments.games:
            continue
        record = np.load(path)
        states = record["states"].astype(np.float64)
        centred = states - states[0]
        queries = np.arange(len(states) * 4 // 5, len(states), 67)
        for scale in SCALES:
            rounded = np.rint(centred / scale)
            byte = np.clip(rounded, -128, 127)
            mixed = byte.copy()
            low = low_frequencies(17, 31)
            mixed[:, low] = np.clip(rounded[:, low], -32768, 32767)
            clipped = [float((np.abs(rounded - x) > 0).mean()) for x in (byte, mixed)]
            touched = [float((np.abs(rounded - x) > 0).any(1).mean()) for x in (byte, mixed)]
            distinct = len(np.unique(byte.astype(np.int8), axis=0)) / max(1, len(np.unique(states, axis=0)))
            scores: list[list[float]] = [[], []]
            for action in arguments.actions:
                mine = np.flatnonzero(record["actions"][: len(states) * 4 // 5] == action)
                mine = mine[np.unique(states[mine].astype(np.float32), axis=0, return_index=True)[1]]
                truth = nearest(centred[mine], centred[queries])
                for score, x in zip(scores, (byte, mixed), strict=True):
                    score.append(recall(nearest(x[mine], x[queries]), truth))
            print(
                f"{path.stem:12s} scale {scale:4.0f}  recall int8 {np.mean(scores[0]):.4f} mixed {np.mean(scores[1]):.4f}"
                f"  clipped int8 {clipped[0]:.5f} mixed {clipped[1]:.5f}  states with a clip int8 {touched[0]:.3f}"
                f" mixed {touched[1]:.3f}  distinct kept {distinct:.4f}",
                flush=True,
            )
