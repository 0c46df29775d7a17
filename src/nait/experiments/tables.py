"""The CSV files of a run: appended to while it goes on, cut back to a checkpoint when it resumes."""

from __future__ import annotations

import contextlib
import csv
import os
from pathlib import Path
from typing import Any


class Table:
    """One CSV file whose first column is called in `columns` and whose rows grow in `step`.

    :param after: keep only whole rows up to this step; what a killed run wrote later is done again
    """

    def __init__(self, path: Path, columns: tuple[str, ...], after: int = 0) -> None:
        self._columns = columns
        kept = [row for row in read_table(path) if int(row["step"]) <= after] if path.exists() else []
        temporary = path.with_name(path.name + ".tmp")
        with open(temporary, "w", newline="") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows(kept)
        os.replace(temporary, path)
        self._file = open(path, "a", newline="")  # noqa: SIM115 (closed by close)
        self._writer = csv.DictWriter(self._file, columns)

    def append(self, **row: Any) -> None:
        """Add a row; it is in the file when this returns."""
        self._writer.writerow(row)
        self._file.flush()

    def close(self) -> None:
        """No more rows."""
        self._file.close()


def read_table(path: Path) -> list[dict[str, str]]:
    """The whole rows of a file; a last row that a kill cut short is left out."""
    text = path.read_text()
    if not text.endswith("\n"):
        text = text[: text.rfind("\n") + 1]
    return [row for row in csv.DictReader(text.splitlines()) if None not in row.values() and None not in row]


def last_step(path: Path) -> int:
    """The last row's first column, without reading the rest; 0 if there is no row."""
    with contextlib.suppress(OSError), open(path, "rb") as file:
        file.seek(max(file.seek(0, os.SEEK_END) - 512, 0))
        for line in reversed(file.read().split(b"\n")[:-1]):
            first = line.partition(b",")[0]
            if first.isdigit():
                return int(first)
    return 0
