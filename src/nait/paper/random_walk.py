"""The image random walk: reward over time and learned against optimal values, NAIT beside a DQN."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from nait.config import Config
from nait.envs.random_walk import DISCOUNT, STATES, ImageRandomWalk, optimal_q
from nait.errors import NaitError
from nait.experiments import store
from nait.experiments.plan import RANDOM_WALK, Job, Suite, make_jobs
from nait.experiments.run import open_run
from nait.experiments.store import read, write_csv
from nait.experiments.tables import read_table
from nait.paper import dqn
from nait.paper.experiment import Experiment, Page, Request
from nait.paper.figures import picture
from nait.paper.suite import run_jobs
from nait.paper.tables import plain_table
from nait.report import style
from nait.report.aggregates import Estimate, mean_over_runs
from nait.report.comparison import game_estimate
from nait.report.figures import legend, step_axis
from nait.report.page import Section
from nait.report.tables import interval, ranges, steps_name

Floats = NDArray[np.float64]

SIGHTS = 20  # noisy observations of each state, over which its values are averaged
SIGHT_SEED = 1234
TRAILING = 20  # episodes
POINTS = 200
SOLVED = 0.95


@dataclass(frozen=True)
class Size:
    """How much is run."""

    steps: int
    seeds: int
    decay: int
    """Steps over which epsilon falls from 1 to 0."""


FULL = Size(steps=100_000, seeds=5, decay=20_000)
QUICK = Size(steps=4000, seeds=2, decay=1500)


@dataclass(frozen=True)
class Learner:
    """One agent on one seed."""

    steps: Floats
    """At which each episode ended."""
    scores: Floats
    values: Floats
    """Q of every state, an action a column."""

    def over_time(self, grid: Floats) -> Floats:
        """The mean of the last episodes at each step; NaN before the first has ended."""
        sums = np.concatenate([[0.0], np.cumsum(self.scores)])
        ended = np.searchsorted(self.steps, grid, side="right")
        first = np.maximum(ended - TRAILING, 0)
        means: Floats = np.where(ended > 0, (sums[ended] - sums[first]) / np.maximum(ended - first, 1), np.nan)
        return means

    def solved_at(self) -> float:
        """The first step at which the mean of the last episodes reaches SOLVED and stays there."""
        means = self.over_time(self.steps)
        full = np.arange(1, len(means) + 1) >= TRAILING
        bad = np.flatnonzero(~((means >= SOLVED) & full))
        after = int(bad[-1]) + 1 if len(bad) else 0
        return float(self.steps[after]) if after < len(self.steps) else float("inf")

    def error(self) -> float:
        """The mean absolute error of the better action's value over the states that an optimal walk meets."""
        best = optimal_q(DISCOUNT)[WAY]
        rows, actions = np.arange(len(WAY)), best.argmax(axis=1)
        return float(np.abs(self.values[WAY][rows, actions] - best[rows, actions]).mean())


WAY = np.arange(8, STATES)  # from the start in state 9 to the reward


def make(request: Request) -> Page:
    """Train NAIT through the suite and, where it is installed, a DQN."""
    size = QUICK if request.quick else FULL
    steps = request.steps or size.steps
    seeds = request.seeds or tuple(range(size.seeds))
    if request.steps is not None and request.steps < 100:
        raise NaitError(f"random-walk needs at least 100 steps, not {request.steps}")
    epsilon = (1.0, 0.0, max(1, size.decay * steps // size.steps))
    settings: dict[str, Any] = {"gamma": DISCOUNT, "epsilon": epsilon, "epsilon_hold": 1}
    jobs = make_jobs(Suite("random-walk", (RANDOM_WALK,)), seeds, [settings], steps=steps, episodes=20)
    standing = run_jobs("random-walk", request, jobs)
    write_csv(request.out / "runs.csv", read(request.out))
    learners = {"NAIT": [_nait(request, job) for job in jobs if job.name in standing.done]}
    texts = [
        f"Seeds {ranges(seeds)}, {steps_name(steps)} steps. Epsilon falls from 1 to 0 over {epsilon[2]:,} steps for "
        f"both; gamma is {DISCOUNT}.",
    ]
    warnings = [f"{name} failed: {error}" for name, error in standing.failed.items()]
    if dqn.installed():
        sights = look().reshape(-1, *ImageRandomWalk().observation_space.shape)  # type: ignore[misc]
        learners["DQN"] = [_dqn(request, seed, steps, epsilon, sights) for seed in seeds]
        texts.append("The DQN is Stable-Baselines3's, with " + ", ".join(f"{k}={v}" for k, v in dqn.SETTINGS.items()))
    else:
        warnings.append(f"There is no DQN beside it: {dqn.INSTALL} installs one.")
    learners = {name: mine for name, mine in learners.items() if mine}
    drawn = picture(
        "random_walk",
        f"Left: the mean reward of the last {TRAILING} episodes over seeds, with its 95 % interval; dotted, on the "
        "right axis: epsilon. Others: the learned values of both actions (means over seeds) and the optimal ones.",
        lambda: draw(learners, steps, Config(**settings)),
    )
    parts = [table(learners), *drawn]
    page = Section("The image random walk", texts, warnings, parts)
    return Page([page], {"episodes.csv": _episodes(learners), "values.csv": _values(learners)}, len(standing.failed))


def look() -> NDArray[np.float32]:
    """Some noisy sights of every state: (states, SIGHTS, size, size)."""
    env = ImageRandomWalk()
    env.reset(seed=SIGHT_SEED)
    return np.stack([np.stack([env.observe(state) for _ in range(SIGHTS)]) for state in range(1, STATES + 1)])


def _nait(request: Request, job: Job) -> Learner:
    folder = store.run_folder(request.out, job.name)
    rows = [row for row in read_table(folder / "episodes.csv") if int(row["step"]) <= job.steps]
    _, agent = open_run(folder)
    values = [[agent.memory.lookup(agent.representation(one)).q for one in sights] for sights in look()]
    ends, scores = ([float(row[name]) for row in rows] for name in ("step", "score"))
    return Learner(np.array(ends), np.array(scores), np.array(values).mean(axis=1))


def _dqn(
    request: Request, seed: int, steps: int, epsilon: tuple[float, float, int], sights: NDArray[np.float32]
) -> Learner:
    found = dqn.trained(request.out / "dqn", seed, steps, DISCOUNT, epsilon, sights)
    values = np.array(found.values).reshape(STATES, SIGHTS, -1).mean(axis=1)
    return Learner(np.array(found.steps, dtype=np.float64), np.array(found.scores), values)


def table(learners: Mapping[str, Sequence[Learner]]) -> Any:
    """When each agent had learned it, and how near its values are."""
    rows = []
    for name, mine in learners.items():
        solved = np.array([one.solved_at() for one in mine])
        reached = solved[np.isfinite(solved)]
        last = game_estimate(np.array([one.scores[-100:].mean() for one in mine]), 0)
        error = game_estimate(np.array([one.error() for one in mine]), 0)
        steps = f"{np.median(reached):,.0f}" if len(reached) == len(solved) else "not on every seed"
        rows.append([name, f"{len(reached)} of {len(solved)}", steps, _three(last), _three(error)])
    headings = (
        "agent",
        f"seeds that keep a mean reward of {SOLVED}",
        "median step from which they do",
        "mean reward of the last 100 episodes",
        "mean error of the best actions' values, states 9 to 19",
    )
    return plain_table("random_walk", "What was learned", headings, rows)


def _three(estimate: Estimate) -> str:
    return interval(estimate, lambda value: f"{value:.3f}")


def draw(learners: Mapping[str, Sequence[Learner]], steps: int, config: Config) -> Figure:
    """Reward over time, then one panel of values an agent."""
    figure = Figure(figsize=(style.WIDTH, 4.0), layout="constrained")
    panels: Any = figure.subplots(1, 1 + len(learners), width_ratios=[1.5, *([1.0] * len(learners))])
    _draw_reward(panels[0], learners, steps, config)
    for number, (axes, (name, mine)) in enumerate(zip(panels[1:], learners.items(), strict=True)):
        _draw_values(axes, name, mine, number)
    handles: list[Any] = [
        Line2D([], [], color=style.colour(number), linewidth=2, label=name) for number, name in enumerate(learners)
    ]
    handles += [
        Line2D([], [], color="black", linestyle=style.DASHES[2], label="epsilon"),
        Line2D([], [], color=style.GREY, marker="<", linewidth=1.2, markersize=5, label="a0, left"),
        Line2D([], [], color=style.GREY, marker=">", linewidth=1.2, markersize=5, label="a1, right"),
        Line2D([], [], color="black", linewidth=1.0, label="optimal"),
    ]
    legend(figure, handles)
    return figure


def _draw_reward(axes: Any, learners: Mapping[str, Sequence[Learner]], steps: int, config: Config) -> None:
    grid = np.linspace(0, steps, POINTS + 1)[1:]
    for number, mine in enumerate(learners.values()):
        band = mean_over_runs(np.stack([one.over_time(grid) for one in mine]))
        axes.fill_between(grid, band.low, band.high, color=style.colour(number), alpha=0.22, linewidth=0)
        axes.plot(grid, band.value, color=style.colour(number), linewidth=2.0)
    axes.set_ylim(-0.02, 1.05)
    axes.set_xlabel("steps")
    axes.set_ylabel(f"reward, mean of the last {TRAILING} episodes")
    axes.set_title("Reward over time")
    step_axis(axes, steps)
    right = axes.twinx()
    whole = np.linspace(0, steps, 4 * POINTS)
    right.plot(whole, [config.epsilon_at(int(step)) for step in whole], color="black", linestyle=style.DASHES[2])
    right.set_ylim(-0.02, 1.05)
    right.set_ylabel("epsilon")
    right.grid(visible=False)
    right.spines["right"].set_visible(True)


def _draw_values(axes: Any, name: str, mine: Sequence[Learner], number: int) -> None:
    states = np.arange(1, STATES + 1)
    learned = np.mean([one.values for one in mine], axis=0)
    best = optimal_q(DISCOUNT)
    for action, marker in enumerate("<>"):
        axes.plot(states, best[:, action], color="black", linewidth=1.0, markersize=3.5, marker=marker, alpha=0.7)
        axes.plot(states, learned[:, action], color=style.colour(number), linewidth=1.6, marker=marker, markersize=5)
    axes.set_ylim(-0.05, 1.1)
    axes.set_xticks([1, 5, 9, 15, 19])
    axes.set_xlabel("state")
    axes.set_title(f"Values of {name}")


def _episodes(learners: Mapping[str, Sequence[Learner]]) -> bytes:
    rows = (
        [name, run, f"{step:.0f}", f"{score:g}"]
        for name, mine in learners.items()
        for run, one in enumerate(mine)
        for step, score in zip(one.steps, one.scores, strict=True)
    )
    return _written(["agent", "run", "step", "score"], rows)


def _values(learners: Mapping[str, Sequence[Learner]]) -> bytes:
    best = optimal_q(DISCOUNT)
    rows = (
        [name, run, state + 1, action, f"{one.values[state, action]:.5f}", f"{best[state, action]:.5f}"]
        for name, mine in learners.items()
        for run, one in enumerate(mine)
        for state in range(STATES)
        for action in (0, 1)
    )
    return _written(["agent", "run", "state", "action", "learned", "optimal"], rows)


def _written(columns: Sequence[str], rows: Any) -> bytes:
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue().encode()


EXPERIMENT = Experiment(
    "random-walk",
    "the image random walk: reward over time and values against the optimal ones, NAIT beside a DQN",
    "about half an hour of one core",
    make,
    options=("seeds", "steps", "jobs", "engine"),
)
