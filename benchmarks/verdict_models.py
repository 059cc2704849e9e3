"""Ten worlds with known noise in which a right engine must not be rejected: N = 1, 2, 3, 6; X = 1, 2, 3; with and without a law."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tracker

SCENARIOS = Path(__file__).resolve().parent.parent / "scenarios"
NOISELESS = [[0.0, 0.0], [0.0, 0.0]]
TWO, THREE = [[-1.0, 1.0], [0.5, -0.5]], [[-1.0, 0.7, 0.3], [0.5, -0.8, 0.3], [0.2, 0.6, -0.8]]


def example_a(*, gradient_noise: bool = False) -> tracker.Scenario:
    """Example A with a Gaussian start, with or without gradient noise."""
    scenario = tracker.load(SCENARIOS / "example_a.toml")
    start = {"mean": [0.5, 0.0], "covariance": [[0.09, 0.0], [0.0, 0.09]]}
    modes = [
        mode if gradient_noise else mode.model_copy(update={"gradient_noise": NOISELESS}) for mode in scenario.modes
    ]
    return scenario.replace(start=start, modes=modes)


def _world(
    name: str, start: Any, modes: list[dict[str, Any]], Q: Any, ratio: float, **sampler: Any
) -> tracker.Scenario:
    """A scenario with T = 1 at epsilon = 1/64."""
    epsilon = 1 / 64
    return tracker.load(SCENARIOS / "example_a.toml").replace(
        name=name,
        steps=64,
        start=start,
        modes=[{"name": f"m{n}", **mode} for n, mode in enumerate(modes)],
        samplers=[{"name": "s", "epsilon": epsilon, **sampler}],
        chain=None if Q is None else {"alpha": ratio * epsilon, "Q": Q},
    )


def _polynomial(variables: str, formula: str, **more: Any) -> dict[str, Any]:
    return {"cost": "polynomial", "variables": list(variables), "formula": formula, **more}


def _bowl(minimum: list[float], curvature: list[list[float]], **more: Any) -> dict[str, Any]:
    return {"cost": "quadratic", "minimum": minimum, "curvature": curvature, **more}


def _diagonal(*entries: float) -> list[list[float]]:
    return [[entry if i == j else 0.0 for j in range(len(entries))] for i, entry in enumerate(entries)]


def models() -> dict[str, tracker.Scenario]:
    """Return the ten worlds by name."""
    skewed = {"kind": "accelerated", "skew": 0.7, "beta": 3.0}
    rank_one = [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 0.0]]
    S = [[0.0, -0.5, 0.3], [0.5, 0.0, -0.2], [-0.3, 0.2, 0.0]]
    wells = "(a^2 - 1)^2/4 + b^2/2 + a*b/4"
    return {
        "Example A, N = 2, X = 2": example_a(gradient_noise=True),
        "Example A from a point, no gradient noise": example_a().replace(start=[0.5, 0.0]),
        "Example B, N = 1, X = 2, polynomial": tracker.load(SCENARIOS / "example_b.toml"),
        "Example D, N = 2, X = 2, polynomial": tracker.load(SCENARIOS / "example_d.toml"),
        "N = 2, X = 2, polynomial with noise": _world(
            "quartic",
            {"mean": [0.5, 0.0], "covariance": _diagonal(0.1, 0.2)},
            [
                _polynomial("ab", "(a-1)^2/2 + b^2 + 0.02*a^4", gradient_noise=0.4),
                _polynomial("ab", "(a+1)^2 + 0.5*(a+1)*(b-0.5) + (b-0.5)^2/2 + 0.02*b^4", gradient_noise=0.2),
            ],
            TWO, 1.0, **skewed,
        ),
        "N = 2, X = 3, polynomial from a point": _world(
            "three-wells", [0.5, 0.2],
            [_polynomial("ab", f"{wells} {tilt}") for tilt in ("- 0.3*a", "+ 0.3*a", "+ 0.4*b")],
            THREE, 2.0, kind="langevin", beta=2.0,
        ),
        "N = 3, X = 2, polynomial (no exact law)": _world(
            "space", [0.5, 0.0, -0.5],
            [_polynomial("abc", f"{wells} + c^2 {tilt}", gradient_noise=0.3) for tilt in ("- 0.3*a", "+ 0.3*a")],
            TWO, 1.0, kind="accelerated", skew=S, beta=3.0,
        ),
        "N = 3, X = 3, beta = inf, noise of rank 1": _world(
            "flat", {"mean": [0.5, 0.0, 0.1], "covariance": _diagonal(0.1, 0.1, 0.0)},
            [_bowl([1.0, -i, 0.5 * i], _diagonal(1.0, 2.0, 1.5), gradient_noise=rank_one) for i in (0.0, 1.0, 2.0)],
            THREE, 2.0, kind="accelerated", skew=S, beta="inf",
        ),
        "N = 1, X = 1, quadratic": _world(
            "line", {"mean": [1.0], "covariance": [[0.2]]}, [_bowl([0.0], [[1.5]], gradient_noise=1.0)], None, 0.0,
            kind="langevin", beta=2.0,
        ),
        "N = 6, X = 2, quadratic": _world(
            "wide", {"mean": [0.5] * 6, "covariance": _diagonal(*[0.1] * 6)},
            [_bowl([i] * 6, _diagonal(1.0, 1.2, 1.4, 1.6, 1.8, 2.0), gradient_noise=0.5) for i in (-1.0, 1.0)],
            TWO, 1.5, kind="langevin", beta=1.0,
        ),
    }  # fmt: skip
