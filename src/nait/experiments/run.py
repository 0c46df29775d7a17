"""One training run in a folder of its own: resumable at any moment, then evaluated.

config.json      all that is needed to run it again, versions included
episodes.csv     one row an episode
progress.csv     one row every 1000 interactions
checkpoint.nait  the agent and its environment; checkpoint.nait.previous is the one before
checkpoints.csv  the seconds of training until each checkpoint
eval.json        the score after training
lock             held by the process at work here
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from nait.agent import NAIT
from nait.callbacks import Callback, CallbackLike
from nait.checkpoint import previous
from nait.config import Config
from nait.envs import all_options, make_env
from nait.errors import NaitError
from nait.evaluation import evaluate_policy
from nait.experiments import provenance
from nait.experiments.files import locked, write_json
from nait.experiments.signals import on_signal
from nait.experiments.tables import Table, read_table
from nait.progress import ProgressCallback

EVAL_SEED_OFFSET = 1_000_000  # no-op starts of the evaluation are not those of the training
LOG_EVERY = 1000
TRAILING = 5
PROGRESS = ("step", "score5", "episodes", "states", "itr_s", "seconds")


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """What one run is: the same settings give the same episodes."""

    env: str
    seed: int = 0
    hyperparameters: dict[str, Any] = field(default_factory=dict)
    env_options: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As `config.json` holds it: every hyperparameter, named or default."""
        return {
            "env": self.env,
            "seed": self.seed,
            "hyperparameters": json.loads(json.dumps(Config(**self.hyperparameters).to_json())),
            "env_options": all_options(self.env, self.env_options),
        }


@dataclass(frozen=True)
class Outcome:
    """How a call of `train` ended."""

    agent: NAIT
    finished: bool
    """False if it was interrupted; the checkpoint is written all the same."""
    itr_s: float
    """Steps a second of this call."""


def train(
    settings: RunSettings,
    folder: Path,
    steps: int,
    *,
    resume: bool = False,
    checkpoint_every: int = 10_000,
    progress: bool = True,
) -> Outcome:
    """Train up to `steps` steps in `folder`, going on from its checkpoint with `resume`."""
    check_budget(steps, checkpoint_every)
    new_agent(settings)  # before the folder is touched, so that a mistake leaves nothing behind
    make_folder(folder)
    with locked(folder):
        return train_here(settings, folder, steps, resume=resume, checkpoint_every=checkpoint_every, progress=progress)


def check_budget(steps: int, checkpoint_every: int) -> None:
    """Refuse numbers that make no run."""
    if steps < 1:
        raise NaitError(f"steps must be at least 1, not {steps}")
    if checkpoint_every < 1:
        raise NaitError(f"checkpoint_every must be at least 1, not {checkpoint_every}")


def new_agent(settings: RunSettings) -> NAIT:
    """An agent before its first step; settings that make none are refused."""
    settings.to_json()
    return NAIT(make_env(settings.env, **settings.env_options), seed=settings.seed, **settings.hyperparameters)


def make_folder(folder: Path) -> None:
    """Make it and those above it, where they are missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NaitError(f"cannot write into {folder}: {error.strerror or error}") from None


def train_here(
    settings: RunSettings,
    folder: Path,
    steps: int,
    *,
    resume: bool,
    checkpoint_every: int,
    progress: bool = False,
    pauses: Sequence[int] = (),
    on_pause: Callable[[NAIT, RunLog], None] = lambda agent, log: None,
) -> Outcome:
    """The same for one who holds the lock of `folder`.

    :param pauses: steps after which `on_pause` is called, with a checkpoint on the disk if it loses nothing;
        a signal then raises `Stopped`
    """
    description = settings.to_json()
    existing = _read_config(folder)
    if existing is not None and not resume:
        raise NaitError(f"{folder} holds a run already: --resume continues it, another --out starts a new one")
    if existing is not None:
        _check_same_run(folder, existing, description)
    checkpoint = folder / "checkpoint.nait"
    if existing is not None and (checkpoint.exists() or previous(checkpoint).exists()):
        agent = _load(checkpoint, settings, steps)
    else:
        agent = new_agent(settings)
    if agent.num_timesteps > steps:
        raise NaitError(f"{folder} has {agent.num_timesteps} steps already, more than the {steps} asked for")
    try:
        if existing is None:
            origin = {"versions": provenance.versions(), "machine": provenance.machine()}
            write_json(folder / "config.json", {**description, **origin, "commit": provenance.commit()})
        log = RunLog(folder, agent, checkpoint_every)
        callbacks: list[CallbackLike] = [log]
        if progress:
            callbacks.append(ProgressCallback(steps))
        first, seconds = agent.num_timesteps, log.seconds()
        with log, stop_on_signal(log):
            for goal in sorted({steps, *(pause for pause in pauses if first <= pause < steps)}):
                log.go_on()
                agent.learn(goal - agent.num_timesteps, callback=callbacks)
                elapsed = log.seconds() - seconds
                log.save(finished=agent.num_timesteps >= steps)
                log.pause()
                if agent.num_timesteps >= goal and goal in pauses:
                    log.at_rest = True
                    on_pause(agent, log)
                    log.at_rest = False
                if log.stopping:
                    break
    except OSError as error:
        raise NaitError(f"cannot write into {folder}: {error.strerror or error}") from None
    rate = (agent.num_timesteps - first) / elapsed if agent.num_timesteps > first else 0.0
    return Outcome(agent, agent.num_timesteps >= steps, rate)


def _load(checkpoint: Path, settings: RunSettings, steps: int) -> NAIT:
    """The agent from which `steps` steps are reached as if it had never stopped.

    A finished run that could not save its last episode goes on from the end of an earlier one.
    """
    for path in (checkpoint, previous(checkpoint)):
        if path == checkpoint or path.exists():
            agent = NAIT.load(path, env=make_env(settings.env, **settings.env_options))
            if agent.num_timesteps >= steps or not agent.lost_an_episode():
                return agent
    return new_agent(settings)


class RunLog(Callback):
    """Writes a run's files while it goes on."""

    def __init__(self, folder: Path, agent: NAIT, checkpoint_every: int) -> None:
        super().__init__()
        self.stopping = False
        """Set from outside to end the training after the step under way."""
        self.at_rest = False
        """While nothing is under way that would have to be saved."""
        self._folder = folder
        self._every = checkpoint_every
        self._agent = agent
        self._saved_at = agent.num_timesteps
        self._episodes = Table(
            folder / "episodes.csv", ("episode", "step", "score", "length"), after=agent.num_timesteps
        )
        self._progress = Table(folder / "progress.csv", PROGRESS, after=agent.num_timesteps)
        self._checkpoints = Table(folder / "checkpoints.csv", ("step", "seconds"), after=agent.num_timesteps)
        self._written = len(agent.episode_scores)
        self._board = _tensorboard(folder)
        self._seconds = _seconds_at(folder, agent.num_timesteps)
        self._begun: float | None = None  # None while it pauses
        self._marked = agent.num_timesteps, self._seconds  # of the last row of progress

    def __enter__(self) -> RunLog:
        return self

    def __exit__(self, *_: object) -> None:
        self._episodes.close()
        self._progress.close()
        self._checkpoints.close()
        if self._board is not None:
            self._board.close()

    def seconds(self) -> float:
        """Of training since the run's beginning, pauses and interruptions left out."""
        return self._seconds + (0.0 if self._begun is None else time.perf_counter() - self._begun)

    def go_on(self) -> None:
        """Training begins, or goes on."""
        self._begun = time.perf_counter()

    def pause(self) -> None:
        """What follows is no training."""
        self._seconds, self._begun = self.seconds(), None

    def _on_step(self) -> bool:
        agent = self._agent
        if len(agent.episode_scores) > self._written:
            self._write_episode()
        if agent.num_timesteps % LOG_EVERY == 0:
            self._write_progress()
        if agent.num_timesteps - self._saved_at >= self._every and agent.resumes_exactly():
            self.save()
        return not self.stopping

    def save(self, finished: bool = False) -> None:
        """Write the checkpoint if it would lose nothing, or if the run is finished.

        An environment that cannot be saved within an episode and is interrupted there keeps the
        checkpoint of an earlier episode's end, from which `--resume` does the rest again.
        """
        new = self._agent.num_timesteps > self._saved_at
        if new and (finished or self._agent.resumes_exactly()):
            self._checkpoints.append(step=self._agent.num_timesteps, seconds=round(self.seconds(), 3))
            self._agent.save(self._folder / "checkpoint.nait")
            self._saved_at = self._agent.num_timesteps

    def _write_episode(self) -> None:
        ends = self._agent.episode_ends
        began = ends[-2] if len(ends) > 1 else 0
        self._written = len(ends)
        self._episodes.append(
            episode=len(ends), step=ends[-1], score=self._agent.episode_scores[-1], length=ends[-1] - began
        )

    def _write_progress(self) -> None:
        agent, seconds = self._agent, self.seconds()
        step, before = self._marked
        recent = trailing_score(agent)
        row = {
            "score5": "" if recent is None else recent,
            "episodes": len(agent.episode_scores),
            "states": len(agent.memory),
            "itr_s": round((agent.num_timesteps - step) / (seconds - before), 1),
            "seconds": round(seconds, 3),
        }
        self._marked = agent.num_timesteps, seconds
        self._progress.append(step=agent.num_timesteps, **row)
        if self._board is not None:
            for name, value in row.items():
                if value != "":
                    self._board.add(name, float(value), agent.num_timesteps)


def trailing_score(agent: NAIT) -> float | None:
    """Mean of the last five episodes of training; None before the first has ended."""
    recent = agent.episode_scores[-TRAILING:]
    return float(np.mean(recent)) if recent else None


def _seconds_at(folder: Path, step: int) -> float:
    rows = read_table(folder / "checkpoints.csv")
    return float(rows[-1]["seconds"]) if rows and step else 0.0


def evaluate(
    agent: NAIT, settings: RunSettings, episodes: int, on_episode: Callable[[int, float], None] | None = None
) -> dict[str, Any]:
    """Score after training: fresh episodes, played by `config.play` and without learning.

    It rests on the memory, the seed and the step count alone, whatever was evaluated before, and leaves
    no mark on the agent.
    """
    if episodes < 1:
        raise NaitError(f"episodes must be at least 1, not {episodes}")
    env = make_env(settings.env, **settings.env_options)
    with agent.playing_from(settings.seed, agent.num_timesteps):
        scores, lengths = evaluate_policy(
            agent,
            env,
            n_eval_episodes=episodes,
            deterministic=False,
            return_episode_rewards=True,
            seed=settings.seed + EVAL_SEED_OFFSET,
            on_episode=on_episode,
        )
    return {
        "env": settings.env,
        "seed": settings.seed,
        "steps": agent.num_timesteps,
        "play": agent.config.play,
        "episodes": episodes,
        "score": float(np.mean(scores)),
        "std": float(np.std(scores)),
        "scores": scores,
        "lengths": lengths,
        "states": len(agent.memory),
        "distinct_states": agent.memory.distinct_states(),
    }


def open_run(folder: Path) -> tuple[RunSettings, NAIT]:
    """A run's settings and its agent as last saved."""
    config = _read_config(folder)
    if config is None:
        raise NaitError(f"{folder} holds no run: `nait train GAME --out {folder}` makes one")
    settings = _settings(config)
    env = make_env(settings.env, **settings.env_options)
    return settings, NAIT.load(folder / "checkpoint.nait", env=env)


class Stopped(Exception):  # noqa: N818 (no error)
    """A signal came during a pause of the training."""


def stop_on_signal(log: RunLog) -> AbstractContextManager[None]:
    """Ctrl-C and SIGTERM end the training after the step under way, a pause and a second Ctrl-C at once."""

    def stop() -> None:
        log.stopping = True
        if log.at_rest:
            raise Stopped

    return on_signal(stop)


class _Board:
    """TensorBoard events; only where that package is installed."""

    def __init__(self, folder: Path) -> None:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        self._event, self._summary = Event, Summary
        self._writer = EventFileWriter(str(folder))

    def add(self, name: str, value: float, step: int) -> None:
        summary = self._summary(value=[self._summary.Value(tag=f"train/{name}", simple_value=value)])
        self._writer.add_event(self._event(wall_time=time.time(), step=step, summary=summary))

    def close(self) -> None:
        self._writer.close()


def _tensorboard(folder: Path) -> _Board | None:
    try:
        return _Board(folder)
    except ImportError:
        return None


def _read_config(folder: Path) -> dict[str, Any] | None:
    path = folder / "config.json"
    try:
        config: dict[str, Any] = json.loads(path.read_text())
        if not isinstance(config, dict) or not {"env", "seed", "hyperparameters", "env_options"} <= set(config):
            raise NaitError(f"{path} is not a run's configuration")
        return config
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        raise NaitError(f"{folder} is a file, not a folder") from None
    except OSError as error:
        raise NaitError(f"cannot read {path}: {error.strerror or error}") from None
    except json.JSONDecodeError:
        raise NaitError(f"{path} is damaged: it is not JSON") from None


def _settings(config: dict[str, Any]) -> RunSettings:
    return RunSettings(
        env=config["env"],
        seed=config["seed"],
        hyperparameters=Config.from_json(config["hyperparameters"]).to_json(),
        env_options=config["env_options"],
    )


def _check_same_run(folder: Path, existing: dict[str, Any], wanted: dict[str, Any]) -> None:
    before = _settings(existing).to_json()  # an option younger than the run is as the agent was without it
    for name in ("env", "seed", "env_options"):
        if before[name] != wanted[name]:
            raise NaitError(f"{folder} is a run with {name} {before[name]}, not {wanted[name]}: use another --out")
    for name, value in wanted["hyperparameters"].items():
        had = before["hyperparameters"][name]
        if had != value:
            raise NaitError(f"{folder} is a run with {name}={had}, not {value}: use another --out")
