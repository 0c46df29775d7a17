"""Plain arrays by name: the form in which every part of an agent is saved."""

from __future__ import annotations

import json
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=np.generic)

Arrays = dict[str, NDArray[np.generic]]

FIRST_CAPACITY = 1000


def grown(array: NDArray[T], needed: int) -> NDArray[T]:
    """`array` itself if it has `needed` rows, else a copy with doubled capacity, 1000 at first as in the paper."""
    capacity = len(array)
    if needed <= capacity:
        return array
    while capacity < needed:
        capacity = max(FIRST_CAPACITY, 2 * capacity)
    larger = np.zeros((capacity, *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


def from_generator(generator: np.random.Generator) -> NDArray[np.uint8]:
    """The state of a random generator as an array."""
    return np.frombuffer(json.dumps(generator.bit_generator.state).encode(), dtype=np.uint8)


def to_generator(array: NDArray[np.generic], generator: np.random.Generator) -> None:
    """Put a generator into the state that `from_generator` gave."""
    generator.bit_generator.state = json.loads(array.tobytes())


def part(arrays: Arrays, prefix: str) -> Arrays:
    """The arrays whose names begin with `prefix`, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def prefixed(prefix: str, arrays: Arrays) -> Arrays:
    """The other way round."""
    return {f"{prefix}{name}": array for name, array in arrays.items()}
