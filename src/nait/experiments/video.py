"""A film of one episode: MP4 or GIF."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from nait.agent import NAIT
from nait.errors import NaitError

FORMATS = (".mp4", ".gif")
FRAMES_PER_SECOND = 15  # one frame an action at the console's 60 frames a second and a frame skip of 4
MOST_FRAMES = 4500  # five minutes


def check_video_path(path: Path) -> None:
    """Refuse a name that no film can have, before the work is done."""
    if path.suffix.lower() not in FORMATS:
        raise NaitError(f"a video's name must end in .mp4 or .gif, not {path.name!r}")
    if not path.parent.is_dir():
        raise NaitError(f"cannot write {path}: there is no folder {path.parent}")


def record(agent: NAIT, env: gymnasium.Env[Any, Any], path: Path, seed: int | None = None) -> float:
    """Play one episode into `path` and return its score."""
    check_video_path(path)
    observation, _ = env.reset(seed=seed)
    frames: list[NDArray[np.uint8]] = [_screen(env)]
    state, score, done = None, 0.0, False
    while not done:
        action, state = agent.predict(observation, state, deterministic=False)
        observation, reward, terminated, truncated, info = env.step(action)
        score += float(info.get("raw_reward", reward))
        done = bool(terminated or truncated)
        if len(frames) < MOST_FRAMES:
            frames.append(_screen(env))
    temporary = path.with_name(f"{path.stem}.tmp{path.suffix}")
    try:
        (_write_gif if path.suffix.lower() == ".gif" else _write_mp4)(temporary, frames)
        os.replace(temporary, path)
    except OSError as error:
        raise NaitError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        temporary.unlink(missing_ok=True)
    return score


def _screen(env: gymnasium.Env[Any, Any]) -> NDArray[np.uint8]:
    screen: Any = env.render()
    if not isinstance(screen, np.ndarray):
        raise NaitError("this environment draws no pictures: make it with render_mode='rgb_array'")
    return screen.astype(np.uint8)


def _write_mp4(path: Path, frames: list[NDArray[np.uint8]]) -> None:
    import cv2

    height, width = frames[0].shape[:2]
    size = (2 * width - 2 * width % 2, 2 * height - 2 * height % 2)
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"mp4v"), FRAMES_PER_SECOND, size)
    if not writer.isOpened():
        raise OSError("OpenCV has no MP4 encoder here; a name ending in .gif works")
    for frame in frames:
        picture = cv2.cvtColor(frame, cv2.COLOR_RGB2BGR)
        writer.write(cv2.resize(picture, size, interpolation=cv2.INTER_NEAREST))
    writer.release()


def _write_gif(path: Path, frames: list[NDArray[np.uint8]]) -> None:
    from PIL import Image

    images = [Image.fromarray(frame) for frame in frames]
    images[0].save(path, save_all=True, append_images=images[1:], duration=1000 // FRAMES_PER_SECOND, loop=0)
