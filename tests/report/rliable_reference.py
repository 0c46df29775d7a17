"""Writes rliable_reference.json: what rliable itself says of the published runs.

rliable is no dependency, as it does not import with pandas 3. To run this again:

    python -m venv reference && reference/bin/pip install rliable "pandas<3"
    reference/bin/python tests/report/rliable_reference.py
"""

from __future__ import annotations

import csv
import json
from importlib import metadata
from pathlib import Path

import numpy as np
from rliable import library, metrics

HERE = Path(__file__).parent
PACKAGE = HERE.parents[1] / "src" / "nait"
TAUS = [0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0]
PAIRS = [("SPR", "CURL"), ("IRIS", "DIAMOND"), ("SimPLe", "DrQ(eps)")]
LIBRARIES = ("rliable", "numpy", "scipy", "pandas", "arch")
STATISTICS = {
    "median": metrics.aggregate_median,
    "mean": metrics.aggregate_mean,
    "IQM": metrics.aggregate_iqm,
    "optimality gap": metrics.aggregate_optimality_gap,
}


def main() -> None:
    games = {row["game"]: row for row in csv.DictReader((PACKAGE / "experiments/atari_scores.csv").open())}
    scores: dict[str, list[list[float]]] = {}
    for row in csv.DictReader((PACKAGE / "report/data/runs.csv").open()):
        low, high = float(games[row["game"]]["random"]), float(games[row["game"]]["human"])
        runs = [(float(score) - low) / (high - low) for score in row["scores"].split()]
        if len(runs) > 1:
            scores.setdefault(row["method"], []).append(runs)
    arrays = {method: np.array(runs).T for method, runs in scores.items()}
    names = list(STATISTICS)
    points, intervals = library.get_interval_estimates(
        arrays,
        lambda x: np.array([STATISTICS[name](x) for name in names]),
        reps=10_000,
        random_state=np.random.RandomState(0),
    )
    pairs = {f"{a},{b}": (arrays[a], arrays[b]) for a, b in PAIRS}
    chances, chance_intervals = library.get_interval_estimates(
        pairs, metrics.probability_of_improvement, reps=2_000, random_state=np.random.RandomState(0)
    )
    profiles, profile_intervals = library.create_performance_profile(arrays, np.array(TAUS), reps=2_000)
    written = {
        "versions": {name: metadata.version(name) for name in LIBRARIES},
        "aggregates": {
            method: {
                name: [float(points[method][i]), *map(float, intervals[method][:, i])] for i, name in enumerate(names)
            }
            for method in arrays
        },
        "probability of improvement": {
            pair: [float(chances[pair]), *map(float, chance_intervals[pair].ravel())] for pair in pairs
        },
        "taus": TAUS,
        "profiles": {
            method: {
                "value": profiles[method].tolist(),
                "low": profile_intervals[method][0].tolist(),
                "high": profile_intervals[method][1].tolist(),
            }
            for method in arrays
        },
    }
    (HERE / "rliable_reference.json").write_text(json.dumps(written, indent=1) + "\n")


if __name__ == "__main__":
    main()
