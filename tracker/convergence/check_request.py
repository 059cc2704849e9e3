"""The options of a check, other than the ladder."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

Progress = Callable[[float, float, str], None]
MOST_STEPS = 1e11  # of all trials, as for a run


class TooManySteps(ValueError):
    """More work than is allowed."""


class Request(NamedTuple):
    """trials : None for as many as the resolution needs; max_steps : of all trials together."""

    trials: int | None
    resolution: float
    tell: Progress
    workers: int | None = None
    max_steps: float = MOST_STEPS

    def note(self, text: str) -> None:
        """Say what is going on where no steps are counted."""
        self.tell(0.0, 1.0, text)
