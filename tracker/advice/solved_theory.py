"""Theory's share of the page of a run, solved: rungs, split of the error, stability, escape, advice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.advice.answers import advice_of
from tracker.advice.bounded_theory import Theory
from tracker.advice.theory_form import PARTS
from tracker.limits import OutOfScope

if TYPE_CHECKING:
    from collections.abc import Callable

    from tracker.runs import Run


def solve(run: Run) -> dict[str, Any]:
    """Return what theory says: the rungs, the split of the error, stability, the regime, escape, Gibbs' law; and advice.

    All but the advice are by sampler; of Gibbs' law the share outside the target, mode by mode. What is not known, or not computed, is null; ``notes`` say why, and ``missing`` why a sampler lacks a rung.
    """
    theory = Theory(run.scenario)
    names = [keys.name for keys in run.scenario.samplers]
    notes: list[str] = []

    def asked(what: str, name: str, answer: Callable[[], Any]) -> Any:
        try:
            return answer()
        except OutOfScope as refusal:
            notes.append(f"{name}: {what}: {refusal.reason}")
            return None

    ladders = {name: theory.ladder(name) for name in names}
    found: dict[str, Any] = {
        "ladder": {name: rows for name, (rows, _) in ladders.items()},
        "missing": {
            name: [{"rung": rung, "reason": reason} for rung, reason in missing.items()]
            for name, (_, missing) in ladders.items()
        },
    }
    questions: dict[str, Callable[[str], Any]] = {
        "split": lambda name: _split(theory, name),
        "stability": lambda name: _stability(theory, name),
        "escape": lambda name: _escape(theory, name),
        "relative": theory.relative,
    }
    for what, question in questions.items():
        found[what] = {name: asked(what, name, lambda n=name, q=question: q(n)) for name in names}  # type: ignore[misc]
    found["outside"] = {name: _outside(theory, name) for name in names}  # why it is not known, the ladder says
    return {**found, "advice": advice_of(theory, None, run), "notes": notes}


def _split(theory: Theory, name: str) -> dict[str, Any]:
    """The parts of the error; of a cost that is not quadratic, temperature alone."""
    try:
        parts = theory.split(name)
        return {key: getattr(parts, key) for key in PARTS}
    except OutOfScope:
        if not theory.keys(name).samples_gibbs:
            raise
        return dict.fromkeys(PARTS) | {"temperature": theory.at_beta(name).mean_square_error}


def _outside(theory: Theory, name: str) -> list[float] | None:
    """How much of Gibbs' law lies outside the target, mode by mode; None for what does not sample it, or not known."""
    try:
        shares = theory.at_beta(name).outside_by_mode if theory.keys(name).samples_gibbs else None
    except OutOfScope:
        return None
    return shares.tolist() if shares is not None and np.isfinite(shares).all() else None


def _stability(theory: Theory, name: str) -> dict[str, Any]:
    found = theory.stability(name)
    return {
        "radius": found.radius,
        "abscissa": found.abscissa,
        "stable": found.stable,
        "largest_epsilon": theory.largest_epsilon(name),
        "largest_skew": found.largest_skew,
    }


def _escape(theory: Theory, name: str) -> list[dict[str, Any]]:
    """The wells of each mode that has several, with the rates out of them."""
    found = theory.escape(name)
    rows = []
    for index, mode in enumerate(theory.scenario.modes):
        for k, rate in enumerate(found.rates[index]):
            if np.isfinite(rate):
                rows.append(
                    {
                        "mode": mode.name,
                        "minimum": found.minima[index][k].tolist(),
                        "barrier": float(found.barriers[index][k]),
                        "rate": float(rate),
                        "speed_up": float(found.speed_up[index][k]),
                    }
                )
    return rows
