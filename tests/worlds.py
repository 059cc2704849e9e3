"""Worlds that tests of several rooms run in, each once."""

from __future__ import annotations

from typing import Any

import tracker
from tracker.scenario.model import make_scenario

QUADRATIC = ("minimum = [1.0, 0.0]\ncurvature = [[1.0, 0.0], [0.0, 2.0]]",
             "minimum = [-1.0, 0.5]\ncurvature = [[2.0, 0.5], [0.5, 1.0]]")  # fmt: skip
POLYNOMIAL = ("(a-1)^2/2 + b^2", "(a+1)^2 + 0.5*(a+1)*(b-0.5) + (b-0.5)^2/2")


def scenario_of(modes: list[dict[str, Any]], samplers: list[dict[str, Any]], **changes: Any) -> Any:
    """A scenario with short defaults."""
    data = {
        "name": "test",
        "seed": 2**40 + 11,
        "trials": 8,
        "steps": 500,
        "record_every": 1,
        "start": [0.5, 0.0],
        **changes,
    }
    return make_scenario({
        **data,
        "modes": [{"name": f"mode-{i}", **mode} for i, mode in enumerate(modes)],
        "samplers": [{"name": f"sampler-{i}", "epsilon": 0.04, "beta": 3.0, **keys} for i, keys in enumerate(samplers)],
    })  # fmt: skip


def pair(skew: float, beta: float, *, polynomial: bool, spread: float = 0.02) -> tracker.Scenario:
    """Two quadratic modes, as they are or written as polynomials."""
    modes = ""
    for name, own, formula in zip("xy", QUADRATIC, POLYNOMIAL, strict=True):
        cost = f'variables = ["a", "b"]\nformula = "{formula}"' if polynomial else own
        modes += f'[[modes]]\nname = "{name}"\ncost = "{"polynomial" if polynomial else "quadratic"}"\n{cost}\n'
    return tracker.parse(f"""
name = "pair"
trials = 2
steps = 100
start = {{ mean = [1.0, 0.0], covariance = [[{spread}, 0.0], [0.0, {spread}]] }}
{modes}
[chain]
Q = [[-1.0, 1.0], [0.4, -0.4]]
alpha = 0.01
[[samplers]]
name = "s"
kind = "accelerated"
epsilon = 0.01
beta = {beta}
skew = {skew}
""")
