"""Worlds that tests of several rooms run in, each once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tracker
from tracker.scenario.model import make_scenario

ROOT = Path(__file__).resolve().parents[1]
SCENARIOS = ROOT / "scenarios"

QUADRATIC = ("minimum = [1.0, 0.0]\ncurvature = [[1.0, 0.0], [0.0, 2.0]]",
             "minimum = [-1.0, 0.5]\ncurvature = [[2.0, 0.5], [0.5, 1.0]]")  # fmt: skip
POLYNOMIAL = ("(a-1)^2/2 + b^2", "(a+1)^2 + 0.5*(a+1)*(b-0.5) + (b-0.5)^2/2")


def shipped(name: str, settings: Sequence[str] = ()) -> tracker.Scenario:
    """The shipped scenario of that name, changed by ``settings``."""
    return tracker.load(SCENARIOS / f"{name}.toml", settings)


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


def scalar(epsilon: float = 0.1, alpha: float = 0.05, **changes: Any) -> tracker.Scenario:
    """The scalar example of docs/mathematics, "Scalar closed form": h = 1.3, d = 0.8, beta = 5, sigma^2 = 2, q = 0.7."""
    text = f"""
        name = "scalar"
        seed = 1
        trials = 3
        steps = 40
        record_every = 2
        start = [0.0]
        chain = {{ alpha = {alpha}, Q = [[-0.7, 0.7], [0.7, -0.7]] }}
        modes = [
            {{ name = "up", cost = "quadratic", minimum = [0.8], curvature = [[1.3]], gradient_noise = [[2.0]] }},
            {{ name = "down", cost = "quadratic", minimum = [-0.8], curvature = [[1.3]], gradient_noise = [[2.0]] }},
        ]
        samplers = [{{ name = "a", kind = "langevin", epsilon = {epsilon}, beta = 5.0 }}]
    """
    return tracker.parse(text).replace(**changes)


def plane(**changes: Any) -> tracker.Scenario:
    """A stiff and a soft direction, and S drawn for each trial, fixed, moving, absent."""
    text = """
        name = "plane"
        seed = 2
        trials = 5
        steps = 30
        record_every = 2
        start = [1.0, 1.0]
        modes = [{ name = "bowl", cost = "quadratic", minimum = [0.0, 0.0], curvature = [[10.0, 0.0], [0.0, 1.0]], gradient_noise = [[1.0, 0.0], [0.0, 4.0]] }]
        samplers = [
            { name = "plain", kind = "langevin", epsilon = 0.01, beta = 2.0 },
            { name = "drawn", kind = "accelerated", epsilon = 0.01, beta = 2.0, skew = "random" },
        ]
    """
    return tracker.parse(text).replace(**changes)


def bowls(**changes: Any) -> tracker.Scenario:
    """Two bowls on a line, and two samplers that differ in their step."""
    text = """
        name = "bowls"
        trials = 6
        steps = 80
        start = [0.0]
        chain = { alpha = 0.05, Q = [[-1.0, 1.0], [1.0, -1.0]] }
        modes = [
            { name = "left", cost = "quadratic", minimum = [-1.0], curvature = [[1.0]], gradient_noise = [[0.1]] },
            { name = "right", cost = "quadratic", minimum = [1.0], curvature = [[1.0]], gradient_noise = [[0.1]] },
        ]
        samplers = [
            { name = "slow", kind = "langevin", epsilon = 0.05, beta = 10.0 },
            { name = "quick", kind = "langevin", epsilon = 0.2, beta = 10.0 },
        ]
    """
    return tracker.parse(text).replace(**changes)
