"""What the index finds and how long it takes: hnswlib and the native graph on states of random play."""

from __future__ import annotations

import csv
import time
from dataclasses import asdict, dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from tqdm import tqdm

from nait.config import Config
from nait.envs import AtariEnv
from nait.envs.games import rom_name
from nait.errors import NaitError
from nait.experiments import provenance
from nait.experiments.speed import recall, squared_distances
from nait.experiments.suites import atari100k
from nait.memory import ABSENT, hash_of
from nait.native_memory import EF_SEARCH_SHARE, LINKS_SHARE, NativeMemory
from nait.neighbours import HnswIndex
from nait.paper.experiment import Experiment, Page, Request
from nait.paper.figures import picture
from nait.paper.measured import measured
from nait.paper.tables import plain_table
from nait.report import style
from nait.report.figures import legend
from nait.report.page import Section
from nait.representation import DCT, NativeDCT

SIDE = 15  # F = 225
K = 30
ACROSS = 4  # panels a row
INDEXES = ("hnswlib", "native")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How much is played, and which values are tried."""

    frames: int = 10_000
    queries: int = 1000
    efc: tuple[int, ...] = (50, 200, 400)
    efs: tuple[int, ...] = (30, 50, 100, 200, 400)
    seed: int = 0


QUICK = Plan(frames=4000, queries=300, efc=(50, 200), efs=(30, 100, 200, 400))
QUICK_GAMES = ("MsPacman", "Breakout")


@dataclass(frozen=True)
class Point:
    """One index at one setting on one game."""

    index: str
    efc: int
    efs: int
    recall: float
    """Share of the k nearest that are found."""
    query_us: float
    """Microseconds a query takes."""
    insert_us: float
    """Microseconds a state takes to be inserted."""


@dataclass(frozen=True)
class Play:
    """States of a random player, as both indexes know them: those that are stored, then those asked about."""

    floats: NDArray[np.float32]
    whole: NDArray[np.int32]
    stored: int


def make(request: Request) -> Page:
    """Measure each game that has no result yet; a panel a game."""
    plan = QUICK if request.quick else Plan()
    games = request.games or (QUICK_GAMES if request.quick else tuple(atari100k()))
    for game in games:
        rom_name(game)  # all of them before the first is played
    folder = request.out / "recall"
    found: dict[str, list[Point]] = {}
    with tqdm(games, unit="game", disable=None) as bar:
        for game in bar:
            found[game] = _measured(folder, game, plan)
    drawn = picture(
        "recall",
        "Recall against the time of a query, in one thread, for each game: the points of a line are values of efs. Up "
        "and to the left is better.",
        lambda: draw(found, plan),
    )
    texts = [
        f"{plan.frames:,} states of a random player with F = {SIDE * SIDE}, and {plan.queries:,} states that follow "
        f"them, in the order of play and not among the stored: the share of their {K} nearest that are found. M = 40. "
        "Both indexes are given the same M, efc and efs; the native one takes "
        f"{LINKS_SHARE} of M and {EF_SEARCH_SHARE} of efs.",
        f"Measured on: {provenance.cpu_model()}. The time is the processor's, with the call from Python.",
    ]
    table = _table(found, plan)
    return Page([Section("Recall and time", texts, parts=[*drawn, table])], {"recall.csv": _csv(found)})


def _measured(folder: Path, game: str, plan: Plan) -> list[Point]:
    return measured(
        folder / f"{game}.json",
        asdict(plan),
        lambda: [asdict(point) for point in measure(game, plan)],
        lambda found: [Point(**point) for point in found],
    )


def measure(game: str, plan: Plan) -> list[Point]:
    """Both indexes at every setting."""
    play = play_randomly(game, plan)
    stored, asked = play.floats[: play.stored], play.floats[play.stored :]
    truth = squared_distances(asked, stored)
    points = []
    for efc in plan.efc:
        points += _native(play, truth, plan, efc)
        points += _hnswlib(stored, asked, truth, plan, efc)
    return points


def play_randomly(game: str, plan: Plan) -> Play:
    """Distinct states until there are enough to store and to ask about."""
    env = AtariEnv(game)
    rng = np.random.default_rng(plan.seed)
    exact, native = DCT((4, 84, 84), SIDE), NativeDCT((4, 84, 84), SIDE)
    memory = NativeMemory(1, SIDE * SIDE, native.unit, Config(k=K, state_dim=SIDE * SIDE))  # knows equal states
    floats: list[NDArray[np.float32]] = []
    whole: list[NDArray[np.int32]] = []
    actions = len(env.get_action_meanings())
    wanted, steps = plan.frames + plan.queries, 0
    observation, _ = env.reset(seed=plan.seed)
    while len(floats) < wanted:
        if steps == 20 * wanted:
            raise NaitError(f"random play of {game} shows only {len(floats)} different states in {steps:,} steps")
        state = native(observation)
        if memory.find(state, 0, 0) == ABSENT:
            memory.insert(state[None], [0], np.zeros(1, dtype=np.int64), np.array([len(whole)]))
            whole.append(state)
            floats.append(exact(observation))
        observation, _, terminated, truncated, _ = env.step(int(rng.integers(actions)))
        steps += 1
        if terminated or truncated:
            observation, _ = env.reset()
    return Play(np.stack(floats), np.stack(whole), plan.frames)


def _config(efc: int, efs: int) -> Config:
    return Config(k=K, state_dim=SIDE * SIDE, ef_construction=efc, ef_search=efs)


def _native(play: Play, truth: NDArray[np.float64], plan: Plan, efc: int) -> list[Point]:
    stored, asked = play.whole[: play.stored], play.whole[play.stored :]
    built = NativeMemory(1, SIDE * SIDE, NativeDCT.UNIT, _config(efc, max(plan.efs)))
    keys, zeros = [hash_of(state) for state in stored], np.zeros(len(stored), dtype=np.int64)
    begun = time.process_time()
    built.insert(stored, keys, zeros, np.arange(len(stored)))
    insert_us = 1e6 * (time.process_time() - begun) / len(stored)
    graph = built.save()
    points = []
    for efs in plan.efs:
        memory = NativeMemory(1, SIDE * SIDE, NativeDCT.UNIT, _config(efc, efs))
        memory.load(graph)
        seconds, shares = 0.0, []
        for state, squared in zip(asked, truth, strict=True):
            begun = time.process_time()
            lookup = memory.lookup(state)
            seconds += time.process_time() - begun
            shares.append(recall(squared, memory.neighbours(lookup, 0)[0], K))
        points.append(Point("native", efc, efs, float(np.mean(shares)), 1e6 * seconds / len(asked), insert_us))
    return points


def _hnswlib(
    stored: NDArray[np.float32], asked: NDArray[np.float32], truth: NDArray[np.float64], plan: Plan, efc: int
) -> list[Point]:
    index = HnswIndex(SIDE * SIDE, Config().M, efc, max(plan.efs))
    begun = time.process_time()
    index.add(np.arange(len(stored)), stored)
    insert_us = 1e6 * (time.process_time() - begun) / len(stored)
    points = []
    for efs in plan.efs:
        index.set_ef(efs)
        seconds, shares = 0.0, []
        for state, squared in zip(asked, truth, strict=True):
            begun = time.process_time()
            ids, _ = index.search(state, K)
            seconds += time.process_time() - begun
            shares.append(recall(squared, ids, K))
        points.append(Point("hnswlib", efc, efs, float(np.mean(shares)), 1e6 * seconds / len(asked), insert_us))
    return points


def draw(found: dict[str, list[Point]], plan: Plan) -> Figure:
    """A panel a game; lines are values of efc, their points values of efs."""
    games = list(found)
    across = min(ACROSS, len(games))
    down = -(-len(games) // across)
    width = style.WIDTH * max(0.6, across / ACROSS)
    figure = Figure(figsize=(width, 1.3 + 2.6 * down), layout="constrained")
    panels: Any = figure.subplots(down, across, squeeze=False)
    for axes, game in zip(panels.flat, games, strict=False):
        for number, index in enumerate(INDEXES):
            for place, efc in enumerate(plan.efc):
                mine = [point for point in found[game] if point.index == index and point.efc == efc]
                axes.plot(
                    [point.query_us for point in mine],
                    [point.recall for point in mine],
                    color=style.colour(number),
                    linestyle=style.DASHES[place % 3],
                    marker="os"[number],
                    markersize=4,
                    linewidth=1.4,
                    label=f"{index}, efc = {efc}",
                )
        axes.set_title(game)
        axes.set_xlim(left=0)
    for axes in panels.flat[len(games) :]:
        axes.set_visible(False)
    for axes in panels.flat[max(0, len(games) - across) : len(games)]:
        axes.set_xlabel("microseconds a query")
    for row in panels:
        row[0].set_ylabel(f"recall of {K}")
    legend(figure, panels.flat[0].get_legend_handles_labels()[0])
    return figure


def _table(found: dict[str, list[Point]], plan: Plan) -> Any:
    """The means over the games."""
    rows = []
    for index in INDEXES:
        for efc in plan.efc:
            for efs in plan.efs:
                mine = [p for points in found.values() for p in points if (p.index, p.efc, p.efs) == (index, efc, efs)]
                means = [
                    float(np.mean([getattr(p, name) for p in mine])) for name in ("recall", "query_us", "insert_us")
                ]
                cells = [f"{means[0]:.4f}", f"{means[1]:.1f}", f"{means[2]:.1f}"]
                rows.append([index, str(efc), str(efs), *cells])
    headings = ("index", "efc", "efs", "recall", "microseconds a query", "microseconds an insertion")
    return plain_table("recall", f"Means over {len(found)} games", headings, rows)


def _csv(found: dict[str, list[Point]]) -> bytes:
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["game", "index", "efc", "efs", "recall", "query_us", "insert_us"])
    for game, points in found.items():
        for p in points:
            numbers = [f"{p.recall:.5f}", f"{p.query_us:.2f}", f"{p.insert_us:.2f}"]
            writer.writerow([game, p.index, p.efc, p.efs, *numbers])
    return text.getvalue().encode()


EXPERIMENT = Experiment(
    "recall",
    "recall against time of hnswlib and the native index on random play, for each game",
    "about half a minute a game",
    make,
    options=("games",),
)
