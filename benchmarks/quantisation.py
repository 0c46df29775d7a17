"""How to store DCT states: recall@64 of an exact search on stored states against an exact float32 search, per action.

`fixed` rounds to one scale and clips to a byte, centre = the first state of the run. `packed` rounds to sixteenths and
then to a mantissa of 8 or 12 bits under an exponent of the state's own, as the core does.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

K = 64
SCALES = (2.0, 4.0, 8.0, 16.0, 24.0, 32.0, 48.0)


def fixed(centred: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    return np.clip(np.rint(centred / scale), -128, 127)


def packed(centred: NDArray[np.float64], limit: int) -> NDArray[np.float64]:
    """The smallest power of two under which all of a state's sixteenths are at most `limit` in size."""
    sixteenths = np.rint(16 * centred)
    unit = np.ones(len(centred))
    while True:
        mantissa = np.floor(sixteenths / unit[:, None] + 0.5)
        large = np.abs(mantissa).max(1) > limit
        if not large.any():
            return mantissa * unit[:, None]
        unit[large] *= 2


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
        kept = {f"fixed scale {scale:.0f}": fixed(centred, scale) for scale in SCALES}
        kept |= {"packed 8 bits": packed(centred, 127), "packed 12 bits": packed(centred, 2039)}
        distinct = len(np.unique(states.astype(np.float32), axis=0))
        for name, stored in kept.items():
            scores = []
            for action in arguments.actions:
                mine = np.flatnonzero(record["actions"][: len(states) * 4 // 5] == action)
                mine = mine[np.unique(states[mine], axis=0, return_index=True)[1]]
                truth = nearest(centred[mine], centred[queries])
                scores.append(recall(nearest(stored[mine], stored[queries]), truth))
            clipped = "" if name.startswith("packed") else f"  clipped {(np.abs(stored + 0.5) > 127).mean():.5f}"
            merged = 1.0 - len(np.unique(stored, axis=0)) / distinct
            print(
                f"{path.stem:12s} {name:15s} recall {np.mean(scores):.4f}  states merged {merged:.4f}{clipped}",
                flush=True,
            )
