"""Which settings matter: many runs, each with settings drawn at random, and the effect of every one of them.

One run tells of all its settings at once. So where runs differ as much by chance as they do here, a design of 200 runs
with twelve settings says more of each than twelve comparisons of 200 runs in all.

    python benchmarks/screening.py run --runs 200 screening.csv     # goes on where it stopped
    python benchmarks/screening.py run --set epsilon=0,0.003 --set trace_decay=1,0.97 --episodes 10 two.csv
    python benchmarks/screening.py effects screening.csv
    python benchmarks/screening.py effects --steps 100000 one.csv two.csv,epsilon=0.003,trace_end=life

The score of a run is the mean over the training episodes that ended in its last third, or, with --episodes, over so
many episodes of evaluation after it. An effect is that on the human-normalised score, clipped to 1, against the level
that most runs have, by least squares with a constant for each game; beside it stands one standard error. A file that
lacks the column of a setting has it at the level given behind its name, else as the paper's text has it.
"""

from __future__ import annotations

import argparse
import csv
import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import fields
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from nait import NAIT, evaluate_policy, make_atari
from nait.envs.atari import AtariSettings
from nait.experiments.plan import parse_grid
from nait.experiments.suites import atari100k

LEVELS: dict[str, tuple[Any, ...]] = {
    "trace_end": ("episode", "life"),
    "update_timing": ("batch", "staggered"),
    "update_every": (50, 20),
    "alpha": (0.1, 0.03, 0.3),
    "gamma": (0.99, 0.98, 0.995),
    "k": (64, 32, 128),
    "state_dim": (289, 169, 400),
    "thin_value": ("infinite", "zero"),
    "thin_distance": ("letter", "infinite"),
    "fire_on_reset": (False, True),
}
GAMES = list(atari100k())
OUTCOMES = {"game", "seed", "steps", "score", "episodes", "states", "used", "machine", "commit", "itr_s", "learning_on"}
OUTCOMES |= {"train_last5", "train_last25k", "train_last_third"}
TEXT = {  # the levels of the settings that a file may lack
    "trace_end": "episode",
    "update": "intertrace",
    "update_timing": "batch",
    "update_every": "50",
    "thin_value": "infinite",
    "thin_distance": "letter",
    "tie_break": "novelty",
    "fire_on_reset": "False",
    "epsilon": "0",
    "standard_errors": "0",
    "trace_decay": "1",
    "recency": "0",
    "bootstrap": "frozen",
    "rewrites": "from the frozen M",
    "actions": "own",
    "full_action_space": "False",
    "neighbours_left_out": "0",
    "dct": "orthonormal",
    "frequency_weight": "0",
    "expectile": "0.5",
    "pulled_up": "0",
    "pulled_down": "0",
}
ENVIRONMENT = {field.name for field in fields(AtariSettings)}


def design(runs: int, seed: int, games: list[str], all_levels: dict[str, tuple[Any, ...]]) -> Iterator[dict[str, Any]]:
    """Balanced columns in random order; the games by turns."""
    rng = np.random.default_rng(seed)
    columns = {name: rng.permutation(np.arange(runs) % len(levels)) for name, levels in all_levels.items()}
    for i in range(runs):
        chosen = {name: levels[columns[name][i]] for name, levels in all_levels.items()}
        yield {"game": games[i % len(games)], "seed": seed + i // len(games), **chosen}


def score(row: dict[str, Any]) -> float:
    steps, episodes = row["steps"], row["episodes"]
    settings = {name: value for name, value in row.items() if name not in OUTCOMES}
    env = make_atari(row["game"], **{name: value for name, value in settings.items() if name in ENVIRONMENT})
    agent = NAIT(env, seed=row["seed"], **{name: v for name, v in settings.items() if name not in ENVIRONMENT})
    agent.learn(steps)
    if episodes:
        return float(evaluate_policy(agent, env, episodes, deterministic=False, seed=row["seed"])[0])
    late = np.array(agent.episode_ends) > steps * 2 / 3
    return float(np.array(agent.episode_scores)[late].mean()) if late.any() else float("nan")


def levels_of(given: list[str]) -> dict[str, tuple[Any, ...]]:
    """`NAME=VALUE,...` as `nait bench --set` reads it."""
    levels: dict[str, tuple[Any, ...]] = {}
    for text in given:
        for level in parse_grid([text]):
            for name, value in level.items():
                levels[name] = (*levels.get(name, ()), value)
    return levels


def run(path: Path, rows: list[dict[str, Any]], steps: int, episodes: int, jobs: int) -> None:
    rows = [{**row, "steps": steps, "episodes": episodes} for row in rows]
    names = [*rows[0], "score"]
    done = list(csv.DictReader(path.open())) if path.exists() else []
    if done and list(done[0]) != names:
        raise SystemExit(f"{path} has other columns: give another file")
    known = {tuple(row[name] for name in names[:-1]) for row in done}
    rows = [row for row in rows if tuple(map(str, row.values())) not in known]
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool, path.open("a", newline="") as file:
        table = csv.DictWriter(file, names)
        if not done:
            table.writeheader()
        running = {pool.submit(score, row): row for row in rows}
        for future in as_completed(running):
            table.writerow({**running[future], "score": round(future.result(), 2)})
            file.flush()


def rows_of(given: str) -> Iterator[dict[str, str]]:
    """The runs of `FILE` or `FILE,NAME=LEVEL,...`."""
    path, *levels = given.split(",")
    constant = dict(level.split("=", 1) for level in levels)
    with Path(path).open() as file:
        for row in csv.DictReader(file):
            if row["score"] not in ("", "nan"):
                yield {**constant, **row}


def effects(files: list[str], steps: int) -> None:
    rows = [row for given in files for row in rows_of(given) if int(row["steps"]) >= steps]
    names = list(dict.fromkeys(name for row in rows for name in row if name not in OUTCOMES))
    rows = [{**{name: TEXT.get(name, "") for name in names}, **row} for row in rows]
    usual = {name: Counter(row[name] for row in rows).most_common(1)[0][0] for name in names}
    levels = [
        (name, level)
        for name in names
        for level in sorted({row[name] for row in rows})
        if level not in ("", usual[name])
    ]
    games = sorted({row["game"] for row in rows})
    x = np.array(
        [[row["game"] == game for game in games] + [row[name] == level for name, level in levels] for row in rows],
        dtype=float,
    )
    y = np.array([min(atari100k()[row["game"]].normalised(float(row["score"])), 1.0) for row in rows])
    effect, _, rank, _ = np.linalg.lstsq(x, y, rcond=None)
    variance = ((y - x @ effect) ** 2).sum() / (len(y) - rank)
    error = np.sqrt(np.diag(np.linalg.pinv(x.T @ x) * variance))
    print(f"{len(rows)} runs of {len(games)} games; {effect[: len(games)].mean():.3f} with the commonest levels,")
    print(f"from which one run differs by {np.sqrt(variance):.3f} (a standard deviation)")
    for i, (name, level) in enumerate(levels, start=len(games)):
        count = int(x[:, i].sum())
        print(f"{name:20s} {level:22s} {effect[i]:+.3f} +- {error[i]:.3f}   {count} runs")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    runner = commands.add_parser("run")
    runner.add_argument("--runs", type=int, default=200)
    runner.add_argument("--steps", type=int, default=60_000)
    runner.add_argument("--seed", type=int, default=0)
    runner.add_argument("--games", nargs="+", default=GAMES)
    runner.add_argument("--episodes", type=int, default=0)
    runner.add_argument("--set", action="append", default=[], metavar="NAME=VALUE,...", dest="levels")
    runner.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    runner.add_argument("file", type=Path)
    reader = commands.add_parser("effects")
    reader.add_argument("--steps", type=int, default=0, help="leave out shorter runs")
    reader.add_argument("files", nargs="+", metavar="FILE[,NAME=LEVEL...]")
    arguments = parser.parse_args()
    if arguments.command == "run":
        levels = levels_of(arguments.levels) or LEVELS
        chosen = list(design(arguments.runs, arguments.seed, arguments.games, levels))
        run(arguments.file, chosen, arguments.steps, arguments.episodes, arguments.jobs)
    else:
        effects(arguments.files, arguments.steps)
