"""Atari 2600 on ale-py's ALEInterface, with every setting of the paper's Table 3 as an option.

ALEInterface is driven directly: Gymnasium's wrappers around it cost 1.6 times as much a step. Where
the settings agree, the frames equal those of Gymnasium's AtariPreprocessing.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import ale_py
import gymnasium
import numpy as np
from ale_py import roms
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from nait import _core
from nait.arrays import Arrays, from_generator, to_generator
from nait.envs.games import rom_name
from nait.errors import NaitError

Frame = NDArray[np.uint8]

INTERPOLATIONS = ("linear", "area")


def setting(default: Any, text: str) -> Any:
    """One setting and what it does."""
    return field(default=default, metadata={"text": text})


@dataclass(frozen=True, kw_only=True)
class AtariSettings:
    """The paper's column of Table 3; what the table leaves open is said in `docs/reproduction.md`."""

    greyscale: bool = setting(True, "grey frames instead of colour; the DCT needs them")
    screen_size: int = setting(84, "height and width of a frame")
    interpolation: str = setting("linear", "how a frame is resized: linear or area")
    sticky_actions: float = setting(0.0, "chance that the console repeats the last action; 0.25 is recommended")
    frame_skip: int = setting(4, "frames an action is held")
    frame_pooling: bool = setting(True, "the maximum of the last two frames, since sprites flicker")
    frame_stack: int = setting(4, "frames a state sees")
    terminal_on_life_loss: bool = setting(False, "end the episode with the first life")
    reward_clipping: bool = setting(False, "learn from rewards of -1, 0 or 1; scores stay the game's own")
    noop_max: int = setting(30, "an episode begins with 1 to this many frames of no action; 0 for none")
    max_episode_frames: int = setting(18_000, "frames after which an episode is cut: five minutes of play")
    full_action_space: bool = setting(False, "all 18 actions of the console, not only those that the game knows")
    stack_fill: str = setting("first", "what the older frames hold at reset: the first frame, or zeros")
    fire_on_reset: bool = setting(True, "press FIRE after a reset and a lost life, where the game has it")

    def __post_init__(self) -> None:
        if self.interpolation not in INTERPOLATIONS:
            raise NaitError(f"interpolation must be linear or area, not {self.interpolation!r}")
        if self.stack_fill not in ("first", "zeros"):
            raise NaitError(f"stack_fill must be first or zeros, not {self.stack_fill!r}")
        for name, least in (
            ("screen_size", 1), ("frame_skip", 1), ("frame_stack", 1), ("noop_max", 0), ("max_episode_frames", 1),
        ):  # fmt: skip
            value = getattr(self, name)
            if not isinstance(value, int) or value < least:
                raise NaitError(f"{name} must be a whole number of at least {least}, not {value!r}")
        if not 0 <= self.sticky_actions < 1:
            raise NaitError(f"sticky_actions must lie in [0, 1), not {self.sticky_actions!r}")


class AtariEnv(gymnasium.Env[NDArray[np.uint8], np.int64]):
    """One game. Observations are the last frames, oldest first: uint8 of shape (4, 84, 84) by default.

    :param game: the game's name as the paper writes it, such as `MsPacman`
    :param options: any field of `AtariSettings`
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 15}  # noqa: RUF012 (Gymnasium's own declaration)

    def __init__(self, game: str, render_mode: str | None = "rgb_array", **options: Any) -> None:
        self.game = game
        self.settings = settings = AtariSettings(**options)
        self.render_mode = render_mode
        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        self.ale = ale_py.ALEInterface()
        # Sticky actions are drawn here: the emulator's own forget the last action when it is restored.
        self.ale.setFloat("repeat_action_probability", 0.0)
        self.ale.setInt("random_seed", 0)
        rom = roms.get_rom_path(rom_name(game))
        assert rom is not None
        self._rom = rom
        self.ale.loadROM(rom)
        self._actions = self.ale.getLegalActionSet() if settings.full_action_space else self.ale.getMinimalActionSet()
        self.action_space = Discrete(len(self._actions))
        height, width = self.ale.getScreenDims()
        channels = () if settings.greyscale else (3,)
        self._screens = np.zeros((2, height, width, *channels), dtype=np.uint8)
        size = settings.screen_size
        self._frames = np.zeros((settings.frame_stack, size, size, *channels), dtype=np.uint8)
        # The core's linear resize equals OpenCV's to the bit.
        native = settings.greyscale and settings.interpolation == "linear"
        self._resize = _core.Resize(height, width, size, size) if native else None
        self.observation_space = Box(0, 255, self._frames.shape, np.uint8)
        self._fire = ale_py.Action.FIRE in self.ale.getMinimalActionSet()
        self._lives = 0
        self._held = ale_py.Action.NOOP  # what the last frame was played with

    def get_action_meanings(self) -> list[str]:
        """The names of the actions, such as `UPFIRE`."""
        return [action.name for action in self._actions]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.uint8], dict[str, Any]]:
        """Begin an episode with a random number of no-op frames."""
        super().reset(seed=seed)
        if seed is not None:  # a freshly loaded cartridge may differ from one that was reset
            self.ale.loadROM(self._rom)
        self.ale.reset_game()
        self._held = ale_py.Action.NOOP
        noops = int(self.np_random.integers(1, self.settings.noop_max + 1)) if self.settings.noop_max else 0
        for _ in range(noops):
            self._press(ale_py.Action.NOOP)
            if self.ale.game_over():
                self.ale.reset_game()
        if self.settings.fire_on_reset and self._fire:
            self._press(ale_py.Action.FIRE)
        self._lives = self.ale.lives()
        self._grab(0)
        self._screens[1] = 0
        frame = self._frame()
        self._frames[:] = frame if self.settings.stack_fill == "first" else 0
        self._frames[-1] = frame
        return self._frames.copy(), self._info()

    def step(self, action: np.int64 | int) -> tuple[NDArray[np.uint8], float, bool, bool, dict[str, Any]]:
        """Hold one action for `frame_skip` frames."""
        settings, ale = self.settings, self.ale
        pressed = self._actions[int(action)]
        reward, terminated, truncated = 0.0, False, False
        for left in range(settings.frame_skip - 1, -1, -1):
            reward += self._press(pressed)
            terminated = ale.game_over(with_truncation=False)
            if settings.terminal_on_life_loss:
                terminated = terminated or ale.lives() < self._lives
            truncated = ale.getEpisodeFrameNumber() >= settings.max_episode_frames
            if terminated or truncated:
                break
            if left == 1 and settings.frame_pooling:
                self._grab(1)
            elif left == 0:
                self._grab(0)
        lives = ale.lives()
        if settings.fire_on_reset and self._fire and lives < self._lives and not (terminated or truncated):
            reward += self._press(ale_py.Action.FIRE)
        self._lives = lives
        self._frames[:-1] = self._frames[1:]
        self._frames[-1] = self._frame()
        info = self._info()
        if settings.reward_clipping:
            info["raw_reward"] = reward
            reward = float(np.sign(reward))
        return self._frames.copy(), reward, terminated, truncated, info

    def render(self) -> NDArray[np.uint8]:
        """The screen in colour."""
        return self.ale.getScreenRGB()

    def snapshot(self) -> Arrays:
        """All that `restore` needs to go on from here: the emulator, the frames, the generator."""
        emulator = self.ale.cloneState().serialize()
        return {
            "emulator": np.frombuffer(emulator, dtype=np.uint8),
            "generator": from_generator(self.np_random),
            "screens": self._screens.copy(),
            "frames": self._frames.copy(),
            "lives": np.array(self._lives),
            "held": np.array(self._held.value),
        }

    def restore(self, arrays: Arrays) -> NDArray[np.uint8]:
        """Continue from a `snapshot` of the same game and settings; returns the observation there."""
        if arrays["frames"].shape != self._frames.shape or arrays["screens"].shape != self._screens.shape:
            raise NaitError(f"the saved game's frames are not those of {self.game} with these settings")
        self.ale.restoreState(ale_py.ALEState(arrays["emulator"].tobytes()))
        to_generator(arrays["generator"], self.np_random)
        self._screens[:] = arrays["screens"]
        self._frames[:] = arrays["frames"]
        self._lives = int(arrays["lives"].item())
        self._held = ale_py.Action(arrays["held"].item())
        return self._frames.copy()

    def describe(self) -> dict[str, Any]:
        """The game and its settings, as JSON can hold them."""
        return {"game": self.game, **asdict(self.settings)}

    def _press(self, action: ale_py.Action) -> float:
        """Play one frame; a sticky action repeats the last frame's instead."""
        sticky = self.settings.sticky_actions
        if not sticky or self.np_random.random() >= sticky:
            self._held = action
        return float(self.ale.act(self._held))

    def _grab(self, place: int) -> None:
        if self.settings.greyscale:
            self.ale.getScreenGrayscale(self._screens[place])
        else:
            self.ale.getScreenRGB(self._screens[place])

    def _frame(self) -> Frame:
        """The screens as one frame: their maximum where they are pooled, resized."""
        newest = self._screens[0]
        if self.settings.frame_pooling and self.settings.frame_skip > 1:
            np.maximum(newest, self._screens[1], out=newest)
        size = self.settings.screen_size
        if self._resize is not None:
            frame = np.empty((size, size), dtype=np.uint8)
            self._resize(newest, frame)
            return frame
        import cv2

        how = cv2.INTER_LINEAR if self.settings.interpolation == "linear" else cv2.INTER_AREA
        return np.asarray(cv2.resize(newest, (size, size), interpolation=how), dtype=np.uint8)

    def _info(self) -> dict[str, Any]:
        return {"lives": self.ale.lives(), "episode_frame_number": self.ale.getEpisodeFrameNumber()}


def make_atari(game: str, seed: int | None = None, **options: Any) -> AtariEnv:
    """A game with the paper's settings.

    :param game: such as `MsPacman`; `nait games` lists them
    :param seed: of the no-op starts and sticky actions
    :param options: any field of `AtariSettings`, such as `sticky_actions=0.25`
    """
    env = AtariEnv(game, **options)
    if seed is not None:
        env.reset(seed=seed)
    return env
