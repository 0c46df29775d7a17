from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.fft
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from nait.errors import NaitError
from nait.representation import (
    DCT,
    Identity,
    NativeProjection,
    Projection,
    grid_shape,
    make_representation,
)


def full_transform(stack: NDArray[np.uint8], size: int) -> NDArray[np.float64]:
    """Eq. 2 to the letter: [[o_t, o_t-1], [o_t-2, o_t-3]], a full orthonormal DCT-II, its low block."""
    oldest, older, last, newest = stack.astype(np.float64)
    grid = np.block([[newest, last], [older, oldest]])
    return scipy.fft.dctn(grid, type=2, norm="ortho")[:size, :size].ravel()


def assert_close(state: NDArray[np.float32], exact: NDArray[np.float64]) -> None:
    assert np.linalg.norm(state - exact) <= 1e-4 * max(np.linalg.norm(exact), 1.0)


def test_dct_equals_scipys_full_transform_on_real_frames(stacks: NDArray[np.uint8]) -> None:
    dct = DCT((4, 84, 84), 17)
    for stack in stacks[::7]:
        assert_close(dct(stack), full_transform(stack, 17))


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32), height=st.integers(9, 40), width=st.integers(9, 40), size=st.integers(1, 17))
def test_dct_equals_scipys_full_transform_on_any_frames(seed: int, height: int, width: int, size: int) -> None:
    stack = np.random.default_rng(seed).integers(0, 256, (4, height, width), dtype=np.uint8)
    assert_close(DCT((4, height, width), size)(stack), full_transform(stack, size))


@pytest.mark.parametrize("value", [0, 255])
def test_dct_of_extreme_frames(value: int) -> None:
    stack = np.full((4, 84, 84), value, dtype=np.uint8)
    state = DCT((4, 84, 84), 17)(stack)
    assert state[0] == pytest.approx(168 * value)
    np.testing.assert_allclose(state[1:], 0, atol=1e-3 * (1 + value))


def test_dct_sums_are_exact_so_that_every_machine_gives_the_same_bits(stacks: NDArray[np.uint8]) -> None:
    dct = DCT((4, 84, 84), 17)
    rows, columns = dct._rows.astype(np.int64), dct._columns.astype(np.int64)
    worst = np.full((4, 84, 84), 255, dtype=np.uint8)
    for stack in [worst, *stacks[::50]]:
        oldest, older, last, newest = stack.astype(np.int64)
        integers = rows @ np.block([[newest, last], [older, oldest]]) @ columns
        assert np.abs(integers).max() < 2**53
        expected = (integers.astype(np.float64) * dct._scale).astype(np.float32).ravel()
        np.testing.assert_array_equal(dct(stack), expected)


def test_dct_inverse_gives_the_frames_without_their_high_frequencies(stacks: NDArray[np.uint8]) -> None:
    dct = DCT((4, 84, 84), 17)
    kept = np.zeros((168, 168))
    kept[:17, :17] = full_transform(stacks[50], 17).reshape(17, 17)
    grid = scipy.fft.idctn(kept, type=2, norm="ortho")
    frames = dct.inverse(dct(stacks[50]))
    expected = [grid[84:, 84:], grid[84:, :84], grid[:84, 84:], grid[:84, :84]]
    np.testing.assert_allclose(frames, expected, atol=0.1)
    whole = DCT((4, 20, 20), 40)
    small = stacks[50][:, :20, :20]
    np.testing.assert_allclose(whole.inverse(whole(small)), small, atol=0.1)


def test_distances_of_full_states_are_distances_of_pixels(stacks: NDArray[np.uint8]) -> None:
    a, b = stacks[10][:, :20, :20], stacks[60][:, :20, :20]
    dct = DCT((4, 20, 20), 40)
    pixels = np.linalg.norm(a.astype(float) - b.astype(float))
    assert np.linalg.norm(dct(a) - dct(b)) == pytest.approx(pixels, rel=1e-3)


@pytest.mark.parametrize(("frames", "grid"), [(1, (1, 1)), (2, (1, 2)), (3, (1, 3)), (4, (2, 2)), (9, (3, 3))])
def test_frames_lie_in_a_grid_as_square_as_can_be(frames: int, grid: tuple[int, int]) -> None:
    assert grid_shape(frames) == grid


def test_more_coefficients_than_pixels_are_refused() -> None:
    with pytest.raises(NaitError, match="at most 400"):
        DCT((4, 10, 10), 21)


@pytest.mark.parametrize(("kind", "s"), [("sparse", 3.0), ("very_sparse", math.sqrt(4 * 21 * 21))])
def test_sparse_projections_are_drawn_as_equation_3_says(kind: str, s: float) -> None:
    dim = 4 * 21 * 21
    projection = Projection(kind, dim, 200, np.random.default_rng(0))
    matrix = np.stack([projection(row) for row in np.eye(dim, dtype=np.float32)])
    np.testing.assert_allclose(np.unique(matrix), [-math.sqrt(s), 0, math.sqrt(s)], rtol=1e-6)
    for sign in (-1, 1):
        share = np.mean(np.sign(matrix) == sign)
        assert share == pytest.approx(1 / (2 * s), rel=0.05)


@pytest.mark.parametrize("kind", ["sparse", "very_sparse", "gaussian"])
def test_projections_are_linear_and_keep_distances(kind: str, stacks: NDArray[np.uint8]) -> None:
    small = stacks[:, :, ::2, ::2]
    projection = Projection(kind, small[0].size, 289, np.random.default_rng(1))
    states = np.stack([projection(stack) for stack in small])
    a, b = small[::3].reshape(100, -1).astype(float), small[1::3].reshape(100, -1).astype(float)
    pixels = np.linalg.norm(a - b, axis=1)
    projected = np.linalg.norm(states[::3] - states[1::3], axis=1) / math.sqrt(289)
    assert np.median(np.abs(projected - pixels) / np.maximum(pixels, 1)) < 0.2
    total = projection(small[0].astype(float) + small[1])
    np.testing.assert_allclose(total, states[0] + states[1], rtol=1e-3, atol=1)


@pytest.mark.parametrize(("kind", "dim"), [("sparse", 289), ("very_sparse", 289), ("gaussian", 64)])
def test_native_projections_are_the_same_relative_to_the_first_state(
    kind: str, dim: int, stacks: NDArray[np.uint8]
) -> None:
    plain = Projection(kind, stacks[0].size, dim, np.random.default_rng(1))
    native = make_representation(kind, stacks[0].shape, True, dim, np.random.default_rng(1), native=True)
    assert isinstance(native, NativeProjection)
    first = plain(stacks[0]).astype(np.float64)
    for stack in stacks[::20]:
        expected = plain(stack) - first
        np.testing.assert_allclose(native(stack) * native.unit, expected, atol=native.unit, rtol=1e-6)
    again = make_representation(kind, stacks[0].shape, True, dim, np.random.default_rng(1), native=True)
    again.load(native.save())
    np.testing.assert_array_equal(again(stacks[33]), native(stacks[33]))


@pytest.mark.parametrize("shape", [(3, 84, 84), (4, 84, 84, 3), (4, 300, 300), (4,)])
def test_what_the_core_does_not_project_is_projected_in_python(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    assert isinstance(make_representation("very_sparse", shape, len(shape) > 1, 3, rng, native=True), Projection)


def test_projections_sum_exactly_so_that_every_machine_gives_the_same_bits() -> None:
    projection = Projection("gaussian", 4000, 50, np.random.default_rng(3))
    stack = np.random.default_rng(4).integers(0, 256, 4000, dtype=np.uint8)
    steps = np.rint(np.stack([projection(row) for row in np.eye(4000, dtype=np.uint8)], axis=1) * 32).astype(np.int64)
    assert np.abs(steps).max() <= 127
    assert np.std(steps) == pytest.approx(32, rel=0.02)
    np.testing.assert_array_equal(projection(stack), ((steps @ stack.astype(np.int64)) / 32).astype(np.float32))


def test_identity_is_the_observation() -> None:
    vector = np.array([[1.5, -2.0], [0.0, 3.0]])
    np.testing.assert_array_equal(Identity(4)(vector), [1.5, -2.0, 0.0, 3.0])


def test_a_vector_takes_identity_where_the_dct_was_asked_for() -> None:
    rng = np.random.default_rng(0)
    assert isinstance(make_representation("dct", (4,), False, 289, rng), Identity)
    assert make_representation("gaussian", (4,), False, 7, rng)(np.ones(4)).shape == (7,)


def test_the_dct_of_coloured_frames_is_refused() -> None:
    with pytest.raises(NaitError, match="grey"):
        make_representation("dct", (4, 84, 84, 3), True, 289, np.random.default_rng(0))
