"""Environments: Atari with the paper's settings, the image random walk, and the way to any other."""

from __future__ import annotations

import re
from typing import Any, Protocol, runtime_checkable

import gymnasium

from nait.envs.atari import AtariEnv, AtariSettings, make_atari
from nait.envs.frames import Frames
from nait.envs.games import rom_name
from nait.envs.random_walk import ImageRandomWalk
from nait.errors import NaitError
from nait.neighbours.protocol import Arrays

__all__ = ["AtariEnv", "AtariSettings", "Frames", "ImageRandomWalk", "Resumable", "make_atari", "make_env"]


@runtime_checkable
class Resumable(Protocol):
    """An environment that can be stopped anywhere in an episode and continued in another process."""

    def snapshot(self) -> Arrays:
        """All that `restore` needs."""
        ...

    def restore(self, arrays: Arrays) -> Any:
        """Continue from there."""
        ...


def register() -> None:
    """Tell Gymnasium of `nait/Atari-v0` (a game by keyword) and `nait/ImageRandomWalk-v0`."""
    gymnasium.register("nait/Atari-v0", entry_point="nait.envs.atari:AtariEnv", kwargs={"game": "Pong"})
    gymnasium.register(
        "nait/ImageRandomWalk-v0",
        entry_point="nait.envs.random_walk:ImageRandomWalk",
        max_episode_steps=200,
    )


def make_env(name: str, **options: Any) -> gymnasium.Env[Any, Any]:
    """An environment by the name a user gives: `MsPacman`, or any Gymnasium id.

    :param options: settings of `AtariSettings`; only for a game by its own name
    """
    if not re.search(r"/|-v\d+$", name):
        rom_name(name)
        return AtariEnv(name, **options)
    if options:
        raise NaitError(f"{next(iter(options))} is a setting of the Atari games, {name} does not have it")
    if name.startswith("ALE/"):
        import ale_py

        gymnasium.register_envs(ale_py)
    elif name.startswith("MiniGrid-"):
        _import("minigrid")
    try:
        env: gymnasium.Env[Any, Any] = gymnasium.make(name)
    except gymnasium.error.Error as error:
        raise NaitError(f"Gymnasium cannot make {name!r}: {str(error).splitlines()[0]}") from None
    return env


def _import(package: str) -> None:
    try:
        __import__(package)
    except ImportError:
        raise NaitError(f"this environment needs the package {package}: pip install {package}") from None
