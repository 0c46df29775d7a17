"""`nait report`: reads results, makes everything in memory, then puts the files in their place."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from nait.errors import NaitError
from nait.report.figures import Picture, pictures
from nait.report.page import sections, to_html, to_markdown
from nait.report.study import Study, study


def write_report(
    paths: Sequence[Path], out: Path | None = None, against: str | None = None, seed: int = 0
) -> tuple[Path, Study]:
    """Write `index.html`, `tables.md` and `figures/` and return the page's path with what it tells.

    :param paths: folders of `nait bench`, or runs.csv files
    :param out: by default `report` in the first folder
    :param against: a published method or a folder for the probability of improvement
    :param seed: of the bootstrap
    """
    folder = out if out is not None else (paths[0] if paths[0].is_dir() else paths[0].parent) / "report"
    told = study(paths, against, seed)
    drawn = pictures(told)
    parts = sections(told, drawn)
    files = picture_files(drawn)
    files |= {"tables.md": to_markdown(parts).encode(), "index.html": to_html(parts).encode()}
    put(folder, files)
    return folder / "index.html", told


def picture_files(drawn: Sequence[Picture]) -> dict[str, bytes]:
    """Every picture's two files by name."""
    files = {f"figures/{picture.name}.png": picture.png for picture in drawn}
    return files | {f"figures/{picture.name}.svg": picture.svg for picture in drawn}


def put(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a folder and its `figures`, each whole or not at all."""
    try:
        (folder / "figures").mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            _write(folder / name, content)
    except OSError as error:
        raise NaitError(f"cannot write into {folder}: {error.strerror or error}") from None


def _write(path: Path, content: bytes) -> None:
    """Under a temporary name, then renamed."""
    temporary = path.with_name(path.name + ".tmp")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
