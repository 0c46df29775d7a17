"""How all figures look: sizes, and colours that colour-blind readers can tell apart (Okabe and Ito)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

OURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)))  # told apart by line where colours are used up
MARKERS = ("o", "^", "v")
THEIRS = {
    "SimPLe": ("#999999", (0, (1, 1.5))),
    "CURL": ("#999999", (0, (5, 2))),
    "DrQ(eps)": ("#999999", "-"),
    "SPR": ("#444444", (0, (5, 2))),
    "IRIS": ("#444444", "-"),
    "DIAMOND": ("#444444", (0, (1, 1.5))),
}
PAPER, GREY, HUMAN = "#000000", "#777777", "#000000"
WIDTH = 11.0  # inches: the page shows a figure at about 100 pixels an inch

RC: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 10.0,
    "axes.titlesize": 10.5,
    "axes.labelsize": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.8,
    "xtick.labelsize": 9.0,
    "ytick.labelsize": 9.0,
    "legend.fontsize": 9.5,
    "legend.frameon": False,
    "text.parse_math": False,  # a folder may be called what it likes
    "svg.hashsalt": "nait",  # the same figure is the same file
}


def colour(number: int) -> str:
    """Of our column of that number."""
    return OURS[number % len(OURS)]


def line(number: int) -> Any:
    """Its line style."""
    return DASHES[number // len(OURS) % len(DASHES)]


def marker(number: int) -> str:
    """Its marker."""
    return MARKERS[number // len(OURS) % len(MARKERS)]


@contextmanager
def styled() -> Iterator[None]:
    """Draw and save within this."""
    with matplotlib.rc_context(RC):
        yield


def encode(figure: Figure) -> tuple[bytes, bytes]:
    """The figure as a PNG and as an SVG file."""
    FigureCanvasAgg(figure)
    files = []
    for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
        buffer = BytesIO()
        figure.savefig(buffer, format=kind, dpi=120, metadata=metadata)
        figure.set_layout_engine("none")  # the second file has the first one's layout, which takes long to find
        files.append(buffer.getvalue())
    return files[0], files[1]
