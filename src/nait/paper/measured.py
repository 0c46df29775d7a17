"""Measurements that are kept in a file each, so that an interrupted experiment goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from nait.errors import NaitError
from nait.experiments import provenance
from nait.experiments.files import write_json
from nait.experiments.run import make_folder

T = TypeVar("T")


def read(path: Path, plan: dict[str, Any], parse: Callable[[Any], T]) -> T | None:
    """What an earlier call with the same plan has measured; None where there is nothing, or it is damaged."""
    try:
        data = json.loads(path.read_bytes())
        return parse(data["found"]) if data["plan"] == json.loads(json.dumps(plan)) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write(path: Path, plan: dict[str, Any], found: Any) -> None:
    """Keep it, with where it comes from."""
    make_folder(path.parent)
    origin = {"machine": provenance.machine(), "versions": provenance.versions(), "commit": provenance.commit()}
    try:
        write_json(path, {"plan": plan, "found": found, **origin})
    except OSError as error:
        raise NaitError(f"cannot write into {path.parent}: {error.strerror or error}") from None


def measured(path: Path, plan: dict[str, Any], measure: Callable[[], Any], parse: Callable[[Any], T]) -> T:
    """From the file, or measured now.

    :param parse: what to make of what `measure` returns, or has returned
    """
    known = read(path, plan, parse)
    if known is not None:
        return known
    found = measure()
    write(path, plan, found)
    return parse(found)
