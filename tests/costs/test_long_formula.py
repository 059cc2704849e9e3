"""A long formula is carried out by a loop over a table: the numbers of straight lines, and nothing to compile."""

from __future__ import annotations

import random
import time
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from formulas import spoken
from interpreting import interpreted
from worlds import scenario_of

from tracker.compiled import kernel
from tracker.costs import COSTS, base
from tracker.costs.formula import formula_cost
from tracker.costs.formula.formula_cost import MOST_COMPILED, derive
from tracker.costs.formula.generated_code import OPERATIONS, FormulaCost
from tracker.costs.formula.operation_table import FormulaTable

SECONDS = 4.0  # of CPU, on busy cores
EVERYTHING = (
    "exp(a) + log(2 + a^2) + sqrt(1 + b^2) + sin(a)*cos(b) - tan(a/4) + tanh(b) + atan(a*b) + cosh(c) + logcosh(a - c) + (2 + a^2)^b + "
    "p*q[1]/(3 + c^2) + 2.5"
)


@kernel
def ask(cost: Any, theta: Any, z: Any, g: Any, slope: Any) -> Any:
    """Ask for everything but the Hessian."""
    base.gradient(cost, theta, z, g)
    base.expected_gradient(cost, theta, slope)
    return base.value(cost, theta, z), base.expected(cost, theta)


@kernel
def bend(cost: Any, theta: Any, z: Any, H: Any) -> None:
    """Ask for the Hessian."""
    base.hessian(cost, theta, z, H)


def built(formula: str, variables: Any, most: int, monkeypatch: pytest.MonkeyPatch, **keys: Any) -> Any:
    """Return the cost as it is where formulas of up to ``most`` operations are compiled."""
    monkeypatch.setattr(formula_cost, "MOST_COMPILED", most)
    derive.cache_clear()
    cost = COSTS["formula"](name="m", cost="formula", variables=list(variables), formula=formula, **keys).build()
    derive.cache_clear()
    assert isinstance(cost, FormulaCost if most else FormulaTable)
    return cost


def numbers_of(cost: Any, theta: Any, smooth: bool, compiled: bool) -> list[Any]:
    N = theta.size
    z, g, slope, H = np.linspace(0.1, 0.3, N), np.empty(N), np.empty(N), np.zeros((N, N))
    values = (ask if compiled else ask.interpreted)(cost, theta, z, g, slope)
    if smooth:
        (bend if compiled else bend.interpreted)(cost, theta, z, H)
    return [*values, g, slope, H]


@pytest.mark.parametrize("compiled", [False, True], ids=["interpreted", "compiled"])
def test_a_table_gives_the_numbers_of_straight_lines(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, seen = random.Random(11), set[int]()
    formulas = [EVERYTHING, "abs(a) + min(a, b^2)*max(b, c, 0.2) - c", *(spoken(rng, 4, ["a", "b", "c"]).text for _ in range(2 if compiled else 40))]  # fmt: skip
    keys = {"parameters": {"p": 0.7, "q": [1.0, -2.0]}}
    for n, formula in enumerate(formulas):
        lines, table = (built(formula, ("a", "b", "c"), most, monkeypatch, **keys) for most in (10**6, 0))
        assert base.has_hessian(lines) == base.has_hessian(table) == (n != 1)
        for theta in (np.array([0.3, -0.7, 1.1]), np.array([-1.2, 0.0, 0.25])):
            one, two = (numbers_of(cost, theta, n != 1, compiled) for cost in (lines, table))
            for a, b in zip(one, two, strict=True):
                np.testing.assert_array_equal(a, b)
        seen |= set(table.operations.rows[:, 0].tolist())
    assert len(seen) == 3 + len(OPERATIONS)  # numbers, variables, parameters, and every operation


def test_a_wrong_operation_in_the_table_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Control: sine in the place of cosine."""
    theta, names = np.array([0.3, -0.7]), ("a", "b")
    right, wrong = (built(f"{one}(a)*b + b^2", names, 0, monkeypatch) for one in ("sin", "cos"))
    assert numbers_of(right, theta, True, False)[0] != numbers_of(wrong, theta, True, False)[0]


def test_a_run_is_the_same_by_table(monkeypatch: pytest.MonkeyPatch) -> None:
    samplers = [
        {"kind": "langevin", "epsilon": 0.01, "beta": 4.0},
        {"kind": "hessian", "epsilon": 0.01, "skew": "random", "skew_step": 1e-2, "skew_bounds": [-2.0, 2.0]},
    ]
    modes = [
        {"cost": "formula", "variables": ["a", "b"], "formula": f"cosh(a {sign} 0.5) + h*b^2", "parameters": {"h": 0.8}, "gradient_noise": 0.3}
        for sign in "-+"
    ]  # fmt: skip
    chain = {"alpha": 0.05, "Q": [[-1.0, 1.0], [1.0, -1.0]]}
    hashes, theta = set(), []
    for most in (MOST_COMPILED, 0):
        monkeypatch.setattr(formula_cost, "MOST_COMPILED", most)
        derive.cache_clear()
        run = interpreted(scenario_of(modes, samplers, chain=chain, trials=2, steps=150))
        hashes.add(run.summary["hash"])
        theta.append(run.arrays["theta"])
    derive.cache_clear()
    assert len(hashes) == 1
    np.testing.assert_array_equal(theta[0], theta[1])
    assert np.abs(theta[0]).max() > 0.1


def test_a_formula_in_900_variables_costs_no_more_than_its_arithmetic() -> None:
    """Straight lines took more than a minute to compile for each of four functions."""
    N = 900
    names = [f"x{n}" for n in range(N)]
    text = "+".join(f"{x}^2" for x in names)
    warm = "+".join(f"2*{x}^2" for x in names)  # the loop is compiled once for all formulas
    for formula in (warm, text):
        began = time.process_time()
        cost = COSTS["formula"](name="m", cost="formula", variables=names, formula=formula).build()
        theta, H = np.linspace(-1.0, 1.0, N), np.empty((N, N))
        value, expected, g, slope, _ = numbers_of(cost, theta, False, True)
        bend(cost, theta, np.zeros(N), H)
        seconds = time.process_time() - began
    assert seconds < SECONDS
    assert expected == pytest.approx(theta @ theta, rel=1e-12)
    assert value == pytest.approx(theta @ theta + np.linspace(0.1, 0.3, N) @ theta, rel=1e-12)
    np.testing.assert_array_equal(slope, 2.0 * theta)
    np.testing.assert_allclose(g, 2.0 * theta + np.linspace(0.1, 0.3, N), rtol=1e-15)
    np.testing.assert_array_equal(H, 2.0 * np.eye(N))


def test_the_hessian_of_a_long_formula_has_both_halves() -> None:
    N = 60
    names = [f"x{n}" for n in range(N)]
    text = "+".join(f"(1-{a})^2+{a}^2*{b}^2*sin(1)" for a, b in pairwise(names))
    keys = COSTS["formula"](name="m", cost="formula", variables=names, formula=text)
    cost = keys.build()
    assert isinstance(cost, FormulaTable)
    assert keys.has_hessian
    theta, H = np.linspace(-1.0, 1.0, N), np.full((N, N), np.nan)
    base.hessian(cost, theta, np.zeros(N), H)
    wanted, s = np.zeros((N, N)), np.sin(1.0)
    for i in range(N - 1):
        wanted[i, i] += 2.0 + 2.0 * s * theta[i + 1] ** 2
        wanted[i + 1, i + 1] += 2.0 * s * theta[i] ** 2
        wanted[i, i + 1] = wanted[i + 1, i] = 4.0 * s * theta[i] * theta[i + 1]
    np.testing.assert_allclose(H, wanted, rtol=1e-12)


def test_formulas_of_a_usual_size_are_compiled() -> None:
    cost = COSTS["formula"](name="m", cost="formula", variables=["a", "b", "c"], formula=EVERYTHING.replace("p*q[1]", "1")).build()  # fmt: skip
    assert isinstance(cost, FormulaCost)
