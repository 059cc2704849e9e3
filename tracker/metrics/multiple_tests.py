"""Correct the smallest p-value of several tests for their number."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable


class Family(NamedTuple):
    """So many tests were made; ``corrected`` is min(1, tests times the smallest p-value), nan without a test."""

    tests: int
    corrected: float

    def correct(self, p_value: float) -> float:
        """Return min(1, tests p): below a level with at most that probability where every hypothesis is true (Bonferroni)."""
        return min(1.0, self.tests * p_value)


def family(p_values: Iterable[float | None]) -> Family:
    """Return the family of these tests; None and nan stand for tests that could not be made, and do not count."""
    known = [p for p in p_values if p is not None and not math.isnan(p)]
    return Family(len(known), min(1.0, len(known) * min(known)) if known else math.nan)
