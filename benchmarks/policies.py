"""What each way to play is worth: the same trained agents, evaluated by every `play` there is.

Reads a folder of `nait bench` whose runs still have their checkpoints. Learning is the same for all, so the differences
are those of play alone. One row an agent and way goes to --csv; shown are the mean differences of human-normalised
scores, clipped to 1, against the paper's `greedy`, with one standard error over agents.

    nait bench atari100k --seeds 1 --out bench/policies
    python benchmarks/policies.py bench/policies --episodes 20 --csv policies.csv
"""

from __future__ import annotations

import argparse
import csv
from dataclasses import replace
from pathlib import Path

import numpy as np

from nait.config import Config
from nait.experiments.run import evaluate, open_run
from nait.experiments.suites import atari57

WAYS = sorted(Config.__dataclass_fields__["play"].metadata["choices"])  # greedy first


def scores(run: Path, ways: list[str], episodes: int) -> tuple[str, int, dict[str, float]]:
    """The agent's game, its seed, and its mean score by each way to play."""
    settings, agent = open_run(run)
    found = {}
    for way in ways:
        agent.config = replace(agent.config, play=way)
        found[way] = float(evaluate(agent, settings, episodes)["score"])
    return settings.env, settings.seed, found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path, help="a folder of `nait bench`")
    parser.add_argument("--games", nargs="*", help="these alone")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--episodes", type=int, default=20)
    parser.add_argument("--csv", type=Path, default=Path("policies.csv"))
    arguments = parser.parse_args()
    rows: list[dict[str, float]] = []
    with arguments.csv.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["game", "seed", "episodes", *arguments.ways])
        for path in sorted(arguments.store.glob("runs/*/checkpoint.nait")):
            if arguments.games and path.parent.name.split("-")[0] not in arguments.games:
                continue
            game, seed, by_way = scores(path.parent, arguments.ways, arguments.episodes)
            table.writerow([game, seed, arguments.episodes, *(round(score, 3) for score in by_way.values())])
            file.flush()
            rows.append({way: min(atari57()[game].normalised(score), 1.0) for way, score in by_way.items()})
            print(f"{game:16s} {seed:3d} ", *(f"{way} {hns:6.3f}" for way, hns in rows[-1].items()), flush=True)
    for way in arguments.ways[1:]:
        first = arguments.ways[0]
        gains = np.array([row[way] - row[first] for row in rows])
        error = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else float("nan")
        print(f"{way} against {first}: {gains.mean():+.3f} +- {error:.3f} over {len(gains)} agents")
