"""Files that are there whole or not at all, and the lock that keeps two processes from one folder."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nait.errors import NaitError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

LOCK = "lock"
PATIENCE = (0.02, 0.05, 0.1, 0.0)  # seconds between attempts: who only asks whether it is held holds it for a moment


def write_json(path: Path, data: dict[str, Any], indent: int | None = 2) -> None:
    """Write under a temporary name, flush to the disk, then rename."""
    temporary = path.with_name(path.name + ".tmp")
    try:
        with open(temporary, "w") as file:
            file.write(json.dumps(data, indent=indent) + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


class HeldError(NaitError):
    """Another process is at work in the folder."""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep every other process out of a run's folder, which must exist.

    The operating system lets go of the lock when the process ends, however it ends. The file stays:
    to remove it would let two processes hold locks on two files of the same name.
    """
    try:
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise NaitError(f"cannot write into {folder}: {error.strerror or error}") from None
    try:
        if not _take_patiently(descriptor, folder):
            raise HeldError(f"another process is at work in {folder}: wait until it has ended, or use another --out")
        yield
    finally:
        os.close(descriptor)


def is_locked(folder: Path) -> bool:
    """Whether a process is at work in a run's folder."""
    try:
        descriptor = os.open(folder / LOCK, os.O_RDWR)
    except OSError:
        return False
    try:
        return not _take(descriptor, folder)
    finally:
        os.close(descriptor)


def _take_patiently(descriptor: int, folder: Path) -> bool:
    for pause in PATIENCE:
        if _take(descriptor, folder):
            return True
        time.sleep(pause)
    return False


def _take(descriptor: int, folder: Path) -> bool:
    try:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            _take_on_windows(descriptor)
    except (BlockingIOError, PermissionError):
        return False
    except OSError as error:
        raise NaitError(
            f"the file system of {folder} cannot lock files ({error.strerror or error}): use a folder on another one"
        ) from None
    return True


def _take_on_windows(descriptor: int) -> None:
    import msvcrt

    msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
