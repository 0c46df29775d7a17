"""Kernels K(s, s'): how much a neighbour counts by its distance (Eq. 5 and the kernel study).

Each takes L2 distances with the neighbours on the last axis and returns weights of the same shape.
All but `uniform` first divide by the farthest neighbour's distance, so the bandwidth follows the
density of the memory and no kernel needs to know a game's pixel intensities. Where the distances
cannot tell neighbours apart (all zero, or all equal so that every weight would vanish) the weights
are equal.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

INVERSE_OFFSET = 1e-3  # keeps the weight of a neighbour at distance 0 finite
GAUSSIAN_BANDWIDTHS = 3.0  # the farthest neighbour lies this many standard deviations away


def tricubic(distances: Array) -> Array:
    """(1 - u^3)^3: the paper's kernel; the farthest neighbour counts 0."""
    u = _relative(distances)
    return _or_equal((1 - u * u * u) ** 3)


def uniform(distances: Array) -> Array:
    """1: the plain mean, the paper's ablation."""
    return np.ones_like(distances)


def inverse(distances: Array) -> Array:
    """1 / (u + offset): the spiky weighting of earlier episodic control."""
    return 1 / (_relative(distances) + INVERSE_OFFSET)


def triweight(distances: Array) -> Array:
    """(1 - u^2)^3."""
    u = _relative(distances)
    return _or_equal((1 - u * u) ** 3)


def gaussian(distances: Array) -> Array:
    """exp(-(3u)^2 / 2): the bandwidth is a third of the farthest distance."""
    u = _relative(distances)
    return np.exp(-0.5 * (GAUSSIAN_BANDWIDTHS * u) ** 2)


KERNELS: dict[str, Callable[[Array], Array]] = {
    "tricubic": tricubic,
    "uniform": uniform,
    "inverse": inverse,
    "triweight": triweight,
    "gaussian": gaussian,
}


def shares(name: str, squared: Array) -> Array:
    """The share of each neighbour in an estimate, from squared distances; they add up to 1."""
    weights = KERNELS[name](np.sqrt(squared))
    part: Array = weights / weights.sum()
    return part


def _relative(distances: Array) -> Array:
    farthest = distances.max(axis=-1, keepdims=True)
    return distances / np.where(farthest > 0, farthest, 1.0)


def _or_equal(weights: Array) -> Array:
    return np.where(weights.sum(axis=-1, keepdims=True) > 0, weights, 1.0)
