"""The native projection against the product it stands for, in whole numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from instruction_sets import outputs
from numpy.typing import NDArray

from nait._core import Projection

Stack = NDArray[np.uint8]
Weights = NDArray[np.int8]


def exact(weights: Weights, stack: Stack, shift: int) -> NDArray[np.int64]:
    """The product, rounded half up to steps of 2^shift."""
    product = weights.astype(np.int64) @ stack.astype(np.int64).ravel()
    rounded: NDArray[np.int64] = np.floor((product + (1 << shift >> 1)) / (1 << shift)).astype(np.int64)
    return rounded


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    dim=st.integers(1, 70),
    largest=st.sampled_from([1, 3, 127]),
    changed=st.sampled_from([0.0, 0.02, 1.0]),
)
def test_states_are_the_product_whatever_frames_came_before(
    seed: int, size: tuple[int, int], dim: int, largest: int, changed: float
) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.integers(-largest, largest + 1, (dim, 4 * size[0] * size[1]), dtype=np.int8)
    projection = Projection(*size, weights)
    frames = [rng.integers(0, 256, size, dtype=np.uint8)]
    for _ in range(7):
        other = rng.integers(0, 256, size, dtype=np.uint8)
        frames.append(np.where(rng.random(size) < changed, other, frames[-1]).astype(np.uint8))
    for begin in [0, 1, 2, 3, 1, 4, 0]:
        stack = np.stack(frames[begin : begin + 4])
        assert np.array_equal(projection(stack), exact(weights, stack, projection.shift))


@pytest.mark.parametrize("value", [127, -128])
def test_the_largest_sums_stay_within_a_coordinates_bounds(value: int) -> None:
    weights = np.full((2, 4 * 256 * 257), value, dtype=np.int8)
    projection = Projection(256, 257, weights)
    black, white = (np.full((4, 256, 257), grey, np.uint8) for grey in (0, 255))
    for stack in (black, white, black):
        assert np.array_equal(projection(stack), exact(weights, stack, projection.shift))
    assert 2**23 < abs(int(projection(white)[0])) <= 2**24


def test_weights_of_one_lose_no_bits() -> None:
    assert Projection(84, 84, np.ones((3, 4 * 84 * 84), np.int8)).shift == 0


def test_centre_is_taken_off() -> None:
    rng = np.random.default_rng(2)
    projection = Projection(5, 7, rng.integers(-1, 2, (9, 140), dtype=np.int8))
    stack = rng.integers(0, 256, (4, 5, 7), dtype=np.uint8)
    plain = projection(stack)
    projection.centre = np.arange(9, dtype=np.int32)
    assert np.array_equal(projection(stack), plain - np.arange(9))


def digest() -> str:
    rng = np.random.default_rng(3)
    projection = Projection(84, 84, rng.integers(-127, 128, (65, 4 * 84 * 84), dtype=np.int8))
    frames = rng.integers(0, 256, (9, 84, 84), dtype=np.uint8)
    return str([projection(frames[i : i + 4]).tolist() for i in range(6)])


def test_every_instruction_set_gives_the_same_states() -> None:
    assert len(outputs("import test_core_projection as t; print(t.digest())")) == 1


def test_wrong_weights_and_images_are_refused() -> None:
    with pytest.raises(ValueError, match="a column a pixel of four frames"):
        Projection(5, 7, np.zeros((3, 139), np.int8))
    with pytest.raises(ValueError, match="1 to 4096 rows"):
        Projection(5, 7, np.zeros((0, 140), np.int8))
    with pytest.raises(ValueError, match="pixels"):
        Projection(257, 257, np.zeros((1, 4 * 257 * 257), np.int8))
    with pytest.raises(TypeError):
        Projection(5, 7, np.zeros((3, 140), np.float32))  # type: ignore[arg-type]
    projection = Projection(5, 7, np.zeros((3, 140), np.int8))
    with pytest.raises(ValueError, match="four frames of 5x7"):
        projection(np.zeros((4, 7, 5), np.uint8))
    with pytest.raises(ValueError, match="centre has 2 entries"):
        projection.centre = np.zeros(2, np.int32)
