"""The memory of `memory.py` on the native core: the same calls and the same equations, one call a step.

The core keeps the states of each action in a proximity graph, in slots; an entry's id here is
`slot * n_actions + action`. States are integer vectors, distances between them exact integers, so
that neighbours, values and episodes are the same on every CPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nait import _core
from nait.arrays import Arrays, grown, part, prefixed
from nait.config import Config
from nait.errors import NaitError
from nait.memory import ABSENT, Lookup, Memory, Values, hash_of
from nait.neighbours.protocol import Distances, Ids
from nait.representation import Native, Representation, State

# M and ef are given as for hnswlib; the core's graph comes near its recall (docs/speed.md) with fewer links and
# candidates, because its searches begin at the last step's neighbours: 16 and 96 for M = 40 and efs = 200.
LINKS_SHARE = 0.4
EF_SEARCH_SHARE = 0.48

# What the core has room for.
MOST_ACTIONS, MOST_COORDINATES = 4096, 4096
MOST_K, MOST_EF, MOST_LINKS = 65536, 65536, 255


class NativeMemory:
    """M on the core.

    :param unit: length of one step of a state's coordinates, in those of the paper's states
    """

    def __init__(self, n_actions: int, dim: int, unit: float, config: Config) -> None:
        self.n_actions = n_actions
        self.dim = dim
        self._config = config
        self._unit = unit
        _check_room(n_actions, dim, config)
        links = max(2, round(LINKS_SHARE * config.M))
        self._core = _core.Memory(
            n_actions,
            dim,
            k=config.k,
            M=links,
            ef_construction=max(links, config.ef_construction),
            ef_search=max(1, round(EF_SEARCH_SHARE * config.ef_search)),
            kernel=config.kernel,
            thin=config.thin_distance,
        )
        self._thin = config.thin_value == "infinite"  # and some action is thin
        self._born = [np.empty(0, dtype=np.int64) for _ in range(n_actions)]

    def __len__(self) -> int:
        """Entries of all actions together."""
        return int(self._core.sizes().sum())

    def sizes(self) -> list[int]:
        """|M_a| for each action."""
        sizes: list[int] = self._core.sizes().tolist()
        return sizes

    def distinct_states(self) -> int:
        """States met at least once, whatever was done there."""
        kept = (self._core.entries(action, np.arange(self._core.size(action)))[0] for action in range(self.n_actions))
        return len({state.tobytes() for states in kept for state in states})

    def nbytes(self) -> int:
        """Bytes that the core holds."""
        return self._core.nbytes()

    # Reading

    def lookup(self, state: State, *, playing: bool = False, search_thin: bool = False) -> Lookup:
        """Q(s, a) and the tie-break distances of every action.

        :param playing: whether this lookup is none of the training's, whose next search begins where its last one
            ended; it then takes `play_reach` times k neighbours
        :param search_thin: also find the neighbours of actions with fewer than k entries
        """
        q, distance = np.empty(self.n_actions), np.empty(self.n_actions)
        exact = np.empty(self.n_actions, dtype=np.int64)
        reach = self._config.play_reach if playing else 1
        state = self._core.lookup(state, q, distance, exact, reach=reach, playing=playing, search_thin=search_thin)
        distance *= self._unit * self._unit
        if self._thin:
            self._prefer_thin(q, exact)
        slots: list[int] = exact.tolist()
        if max(slots) != ABSENT:  # a list of a few numbers is quicker than an array
            exact[:] = [ABSENT if slot == ABSENT else slot * self.n_actions + a for a, slot in enumerate(slots)]
        return Lookup(state, hash_of(state), q, distance, exact, {})

    def begin_play(self) -> None:
        """Let lookups with `playing` begin anew: each begins where the last one ended, and may find others there."""
        self._core.begin_play()

    def _prefer_thin(self, q: Values, exact: Ids) -> None:
        """An infinite value for actions with fewer than k entries, as long as there are any."""
        thin = self._core.sizes() < self._config.k
        self._thin = bool(thin.any())
        q[thin & (exact == ABSENT)] = np.inf

    def find(self, state: State, key: int, action: int) -> int:
        """The id of the pair's entry, or ABSENT."""
        slot = self._core.find(action, state)
        return ABSENT if slot == ABSENT else slot * self.n_actions + action

    def frozen_q(self, lookup: Lookup, action: int) -> float:
        """Q'(s, a) of the state looked up last."""
        return self._core.frozen_q(action)

    def neighbours(self, lookup: Lookup, action: int) -> tuple[Ids, Distances]:
        """L(s, a) of the state looked up last, and the squared distances."""
        slots, squared, _, _ = self._core.neighbours(action)
        return slots * self.n_actions + action, squared.astype(np.float64) * (self._unit * self._unit)

    def values_of(self, ids: Ids) -> Values:
        """M_a(s) of entries of one action."""
        return self._entries(ids)[1]

    def states_of(self, ids: Ids) -> NDArray[np.int32]:
        """The states of entries of one action."""
        return self._entries(ids)[0]

    def born(self, ids: Ids) -> NDArray[np.int64]:
        """The environment step at which entries were first met."""
        return np.array([self._born[i % self.n_actions][i // self.n_actions] for i in ids.tolist()], dtype=np.int64)

    # Writing

    def freeze(self) -> None:
        """M' <- M, at the cost of what has changed since the last call."""
        self._core.freeze()

    def insert(self, states: NDArray[Any], keys: list[int], actions: NDArray[np.int64], born: NDArray[np.int64]) -> Ids:
        """Make entries for pairs that the memory does not hold yet; returns their ids. Values come by `update`."""
        slots = self._core.write(actions, states, np.zeros(len(actions)), self._config.alpha)
        for action, slot, step in zip(actions.tolist(), slots.tolist(), born.tolist(), strict=True):
            self._born[action] = grown(self._born[action], slot + 1)
            self._born[action][slot] = step
        return slots * self.n_actions + actions

    def update(self, ids: Ids, targets: Values) -> None:
        """Algorithm 2 for distinct entries."""
        slots, actions = np.divmod(ids, self.n_actions)
        self._core.update(actions, slots, targets, self._config.alpha, self._config.alpha_up)

    # Saving

    def save(self) -> Arrays:
        """Every entry, the graphs and where the next searches begin, as plain arrays."""
        arrays: Arrays = {"order": np.asarray(self._core.order)}
        for action in range(self.n_actions):
            exported = {name: np.asarray(array) for name, array in self._core.export(action).items()}
            exported["born"] = self._born[action][: self._core.size(action)]
            arrays.update(prefixed(f"{action}.", exported))
        return arrays

    def load(self, arrays: Arrays) -> None:
        """Fill an empty memory with what `save` gave."""
        order = arrays.get("order")  # older files have none: the memory then finds its own at the next write
        if order is not None and order.size:
            try:
                self._core.settle(order.astype(np.uint16, casting="safe"))
            except (ValueError, TypeError) as error:
                raise NaitError(f"the saved memory is not sound: {error}") from None
        for action in range(self.n_actions):
            mine = part(arrays, f"{action}.")
            born = np.asarray(mine.pop("born"), dtype=np.int64)
            if len(born) != len(mine["values"]):
                raise NaitError("the saved memory's arrays differ in length")
            try:
                self._core.restore(action, {name: a if a.ndim else a.item() for name, a in mine.items()})
            except ValueError as error:
                raise NaitError(f"the saved memory is not sound: {error}") from None
            self._born[action] = born

    def _entries(self, ids: Ids) -> tuple[NDArray[np.int32], Values]:
        slots, actions = np.divmod(ids, self.n_actions)
        return self._core.entries(int(actions[0]) if len(ids) else 0, slots)


def make_memory(n_actions: int, representation: Representation, config: Config) -> Memory | NativeMemory:
    """The memory that `config.index` asks for; the native one needs a native representation's integer states."""
    if config.index == "native" and isinstance(representation, Native):
        return NativeMemory(n_actions, representation.dim, representation.unit, config)
    return Memory(n_actions, representation.dim, config)


def _check_room(n_actions: int, dim: int, config: Config) -> None:
    for name, value, most in (
        ("actions", n_actions, MOST_ACTIONS),
        ("state_dim (F)", dim, MOST_COORDINATES),
        ("k", config.k, MOST_K),
        ("M", config.M, int(MOST_LINKS / LINKS_SHARE)),
        ("ef_construction", config.ef_construction, MOST_EF),
        ("ef_search", config.ef_search, int(MOST_EF / EF_SEARCH_SHARE)),
    ):
        if value > most:
            raise NaitError(f"the native index takes {name} up to {most:,}, not {value:,}; index=hnswlib has no limit")
