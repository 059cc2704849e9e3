"""The plan of a world: the chain or the schedule, and the interventions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tracker import chain
from tracker.array_types import Array


class Switch(NamedTuple):
    """From step `at` on the mode is `to`; the chain goes on from there."""

    at: int
    to: int


class Outage(NamedTuple):
    """No gradient arrives in the steps at, ..., at + steps - 1."""

    at: int
    steps: int


@dataclass(frozen=True, eq=False)
class Plan:
    """What can happen in a world of `modes` modes.

    Attributes
    ----------
    initial : ndarray, shape (X,)
        Law of x_0; a certainty where there is no chain.
    Q, alpha : ndarray, shape (X, X), and float, or None
        The hidden chain.
    switches : tuple of (step, mode)
        The schedule, in place of the chain, by increasing step.
    interventions : tuple of Switch and Outage
    """

    modes: int
    initial: Array
    Q: Array | None = None
    alpha: float | None = None
    switches: tuple[tuple[int, int], ...] = ()
    interventions: tuple[Switch | Outage, ...] = ()

    def __post_init__(self) -> None:
        self._check_chain()
        self._check_events()

    def _check_chain(self) -> None:
        if (self.Q is None) != (self.alpha is None):
            raise ValueError("Q and alpha: give both or neither")
        if self.Q is not None:
            chain.validate(self.Q, self.alpha)
            if self.switches:
                raise ValueError("switches: a schedule stands in place of the chain")
            if len(self.Q) != self.modes:
                raise ValueError(f"Q has {len(self.Q)} rows for {self.modes} modes")
        elif np.max(self.initial) < 1.0:
            raise ValueError(f"initial: {self.initial} needs a chain to be drawn")

    def _check_events(self) -> None:
        steps = [step for step, _ in self.switches]
        if steps != sorted(set(steps)):
            raise ValueError(f"switches: steps {steps} must increase")
        for step, mode in (*self.switches, *(e for e in self.interventions if isinstance(e, Switch))):
            if step < 0 or not 0 <= mode < self.modes:
                raise ValueError(f"switch to mode {mode} at step {step}: step >= 0 and 0 <= mode < {self.modes} needed")
        for event in self.interventions:
            if isinstance(event, Outage) and (event.at < 0 or event.steps < 1):
                raise ValueError(f"{event}: at >= 0 and steps >= 1 needed")
