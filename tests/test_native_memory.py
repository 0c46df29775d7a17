"""The memory on the native core against the plain one, call by call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from nait.config import Config
from nait.errors import NaitError
from nait.memory import ABSENT, Memory, hash_of
from nait.native_memory import NativeMemory

ACTIONS, DIM = 3, 24


def walk(rng: np.random.Generator, n: int) -> NDArray[np.int32]:
    """States that move slowly; multiples of 16 within the core's first byte, so that its first ranking is exact."""
    return (16 * np.clip(np.cumsum(rng.integers(-3, 4, (n, DIM)), axis=0), -126, 126)).astype(np.int32)


def write(memory: Memory | NativeMemory, states: NDArray[np.int32], actions: list[int], targets: list[float]) -> None:
    ids = []
    for i, (state, action) in enumerate(zip(states, actions, strict=True)):
        known = memory.find(state, hash_of(state), action)
        if known == ABSENT:
            known = int(memory.insert(state[None], [hash_of(state)], np.array([action]), np.array([i]))[0])
        ids.append(known)
    last = dict(zip(ids, targets, strict=True))
    memory.update(np.array(list(last)), np.array(list(last.values())))


@pytest.mark.parametrize("kernel", ["tricubic", "uniform", "inverse", "triweight", "gaussian"])
@pytest.mark.parametrize("thin_distance", ["infinite", "mean", "letter"])
@pytest.mark.parametrize("thin_value", ["zero", "infinite"])
def test_the_native_memory_answers_as_the_plain_one(kernel: str, thin_distance: str, thin_value: str) -> None:
    rng = np.random.default_rng(0)
    options: dict[str, Any] = {"k": 8, "kernel": kernel, "thin_distance": thin_distance, "thin_value": thin_value}
    options |= {"play_reach": 3, "alpha_up": 0.5}
    plain = Memory(ACTIONS, DIM, Config(index="flat", **options))
    native = NativeMemory(ACTIONS, DIM, 0.5, Config(**options))
    for _ in range(6):
        plain.freeze()
        native.freeze()
        states = walk(rng, 30)
        actions = rng.choice(ACTIONS, 30, p=[0.7, 0.28, 0.02]).tolist()
        targets = rng.normal(size=30).tolist()
        write(plain, states, actions, targets)
        write(native, states, actions, targets)
        assert plain.sizes() == native.sizes()
        for state in [*states[:3], *walk(rng, 5)]:
            a, b = plain.lookup(state, search_thin=True), native.lookup(state, search_thin=True)
            np.testing.assert_allclose(b.q, a.q, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(b.distance, a.distance * 0.25, rtol=1e-6)
            assert ((a.exact == ABSENT) == (b.exact == ABSENT)).all()
            wide_a, wide_b = plain.lookup(state, playing=True), native.lookup(state, playing=True)
            np.testing.assert_allclose(wide_b.q, wide_a.q, rtol=1e-9, atol=1e-9)
            if max(plain.sizes()) >= 16 and not (a.exact != ABSENT).any():
                assert (wide_a.q != a.q).any()  # it rests on more neighbours
            a, b = plain.lookup(state, search_thin=True), native.lookup(state, search_thin=True)
            for action in range(ACTIONS):
                assert native.frozen_q(b, action) == pytest.approx(plain.frozen_q(a, action), rel=1e-9, abs=1e-9)
                if a.exact[action] == ABSENT:
                    (ids_a, squared_a), (ids_b, squared_b) = plain.neighbours(a, action), native.neighbours(b, action)
                    np.testing.assert_allclose(squared_b, squared_a * 0.25, rtol=1e-6)
                    np.testing.assert_array_equal(native.states_of(ids_b), plain.states_of(ids_a))
                    np.testing.assert_array_equal(native.values_of(ids_b), plain.values_of(ids_a))
                    np.testing.assert_array_equal(native.born(ids_b), plain.born(ids_a))
    assert plain.distinct_states() == native.distinct_states()
    assert len(plain) == len(native)


def test_a_damaged_memory_is_refused() -> None:
    memory = NativeMemory(1, DIM, 1.0, Config(k=4))
    n = 2100  # enough for an order of the coordinates and links
    write(memory, walk(np.random.default_rng(1), n), [0] * n, [1.0] * n)
    saved = memory.save()
    for name, wrong in (
        ("order", np.zeros_like(saved["order"])),
        ("order", saved["order"].astype(np.float64)),
        ("0.links", np.full_like(saved["0.links"], n)),
        ("0.values", saved["0.values"][:-1]),
        ("0.states", saved["0.states"][:, :-1]),
    ):
        with pytest.raises(NaitError, match=r"not sound|differ in length"):
            NativeMemory(1, DIM, 1.0, Config(k=4)).load({**saved, name: wrong})


@pytest.mark.parametrize(
    ("most", "wrong"),
    [
        ({"k": 65_536}, "k up to 65,536, not 65,537"),
        ({"M": 637}, "M up to 637, not 638"),
        ({"ef_construction": 65_536}, "ef_construction up to 65,536, not 65,537"),
        ({"ef_search": 136_533}, "ef_search up to 136,533, not 136,534"),
    ],
)
def test_what_the_core_has_no_room_for_is_refused(most: dict[str, int], wrong: str) -> None:
    NativeMemory(3, 4, 1.0, Config(**most))
    ((name, value),) = most.items()
    with pytest.raises(NaitError, match=wrong):
        NativeMemory(3, 4, 1.0, Config(**{name: value + 1}))


@pytest.mark.parametrize(("actions", "dim"), [(4097, 4), (3, 4097)])
def test_more_actions_or_coordinates_than_the_core_takes_are_refused(actions: int, dim: int) -> None:
    with pytest.raises(NaitError, match=r"up to 4,096, not 4,097; index=hnswlib has no limit"):
        NativeMemory(actions, dim, 1.0, Config())
