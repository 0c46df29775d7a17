"""What a benchmark consists of: suites of games, seeds, and a grid over settings, as a list of jobs."""

from __future__ import annotations

import difflib
import hashlib
import itertools
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from nait.config import Config, parse_epsilon
from nait.envs import AtariSettings, is_game
from nait.errors import NaitError
from nait.experiments.run import RunSettings, check_budget, new_agent
from nait.experiments.suites import BUDGETS, atari57, atari100k

MOST_STEPS = max(BUDGETS)
LONGEST_NAME = 120
RANDOM_WALK = "nait/ImageRandomWalk-v0"
HYPERPARAMETERS = {entry.name: entry.default for entry in fields(Config)}
ENV_OPTIONS: dict[str, Any] = {entry.name: entry.default for entry in fields(AtariSettings)}
DEFAULTS = {**ENV_OPTIONS, **HYPERPARAMETERS}
TRUTHS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True)
class Suite:
    """Games that are run together."""

    name: str
    games: tuple[str, ...]
    steps: int = 100_000
    """Of a run, unless the user says otherwise."""
    settings: dict[str, Any] = field(default_factory=dict)
    """What the suite sets beside the defaults."""


def suites() -> dict[str, Suite]:
    """All suites by name."""
    known = (
        Suite("atari100k", tuple(atari100k())),
        Suite("atari57", tuple(atari57())),
        Suite("random-walk", (RANDOM_WALK,), steps=5000, settings={"gamma": 0.9}),
    )
    return {suite.name: suite for suite in known}


def find_suite(name: str | None, games: Sequence[str]) -> Suite:
    """The suite of this name, narrowed to `games` if there are any; or one of these games without a name."""
    if name is None:
        if not games:
            raise NaitError(f"name a suite ({', '.join(suites())}) or games (--games Pong,Breakout)")
        return Suite("games", tuple(dict.fromkeys(games)))
    if name not in suites():
        near = difflib.get_close_matches(name, suites(), n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(suites())}; --games takes single games"
        raise NaitError(f"there is no suite {name!r}: {hint}")
    suite = suites()[name]
    for game in games:
        if game not in suite.games:
            near = difflib.get_close_matches(game, suite.games, n=1)
            hint = f"did you mean {near[0]}?" if near else "--games without a suite takes any game"
            raise NaitError(f"{name} has no game {game!r}: {hint}")
    chosen = tuple(game for game in suite.games if game in games) if games else suite.games
    return Suite(suite.name, chosen, suite.steps, suite.settings)


def parse_seeds(text: str) -> tuple[int, ...]:
    """`10` is 0 to 9; `3,5-7` is 3, 5, 6, 7; `4,` is 4 alone."""
    try:
        if "," not in text and "-" not in text:
            seeds = range(int(text))
            if not seeds:
                raise ValueError
            return tuple(seeds)
        found: list[int] = []
        for part in filter(None, text.split(",")):
            first, dash, last = part.partition("-")
            found.extend(range(int(first), int(last if dash else first) + 1))
        if not found:
            raise ValueError
        return tuple(dict.fromkeys(found))
    except ValueError:
        raise NaitError(f"--seeds takes a number of seeds, or a list such as 3,5-7, not {text!r}") from None


def parse_grid(given: Iterable[str]) -> list[dict[str, Any]]:
    """The product of `name=value,value` lists, one dictionary a combination."""
    axes: dict[str, list[Any]] = {}
    for text in given:
        name, equals, values = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not values:
            raise NaitError(f"--set takes NAME=VALUE or NAME=VALUE,VALUE,..., not {text!r}")
        if name not in DEFAULTS:
            near = difflib.get_close_matches(name, DEFAULTS, n=1)
            hint = f"did you mean {near[0]}?" if near else "`nait train --help` lists them"
            raise NaitError(f"there is no hyperparameter or setting of the games {name!r}: {hint}")
        if name in axes:
            raise NaitError(f"--set {name} is given twice: write --set {name}=VALUE,VALUE")
        axes[name] = [_parse_value(name, value.strip()) for value in values.split(",")]
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]


def _parse_value(name: str, text: str) -> Any:
    default = DEFAULTS[name]
    if name == "epsilon":
        return parse_epsilon(text)
    try:
        return TRUTHS[text.lower()] if isinstance(default, bool) else type(default)(text)
    except (ValueError, KeyError):
        kind = {bool: "true or false", int: "a whole number", float: "a number"}[type(default)]
        raise NaitError(f"{name} must be {kind}, not {text!r}") from None


@dataclass(frozen=True, kw_only=True)
class Job:
    """One run of a benchmark, and how far it goes."""

    suite: str
    game: str
    seed: int
    steps: int
    overrides: dict[str, Any] = field(default_factory=dict)
    """Hyperparameters and settings of the games that differ from their defaults."""
    episodes: int = 50
    """Of each evaluation."""
    checkpoint_every: int = 10_000
    keep_checkpoints: bool = True

    @property
    def setting(self) -> str:
        """The overrides in a few words."""
        return " ".join(f"{name}={_text(value)}" for name, value in sorted(self.overrides.items()))

    @property
    def name(self) -> str:
        """Of the run's folder: the same for the same game, overrides and seed."""
        name = "-".join(filter(None, (self.game, self.setting.replace(" ", "-"), f"s{self.seed}")))
        name = re.sub(r"[^\w.=+-]", "-", name)
        if len(name) > LONGEST_NAME:
            digest = hashlib.sha256(name.encode()).hexdigest()[:12]
            name = f"{name[: LONGEST_NAME // 2]}-{digest}-s{self.seed}"
        return name

    @property
    def milestones(self) -> tuple[int, ...]:
        """The steps after which it is evaluated: the paper's, and the end."""
        return (*(budget for budget in BUDGETS if budget < self.steps), self.steps)

    @property
    def settings(self) -> RunSettings:
        """As a single run has them."""
        hyperparameters = {name: value for name, value in self.overrides.items() if name in HYPERPARAMETERS}
        options = {name: value for name, value in self.overrides.items() if name not in HYPERPARAMETERS}
        if is_game(self.game) and "frame_stack" in hyperparameters:  # both have it
            options["frame_stack"] = hyperparameters["frame_stack"]
        return RunSettings(env=self.game, seed=self.seed, hyperparameters=hyperparameters, env_options=options)

    def to_json(self) -> str:
        """For another process."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Job:
        """Read what `to_json` wrote."""
        data = json.loads(text)
        if isinstance(data["overrides"].get("epsilon"), list):
            data["overrides"]["epsilon"] = tuple(data["overrides"]["epsilon"])
        return cls(**data)


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return ":".join(f"{part:g}" for part in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def make_jobs(
    suite: Suite,
    seeds: Sequence[int],
    grid: Sequence[dict[str, Any]],
    *,
    steps: int | None = None,
    episodes: int = 50,
    checkpoint_every: int = 10_000,
    keep_checkpoints: bool = True,
) -> list[Job]:
    """Every run, all games of one seed before the next so that a part of a suite is a fair one; mistakes are told."""
    steps = suite.steps if steps is None else steps
    check_budget(steps, checkpoint_every)
    if steps > MOST_STEPS:
        raise NaitError(f"steps must be at most {MOST_STEPS:,}, not {steps:,}")
    if episodes < 1:
        raise NaitError(f"episodes must be at least 1, not {episodes}")
    combinations = [_differing({**suite.settings, **combination}) for combination in grid]
    jobs = {
        job.name: job
        for seed in seeds
        for overrides in combinations
        for game in suite.games
        if (
            job := Job(
                suite=suite.name,
                game=game,
                seed=seed,
                steps=steps,
                overrides=overrides,
                episodes=episodes,
                checkpoint_every=checkpoint_every,
                keep_checkpoints=keep_checkpoints,
            )
        )
    }
    _check(jobs.values())
    return list(jobs.values())


def _differing(overrides: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in sorted(overrides.items()) if value != DEFAULTS[name]}


def _check(jobs: Iterable[Job]) -> None:
    """Make each kind of agent once, so that a mistake is told before anything runs."""
    made = set()
    for job in jobs:
        job.settings.to_json()
        kind = ("a game" if is_game(job.game) else job.game, job.setting)
        if kind not in made:
            new_agent(job.settings)
            made.add(kind)
