"""
The native core: packed states, proximity graphs, the Q estimate and the DCT of frames.
"""

from typing import Annotated

import numpy
from numpy.typing import NDArray


simd: str = 'avx512'

class Memory:
    """
    The memories M_a of all actions and their frozen copies M'_a.

    States are int32 vectors, kept in 12 bits a coordinate under an exponent of their own; distances are
    exact integers between the states as kept. A memory of fewer than flat_below entries is scanned, and so are
    all until there are `settle` entries, which say which coordinates vary most: those steer the searches.
    M and the two ef mean what they do in HNSW; the defaults are lower than the paper's, because searches
    start at the last query's neighbours and slots before and after are links too.
    """

    def __init__(self, n_actions: int, dim: int, *, k: int = 64, M: int = 16, ef_construction: int = 100, ef_search: int = 80, flat_below: int = 400, settle: int = 2048, kernel: str = 'tricubic', thin: str = 'infinite') -> None: ...

    def lookup(self, state: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], q: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], distance: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu')], exact: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu')], *, reach: int = 1, playing: bool = False, search_thin: bool = False) -> NDArray[numpy.int32]:
        """
        Fill Q(s, a), the tie-break distance and the slot of s (-1 if s is not in M_a) for every action. Returns the
        state as a memory keeps it; two states with the same one are the same state.

        reach: take so many times k neighbours, or all if there are fewer. playing: leave the sequence of training
        lookups as it is. search_thin: find neighbours also where there are fewer than k.
        """

    def begin_play(self) -> None:
        """Let the lookups of play begin anew, whatever was asked before."""

    def find(self, action: int, state: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> int:
        """The slot of a state in M_a, or -1."""

    def entries(self, action: int, slots: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> tuple[NDArray[numpy.int32], NDArray[numpy.float64]]:
        """States and values of entries of M_a."""

    def frozen_q(self, action: int) -> float:
        """Q'(s, a) of the state last looked up, from the frozen memory M'_a."""

    def neighbours(self, action: int) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64], NDArray[numpy.float64], NDArray[numpy.float64]]:
        """
        Slots, squared distances, weights and values of the last lookup's neighbours, nearest first.
        """

    def write(self, actions: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], states: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], targets: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], alpha: float, alpha_up: float | None = None) -> NDArray[numpy.int64]:
        """
        Algorithm 2: move known pairs towards their targets, by alpha_up where these are higher than what is known, insert
        the others. Returns the slots.
        """

    def update(self, actions: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], slots: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], targets: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], alpha: float, alpha_up: float | None = None) -> None:
        """Algorithm 2 for pairs whose slots are known from write."""

    def freeze(self) -> None:
        """M'_a <- M_a for all actions; costs what changed."""

    def size(self, action: int) -> int:
        """Number of entries of M_a."""

    def sizes(self) -> NDArray[numpy.int64]:
        """Number of entries of every M_a."""

    @property
    def order(self) -> NDArray[numpy.uint16]:
        """
        The coordinates in the order of their variance, empty until it is settled.
        """

    def settle(self, order: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None:
        """
        Take the order of another memory's coordinates, before `restore` brings its states.
        """

    def nbytes(self) -> int:
        """Bytes allocated for states, values, links and tables."""

    def export(self, action: int) -> dict[str, object]:
        """All of M_a, M'_a and where the next search starts, as plain arrays."""

    def restore(self, action: int, data: dict[str, object]) -> None:
        """
        Replace M_a by what export gave; ValueError if it is not sound. Look a state up before asking for neighbours.
        """

class Transform:
    """
    phi: four frames in a 2x2 grid to the side x side low-frequency block of its orthonormal 2-D DCT-II.

    States are int32, in sixteenths of a coefficient, less `centre`.
    """

    def __init__(self, height: int = 84, width: int = 84, side: int = 17) -> None: ...

    def __call__(self, stack: Annotated[NDArray[numpy.uint8], dict(shape=(None, None, None), order='C', device='cpu', writable=False)]) -> NDArray[numpy.int32]:
        """The state of a stack, oldest frame first."""

    @property
    def centre(self) -> NDArray[numpy.int32]:
        """What every state is taken relative to, zeros at first."""

    @centre.setter
    def centre(self, arg: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], /) -> None: ...

class Projection:
    """
    phi: four frames times a matrix of whole numbers.

    States are int32, in steps of 2^shift of the product, less `centre`.
    """

    def __init__(self, height: int, width: int, weights: Annotated[NDArray[numpy.int8], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

    @property
    def shift(self) -> int:
        """How many bits of the product are rounded off."""

    def __call__(self, stack: Annotated[NDArray[numpy.uint8], dict(shape=(None, None, None), order='C', device='cpu', writable=False)]) -> NDArray[numpy.int32]:
        """The state of a stack, oldest frame first."""

    @property
    def centre(self) -> NDArray[numpy.int32]:
        """What every state is taken relative to, zeros at first."""

    @centre.setter
    def centre(self, arg: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], /) -> None: ...

class Resize:
    """OpenCV's INTER_LINEAR on uint8, to the bit, from one size to another."""

    def __init__(self, from_height: int, from_width: int, height: int, width: int) -> None: ...

    def __call__(self, image: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)], out: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu')]) -> None:
        """Resize `image` into `out`."""
