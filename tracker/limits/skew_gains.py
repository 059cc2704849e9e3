"""The stationary cost J(S) as a function of S, its derivative E[g'D], and the slow descent of S along it.

docs/mathematics, "Skew gain". E[g'D] is computed as the derivative of the stationary moments.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.integrate import solve_ivp

from tracker import skew
from tracker.limits.exact_moments import LawOf, check_law, check_times, fields
from tracker.limits.scope import refuse_no_skew, sampler_keys
from tracker.limits.stationary_moments import Steady, check_radius
from tracker.limits.switched_quadratic import SwitchedQuadratic, read_quadratic

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tracker.array_types import Array
    from tracker.scenario.model import Scenario


@dataclass(frozen=True)
class SkewGain:
    """At a fixed S, in stationarity.

    cost : J(S) = E C(theta, x)
    gradient : ndarray, shape (pairs,), E[g'D] = dJ/dS(i, j) in the order (2,1), (3,1), (3,2), (4,1), ...
    skew : ndarray, shape (N, N), S
    """

    cost: float
    gradient: Array
    skew: Array


def skew_gain(scenario: Scenario, sampler: str, of: LawOf = "limit") -> SkewGain:
    """Return J(S) and E[g'D] at the sampler's S, which is S_0 for ``hessian``; raises ``Unstable`` where there is no J.

    A kind without an S that multiplies its gradient is refused.

    >>> import tracker
    >>> scenario = tracker.load("scenarios/example_a.toml")
    >>> tracker.limits.skew_gain(scenario, "skewed").gradient.round(6)
    array([0.19103])
    """
    check_law(of)
    refuse_no_skew(sampler_keys(scenario, sampler), "skew_gain")
    return _gain(read_quadratic(scenario, sampler, of=of, at_given_skew=True), of)


def slow_skew_path(scenario: Scenario, sampler: str, times: ArrayLike, of: LawOf = "limit") -> Array:
    """Return S at the slow times tau, shape (..., N, N), along dS/d tau = -dJ/dS from the sampler's S, within its bounds if any.

    >>> import tracker
    >>> scenario = tracker.load("scenarios/example_a.toml")
    >>> tracker.limits.slow_skew_path(scenario, "skewed", [0.0, 1.0])[:, 1, 0].round(4)
    array([0.7  , 0.528])
    """
    check_law(of)
    keys = sampler_keys(scenario, sampler)
    refuse_no_skew(keys, "slow_skew_path")
    problem = read_quadratic(scenario, sampler, of=of, at_given_skew=True)
    low, high = getattr(keys, "skew_bounds", (-np.inf, np.inf))
    tau = check_times(times)

    def descent(_: float, s: Array) -> Array:
        inside = np.clip(s, low, high)
        slope = -_gain(replace(problem, S=skew.from_pairs(inside, problem.N)), of).gradient
        outward = ((inside >= high) & (slope > 0.0)) | ((inside <= low) & (slope < 0.0))
        return np.where(outward, 0.0, slope)

    first = skew.to_pairs(problem.S)
    stops = np.unique(tau)
    if stops.size == 0 or first.size == 0:
        return np.zeros((*tau.shape, problem.N, problem.N))
    path = solve_ivp(descent, (0.0, max(float(stops[-1]), 1e-300)), first, "DOP853", stops, rtol=1e-11, atol=1e-12)
    found = np.clip(path.y.T, low, high)[np.searchsorted(stops, tau.ravel())]
    return np.array([skew.from_pairs(s, problem.N) for s in found]).reshape(*tau.shape, problem.N, problem.N)


def _gain(problem: SwitchedQuadratic, of: LawOf) -> SkewGain:
    check_radius(problem, of)
    steady = Steady(problem, of)
    gradient = []
    for i, j in skew.pairs(problem.N):
        E = skew.basis(int(i), int(j), problem.N)
        change = steady.derivative(replace(problem, S=problem.S + E), replace(problem, S=problem.S - E), 2.0)
        gradient.append(float(fields(problem, change)["expected_cost"]))
    cost = float(fields(problem, steady.v)["expected_cost"])
    return SkewGain(cost=cost, gradient=np.array(gradient, dtype=np.float64), skew=problem.S)
