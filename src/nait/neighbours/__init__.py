"""Nearest-neighbour indexes, one an action, behind one small protocol: L(s, a) of the paper."""

from __future__ import annotations

from nait.config import Config
from nait.neighbours.flat import FlatIndex
from nait.neighbours.hnsw import HnswIndex
from nait.neighbours.kdtree import KDTreeIndex
from nait.neighbours.protocol import Index

__all__ = ["FlatIndex", "HnswIndex", "Index", "KDTreeIndex", "make_index"]


def make_index(config: Config, dim: int) -> Index:
    """An empty index of the kind that `config` names, for states of length `dim`.

    `native` stands for hnswlib where the core does not serve: states that are not its integers.
    """
    if config.index in ("native", "hnswlib"):
        return HnswIndex(dim, config.M, config.ef_construction, config.ef_search)
    if config.index == "kdtree":
        return KDTreeIndex(dim)
    return FlatIndex(dim)
