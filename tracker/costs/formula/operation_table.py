"""A long formula as a table of operations that a loop carries out: nothing is compiled for it.

Notes
-----
Compiling straight lines takes longer than in proportion: 800 lines two seconds, 2,700 a minute, for each function. The table
holds the nodes of the graph in the order of computing, a row each, and each operation is spelled as in straight lines: the
numbers are the same to the last bit, a step takes a few times as long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tracker.compiled import helper
from tracker.costs.base import expected, expected_gradient, gradient, has_hessian, hessian, value
from tracker.costs.formula.generated_code import OPERATIONS, function_of, spelled
from tracker.costs.noise_memory import remembering

if TYPE_CHECKING:
    from tracker.array_types import Array, Integers
    from tracker.costs.formula.expression_graph import Derivatives, Graph

_READ = {"number": "numbers[a]", "variable": "theta[a]", "parameter": "parameters[a]"}
_MADE = {name: spelled(name, ("x[a]", "x[b]")[:operands]) for name, operands in OPERATIONS.items()}
_ROWS = {**_READ, **_MADE}
_PLACES = {name: row for row, name in enumerate(_ROWS)}


class Operations(NamedTuple):
    """Rows (operation, a, b) in the order of computing; a, b are earlier rows, or places of a number, variable or parameter.

    numbers : the constants
    root : the row of the value
    slopes (N,) : the rows of the gradient
    entries (n, 3) : i, j <= i and the row of an entry of the Hessian that is not zero
    smooth : whether there is a Hessian
    """

    rows: Integers
    numbers: Array
    root: int
    slopes: Integers
    entries: Integers
    smooth: bool


@remembering
class FormulaTable(NamedTuple):
    """Parameters: those of the formula, one after the other; noise F (N, rank), its memory; the formula."""

    parameters: Array
    noise: Array
    memory: float
    operations: Operations


def write_table(graph: Graph, found: Derivatives) -> Operations:
    """Return the formula and its derivatives as a table."""
    needed = graph.below([found.root, *found.slopes, *(entry for _, _, entry in found.entries)])
    place, numbers, rows = {n: row for row, n in enumerate(needed)}, list[float](), list[tuple[int, int, int]]()
    for n in needed:
        operation, arguments, number = graph.nodes[n]
        if operation == "number":
            a = b = len(numbers)
            numbers.append(number)
        elif operation in _READ:
            a = b = int(number)
        else:
            a, b = place[arguments[0]], place[arguments[-1]]
        rows.append((_PLACES[operation], a, b))
    entries = [(d, e, place[entry]) for d, e, entry in found.entries]
    return Operations(
        np.array(rows, dtype=np.int64),
        np.array(numbers, dtype=float),
        place[found.root],
        np.array([place[slope] for slope in found.slopes], dtype=np.int64),
        np.array(entries, dtype=np.int64).reshape(-1, 3),
        found.smooth,
    )


def _loop() -> str:
    """Return the text of a function that carries out the first ``count`` rows."""
    lines = ["def carry_out(rows, count, numbers, parameters, theta, x):", "    for n in range(count):"]
    lines += ["        operation, a, b = rows[n, 0], rows[n, 1], rows[n, 2]"]
    for row, text in enumerate(_ROWS.values()):
        lines += [f"        {'elif' if row else 'if'} operation == {row}:", f"            x[n] = {text}"]
    return "\n".join(lines) + "\n"


carry_out = helper(function_of("carry_out", _loop(), "operation_table"))


@helper
def _worked_out(cost: FormulaTable, count: int, theta: Array) -> Array:
    x = np.empty(count)
    carry_out(cost.operations.rows, count, cost.operations.numbers, cost.parameters, theta, x)
    return x


@value.register(FormulaTable)
def _value(cost: FormulaTable, theta: Array, z: Array) -> float:
    total = expected(cost, theta)
    for d in range(theta.size):
        total += z[d] * theta[d]
    return total


@expected.register(FormulaTable)
def _expected(cost: FormulaTable, theta: Array) -> float:
    root = cost.operations.root
    return _worked_out(cost, root + 1, theta)[root]


@gradient.register(FormulaTable)
def _gradient(cost: FormulaTable, theta: Array, z: Array, out: Array) -> None:
    expected_gradient(cost, theta, out)
    for d in range(theta.size):
        out[d] += z[d]


@expected_gradient.register(FormulaTable)
def _expected_gradient(cost: FormulaTable, theta: Array, out: Array) -> None:
    slopes = cost.operations.slopes
    x = _worked_out(cost, slopes.max() + 1, theta)
    for d in range(theta.size):
        out[d] = x[slopes[d]]


@hessian.register(FormulaTable)
def _hessian(cost: FormulaTable, theta: Array, z: Array, out: Array) -> None:
    entries = cost.operations.entries
    x = _worked_out(cost, cost.operations.rows.shape[0], theta)
    out[:, :] = 0.0
    for n in range(entries.shape[0]):
        i, j = entries[n, 0], entries[n, 1]
        out[i, j] = x[entries[n, 2]]
        out[j, i] = x[entries[n, 2]]


@has_hessian.register(FormulaTable)
def _has_hessian(cost: FormulaTable) -> bool:
    return cost.operations.smooth
