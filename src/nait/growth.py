"""Arrays that grow as the paper's buffers do: capacity for 1000 entries first, then doubled when full."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=np.generic)

FIRST_CAPACITY = 1000


def grown(array: NDArray[T], needed: int) -> NDArray[T]:
    """`array` itself if it has `needed` rows, else a copy of it with doubled capacity."""
    capacity = len(array)
    if needed <= capacity:
        return array
    while capacity < needed:
        capacity = max(FIRST_CAPACITY, 2 * capacity)
    larger = np.zeros((capacity, *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger
