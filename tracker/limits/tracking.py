"""How well a constant step can track: the exact best step, and what the error is made of.

Notes
-----
MATH.md section 1b. For alpha << epsilon << 1 the stationary E|theta - m_x|^2 is floor + Kn epsilon + Ks alpha / epsilon with

    floor = (1/beta) sum_i pi_i tr H_i^{-1}
    Kn = sum_i pi_i tr Y_i,   A_i Y_i + Y_i A_i' = M Sigma_i M' + A_i (H_i^{-1} / beta) A_i'
    Ks = sum_{i != j} pi_i q_ij { (m_i - m_j)' X_j (m_i - m_j) + tr[X_j (H_i^{-1} - H_j^{-1})] / beta },
         A_j' X_j + X_j A_j = I

so that epsilon* ~ sqrt(alpha Ks / Kn): noise against lag.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import solve_continuous_lyapunov
from scipy.optimize import brentq

from tracker import chain
from tracker.limits.moments import fields
from tracker.limits.problem import SwitchedQuadratic, read
from tracker.limits.steady import Steady, largest_step, log_radius

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tracker.scenario.model import Scenario

    Array = NDArray[np.float64]

TOO_FLAT = "a mode is so flat in some direction that rounding hides the error"
PER_DECADE = 8  # step sizes at which the error is looked at before the best one is located
DECADES = 12  # below the stability limit, in which the best one is looked for


@dataclass(frozen=True)
class BestStep:
    """The constant step with the smallest stationary mean-square tracking error at the scenario's alpha.

    epsilon, mean_square_error : exact
    asymptotic_epsilon : sqrt(alpha lag / noise)
    floor, noise, lag : the error is floor + noise epsilon + lag alpha / epsilon + smaller terms (noise is Kn, lag is Ks)
    """

    epsilon: float
    mean_square_error: float
    asymptotic_epsilon: float
    floor: float
    noise: float
    lag: float


def best_step(scenario: Scenario, sampler: str) -> BestStep:
    """Return the best constant step of ``sampler``; its own epsilon plays no part."""
    problem = read(scenario, sampler, "best_step")
    if problem.X == 1 or problem.alpha == 0.0:
        raise ValueError(
            "best_step: one mode never switches, so smaller is better: ask limits.stationary for the error of a step"
        )
    floor, noise, lag = split_error(problem)
    epsilon = _best(problem)
    return BestStep(
        epsilon=epsilon,
        mean_square_error=error(problem, epsilon),
        asymptotic_epsilon=float(np.sqrt(problem.alpha * max(lag, 0.0) / noise)) if noise > 0.0 else float("inf"),
        floor=floor,
        noise=noise,
        lag=lag,
    )


def split_error(problem: SwitchedQuadratic) -> tuple[float, float, float]:
    """Return floor, Kn and Ks."""
    M, A, m, Q = problem.M, problem.A, problem.m, problem.Q
    pi, eye = chain.stationary_law(Q), np.eye(problem.N)
    gibbs = np.linalg.inv(problem.H) / problem.beta
    floor = noise = lag = 0.0
    for j in range(problem.X):
        Y = _lyapunov(A[j], M @ problem.Sigma[j] @ M.T + A[j] @ gibbs[j] @ A[j].T)
        X = _lyapunov(A[j].T, eye)
        floor += pi[j] * float(np.trace(gibbs[j]))
        noise += pi[j] * float(np.trace(Y))
        for i in range(problem.X):
            if i != j:
                jump = m[i] - m[j]
                lag += pi[i] * Q[i, j] * float(jump @ X @ jump + np.trace(X @ (gibbs[i] - gibbs[j])))
    return float(floor), float(noise), float(lag)


def _lyapunov(A: Array, C: Array) -> Array:
    """Return X with A X + X A' = C; ValueError where scipy could solve a neighbouring equation only."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            return np.asarray(solve_continuous_lyapunov(A, C))
        except RuntimeWarning:
            raise ValueError(TOO_FLAT) from None


def error(problem: SwitchedQuadratic, epsilon: float) -> float:
    """Return the stationary mean-square error at ``epsilon`` and the problem's alpha.

    inf where it is not stable, nan where rounding hides it.
    """
    here = replace(problem, epsilon=epsilon)
    if not log_radius(here, "algorithm") < 0.0:
        return float("inf")
    try:
        v = Steady(here, "algorithm").v
    except np.linalg.LinAlgError:
        return float("nan")
    return float(fields(here, v)["mean_square_error"])


def slope(problem: SwitchedQuadratic, epsilon: float) -> float:
    """Return the derivative of ``error``."""
    here = replace(problem, epsilon=epsilon)
    # the recursion is quadratic in epsilon, so a difference over any width is exact
    change = Steady(here, "algorithm").derivative(
        replace(here, epsilon=2.0 * epsilon), replace(here, epsilon=0.0), 2.0 * epsilon
    )
    return float(fields(here, change)["mean_square_error"])


def _best(problem: SwitchedQuadratic) -> float:
    """Return where the slope changes sign around the least error, looking from the stability limit downwards."""
    limit = largest_step(problem, "alpha")
    grid = limit * 10.0 ** (-(np.arange(DECADES * PER_DECADE) + 0.25) / PER_DECADE)
    errors: list[float] = []
    best = 0
    for epsilon in grid:
        if np.isnan(found := error(problem, epsilon)):
            break
        errors.append(found)
        best = int(np.argmin(errors))
        if len(errors) > best + 2 * PER_DECADE:
            break
    if best + 1 >= len(errors):
        raise ValueError(f"best_step: the error still falls at epsilon = {grid[best]:.3g}, so that no step is the best")
    above = grid[best - 1] if best > 0 else limit * (1.0 - 1e-9)
    return float(brentq(lambda e: slope(problem, e), grid[best + 1], above, xtol=1e-14 * grid[best], rtol=1e-12))
