"""pi(s): greedy, ties broken by novelty (Eq. 6); and how long a random action is held."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nait.config import Config
from nait.memory import Lookup

Values = NDArray[np.float64]


def tie_probabilities(distance: Values, temperature: float) -> Values:
    """softmax(distance / temperature), safe at any scale; infinite distances share everything."""
    farthest = distance.max()
    if np.isinf(farthest):
        weights = np.isinf(distance).astype(np.float64)
    else:
        weights = np.exp((distance - farthest) / temperature)
    probabilities: Values = weights / weights.sum()
    return probabilities


def choose(lookup: Lookup, config: Config, rng: np.random.Generator | None) -> int:
    """The action of highest value; among equals by the tie-break, drawn with `rng`, or the likeliest without."""
    values: list[float] = lookup.q.tolist()
    highest = max(values)
    if values.count(highest) == 1:  # nearly always, and a list of a few numbers is quicker than an array
        return values.index(highest)
    best = np.flatnonzero(lookup.q == highest)
    if config.tie_break == "uniform":
        return int(best[0] if rng is None else rng.choice(best))
    distance = lookup.distance[best]
    if rng is None:
        return int(best[distance.argmax()])
    return int(rng.choice(best, p=tie_probabilities(distance, config.temperature)))


def draw_hold(longest: int, rng: np.random.Generator) -> int:
    """Steps from 1 to `longest` with a chance in proportion to 1 / n^2 (temporally extended epsilon-greedy)."""
    if longest == 1:
        return 1
    shares = np.cumsum(1.0 / np.arange(1, longest + 1, dtype=np.float64) ** 2)
    return int(np.searchsorted(shares, rng.random() * shares[-1], side="right")) + 1
