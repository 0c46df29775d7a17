"""Environments: Atari with the paper's settings, the image random walk, and the way to any other."""

from __future__ import annotations

import re
from dataclasses import asdict, fields
from typing import Any, Protocol, runtime_checkable

import gymnasium

from nait.arrays import Arrays
from nait.envs.atari import AtariEnv, AtariSettings, make_atari
from nait.envs.frames import Frames
from nait.envs.games import rom_name
from nait.envs.random_walk import ImageRandomWalk
from nait.errors import NaitError

__all__ = [
    "AtariEnv",
    "AtariSettings",
    "Frames",
    "ImageRandomWalk",
    "Resumable",
    "all_options",
    "is_game",
    "make_atari",
    "make_env",
]


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


def is_game(name: str) -> bool:
    """Whether a name means one of our Atari games rather than a Gymnasium id."""
    return not re.search(r"/|-v\d+$", name)


def all_options(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """The settings an environment of this name is made with, defaults included; {} for a Gymnasium id."""
    if is_game(name):
        rom_name(name)
        if unknown := sorted(set(options) - {entry.name for entry in fields(AtariSettings)}):
            raise NaitError(
                f"unknown setting {unknown[0]!r} of the Atari games: this version of nait has no such option"
            )
        return asdict(AtariSettings(**options))
    if options:
        raise NaitError(f"{next(iter(options))} is a setting of the Atari games, {name} does not have it")
    return {}


def make_env(name: str, render: bool = False, **options: Any) -> gymnasium.Env[Any, Any]:
    """An environment by the name a user gives: `MsPacman`, or any Gymnasium id.

    :param render: whether pictures will be asked for; games can always draw them
    :param options: settings of `AtariSettings`; only for a game by its own name
    """
    options = all_options(name, options)
    if is_game(name):
        return AtariEnv(name, **options)
    if name.startswith("ALE/"):
        import ale_py

        gymnasium.register_envs(ale_py)
    elif name.startswith("MiniGrid-"):
        _import("minigrid")
    pictures: dict[str, Any] = {"render_mode": "rgb_array"} if render else {}
    try:
        env: gymnasium.Env[Any, Any] = gymnasium.make(name, **pictures)
    except gymnasium.error.Error as error:
        raise NaitError(f"Gymnasium cannot make {name!r}: {str(error).splitlines()[0]}") from None
    return env


def _import(package: str) -> None:
    try:
        __import__(package)
    except ImportError:
        raise NaitError(f"this environment needs the package {package}: pip install {package}") from None
