"""How fast the agent is: the emulator alone, nait and the hnswlib agent, side by side in one run.

Every game has a process of its own with one thread. There the agent plays until its memory holds the
states asked for; the reference agent (hnswlib at the paper's settings) gets a memory of the same
content. Both are then asked for the neighbours of the same states, and all three play on from the same
moment in short blocks by turns, so that whatever else the machine does falls on all alike.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from nait.agent import NAIT
from nait.arrays import Arrays, grown
from nait.callbacks import Callback
from nait.envs import AtariEnv, make_atari
from nait.envs.games import rom_name
from nait.errors import NaitError
from nait.experiments.resources import ONE_THREAD
from nait.memory import ABSENT, Memory, hash_of
from nait.native_memory import NativeMemory
from nait.policy import choose
from nait.representation import Representation, State

QUICK_GAMES = ("MsPacman", "RoadRunner")
LEAST_STATES = 1000

Floats = NDArray[np.float32]
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class SpeedSettings:
    """What is measured."""

    states: int = 100_000
    """Entries of the memory at which the agents are measured."""
    steps: int = 2000
    """Timed steps of each of the three."""
    block: int = 250
    """Steps that one of them takes before it is the next one's turn."""
    queries: int = 250
    """Consecutive states of play whose neighbours are compared with those of an exact search."""
    seed: int = 0
    """Of everything random."""

    def __post_init__(self) -> None:
        for name, least in (("states", LEAST_STATES), ("steps", 1), ("block", 1), ("queries", 1), ("seed", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise NaitError(f"{name} must be a whole number of at least {least}, not {value!r}")

    @property
    def most_steps(self) -> int:
        """Where the play that fills the memory ends, if the game repeats itself."""
        return 3 * self.states


QUICK = SpeedSettings(states=8000, steps=1000)


@dataclass(frozen=True, kw_only=True)
class Speed:
    """What was measured on one game, or the mean over games."""

    emulator_itr_s: float
    """Steps a second of the environment under random actions, without an agent."""
    nait_itr_s: float
    """Steps a second of the learning agent."""
    reference_itr_s: float
    """Steps a second of the learning agent on hnswlib at the paper's settings."""
    of_emulator: float
    """`nait_itr_s / emulator_itr_s`"""
    over_reference: float
    """`nait_itr_s / reference_itr_s`"""
    recall: float | None
    """Share of the k nearest that the native index finds; None where every state met was known already."""
    reference_recall: float | None
    """The same of hnswlib."""
    bytes_per_state: float
    """What the core has allocated, by the entry."""
    reference_bytes_per_state: float
    """What hnswlib allocates for as many entries, and 8 bytes for each one's value."""
    states: float
    """Entries of the memory."""

    def to_json(self) -> dict[str, float | None]:
        """The fields, without digits that mean nothing."""
        return {name: value if value is None else round(value, 4) for name, value in asdict(self).items()}


def measure(games: Sequence[str], settings: SpeedSettings) -> Iterator[tuple[str, Speed]]:
    """Measure one game after the other, each in a fresh process of one thread; yields each as it is done."""
    for game in games:
        rom_name(game)  # all of them before the first is played

    return ((game, _measure_apart(game, settings)) for game in games)


def _measure_apart(game: str, settings: SpeedSettings) -> Speed:
    try:
        return apart(measure_game, game, settings)
    except BrokenProcessPool:
        raise NaitError(f"the process that measured {game} was killed; fewer --states take less memory") from None


def apart(measurement: Callable[..., T], *arguments: Any) -> T:
    """Measure in a fresh process of one thread; it ends with this one."""
    executor = ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn"), initializer=_end_with_parent)
    with _environment(ONE_THREAD), executor as process:
        return process.submit(measurement, *arguments).result()


def _end_with_parent() -> None:
    """Let this process end when the one that started it does, however that comes about."""
    parent = parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    Thread(target=wait, daemon=True).start()


def mean(speeds: Sequence[Speed]) -> Speed:
    """The mean of every column; of ratios, too, the mean over the games."""
    columns: dict[str, Any] = {}
    for field in fields(Speed):
        known = [value for speed in speeds if (value := getattr(speed, field.name)) is not None]
        columns[field.name] = sum(known) / len(known) if known else None
    return Speed(**columns)


def measure_game(game: str, settings: SpeedSettings) -> Speed:
    """Measure one game in this process, with as many threads as its libraries have been given."""
    nait, reference = (NAIT(make_atari(game), seed=settings.seed, index=index) for index in ("native", "hnswlib"))
    assert isinstance(nait.memory, NativeMemory)
    assert isinstance(reference.memory, Memory)
    play = _fill(nait, reference.representation, settings)
    moment = _env(nait).snapshot()
    filled = contents(nait.memory, play)
    store(filled, reference.memory)
    reference.num_timesteps = nait.num_timesteps
    bytes_per_state = nait.memory.nbytes() / len(nait.memory)
    recall, reference_recall = _recalls(nait, reference, filled, moment, settings)
    for agent in (nait, reference):
        _begin_here(agent, moment)
    emulator = _RandomPlay(make_atari(game), moment, settings.seed)
    emulator_s, nait_s, reference_s = in_turns(
        (emulator.play, nait.learn, reference.learn), settings.steps, settings.block
    )
    return Speed(
        emulator_itr_s=settings.steps / emulator_s,
        nait_itr_s=settings.steps / nait_s,
        reference_itr_s=settings.steps / reference_s,
        of_emulator=emulator_s / nait_s,
        over_reference=reference_s / nait_s,
        recall=recall,
        reference_recall=reference_recall,
        bytes_per_state=bytes_per_state,
        reference_bytes_per_state=hnswlib_bytes(reference.memory.dim, reference.config.M) + 8,
        states=len(filled.actions),
    )


# Filling the memories


@dataclass(frozen=True)
class Contents:
    """The entries of a memory in the order in which they were inserted."""

    states: Floats
    """As the paper has them, before anything is rounded."""
    actions: NDArray[np.int64]
    values: NDArray[np.float64]
    born: NDArray[np.int64]


class Recorder:
    """An agent's representation that also keeps the paper's float32 state of every step."""

    def __init__(self, representation: Representation, recorded: Representation) -> None:
        self.dim = representation.dim
        self.representation = representation
        self._recorded = recorded
        self._states: Floats = np.empty((0, recorded.dim), dtype=np.float32)
        self._count = 0

    def __call__(self, stack: NDArray[np.generic]) -> State:
        self._states = grown(self._states, self._count + 1)
        self._states[self._count] = self._recorded(stack)
        self._count += 1
        return self.representation(stack)

    @property
    def states(self) -> Floats:
        """One row a step."""
        return self._states[: self._count]

    def save(self) -> Arrays:
        return self.representation.save()

    def load(self, arrays: Arrays) -> None:
        self.representation.load(arrays)


class _Until(Callback):
    """Ends the training inside an episode, once the memory is full or the steps are used up."""

    def __init__(self, settings: SpeedSettings, bar: tqdm[Any]) -> None:
        super().__init__()
        self._settings = settings
        self._bar = bar

    def _on_step(self) -> bool:
        states = len(self.model.memory)
        self._bar.update(states - self._bar.n)
        full = states >= self._settings.states or self.num_timesteps >= self._settings.most_steps
        return not full or bool(self.locals["dones"])


def _fill(agent: NAIT, recorded: Representation, settings: SpeedSettings) -> Floats:
    """Let the agent learn until its memory is full; returns the `recorded` state of every step."""
    recorder = Recorder(agent.representation, recorded)
    agent.representation = recorder
    with tqdm(total=settings.states, unit="state", desc=_env(agent).game, leave=False, disable=None) as bar:
        agent.learn(2 * settings.most_steps, _Until(settings, bar))
    agent.representation = recorder.representation
    agent.trace.write(agent.memory, agent.trace.returns)
    return recorder.states


def contents(memory: NativeMemory, play: Floats) -> Contents:
    """What a memory has learned from a play of which `play` has the state of every step.

    Of states that the core cannot tell apart it keeps the first.
    """
    ids = [np.arange(size) * memory.n_actions + action for action, size in enumerate(memory.sizes())]
    actions = np.repeat(np.arange(memory.n_actions), memory.sizes())
    values = np.concatenate([memory.values_of(mine) for mine in ids])
    born = np.concatenate([memory.born(mine) for mine in ids])
    order = np.argsort(born)  # a step inserts one pair at most
    return Contents(play[born[order]], actions[order], values[order], born[order])


def store(filled: Contents, memory: Memory) -> None:
    """Give the same entries to an empty memory."""
    keys = [hash_of(state) for state in filled.states]
    ids = memory.insert(filled.states, keys, filled.actions, filled.born)
    memory.update(ids, filled.values)


def _begin_here(agent: NAIT, moment: Arrays) -> None:
    """Put an agent at a moment of a game, with a trace that begins there, as after a lost life."""
    env = _env(agent)
    agent._stack = env.restore(moment)
    agent._score = 0.0
    agent._lives = env.ale.lives()
    agent._begin_trace()


def _env(agent: NAIT) -> AtariEnv:
    assert isinstance(agent.env, AtariEnv)
    return agent.env


# Recall


def _recalls(
    nait: NAIT, reference: NAIT, filled: Contents, moment: Arrays, settings: SpeedSettings
) -> tuple[float | None, float | None]:
    """Play on from `moment` without learning, and compare what both indexes find at every step with an exact search."""
    k, rng = nait.config.k, np.random.default_rng(settings.seed)
    states: list[Floats] = []
    found: dict[int, list[tuple[int, NDArray[np.int64], NDArray[np.int64]]]] = {}  # action -> query, ids, ids
    rows = [np.flatnonzero(filled.actions == action) for action in range(nait.n_actions)]
    env = _env(nait)
    stack = env.restore(moment)
    for query in range(settings.queries):
        lookup = nait.memory.lookup(nait.representation(stack))
        states.append(reference.representation(stack))
        neighbours = reference.memory.lookup(states[-1]).neighbours
        for action, mine in enumerate(rows):
            if len(mine) >= k and lookup.exact[action] == ABSENT and action in neighbours:
                slots = nait.memory.neighbours(lookup, action)[0] // nait.n_actions
                places = np.searchsorted(mine, neighbours[action][0])
                found.setdefault(action, []).append((query, slots, places))
        stack, _, terminated, truncated, _ = env.step(choose(lookup, nait.config, rng))
        if terminated or truncated:
            stack, _ = env.reset()
    shares = np.array(
        [
            (recall(squared, ours, k), recall(squared, theirs, k))
            for action, searches in found.items()
            for (_, ours, theirs), squared in zip(
                searches,
                squared_distances(np.stack([states[query] for query, _, _ in searches]), filled.states[rows[action]]),
                strict=True,
            )
        ]
    )
    if not len(shares):
        return None, None
    ours, theirs = shares.mean(axis=0).tolist()
    return ours, theirs


def squared_distances(queries: Floats, states: Floats) -> NDArray[np.float64]:
    """From each query to each state, to some 14 digits of a state's squared length."""
    centre = states[0].astype(np.float64)
    q, s = queries - centre, states - centre
    squared: NDArray[np.float64] = (q * q).sum(axis=1)[:, None] - 2 * q @ s.T + (s * s).sum(axis=1)
    return squared


def recall(squared: NDArray[np.float64], found: NDArray[np.int64], k: int) -> float:
    """Share of the k nearest that are among the `found`; one as near as the k-th counts, whichever it is.

    :param squared: the distance of every state
    """
    kth = np.partition(squared, k - 1)[k - 1]
    return float(np.count_nonzero(squared[found] <= kth * (1 + 1e-6))) / k


# Time


class _RandomPlay:
    """The emulator without an agent."""

    def __init__(self, env: AtariEnv, moment: Arrays, seed: int) -> None:
        env.restore(moment)
        self._env = env
        self._rng = np.random.default_rng(seed)

    def play(self, steps: int) -> None:
        """Take so many random steps."""
        env = self._env
        for action in self._rng.integers(len(env.get_action_meanings()), size=steps).tolist():
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()


def in_turns(players: Sequence[Callable[[int], object]], steps: int, block: int) -> list[float]:
    """Seconds that each player computes for `steps` steps, when they take turns of `block` steps.

    It is the processor's time, which one thread shares with nobody: the clock's on a machine with nothing else to do.
    """
    seconds = [0.0] * len(players)
    for start in range(0, steps, block):
        turn = min(block, steps - start)
        for i, play in enumerate(players):
            begun = time.process_time()
            play(turn)
            seconds[i] += time.process_time() - begun
    return seconds


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """Environment variables for the processes started meanwhile."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


# Memory


def hnswlib_bytes(dim: int, M: int) -> float:
    """Bytes that hnswlib 0.8 allocates for one float32 state of an index that has room for what it holds and no more.

    Left out are the 65,536 locks (2.6 MB) that every index has, whatever its size.
    """
    links = 4 * 2 * M + 4  # of the lowest layer, with their count
    upper = (4 * M + 4) / (M - 1)  # each layer holds one in M of the nodes of the layer below
    node = 8 + 4 + 40 + 2  # pointer to its upper links, its layer, its lock, its mark of a search that has been here
    label = 8 + 32 + 8  # of its own, and a hash map's node (as malloc gives it) and bucket that lead from it to here
    return links + 4 * dim + upper + node + label
