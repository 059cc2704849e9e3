"""Multiply formulas out, each of them once, and refuse a file whose formulas are too large together.

A sweep and a ladder read the same formula many times, so its polynomial is kept. Its cost is kept too and charged to every
file that uses it: whether a file is refused does not depend on what was read before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tracker.costs.polynomial.bounded_below import judged_below
from tracker.costs.polynomial.parser import FormulaError, parse_counted
from tracker.costs.work_account import charge, is_spent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracker.costs.polynomial.expanded import Polynomial

    Question = tuple[str, tuple[str, ...]]

MOST_WORK_OF_A_FILE = (
    5_000_000  # of all formulas of a file with the points of its sweep: about a second of multiplying out
)
MOST_WORK_REMEMBERED = 10 * MOST_WORK_OF_A_FILE  # of all formulas whose outcome is remembered


class MultipliedFormula(NamedTuple):
    """What a formula came to: a polynomial, or the rule that it breaks; and the work that it was."""

    polynomial: Polynomial | None
    problem: str
    work: int


_outcomes: dict[Question, MultipliedFormula] = {}


def multiplied_out(formula: str, variables: Sequence[str]) -> Polynomial:
    """Return the polynomial that ``formula`` writes; it is bounded below, as far as can be seen.

    Raises
    ------
    FormulaError
        If it breaks a rule, or if the formulas of this account are too much together.
    """
    question = (formula, tuple(variables))
    if is_spent(question, MOST_WORK_OF_A_FILE):
        raise FormulaError(
            "formula: with all those before it, the formulas of this file have too many terms to multiply out"
        )
    outcome = _outcomes[question] if question in _outcomes else _keep(question)
    charge(question, outcome.work)
    if outcome.polynomial is None:
        raise FormulaError(outcome.problem)
    return outcome.polynomial


def _keep(question: Question) -> MultipliedFormula:
    while sum(outcome.work for outcome in _outcomes.values()) > MOST_WORK_REMEMBERED:
        _outcomes.pop(next(iter(_outcomes)), None)
    _outcomes[question] = outcome = _outcome(*question)
    return outcome


def _outcome(formula: str, variables: tuple[str, ...]) -> MultipliedFormula:
    polynomial, problem, work = parse_counted(formula, variables)
    if polynomial is None:
        return MultipliedFormula(None, problem, work)
    try:
        reason, more = judged_below(polynomial)
    except FormulaError as error:
        return MultipliedFormula(None, str(error), work)
    if reason is not None:
        return MultipliedFormula(None, f"formula: {formula!r} is unbounded below: {reason}", work + more)
    return MultipliedFormula(polynomial, "", work + more)
