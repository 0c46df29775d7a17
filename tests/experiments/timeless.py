"""Records without what the clock says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nait.experiments import store


def timeless(folder: Path) -> list[dict[str, Any]]:
    """All records without what the clock says."""
    found = []
    for record in store.read(folder):
        data = json.loads(json.dumps(record.to_json()))
        for score in data["scores"]:
            del score["itr_s"], score["walltime_s"]
        del data["curve"]["seconds"]
        found.append(data)
    return found
