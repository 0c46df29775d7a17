"""Exact search by looking at every state: the truth the other indexes are measured against."""

from __future__ import annotations

import numpy as np

from nait.arrays import Arrays, grown
from nait.neighbours.protocol import Distances, Ids, States


class FlatIndex:
    """Scans in float32, then decides in float64 among all that float32 cannot tell apart."""

    def __init__(self, dim: int) -> None:
        self._states: States = np.empty((0, dim), dtype=np.float32)
        self._ids: Ids = np.empty(0, dtype=np.int64)
        self._count = 0
        # Bounds on the relative and the absolute (underflow) error of a float32 sum of `dim` squares.
        self._slack = (1 + 2 * (dim + 3) * float(np.finfo(np.float32).eps)) ** 2
        self._floor = 4 * dim * float(np.finfo(np.float32).tiny)

    def __len__(self) -> int:
        return self._count

    def add(self, ids: Ids, states: States) -> None:
        needed = self._count + len(ids)
        self._states = grown(self._states, needed)
        self._ids = grown(self._ids, needed)
        self._states[self._count : needed] = states
        self._ids[self._count : needed] = ids
        self._count = needed

    def search(self, state: States, k: int) -> tuple[Ids, Distances]:
        k = min(k, self._count)
        if k == 0:
            return np.empty(0, dtype=np.int64), np.empty(0)
        difference = self._states[: self._count] - state
        rough = np.einsum("ij,ij->i", difference, difference)
        kth = np.partition(rough, k - 1)[k - 1]
        near = np.flatnonzero(rough <= kth * self._slack + self._floor)
        exact = self._states[near].astype(np.float64) - state
        distances = np.einsum("ij,ij->i", exact, exact)
        order = np.lexsort((self._ids[near], distances))[:k]
        return self._ids[near[order]], distances[order]

    def save(self) -> Arrays:
        return {}

    def load(self, ids: Ids, states: States, arrays: Arrays) -> None:
        self.add(ids, states)
