"""Parse the formulas of scenario files into polynomials.

The grammar is that of ``formula_grammar``, with variables only for names, non-zero constants for divisors, and constants 0,
1, ..., 12 for exponents. The work of multiplying a formula out is limited before it costs anything.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tracker.costs.formula_grammar import FormulaError, Grammar, refuse_names
from tracker.costs.polynomial.expanded import Polynomial

if TYPE_CHECKING:
    from collections.abc import Sequence

Terms = dict[tuple[int, ...], float]  # exponents -> coefficient

__all__ = ["FormulaError", "parse", "parse_counted"]

MAX_DEGREE = 12
MAX_TERMS = 20_000
MAX_WORK = 4_000_000  # about half a second of multiplying out
CANCELLED = 4 * np.finfo(np.float64).eps  # 0.1*a + 0.2*a - 0.3*a has no term in a


def parse(formula: str, variables: Sequence[str]) -> Polynomial:
    """Read a formula in the given variables.

    Parameters
    ----------
    formula : str
    variables : sequence of str, length N
        Distinct names; column i of the exponents belongs to variables[i].

    Raises
    ------
    FormulaError
        If the formula is not a polynomial within the limits of this module.
    """
    refuse_names(formula, variables)
    return _ordered(_Parser(formula, list(variables)).whole(), variables)


def parse_counted(formula: str, variables: Sequence[str]) -> tuple[Polynomial | None, str, int]:
    """Return what ``parse`` gives, or None and the rule that it breaks; and the work that it was in both cases."""
    reader: _Parser | None = None
    try:
        refuse_names(formula, variables)
        reader = _Parser(formula, list(variables))
        return _ordered(reader.whole(), variables), "", reader.work
    except FormulaError as error:
        return None, str(error), reader.work if reader is not None else 0


def _ordered(terms: Terms, variables: Sequence[str]) -> Polynomial:
    order = sorted(terms, key=lambda e: (sum(e), tuple(-k for k in e)))
    exponents = np.array(order, np.int64).reshape(len(order), len(variables))
    return Polynomial(exponents, np.array([terms[e] for e in order], np.float64))


class _Parser(Grammar[Terms]):
    """What is read is multiplied out at once."""

    def __init__(self, formula: str, variables: list[str]) -> None:
        super().__init__(formula)
        self.variables, self.work = variables, 0
        self.zero = (0,) * len(variables)

    def number(self, value: float, start: int) -> Terms:
        self.check({self.zero: value}, start)
        return {self.zero: value} if value else {}

    def name(self, text: str) -> Terms:
        if text not in self.variables:
            called = self.tokens[self.next + 1].text == "("
            way = '; a polynomial has no functions: cost = "formula" has them' if called else ""
            self.unexpected(f" is not a variable; variables are {', '.join(self.variables)}{way}")
        position = self.token.position
        self.next += 1
        self.spend(1, position)
        i = self.variables.index(text)
        return {(*self.zero[:i], 1, *self.zero[i + 1 :]): 1.0}

    def nothing(self) -> Terms:
        return {}

    def add(self, total: Terms, part: Terms, sign: float, start: int) -> Terms:
        self.spend(len(part), start)
        for e, c in part.items():
            _add(total, e, sign * c)
        return total

    def summed(self, total: Terms, start: int) -> Terms:
        self.check(total, start)  # once: inf and nan do not go away by adding
        return total

    def negative(self, part: Terms, start: int) -> Terms:
        self.spend(len(part), start)
        return {e: -c for e, c in part.items()}

    def over(self, left: Terms, right: Terms, start: int, at: int) -> Terms:
        divisor = self.constant(right)
        if divisor is None:
            self.broken(start, "a divisor must be a constant", at)
        if divisor == 0.0:
            self.broken(start, "a divisor must not be zero", at)
        self.spend(len(left), start)
        left = {e: c / divisor for e, c in left.items()}
        self.check(left, start)
        return left

    def to_the(self, base: Terms, exponent: Terms, start: int, at: int) -> Terms:
        power = self.constant(exponent)
        if power is None or power not in range(MAX_DEGREE + 1):
            # a^13 is told about its degree, like a^12*a
            if power is None or power < 0 or power % 1 or _degree(base) == 0:
                self.broken(start, f"an exponent must be a whole number from 0 to {MAX_DEGREE}", at)
            self.degree(_degree(base) * int(power), start)
        return self.power(base, int(power), start)

    def times(self, left: Terms, right: Terms, start: int) -> Terms:
        degree = _degree(left) + _degree(right) if left and right else 0
        self.degree(degree, start)
        N = len(self.variables)
        if min(len(left) * len(right), math.comb(N + degree, N)) > MAX_TERMS:
            self.broken(start, f"multiplied out, it may have more than {MAX_TERMS} terms")
        self.spend(len(left) * len(right), start)
        product: Terms = {}
        for e, c in left.items():
            for f, d in right.items():
                _add(product, tuple(map(int.__add__, e, f)), c * d)
        self.check(product, start)
        return product

    def power(self, base: Terms, exponent: int, start: int) -> Terms:
        # The size of the whole power is known before the first multiplication.
        self.degree(_degree(base) * exponent, start)
        if (
            base
            and min(
                math.comb(len(base) + exponent - 1, exponent),
                math.comb(len(self.variables) + _degree(base) * exponent, len(self.variables)),
            )
            > MAX_TERMS
        ):
            self.broken(start, f"multiplied out, it may have more than {MAX_TERMS} terms")
        result: Terms = {self.zero: 1.0}
        for _ in range(exponent):
            result = self.times(result, base, start)
        return result

    def constant(self, terms: Terms) -> float | None:
        return terms.get(self.zero, 0.0) if _degree(terms) == 0 else None

    def degree(self, degree: int, start: int) -> None:
        if degree > MAX_DEGREE:
            self.broken(start, f"total degree {degree} exceeds {MAX_DEGREE}")

    def spend(self, terms: int, start: int) -> None:
        self.work += terms * (len(self.variables) + 8)
        if self.work > MAX_WORK:
            self.broken(start, "multiplying it out takes too long")

    def check(self, terms: Terms, start: int) -> None:
        for c in terms.values():
            if not math.isfinite(c):
                self.broken(start, f"a coefficient is {c}: numbers must stay finite")
        if len(terms) > MAX_TERMS:
            self.broken(start, f"more than {MAX_TERMS} terms")


def _add(terms: Terms, exponents: tuple[int, ...], coefficient: float) -> None:
    """Add one term in place; what cancels up to rounding is dropped."""
    old = terms.get(exponents, 0.0)
    new = old + coefficient
    if math.isfinite(new) and abs(new) <= CANCELLED * max(abs(old), abs(coefficient)):
        terms.pop(exponents, None)
    else:
        terms[exponents] = new


def _degree(terms: Terms) -> int:
    return max(map(sum, terms), default=0)
