"""What the agents of a benchmark do: evidence for a game whose score is far from the paper's.

For each run that still has its checkpoint: the episodes of its training, the share of its steps that led to a pair of
state and action which was not known yet (`new`), and which actions hold most of its memory. Then it plays --episodes
games without learning, and shown are the mean score, the mean length in steps, the share of games that were cut at the
frame cap, the share of steps in states that are known (`known`), and the actions taken most.

    nait bench atari100k --games Freeway,UpNDown --seeds 2 --out bench/behaviour
    python benchmarks/behaviour.py bench/behaviour --games Freeway UpNDown
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import Any
from unittest.mock import patch

import gymnasium
import numpy as np
from numpy.typing import ArrayLike

from nait import NAIT, evaluate_policy
from nait.experiments.run import EVAL_SEED_OFFSET, open_run
from nait.memory import ABSENT, Lookup

SHOWN = 4


def shares(agent: NAIT, counts: ArrayLike) -> str:
    """The commonest actions and their shares."""
    counts = np.asarray(counts, dtype=float)
    order = np.argsort(-counts, kind="stable")[:SHOWN]
    parts = counts / max(counts.sum(), 1)
    return ", ".join(f"{agent.action_names()[i]} {parts[i]:.2f}" for i in order if parts[i] >= 0.01)


class Watched(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Counts the actions taken and the games cut."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self.taken: Counter[int] = Counter()
        self.cut = 0

    def step(self, action: Any) -> Any:
        made = super().step(action)
        self.taken[int(action)] += 1
        self.cut += bool(made[3])
        return made


def behaviour(run: Path, episodes: int) -> str:
    settings, agent = open_run(run)
    assert agent.env is not None
    env = Watched(agent.env)
    entries, look_up, known = agent.memory.sizes(), agent._look_in_play, 0

    def look(*arguments: Any) -> Lookup:
        nonlocal known
        found = look_up(*arguments)
        known += bool((found.exact != ABSENT).any())
        return found

    with patch.object(agent, "_look_in_play", look), agent.playing_from(settings.seed, agent.num_timesteps):
        scores, lengths = evaluate_policy(
            agent,
            env,
            episodes,
            deterministic=False,
            return_episode_rewards=True,
            seed=settings.seed + EVAL_SEED_OFFSET,
        )
    return " | ".join(
        [
            "",
            settings.env,
            str(settings.seed),
            str(len(agent.episode_scores)),
            f"{len(agent.memory) / agent.num_timesteps:.2f}",
            shares(agent, entries),
            f"{np.mean(scores):,.1f}",
            f"{np.mean(lengths):,.0f}",
            f"{env.cut / episodes:.2f}",
            f"{known / sum(lengths):.2f}",
            shares(agent, [env.taken[action] for action in range(agent.n_actions)]),
            "",
        ]
    ).strip()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path, help="a folder of `nait bench`")
    parser.add_argument("--games", nargs="+", required=True)
    parser.add_argument("--episodes", type=int, default=10)
    parser.add_argument("--most", type=int, default=3, help="runs of each game")
    arguments = parser.parse_args()
    print("| game | seed | episodes | new | memory | score | steps | cut | known | play |")
    print("|---|---:|---:|---:|---|---:|---:|---:|---:|---|")
    for game in arguments.games:
        found = sorted(arguments.store.glob(f"runs/{game}-s*/checkpoint.nait"))
        for path in found[: arguments.most]:
            print(behaviour(path.parent, arguments.episodes), flush=True)
