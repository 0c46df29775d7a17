"""The study of the kernels on one-dimensional data."""

from __future__ import annotations

import csv
import struct
from pathlib import Path

import numpy as np
import pytest

from nait.cli import main
from nait.paper import kernels


def test_an_estimate_is_the_weighted_mean_of_the_nearest() -> None:
    x, y = np.array([0.0, 0.4, 0.5, 1.0]), np.array([1.0, 2.0, 4.0, 8.0])
    query = np.array([0.45])
    assert kernels.estimate("uniform", 2, x, y, query) == pytest.approx([3.0])
    u = np.array([0.05, 0.05, 0.45]) / 0.45
    weights = (1 - u**3) ** 3
    assert kernels.estimate("tricubic", 3, x, y, query) == pytest.approx([(weights * [2, 4, 1]).sum() / weights.sum()])


def test_the_samples_are_dense_on_the_left_and_sparse_on_the_right() -> None:
    x, y = kernels.sample()
    assert len(x) == len(y) == 45
    assert np.median(np.diff(x[x < 0.55])) < np.median(np.diff(x[x > 0.55]))


def test_the_inverse_kernel_is_the_spikiest_and_large_k_flattens_the_mean() -> None:
    """The two things the paper's figure is there to show."""
    x, y = kernels.sample()

    def roughness(kernel: str) -> float:
        return float(np.abs(np.diff(kernels.estimate(kernel, 32, x, y), 2)).sum())

    assert roughness("inverse") > 3 * roughness("tricubic")
    spread = [float(np.ptp(kernels.estimate("uniform", k, x, y))) for k in (4, 32)]
    assert spread[1] < 0.3 * spread[0]


def test_the_command_writes_page_data_and_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "kernels"
    assert main(["paper", "kernels", "--out", str(out)]) == 0
    assert "kernels.md" in capsys.readouterr().out
    rows = list(csv.DictReader((out / "kernels.csv").read_text().splitlines()))
    assert len(rows) == len(kernels.ORDER) * len(kernels.NEIGHBOURS) * len(kernels.QUERIES)
    png = (out / "figures" / "kernels.png").read_bytes()
    assert png.startswith(b"\x89PNG")
    assert struct.unpack(">I", png[16:20])[0] > 1000
    assert (out / "figures" / "kernels.svg").read_text().count("<path") > 100
    assert "figures/kernels.png" in (out / "kernels.md").read_text()
    assert sorted(path.name for path in out.iterdir()) == ["figures", "kernels.csv", "kernels.md"]
