"""Quadratic costs that a Markov chain switches, and one sampler with a fixed S, as plain arrays.

Notes
-----
M = I + S, A_i = M H_i, a_i = A_i m_i, Sigma_i the covariance of the gradient noise in mode i.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tracker.costs.facts import as_quadratic
from tracker.limits.scope import OutOfScope, read_scenario
from tracker.scenario.complaints import place_of

if TYPE_CHECKING:
    from tracker.array_types import Array
    from tracker.scenario.model import Scenario


@dataclass(frozen=True)
class SwitchedQuadratic:
    """One sampler on switched quadratic costs.

    H, Sigma : ndarray, shape (X, N, N)
    m : ndarray, shape (X, N)
    S : ndarray, shape (N, N)
    Q : ndarray, shape (X, X); its rows sum to 0 exactly
    alpha : the chain's step; 0 for one mode without a chain
    epsilon, beta : the sampler's step and inverse temperature, which may be inf
    p0 : ndarray, shape (X,), the law of the first mode
    mean0, second0 : ndarray, shapes (N,) and (N, N), of the start, which does not depend on the first mode
    """

    H: Array
    m: Array
    Sigma: Array
    S: Array
    Q: Array
    alpha: float
    epsilon: float
    beta: float
    p0: Array
    mean0: Array
    second0: Array

    @property
    def X(self) -> int:  # noqa: N802  (the paper's letter)
        """The number of modes."""
        return len(self.H)

    @property
    def N(self) -> int:  # noqa: N802  (the paper's letter)
        """The dimension."""
        return len(self.mean0)

    @property
    def ratio(self) -> float:
        """The ratio r = alpha / epsilon."""
        return self.alpha / self.epsilon

    @property
    def M(self) -> Array:  # noqa: N802  (the paper's letter)
        """I + S, shape (N, N)."""
        return np.eye(self.N) + self.S

    @property
    def A(self) -> Array:  # noqa: N802  (the paper's letter)
        """M H_i, shape (X, N, N)."""
        return np.asarray(self.M @ self.H)

    @property
    def a(self) -> Array:
        """A_i m_i, shape (X, N)."""
        return np.einsum("iab,ib->ia", self.A, self.m)

    def whole_steps(self, time: float) -> int:
        """Return time / epsilon, which must be a whole number."""
        quotient = float(time) / self.epsilon
        steps = round(quotient) if np.isfinite(quotient) else -1
        if steps < 0 or abs(quotient - steps) > 1e-9 * max(1.0, quotient):
            raise ValueError(
                f"time: {time} is {quotient:.12g} steps of epsilon = {self.epsilon:g}, must be a whole number"
            )
        return steps


def read_quadratic(scenario: Scenario, sampler: str, *, at_given_skew: bool = False) -> SwitchedQuadratic:
    """Return the scenario as a ``SwitchedQuadratic``; see ``read_scenario``.

    Raises
    ------
    OutOfScope
        Also where a cost is not quadratic.
    """
    subject = read_scenario(scenario, sampler, at_given_skew=at_given_skew)
    costs = []
    for index, mode in enumerate(scenario.modes):
        cost = as_quadratic(mode.build())
        if cost is None:
            raise OutOfScope(
                f"{place_of('modes', index, mode)}: theory is exact for quadratic costs only, and {mode.cost} is none",
                "use limits.density (N = 1, 2) or limits.coupled (any N)",
            )
        costs.append(cost)
    Q, mean = subject.Q, subject.mean
    np.fill_diagonal(Q, 0.0)
    return SwitchedQuadratic(
        H=np.array([cost.curvature for cost in costs]),
        m=np.array([cost.minimum for cost in costs]),
        Sigma=np.array([cost.covariance for cost in costs]),
        S=subject.S,
        Q=Q - np.diag(Q.sum(axis=1)),
        alpha=subject.alpha,
        epsilon=subject.keys.epsilon,
        beta=subject.keys.beta,
        p0=subject.initial,
        mean0=mean,
        second0=np.outer(mean, mean) + subject.covariance,
    )
