"""The same seed gives the same bits on every machine and on every instruction set."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest

import nait
from nait.native_memory import NativeMemory

FLAT_BELOW = 1000  # smaller memories are scanned
# Freeway has three actions, so that the larger memories are searched by their graphs.
GOLDEN = {
    ("MsPacman", 2000): "e2bb472d907f516535c6d7cd08520e6326c85e7ab5c0ea9768632488acd8a61c",
    ("Freeway", 5000): "86efefb0245f7a6fb8803705ef64cf911fa11b3687fdd0db53dde91aecff3460",
}


def digest(game: str, steps: int) -> str:
    """Everything that some steps of a game leave behind: episodes, values, states, graphs."""
    agent = nait.NAIT(nait.make_atari(game), seed=0).learn(steps)
    if game == "Freeway":
        assert isinstance(agent.memory, NativeMemory)
        assert max(agent.memory.sizes()) > 1.5 * FLAT_BELOW
    sha = hashlib.sha256()
    sha.update(np.array([agent.episode_ends, agent.episode_scores], dtype="<f8").tobytes())
    for name, array in sorted(agent.memory.save().items()):
        sha.update(name.encode())
        sha.update(np.ascontiguousarray(array).tobytes())
    return sha.hexdigest()


@pytest.mark.parametrize(("game", "steps"), GOLDEN)
@pytest.mark.parametrize("simd", ["plain", "avx2", "avx512"])
def test_a_run_leaves_the_same_bits_everywhere(simd: str, game: str, steps: int) -> None:
    code = f"import test_golden; print(test_golden.digest({game!r}, {steps}))"
    environment = {**os.environ, "NAIT_SIMD": simd, "PYTHONPATH": os.path.dirname(__file__)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    if "supports no more than" in done.stderr:
        pytest.skip(f"this CPU has no {simd}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == GOLDEN[game, steps]
