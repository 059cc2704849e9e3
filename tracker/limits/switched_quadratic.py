"""Read a scenario for theory: quadratic costs that a Markov chain switches, and one sampler with a fixed S.

Notes
-----
M = I + S, A_i = M H_i, a_i = A_i m_i, Sigma_i the covariance of the gradient noise in mode i.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tracker import skew
from tracker.costs.facts import as_quadratic
from tracker.scenario.builders import initial_law, skew_matrix
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


def read(scenario: Scenario, sampler: str, wanted: str, *, at_given_skew: bool = False) -> SwitchedQuadratic:
    """Return the scenario as a ``SwitchedQuadratic``; ``wanted`` names the caller in messages.

    Raises
    ------
    ValueError
        If the theory does not cover it; the message says what does.
    """
    _refuse_other_worlds(scenario, wanted)
    S = _skew(scenario, sampler, wanted, at_given_skew=at_given_skew)
    keys = _keys(scenario, sampler)
    costs = []
    for index, mode in enumerate(scenario.modes):
        cost = as_quadratic(mode.build())
        if cost is None:
            raise ValueError(
                f"{place_of('modes', index, mode)}: limits.{wanted} is exact for quadratic costs only, and {mode.cost} is "
                "none: use limits.density (N = 1, 2) or limits.coupled (any N)"
            )
        costs.append(cost)
    chain = scenario.chain
    Q = np.zeros((len(costs), len(costs))) if chain is None else np.array(chain.Q, dtype=float)
    np.fill_diagonal(Q, 0.0)
    mean, factor = scenario.start_mean, scenario.start_factor
    return SwitchedQuadratic(
        H=np.array([cost.curvature for cost in costs]),
        m=np.array([cost.minimum for cost in costs]),
        Sigma=np.array([cost.covariance for cost in costs]),
        S=S,
        Q=Q - np.diag(Q.sum(axis=1)),
        alpha=0.0 if chain is None else chain.alpha,
        epsilon=keys.epsilon,
        beta=keys.beta,
        p0=initial_law(scenario),
        mean0=mean,
        second0=np.outer(mean, mean) + factor @ factor.T,
    )


def _refuse_other_worlds(scenario: Scenario, wanted: str) -> None:
    if scenario.schedule is not None:
        raise ValueError(
            f"schedule: limits.{wanted} is about modes that a Markov chain picks: give a [chain], or simulate with tracker.run"
        )
    if scenario.interventions:
        raise ValueError(
            f"interventions: limits.{wanted} knows none: leave them out with "
            "scenario.replace(interventions=[]), or simulate with tracker.run"
        )
    if scenario.sweep:
        raise ValueError(f"sweep: limits.{wanted} is about one scenario: take the cases of the sweep one by one")


def _keys(scenario: Scenario, sampler: str) -> Any:
    for keys in scenario.samplers:
        if keys.name == sampler:
            return keys
    names = ", ".join(keys.name for keys in scenario.samplers)
    raise ValueError(f"sampler: {sampler!r} is none of the scenario's: {names}")


def _skew(scenario: Scenario, sampler: str, wanted: str, *, at_given_skew: bool) -> Array:
    keys = _keys(scenario, sampler)
    place = f'sampler "{keys.name}"'
    if keys.adapts and keys.skew_is != "moving":
        raise ValueError(
            f"{place}: limits.{wanted} needs a sampler that stays as it is, and {keys.kind} moves {keys.adapts}: simulate it "
            "instead"
        )
    if not (keys.euler or keys.adapts):
        raise ValueError(f"{place}: limits.{wanted} is not known for the kind {keys.kind}: simulate it instead")
    if not (keys.euler or (keys.tangent and at_given_skew)):
        raise ValueError(
            f"{place}: limits.{wanted} needs an S that stands still, and {keys.kind} moves it: use limits.coupled for its law, "
            "limits.adaptive_path for (theta, D, S) at beta = inf, limits.skew_gain for the drift of S at a given S"
        )
    S = skew_matrix(keys, scenario)
    if S is None:
        raise ValueError(
            f'{place}: skew = "random" is drawn for each trial, and limits.{wanted} needs one S: give a matrix '
            "(tracker.skew.tridiagonal makes one from its entries)"
        )
    bounds = getattr(keys, "skew_bounds", None)
    return S if bounds is None else skew.clip(S, *bounds)
