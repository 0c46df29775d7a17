from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from nait.kernels import GAUSSIAN_BANDWIDTHS, INVERSE_OFFSET, KERNELS

distances = arrays(np.float64, st.integers(1, 80), elements=st.floats(0, 1e6, allow_subnormal=False))

FORMULAS = {
    "tricubic": lambda u: (1 - u**3) ** 3,
    "uniform": lambda u: 1.0,
    "inverse": lambda u: 1 / (u + INVERSE_OFFSET),
    "triweight": lambda u: (1 - u**2) ** 3,
    "gaussian": lambda u: math.exp(-((GAUSSIAN_BANDWIDTHS * u) ** 2) / 2),
}


def plain(name: str, ds: list[float]) -> list[float]:
    """The formula, one neighbour at a time."""
    farthest = max(ds)
    weights = [FORMULAS[name](d / farthest if farthest > 0 else 0.0) for d in ds]
    return weights if sum(weights) > 0 else [1.0] * len(ds)


@pytest.mark.parametrize("name", KERNELS)
@given(ds=distances)
def test_kernels_equal_their_formulas(name: str, ds: np.ndarray) -> None:
    np.testing.assert_allclose(KERNELS[name](ds), plain(name, ds.tolist()), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", KERNELS)
@given(ds=distances)
def test_a_kernel_never_leaves_an_estimate_without_weight(name: str, ds: np.ndarray) -> None:
    weights = KERNELS[name](ds)
    assert (weights >= 0).all()
    assert weights.sum() > 0
    assert np.isfinite(weights).all()


@pytest.mark.parametrize("name", KERNELS)
@given(ds=distances, scale=st.sampled_from([0.5, 2.0, 1024.0]))
def test_weights_do_not_depend_on_the_pixels_scale(name: str, ds: np.ndarray, scale: float) -> None:
    np.testing.assert_allclose(KERNELS[name](ds * scale), KERNELS[name](ds), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["tricubic", "triweight", "inverse", "gaussian"])
@given(ds=distances)
def test_the_nearer_neighbour_never_counts_less(name: str, ds: np.ndarray) -> None:
    ordered = np.sort(ds)
    assert (np.diff(KERNELS[name](ordered)) <= 0).all()


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("ds", [[0.0, 0.0, 0.0], [3.0, 3.0, 3.0], [5.0]])
def test_equal_distances_count_equally(name: str, ds: list[float]) -> None:
    weights = KERNELS[name](np.array(ds))
    assert (weights == weights[0]).all()
    assert weights[0] > 0


def test_the_farthest_neighbour_counts_nothing_and_one_at_distance_zero_counts_one() -> None:
    weights = KERNELS["tricubic"](np.array([0.0, 1.0, 2.0]))
    assert weights[0] == 1
    assert weights[2] == 0


@pytest.mark.parametrize("name", KERNELS)
def test_rows_are_weighted_each_on_its_own(name: str) -> None:
    rows = np.abs(np.random.default_rng(0).normal(size=(5, 64)))
    together = KERNELS[name](rows)
    for row, weights in zip(rows, together, strict=True):
        np.testing.assert_array_equal(KERNELS[name](row), weights)
