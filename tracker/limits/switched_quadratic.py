"""Quadratic costs that a Markov chain switches, and one linear sampler, as plain arrays.

Notes
-----
The sampler says what its step is (``LinearStep``: drift J, gain M, reads C). Then u_{k+1} = u_k + epsilon (a_i - A_i u_k)
and noise in mode i, with A_i = M H_i C - J and a_i = M H_i m_i. Of Langevin with a fixed S, u is theta, J = 0, C = I and
M = I + S. Sigma_i is the covariance of the gradient noise in mode i; where regressors are random it grows with theta
(``NoiseGrowth``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from tracker.costs.facts import as_quadratic
from tracker.limits.noise_growth import growth_of
from tracker.limits.scope import OutOfScope, read_scenario
from tracker.limits.walking_target import beside_walk, relative_to_walk
from tracker.scenario.complaints import place_of
from tracker.skew import switched_moments

if TYPE_CHECKING:
    from collections.abc import Callable

    from tracker.array_types import Array
    from tracker.limits.noise_growth import NoiseGrowth
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
    stages : of a stay; each has a place of its own among the X
    walks : whether the last N coordinates of the state, before what is remembered, are the shift d of all landscapes
    growth : of the gradient noise with theta; None where all of it is additive
    memory : correlation of the gradient noise from step to step; not 0: z = factors u, u an AR(1), is part of the state
    factors : ndarray, shape (X, N, rank), with Sigma = factors factors'; None where there is no memory
    lowest : ndarray, shape (X,), the cost of each mode at its minimum; None for 0
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
    stages: int = 1
    walks: bool = False
    growth: NoiseGrowth | None = None
    lowest: Array | None = None
    memory: float = 0.0
    factors: Array | None = None

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
        """The number of coordinates of the state, of which theta is the first N and what is remembered the last."""
        return len(self.step.gain) + self.kept

    @property
    def kept(self) -> int:
        """How many numbers the gradient noise remembers."""
        return 0 if self.factors is None else self.factors.shape[2]

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
        return replace(self.forgetful, form_at=0.0)

    @property
    def forgetful(self) -> SwitchedQuadratic:
        """The same with white noise of the long-run covariance, Sigma (1 + memory)/(1 - memory): equal to first order in epsilon."""
        if self.factors is None:
            return self
        return replace(self, Sigma=self.Sigma * (1.0 + self.memory) / (1.0 - self.memory), memory=0.0, factors=None)

    @property
    def white(self) -> Array:
        """The covariance of the gradient noise that is drawn afresh at each step, shape (X, N, N)."""
        return self.Sigma if self.factors is None else 0.0 * self.Sigma

    @property
    def M(self) -> Array:  # noqa: N802  (the paper's letter)
        """What multiplies the gradient, shape (n, N)."""
        return np.pad(self.step.gain, ((0, self.kept), (0, 0)))

    @property
    def A(self) -> Array:  # noqa: N802  (the paper's letter)
        """M H_i C - J, shape (X, n, n); a memory fades by itself and pushes with M F_i."""
        alone = self.step.gain @ self.H @ self.step.reads - self.step.drift
        if self.factors is None:
            return np.asarray(alone)
        fades = np.broadcast_to((1.0 - self.memory) / self.epsilon * np.eye(self.kept), (self.X, self.kept, self.kept))
        upper = np.concatenate([alone, self.step.gain @ self.factors], axis=2)
        return np.concatenate([upper, np.pad(fades, ((0, 0), (0, 0), (alone.shape[1], 0)))], axis=1)

    @property
    def a(self) -> Array:
        """M H_i m_i, shape (X, n)."""
        return np.einsum("iab,ib->ia", self.M @ self.H, self.m)

    @property
    def heat(self) -> Array:
        """The covariance of the injected noise over epsilon, shape (n, n), and of what is new in a memory."""
        heat, r = np.pad(self.step.heat, (0, self.kept)), self.kept
        if r:
            heat[-r:, -r:] = (1.0 - self.memory**2) / self.epsilon * np.eye(r)
        return heat

    @property
    def scatter(self) -> Array | None:
        """What the growth of the noise adds to a step's map of second moments, half-vectorised; None where it does not grow."""
        if self.growth is None:
            return None
        M, C = self.M, self.step.reads
        left, size, weight, _ = self.growth
        return switched_moments.scatter_of(M @ left @ C, M @ size @ M.T, C.T @ weight @ C)

    def second_moment_steps(self) -> Callable[[float], Array]:
        """Return epsilon -> the algorithm's map of half-vectorised second moments less the identity; alpha and A are kept."""
        return switched_moments.steps_of(self.A, self.Q, self.alpha, self.scatter)

    @cached_property
    def steady_form(self) -> bool:
        """Whether the matrices are the same at every epsilon, so that a step is a polynomial of degree 2 in epsilon."""
        here, limit = self.step, self.limit.step
        same = all(np.array_equal(getattr(here, name), getattr(limit, name)) for name in here._fields)
        return same and self.factors is None

    @property
    def keeps_gibbs(self) -> bool:
        """Whether u is theta and the limit leaves Gibbs' law of each mode as it is: heat = (M + M') / beta, nothing drifts."""
        step = self.limit.step
        alone = self.n == self.N and not step.drift.any() and np.array_equal(step.reads, np.eye(self.N))
        return bool(alone and np.array_equal(step.heat, (step.gain + step.gain.T) / self.beta))

    def first_order(self) -> tuple[Array, Array, Array]:
        """Return d/d epsilon of A, a and heat at epsilon = 0, from differences of the fourth order; OutOfScope where there is none."""
        if not self.step.smooth:
            raise OutOfScope(
                "the matrices of a step have no derivative at epsilon = 0, so there is no expansion of the error",
                "ask for exact moments at its own epsilon",
            )
        h = 1e-3 * self.epsilon
        here = self.forgetful
        near, far = ([replace(here, form_at=sign * width) for sign in (1, -1)] for width in (h, 2.0 * h))

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
    scenario: Scenario,
    sampler: str,
    *,
    of: Literal["limit", "algorithm"] | None = None,
    at_given_skew: bool = False,
    without_skew: bool = False,
    walk: Literal["refused", "relative", "beside"] = "refused",
) -> SwitchedQuadratic:
    """Return the scenario as a ``SwitchedQuadratic``; see ``read_scenario``.

    of : whose law is asked for; the limit sees no memory of the noise but its long-run covariance. None: whoever asks knows
        nothing of noise with a memory, which is refused
    walk : what becomes of landscapes that drift by a random walk d_k: they are refused; theta stands for theta - d; or d stands
        beside theta in the state

    Raises
    ------
    OutOfScope
        Also where a cost is not quadratic.
    """
    walking = walk != "refused"
    subject = read_scenario(
        scenario, sampler, at_given_skew=at_given_skew, linear=True, without_skew=without_skew, walking=walking
    )
    costs = []
    for index, mode in enumerate(subject.scenario.modes):
        cost = as_quadratic(mode.build())
        if cost is None:
            place = place_of("modes", index // subject.stages, scenario.modes[index // subject.stages])
            raise OutOfScope(
                f"{place}: theory is exact for quadratic costs only, and {mode.cost} is none",
                "use limits.density (N = 1, 2) or limits.coupled (any N)"
                if subject.keys.euler or subject.keys.tangent
                else "simulate it instead",
            )
        costs.append(cost)
    memory = costs[0].memory
    if memory != 0.0 and of is None:
        raise OutOfScope(f"noise_memory: {memory:g}: this is known for white gradient noise only", "", sampler)
    Q, mean = subject.Q, subject.mean
    np.fill_diagonal(Q, 0.0)
    form = subject.keys.linear
    if scenario.drift is not None:
        steps = scenario.drift.covariance_in(scenario.dimension)
        form = relative_to_walk(form, steps) if walk == "relative" else beside_walk(form, steps)
    found = SwitchedQuadratic(
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
        form=form,
        walks=scenario.drift is not None and walk == "beside",
        stages=subject.stages,
        growth=growth_of(costs),
        lowest=np.array([cost.lowest for cost in costs]),
        memory=memory,
        factors=np.array([cost.noise for cost in costs]) if memory != 0.0 else None,
    )
    return found.forgetful if of == "limit" else found
