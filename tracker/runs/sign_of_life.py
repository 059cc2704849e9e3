"""What a run under way says of its progress, in ``progress.json``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tracker.regular_files import open_regular
from tracker.runs.file_names import PROGRESS

if TYPE_CHECKING:
    from pathlib import Path

PROGRESS_KEYS = ("done", "base", "total", "began", "at")


def sign_of_life(path: Path) -> dict[str, float] | None:
    """Return what a run says of its progress; None where it says nothing, or what no run would say."""
    try:
        with open_regular(path / PROGRESS) as file:
            sign = json.loads(file.read(10_000))
        found = {key: float(sign[key]) for key in PROGRESS_KEYS}
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    sound = set(sign) == set(PROGRESS_KEYS) and all(0 <= value < 1e300 for value in found.values())
    return found if sound and found["total"] > 0 and found["done"] <= found["total"] else None
