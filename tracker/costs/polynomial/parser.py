"""Parse the formulas of scenario files into polynomials.

Grammar (whitespace is free; nothing else exists, and nothing is ever evaluated
as Python):

    sum     = product (("+" | "-") product)*
    product = factor (("*" | "/") factor)*      divisors are non-zero constants
    factor  = ("+" | "-")* atom ["^" factor]    exponents are constants 0, 1, ..., 12
    atom    = number | variable | "(" sum ")"

A formula comes from a file that somebody else may have written, so its length,
its nesting and the work of multiplying it out are limited before they cost
anything.  Positions in messages count characters from 0.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import numpy as np

from tracker.costs.polynomial.expanded import Polynomial

if TYPE_CHECKING:
    from collections.abc import Sequence

    Terms = dict[tuple[int, ...], float]  # exponents -> coefficient

MAX_DEGREE = 12
MAX_LENGTH = 10_000
MAX_DEPTH = 100
MAX_TERMS = 20_000
MAX_WORK = 4_000_000  # about half a second of multiplying out
CANCELLED = 4 * np.finfo(np.float64).eps  # 0.1*a + 0.2*a - 0.3*a has no term in a

TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[^\W0-9]\w*)|(?P<mark>\S))"
)


class FormulaError(ValueError):
    """A formula that breaks a rule; the message names the token, its position and the rule."""


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
    _refuse_names(formula, variables)
    return _ordered(_Parser(formula, list(variables)).whole(), variables)


def _refuse_names(formula: str, variables: Sequence[str]) -> None:
    for n, name in enumerate(variables):
        if not name.isidentifier() or name in variables[:n]:
            raise FormulaError(f"variables: {name!r} is not a name, or is there twice")
    if len(formula) > MAX_LENGTH:
        raise FormulaError(f"formula: {len(formula)} characters exceed {MAX_LENGTH}")


def parse_counted(formula: str, variables: Sequence[str]) -> tuple[Polynomial | None, str, int]:
    """Return what ``parse`` gives, or None and the rule that it breaks; and the work that it was in both cases."""
    reader: _Parser | None = None
    try:
        _refuse_names(formula, variables)
        reader = _Parser(formula, list(variables))
        return _ordered(reader.whole(), variables), "", reader.work
    except FormulaError as error:
        return None, str(error), reader.work if reader is not None else 0


def _ordered(terms: Terms, variables: Sequence[str]) -> Polynomial:
    order = sorted(terms, key=lambda e: (sum(e), tuple(-k for k in e)))
    exponents = np.array(order, np.int64).reshape(len(order), len(variables))
    return Polynomial(exponents, np.array([terms[e] for e in order], np.float64))


class _Token(NamedTuple):
    kind: str  # number, name, mark or end
    text: str
    position: int


def _tokens(formula: str) -> list[_Token]:
    found = [_Token(m.lastgroup or "", m[m.lastgroup or 0], m.start(m.lastgroup or 0)) for m in TOKEN.finditer(formula)]
    return [*found, _Token("end", "", len(formula))]


class _Parser:
    """Recursive descent; every method returns the terms of what it has read."""

    def __init__(self, formula: str, variables: list[str]) -> None:
        self.formula, self.variables = formula, variables
        self.zero = (0,) * len(variables)
        self.tokens, self.next = _tokens(formula), 0
        self.depth, self.work = 0, 0

    def whole(self) -> Terms:
        terms = self.sum()
        if self.tokens[self.next].kind != "end":
            self.unexpected(": an operator was expected")
        return terms

    def sum(self) -> Terms:
        start = self.tokens[self.next].position
        total: Terms = {}
        sign = 1.0
        while True:
            part = self.product()
            self.spend(len(part), start)
            for e, c in part.items():
                _add(total, e, sign * c)
            if (mark := self.accept("+-")) is None:
                break
            sign = -1.0 if mark == "-" else 1.0
        self.check(total, start)  # once: inf and nan do not go away by adding
        return total

    def product(self) -> Terms:
        start = self.tokens[self.next].position
        left = self.factor()
        while (mark := self.accept("*/")) is not None:
            at = self.tokens[self.next].position
            right = self.factor()
            if mark == "/":
                divisor = self.constant(right)
                if divisor is None:
                    self.broken(start, "a divisor must be a constant", at)
                if divisor == 0.0:
                    self.broken(start, "a divisor must not be zero", at)
                self.spend(len(left), start)
                left = {e: c / divisor for e, c in left.items()}
                self.check(left, start)
            else:
                left = self.times(left, right, start)
        return left

    def factor(self) -> Terms:
        start = self.tokens[self.next].position
        negative = False
        while (mark := self.accept("+-")) is not None:
            negative ^= mark == "-"
        base = self.atom()
        if self.accept("^") is not None:
            at = self.tokens[self.next].position
            self.deeper(at)
            exponent = self.constant(self.factor())
            self.depth -= 1
            if exponent is None or exponent not in range(MAX_DEGREE + 1):
                # a^13 is told about its degree, like a^12*a
                if exponent is None or exponent < 0 or exponent % 1 or _degree(base) == 0:
                    rule = f"an exponent must be a whole number from 0 to {MAX_DEGREE}"
                    self.broken(start, rule, at)
                self.degree(_degree(base) * int(exponent), start)
            base = self.power(base, int(exponent), start)
        if negative:
            self.spend(len(base), start)
            base = {e: -c for e, c in base.items()}
        return base

    def atom(self) -> Terms:
        token = self.tokens[self.next]
        if token.kind == "number":
            self.next += 1
            number = float(token.text)
            self.check({self.zero: number}, token.position)
            return {self.zero: number} if number else {}
        if token.kind == "name":
            if token.text not in self.variables:
                names = ", ".join(self.variables)
                self.unexpected(f" is not a variable; variables are {names}")
            self.next += 1
            self.spend(1, token.position)
            i = self.variables.index(token.text)
            return {(*self.zero[:i], 1, *self.zero[i + 1 :]): 1.0}
        if self.accept("(") is None:
            self.unexpected(": a number, a variable or '(' was expected (powers are written ^)")
        self.deeper(token.position)
        inside = self.sum()
        if self.accept(")") is None:
            self.unexpected(f": ')' was expected for '(' at position {token.position}")
        self.depth -= 1
        return inside

    # -- arithmetic --------------------------------------------------------

    def times(self, p: Terms, q: Terms, start: int) -> Terms:
        degree = _degree(p) + _degree(q) if p and q else 0
        self.degree(degree, start)
        N = len(self.variables)
        if min(len(p) * len(q), math.comb(N + degree, N)) > MAX_TERMS:
            self.broken(start, f"multiplied out, it may have more than {MAX_TERMS} terms")
        self.spend(len(p) * len(q), start)
        product: Terms = {}
        for e, c in p.items():
            for f, d in q.items():
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

    # -- tokens and rules --------------------------------------------------

    def accept(self, marks: str) -> str | None:
        token = self.tokens[self.next]
        if token.kind != "mark" or token.text not in marks:
            return None
        self.next += 1
        return token.text

    def degree(self, degree: int, start: int) -> None:
        if degree > MAX_DEGREE:
            self.broken(start, f"total degree {degree} exceeds {MAX_DEGREE}")

    def deeper(self, position: int) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise FormulaError(f"formula: nested deeper than {MAX_DEPTH}, at position {position}")

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

    def unexpected(self, rule: str) -> NoReturn:
        token = self.tokens[self.next]
        what = repr(token.text) if token.text else "the end"
        raise FormulaError(f"formula: {what} at position {token.position}{rule}")

    def broken(self, start: int, rule: str, at: int | None = None) -> NoReturn:
        stop = self.tokens[max(self.next - 1, 0)]
        text = self.formula[start : stop.position + len(stop.text)]
        text = text if len(text) <= 60 else text[:57] + "..."
        raise FormulaError(f"formula: {text}: {rule}, at position {start if at is None else at}")


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
