"""The same seed gives the same bits on every machine and on every instruction set."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest

import nait

GOLDEN = "9b9ff8bc32abd37881e38f150af8356d33f2af89e5c064fd0ad6d5dffa43feaa"


def digest() -> str:
    """Everything that 2,000 steps of MsPacman leave behind: episodes, values, states, graphs."""
    agent = nait.NAIT(nait.make_atari("MsPacman"), seed=0).learn(2000)
    sha = hashlib.sha256()
    sha.update(np.array([agent.episode_ends, agent.episode_scores], dtype="<f8").tobytes())
    for name, array in sorted(agent.memory.save().items()):
        sha.update(name.encode())
        sha.update(np.ascontiguousarray(array).tobytes())
    return sha.hexdigest()


@pytest.mark.parametrize("simd", ["plain", "avx2", "avx512"])
def test_two_thousand_steps_leave_the_same_bits_everywhere(simd: str) -> None:
    code = "import test_golden; print(test_golden.digest())"
    environment = {**os.environ, "NAIT_SIMD": simd, "PYTHONPATH": os.path.dirname(__file__)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    if "supports no more than" in done.stderr:
        pytest.skip(f"this CPU has no {simd}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == GOLDEN
