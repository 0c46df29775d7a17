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

LONGEST_NATIVE = 4096  # coordinates of a state of the core


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


class Native:
    """States of the native core: integers, in steps of `unit`.

    They are taken relative to the first state ever seen, whose large constant parts (the brightness,
    a maze) would otherwise cost the others their fine ones: the core keeps 12 bits a coordinate.

    :param phi: the core's map from four frames of 8 bits
    :param unit: length of one step of a coordinate, in those of the paper's states
    """

    FRAMES = 4

    def __init__(self, phi: _core.Transform | _core.Projection, dim: int, unit: float) -> None:
        self._phi = phi
        self._centred = False
        self.dim = dim
        self.unit = unit

    def __call__(self, stack: NDArray[np.generic]) -> NDArray[np.int32]:
        pixels = np.ascontiguousarray(stack, dtype=np.uint8)
        if not self._centred:
            self._phi.centre = self._phi(pixels)
            self._centred = True
        return self._phi(pixels)

    def save(self) -> Arrays:
        """The centre, once there is one."""
        return {"centre": self._phi.centre} if self._centred else {}

    def load(self, arrays: Arrays) -> None:
        """Take the saved centre."""
        if "centre" in arrays:
            try:
                self._phi.centre = np.ascontiguousarray(arrays["centre"], dtype=np.int32)
            except ValueError as error:
                raise NaitError(f"the saved representation is not sound: {error}") from None
            self._centred = True


class NativeDCT(Native):
    """The states of `DCT` from the native core, in sixteenths of a coefficient."""

    UNIT = 1 / 16

    def __init__(self, shape: tuple[int, int, int], size: int) -> None:
        _, height, width = shape
        super().__init__(_core.Transform(height, width, size), size * size, self.UNIT)
        self._shape, self._size = shape, size

    def inverse(self, state: State) -> NDArray[np.float64]:
        """The frames as the memory knows them: every coefficient that was cut taken as 0."""
        whole = (state + self._phi.centre) * self.UNIT
        return DCT(self._shape, self._size).inverse(whole.astype(np.float32))


GAUSSIAN_STEPS = 32  # of an entry's standard deviation


def draw_projection(kind: str, input_dim: int, dim: int, rng: np.random.Generator) -> tuple[NDArray[np.int8], float]:
    """R of Eq. 3 as whole numbers, a row a coordinate of the state, and the length of one.

    Sparse (s = 3) and very sparse (s = sqrt(D)) have entries of -1, 0 and 1; a Gaussian's are rounded to 1/32. So
    sums over 8-bit pixels are exact integers, and a state has the same bits on every machine.
    """
    if kind == "gaussian":
        entries = np.rint(GAUSSIAN_STEPS * rng.standard_normal((dim, input_dim), dtype=np.float32))
        return np.clip(entries, -127, 127).astype(np.int8), 1 / GAUSSIAN_STEPS
    s = 3.0 if kind == "sparse" else math.sqrt(input_dim)
    matrix = np.zeros((dim, input_dim), dtype=np.int8)
    for row in matrix:
        chosen = np.flatnonzero(rng.random(input_dim) < 1 / s)
        row[chosen] = rng.choice(np.array([-1, 1], dtype=np.int8), chosen.size)
    return matrix, math.sqrt(s)


class Projection(Stateless):
    """x R with a fixed random matrix R (Eq. 3)."""

    def __init__(self, kind: str, input_dim: int, dim: int, rng: np.random.Generator) -> None:
        self.dim = dim
        matrix, self._scale = draw_projection(kind, input_dim, dim, rng)
        self._matrix: csr_array | NDArray[np.float64]
        if kind == "gaussian":
            self._matrix = matrix.astype(np.float64)
        else:
            from scipy.sparse import csr_array  # here: it takes a third of the time of importing nait

            self._matrix = csr_array(matrix.astype(np.float32))

    def __call__(self, stack: NDArray[np.generic]) -> NDArray[np.float32]:
        projected = self._matrix @ stack.astype(self._matrix.dtype).ravel()
        return np.asarray(projected * self._scale, dtype=np.float32)


class NativeProjection(Native):
    """The states of `Projection` from the native core."""

    MOST_PIXELS = 2**16  # of a frame: its sums fit 32 bits

    def __init__(self, kind: str, shape: tuple[int, int, int], dim: int, rng: np.random.Generator) -> None:
        _, height, width = shape
        matrix, scale = draw_projection(kind, math.prod(shape), dim, rng)
        phi = _core.Projection(height, width, matrix)
        super().__init__(phi, dim, scale * 2**phi.shift)


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

    :param native: have the native core compute it, where it can: of four grey frames the DCT, for up to 512x512
        pixels and 64x64 coefficients, and projections of up to 256x256 pixels to 4096 numbers
    """
    input_dim = math.prod(shape)
    native = native and is_image and len(shape) == 3 and shape[0] == Native.FRAMES
    if name == "dct" and is_image:
        if len(shape) != 3:
            raise NaitError(f"the DCT needs grey frames (frames, height, width), not shape {shape}")
        frames, height, width = shape
        size = math.isqrt(dim)
        if native and size <= min(64, 2 * height, 2 * width) and max(shape) <= 512:
            return NativeDCT((frames, height, width), size)
        return DCT((frames, height, width), size)
    if name == "dct" and len(shape) > 3:
        raise NaitError(
            f"the DCT needs grey frames, not observations of shape {shape}: ask the environment for grey ones "
            "(greyscale=True), or take another representation, such as very_sparse"
        )
    if name in ("identity", "dct"):
        return Identity(input_dim)
    if native and shape[1] * shape[2] <= NativeProjection.MOST_PIXELS and dim <= LONGEST_NATIVE:
        return NativeProjection(name, (shape[0], shape[1], shape[2]), dim, rng)
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
