"""What a step costs as the memory grows: the agent learns on, and steps are timed whenever it has reached a size.

Seconds are the processor's, so that other work on the machine counts only as far as it takes caches and memory away.

    OMP_NUM_THREADS=1 python benchmarks/growth.py --states 100000 1000000 -- Assault PrivateEye Boxing
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

import nait

STRIDE = 1000


def microseconds(play: Callable[[int], object], steps: int) -> float:
    begun = time.process_time()
    play(steps)
    return 1e6 * (time.process_time() - begun) / steps


def emulator(game: str, steps: int) -> float:
    """Random actions, no agent."""
    env = nait.make_atari(game, seed=0)
    actions = np.random.default_rng(0).integers(len(env.get_action_meanings()), size=steps).tolist()

    def play(steps: int) -> None:
        for action in actions[:steps]:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()

    env.reset()
    return microseconds(play, steps)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--states", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--steps", type=int, default=10_000, help="timed at each size")
    parser.add_argument("games", nargs="*", default=["Assault", "PrivateEye", "Boxing"])
    arguments = parser.parse_args()
    for game in arguments.games:
        alone = emulator(game, arguments.steps)
        print(f"{game}: {alone:.0f} us a step of the emulator alone", flush=True)
        agent = nait.NAIT(nait.make_atari(game, seed=0), seed=0)
        for states in sorted(arguments.states):
            while len(agent.memory) < states:
                agent.learn(STRIDE)
            size, step = len(agent.memory), agent.num_timesteps
            whole = microseconds(agent.learn, arguments.steps)
            cost = f"{whole:6.0f} us a step, {whole - alone:6.0f} beside the emulator"
            print(f"  {size:9,d} states after {step:9,d} steps: {cost}", flush=True)
