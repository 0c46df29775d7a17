from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
from gymnasium.spaces import Box
from numpy.typing import NDArray

from nait.envs.frames import Frames


def space(*shape: int, dtype: Any = np.uint8) -> Box:
    return Box(0, 255 if dtype == np.uint8 else 1, shape, dtype)


@pytest.mark.parametrize(
    ("shape", "dtype", "is_image", "stacks", "stacked"),
    [
        ((4, 84, 84), np.uint8, True, False, (4, 84, 84)),  # brings its own stack
        ((210, 160, 3), np.uint8, True, True, (4, 84, 84)),
        ((56, 56, 3), np.uint8, True, True, (4, 56, 56)),  # never enlarged
        ((100, 60), np.uint8, True, True, (4, 84, 60)),
        ((64, 64, 1), np.uint8, True, True, (4, 64, 64)),
        ((10, 10, 4), np.bool_, False, False, (10, 10, 4)),  # planes of objects, not a picture
        ((128,), np.uint8, False, False, (128,)),
        ((5, 5), np.float32, False, False, (5, 5)),
        ((4,), np.float32, False, False, (4,)),
    ],
)
def test_what_is_taken_for_an_image(
    shape: tuple[int, ...], dtype: Any, is_image: bool, stacks: bool, stacked: tuple[int, ...]
) -> None:
    frames = Frames(space(*shape, dtype=dtype), 4)
    assert (frames.is_image, frames.stacks, frames.shape) == (is_image, stacks, stacked)
    assert frames.first(np.zeros(shape, dtype=dtype)).shape == stacked


def picture(seed: int) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, (120, 100, 3), dtype=np.uint8)


def test_colour_pictures_become_small_grey_frames_in_a_stack() -> None:
    frames = Frames(space(120, 100, 3), 3)
    expected = [
        cv2.resize(cv2.cvtColor(picture(i), cv2.COLOR_RGB2GRAY), (84, 84), interpolation=cv2.INTER_AREA)
        for i in range(3)
    ]
    stack = frames.first(picture(0))
    np.testing.assert_array_equal(stack, [expected[0]] * 3)
    stack = frames.next(frames.next(stack, picture(1)), picture(2))
    np.testing.assert_array_equal(stack, expected)
