"""How far the S of Algorithm 1 wanders in one quadratic world, where no S is better than another.

Notes
-----
docs/mathematics, "Wandering of S". With y = (theta - m, D^ij), dy = -F y dt + noise on theta, and g'D = y'K y. As
kappa = skew_step / epsilon -> 0, Var S(i, j) ~ a kappa^2 t with a the integral of the covariance of y'K y over all lags.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import solve_continuous_lyapunov

from tracker import skew
from tracker.limits.scope import OutOfScope, sampler_keys
from tracker.limits.switched_quadratic import read_quadratic

if TYPE_CHECKING:
    from tracker.array_types import Array
    from tracker.scenario.model import Scenario


@dataclass(frozen=True)
class Wander:
    """How S moves where it learns nothing.

    coefficient : ndarray, shape (pairs,), a(S) with Var S(i, j) ~ a kappa^2 t, in the order (2,1), (3,1), (3,2), (4,1), ...
    skew : ndarray, shape (N, N), the S at which it is taken
    """

    coefficient: Array
    skew: Array


def wander(scenario: Scenario, sampler: str) -> Wander:
    """Return a(S) of Algorithm 1 at the sampler's S_0, for one quadratic mode and a finite beta.

    >>> import tracker
    >>> scenario = tracker.parse('''
    ... name = "still"
    ... trials = 1
    ... steps = 10
    ... start = [0.0, 0.0]
    ... [[modes]]
    ... name = "only"
    ... cost = "quadratic"
    ... minimum = [0.0, 0.0]
    ... curvature = [[3.0, 0.0], [0.0, 1.0]]
    ... [[samplers]]
    ... name = "one"
    ... kind = "hessian"
    ... epsilon = 0.01
    ... skew = 0.5
    ... skew_step = 1e-4
    ... skew_bounds = [-5.0, 5.0]
    ... ''')
    >>> tracker.limits.wander(scenario, "one").coefficient.round(6)
    array([0.450833])
    """
    if not sampler_keys(scenario, sampler).tangent:
        raise OutOfScope(
            "only a sampler whose S follows g'D wanders so", "use one that carries D = d theta / d S", sampler
        )
    problem = read_quadratic(scenario, sampler, of="limit", at_given_skew=True)
    if problem.X > 1:
        raise OutOfScope(f"S wanders in one world, and there are {problem.X} modes: there it may learn", "", sampler)
    if np.isinf(problem.beta):
        raise OutOfScope("at beta = inf theta comes to rest, and S with it", "give a finite beta", sampler)
    N, H, MH = problem.N, problem.H[0], problem.A[0]
    none = np.zeros((N, N))
    K = np.block([[none, H / 2.0], [H / 2.0, none]])
    heat = np.block([[2.0 / problem.beta * np.eye(N), none], [none, none]])
    found = []
    for i, j in skew.pairs(N):
        F = np.block([[MH, none], [skew.basis(int(i), int(j), N) @ H, MH]])
        G = solve_continuous_lyapunov(F, heat)
        X = solve_continuous_lyapunov(F, G @ K @ G)
        found.append(4.0 * float(np.trace(K @ X)))
    return Wander(np.array(found, dtype=np.float64), problem.S)
