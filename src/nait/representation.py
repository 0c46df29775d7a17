"""phi: from a stack of observations to a state (Section "Representation", Eq. 1 to 3).

A representation maps an array of one fixed shape to a float32 state. For images the shape is
(frames, height, width), oldest frame first, as Gymnasium stacks them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nait import _core
from nait.arrays import Arrays
from nait.errors import NaitError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

State = NDArray[Any]
"""A vector of float32, or of int32 for the native core."""


class Representation(Protocol):
    """A fixed map from observations to states."""

    dim: int
    """Length of a state, the paper's F."""

    def __call__(self, stack: NDArray[np.generic]) -> State:
        """The state of one stack of observations."""
        ...

    def save(self) -> Arrays:
        """What `load` needs; nothing where the map does not depend on what was seen."""
        ...

    def load(self, arrays: Arrays) -> None:
        """Become the representation that was saved."""
        ...


class Stateless:
    """A representation that does not depend on what was seen."""

    def save(self) -> Arrays:
        return {}

    def load(self, arrays: Arrays) -> None:
        return


class DCT(Stateless):
    """The low-frequency block of the orthonormal 2-D DCT-II of the frames laid out in a grid.

    Only `size` rows and columns of the transform are kept, so it is two products with a truncated
    basis instead of a full transform. The cosines are rounded to as many bits as let both products
    stay exact in float64 for 8-bit pixels (15 at the paper's size): the sums then do not depend on
    the order in which a BLAS adds, and a state has the same bits on every machine. Against scipy's
    full transform the rounding is below 1e-4 of the state's length.
    """

    def __init__(self, shape: tuple[int, int, int], size: int) -> None:
        frames, height, width = shape
        rows, columns = grid_shape(frames)
        self._grid = np.zeros((rows * height, columns * width))
        # The newest frame comes first in the paper's grid and last in the stack.
        self._cells = [
            self._grid[r * height : (r + 1) * height, c * width : (c + 1) * width]
            for r in range(rows)
            for c in range(columns)
        ][::-1]
        if size > min(self._grid.shape):
            raise NaitError(
                f"state_dim (F) can be at most {min(self._grid.shape) ** 2} for {frames} frames of "
                f"{height}x{width}, not {size * size}"
            )
        bits = (53 - 8 - math.ceil(math.log2(self._grid.size))) // 2
        self._rows, row_scale = _basis(self._grid.shape[0], size, bits)
        columns_basis, column_scale = _basis(self._grid.shape[1], size, bits)
        self._columns = np.ascontiguousarray(columns_basis.T)
        self._scale = np.outer(row_scale, column_scale)
        self._shape = shape
        self.dim = size * size

    def __call__(self, stack: NDArray[np.generic]) -> NDArray[np.float32]:
        for cell, frame in zip(self._cells, stack, strict=True):
            cell[...] = frame
        block = self._rows @ self._grid @ self._columns
        return (block * self._scale).astype(np.float32).ravel()

    def inverse(self, state: State) -> NDArray[np.float64]:
        """The frames as the memory knows them: every coefficient that was cut taken as 0."""
        block = state.reshape(self._scale.shape) * self._scale
        grid = self._rows.T @ block @ self._columns.T
        frames, height, width = self._shape
        rows, columns = grid_shape(frames)
        cells = grid.reshape(rows, height, columns, width).swapaxes(1, 2)
        return cells.reshape(self._shape)[::-1]


class NativeDCT:
    """The same states from the native core, as integers in sixteenths of a coefficient.

    They are taken relative to the first state ever seen, whose large constant parts (the brightness,
    a maze) would otherwise cost the others their fine ones: the core keeps 12 bits a coordinate.
    """

    UNIT = 1 / 16
    FRAMES = 4

    def __init__(self, shape: tuple[int, int, int], size: int) -> None:
        _, height, width = shape
        self._transform = _core.Transform(height, width, size)
        self._centred = False
        self._shape, self._size = shape, size
        self.dim = size * size

    def __call__(self, stack: NDArray[np.generic]) -> NDArray[np.int32]:
        pixels = np.ascontiguousarray(stack, dtype=np.uint8)
        if not self._centred:
            self._transform.centre = self._transform(pixels)
            self._centred = True
        return self._transform(pixels)

    def inverse(self, state: State) -> NDArray[np.float64]:
        """The frames as the memory knows them: every coefficient that was cut taken as 0."""
        whole = (state + self._transform.centre) * self.UNIT
        return DCT(self._shape, self._size).inverse(whole.astype(np.float32))

    def save(self) -> Arrays:
        """The centre, once there is one."""
        return {"centre": self._transform.centre} if self._centred else {}

    def load(self, arrays: Arrays) -> None:
        """Take the saved centre."""
        if "centre" in arrays:
            try:
                self._transform.centre = np.ascontiguousarray(arrays["centre"], dtype=np.int32)
            except ValueError as error:
                raise NaitError(f"the saved representation is not sound: {error}") from None
            self._centred = True


class Projection(Stateless):
    """x R with a fixed random matrix R (Eq. 3): sparse (s = 3), very sparse (s = sqrt(D)), Gaussian."""

    def __init__(self, kind: str, input_dim: int, dim: int, rng: np.random.Generator) -> None:
        self.dim = dim
        self._matrix: csr_array | NDArray[np.float32]
        if kind == "gaussian":
            self._scale = 1.0
            self._matrix = rng.standard_normal((dim, input_dim), dtype=np.float32)
        else:
            from scipy.sparse import csr_array  # here: it takes a third of the time of importing nait

            s = 3.0 if kind == "sparse" else math.sqrt(input_dim)
            # Entries are kept as +1 and -1, so that sums over 8-bit pixels are exact integers.
            self._scale = math.sqrt(s)
            rows = []
            for _ in range(dim):
                chosen = np.flatnonzero(rng.random(input_dim) < 1 / s)
                rows.append((chosen, rng.choice(np.array([-1.0, 1.0], dtype=np.float32), chosen.size)))
            starts = np.cumsum([0, *(chosen.size for chosen, _ in rows)])
            columns = np.concatenate([chosen for chosen, _ in rows])
            signs = np.concatenate([sign for _, sign in rows])
            self._matrix = csr_array((signs, columns, starts), shape=(dim, input_dim))

    def __call__(self, stack: NDArray[np.generic]) -> NDArray[np.float32]:
        projected = self._matrix @ stack.astype(np.float32).ravel()
        return np.asarray(projected * self._scale, dtype=np.float32)


class Identity(Stateless):
    """The observation itself, flattened."""

    def __init__(self, input_dim: int) -> None:
        self.dim = input_dim

    def __call__(self, stack: NDArray[np.generic]) -> NDArray[np.float32]:
        return stack.astype(np.float32).ravel()


def make_representation(
    name: str, shape: tuple[int, ...], is_image: bool, dim: int, rng: np.random.Generator, *, native: bool = False
) -> Representation:
    """The representation called `name` for observations of `shape`.

    The DCT needs images; for a vector it stands for `identity`.

    :param native: have the native core compute the DCT, where it can: four frames of up to 512x512,
        up to 64x64 coefficients
    """
    input_dim = math.prod(shape)
    if name == "dct" and is_image:
        if len(shape) != 3:
            raise NaitError(f"the DCT needs grey frames (frames, height, width), not shape {shape}")
        frames, height, width = shape
        size = math.isqrt(dim)
        if native and frames == NativeDCT.FRAMES and size <= min(64, 2 * height, 2 * width) and max(shape) <= 512:
            return NativeDCT((frames, height, width), size)
        return DCT((frames, height, width), size)
    if name == "dct" and len(shape) > 3:
        raise NaitError(
            f"the DCT needs grey frames, not observations of shape {shape}: ask the environment for grey ones "
            "(greyscale=True), or take another representation, such as very_sparse"
        )
    if name in ("identity", "dct"):
        return Identity(input_dim)
    return Projection(name, input_dim, dim, rng)


def grid_shape(frames: int) -> tuple[int, int]:
    """Rows and columns of the grid that holds `frames` frames: as near a square as divides it."""
    rows = next(r for r in range(math.isqrt(frames), 0, -1) if frames % r == 0)
    return rows, frames // rows


def _basis(length: int, size: int, bits: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The first `size` DCT-II cosines as integers of `bits` bits, and each row's orthonormal scale."""
    n = np.arange(length) + 0.5
    i = np.arange(size)[:, None]
    cosines = np.rint(np.cos(np.pi / length * n * i) * 2.0**bits)
    scale = np.sqrt(np.where(np.arange(size) == 0, 1.0, 2.0) / length) / 2.0**bits
    return cosines, scale
