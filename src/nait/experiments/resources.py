"""What this machine has for runs, cores and memory, and what a run needs."""

from __future__ import annotations

import os
from pathlib import Path

from nait.config import Config
from nait.envs import is_game
from nait.experiments.plan import Job

# Read by the libraries behind NumPy when they are loaded.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
PROCESS_BYTES = 150e6
# Of a process at its peak, which is while it writes a checkpoint: the index, the arrays of the file and
# what the allocator keeps of both. Measured on Alien at 52,000 states, and at 26,000 with hnswlib.
NATIVE_STATE_BYTES, OTHER_STATE_BYTES = 2600, 5000
DEFAULT_DIM, FRAME_DIM = 289, 4 * 84 * 84
CGROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        "/sys/fs/cgroup/memory/memory.stat",
    ),
)


def cores() -> int:
    """The cores this process may use."""
    if hasattr(os, "process_cpu_count"):
        return os.process_cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def needed_memory(job: Job) -> float:
    """Bytes of a run at its peak, if every step stores a state."""
    config = Config(**job.settings.hyperparameters)
    a_state: float = OTHER_STATE_BYTES
    if config.index == "native" and config.representation != "identity":
        a_state = NATIVE_STATE_BYTES
    elif config.representation == "identity" and is_game(job.game):  # whole frames
        a_state = OTHER_STATE_BYTES * FRAME_DIM / DEFAULT_DIM
    return PROCESS_BYTES + job.steps * a_state


def available_memory(root: Path = Path("/")) -> float | None:
    """Bytes that may still be taken, by the machine and by the limit of its container; None if there is no telling.

    :param root: of the file system in which the kernel tells it
    """
    known = [left for left in (_machine_memory(root), *(_cgroup_memory(root, *paths) for paths in CGROUPS)) if left]
    return min(known) if known else None


def _machine_memory(root: Path) -> float | None:
    try:
        for line in (root / "proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return float(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _cgroup_memory(root: Path, limit: str, used: str, stat: str) -> float | None:
    try:
        most = float((root / limit.lstrip("/")).read_text())
        taken = float((root / used.lstrip("/")).read_text())
        rows = dict(line.split() for line in (root / stat.lstrip("/")).read_text().splitlines())
    except (OSError, ValueError):  # "max" is no limit
        return None
    return max(most - taken + float(rows.get("inactive_file", 0)), 1.0)  # pages of files are given back when needed


def resident_memory(pid: int) -> float:
    """Bytes that a process holds; 0 if there is no telling."""
    try:
        return float(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0.0
