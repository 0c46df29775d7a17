"""One safe file for a whole run, written atomically.

The file is a plain zip of `meta.json` and NumPy arrays (so `numpy.load` opens it too), closed by a
checksum over every byte before it. It holds no code: arrays are read with pickling forbidden. It is
written under a temporary name, flushed to the disk and renamed, and the file it replaces is kept
beside it as `NAME.previous`, so that there is a whole one at every moment.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from nait.arrays import Arrays
from nait.errors import NaitError

VERSION = 1
_MARK = b"nait "
_COMMENT = len(_MARK) + 32
_CHUNK = 1 << 20


class DamagedError(NaitError):
    """The file is not what was once written."""


def previous(path: Path) -> Path:
    """Where the checkpoint before the one at `path` is kept."""
    return path.with_name(path.name + ".previous")


def save(path: Path, meta: dict[str, Any], arrays: Arrays) -> None:
    """Write the file; the one that was there before stays as `previous(path)`."""
    temporary = path.with_name(path.name + ".tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr("meta.json", json.dumps({"version": VERSION, **meta}))
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, np.asarray(array, order="C"), allow_pickle=False)
            archive.comment = _MARK + b"0" * 32
        with open(temporary, "r+b") as file:
            digest = _digest(file, os.path.getsize(temporary) - 32)
            file.seek(-32, os.SEEK_END)
            file.write(digest)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            _keep(path)
        os.replace(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise NaitError(f"cannot write {path}: {error.strerror or error}") from None


def _keep(path: Path) -> None:
    """Give the file at `path` its second name while it still has the first."""
    second = path.with_name(path.name + ".keep")
    second.unlink(missing_ok=True)
    try:
        os.link(path, second)
    except OSError:  # a file system without hard links
        shutil.copyfile(path, second)
    os.replace(second, previous(path))


def load(path: Path) -> tuple[dict[str, Any], Arrays]:
    """Read and check a file; whatever is wrong with it is said in one line."""
    try:
        size = os.path.getsize(path)
        with open(path, "rb") as file:
            file.seek(max(size - _COMMENT, 0))
            tail = file.read()
            file.seek(0)
            if file.read(2) != b"PK":
                raise DamagedError(f"{path} is not a nait file")
            file.seek(0)
            if not tail.startswith(_MARK) or _digest(file, size - 32) != tail[-32:]:
                raise DamagedError(f"{path} is damaged (cut short, or its checksum does not match){_hint(path)}")
            return _read(path)
    except FileNotFoundError:
        raise NaitError(f"there is no file {path}{_hint(path)}") from None
    except OSError as error:
        raise NaitError(f"cannot read {path}: {error.strerror or error}") from None


def _read(path: Path) -> tuple[dict[str, Any], Arrays]:
    try:
        with zipfile.ZipFile(path) as archive:
            meta = json.loads(archive.read("meta.json"))
            if meta["version"] > VERSION:
                raise NaitError(
                    f"{path} is of format {meta['version']}, this nait reads up to {VERSION}: install a newer nait"
                )
            arrays: Arrays = {}
            for name in archive.namelist():
                if name.endswith(".npy"):
                    with archive.open(name) as member:
                        arrays[name.removesuffix(".npy")] = np.lib.format.read_array(member, allow_pickle=False)
            return meta, arrays
    except (zipfile.BadZipFile, KeyError, TypeError, ValueError) as error:
        if isinstance(error, NaitError):
            raise
        raise NaitError(f"{path} is not a nait file") from None


def _digest(file: Any, length: int) -> bytes:
    hasher = xxhash.xxh3_128()
    while length > 0 and (chunk := file.read(min(length, _CHUNK))):
        hasher.update(chunk)
        length -= len(chunk)
    return hasher.hexdigest().encode()


def _hint(path: Path) -> str:
    before = previous(path)
    return f"; the one before it is {before}: rename it to {path.name} to use it" if before.exists() else ""
