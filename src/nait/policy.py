"""pi(s): greedy, ties broken by novelty (Eq. 6); what is known first; and how long a random action is held."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from nait.config import Config
from nait.memory import ABSENT, Lookup

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


def choose(lookup: Lookup, config: Config, rng: np.random.Generator | None, *, known_first: bool = False) -> int:
    """The action of highest value; among equals by the tie-break, drawn with `rng`, or the likeliest without.

    :param known_first: in a state that was met before, choose among the actions taken there, see `keep_known`
    """
    values: list[float] = lookup.q.tolist()
    if known_first:
        values = keep_known(values, lookup.exact.tolist())
    highest = max(values)
    if values.count(highest) == 1:  # nearly always, and a list of a few numbers is quicker than an array
        return values.index(highest)
    best = np.array([action for action, value in enumerate(values) if value == highest])
    if config.tie_break != "novelty":
        return int(best[0] if rng is None or config.tie_break == "first" else rng.choice(best))
    distance = lookup.distance[best]
    if rng is None:
        return int(best[distance.argmax()])
    return int(rng.choice(best, p=tie_probabilities(distance, config.temperature)))


def keep_known(values: list[float], exact: list[int]) -> list[float]:
    """Rule out the actions that are new to this very state, unless half of them promise as much as the best known one.

    What was lived through is certain, while the highest of many estimates is too high more often than not. So a way
    that turned out well is not left for one estimate, but where many agree that there are better ones.
    """
    known = [value for value, entry in zip(values, exact, strict=True) if entry != ABSENT]
    if not known:
        return values
    best = max(known)
    promising = sum(value >= best for value, entry in zip(values, exact, strict=True) if entry == ABSENT)
    if 2 * promising >= len(values) - len(known):
        return values
    return [-math.inf if entry == ABSENT else value for value, entry in zip(values, exact, strict=True)]


def draw_hold(longest: int, rng: np.random.Generator) -> int:
    """Steps from 1 to `longest` with a chance in proportion to 1 / n^2 (temporally extended epsilon-greedy)."""
    if longest == 1:
        return 1
    shares = np.cumsum(1.0 / np.arange(1, longest + 1, dtype=np.float64) ** 2)
    return int(np.searchsorted(shares, rng.random() * shares[-1], side="right")) + 1
