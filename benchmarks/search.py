"""Lookup and insert on states of real play: the core beside hnswlib, faiss and usearch.

Memory is filled by the first part of a game's play, split by the 18 actions; then states of the rest are looked up in
every action's memory, step after step. Truth is an exact float32 search. States come from play.py.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import faiss
import hnswlib
import numpy as np
from numpy.typing import NDArray
from usearch.index import Index

from nait._core import Memory, simd
from nait.experiments.speed import recall, squared_distances

K, ACTIONS, F = 64, 18, 289
Floats = NDArray[np.float32]
Search = Callable[[Floats], NDArray[np.int64]]


def hnswlib_index(states: Floats) -> Search:
    index = hnswlib.Index("l2", F)
    index.init_index(len(states), ef_construction=200, M=40)
    index.set_num_threads(1)
    index.set_ef(200)
    index.add_items(states)
    return lambda q: index.knn_query(q, K)[0][0].astype(np.int64)


def faiss_hnsw(states: Floats) -> Search:
    index = faiss.IndexHNSWFlat(F, 32)
    index.hnsw.efConstruction, index.hnsw.efSearch = 200, 200
    index.add(states)
    return lambda q: index.search(q[None], K)[1][0]


def faiss_flat(states: Floats) -> Search:
    index = faiss.IndexFlatL2(F)
    index.add(states)
    return lambda q: index.search(q[None], K)[1][0]


def usearch_bf16(states: Floats) -> Search:
    index = Index(ndim=F, metric="l2sq", dtype="bf16", connectivity=40, expansion_add=200, expansion_search=200)
    index.add(np.arange(len(states)), states, threads=1)
    return lambda q: index.search(q, K, threads=1).keys.astype(np.int64)


OTHERS: dict[str, Callable[[Floats], Search]] = {
    "hnswlib M=40 ef=200": hnswlib_index,
    "faiss HNSW32 ef=200": faiss_hnsw,
    "faiss flat": faiss_flat,
    "usearch bf16 M=40": usearch_bf16,
}


def recall_at(found: NDArray[np.int64], memory: Floats, query: Floats) -> float:
    return recall(squared_distances(query[None], memory)[0], found, K)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(".data"))
    parser.add_argument("--fill", type=int, default=98_000)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument(
        "--actions", type=int, nargs="*", default=[1, 11], help="the memories that others are measured on"
    )
    parser.add_argument("--ef", type=int, nargs="*", default=[96, 200])
    parser.add_argument("games", nargs="*", default=["MsPacman", "Breakout", "Hero"])
    arguments = parser.parse_args()
    faiss.omp_set_num_threads(1)
    print("instruction set:", simd)
    for game in arguments.games:
        record = np.load(arguments.data / f"{game}.npz")
        states, actions = record["states"], record["actions"].astype(np.int64)
        integers = np.rint(16 * (states - states[0])).astype(np.int32)
        fill, steps = arguments.fill, range(arguments.fill, arguments.fill + arguments.steps)
        rows: dict[int, NDArray[np.intp]] = {}
        for ef in arguments.ef:
            memory = Memory(ACTIONS, F, k=K, ef_search=ef)
            slots = np.empty(fill, np.int64)
            start = time.perf_counter()
            for i in range(0, fill, 50):
                batch = slice(i, min(i + 50, fill))
                slots[batch] = memory.write(actions[batch], integers[batch], np.zeros(batch.stop - i), 0.1)
            insert = (time.perf_counter() - start) / fill
            for a in arguments.actions:
                mine = np.flatnonzero(actions[:fill] == a)
                rows[a] = mine[np.unique(slots[mine], return_index=True)[1]]
            q, distance, exact = np.empty(ACTIONS), np.empty(ACTIONS), np.empty(ACTIONS, np.int64)
            took, answers = [], []
            for t in steps:
                start = time.perf_counter()
                memory.lookup(integers[t], q, distance, exact)
                took.append(time.perf_counter() - start)
                if t % 10 == 0:
                    answers += [(a, t, memory.neighbours(a)[0]) for a in arguments.actions if exact[a] < 0]
            scores = [recall_at(found, states[rows[a]], states[t]) for a, t, found in answers]
            n = int(memory.sizes().sum())
            print(
                f"{game:11s} {f'core ef={ef}':20s} {1e6 * np.median(took):7.0f} us a step of {ACTIONS} actions"
                f" ({1e6 * np.mean(took) / ACTIONS:5.1f} us an action)  insert {1e6 * insert:5.1f} us"
                f"  recall {np.mean(scores):.4f}  {memory.nbytes() / n:.0f} bytes a state, {n} states",
                flush=True,
            )
        for name, build in OTHERS.items():
            took, answers, built = [], [], 0.0
            for a in arguments.actions:
                start = time.perf_counter()
                search = build(states[rows[a]])
                built += (time.perf_counter() - start) / len(rows[a]) / len(arguments.actions)
                for t in steps[::3]:
                    start = time.perf_counter()
                    found = search(states[t])
                    took.append(time.perf_counter() - start)
                    answers.append((a, t, found))
            scores = [recall_at(found, states[rows[a]], states[t]) for a, t, found in answers[::3]]
            print(
                f"{game:11s} {name:20s} {1e6 * np.median(took) * ACTIONS:7.0f} us a step of {ACTIONS} actions"
                f" ({1e6 * np.mean(took):5.1f} us an action)  insert {1e6 * built:5.1f} us"
                f"  recall {np.mean(scores):.4f}",
                flush=True,
            )
