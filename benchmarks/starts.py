"""In which games does an episode depend on the ones before it?

The emulator's reset restarts the console but does not clear its memory, and some games take what lies there for a seed
of their own. Each game is begun --resets times with one no-op frame, after random play of different lengths. Shown are
how many different memories of the console it began with, and how many different ways 400 given actions went.

    python benchmarks/starts.py                    # the 57 games
    python benchmarks/starts.py MsPacman Frostbite
"""

from __future__ import annotations

import argparse
import hashlib

import numpy as np

import nait
from nait.envs import AtariEnv
from nait.experiments.suites import atari57


def played(env: AtariEnv, actions: list[int]) -> bytes:
    """A hash of what is seen and earned by these actions, as far as the episode lasts."""
    seen = hashlib.sha256()
    for action in actions:
        observation, reward, terminated, truncated, _ = env.step(action)
        seen.update(observation.tobytes() + str(reward).encode())
        if terminated or truncated:
            break
    return seen.digest()


def begun(game: str, resets: int) -> tuple[int, int]:
    """Different memories at the start, and different plays from there."""
    rng = np.random.default_rng(0)
    env = nait.make_atari(game, noop_max=1)
    n_actions = len(env.get_action_meanings())
    given = rng.integers(n_actions, size=400).tolist()
    env.reset(seed=0)
    memories, plays = set(), set()
    for _ in range(resets):
        played(env, rng.integers(n_actions, size=int(rng.integers(1, 400))).tolist())
        observation, _ = env.reset()
        memories.add(env.ale.getRAM().tobytes())
        plays.add(observation.tobytes() + played(env, given))
    return len(memories), len(plays)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("games", nargs="*", default=list(atari57()))
    parser.add_argument("--resets", type=int, default=8)
    arguments = parser.parse_args()
    for game in arguments.games:
        memories, plays = begun(game, arguments.resets)
        print(f"{game:18s} {memories} memories, {plays} plays of {arguments.resets}", flush=True)
