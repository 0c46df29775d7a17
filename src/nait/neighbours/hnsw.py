"""The hnswlib graph at the paper's settings (Section "Projected Small World Graphs")."""

from __future__ import annotations

import numpy as np

from nait.arrays import FIRST_CAPACITY, Arrays
from nait.neighbours.protocol import Distances, Ids, States

LEVEL_SEED = 100  # hnswlib draws the layers of its nodes from this; a fixed one makes runs repeatable


class HnswIndex:
    """hnswlib in one thread, so that the same additions always build the same graph."""

    def __init__(self, dim: int, M: int, ef_construction: int, ef_search: int) -> None:
        import hnswlib  # built for the machine it was installed on; nobody else should depend on that

        self._index = hnswlib.Index(space="l2", dim=dim)
        self._index.init_index(
            max_elements=FIRST_CAPACITY, ef_construction=ef_construction, M=M, random_seed=LEVEL_SEED
        )
        self._index.set_num_threads(1)
        self._index.set_ef(ef_search)
        self._ef_search = ef_search
        self._capacity = FIRST_CAPACITY
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, ids: Ids, states: States) -> None:
        if len(ids) == 0:  # hnswlib takes no empty batch
            return
        needed = self._count + len(ids)
        if needed > self._capacity:
            while self._capacity < needed:
                self._capacity *= 2
            self._index.resize_index(self._capacity)
        self._index.add_items(states, ids)
        self._count = needed

    def set_ef(self, ef_search: int) -> None:
        """Search with so many candidates from now on; the graph stays as it is."""
        self._index.set_ef(ef_search)
        self._ef_search = ef_search

    def search(self, state: States, k: int) -> tuple[Ids, Distances]:
        k = min(k, self._count)
        if k == 0:
            return np.empty(0, dtype=np.int64), np.empty(0)
        if k > self._ef_search:
            self._index.set_ef(k)
        try:
            ids, distances = self._index.knn_query(state, k=k)
        except RuntimeError:  # fewer than k were reached: a graph of many duplicates can fall apart
            self._index.set_ef(max(self._count, k))
            try:
                ids, distances = self._index.knn_query(state, k=k)
            except RuntimeError:
                return self._scan(state, k)
            finally:
                self._index.set_ef(self._ef_search)
        if k > self._ef_search:
            self._index.set_ef(self._ef_search)
        return ids[0].astype(np.int64), distances[0].astype(np.float64)

    def save(self) -> Arrays:
        return {}

    def load(self, ids: Ids, states: States, arrays: Arrays) -> None:
        # hnswlib's own file forgets the generator of the layers, after which the graph would grow
        # differently; adding the states again in their order rebuilds it bit for bit.
        self.add(ids, states)

    def _scan(self, state: States, k: int) -> tuple[Ids, Distances]:
        ids = np.sort(np.asarray(self._index.get_ids_list(), dtype=np.int64))
        states = np.asarray(self._index.get_items(ids), dtype=np.float64)
        distances: Distances = np.square(states - state.astype(np.float64)).sum(axis=1)
        order = np.argsort(distances, kind="stable")[:k]
        return ids[order], distances[order]
