"""Judge the engine at the largest step: its law against the algorithm's law, and each single step.

docs/mathematics, "Implementation verdict". Where no exact law is known the steps decide alone: confirmed means that noise,
drift and rate are each right to within the resolution, relative.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from tracker.convergence import extrapolation
from tracker.convergence.extrapolation import LEVEL, RARE
from tracker.convergence.residuals import StepLaw, step_law
from tracker.convergence.step_tests import RATE, Steps, judge_steps
from tracker.convergence.verdict import Sees
from tracker.limits.scope import OutOfScope

if TYPE_CHECKING:
    from tracker.array_types import Array
    from tracker.convergence.step_ladder import Ladder
    from tracker.convergence.trials import Tally
    from tracker.convergence.verdict import Residual, Word


PANEL, STEPS = 0.5 * LEVEL, 0.4 * LEVEL
USUAL = 18  # statistics of steps, for the number of trials that decide


class Watched(NamedTuple):
    """The law of a step at the largest epsilon, or why it is not known."""

    law: StepLaw | None
    reason: str = ""

    @property
    def level(self) -> float:
        """Of the panel: steps that are watched take their share."""
        return LEVEL if self.law is None else PANEL

    def trials(self, delta: float, statistics: int, inflation: float = 1.0) -> int:
        """Return how many trials decide, with ``statistics`` in the panel; none: the steps alone."""
        if statistics:
            return extrapolation.trials_for(delta, statistics, inflation, self.level)
        return extrapolation.trials_for(delta, USUAL, 1.0, STEPS)


class Implementation(NamedTuple):
    """The verdict, and what it rests on; ``largest_z`` is the panel's."""

    verdict: Word
    largest_z: float | None = None
    needed: int | None = None
    residuals: tuple[Residual, ...] = ()
    sees: Sees = Sees()
    notes: tuple[str, ...] = ()

    def fields(self) -> dict[str, Any]:
        """Return the fields of a ``Verdict`` that are the engine's own."""
        return {
            "implementation_verdict": self.verdict,
            "implementation_z": self.largest_z,
            "residuals": self.residuals,
            "sees": self.sees,
        }


def watch(ladder: Ladder) -> Watched:
    """Return the law of a step at the largest epsilon, or the reason why single steps are not judged."""
    try:
        return Watched(step_law(ladder))
    except OutOfScope as reason:
        return Watched(None, str(reason))


def judge(
    tally: Tally, exact: Array | None, tested: int, delta: float, watched: Watched, why_not: str
) -> Implementation:
    """Judge the trials at the largest step; ``exact`` : (J,), None where no exact law is known, and ``why_not`` says why."""
    panel = None if exact is None else extrapolation.implementation(tally, exact, delta, tested, watched.level)
    steps = Steps(problem=watched.reason)
    if watched.law is not None and tally.steps is not None:
        steps = judge_steps(watched.law, tally.steps, STEPS, delta)
    notes = _notes(steps, watched, why_not if panel is None else "")
    if panel is None:
        word = steps.word(delta)
        needed = math.ceil(tally.trials * max(steps.needed, 2.0)) if word == "inconclusive" else None
        return Implementation(word, None, needed, steps.residuals, steps.sees, notes)
    word = "rejected" if steps.rejected else panel.verdict
    needed = None if steps.rejected else panel.needed
    return Implementation(word, panel.largest_z, needed, steps.residuals, steps.sees, notes)


def _notes(steps: Steps, watched: Watched, why_not: str) -> tuple[str, ...]:
    found = []
    if steps.problem:
        found.append(f"single steps of the engine are not judged: {steps.problem}")
    if why_not:
        instead = (
            "the implementation is not judged" if steps.problem else "its single steps alone judge the implementation"
        )
        found.append(f"the algorithm's own law is out of reach, so {instead}: {why_not}")
    moves = watched.law is not None and watched.law.exits.any()
    if moves and not steps.problem and all(each.name != RATE for each in steps.residuals):
        found.append(f"the rate of jumps is not tested: fewer than {RARE:g} are expected in these trials")
    return tuple(found)
