"""Waiting for what another process does."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable


def wait_for(true: Callable[[], object], process: subprocess.Popen[str] | None = None, seconds: float = 30.0) -> None:
    """Until `true` is; fails when the time is up, or when `process` ends first."""
    end = time.monotonic() + seconds
    while not true():
        assert process is None or process.poll() is None, process.communicate()[1]
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.05)
