"""Read a formula into a graph: names of variables and parameters, functions, and nothing else.

The grammar is that of ``formula_grammar``; names are followed by "(" sum ("," sum)* ")" for functions and by "[" index "]" for
entries of a parameter that is a list, counted from 0.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tracker.costs.formula.expression_graph import FUNCTIONS, Graph, TooLong
from tracker.costs.formula_grammar import FormulaError, Grammar, refuse_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CONSTANTS = {"pi": math.pi, "e": math.e}
CHOICES = ("min", "max")


def read_formula(
    formula: str, variables: Sequence[str], shapes: Mapping[str, int | None], graph: Graph | None = None
) -> tuple[Graph, int]:
    """Return a graph and the node of the formula in it; ``shapes`` has the length of each parameter, None for a number.

    Parameters stand in the order of their names, entries of lists one after the other.

    Raises
    ------
    FormulaError
        If the formula breaks a rule.
    """
    refuse_names(formula, variables)
    for name in shapes:
        if not name.isidentifier() or name in variables:
            raise FormulaError(f"parameters: {name!r} is not a name, or is that of a variable")
    for key, names in (("variables", variables), ("parameters", shapes)):
        for name in names:
            if name in FUNCTIONS or name in CHOICES:
                raise FormulaError(f"{key}: {name!r} is the name of a function")
    reader = _FormulaReader(formula, variables, shapes, graph or Graph())
    try:
        return reader.graph, reader.whole()
    except TooLong as error:
        raise FormulaError(f"formula: {error}") from None


class _FormulaReader(Grammar[int]):
    """What is read becomes a node."""

    def __init__(self, formula: str, variables: Sequence[str], shapes: Mapping[str, int | None], graph: Graph) -> None:
        super().__init__(formula)
        self.graph, self.shapes = graph, shapes
        self.variables = {name: i for i, name in enumerate(variables)}
        self.places: dict[str, int] = {}
        place = 0
        for name in sorted(shapes):
            self.places[name] = place
            place += shapes[name] or 1

    def number(self, value: float, start: int) -> int:
        return self.checked(self.graph.number(value), start)

    def name(self, text: str) -> int:
        position = self.token.position
        if text in self.variables:
            self.next += 1
            return self.graph.variable(self.variables[text])
        if text in self.shapes:
            self.next += 1
            return self.graph.parameter(self.places[text] + self.entry(text, position))
        if text in FUNCTIONS or text in CHOICES:
            return self.call(text)
        if text in CONSTANTS:
            self.next += 1
            return self.graph.number(CONSTANTS[text])
        known = dict.fromkeys((*self.variables, *self.shapes, *CONSTANTS))
        return self.unexpected(f" is not known; there are {', '.join(known)} and {', '.join([*FUNCTIONS, *CHOICES])}")

    def entry(self, name: str, start: int) -> int:
        """Read the index of a list's entry; nothing for a number."""
        length = self.shapes[name]
        if length is None:
            return 0
        opened = self.token.position
        if self.accept("[") is None:
            self.broken(
                start, f"a list of {length}: write {name}[0]" + (f" to {name}[{length - 1}]" if length > 1 else "")
            )
        token = self.token
        if token.text not in map(str, range(length)):
            self.unexpected(f": an index from 0 to {length - 1} was expected")
        self.next += 1
        self.depth += 1
        self.close("]", opened)
        return int(token.text)

    def call(self, name: str) -> int:
        start = self.token.position
        self.next += 1
        opened = self.token.position
        if self.accept("(") is None:
            self.unexpected(f": '(' was expected after {name}")
        self.deeper(opened)
        arguments = [self.sum()]
        while self.accept(",") is not None:
            arguments.append(self.sum())
        self.close(")", opened)
        if name in FUNCTIONS:
            if len(arguments) != 1:
                self.broken(start, f"{name} takes one number, not {len(arguments)}")
            return self.checked(self.graph.call(name, arguments[0]), start)
        if len(arguments) < 2:
            self.broken(start, f"{name} takes two numbers or more")
        found = arguments[0]
        for argument in arguments[1:]:
            found = self.graph.choose(name, found, argument)
        return found

    def nothing(self) -> int:
        return self.graph.number(0.0)

    def add(self, total: int, part: int, sign: float, start: int) -> int:
        made = self.graph.add if sign > 0.0 else self.graph.subtract
        return self.checked(made(total, part), start)

    def summed(self, total: int, start: int) -> int:  # noqa: ARG002
        return total

    def negative(self, part: int, start: int) -> int:  # noqa: ARG002
        return self.graph.negative(part)

    def times(self, left: int, right: int, start: int) -> int:
        return self.checked(self.graph.multiply(left, right), start)

    def over(self, left: int, right: int, start: int, at: int) -> int:
        if self.graph.value(right) == 0.0:
            self.broken(start, "a divisor must not be zero", at)
        return self.checked(self.graph.divide(left, right), start)

    def to_the(self, base: int, exponent: int, start: int, at: int) -> int:
        return self.checked(self.graph.power(base, exponent), start, at)

    def checked(self, found: int, start: int, at: int | None = None) -> int:
        """Return a node that is no number or a finite one."""
        value = self.graph.value(found)
        if value is not None and not math.isfinite(value):
            self.broken(start, "no finite number comes of it", at)
        return found
