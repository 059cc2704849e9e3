"""The three limits of the algorithm, by the speed of the chain: frozen, switched, averaged.

docs/mathematics, "Three regimes".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tracker import chain
from tracker.limits.exact_moments import Moments, at_horizon
from tracker.limits.switched_quadratic import SwitchedQuadratic, read_quadratic

if TYPE_CHECKING:
    from tracker.scenario.model import Scenario

NEAR = 5.0  # a ratio within this factor of 1 is taken as that of the switched limit


@dataclass(frozen=True)
class Regimes:
    """The three limits and the algorithm at the horizon, each with ``mean`` and ``second``.

    frozen, switched, averaged : the limits; algorithm : the recursion itself
    ratio : that of ``switched``
    distance : from the algorithm to each limit, by name: the largest difference in mean and upper triangle of second
    rate : the order in epsilon at which each distance shrinks, from one halving of epsilon; about 0 to a wrong limit.
        alpha goes along as epsilon^p, p = log alpha / log epsilon, or keeps its ratio where that is taken as matched
    """

    frozen: Moments
    switched: Moments
    averaged: Moments
    algorithm: Moments
    ratio: float
    distance: dict[str, float]
    rate: dict[str, float]


def regimes(scenario: Scenario, sampler: str, horizon: float, ratio: float | None = None) -> Regimes:
    """Return the limits and the algorithm at ``horizon``, a whole multiple of epsilon.

    ``ratio`` is that of the switched limit. By default it is alpha / epsilon where that is within a factor 5 of 1. Further away
    it is 1: a diffusion whose ratio goes along with epsilon to 0 or inf would be near the algorithm in every regime, and
    would tell none of them apart.

    >>> import tracker
    >>> scenario = tracker.load("scenarios/example_a.toml")
    >>> distance = tracker.limits.regimes(scenario, "skewed", horizon=1.0).distance
    >>> min(distance, key=distance.get)
    'switched'
    """
    problem = read_quadratic(scenario, sampler, of="algorithm")
    if ratio is None:
        own = problem.ratio
        ratio = own if 1.0 / NEAR <= own <= NEAR or problem.X == 1 else 1.0
    if not 0.0 <= ratio < np.inf:
        raise ValueError(f"ratio: {ratio} must be finite and not negative")
    limits = {
        "frozen": at_horizon(replace(problem, alpha=0.0), horizon, "limit"),
        "switched": at_horizon(replace(problem, alpha=ratio * problem.epsilon), horizon, "limit"),
        "averaged": at_horizon(average_modes(problem), horizon, "limit"),
    }
    algorithm = at_horizon(problem, horizon, "algorithm")
    distance = {name: _distance(algorithm, limit) for name, limit in limits.items()}
    finer = at_horizon(_halved(problem, matched=ratio == problem.ratio), horizon, "algorithm")
    rate = {name: _order(distance[name], _distance(finer, limit)) for name, limit in limits.items()}
    return Regimes(**limits, algorithm=algorithm, ratio=float(ratio), distance=distance, rate=rate)


def _halved(problem: SwitchedQuadratic, *, matched: bool) -> SwitchedQuadratic:
    """Return the problem at half the step, further along its path."""
    power = 1.0 if matched or problem.alpha == 0.0 else np.log(problem.alpha) / np.log(problem.epsilon)
    return replace(problem, epsilon=problem.epsilon / 2, alpha=float(problem.alpha * 0.5**power))


def _order(coarse: float, fine: float) -> float:
    return float(np.log2(coarse / fine)) if coarse > 0.0 and fine > 0.0 else float("nan")


def average_modes(problem: SwitchedQuadratic) -> SwitchedQuadratic:
    """Return the problem with one mode, of the cost averaged over the stationary law; mean-square errors refer to its minimum."""
    problem, pi = problem.forgetful, chain.stationary_law(problem.Q)
    H = np.einsum("i,iab->ab", pi, problem.H)
    m = np.linalg.solve(H, np.einsum("i,iab,ib->a", pi, problem.H, problem.m))
    Sigma = np.einsum("i,iab->ab", pi, problem.Sigma)
    # no growth: noise that depends on theta is of no consequence in a limit
    return replace(
        problem,
        H=H[None],
        m=m[None],
        Sigma=Sigma[None],
        Q=np.zeros((1, 1)),
        alpha=0.0,
        p0=np.ones(1),
        growth=None,
        lowest=None,
        stages=1,
    )


def _distance(one: Moments, other: Moments) -> float:
    """The max-norm over the mean and the upper triangle of the second moments."""
    mean, second = np.abs(one.mean - other.mean), np.abs(one.second - other.second)
    return float(max(mean.max(), np.triu(second).max()))
