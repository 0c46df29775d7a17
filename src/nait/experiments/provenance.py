"""Where a result comes from: the versions, the machine and the commit."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import nait

LIBRARIES = ("ale-py", "gymnasium", "hnswlib", "nait", "numpy", "opencv-python-headless", "scipy", "xxhash")


def versions() -> dict[str, str]:
    """Of Python and of every library that has a say in a run."""
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in LIBRARIES}}


def machine() -> dict[str, Any]:
    """The computer this runs on."""
    return {
        "system": platform.system(),
        "processor": platform.machine(),
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "byteorder": sys.byteorder,
    }


@cache
def cpu_model() -> str:
    """The processor by its maker's name, or what the system says of it."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    if sys.platform == "darwin":
        return _answer("sysctl", "-n", "machdep.cpu.brand_string") or platform.processor()
    return platform.processor() or platform.machine()


@cache
def commit() -> str | None:
    """The commit of the code that runs, marked where files differ from it; None for an installed package."""
    package = Path(nait.__file__).resolve().parent
    root = _answer("git", "-C", str(package), "rev-parse", "--show-toplevel")
    if root is None or Path(root).resolve() / "src" / "nait" != package:  # the repository around it is another one
        return None
    return _answer("git", "-C", root, "describe", "--always", "--dirty", "--exclude=*", "--abbrev=7")


def _answer(*command: str) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None
