"""Find the constant step that tracks best, and split the tracking error into floor, noise and lag.

docs/mathematics, "Expansion of the error" and docs/mathematics, "Best step": floor + Kn epsilon + Ks alpha / epsilon.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import solve_continuous_lyapunov
from scipy.optimize import brentq
from threadpoolctl import threadpool_limits

from tracker import chain, skew
from tracker.limits import moment_system
from tracker.limits.exact_moments import fields
from tracker.limits.regime_limits import average_modes
from tracker.limits.scope import OutOfScope
from tracker.limits.stationary_moments import Steady, log_radius
from tracker.limits.switched_quadratic import SwitchedQuadratic, read_quadratic
from tracker.limits.switched_stability import averaging_step, first_interval

if TYPE_CHECKING:
    from tracker.array_types import Array
    from tracker.scenario.model import Scenario


TOO_FLAT = "a mode is so flat in some direction that rounding hides the error"
PER_DECADE, FEW_PER_DECADE = 8, 3  # step sizes at which the error is looked at before the best one is located
DECADES = 12  # below the end of the stable steps, in which the best one is looked for
PAST = 2  # decades below the least error after which the search ends
EQUAL = 1e-9  # errors that differ by less than this part are equal: what is left is rounding


@dataclass(frozen=True)
class BestStep:
    """The constant step with the smallest stationary mean-square tracking error at the scenario's alpha.

    epsilon : exact, in units of time a step; mean_square_error : exact, in units of theta squared
    asymptotic_epsilon : sqrt(alpha lag / noise), in units of time a step
    floor, noise, lag : the error is floor + noise epsilon + lag alpha / epsilon + smaller terms (noise is Kn, lag is Ks);
        floor and lag in units of theta squared, noise in those per unit of time; nan, like asymptotic_epsilon, for a kind whose
        step has no such expansion
    searched : the interval of stable steps in which it is the best. With a fast chain there may be several such intervals,
        one above the other: only the first is searched, the one that begins at 0
    """

    epsilon: float
    mean_square_error: float
    asymptotic_epsilon: float
    floor: float
    noise: float
    lag: float
    searched: tuple[float, float]


def best_step(scenario: Scenario, sampler: str) -> BestStep:
    """Return the best constant step of ``sampler``; its own epsilon plays no part.

    Raises
    ------
    OutOfScope
        Where no step is the best: the error still falls towards epsilon = 0, or no step is stable.

    Examples
    --------
    >>> import tracker
    >>> scenario = tracker.load("scenarios/example_a.toml")
    >>> round(tracker.limits.best_step(scenario, "skewed").epsilon, 6)
    0.140943
    """
    problem = read_quadratic(scenario, sampler, of="algorithm")
    if problem.X == 1 or problem.alpha == 0.0:
        raise OutOfScope(
            "one mode never switches, so smaller is better", "ask limits.stationary for the error of a step"
        )
    with threadpool_limits(1, user_api="blas"):  # many small matrices: threads would only wait for each other
        return _best_step(problem)


def _best_step(problem: SwitchedQuadratic) -> BestStep:
    end = first_interval(problem)
    if end is None:
        raise OutOfScope(f"no step is mean-square stable at alpha = {problem.alpha:g}, so that none is the best")
    floor, noise, lag = split_error(problem) if problem.step.smooth else (float("nan"),) * 3
    epsilon = _best(problem, end)
    return BestStep(
        epsilon=epsilon,
        mean_square_error=error(problem, epsilon),
        asymptotic_epsilon=float("inf") if noise <= 0.0 else float(np.sqrt(problem.alpha * max(lag, 0.0) / noise)),
        floor=floor,
        noise=noise,
        lag=lag,
        searched=(0.0, end),
    )


def split_error(problem: SwitchedQuadratic) -> tuple[float, float, float]:
    """Return floor, Kn and Ks."""
    limit, Q, N = problem.limit, problem.Q, problem.N
    M, A = limit.M, limit.A
    pi, of_theta = chain.stationary_law(Q), np.diag(np.arange(limit.n) < N).astype(float)
    rest, spread = _rest_points(limit), _spreads(limit)
    dA, _, dheat = problem.first_order()
    Sigma = _noise_at_rest(limit, rest, spread)
    floor = noise = lag = 0.0
    for j in range(problem.X):
        change = dA[j] @ spread[j]
        square = M @ Sigma[j] @ M.T + A[j] @ spread[j] @ A[j].T
        Y = _lyapunov(A[j], square + dheat - change - change.T)
        X = _lyapunov(A[j].T, of_theta)
        floor += pi[j] * float(np.trace(spread[j][:N, :N]))
        noise += pi[j] * float(np.trace(Y[:N, :N]))
        for i in range(problem.X):
            if i != j:
                jump = rest[i] - rest[j]
                lag += pi[i] * Q[i, j] * float(jump @ X @ jump + np.trace(X @ (spread[i] - spread[j])))
    return float(floor), float(noise), float(lag)


def _noise_at_rest(limit: SwitchedQuadratic, rest: Array, spread: Array) -> Array:
    """Return the covariance of the gradient noise where each mode alone leads to, shape (X, N, N)."""
    if limit.growth is None:
        return limit.Sigma
    second = spread + rest[:, :, None] * rest[:, None, :]
    return np.asarray(
        limit.Sigma + limit.growth.covariance(limit.growth.around(limit.step.reads, np.ones(limit.X), rest, second))
    )


def _rest_points(limit: SwitchedQuadratic) -> Array:
    """Return where each mode alone would lead the state in the mean, shape (X, n)."""
    return limit.m if limit.keeps_gibbs else np.asarray(np.linalg.solve(limit.A, limit.a[:, :, None])[:, :, 0])


def _spreads(limit: SwitchedQuadratic) -> Array:
    """Return the stationary covariance of the limit in each mode alone, shape (X, n, n)."""
    if limit.keeps_gibbs:
        return np.asarray(np.linalg.inv(limit.H) / limit.beta)
    return np.array([_lyapunov(A, limit.heat) for A in limit.A])


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
    return _stable_error(here) if log_radius(here, "algorithm") < 0.0 else float("inf")


def _stable_error(problem: SwitchedQuadratic) -> float:
    """The error of a stable step; nan where rounding hides it."""
    try:
        v = Steady(problem, "algorithm").v
    except np.linalg.LinAlgError:
        return float("nan")
    return float(fields(problem, v)["mean_square_error"])


def averaged_error(problem: SwitchedQuadratic) -> float:
    """Return what the error tends to as epsilon -> 0 and alpha stays: theta then sees the averaged cost only, at its minimum."""
    pi, average = chain.stationary_law(problem.Q), average_modes(problem)
    N = problem.N
    spread = float(np.trace(_spreads(average.limit)[0][:N, :N]))
    return spread + float(pi @ np.square(problem.m - average.m[0]).sum(axis=1))


def slope(problem: SwitchedQuadratic, epsilon: float) -> float:
    """Return the derivative of ``error``."""
    here = replace(problem, epsilon=epsilon)
    steady = Steady(here, "algorithm")

    def difference(h: float) -> Array:
        return steady.derivative(replace(here, epsilon=epsilon + h), replace(here, epsilon=epsilon - h), 2.0 * h)

    # a recursion that is quadratic in epsilon has exact differences over any width; of others, of the fourth order
    h = 1e-3 * epsilon
    change = difference(epsilon) if problem.steady_form else (4.0 * difference(h) - difference(2.0 * h)) / 3.0
    return float(fields(here, change)["mean_square_error"])


def _best(problem: SwitchedQuadratic, end: float) -> float:
    """Return where the slope changes sign around the least error, looking from the end of the stable steps downwards."""
    grid, errors = _looked_at(problem, end)
    best = _least(errors)
    rises = [k for k in range(best + 1, len(errors)) if errors[k] > errors[best] * (1.0 + EQUAL)]
    level = averaged_error(problem)
    if not rises or errors[best] >= level * (1.0 - EQUAL):
        still = f"the error still falls at epsilon = {grid[len(errors) - 1]:.3g}, so that no step is the best"
        raise OutOfScope(f"{_cut_short(problem, end)}{still}")
    below, above = grid[rises[0]], grid[best - 1] if best > 0 else end * (1.0 - 1e-9)
    if not slope(problem, below) < 0.0 < slope(problem, above):
        raise OutOfScope(f"the error is level around epsilon = {grid[best]:.3g}, so that no step is the best")
    return float(brentq(lambda e: slope(problem, e), below, above, xtol=1e-14 * grid[best], rtol=1e-12))


def _looked_at(problem: SwitchedQuadratic, end: float) -> tuple[Array, list[float]]:
    """Return steps, falling, and the errors of the first of them: until the least lies behind, or nothing changes any more."""
    dense = PER_DECADE if moment_system.size(problem) <= moment_system.DENSE else FEW_PER_DECADE
    grid = end * 10.0 ** (-(np.arange(DECADES * dense) + 0.25) / dense)
    level, averaging = averaged_error(problem), averaging_step(problem)
    errors: list[float] = []
    for epsilon in grid:
        if np.isnan(found := _stable_error(replace(problem, epsilon=epsilon))):
            break
        errors.append(found)
        best = _least(errors)
        # where averaging holds, the error goes straight to its level, and rounding would soon tell more than epsilon does
        done = epsilon < averaging and not (best == len(errors) - 1 and found < level * (1.0 - EQUAL))
        if done or len(errors) > best + 1 + PAST * dense:
            break
    return grid, errors


def _least(errors: list[float]) -> int:
    """The first of the least errors; one that is smaller by rounding only is not smaller."""
    best = 0
    for k, found in enumerate(errors):
        if found < errors[best] * (1.0 - EQUAL):
            best = k
    return best


def _cut_short(problem: SwitchedQuadratic, end: float) -> str:
    """Say so where S, and not the step alone, ends the interval of stable steps."""
    if not problem.keeps_gibbs:
        return ""
    beyond = replace(problem, epsilon=end * (1.0 + 1e-6))
    alone = min(skew.stability_limit(H, problem.S) for H in problem.H)
    if beyond.epsilon >= alone or not log_radius(replace(beyond, S=np.zeros_like(problem.S)), "algorithm") < 0.0:
        return ""
    return (
        f"S makes the switched system unstable from epsilon = {end:.3g} on, though each mode alone is stable "
        f"below {alone:.3g}, and below {end:.3g} "
    )
