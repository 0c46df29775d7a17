"""NAIT: Algorithm 1 of the paper, and what a user does with the agent it trains."""

from __future__ import annotations

import bisect
import difflib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from nait import checkpoint
from nait.arrays import Arrays, part, prefixed
from nait.callbacks import MaybeCallback, as_callback
from nait.config import Config
from nait.envs import Frames, Resumable
from nait.errors import NaitError
from nait.kernels import shares
from nait.memory import ABSENT, Lookup
from nait.native_memory import make_memory
from nait.policy import choose, draw_hold
from nait.progress import ProgressCallback
from nait.representation import make_representation
from nait.trace import Trace

LOOKUPS_KEPT = 1 << 14  # in play; some 3 kB each

Env = gymnasium.Env[Any, Any]
Stack = NDArray[np.generic]


@dataclass(frozen=True)
class Neighbour:
    """One remembered moment behind a value."""

    episode: int
    """Episode in which it was first met, counted from 1."""
    step: int
    """Step within that episode, counted from 0."""
    distance: float
    """L2 distance from the state asked about."""
    weight: float
    """Its share in the value; the shares of one action add up to 1."""
    value: float
    """The return remembered for it."""
    state: NDArray[Any]
    """What it looked like to the memory."""


@dataclass(frozen=True)
class ActionValue:
    """What the memory knows of one action."""

    action: int
    name: str
    value: float
    """Q(s, a); infinite for an action that has been tried fewer than k times (`thin_value`)."""
    distance: float
    """The tie-break's mean squared distance; infinite where fewer than k states are known."""
    exact: bool
    """Whether this very state is in memory; the value is then the remembered one."""
    neighbours: tuple[Neighbour, ...]
    """Nearest first; one alone if the match is exact."""


@dataclass(frozen=True)
class Decision:
    """Why the agent acts as it does in one state."""

    action: int
    """What `predict(deterministic=True)` chooses."""
    actions: tuple[ActionValue, ...]


class NAIT:
    """Nonparametric approximation of inter-trace returns.

    :param env: any Gymnasium environment with discrete actions and array observations. 8-bit images
        are made grey, shrunk to 84x84 and stacked where the environment does not do so itself; every
        other observation is a vector, for which `representation="dct"` stands for `identity`.
    :param seed: of everything random here and, at its first reset, in the environment
    :param hyperparameters: any field of `Config`
    """

    def __init__(self, env: Env, *, seed: int | None = None, **hyperparameters: Any) -> None:
        config = _config(hyperparameters)
        self._build(env.observation_space, env.action_space, config, seed)
        self.env: Env | None = env

    def _build(self, observations: Any, actions: Any, config: Config, seed: int | None) -> None:
        if not isinstance(actions, Discrete) or actions.start != 0:
            raise NaitError(
                f"NAIT needs discrete actions counted from 0 (a Discrete space), not {actions}: "
                "for a continuous space, offer the agent a list of actions through a wrapper"
            )
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
            raise NaitError(f"seed must be a whole number of at least 0, not {seed!r}")
        self.config = config
        self.seed = seed
        self.observation_space, self.action_space = observations, actions
        self.n_actions = int(actions.n)
        sequence = np.random.SeedSequence(seed)
        self._entropy = sequence.entropy
        projection, policy, play = sequence.spawn(3)
        self._rng = np.random.default_rng(policy)
        self._play_rng = np.random.default_rng(play)  # predict draws from its own, and disturbs no training
        self._frames = Frames(observations, config.frame_stack)
        self.representation = make_representation(
            config.representation,
            self._frames.shape,
            self._frames.is_image,
            config.state_dim,
            np.random.default_rng(projection),
            native=config.index == "native",
        )
        self.memory = make_memory(self.n_actions, self.representation, config)
        self.trace = Trace(config.gamma, self.representation.dim, config.update_every, config.trace_decay)
        self.num_timesteps = 0
        self.episode_scores: list[float] = []
        """Undiscounted return of every finished episode, in the game's own reward."""
        self.episode_ends: list[int] = []
        """The step count at which each of them ended."""
        self._stack: Stack | None = None  # None between episodes
        self._score = 0.0
        self._lives = 0
        self._held, self._hold = 0, 0  # a random action, and for how many steps more
        self._looked_up: dict[bytes, Lookup] = {}  # in play, by the state, since the memory last changed

    # Algorithm 1

    def learn(self, total_timesteps: int, callback: MaybeCallback = None, progress_bar: bool = False) -> NAIT:
        """Train for so many steps. A second call goes on where the first stopped, inside an episode too.

        :param callback: a function `f(locals, globals)`, a `Callback`, one of Stable-Baselines3's, or a
            list; one that returns False ends the training
        :param progress_bar: show steps, itr/s, time left and the trailing score
        """
        if self.env is None:
            raise NaitError("this agent was loaded without an environment: give one to NAIT.load(path, env=...)")
        goal = self.num_timesteps + total_timesteps
        calls = as_callback(callback)
        if progress_bar:
            calls = as_callback([calls, ProgressCallback(goal)])
        calls.init_callback(self)
        step: dict[str, Any] = {"self": self}
        calls.on_training_start(step, {})
        while self.num_timesteps < goal:
            if self._stack is None:
                self._begin_episode(self.env)
            step["rewards"], step["dones"], step["infos"] = self._step(self.env)
            if not calls.on_step():
                break
        calls.on_training_end()
        return self

    def _begin_episode(self, env: Env) -> None:
        seed = self.seed if self.num_timesteps == 0 else None
        observation, info = env.reset(seed=seed)
        self._stack = self._frames.first(observation)
        self._score = 0.0
        self._lives = int(info.get("lives", 0))
        self._hold = 0
        self._begin_trace()

    def _begin_trace(self) -> None:
        self.trace.clear()
        self.memory.freeze()  # M' <- M

    def _step(self, env: Env) -> tuple[float, bool, dict[str, Any]]:
        """One pass of Algorithm 1's inner loop."""
        assert self._stack is not None
        self._looked_up.clear()
        lookup = self.memory.lookup(self.representation(self._stack))
        action = self._act(lookup)
        self._update(lookup, action)
        self.trace.append(self.memory, lookup, action, self.num_timesteps)
        observation, reward, terminated, truncated, info = env.step(action)
        self._stack = self._frames.next(self._stack, observation)
        self.trace.receive(float(reward))
        self.num_timesteps += 1
        self._score += float(info.get("raw_reward", reward))
        done = bool(terminated or truncated)
        lost_life = int(info.get("lives", 0)) < self._lives
        self._lives = int(info.get("lives", 0))
        if done:
            self._end_episode()
        elif lost_life and self.config.trace_end == "life":
            self.trace.write(self.memory, self.trace.returns)
            self._begin_trace()
        return float(reward), done, info

    def _act(self, lookup: Lookup) -> int:
        epsilon = self.config.epsilon_at(self.num_timesteps)
        if not self._hold and epsilon > 0 and self._rng.random() < epsilon:
            self._held = int(self._rng.integers(self.n_actions))
            self._hold = draw_hold(self.config.epsilon_hold, self._rng)
        if self._hold:
            self._hold -= 1
            return self._held
        return choose(lookup, self.config, self._rng)

    def _update(self, lookup: Lookup, action: int) -> None:
        """Inter-trace targets for the pairs up to the last step, now that s' and a' are known."""
        if self.config.update != "intertrace" or self.trace.time == 0:
            return
        timing, decay = self.config.update_timing, self.config.trace_decay
        due = timing != "batch" or (self.trace.time - 1) % self.config.update_every == 0
        if not due and decay == 1.0:
            return
        bootstrap = self.memory.frozen_q(lookup, action)
        if decay < 1.0:
            self.trace.average(bootstrap)
        if timing != "batch":
            self.trace.write_due(self.memory, bootstrap, at_once=timing == "staggered")
        elif due:
            self.trace.write(self.memory, self.trace.targets(bootstrap))

    def _end_episode(self) -> None:
        """Final returns: Update(tau, G)."""
        self.trace.write(self.memory, self.trace.returns)
        self._stack = None
        self.episode_scores.append(self._score)
        self.episode_ends.append(self.num_timesteps)

    def cut_episode(self) -> None:
        """End the episode under way here, as if the environment had; the next step begins with a reset."""
        if self._stack is not None:
            self._looked_up.clear()
            self._end_episode()

    # Using what was learned

    def predict(
        self,
        observation: Any,
        state: Stack | None = None,
        episode_start: NDArray[np.bool_] | None = None,
        deterministic: bool = False,
    ) -> tuple[Any, Stack | None]:
        """The action for an observation, or one each for a batch of them.

        :param observation: as the environment returns it, or several along a first axis
        :param state: what the last call returned; it holds the frames before this one where the
            environment does not stack them itself, and is None where it does
        :param episode_start: for a batch, which observations are the first of an episode
        :param deterministic: take the likeliest action of a tie instead of drawing one
        """
        array = np.asarray(observation)
        shape = self._frames.space.shape
        batch = array.shape[1:] == shape and array.ndim == len(shape) + 1
        observations = array if batch else array[None]
        stacks = []
        for i, one in enumerate(observations):
            begins = state is None or (episode_start is not None and bool(np.atleast_1d(episode_start)[i]))
            before = None if begins or state is None else (state[i] if batch else state)
            stacks.append(self._frames.first(one) if before is None else self._frames.next(before, one))
        rng = None if deterministic else self._play_rng
        actions = [self._play(self._look_in_play(stack), rng) for stack in stacks]
        kept = (np.stack(stacks) if batch else stacks[0]) if self._frames.stacks else None
        return (np.array(actions) if batch else actions[0]), kept

    def begin_play(self) -> None:
        """Let `predict` begin anew, whatever it was asked before: an approximate search begins where the last one
        ended, and what it finds may depend on that. `evaluate_policy` does this first.
        """
        self._looked_up.clear()
        self.memory.begin_play()

    @contextmanager
    def playing_from(self, *seed: int) -> Iterator[None]:
        """Let `predict` draw from a generator of this seed meanwhile, and then go on with its own."""
        own, self._play_rng = self._play_rng, np.random.default_rng(seed)
        try:
            yield
        finally:
            self._play_rng = own

    def explain(self, observation: Any, state: Stack | None = None) -> Decision:
        """Why the agent acts as it does: each action's value and the remembered moments behind it.

        :param observation: one, as the environment returns it
        :param state: as for `predict`
        """
        stack = self._frames.first(observation) if state is None else self._frames.next(state, observation)
        lookup = self.memory.lookup(self.representation(stack), playing=True, search_thin=True)
        actions = tuple(self._explain_action(lookup, action) for action in range(self.n_actions))
        return Decision(self._play(lookup, None), actions)

    def _play(self, lookup: Lookup, rng: np.random.Generator | None) -> int:
        return choose(lookup, self.config, rng, known_first=self.config.play == "known")

    def _look_in_play(self, stack: Stack) -> Lookup:
        """A lookup that leaves the training as it is; in a state asked about before the one made then.

        The memory stands still in play, and games that begin alike go through the same states again: nine steps of ten
        in an evaluation of 50 episodes on most games.
        """
        state = self.representation(stack)
        key = state.tobytes()
        if key not in self._looked_up:
            if len(self._looked_up) == LOOKUPS_KEPT:
                self._looked_up.clear()
            self._looked_up[key] = self.memory.lookup(state, playing=True)
        return self._looked_up[key]

    def _explain_action(self, lookup: Lookup, action: int) -> ActionValue:
        known = int(lookup.exact[action])
        if known != ABSENT:
            ids, squared = np.array([known]), np.zeros(1)
        else:
            ids, squared = self.memory.neighbours(lookup, action)
        weights = shares(self.config.kernel, squared) if len(ids) else squared
        born, values, states = self.memory.born(ids), self.memory.values_of(ids), self.memory.states_of(ids)
        neighbours = []
        for i in range(len(ids)):
            episode = bisect.bisect_right(self.episode_ends, int(born[i]))
            began = self.episode_ends[episode - 1] if episode else 0
            neighbours.append(
                Neighbour(
                    episode=episode + 1,
                    step=int(born[i]) - began,
                    distance=float(np.sqrt(squared[i])),
                    weight=float(weights[i]),
                    value=float(values[i]),
                    state=states[i],
                )
            )
        return ActionValue(
            action=action,
            name=self.action_names()[action],
            value=float(lookup.q[action]),
            distance=float(lookup.distance[action]),
            exact=known != ABSENT,
            neighbours=tuple(neighbours),
        )

    def action_names(self) -> list[str]:
        """The environment's names of its actions, or their numbers."""
        meanings = getattr(self.env.unwrapped, "get_action_meanings", None) if self.env is not None else None
        return list(meanings()) if meanings else [str(action) for action in range(self.n_actions)]

    def get_env(self) -> Env | None:
        """The environment it learns in."""
        return self.env

    # Files

    def save(self, path: str | Path) -> None:
        """Write everything into one file, from which `load` goes on bit for bit.

        An episode under way is saved too if the environment can tell its state (ours can); of any
        other environment the file continues with the next episode.
        """
        meta, arrays = self._saved()
        checkpoint.save(Path(path), meta, arrays)

    def resumes_exactly(self) -> bool:
        """Whether `save` at this moment would lose nothing."""
        return self._stack is None or isinstance(self.env, Resumable)

    def lost_an_episode(self) -> bool:
        """Whether it was saved within an episode that its environment could not save."""
        last = self.episode_ends[-1] if self.episode_ends else 0
        return self._stack is None and self.num_timesteps > last

    def _saved(self) -> tuple[dict[str, Any], Arrays]:
        space = self._frames.space
        meta: dict[str, Any] = {
            "config": self.config.to_json(),
            "seed": self.seed,
            "entropy": self._entropy,
            "env": describe_env(self.env) if self.env is not None else None,
            "n_actions": self.n_actions,
            "observation_shape": space.shape,
            "observation_dtype": str(space.dtype),
            "num_timesteps": self.num_timesteps,
            "rng": self._rng.bit_generator.state,
            "play_rng": self._play_rng.bit_generator.state,
            "running": False,
        }
        arrays = prefixed("memory.", self.memory.save())
        arrays.update(prefixed("representation.", self.representation.save()))
        arrays["episode_scores"] = np.array(self.episode_scores, dtype=np.float64)
        arrays["episode_ends"] = np.array(self.episode_ends, dtype=np.int64)
        if isinstance(self.env, Resumable):
            arrays.update(prefixed("env.", self.env.snapshot()))
        elif self.env is not None and self._stack is None:
            generator = getattr(self.env.unwrapped, "_np_random", None)
            meta["env_rng"] = generator.bit_generator.state if generator is not None else None
        if self._stack is not None and isinstance(self.env, Resumable):
            meta.update(running=True, score=self._score, lives=self._lives, held=self._held, hold=self._hold)
            arrays["stack"] = self._stack
            arrays.update(prefixed("trace.", self.trace.save()))
        return meta, arrays

    @classmethod
    def load(cls, path: str | Path, env: Env | None = None) -> NAIT:
        """Read what `save` wrote.

        :param env: to go on learning in; it must be the same environment with the same actions and
            observations. Without one the agent can predict and explain.
        """
        meta, arrays = checkpoint.load(Path(path))
        agent = cls.__new__(cls)
        try:
            agent._restore(Path(path), meta, arrays, env)
        except (KeyError, TypeError, AttributeError) as error:
            raise NaitError(f"{path} lacks a part of an agent ({error}): it was not written by nait") from None
        return agent

    def _restore(self, path: Path, meta: dict[str, Any], arrays: Arrays, env: Env | None) -> None:
        observations: Any = Box(
            -np.inf if "float" in meta["observation_dtype"] else 0,
            np.inf if "float" in meta["observation_dtype"] else 255,
            tuple(meta["observation_shape"]),
            np.dtype(meta["observation_dtype"]).type,
        )
        if env is not None:
            _check_same(path, meta, env)
            observations = env.observation_space
        self._build(observations, Discrete(meta["n_actions"]), Config.from_json(meta["config"]), meta["entropy"])
        self.seed, self.env = meta["seed"], env
        self.representation.load(part(arrays, "representation."))
        self.memory.load(part(arrays, "memory."))
        self.num_timesteps = int(meta["num_timesteps"])
        self.episode_scores = arrays["episode_scores"].tolist()
        self.episode_ends = arrays["episode_ends"].tolist()
        self._rng.bit_generator.state = meta["rng"]
        self._play_rng.bit_generator.state = meta["play_rng"]
        if env is None:
            return
        if isinstance(env, Resumable):
            if snapshot := part(arrays, "env."):
                env.restore(snapshot)
        elif meta.get("env_rng") is not None:
            env.unwrapped.np_random.bit_generator.state = meta["env_rng"]
        if meta["running"] and isinstance(env, Resumable):
            self._score, self._lives = float(meta["score"]), int(meta["lives"])
            self._held, self._hold = int(meta.get("held", 0)), int(meta.get("hold", 0))
            self._stack = arrays["stack"]
            self.trace.load(part(arrays, "trace."))


def describe_env(env: Env) -> dict[str, Any]:
    """What tells one environment from another, as JSON can hold it."""
    describe = getattr(env.unwrapped, "describe", None)
    if describe is not None:
        return dict(describe())
    return {"id": env.spec.id if env.spec is not None else type(env.unwrapped).__name__}


def _config(hyperparameters: dict[str, Any]) -> Config:
    known = [entry.name for entry in fields(Config)]
    for name in hyperparameters:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
            raise NaitError(f"there is no hyperparameter {name!r}: {hint}")
    return Config(**hyperparameters)


def _check_same(path: Path, meta: dict[str, Any], env: Env) -> None:
    saved, given = meta["env"] or {}, describe_env(env)
    for name in ("game", "id"):
        if name in saved and saved.get(name) != given.get(name):
            raise NaitError(f"{path} was trained on {saved[name]}, not on {given.get(name, given.get('id'))}")
    n_actions = getattr(env.action_space, "n", None)
    if n_actions != meta["n_actions"]:
        raise NaitError(
            f"{path} was trained with {meta['n_actions']} actions, this environment has {n_actions}: "
            "make it with the same action set"
        )
    shape = getattr(env.observation_space, "shape", None)
    if shape != tuple(meta["observation_shape"]):
        raise NaitError(f"{path} was trained on observations of shape {tuple(meta['observation_shape'])}, not {shape}")
