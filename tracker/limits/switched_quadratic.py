"""Quadratic costs that a Markov chain switches, and one linear sampler, as plain arrays.

Notes
-----
The sampler says what its step is (``LinearStep``: drift J, gain M, reads C). Then u_{k+1} = u_k + epsilon (a_i - A_i u_k)
and noise in mode i, with A_i = M H_i C - J and a_i = M H_i m_i. Of Langevin with a fixed S, u is theta, J = 0, C = I and
M = I + S. Sigma_i is the covariance of the gradient noise in mode i.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tracker.costs.facts import as_quadratic
from tracker.limits.scope import OutOfScope, read_scenario
from tracker.scenario.complaints import place_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tracker.array_types import Array
    from tracker.samplers.linear_step import LinearStep
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
    form : (epsilon, S) -> the matrices of a step, as the sampler declares them
    form_at : the epsilon that ``form`` is asked for; None for that of the sampler, 0 for its limit
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
    form: Callable[[float, Array], LinearStep]
    form_at: float | None = None

    @property
    def X(self) -> int:  # noqa: N802  (the paper's letter)
        """The number of modes."""
        return len(self.H)

    @property
    def N(self) -> int:  # noqa: N802  (the paper's letter)
        """The dimension."""
        return len(self.mean0)

    @property
    def n(self) -> int:
        """The number of coordinates of the state, of which theta is the first N."""
        return len(self.step.gain)

    @property
    def ratio(self) -> float:
        """The ratio r = alpha / epsilon."""
        return self.alpha / self.epsilon

    @cached_property
    def step(self) -> LinearStep:
        """The matrices of the sampler."""
        return self.form(self.epsilon if self.form_at is None else self.form_at, self.S)

    @property
    def limit(self) -> SwitchedQuadratic:
        """The same with the matrices of the limit."""
        return replace(self, form_at=0.0)

    @property
    def M(self) -> Array:  # noqa: N802  (the paper's letter)
        """What multiplies the gradient, shape (n, N)."""
        return self.step.gain

    @property
    def A(self) -> Array:  # noqa: N802  (the paper's letter)
        """M H_i C - J, shape (X, n, n)."""
        return np.asarray(self.M @ self.H @ self.step.reads - self.step.drift)

    @property
    def a(self) -> Array:
        """M H_i m_i, shape (X, n)."""
        return np.einsum("iab,ib->ia", self.M @ self.H, self.m)

    @property
    def heat(self) -> Array:
        """The covariance of the injected noise over epsilon, shape (n, n)."""
        return self.step.heat

    @cached_property
    def steady_form(self) -> bool:
        """Whether the matrices are the same at every epsilon, so that a step is a polynomial of degree 2 in epsilon."""
        return all(np.array_equal(here, there) for here, there in zip(self.step, self.limit.step, strict=True))

    @property
    def keeps_gibbs(self) -> bool:
        """Whether u is theta and the limit leaves Gibbs' law of each mode as it is: heat = (M + M') / beta, nothing drifts."""
        step = self.limit.step
        alone = self.n == self.N and not step.drift.any() and np.array_equal(step.reads, np.eye(self.N))
        return bool(alone and np.array_equal(step.heat, (step.gain + step.gain.T) / self.beta))

    def first_order(self) -> tuple[Array, Array, Array]:
        """Return d/d epsilon of A, a and heat at epsilon = 0, from differences of the fourth order."""
        h = 1e-3 * self.epsilon
        near, far = ([replace(self, form_at=sign * width) for sign in (1, -1)] for width in (h, 2.0 * h))

        def slope(name: str) -> Array:
            inner, outer = (getattr(pair[0], name) - getattr(pair[1], name) for pair in (near, far))
            return np.asarray((8.0 * inner - outer) / (12.0 * h))

        return slope("A"), slope("a"), slope("heat")

    def whole_steps(self, time: float) -> int:
        """Return time / epsilon, which must be a whole number."""
        quotient = float(time) / self.epsilon
        steps = round(quotient) if np.isfinite(quotient) else -1
        if steps < 0 or abs(quotient - steps) > 1e-9 * max(1.0, quotient):
            raise ValueError(
                f"time: {time} is {quotient:.12g} steps of epsilon = {self.epsilon:g}, must be a whole number"
            )
        return steps


def read_quadratic(
    scenario: Scenario, sampler: str, *, at_given_skew: bool = False, without_skew: bool = False
) -> SwitchedQuadratic:
    """Return the scenario as a ``SwitchedQuadratic``; see ``read_scenario``.

    Raises
    ------
    OutOfScope
        Also where a cost is not quadratic.
    """
    subject = read_scenario(scenario, sampler, at_given_skew=at_given_skew, linear=True, without_skew=without_skew)
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
        form=subject.keys.linear,
    )
