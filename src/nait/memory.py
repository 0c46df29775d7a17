"""The memory M, its estimate Q(s, a) (Eq. 4) and Algorithm 2.

One index an action holds the states; everything else about an entry (its value, its frozen value,
when it was first met) lies in arrays over the entries of all actions, addressed by the entry's id.
Ids are given in the order of insertion, so "was known when the trace began" is one comparison, and
the frozen copy M' costs only what a trace changes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xxhash
from numpy.typing import NDArray

from nait.arrays import Arrays, grown, part, prefixed
from nait.config import Config
from nait.errors import NaitError
from nait.kernels import KERNELS
from nait.neighbours import make_index
from nait.neighbours.protocol import Distances, Ids
from nait.representation import State

Values = NDArray[np.float64]

ABSENT = -1


@dataclass(slots=True)
class Lookup:
    """What the memory knows of one state: Q, the tie-break distances, and the neighbours behind them."""

    state: State
    key: int
    """Hash of the state."""
    q: Values
    """Q(s, a) for each action."""
    distance: Values
    """Mean squared distance to L(s, a): 0 for an exact match, larger for what is new."""
    exact: Ids
    """For each action the id of the entry that is this very state, or ABSENT."""
    neighbours: dict[int, tuple[Ids, Distances]]
    """L(s, a) with squared distances, for each action that was searched."""


class Memory:
    """M: what each action led to in each state it was ever taken in."""

    def __init__(self, n_actions: int, dim: int, config: Config) -> None:
        self.n_actions = n_actions
        self.dim = dim
        self._config = config
        self._kernel = KERNELS[config.kernel]
        self._indexes = [make_index(config, dim) for _ in range(n_actions)]
        self._known: dict[int, list[int]] = {}  # hash of a state -> ids of its entries
        self._states = np.empty((0, dim), dtype=np.float32)
        self._actions = np.empty(0, dtype=np.int64)
        self._values: Values = np.empty(0)  # M
        self._frozen: Values = np.empty(0)  # M', for ids below _frozen_count
        self._born = np.empty(0, dtype=np.int64)
        self._count = 0
        self._frozen_count = 0
        self._frozen_sizes = [0] * n_actions  # |M'_a|
        self._touched: list[Ids] = []

    def __len__(self) -> int:
        """Entries of all actions together."""
        return self._count

    def sizes(self) -> list[int]:
        """|M_a| for each action."""
        return [len(index) for index in self._indexes]

    def distinct_states(self) -> int:
        """States met at least once, whatever was done there; it stands still when exploration has."""
        return len({self._states[i].tobytes() for ids in self._known.values() for i in ids})

    # Reading

    def lookup(self, state: State, *, playing: bool = False, search_thin: bool = False) -> Lookup:
        """Q(s, a) and the tie-break distances of every action.

        :param playing: whether this lookup is none of the training's; it then takes `play_reach` times k neighbours
        :param search_thin: also find the neighbours of actions with fewer than k entries
        """
        k = self._config.k
        wanted = k * self._config.play_reach if playing else k
        key = hash_of(state)
        q = np.full(self.n_actions, 0.0 if self._config.thin_value == "zero" else np.inf)
        distance = np.full(self.n_actions, np.inf)
        exact = np.full(self.n_actions, ABSENT, dtype=np.int64)
        for i in self._same(state, key):
            exact[self._actions[i]] = i
        search_thin = search_thin or self._config.thin_distance != "infinite"
        neighbours: dict[int, tuple[Ids, Distances]] = {}
        alike: dict[int, list[int]] = {}  # actions by the number of their neighbours: wanted, or all that they have
        for action, index in enumerate(self._indexes):
            if exact[action] != ABSENT:
                q[action] = self._values[exact[action]]
                distance[action] = 0.0
            elif len(index) >= k:
                neighbours[action] = index.search(state, wanted)
                alike.setdefault(len(neighbours[action][0]), []).append(action)
            elif search_thin:
                neighbours[action] = index.search(state, k)
                distance[action] = self._thin_distance(neighbours[action][1])
        for actions in alike.values():
            squared = np.stack([neighbours[action][1] for action in actions])
            values = self._values[np.stack([neighbours[action][0] for action in actions])]
            q[actions] = self._weighted_mean(squared, values)
            distance[actions] = squared.mean(axis=1)
        return Lookup(state, key, q, distance, exact, neighbours)

    def begin_play(self) -> None:
        """Nothing to do: what these indexes find does not depend on what was asked before."""

    def find(self, state: State, key: int, action: int) -> int:
        """The id of the pair's entry, or ABSENT."""
        return next((i for i in self._same(state, key) if self._actions[i] == action), ABSENT)

    def frozen_q(self, lookup: Lookup, action: int) -> float:
        """Q'(s, a): the same estimate from M', the memory as it was when the trace began."""
        known = int(lookup.exact[action])
        if known != ABSENT and known < self._frozen_count:
            return float(self._frozen[known])
        if self._frozen_sizes[action] < self._config.k:
            return 0.0
        ids, squared = self._nearest_frozen(lookup, action)
        return float(self._weighted_mean(squared[None], self._frozen[ids][None])[0])

    def neighbours(self, lookup: Lookup, action: int) -> tuple[Ids, Distances]:
        """L(s, a) with squared distances; empty where the lookup did not search."""
        return lookup.neighbours.get(action, (np.empty(0, dtype=np.int64), np.empty(0)))

    def values_of(self, ids: Ids) -> Values:
        """M_a(s) of entries."""
        return self._values[ids]

    def states_of(self, ids: Ids) -> NDArray[np.float32]:
        """The states of entries."""
        return self._states[ids]

    def born(self, ids: Ids) -> NDArray[np.int64]:
        """The environment step at which entries were first met."""
        return self._born[ids]

    # Writing

    def freeze(self) -> None:
        """M' <- M, at the cost of what has changed since the last call."""
        for ids in self._touched:
            self._frozen[ids] = self._values[ids]
        self._touched.clear()
        new = slice(self._frozen_count, self._count)
        self._frozen[new] = self._values[new]
        self._frozen_count = self._count
        self._frozen_sizes = self.sizes()

    def insert(
        self, states: NDArray[np.float32], keys: list[int], actions: NDArray[np.int64], born: NDArray[np.int64]
    ) -> Ids:
        """Make entries for pairs that the memory does not hold yet; returns their ids. Values come by `update`."""
        first, count = self._count, self._count + len(states)
        self._states = grown(self._states, count)
        self._actions = grown(self._actions, count)
        self._values = grown(self._values, count)
        self._frozen = grown(self._frozen, count)
        self._born = grown(self._born, count)
        self._states[first:count] = states
        self._actions[first:count] = actions
        self._born[first:count] = born
        self._count = count
        ids = np.arange(first, count)
        for i, key in zip(ids.tolist(), keys, strict=True):
            self._known.setdefault(key, []).append(i)
        for action in np.unique(actions):
            mine = actions == action
            self._indexes[action].add(ids[mine], states[mine])
        return ids

    def update(self, ids: Ids, targets: Values) -> None:
        """Algorithm 2 for distinct entries: M <- M' + alpha (target - M') where M' has the pair, else target.

        A target above what M' holds is followed by `alpha_up` instead; with alpha = 0 and alpha_up = 1 a pair keeps the
        best it has had, max(M', target), as in model-free episodic control.
        """
        known = ids < self._frozen_count
        old, frozen = ids[known], self._frozen[ids[known]]
        error = targets[known] - frozen
        self._values[ids] = targets
        self._values[old] = frozen + np.where(error > 0, self._config.alpha_up, self._config.alpha) * error
        self._touched.append(old)

    # Saving

    def save(self) -> Arrays:
        """Every entry as plain arrays, in the order of insertion."""
        n = self._count
        arrays: Arrays = {
            "states": self._states[:n],
            "actions": self._actions[:n].astype(np.int32),
            "values": self._values[:n],
            "frozen": self._frozen[: self._frozen_count],
            "born": self._born[:n],
        }
        for action, index in enumerate(self._indexes):
            arrays.update(prefixed(f"index{action}.", index.save()))
        return arrays

    def load(self, arrays: Arrays) -> None:
        """Fill an empty memory with what `save` gave."""
        states = np.asarray(arrays["states"], dtype=np.float32)
        actions = np.asarray(arrays["actions"], dtype=np.int64)
        n, frozen = len(states), np.asarray(arrays["frozen"], dtype=np.float64)
        if states.ndim != 2 or states.shape[1] != self.dim:
            raise NaitError(f"the saved states have length {states.shape[-1]}, this agent's have {self.dim}")
        if not len(actions) == len(arrays["values"]) == len(arrays["born"]) == n or len(frozen) > n:
            raise NaitError("the saved memory's arrays differ in length")
        if n and not (actions.min() >= 0 and actions.max() < self.n_actions):
            raise NaitError(f"the saved memory has actions outside 0..{self.n_actions - 1}")
        self._states, self._actions = grown(self._states, n), grown(self._actions, n)
        self._values, self._frozen = grown(self._values, n), grown(self._frozen, n)
        self._born = grown(self._born, n)
        self._states[:n], self._actions[:n] = states, actions
        self._values[:n], self._frozen[: len(frozen)] = arrays["values"], frozen
        self._born[:n] = arrays["born"]
        self._count, self._frozen_count = n, len(frozen)
        self._frozen_sizes = np.bincount(actions[: len(frozen)], minlength=self.n_actions).tolist()
        # Which frozen values have changed is not saved: comparing finds them.
        self._touched = [np.flatnonzero(self._values[: len(frozen)] != frozen)]
        for i in range(n):
            self._known.setdefault(hash_of(states[i]), []).append(i)
        for action, index in enumerate(self._indexes):
            ids = np.flatnonzero(actions == action)
            index.load(ids, states[ids], part(arrays, f"index{action}."))

    def _same(self, state: State, key: int) -> list[int]:
        """Ids of all entries that are this very state, one an action."""
        return [i for i in self._known.get(key, ()) if np.array_equal(self._states[i], state)]

    # The estimate

    def _weighted_mean(self, squared: Distances, values: Values) -> Values:
        weights = self._kernel(np.sqrt(squared))
        mean: Values = (weights * values).sum(axis=1) / weights.sum(axis=1)
        return mean

    def _thin_distance(self, squared: Distances) -> float:
        if self._config.thin_distance == "mean" and len(squared):
            return float(squared.mean())
        if self._config.thin_distance == "letter":
            return float(squared.sum() / self._config.k)
        return np.inf

    def _nearest_frozen(self, lookup: Lookup, action: int) -> tuple[Ids, Distances]:
        """The k nearest entries of M'_a: what the lookup found, widened while this trace's entries crowd it."""
        k = wanted = self._config.k
        index = self._indexes[action]
        ids, squared = lookup.neighbours.get(action) or index.search(lookup.state, k)
        while np.count_nonzero(ids < self._frozen_count) < k and wanted < len(index):
            wanted *= 2
            ids, squared = index.search(lookup.state, wanted)
        old = np.flatnonzero(ids < self._frozen_count)[:k]
        return ids[old], squared[old]


def hash_of(state: State) -> int:
    """A 64-bit hash of a state's bytes; equal hashes are always followed by a real comparison."""
    return xxhash.xxh3_64_intdigest(state.tobytes())
