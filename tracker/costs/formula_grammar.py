"""The grammar of formulas in scenario files: what is read, in which order, and where a message points to.

Grammar (whitespace is free; nothing else exists, and nothing is ever evaluated as Python):

    sum     = product (("+" | "-") product)*
    product = factor (("*" | "/") factor)*
    factor  = ("+" | "-")* atom ["^" factor]
    atom    = number | name ... | "(" sum ")"

What a sum, a product or a name comes to is said by a subclass: ``T`` is whatever it makes of them. A formula comes from a
file that somebody else may have written, so its length and its nesting are limited before they cost anything. Positions in
messages count characters from 0.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Generic, NamedTuple, NoReturn, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")

MAX_LENGTH = 10_000
MAX_DEPTH = 100
LONGEST_SHOWN = 60  # characters of a formula in a message

TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[^\W0-9]\w*)|(?P<mark>\S))"
)


class FormulaError(ValueError):
    """A formula that breaks a rule; the message names the token, its position and the rule."""


class Token(NamedTuple):
    """A piece of a formula; kind: number, name, mark or end."""

    kind: str
    text: str
    position: int


def tokens(formula: str) -> list[Token]:
    """Return the pieces of a formula, and one for its end."""
    found = [Token(m.lastgroup or "", m[m.lastgroup or 0], m.start(m.lastgroup or 0)) for m in TOKEN.finditer(formula)]
    return [*found, Token("end", "", len(formula))]


def refuse_names(formula: str, variables: Sequence[str]) -> None:
    """Refuse variables that are no names, and a formula that is too long to be looked at."""
    for n, name in enumerate(variables):
        if not name.isidentifier() or name in variables[:n]:
            raise FormulaError(f"variables: {name!r} is not a name, or is there twice")
    if len(formula) > MAX_LENGTH:
        raise FormulaError(f"formula: {len(formula)} characters exceed {MAX_LENGTH}")


class Grammar(Generic[T]):
    """Recursive descent; every method returns what it has read."""

    def __init__(self, formula: str) -> None:
        self.formula = formula
        self.tokens, self.next = tokens(formula), 0
        self.depth = 0

    # --- what a subclass says

    def number(self, value: float, start: int) -> T:
        """Return a number."""
        raise NotImplementedError

    def name(self, text: str) -> T:
        """Return what a name means; it is the next token, and is to be taken."""
        raise NotImplementedError

    def nothing(self) -> T:
        """Return an empty sum."""
        raise NotImplementedError

    def add(self, total: T, part: T, sign: float, start: int) -> T:
        """Return total + sign part; ``total`` is not needed any more."""
        raise NotImplementedError

    def summed(self, total: T, start: int) -> T:
        """Return a sum that is complete."""
        raise NotImplementedError

    def times(self, left: T, right: T, start: int) -> T:
        """Return left right."""
        raise NotImplementedError

    def over(self, left: T, right: T, start: int, at: int) -> T:
        """Return left / right; the divisor stands ``at``."""
        raise NotImplementedError

    def to_the(self, base: T, exponent: T, start: int, at: int) -> T:
        """Return base ^ exponent; the exponent stands ``at``."""
        raise NotImplementedError

    def negative(self, part: T, start: int) -> T:
        """Return -part."""
        raise NotImplementedError

    # --- the grammar

    def whole(self) -> T:
        """Read all of the formula."""
        found = self.sum()
        if self.token.kind != "end":
            self.unexpected(": an operator was expected")
        return found

    def sum(self) -> T:
        """Read a sum."""
        start, total, sign = self.token.position, self.nothing(), 1.0
        while True:
            total = self.add(total, self.product(), sign, start)
            if (mark := self.accept("+-")) is None:
                break
            sign = -1.0 if mark == "-" else 1.0
        return self.summed(total, start)

    def product(self) -> T:
        """Read a product."""
        start = self.token.position
        left = self.factor()
        while (mark := self.accept("*/")) is not None:
            at = self.token.position
            right = self.factor()
            left = self.over(left, right, start, at) if mark == "/" else self.times(left, right, start)
        return left

    def factor(self) -> T:
        """Read a power with its signs."""
        start, negative = self.token.position, False
        while (mark := self.accept("+-")) is not None:
            negative ^= mark == "-"
        base = self.atom()
        if self.accept("^") is not None:
            at = self.token.position
            self.deeper(at)
            exponent = self.factor()
            self.depth -= 1
            base = self.to_the(base, exponent, start, at)
        return self.negative(base, start) if negative else base

    def atom(self) -> T:
        """Read a number, a name or a sum in parentheses."""
        token = self.token
        if token.kind == "number":
            self.next += 1
            return self.number(float(token.text), token.position)
        if token.kind == "name":
            return self.name(token.text)
        if self.accept("(") is None:
            self.unexpected(": a number, a variable or '(' was expected (powers are written ^)")
        self.deeper(token.position)
        inside = self.sum()
        self.close(")", token.position)
        return inside

    # --- tokens and rules

    @property
    def token(self) -> Token:
        """The token that comes next."""
        return self.tokens[self.next]

    def accept(self, marks: str) -> str | None:
        """Take the next token if it is one of ``marks``."""
        token = self.token
        if token.kind != "mark" or token.text not in marks:
            return None
        self.next += 1
        return token.text

    def close(self, mark: str, opened: int) -> None:
        """Take the ``mark`` that closes what was opened there, and come up from it."""
        if self.accept(mark) is None:
            self.unexpected(f": '{mark}' was expected for '{self.formula[opened]}' at position {opened}")
        self.depth -= 1

    def deeper(self, position: int) -> None:
        """Go down one level, which must not be too deep."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise FormulaError(f"formula: nested deeper than {MAX_DEPTH}, at position {position}")

    def unexpected(self, rule: str) -> NoReturn:
        """Refuse the next token."""
        what = repr(self.token.text) if self.token.text else "the end"
        raise FormulaError(f"formula: {what} at position {self.token.position}{rule}")

    def broken(self, start: int, rule: str, at: int | None = None) -> NoReturn:
        """Refuse what was read from ``start`` on; point to ``at``."""
        stop = self.tokens[max(self.next - 1, 0)]
        text = self.formula[start : stop.position + len(stop.text)]
        text = text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 3] + "..."
        raise FormulaError(f"formula: {text}: {rule}, at position {start if at is None else at}")
