"""Running the same code under every instruction set that this CPU has."""

from __future__ import annotations

import os
import subprocess
import sys


def outputs(code: str) -> set[str]:
    """What `code` prints under plain, AVX2 and AVX-512; one string if they all agree."""
    seen = set()
    for level in ("plain", "avx2", "avx512"):
        environment = {**os.environ, "NAIT_SIMD": level, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
        )
        if "supports no more than" in done.stderr:
            continue
        assert done.returncode == 0, done.stderr
        seen.add(done.stdout)
    return seen
