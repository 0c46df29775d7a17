"""The native transform and resize against OpenCV and SciPy."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from instruction_sets import outputs
from numpy.typing import NDArray
from scipy.fft import dctn

from nait._core import Resize, Transform

Stack = NDArray[np.uint8]


def exact(stack: Stack, side: int) -> NDArray[np.float64]:
    """phi in float64, in sixteenths; the oldest frame first."""
    grid = np.block([[stack[3], stack[2]], [stack[1], stack[0]]]).astype(np.float64)
    block: NDArray[np.float64] = 16.0 * dctn(grid, norm="ortho")[:side, :side].ravel()
    return block


def images(seed: int, kind: str, shape: tuple[int, ...]) -> Stack:
    rng = np.random.default_rng(seed)
    if kind == "noise":
        return rng.integers(0, 256, shape, dtype=np.uint8)
    if kind == "binary":
        return (255 * rng.integers(0, 2, shape)).astype(np.uint8)
    return np.full(shape, {"black": 0, "white": 255, "grey": 87}[kind], np.uint8)


KINDS = st.sampled_from(["noise", "binary", "black", "white", "grey"])


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    kind=KINDS,
    size=st.one_of(st.just((84, 84)), st.tuples(st.integers(1, 120), st.integers(1, 120))),
    side=st.integers(1, 30),
)
def test_states_are_within_a_few_sixteenths_of_the_float_dct(
    seed: int, kind: str, size: tuple[int, int], side: int
) -> None:
    h, w = size
    side = min(side, 2 * h, 2 * w)
    stack = images(seed, kind, (4, h, w))
    assert np.abs(Transform(h, w, side)(stack) - exact(stack, side)).max() < (0.8 if (h, w) == (84, 84) else 6.0)


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    kind=KINDS,
    size=st.tuples(st.integers(1, 230), st.integers(1, 230)),
    to=st.tuples(st.integers(1, 120), st.integers(1, 120)),
)
def test_resize_equals_opencv(seed: int, kind: str, size: tuple[int, int], to: tuple[int, int]) -> None:
    image = images(seed, kind, size)
    expected = cv2.resize(image, (to[1], to[0]), interpolation=cv2.INTER_LINEAR).reshape(to)
    out = np.empty(to, np.uint8)
    Resize(*size, *to)(image, out)
    assert np.array_equal(out, expected)


def test_states_of_consecutive_stacks_do_not_depend_on_what_came_before() -> None:
    """Frames seen before are recognised; their states are those that a fresh transform gives."""
    transform, frames = Transform(), images(1, "noise", (12, 84, 84))
    frames[5:8] = frames[5]  # the same frame several times in a stack
    order = [*range(9), 2, 3, 8, 0]
    for i in order:
        stack = frames[i : i + 4]
        assert np.array_equal(transform(stack), Transform()(stack))
    first = np.stack([frames[0]] * 4)
    assert np.array_equal(transform(first), Transform()(first))


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    changes=st.lists(st.tuples(st.integers(0, 39), st.integers(0, 39), st.integers(0, 255)), max_size=8),
)
def test_a_frame_that_differs_in_a_few_rows_gives_what_a_fresh_transform_does(
    seed: int, size: tuple[int, int], changes: list[tuple[int, int, int]]
) -> None:
    h, w = size
    frames = [images(seed, "binary", size)]
    for y, x, grey in changes:
        frames.append(frames[-1].copy())
        frames[-1][y % h, x % w :] = grey
    side = min(9, 2 * h, 2 * w)
    transform = Transform(h, w, side)
    for i in range(len(frames)):
        stack = np.stack([frames[max(0, i - age)] for age in (3, 2, 1, 0)])
        assert np.array_equal(transform(stack), Transform(h, w, side)(stack))


def test_centre_is_taken_off() -> None:
    transform, stack = Transform(), images(5, "noise", (4, 84, 84))
    plain = transform(stack)
    transform.centre = np.arange(289, dtype=np.int32)
    assert np.array_equal(transform(stack), plain - np.arange(289))
    assert np.array_equal(transform.centre, np.arange(289))


def digest() -> str:
    transform, resize = Transform(), Resize(210, 160, 84, 84)
    frames = np.empty((20, 84, 84), np.uint8)
    for frame, screen in zip(frames, images(7, "noise", (20, 210, 160)), strict=True):
        resize(screen, frame)
    states = [transform(frames[i : i + 4]) for i in range(17)]
    return str([int(x) for x in np.concatenate(states)])


def test_every_instruction_set_gives_the_same_states() -> None:
    assert len(outputs("import test_core_transform as t; print(t.digest())")) == 1


def test_wrong_images_are_refused() -> None:
    transform, resize = Transform(), Resize(210, 160, 84, 84)
    screen, frame = np.zeros((210, 160), np.uint8), np.zeros((84, 84), np.uint8)
    with pytest.raises(ValueError, match="four frames of 84x84"):
        transform(np.zeros((3, 84, 84), np.uint8))
    with pytest.raises(TypeError):
        transform(np.zeros((4, 84, 84), np.float32))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="centre has 288 entries"):
        transform.centre = np.zeros(288, np.int32)
    with pytest.raises(ValueError, match="within the grid"):
        Transform(84, 84, 200)
    with pytest.raises(ValueError, match="size to resize from"):
        resize(frame, frame)
    with pytest.raises(ValueError, match="size to resize to"):
        resize(screen, np.zeros((84, 83), np.uint8))
    with pytest.raises(ValueError, match="1 to 4096"):
        Resize(0, 5, 84, 84)
