"""Make code of a formula: value, gradient and Hessian as straight lines of arithmetic, and a class that they belong to.

Notes
-----
Only operations of the graph are written, on local names that are numbers: no word of a formula gets into the code. The class is
named by a hash of its code, and so is what the disk cache keeps of it: equal formulas share their machine code, in later
processes too, whatever their parameters. numba finds the class again by its name in this module; a class whose code was not
made in this process yet is a name only (``__getattr__``).
"""

from __future__ import annotations

import hashlib
import linecache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.costs.base import expected, expected_gradient, gradient, hessian, value
from tracker.costs.formula import safe_functions
from tracker.costs.noise_memory import remembering

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracker.array_types import Array
    from tracker.costs.formula.expression_graph import Derivatives, Graph

PREFIX = "Formula_"
MANY = 16  # variables, beyond which the zeros of a Hessian are one line of code
_HEADS = {
    "value": "(cost, theta, z)",
    "gradient": "(cost, theta, z, out)",
    "hessian": "(cost, theta, z, out)",
    "expected": "(cost, theta)",
    "expected_gradient": "(cost, theta, out)",
}
_GENERICS: dict[str, Any] = {
    "value": value, "gradient": gradient, "hessian": hessian, "expected": expected, "expected_gradient": expected_gradient
}  # fmt: skip
_INFIX = {"+": "+", "-": "-", "*": "*", "/": "/", "power": "**"}
_NUMPY = {"sqrt": "sqrt", "sin": "sin", "cos": "cos", "tan": "tan", "tanh": "tanh", "atan": "arctan",
          "cosh": "cosh", "sinh": "sinh"}  # fmt: skip
_OWN = {"exp": "exponential", "log": "logarithm", "logcosh": "logcosh", "sech2": "sech2", "log_slope": "log_slope", "sign": "sign", "at_most": "at_most",
        "min": "smaller", "max": "larger"}  # fmt: skip
OPERATIONS = {
    "negative": 1,
    **dict.fromkeys(_INFIX, 2),
    **dict.fromkeys((*_NUMPY, "abs", *_OWN), 1),
    **dict.fromkeys(("at_most", "min", "max"), 2),
}
_NAMES = {"np": np, "nan": np.nan, "inf": np.inf, **{name: getattr(safe_functions, name) for name in _OWN.values()}}


@remembering
class FormulaCost(NamedTuple):
    """Parameters: those of the formula, one after the other; noise F (N, rank), its memory. The subclass is the formula itself."""

    parameters: Array
    noise: Array
    memory: float = 0.0


class Code(NamedTuple):
    """What is made of a formula: the text of its functions, by name; without ``hessian`` where the gradient jumps."""

    functions: dict[str, str]

    @property
    def name(self) -> str:
        """The name of its class."""
        return PREFIX + hashlib.sha256("\n".join(self.functions.values()).encode()).hexdigest()[:24]


def write_code(graph: Graph, found: Derivatives, variables: int) -> Code:
    """Return the code of a formula and of its derivatives."""
    outs = [f"out[{i}] = " for i in range(variables)]
    noisy = [f"{{}} + z[{i}]" for i in range(variables)]
    total = " + ".join(["{}", *(f"z[{i}] * theta[{i}]" for i in range(variables))])
    functions = {
        "value": _function(graph, "value", [found.root], ["return "], [total]),
        "expected": _function(graph, "expected", [found.root], ["return "]),
        "gradient": _function(graph, "gradient", found.slopes, outs, noisy),
        "expected_gradient": _function(graph, "expected_gradient", found.slopes, outs),
    }
    if found.smooth:
        zero = graph.number(0.0)
        entries = {(d, e): entry for d, e, entry in found.entries}
        roots, targets = ([zero], ["out[:, :] = "]) if variables > MANY else ([], [])
        every = [(d, e) for d in range(variables) for e in range(d + 1)] if variables <= MANY else entries
        for d, e in every:
            roots.append(entries.get((d, e), zero))
            targets.append(f"out[{d}, {e}] = " + (f"out[{e}, {d}] = " if e < d else ""))
        functions["hessian"] = _function(graph, "hessian", roots, targets)
    return Code(functions)


def _function(graph: Graph, name: str, roots: list[int], targets: list[str], results: list[str] | None = None) -> str:
    """Return the text of a function that computes ``roots``, each node once, and hands them out."""
    lines = [f"def {name}{_HEADS[name]}:"]
    needed = graph.below(roots)
    if any(graph.nodes[n].operation == "parameter" for n in needed):
        lines.append("    parameters = cost.parameters")
    lines += [f"    x{n} = {_text(graph, n)}" for n in needed if graph.nodes[n].operation != "number"]
    for root, target, result in zip(roots, targets, results or ["{}"] * len(roots), strict=True):
        lines.append(f"    {target}{result.format(_operand(graph, root))}")
    return "\n".join(lines) + "\n"


def _operand(graph: Graph, n: int) -> str:
    number = graph.value(n)
    return f"x{n}" if number is None else f"({number!r})"


def _text(graph: Graph, n: int) -> str:
    operation, arguments, number = graph.nodes[n]
    if operation == "variable":
        return f"theta[{int(number)}]"
    if operation == "parameter":
        return f"parameters[{int(number)}]"
    return spelled(operation, [_operand(graph, argument) for argument in arguments])


def spelled(operation: str, operands: Sequence[str]) -> str:
    """Return an operation on numbers as an expression of Python."""
    if operation == "negative":
        return f"-{operands[0]}"
    if operation in _INFIX:
        return f" {_INFIX[operation]} ".join(operands)
    called = f"np.{_NUMPY[operation]}" if operation in _NUMPY else "abs" if operation == "abs" else _OWN[operation]
    return f"{called}({', '.join(operands)})"


def class_of(code: Code) -> type[FormulaCost]:
    """Return the class of the formula, with its functions registered."""
    kind = _named(code.name)
    if not value.defined_for(kind):
        for name, text in code.functions.items():
            _GENERICS[name].register(kind)(function_of(name, text, code.name))
    return kind


def function_of(name: str, text: str, owner: str) -> Any:
    """Return the function that ``text`` defines: arithmetic on numbered names, from this package."""
    path = str(
        Path(__file__).with_name(f"{owner}.{name}")
    )  # there is no such file: it tells that the code is the package's
    namespace: dict[str, Any] = dict(_NAMES)
    exec(compile(text, path, "exec"), namespace)  # noqa: S102  (our own text, in which no word of a formula is)
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)  # for tracebacks
    return namespace[name]


def _named(name: str) -> type[FormulaCost]:
    """Return the class of that name, made if need be."""
    if name not in globals():
        globals()[name] = type(name, (FormulaCost,), {"__slots__": (), "__module__": __name__, "__qualname__": name})
    kind: type[FormulaCost] = globals()[name]
    return kind


def __getattr__(name: str) -> Any:
    """Return the class of a formula that was compiled in another process: numba reads its name in the cache."""
    if name.startswith(PREFIX) and name.removeprefix(PREFIX).isalnum():
        return _named(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
