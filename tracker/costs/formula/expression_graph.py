"""Expressions as a graph in which equal parts are one node, and their derivatives as more nodes of it.

Notes
-----
A node is an operation on earlier nodes, so that the order of making is an order of computing. Making a node that is there
already gives the old one: common parts are shared, those of derivatives too. The gradient is taken backwards (the adjoint of
each node from those that use it), so that it is at most a few times as long as the formula whatever the number of variables; a
row of the Hessian is the derivative of the gradient, taken forwards. Every operation is differentiated by itself, from ``partials``:
no expression is ever written out, and the work is proportional to the number of nodes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MOST_NODES = 6000  # of a formula with all derivatives: compiling as many operations takes seconds
LARGEST_CHAIN = 64  # whole exponents up to which a power is a chain of multiplications

FUNCTIONS: dict[str, Callable[[float], float]] = {
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "tanh": math.tanh,
    "atan": math.atan,
    "cosh": math.cosh,
    "logcosh": lambda x: abs(x) + math.log1p(math.exp(-2.0 * abs(x))) - math.log(2.0),
    "abs": abs,
}
KINKED = ("abs", "min", "max")  # their gradient jumps
_OPERATIONS: dict[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "power": math.pow,
    "min": min,
    "max": max,
}


def worked_out(number: Callable[[], float]) -> float:
    """Return a number of Python's own arithmetic; nan where it refuses to give one."""
    try:
        return float(number())
    except (ArithmeticError, ValueError):
        return math.nan


class TooLong(ValueError):
    """A formula whose derivatives have too many operations."""


class Node(NamedTuple):
    """An operation; ``number`` is a constant's value, or the place of a variable or a parameter."""

    operation: str
    arguments: tuple[int, ...] = ()
    number: float = 0.0


class Derivatives(NamedTuple):
    """A node and those of its derivatives: ``slopes`` its gradient, ``entries`` (i, j <= i, node) its Hessian, but for zeros.

    smooth : whether it has a Hessian
    """

    root: int
    slopes: list[int]
    entries: list[tuple[int, int, int]]
    smooth: bool


class Graph:
    """Nodes, each once; ``depends[n]`` has bit i where node n depends on variable i."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.depends: list[int] = []
        self._places: dict[tuple[str, tuple[int, ...], str], int] = {}

    def _make(self, node: Node) -> int:
        key = (node.operation, node.arguments, repr(node.number))  # repr: 0.0 and -0.0 are two numbers
        if key not in self._places:
            if len(self.nodes) >= MOST_NODES:
                raise TooLong(f"with its derivatives it has more than {MOST_NODES} operations")
            own = 1 << int(node.number) if node.operation == "variable" else 0
            for argument in node.arguments:
                own |= self.depends[argument]
            self._places[key] = len(self.nodes)
            self.nodes.append(node)
            self.depends.append(own)
        return self._places[key]

    # --- making nodes; numbers are worked out at once, and 0 and 1 leave nothing behind

    def number(self, value: float) -> int:
        """Return a constant."""
        return self._make(Node("number", (), float(value)))

    def variable(self, place: int) -> int:
        """Return a coordinate of theta."""
        return self._make(Node("variable", (), place))

    def parameter(self, place: int) -> int:
        """Return a parameter."""
        return self._make(Node("parameter", (), place))

    def value(self, n: int) -> float | None:
        """Return the number that node n is, or None."""
        return self.nodes[n].number if self.nodes[n].operation == "number" else None

    def _operation(self, name: str, a: int, b: int) -> int:
        x, y = self.value(a), self.value(b)
        if x is not None and y is not None:
            return self.number(worked_out(lambda: _OPERATIONS[name](x, y)))
        return self._make(Node(name, (min(a, b), max(a, b)) if name in "+*" else (a, b)))

    def add(self, a: int, b: int) -> int:
        """Return a + b."""
        if self.value(a) == 0.0:
            return b
        return a if self.value(b) == 0.0 else self._operation("+", a, b)

    def subtract(self, a: int, b: int) -> int:
        """Return a - b."""
        if self.value(a) == 0.0:
            return self.negative(b)
        return a if self.value(b) == 0.0 else self._operation("-", a, b)

    def negative(self, a: int) -> int:
        """Return -a."""
        if (x := self.value(a)) is not None:
            return self.number(-x)
        node = self.nodes[a]
        return node.arguments[0] if node.operation == "negative" else self._make(Node("negative", (a,)))

    def multiply(self, a: int, b: int) -> int:
        """Return a b."""
        for one, other in ((a, b), (b, a)):
            if self.value(one) == 0.0:
                return one
            if self.value(one) == 1.0:
                return other
            if self.value(one) == -1.0:
                return self.negative(other)
        return self._operation("*", a, b)

    def divide(self, a: int, b: int) -> int:
        """Return a / b."""
        nothing = self.value(a) == 0.0 and self.value(b) != 0.0
        return a if nothing or self.value(b) == 1.0 else self._operation("/", a, b)

    def power(self, a: int, b: int) -> int:
        """Return a ^ b: by multiplications for a small whole number b, nan for other b where a is negative."""
        exponent = self.value(b)
        if exponent is None or self.value(a) is not None:
            return self._operation("power", a, b)
        if exponent == 0.5:
            return self.call("sqrt", a)
        if exponent % 1.0 or abs(exponent) > LARGEST_CHAIN:
            return self._operation("power", a, b)
        found, square, left = self.number(1.0), a, int(abs(exponent))
        while left:
            if left & 1:
                found = self.multiply(found, square)
            left >>= 1
            square = self.multiply(square, square) if left else square
        return found if exponent >= 0.0 else self.divide(self.number(1.0), found)

    def call(self, name: str, a: int) -> int:
        """Return name(a)."""
        if name in FUNCTIONS and (x := self.value(a)) is not None:
            return self.number(worked_out(lambda: FUNCTIONS[name](x)))
        return self._make(Node(name, (a,)))

    def choose(self, name: str, a: int, b: int) -> int:
        """Return min(a, b) or max(a, b)."""
        return self._operation(name, a, b)

    # --- derivatives

    def partials(self, n: int) -> list[int]:
        """Return the derivatives of node n with respect to each of its arguments."""
        operation, arguments, _ = self.nodes[n]
        one = self.number(1.0)
        if operation in ("+", "-"):
            return [one, one if operation == "+" else self.number(-1.0)]
        if operation == "negative":
            return [self.number(-1.0)]
        if operation == "*":
            return [arguments[1], arguments[0]]
        if operation == "/":
            a, b = arguments
            return (
                [self.divide(one, b), self.negative(self.divide(n, b))]
                if self.depends[b]
                else [self.divide(one, b), one]
            )
        if operation == "power":
            a, b = arguments
            slope = self.multiply(b, self.power(a, self.subtract(b, one)))
            return [slope, self.multiply(n, self.call("log", a)) if self.depends[b] else one]
        if operation in ("min", "max"):
            first = self._make(Node("at_most", arguments if operation == "min" else arguments[::-1]))
            return [first, self.subtract(one, first)]
        return [self._slope(operation, n, arguments[0])]

    def _slope(self, function: str, n: int, x: int) -> int:
        """Return the derivative of a function of one number; n is the function itself at x."""
        call, one = self.call, self.number(1.0)
        rules: dict[str, Callable[[], int]] = {
            "exp": lambda: n,
            "log": lambda: call("log_slope", x),
            "log_slope": lambda: self.negative(self.multiply(n, n)),
            "sqrt": lambda: self.divide(self.number(0.5), n),
            "sin": lambda: call("cos", x),
            "cos": lambda: self.negative(call("sin", x)),
            "tan": lambda: self.add(one, self.multiply(n, n)),
            "tanh": lambda: call("sech2", x),
            "sech2": lambda: self.multiply(self.number(-2.0), self.multiply(n, call("tanh", x))),
            "atan": lambda: self.divide(one, self.add(one, self.multiply(x, x))),
            "cosh": lambda: call("sinh", x),
            "sinh": lambda: call("cosh", x),
            "logcosh": lambda: call("tanh", x),
            "abs": lambda: call("sign", x),
            "sign": lambda: self.number(0.0),
        }
        return rules[function]()

    def gradient(self, root: int, variables: int) -> list[int]:
        """Return the derivatives of node ``root`` with respect to all variables, backwards."""
        zero = self.number(0.0)
        adjoint = {root: self.number(1.0)}
        for n in reversed(self.below([root])):
            if n in adjoint and self.depends[n] and self.nodes[n].arguments:
                for argument, partial in zip(self.nodes[n].arguments, self.partials(n), strict=True):
                    if self.depends[argument]:
                        share = self.multiply(adjoint[n], partial)
                        adjoint[argument] = self.add(adjoint[argument], share) if argument in adjoint else share
        return [adjoint.get(self.variable(i), zero) for i in range(variables)]

    def derivatives(self, roots: list[int], variable: int) -> list[int]:
        """Return the derivatives of ``roots`` with respect to one variable, forwards."""
        zero, bit = self.number(0.0), 1 << variable
        found: dict[int, int] = {self.variable(variable): self.number(1.0)}
        for n in self.below([root for root in roots if self.depends[root] & bit]):
            if n in found or not self.depends[n] & bit:
                continue
            total = zero
            for argument, partial in zip(self.nodes[n].arguments, self.partials(n), strict=True):
                if self.depends[argument] & bit:
                    total = self.add(total, self.multiply(partial, found[argument]))
            found[n] = total
        return [found.get(root, zero) for root in roots]

    def all_derivatives(self, root: int, variables: int) -> Derivatives:
        """Return the gradient of node ``root`` and, where it does not jump, its Hessian."""
        slopes, entries = self.gradient(root, variables), list[tuple[int, int, int]]()
        smooth = not self.kinks(root)
        for d in range(variables if smooth else 0):
            row = self.derivatives(slopes[: d + 1], d)
            entries += [(d, e, entry) for e, entry in enumerate(row) if self.value(entry) != 0.0]
        if len(entries) > MOST_NODES:
            raise TooLong(f"its Hessian has more than {MOST_NODES} entries that are not zero")
        return Derivatives(root, slopes, entries, smooth)

    def below(self, roots: Iterable[int]) -> list[int]:
        """Return all nodes that ``roots`` are made of, in the order of computing."""
        seen, waiting = set[int](), list(roots)
        while waiting:
            n = waiting.pop()
            if n not in seen:
                seen.add(n)
                waiting += self.nodes[n].arguments
        return sorted(seen)

    def kinks(self, root: int) -> list[str]:
        """Return the operations that make the gradient of node ``root`` jump."""
        found = {self.nodes[n].operation for n in self.below([root]) if self.depends[n]}
        return [name for name in KINKED if name in found]
