"""The trace under way: tau, G and Gamma, and Algorithm 3."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from nait.arrays import Arrays, grown
from nait.memory import ABSENT, Lookup, Memory, Values
from nait.native_memory import NativeMemory
from nait.representation import State


class Trace:
    """The distinct (s, a) pairs of the trace in the order of their first visit, with their running returns.

    :param every: r, steps between two updates of a pair by `write_due`
    :param decay: lambda of the pairs that M' does not hold, see `average`
    """

    def __init__(self, gamma: float, dim: int, every: int, decay: float = 1.0) -> None:
        self._gamma = gamma
        self._dim = dim
        self._every = every
        self._decay = decay
        self._ids = np.empty(0, dtype=np.int64)  # entry in memory, or ABSENT while it waits to be inserted
        self._times = np.empty(0, dtype=np.int64)
        self._returns: Values = np.empty(0)
        self._discounts: Values = np.empty(0)
        self._decays: Values = np.empty(0)
        self.clear()

    def clear(self) -> None:
        """tau, G, Gamma <- {}"""
        self.time = 0
        """t: steps of the trace so far."""
        self._pairs = 0
        self._written = False  # since the last pair was appended
        self._visited: set[int] = set()  # ids of pairs that have an entry
        self._waiting: dict[int, tuple[State, int, int, int]] = {}  # pair -> state, key, action, born
        self._waiting_at: dict[tuple[int, int], list[int]] = {}  # (key, action) -> pairs
        self._due: dict[int, list[int]] = {}  # pairs by the time of their first visit modulo r

    def __len__(self) -> int:
        return self._pairs

    @property
    def returns(self) -> Values:
        """G: each pair's discounted return so far; at the end of the trace its Monte-Carlo return, unless averaged."""
        return self._returns[: self._pairs]

    @property
    def discounts(self) -> Values:
        """Gamma: the discount that the next reward takes for each pair."""
        return self._discounts[: self._pairs]

    def append(self, memory: Memory | NativeMemory, lookup: Lookup, action: int, born: int) -> None:
        """Add (s, a) to tau and 1 to Gamma, if this is the pair's first visit in the trace."""
        known = int(lookup.exact[action])
        if self._written:  # since the lookup, and this very pair with it perhaps
            known = memory.find(lookup.state, lookup.key, action)
            self._written = False
        if self._seen(lookup, action, known):
            return
        if known == ABSENT:
            self._waiting_at.setdefault((lookup.key, action), []).append(self._pairs)
            self._waiting[self._pairs] = lookup.state, lookup.key, action, born
        else:
            self._visited.add(known)
        n = self._pairs
        self._ids, self._times = grown(self._ids, n + 1), grown(self._times, n + 1)
        self._returns, self._discounts = grown(self._returns, n + 1), grown(self._discounts, n + 1)
        self._ids[n], self._times[n] = known, self.time
        self._returns[n], self._discounts[n] = 0.0, 1.0
        self._decays = grown(self._decays, n + 1)
        self._decays[n] = self._decay if known == ABSENT else 1.0  # what this trace wrote has been visited
        self._due.setdefault(self.time % self._every, []).append(n)
        self._pairs = n + 1

    def receive(self, reward: float) -> None:
        """G <- G + Gamma r; Gamma <- gamma Gamma."""
        if reward != 0.0:
            self.returns[:] += self.discounts * reward
        self.discounts[:] *= self._gamma
        self.time += 1

    def average(self, bootstrap: float) -> None:
        """G <- G + (1 - lambda) Gamma Q'(s', a'); Gamma <- lambda Gamma, for pairs that M' does not hold.

        A pair's inter-trace targets, one a step, are its n-step returns, and the last of them stands. Called at every
        step, this makes Q_IT their mean instead, with weights that fall as lambda^n, and G at the end of the trace the
        lambda-return. A pair that M' holds is averaged over its visits already, by alpha, and keeps the last.
        """
        decays = self._decays[: self._pairs]
        self.returns[:] += self.discounts * (1.0 - decays) * bootstrap
        self.discounts[:] *= decays

    def targets(self, bootstrap: float) -> Values:
        """Q_IT = G + Gamma Q'(s', a')."""
        return self.returns + self.discounts * bootstrap

    def write(self, memory: Memory | NativeMemory, targets: Values) -> None:
        """Insert the pairs that memory does not hold yet and update all of them (Algorithm 2)."""
        self._insert(memory, self._waiting)
        memory.update(self._ids[: self._pairs].copy(), targets)

    def write_due(self, memory: Memory | NativeMemory, bootstrap: float, *, at_once: bool = False) -> None:
        """The same for the pairs whose first visit lies r, 2r, ... steps back, with the targets Q_IT.

        :param at_once: also for the last step's pair, whose first visit lies 0 steps back
        """
        latest = self.time - 1 - (0 if at_once else self._every)
        due = [pair for pair in self._due.get(latest % self._every, ()) if self._times[pair] <= latest]
        if due:
            self._insert(memory, [pair for pair in due if pair in self._waiting])
            memory.update(self._ids[due], self._returns[due] + self._discounts[due] * bootstrap)

    def _insert(self, memory: Memory | NativeMemory, pairs: Iterable[int]) -> None:
        self._written = True
        pairs = list(pairs)
        if not pairs:
            return
        states, keys, actions, born = zip(*(self._waiting.pop(pair) for pair in pairs), strict=True)
        for pair, key, action in zip(pairs, keys, actions, strict=True):
            at = self._waiting_at[key, action]
            at.remove(pair)
            if not at:
                del self._waiting_at[key, action]
        ids = memory.insert(np.stack(states), list(keys), np.array(actions), np.array(born))
        self._ids[pairs] = ids
        self._visited.update(ids.tolist())

    def save(self) -> Arrays:
        """The trace as plain arrays."""
        return {
            "ids": self._ids[: self._pairs],
            "times": self._times[: self._pairs],
            "returns": self.returns,
            "discounts": self.discounts,
            "decays": self._decays[: self._pairs],
            "time": np.array(self.time),
            "waiting_states": np.array([w[0] for w in self._waiting.values()]).reshape(-1, self._dim),
            "waiting_keys": np.array([w[1] for w in self._waiting.values()], dtype=np.uint64),
            "waiting_actions": np.array([w[2] for w in self._waiting.values()], dtype=np.int64),
            "waiting_born": np.array([w[3] for w in self._waiting.values()], dtype=np.int64),
        }

    def load(self, arrays: Arrays) -> None:
        """Continue the trace that `save` gave."""
        self.clear()
        self._pairs = n = len(arrays["ids"])
        self._ids, self._times = grown(self._ids, n), grown(self._times, n)
        self._returns, self._discounts = grown(self._returns, n), grown(self._discounts, n)
        self._ids[:n], self._times[:n] = arrays["ids"], arrays["times"]
        self._returns[:n], self._discounts[:n] = arrays["returns"], arrays["discounts"]
        self._decays = grown(self._decays, n)
        self._decays[:n] = arrays.get("decays", 1.0)
        self.time = int(arrays["time"].item())
        for pair, time in enumerate(self._times[:n].tolist()):
            self._due.setdefault(time % self._every, []).append(pair)
        self._visited = {int(i) for i in self._ids[:n] if i != ABSENT}
        waiting = zip(
            np.flatnonzero(self._ids[:n] == ABSENT).tolist(),
            arrays["waiting_states"],
            arrays["waiting_keys"].tolist(),
            arrays["waiting_actions"].tolist(),
            arrays["waiting_born"].tolist(),
            strict=True,
        )
        for pair, state, key, action, born in waiting:
            self._waiting[pair] = state, key, action, born
            self._waiting_at.setdefault((key, action), []).append(pair)

    def _seen(self, lookup: Lookup, action: int, known: int) -> bool:
        if known != ABSENT:
            return known in self._visited
        pairs = self._waiting_at.get((lookup.key, action), ())
        return any(np.array_equal(self._waiting[pair][0], lookup.state) for pair in pairs)
