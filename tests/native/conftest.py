"""Puts this folder on the path, for the twin and for the processes that tests start."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
