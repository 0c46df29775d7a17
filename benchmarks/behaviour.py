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

import numpy as np
from numpy.typing import ArrayLike

from nait.agent import NAIT
from nait.envs.atari import AtariEnv
from nait.experiments.run import EVAL_SEED_OFFSET, open_run
from nait.memory import ABSENT
from nait.policy import choose

SHOWN = 4


def shares(agent: NAIT, counts: ArrayLike) -> str:
    """The commonest actions and their shares."""
    counts = np.asarray(counts, dtype=float)
    order = np.argsort(-counts, kind="stable")[:SHOWN]
    parts = counts / max(counts.sum(), 1)
    return ", ".join(f"{agent.action_names()[i]} {parts[i]:.2f}" for i in order if parts[i] >= 0.01)


def behaviour(run: Path, episodes: int) -> str:
    settings, agent = open_run(run)
    env = agent.env
    assert isinstance(env, AtariEnv)
    entries = agent.memory.sizes()
    known_first = agent.config.play == "known"
    taken: Counter[int] = Counter()
    known, cut, scores, lengths = 0, 0, [], []
    with agent.playing_from(settings.seed, agent.num_timesteps):
        for episode in range(episodes):
            stack, _ = env.reset(seed=settings.seed + EVAL_SEED_OFFSET if episode == 0 else None)
            score, length, done = 0.0, 0, False
            while not done:
                lookup = agent.memory.lookup(agent.representation(stack), playing=True)
                known += bool((lookup.exact != ABSENT).any())
                action = choose(lookup, agent.config, agent._play_rng, known_first=known_first)
                taken[action] += 1
                stack, reward, terminated, truncated, info = env.step(action)
                score += float(info.get("raw_reward", reward))
                length += 1
                done = terminated or truncated
            cut += truncated
            scores.append(score)
            lengths.append(length)
    steps = sum(lengths)
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
            f"{cut / episodes:.2f}",
            f"{known / steps:.2f}",
            shares(agent, [taken[action] for action in range(agent.n_actions)]),
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
