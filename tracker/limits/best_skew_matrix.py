"""Find the skew matrix that tracks best at a sampler's step; quadratic costs.

Notes
-----
docs/mathematics, "Best skew matrix". The stationary moments v of the algorithm solve K(S) v = 0 with sum p = 1, and the mean square
error is c'v. With K' a = c on all but the probabilities, the derivative along E_ij is -a' (dK v): one more solve for all pairs. K is a
polynomial of degree 2 in S, so its derivative is a central difference without an error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import lu_factor, lu_solve
from scipy.optimize import minimize_scalar
from threadpoolctl import threadpool_limits

from tracker import chain, skew
from tracker.limits import moment_system
from tracker.limits.exact_moments import fields
from tracker.limits.scope import OutOfScope, refuse_no_skew, sampler_keys
from tracker.limits.stationary_moments import matrix
from tracker.limits.switched_quadratic import SwitchedQuadratic, read_quadratic
from tracker.skew import switched_moments

if TYPE_CHECKING:
    from tracker.array_types import Array
    from tracker.scenario.model import Scenario

SCAN = 241  # sizes of S that are looked at along a line through 0
STARTS = 12  # random directions beside those of single pairs
ITERATIONS, HALVINGS = 200, 40
STILL = 1e-11  # of the error: a gain that is none
LARGEST_PAIRS = 120


@dataclass(frozen=True)
class BestSkew:
    """The S with the least stationary mean square error of the sampler, among those with which sampler and limit are stable.

    skew : ndarray, shape (N, N)
    value : the mean square error with it
    gradient : ndarray, shape (pairs,), the derivative of the error at ``skew``, in the order (2,1), (3,1), (3,2), (4,1), ...
    without : the mean square error with S = 0
    """

    skew: Array
    value: float
    gradient: Array
    without: float


def best_skew(scenario: Scenario, sampler: str) -> BestSkew:
    """Return the S that tracks best at the step of ``sampler``; its own S plays no part.

    N = 2: the best of all S. N > 2: the best of those that descents from many places find.

    Raises
    ------
    OutOfScope
        For a kind without S, costs that are not quadratic, a sampler that is unstable with S = 0.

    Examples
    --------
    >>> import tracker
    >>> scenario = tracker.load("scenarios/example_a.toml")
    >>> best = tracker.limits.best_skew(scenario, "skewed")
    >>> bool(best.value <= best.without)
    True
    """
    refuse_no_skew(sampler_keys(scenario, sampler), "best_skew")
    problem = read_quadratic(scenario, sampler, at_given_skew=True, without_skew=True)
    if moment_system.size(problem) > moment_system.DENSE or len(skew.pairs(problem.N)) > LARGEST_PAIRS:
        raise OutOfScope(
            f"best_skew: N = {problem.N} with {problem.X} modes is too large", "minimise limits.stationary instead"
        )
    with threadpool_limits(1, user_api="blas"):
        return _best(problem)


def error_and_gradient(problem: SwitchedQuadratic, pairs: Array) -> tuple[float, Array]:
    """Return the mean square error with the S of ``pairs`` and its derivative; inf and nan where sampler or limit is unstable."""
    here = replace(problem, S=skew.from_pairs(pairs, problem.N))
    if not _stable(here):
        return float("inf"), np.full(len(pairs), np.nan)
    X = problem.X
    K = matrix(here, "algorithm")
    alone = np.concatenate([chain.stationary_law(problem.Q), np.zeros(len(K) - X)])
    factored = lu_factor(K[X:, X:])
    v = alone.copy()
    v[X:] = -lu_solve(factored, (K @ alone)[X:])
    weights = fields(problem, np.eye(len(v)))["mean_square_error"]  # it is linear in v
    adjoint = lu_solve(factored, weights[X:], trans=1)
    slopes = []
    for i, j in skew.pairs(problem.N):
        E = skew.basis(int(i), int(j), problem.N)
        change = (
            matrix(replace(here, S=here.S + E), "algorithm") - matrix(replace(here, S=here.S - E), "algorithm")
        ) @ v
        slopes.append(-float(adjoint @ change[X:]) / 2.0)
    return float(weights @ v), np.array(slopes, dtype=np.float64)


def _stable(problem: SwitchedQuadratic) -> bool:
    X, n = problem.X, problem.n
    step = problem.second_moment_steps()(problem.epsilon)
    flow = switched_moments.generator(problem.limit.A, problem.Q, problem.ratio)
    return switched_moments.margin(step, X, n) > 0.0 and switched_moments.margin(flow, X, n) > 0.0


def _best(problem: SwitchedQuadratic) -> BestSkew:
    count = len(skew.pairs(problem.N))
    without, slope = error_and_gradient(problem, np.zeros(count))
    if not np.isfinite(without):
        raise OutOfScope("best_skew: sampler or limit is unstable with S = 0 already", "take a smaller epsilon")
    best = (without, np.zeros(count), slope)
    for start in _starts(problem, count):
        found = _descended(problem, start)
        if found[0] < best[0]:
            best = found
    if count == 1:
        best = _polished(problem, best)
    return BestSkew(skew=skew.from_pairs(best[1], problem.N), value=best[0], gradient=best[2], without=without)


def _starts(problem: SwitchedQuadratic, count: int) -> list[Array]:
    """Return the lowest places along lines through 0: of each pair alone, and in random directions."""
    if count == 0:
        return []
    rng = np.random.Generator(np.random.SFC64(0))
    lines = [*np.eye(count), *(rng.standard_normal((STARTS, count)) if count > 1 else [])]
    curvature = float(np.linalg.norm(problem.H, ord=2, axis=(1, 2)).max())
    farthest = np.sqrt(2.0 / (problem.epsilon * curvature)) * 4.0 + 4.0  # beyond, no step is stable
    sizes = np.sinh(np.linspace(-1.0, 1.0, SCAN) * np.arcsinh(10.0 * farthest)) / 10.0
    found = [np.zeros(count)]
    for line in lines:
        along = line / np.linalg.norm(line)
        errors = np.array([error_only(problem, size * along) for size in sizes])
        low = [k for k in range(1, SCAN - 1) if errors[k] < np.inf and errors[k] <= min(errors[k - 1], errors[k + 1])]
        chosen = low if count == 1 else sorted(low, key=lambda k: errors[k])[:1]
        found += [sizes[k] * along for k in chosen]
    return found


def error_only(problem: SwitchedQuadratic, pairs: Array) -> float:
    """Return the mean square error with the S of ``pairs``; inf where sampler or limit is unstable."""
    here = replace(problem, S=skew.from_pairs(pairs, problem.N))
    if not _stable(here):
        return float("inf")
    X, K = problem.X, matrix(here, "algorithm")
    v = np.concatenate([chain.stationary_law(problem.Q), np.zeros(len(K) - X)])
    v[X:] = -np.linalg.solve(K[X:, X:], (K @ v)[X:])
    return float(fields(problem, v)["mean_square_error"])


def _descended(problem: SwitchedQuadratic, s: Array) -> tuple[float, Array, Array]:
    """Go down by BFGS with halved steps; unstable places are infinitely high, so that none is entered."""
    value, slope = error_and_gradient(problem, s)
    if not np.isfinite(value):
        return float("inf"), s, slope
    inverse = np.eye(s.size) / max(1.0, float(np.linalg.norm(slope)))
    for _ in range(ITERATIONS):
        direction = -inverse @ slope
        if not slope @ direction < 0.0:
            inverse = np.eye(s.size) / max(1.0, float(np.linalg.norm(slope)))
            direction = -inverse @ slope
        share, ahead = 1.0, None
        for _ in range(HALVINGS):
            trial = error_and_gradient(problem, s + share * direction)
            if trial[0] < value + 1e-4 * share * float(slope @ direction):
                ahead = trial
                break
            share /= 2.0
        if ahead is None:
            break
        step, turn = share * direction, ahead[1] - slope
        gained, s, (value, slope) = value - ahead[0], s + step, ahead
        if (curved := float(step @ turn)) > 1e-300:
            left = np.eye(s.size) - np.outer(step, turn) / curved
            inverse = left @ inverse @ left.T + np.outer(step, step) / curved
        if gained <= STILL * value and float(np.abs(slope).max()) <= 1e-9 * value:
            break
    return value, s, slope


def _polished(problem: SwitchedQuadratic, best: tuple[float, Array, Array]) -> tuple[float, Array, Array]:
    """One pair: Brent's method around the best of the descents."""
    s, width = float(best[1][0]), 1e-3 * max(1.0, abs(float(best[1][0])))
    found = minimize_scalar(
        lambda x: error_only(problem, np.array([x])),
        bounds=(s - width, s + width),
        method="bounded",
        options={"xatol": 1e-10},
    )
    place = np.array([float(found.x)])
    value, slope = error_and_gradient(problem, place)
    return (value, place, slope) if value < best[0] else best
