"""What the memory asks of an index."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from nait.arrays import Arrays

Ids = NDArray[np.int64]
States = NDArray[np.float32]
Distances = NDArray[np.float64]


class Index(Protocol):
    """Finds the stored states nearest to a query; a state is known by the id it was added under."""

    def __len__(self) -> int:
        """States stored."""
        ...

    def add(self, ids: Ids, states: States) -> None:
        """Store `states` under `ids`, in that order."""
        ...

    def search(self, state: States, k: int) -> tuple[Ids, Distances]:
        """The min(k, len) nearest ids and their squared L2 distances, nearest first."""
        ...

    def save(self) -> Arrays:
        """What `load` needs besides the states themselves; often nothing."""
        ...

    def load(self, ids: Ids, states: States, arrays: Arrays) -> None:
        """Fill an empty index so that it answers exactly as the saved one did and would have."""
        ...
