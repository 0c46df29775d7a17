"""A KD-tree, built anew whenever states were added: the paper's ablation of the proximity graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nait.arrays import Arrays
from nait.neighbours.protocol import Distances, Ids, States

if TYPE_CHECKING:
    from scipy.spatial import KDTree


class KDTreeIndex:
    """Exact, and slow for the reason the paper gives: the tree cannot take new points."""

    def __init__(self, dim: int) -> None:
        self._states: States = np.empty((0, dim), dtype=np.float32)
        self._ids: Ids = np.empty(0, dtype=np.int64)
        self._tree: KDTree | None = None

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, ids: Ids, states: States) -> None:
        self._states = np.concatenate([self._states, states])
        self._ids = np.concatenate([self._ids, ids])
        self._tree = None

    def search(self, state: States, k: int) -> tuple[Ids, Distances]:
        k = min(k, len(self))
        if k == 0:
            return np.empty(0, dtype=np.int64), np.empty(0)
        if self._tree is None:
            from scipy.spatial import KDTree  # here: most runs do without its import

            self._tree = KDTree(self._states)
        distances, rows = self._tree.query(state.astype(np.float64), k=np.arange(1, k + 1))
        return self._ids[np.asarray(rows)], np.asarray(distances) ** 2

    def save(self) -> Arrays:
        return {}

    def load(self, ids: Ids, states: States, arrays: Arrays) -> None:
        self.add(ids, states)
