"""Records as a benchmark leaves them, made from the paper's scores with noise: no result of any run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nait.experiments.store import Curve, Record, Score, write
from nait.experiments.suites import atari57, atari100k


def record(
    game: str,
    seed: int,
    *,
    milestones: Sequence[int] = (100_000,),
    setting: str = "",
    better: float = 1.0,
    speed: float = 900.0,
    commit: str = "0123abc",
    **more: Any,
) -> Record:
    """One run that ended well.

    :param better: what the paper's distance from random play is multiplied by
    """
    rng = np.random.default_rng([seed, *game.encode(), *setting.encode()])
    known = atari57().get(game)
    low, paper = (known.random, known.paper) if known else (0.0, {})
    luck, rate = float(rng.lognormal(0.0, 0.35)), speed * float(rng.uniform(0.6, 1.5))
    scores = []
    for steps in milestones:
        final = low + better * luck * (paper.get(steps, paper.get(100_000, low + 10.0)) - low)
        returns = tuple(float(final + rng.normal(0, 0.2 * abs(final - low) + 1e-9)) for _ in range(10))
        mean = float(np.mean(returns))
        scores.append(
            Score(
                steps=steps,
                score=mean,
                std=float(np.std(returns)),
                episodes=10,
                returns=returns,
                train_last5=final,
                states=int(0.7 * steps),
                distinct_states=int(0.6 * steps),
                itr_s=rate,
                walltime_s=steps / rate,
            )
        )
    return Record(
        name="-".join(filter(None, [game.replace("/", "_"), setting.replace("=", "_").replace(" ", "-"), f"s{seed}"])),
        suite=more.pop("suite", "atari100k"),
        game=game,
        seed=seed,
        steps=milestones[-1],
        setting=setting,
        settings=dict(part.split("=") for part in setting.split()),
        config={"k": 64, "gamma": 0.99, **dict(part.split("=") for part in setting.split())},
        env_options={"sticky_actions": 0.0},
        status="done",
        scores=tuple(scores),
        curve=_curve(low, scores, rate, rng),
        versions={"nait": "0.1.0", "numpy": "2.4.0"},
        machine={"processor": "x86_64", "cores": 16},
        commit=commit,
        **more,
    )


def failed(game: str, seed: int, error: str) -> Record:
    """One that did not."""
    whole = record(game, seed).to_json()
    return Record.from_json({**whole, "status": "failed", "error": error, "scores": [], "curve": {}})


def _curve(low: float, scores: Sequence[Score], rate: float, rng: np.random.Generator) -> Curve:
    last = scores[-1].steps
    stride = max(1000, last // 100)
    steps = np.arange(stride, last + 1, stride)
    points = [0, *(score.steps for score in scores)]
    values = np.interp(steps, points, [low, *(score.score for score in scores)])
    values = low + (values - low) * np.sqrt(np.minimum(1.0, steps / scores[0].steps))
    values += rng.normal(0, 0.08 * abs(scores[-1].score - low) + 1e-9, size=len(steps))
    return Curve(
        steps=tuple(map(int, steps)),
        score5=(None, *map(float, values[1:])),
        states=tuple(int(0.7 * step) for step in steps),
        seconds=tuple(float(step / rate) for step in steps),
    )


def suite(
    folder: Path, seeds: int = 3, games: Sequence[str] | None = None, settings: Sequence[str] = ("",), **more: Any
) -> Path:
    """A folder of records: by default the 26 games and three seeds."""
    (folder / "records").mkdir(parents=True, exist_ok=True)
    for place, setting in enumerate(settings):
        for game in games or atari100k():
            for seed in range(seeds):
                write(folder, record(game, seed, setting=setting, **{"better": 1.0 - 0.3 * place, **more}))
    return folder


def damage(folder: Path, name: str, content: str) -> Path:
    """Put something else in a record's place."""
    path = folder / "records" / f"{name}.json"
    path.write_text(content)
    return path


def change(folder: Path, name: str, **values: Any) -> None:
    """Change entries of a record."""
    path = folder / "records" / f"{name}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))
