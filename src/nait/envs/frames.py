"""From what any Gymnasium environment returns to the stack that a representation takes.

8-bit images are made grey, shrunk to 84x84 where larger, and stacked, as far as the environment has
not done so itself; every other observation is taken as a vector.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from nait.errors import NaitError

Observation = NDArray[np.generic]
Stack = NDArray[np.generic]

LARGEST = 84
MOST_FRAMES = 16  # a first axis of at most this many planes is a stack of frames


class Frames:
    """Turns observations of one space into stacks, oldest frame first.

    :param space: the environment's observation space
    :param frame_stack: frames to stack where the environment gives one image at a time
    """

    def __init__(self, space: gymnasium.Space[Any], frame_stack: int) -> None:
        if not isinstance(space, Box):
            raise NaitError(
                f"observations must be one array (a Box space), not {type(space).__name__}: "
                "wrap the environment, for example with gymnasium's FlattenObservation"
            )
        if 0 in space.shape:
            raise NaitError(f"observations must not be empty, but have shape {space.shape}")
        self.space = space
        pixels = space.dtype == np.uint8
        self.stacks = pixels and _is_picture(space.shape)
        """Whether frames have to be remembered from step to step."""
        self.is_image = self.stacks or (pixels and _is_stack(space.shape))
        self.shape: tuple[int, ...] = space.shape
        if self.stacks:
            self.shape = (frame_stack, *_shrunk(space.shape[:2]))

    def check(self, observation: Any) -> Observation:
        """The observation as an array; wrong shapes and NaN are refused."""
        array = np.asarray(observation)
        if array.shape != self.space.shape:
            raise NaitError(f"an observation has shape {array.shape}, the environment's space says {self.space.shape}")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise NaitError("an observation holds NaN or infinite values: mend or clip it in the environment")
        if array.dtype.kind not in "fiub":
            raise NaitError(f"an observation must hold numbers, not {array.dtype}")
        return array

    def first(self, observation: Any) -> Stack:
        """The stack at the start of an episode: the first frame, repeated."""
        array = self.check(observation)
        if not self.stacks:
            return array
        frame = _grey_and_small(array)
        return np.repeat(frame[None], self.shape[0], axis=0)

    def next(self, stack: Stack, observation: Any) -> Stack:
        """The stack one step later."""
        array = self.check(observation)
        if not self.stacks:
            return array
        return np.concatenate([stack[1:], _grey_and_small(array)[None]])


def _is_picture(shape: tuple[int, ...]) -> bool:
    return len(shape) == 2 or (len(shape) == 3 and shape[2] in (1, 3))


def _is_stack(shape: tuple[int, ...]) -> bool:
    return len(shape) == 3 and not _is_picture(shape) and shape[0] <= min(MOST_FRAMES, *shape[1:])


def _shrunk(size: tuple[int, ...]) -> tuple[int, int]:
    return min(size[0], LARGEST), min(size[1], LARGEST)


def _grey_and_small(image: Observation) -> NDArray[np.uint8]:
    import cv2

    grey: Any = image
    if image.ndim == 3:
        grey = cv2.cvtColor(grey, cv2.COLOR_RGB2GRAY) if image.shape[2] == 3 else image[:, :, 0]
    height, width = _shrunk(image.shape[:2])
    if (height, width) != image.shape[:2]:
        grey = cv2.resize(grey, (width, height), interpolation=cv2.INTER_AREA)
    return np.asarray(grey, dtype=np.uint8)
