"""The options of a check, other than the ladder."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tracker.limits.density_means import MOST_PRODUCTS

Progress = Callable[[float, float, str], None]
MOST_STEPS = 1e11  # of all trials, as for a run


class TooManySteps(ValueError):
    """More work than is allowed."""


class Request(NamedTuple):
    """trials : None for as many as the resolution needs; max_steps : of all trials; max_work : products of a law."""

    trials: int | None
    resolution: float
    tell: Progress
    workers: int | None = None
    max_steps: float = MOST_STEPS
    max_work: float = MOST_PRODUCTS

    def note(self, text: str) -> None:
        """Say what is going on where no steps are counted."""
        self.tell(0.0, 1.0, text)
