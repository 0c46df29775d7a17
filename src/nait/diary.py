"""What the agent did, step by step, and what each game brought in the end: the best way on that it has lived through.

The memory's values are discounted returns of traces, which serve learning. The score of a game is another sum: all
rewards to its end, undiscounted. This is the record that knows it.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nait.arrays import Arrays
from nait.errors import NaitError

REPEATS = 0.9
"""Where fewer of the repeated steps than this led where the same action in the same state usually leads, no way is
followed."""

_EMPTY = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Way:
    """A step from which a game went on better than from any other that was taken in the same state."""

    action: int
    step: int
    """Its number in the whole training, counted from 0."""
    score: float
    """What the game still brought from there on: all rewards to its end, undiscounted."""


class Diary:
    """Every step of the training in its order: the state's key, the action, the reward, and where games ended."""

    def __init__(self) -> None:
        self._keys = array("Q")
        self._actions = array("i")
        self._rewards = array("d")
        self._ends = array("q")  # steps by the end of each game
        self._whole = array("b")  # whether it ended by itself and was not cut
        self._indexed = 0  # games in the index, which holds the best step of each key
        self._found: NDArray[np.uint64] = np.empty(0, dtype=np.uint64)
        self._steps: NDArray[np.int64] = _EMPTY
        self._scores: NDArray[np.float64] = np.empty(0)
        self._repeats = 1.0

    def __len__(self) -> int:
        """Steps."""
        return len(self._keys)

    def append(self, key: int, action: int, reward: float) -> None:
        """One step.

        :param key: hash of the state
        :param reward: in the game's own points
        """
        self._keys.append(key)
        self._actions.append(action)
        self._rewards.append(reward)

    def end(self, *, whole: bool) -> None:
        """The game is over, if one is under way.

        :param whole: whether it ended by itself; how much one that was cut would still have brought is not known
        """
        if len(self) == (self._ends[-1] if self._ends else 0):
            return
        self._ends.append(len(self))
        self._whole.append(whole)

    def best(self, key: int) -> Way | None:
        """The way on from a state by which a whole game has brought most; None where there is none to rely on.

        There is none in a state that was never met, nor by a step that led where the same action seldom leads, nor in a
        world of chance, where the best of several games was a lucky one and does not come again.
        """
        if self._indexed != len(self._ends):
            self._index()
        if self._repeats < REPEATS:
            return None
        place = int(np.searchsorted(self._found, np.uint64(key)))
        if place == len(self._found) or int(self._found[place]) != key:
            return None
        step = int(self._steps[place])
        return Way(self._actions[step], step, float(self._scores[place]))

    def repeats(self) -> float:
        """How many of the repeated steps led where the same action in the same state usually leads; 1 if none was."""
        if self._indexed != len(self._ends):
            self._index()
        return self._repeats

    def _index(self) -> None:
        """For every key the step of the highest score to the end of the game, the first of equals."""
        keys = np.array(self._keys, dtype=np.uint64)
        scores = np.full(len(keys), -np.inf)
        last = np.zeros(len(keys), dtype=np.bool_)
        start = 0
        for end, whole in zip(self._ends, self._whole, strict=True):
            if whole:
                scores[start:end] = np.cumsum(self._rewards[start:end][::-1])[::-1]
            last[end - 1] = True
            start = end
        usual, self._repeats = _usual(keys, np.array(self._actions, dtype=np.int64), last)
        scores[~usual] = -np.inf
        order = np.lexsort((-scores, keys))  # stable: of equals the first comes first
        order = order[scores[order] > -np.inf]
        self._found, first = np.unique(keys[order], return_index=True)
        self._steps = order[first]
        self._scores = scores[self._steps]
        self._indexed = len(self._ends)

    def save(self) -> Arrays:
        """All of it, as plain arrays."""
        return {
            "keys": np.array(self._keys, dtype=np.uint64),
            "actions": np.array(self._actions, dtype=np.int32),
            "rewards": np.array(self._rewards, dtype=np.float64),
            "ends": np.array(self._ends, dtype=np.int64),
            "whole": np.array(self._whole, dtype=np.int8),
        }

    def load(self, arrays: Arrays, n_actions: int) -> None:
        """Take what `save` gave; a file of a time before there were diaries has none, and leaves it empty."""
        if not arrays:
            return
        saved: dict[str, NDArray[Any]] = arrays
        keys, actions, rewards = saved["keys"], saved["actions"], saved["rewards"]
        ends, whole = saved["ends"], saved["whole"]
        sound = (
            [a.dtype for a in (keys, actions, rewards, ends, whole)]
            == [np.uint64, np.int32, np.float64, np.int64, np.int8]
            and all(a.ndim == 1 for a in (keys, actions, rewards, ends, whole))
            and len(keys) == len(actions) == len(rewards)
            and len(ends) == len(whole)
            and bool(np.all((actions >= 0) & (actions < n_actions)))
            and bool(np.all(np.diff(ends, prepend=0) >= 0) and np.all(ends <= len(keys)))
        )
        if not sound:
            raise NaitError("the saved diary is not sound")
        for mine, column in (
            (self._keys, keys),
            (self._actions, actions),
            (self._rewards, rewards),
            (self._ends, ends),
            (self._whole, whole),
        ):
            mine.frombytes(np.ascontiguousarray(column).tobytes())


def _usual(
    keys: NDArray[np.uint64], actions: NDArray[np.int64], last: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], float]:
    """Which steps led where the same action in the same state has led half of the time or more; and how many of those
    that were repeated did.

    :param last: which steps were the last of their game, whatever follows them here
    """
    led_to = np.append(keys[1:], np.uint64(0))
    led_to[last] = 0
    order = np.lexsort((led_to, last, actions, keys))

    def runs(*columns: NDArray[np.generic]) -> NDArray[np.int64]:
        """How many equal rows there are to each row, equal ones side by side."""
        changes = np.zeros(len(order), dtype=np.bool_)
        for column in columns:
            changes[1:] |= column[order][1:] != column[order][:-1]
        numbers = np.cumsum(changes)
        return np.bincount(numbers)[numbers]

    usual, repeated = np.ones(len(keys), dtype=np.bool_), np.zeros(len(keys), dtype=np.bool_)
    if len(keys):
        pairs = runs(keys, actions)
        usual[order] = 2 * runs(keys, actions, last, led_to) >= pairs
        repeated[order] = pairs > 1
    return usual, float(usual[repeated].mean()) if repeated.any() else 1.0
