"""The obvious NumPy twin of nait._core.Memory: every state measured, sums in the order the core promises."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LIMIT = 2039

Ints = NDArray[np.int64]


def pack(state: Ints) -> tuple[Ints, int]:
    """Mantissas and the smallest exponent under which they fit."""
    exponent = 0
    while True:
        mantissa = (state + ((1 << exponent) >> 1)) >> exponent
        if np.abs(mantissa).max() <= LIMIT:
            return mantissa, exponent
        exponent += 1


def kept(state: Ints) -> Ints:
    """The state as the memory keeps it."""
    mantissa, exponent = pack(state)
    return mantissa << exponent


def high(state: Ints) -> Ints:
    """What the coarse distance sees, in units of 16 quanta."""
    mantissa, exponent = pack(state)
    return ((mantissa + 8) >> 4) << exponent


def weights(kernel: str, squared: NDArray[np.float64]) -> list[float]:
    out = []
    for d in squared:
        u2 = d / squared[-1] if squared[-1] > 0 else 0.0
        u = np.sqrt(u2)
        out.append(
            {
                "tricubic": (1.0 - u2 * u) * (1.0 - u2 * u) * (1.0 - u2 * u),
                "uniform": 1.0,
                "inverse": 1.0 / (u + 1e-3),
                "triweight": (1.0 - u2) * (1.0 - u2) * (1.0 - u2),
                "gaussian": float(np.exp(-4.5 * u2)),
            }[kernel]
        )
    return out if sum(out) > 0 else [1.0] * len(out)


class Twin:
    """All measured, or the best by coarse distance alone.

    :param graph_from: entries in an action's memory from which it is those
    :param settle: entries in all that there must be too
    """

    def __init__(
        self,
        n_actions: int,
        k: int,
        kernel: str = "tricubic",
        thin: str = "infinite",
        graph_from: int = 10**9,
        settle: int = 0,
    ) -> None:
        self.k, self.kernel, self.thin, self.graph_from, self.settle = k, kernel, thin, graph_from, settle
        self.states: list[list[Ints]] = [[] for _ in range(n_actions)]
        self.values: list[list[float]] = [[] for _ in range(n_actions)]
        self.frozen: list[list[float]] = [[] for _ in range(n_actions)]

    def find(self, action: int, state: Ints) -> int:
        for slot, other in enumerate(self.states[action]):
            if np.array_equal(other, kept(state)):
                return slot
        return -1

    def nearest(self, action: int, state: Ints, limit: int, reach: int = 1) -> list[tuple[int, int]]:
        """(squared, slot) of the `reach` times k nearest of the first `limit` slots."""
        wanted = reach * self.k
        slots = list(range(min(limit, len(self.states[action]))))
        if len(self.states[action]) >= self.graph_from and sum(map(len, self.states)) >= self.settle:
            width = wanted + max(wanted // 2, 8)
            query = high(state)
            coarse = [float(np.float32(int(((high(s) - query) ** 2).sum()))) for s in self.states[action][:limit]]
            slots = sorted(slots, key=lambda i: (coarse[i], i))[:width]
        return sorted((int(((self.states[action][i] - kept(state)) ** 2).sum()), i) for i in slots)[:wanted]

    def estimate(self, near: list[tuple[int, int]], values: list[float]) -> float:
        if len(near) < self.k:
            return 0.0
        total = weight = 0.0
        for w, (_, slot) in zip(weights(self.kernel, np.array([float(d) for d, _ in near])), near, strict=True):
            total += w * values[slot]
            weight += w
        return total / weight

    def lookup(self, action: int, state: Ints, reach: int = 1) -> tuple[float, float, int]:
        slot = self.find(action, state)
        if slot >= 0:
            return self.values[action][slot], 0.0, slot
        near = self.nearest(action, state, len(self.states[action]), reach)
        total = float(sum(d for d, _ in near))
        if len(near) < self.k and self.thin == "letter":
            distance = total / self.k
        elif len(near) < self.k and (self.thin == "infinite" or not near):
            distance = np.inf
        else:
            distance = total / len(near)
        return self.estimate(near, self.values[action]), distance, -1

    def frozen_q(self, action: int, state: Ints) -> float:
        slot = self.find(action, state)
        if 0 <= slot < len(self.frozen[action]):
            return self.frozen[action][slot]
        return self.estimate(self.nearest(action, state, len(self.frozen[action])), self.frozen[action])

    def write(self, action: int, state: Ints, target: float, alpha: float, alpha_up: float | None = None) -> int:
        slot = self.find(action, state)
        if slot < 0:
            self.states[action].append(kept(state))
            self.values[action].append(target)
            return len(self.values[action]) - 1
        self.update(action, slot, target, alpha, alpha_up)
        return slot

    def update(self, action: int, slot: int, target: float, alpha: float, alpha_up: float | None = None) -> None:
        if slot < len(self.frozen[action]):
            old = self.frozen[action][slot]
            rate = alpha_up if alpha_up is not None and target > old else alpha
            self.values[action][slot] = old + rate * (target - old)
        else:
            self.values[action][slot] = target

    def freeze(self) -> None:
        self.frozen = [list(v) for v in self.values]
