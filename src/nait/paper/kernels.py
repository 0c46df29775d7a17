"""The five kernels on one-dimensional data: what each makes of the same few points as k grows."""

from __future__ import annotations

import csv
from io import StringIO
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from nait.kernels import KERNELS
from nait.paper.experiment import Experiment, Page, Request
from nait.paper.figures import picture
from nait.report import style
from nait.report.page import Section

Floats = NDArray[np.float64]

ORDER = ("uniform", "inverse", "tricubic", "triweight", "gaussian")  # the paper's rows, from the top
NEIGHBOURS = (2, 4, 8, 16, 32)
QUERIES = np.linspace(0.0, 1.0, 301)


def sample(seed: int = 0) -> tuple[Floats, Floats]:
    """Points of a curve with two peaks, close together on the left and far apart on the right."""
    rng = np.random.default_rng(seed)
    x = np.sort(np.concatenate([rng.uniform(0.0, 0.55, 36), rng.uniform(0.55, 1.0, 9)]))
    return x, curve(x) + rng.normal(0.0, 0.08, len(x))


def curve(x: Floats) -> Floats:
    """What the points were drawn from."""
    found: Floats = np.exp(-(((x - 0.3) / 0.09) ** 2)) + 0.8 * np.exp(-(((x - 0.8) / 0.06) ** 2))
    return found


def estimate(kernel: str, k: int, x: Floats, y: Floats, queries: Floats = QUERIES) -> Floats:
    """The kernel's weighted mean over the k nearest points of each query."""
    distances = np.abs(queries[:, None] - x[None, :])
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :k]
    weights = KERNELS[kernel](np.take_along_axis(distances, nearest, axis=1))
    found: Floats = (weights * y[nearest]).sum(axis=1) / weights.sum(axis=1)
    return found


def make(request: Request) -> Page:
    """The grid of plots; nothing is trained."""
    x, y = sample()
    found = {(kernel, k): estimate(kernel, k, x, y) for kernel in ORDER for k in NEIGHBOURS}
    drawn = picture(
        "kernels",
        "Rows: kernels. Columns: neighbours k. Dots: the samples. Grey: the curve that they were drawn from. "
        "Blue: the estimate.",
        lambda: draw(x, y, found),
    )
    texts = [
        "45 noisy samples of a curve, dense on the left and sparse on the right. Every kernel but the uniform divides "
        "by the distance of the farthest of the k neighbours, the Gaussian too: its standard deviation is a third of "
        "that distance, where the paper's has a fixed bandwidth."
    ]
    return Page([Section("Kernels and k", texts, parts=[*drawn])], {"kernels.csv": _csv(found)})


def draw(x: Floats, y: Floats, found: dict[tuple[str, int], Floats]) -> Figure:
    """Rows are kernels, columns k."""
    figure = Figure(figsize=(style.WIDTH, 8.2), layout="constrained")
    panels: Any = figure.subplots(len(ORDER), len(NEIGHBOURS), sharex=True, sharey=True)
    for row, kernel in zip(panels, ORDER, strict=True):
        for axes, k in zip(row, NEIGHBOURS, strict=True):
            axes.plot(QUERIES, curve(QUERIES), color="#b0b0b0", linewidth=1.2)
            axes.plot(x, y, linestyle="none", marker=".", markersize=4.5, color="#444444")
            axes.plot(QUERIES, found[kernel, k], color=style.colour(0), linewidth=1.7)
            axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
        row[0].set_ylabel(kernel)
    for axes, k in zip(panels[0], NEIGHBOURS, strict=True):
        axes.set_title(f"k = {k}")
    return figure


def _csv(found: dict[tuple[str, int], Floats]) -> bytes:
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["kernel", "k", "x", "estimate"])
    for (kernel, k), values in found.items():
        writer.writerows([kernel, k, f"{x:.4f}", f"{value:.5f}"] for x, value in zip(QUERIES, values, strict=True))
    return text.getvalue().encode()


EXPERIMENT = Experiment(
    "kernels", "the five kernels on one-dimensional data for growing k", "seconds", make, options=()
)
