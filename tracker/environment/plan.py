"""The plan of a world: the chain or the schedule, and the interventions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tracker import chain
from tracker.array_types import Array
from tracker.environment.landscape_drift import DriftLaw


class Switch(NamedTuple):
    """From step `at` on the mode is `to`; the chain goes on from there."""

    at: int
    to: int


class PlannedOutage(NamedTuple):
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
    law : chain.DwellLaw
        Of its visits.
    aged : bool
        Whether the first visit is already going on, at an age that is drawn.
    drift : DriftLaw or None
        Of all landscapes together.
    switches : tuple of (step, mode)
        The schedule, in place of the chain, by increasing step.
    interventions : tuple of Switch and PlannedOutage
    """

    modes: int
    initial: Array
    Q: Array | None = None
    alpha: float | None = None
    law: chain.DwellLaw = chain.DwellLaw()  # noqa: RUF009  (a tuple of numbers)
    aged: bool = False
    drift: DriftLaw | None = None
    switches: tuple[tuple[int, int], ...] = ()
    interventions: tuple[Switch | PlannedOutage, ...] = ()

    @property
    def transition(self) -> Array | None:
        """The transition matrix of the chain's states, shape (S, S), stage by stage within each mode; None without a chain."""
        if self.Q is None or self.alpha is None:
            return None
        return np.asarray(
            np.eye(self.modes * self.law.shape) + self.alpha * chain.staged_generator(self.Q, self.law.shape)
        )

    @property
    def initial_states(self) -> Array:
        """The law of the first state, shape (S,): all stages last equally long, and a stay that begins is in its first."""
        stages = self.law.shape
        return np.kron(self.initial, np.full(stages, 1.0 / stages) if self.aged else np.eye(stages)[0])

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
            if isinstance(event, PlannedOutage) and (event.at < 0 or event.steps < 1):
                raise ValueError(f"{event}: at >= 0 and steps >= 1 needed")
