"""The error that a fast chain leaves, at its own scale sqrt(epsilon / alpha), at beta = inf; quadratic costs.

Notes
-----
docs/mathematics, "Scaled error of a fast chain". Where alpha >> epsilon the sampler follows the averaged cost, and the chain, not
the gradient noise, makes most of the error. With bar theta the averaged recursion, v = (theta - bar theta) / sqrt(epsilon / alpha)
tends, as epsilon / alpha -> 0 and alpha -> 0, to dv = -A v dt + Gamma^{1/2} dW, where

    A = M sum_i pi_i H_i,   Gamma = sum_i pi_i (b_i f_i' + f_i b_i'),   b_i = M (grad C_i - grad Cbar)(bar theta),   Q f = -b.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.integrate import solve_ivp

from tracker import chain
from tracker.limits.exact_moments import LawOf, algorithm_moments, check_law, check_steps, check_times
from tracker.limits.regime_limits import average_modes
from tracker.limits.scope import OutOfScope
from tracker.limits.switched_quadratic import SwitchedQuadratic, read_quadratic

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tracker.array_types import Array, Integers
    from tracker.scenario.model import Scenario

DIGITS = 1e-12


@dataclass(frozen=True)
class FastChainError:
    """Second moments of v = (theta - bar theta) / sqrt(epsilon / alpha).

    second : ndarray, shape (..., N, N); the leading axes are those of the times or steps that were asked for
    """

    second: Array


def fast_chain_error(scenario: Scenario, sampler: str, times: ArrayLike, of: LawOf = "limit") -> FastChainError:
    """Return E v v' at ``times``; of the algorithm, exactly at this epsilon and alpha, ``times`` are steps.

    >>> import tracker
    >>> scenario = tracker.load("scenarios/example_a.toml").replace(samplers=[
    ...     {"name": "plain", "kind": "langevin", "epsilon": 1 / 64, "beta": "inf"}])
    >>> tracker.limits.fast_chain_error(scenario, "plain", [0.0, 1.0]).second.shape
    (2, 2, 2)
    """
    check_law(of)
    problem = read_quadratic(scenario, sampler)
    if np.isfinite(problem.beta):
        raise OutOfScope(
            f"the scaled error is a statement about beta = inf, and the sampler has beta = {problem.beta:g}",
            'give it beta = "inf"',
            sampler,
        )
    if problem.alpha == 0.0 or problem.X == 1:
        raise OutOfScope("one mode alone does not switch, so that no chain is fast", "add a chain")
    if problem.n != problem.N:
        raise OutOfScope("the error of a fast chain is known for samplers whose state is theta alone", "", sampler)
    if of == "limit":
        return FastChainError(_of_limit(problem, check_times(times)))
    return FastChainError(_of_algorithm(scenario, sampler, problem, check_steps(times)))


def _of_limit(problem: SwitchedQuadratic, times: Array) -> Array:
    N, pi = problem.N, chain.stationary_law(problem.Q)
    mean = average_modes(problem).limit
    A, a = mean.A[0], mean.a[0]
    inverse = np.linalg.inv(problem.Q - np.outer(np.ones(problem.X), pi))

    def slope(_: float, y: Array) -> Array:
        bar, V = y[:N], y[N:].reshape(N, N)
        b = (problem.A @ bar - problem.a) - (A @ bar - a)
        f = -inverse @ b  # Q f = -b, because b has mean 0 under pi
        half = np.einsum("i,ia,ib->ab", pi, b, f)
        return np.concatenate([a - A @ bar, (half + half.T - A @ V - V @ A.T).ravel()])

    out = np.zeros((times.size, N, N))
    start = np.concatenate([problem.mean0, (problem.alpha / problem.epsilon * _spread(problem)).ravel()])
    for index, t in enumerate(times.ravel()):
        if t > 0.0:
            found = solve_ivp(slope, (0.0, float(t)), start, method="DOP853", rtol=DIGITS, atol=DIGITS)
            out[index] = found.y[N:, -1].reshape(N, N)
        else:
            out[index] = start[N:].reshape(N, N)
    return out.reshape(*times.shape, N, N)


def _spread(problem: SwitchedQuadratic) -> Array:
    """The covariance of the start, which must be a point for the scaled error to begin at 0."""
    covariance: Array = problem.second0 - np.outer(problem.mean0, problem.mean0)
    if np.abs(covariance).max() > DIGITS:
        raise OutOfScope(
            "the scaled error begins at 0 where the start is a point, and this start is spread out", "give a point"
        )
    return 0.0 * covariance


def _of_algorithm(scenario: Scenario, sampler: str, problem: SwitchedQuadratic, steps: Integers) -> Array:
    moments = algorithm_moments(scenario, sampler, steps)
    mean = average_modes(problem)
    bar, found, path = problem.mean0, {}, problem.epsilon * mean.A[0]
    for k in range(int(steps.max(initial=0)) + 1):
        found[k] = bar
        bar = bar + problem.epsilon * mean.a[0] - path @ bar
    at = np.array([found[int(k)] for k in steps.ravel()]).reshape(*steps.shape, problem.N)
    cross = moments.mean[..., :, None] * at[..., None, :]
    second = moments.second - cross - np.swapaxes(cross, -1, -2) + at[..., :, None] * at[..., None, :]
    return np.asarray(problem.alpha / problem.epsilon * second)
