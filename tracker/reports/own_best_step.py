"""Exhibit: the exact error of each sampler at its own best step, beside the step of the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.formatting import listed, number, plain, step_size
from tracker.reports.exhibit import Cell, Omitted, Shown, Table
from tracker.reports.step_notes import over_limit, per_gradient

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tracker.limits import OutOfScope
    from tracker.reports.exhibit import VerdictBox
    from tracker.reports.exhibits.best_step import StepTheory
    from tracker.reports.run_view import View

KEY, QUESTION = "own-best-step", "Which one, if each had its own best step?"
WHICH = "Which sampler?"
EQUAL_ERRORS = 1e-6  # relative difference of errors that are one
ADVICE = 'sweep "samplers.*.epsilon" to find the best step of each by simulation'


def own_steps(view: View) -> Shown | Omitted | None:
    """Return the exact stationary mean square errors at the file's steps and at each sampler's best one; None for one sampler."""
    if view.scenario.chain is None or len(view.samplers) < 2:
        return None
    known, unknown = view.theories
    if not known:
        return Omitted(KEY, QUESTION, f"not known exactly ({next(iter(unknown.values())).reason}); {ADVICE}.")
    reference = next(iter(known))
    reasons = {name: refusal.reason for name, refusal in unknown.items()}
    rows = tuple(_row(view, name, known.get(name), known[reference], reasons.get(name, "")) for name in view.samplers)
    columns = (
        "sampler", "ε", "ε / its limit", "error at ε", "best step", "error at it", f"error to {reference}'s, at ε",
        "each at its best step", "note",
    )  # fmt: skip
    return Shown(_caption(view, known, unknown), Table(columns, rows))


def _tuned(known: Mapping[str, StepTheory]) -> dict[str, StepTheory]:
    return {name: t for name, t in known.items() if not t.why}


def said_at_best(known: Mapping[str, StepTheory]) -> str:
    """Return who has the least exact error where each stands at its own best step; nothing for fewer than two."""
    tuned = _tuned(known)
    if len(tuned) < 2:
        return ""
    best = min(tuned, key=lambda n: tuned[n].least)
    level = [name for name, t in tuned.items() if t.least <= (1.0 + EQUAL_ERRORS) * tuned[best].least]
    where = f"{number(tuned[best].least)} at ε = {plain(tuned[best].best)}"
    return f"each at its own best step {f'{listed(level)} are level' if len(level) > 1 else best} ({where})"


def with_own_steps(box: VerdictBox, view: View) -> VerdictBox:
    """Add to the answer of which sampler what own best steps would change, where theory knows it of two samplers or more."""
    said = said_at_best(view.theories[0]) if view.scenario.chain is not None and len(view.samplers) > 1 else ""
    if not said:
        return box
    line = f"Exact mean square errors, without simulation: {said}."
    answers = tuple(
        answer._replace(more=(line, *answer.more)) if answer.question == WHICH else answer for answer in box.answers
    )
    return box._replace(answers=answers)


def _row(view: View, name: str, own: StepTheory | None, base: StepTheory, reason: str) -> tuple[Cell, ...]:
    epsilon, relative = (
        step_size(view.epsilons[name], view.effective_steps[name]),
        over_limit(view.steps_over_limits[name]),
    )
    if own is None:
        return name, epsilon, relative, None, None, None, None, None, reason
    note = f"no best step: {own.why}" if own.why else ""
    same, best = _over(own.budget.total, base.budget.total), _over(own.least, base.least)
    return name, epsilon, relative, own.budget.total, number(own.best), own.least, same, best, note


def _over(error: float, base: float) -> float | None:
    return error / base if np.isfinite(error) and np.isfinite(base) and base > 0.0 else None


def _caption(view: View, known: dict[str, StepTheory], unknown: dict[str, OutOfScope]) -> str:
    stable = {name: t.budget.total for name, t in known.items() if np.isfinite(t.budget.total)}
    tuned, at_best = _tuned(known), said_at_best(known)
    text = f"{QUESTION} Exact stationary mean square errors, no simulation"
    if stable:
        first = min(stable, key=lambda n: stable[n])
        text += f": at the file's steps {first} has the least ({number(stable[first])} at ε = {step_size(view.epsilons[first], view.effective_steps[first])})"
    if at_best:
        text += f"; {at_best}"
    elif len(tuned) < len(known):
        text += f"; no best step is known for {listed([name for name in known if name not in tuned])}"
    text += f". For {listed(list(unknown))} theory knows no error; {ADVICE}." if unknown else "."
    assert view.scenario.chain is not None
    gradients = {name: int(view.evaluations[view.index(name)]) for name in view.samplers}
    return f"{text} {per_gradient(gradients, view.scenario.chain.alpha)}".rstrip()
