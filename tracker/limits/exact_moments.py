"""Exact moments of the switched diffusion and of the algorithm itself, for quadratic costs.

Notes
-----
The linear system is in ``moment_system``. The algorithm's moments differ from the limit's by
epsilon times ``leading_error`` + O(epsilon^2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tracker.limits import moment_system
from tracker.limits.epsilon_derivative import derivatives
from tracker.limits.scope import put_together
from tracker.limits.switched_quadratic import SwitchedQuadratic, read_quadratic

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tracker.array_types import Array, Integers
    from tracker.scenario.model import Scenario


LawOf = Literal["limit", "algorithm"]
LAWS = ("limit", "algorithm")


@dataclass(frozen=True)
class Moments:
    """Moments of theta and the mode x; the leading axes are those of the times or steps that were asked for.

    probability : ndarray, shape (..., X), P(x = i)
    mean_by_mode : ndarray, shape (..., X, N), E[theta 1{x = i}]
    second_by_mode : ndarray, shape (..., X, N, N), E[theta theta' 1{x = i}]
    mean, second : ndarray, shapes (..., N) and (..., N, N)
    mean_square_error : ndarray, shape (...), E|theta - m_x|^2
    expected_cost : ndarray, shape (...), E C(theta, x)
    """

    probability: Array
    mean_by_mode: Array
    second_by_mode: Array
    mean: Array
    second: Array
    mean_square_error: Array
    expected_cost: Array


def fields(problem: SwitchedQuadratic, v: Array) -> dict[str, Any]:
    """Return the fields of ``Moments`` for v; all are linear in v."""
    p, state, square = moment_system.split(problem, v)
    mu, Pi = state[..., : problem.N], square[..., : problem.N, : problem.N]  # of theta
    Pi = (Pi + np.swapaxes(Pi, -1, -2)) / 2.0
    seen, spread = mu, Pi  # of theta as the costs see it
    if problem.walks:
        R = np.eye(problem.N, problem.n) - np.eye(
            problem.N, problem.n, problem.n - problem.kept - problem.N
        )  # theta - d
        seen, spread = state @ R.T, R @ ((square + np.swapaxes(square, -1, -2)) / 2.0) @ R.T
    H, m = problem.H, problem.m
    cross = seen[..., :, None] * m[:, None, :]
    around = spread - cross - np.swapaxes(cross, -1, -2) + p[..., None, None] * (m[:, :, None] * m[:, None, :])
    floor = 0.0 if problem.lowest is None else p @ problem.lowest
    return {
        "probability": put_together(p, problem.stages, axis=-1),
        "mean_by_mode": put_together(mu, problem.stages, axis=-2),
        "second_by_mode": put_together(Pi, problem.stages, axis=-3),
        "mean": mu.sum(axis=-2),
        "second": Pi.sum(axis=-3),
        "mean_square_error": np.einsum("...iaa->...", around),
        "expected_cost": 0.5 * np.einsum("iab,...iba->...", H, around) + floor,
    }


def moments(scenario: Scenario, sampler: str, times: ArrayLike) -> Moments:
    """Return the moments of the switched diffusion at ``times``.

    >>> import tracker
    >>> scenario = tracker.load("scenarios/example_a.toml")
    >>> tracker.limits.moments(scenario, "skewed", [0.5, 1.0]).mean.round(6)
    array([[ 0.542489, -0.19246 ],
           [ 0.208805, -0.219532]])
    """
    problem = read_quadratic(scenario, sampler, of="limit")
    t = check_times(times)
    v = moment_system.flow(problem, t.ravel(), moment_system.start(problem))
    return Moments(**fields(problem, _normal(problem, v).reshape(*t.shape, -1)))


def algorithm_moments(scenario: Scenario, sampler: str, steps: ArrayLike) -> Moments:
    """Return the moments of the algorithm after each number of ``steps``, gradient noise included.

    Where landscapes drift by a random walk, ``mean_square_error`` and ``expected_cost`` are relative to them.

    >>> import tracker
    >>> scenario = tracker.load("scenarios/example_a.toml")
    >>> tracker.limits.algorithm_moments(scenario, "skewed", 64).mean.round(6)
    array([ 0.206357, -0.220363])
    """
    problem = read_quadratic(scenario, sampler, of="algorithm", walk="beside")
    k = check_steps(steps)
    v = moment_system.walk(problem, k.ravel(), moment_system.start(problem))
    return Moments(**fields(problem, _normal(problem, v).reshape(*k.shape, -1)))


def two_time(scenario: Scenario, sampler: str, t1: float, t2: float, of: LawOf = "limit") -> Array:
    """Return E[theta(t1) theta(t2)'], shape (N, N); for the algorithm both are whole multiples of epsilon.

    Notes
    -----
    From t1 on, p and mu are propagated from p_i = mu_i,a(t1) and mu_i = Pi_i(t1)[a, :], for each coordinate a.

    Examples
    --------
    >>> import tracker
    >>> scenario = tracker.load("scenarios/example_a.toml")
    >>> tracker.limits.two_time(scenario, "skewed", 0.5, 1.0).round(4)
    array([[ 0.4169, -0.305 ],
           [-0.0369,  0.2268]])
    """
    check_law(of)
    problem = read_quadratic(scenario, sampler, of=of)
    early, late = np.sort(check_times([t1, t2]))
    _, mu, Pi = moment_system.split(problem, _at(problem, early, moment_system.start(problem), of))
    N = problem.N
    rows = Pi[:, :N].swapaxes(1, 2).reshape(-1, N)
    restart = np.concatenate([mu[:, :N], rows])  # a column for each coordinate a of theta
    if of == "limit":
        v = moment_system.flow(problem, np.array([late - early]), restart, order=1)[0]
    else:
        gap = problem.whole_steps(late) - problem.whole_steps(early)
        v = moment_system.walk(problem, np.array([gap]), restart, order=1)[0]
    found = moment_system.split(problem, v.T)[1].sum(axis=1)[:, :N]
    return found if t1 <= t2 else found.T


def leading_error(scenario: Scenario, sampler: str, time: ArrayLike) -> Moments:
    """Return d/d epsilon of the algorithm's moments at ``time``, at epsilon = 0 and a fixed ratio.

    Up to 130 unknowns, X (1 + N + N^2) of them, it is right to 1e-6 where curvatures or alpha / epsilon are as large as 1e6;
    beyond, the digits of the square of that number are lost. How it is computed is in ``derivative``.

    >>> import tracker
    >>> scenario = tracker.load("scenarios/example_a.toml")
    >>> tracker.limits.leading_error(scenario, "skewed", 1.0).mean.round(4)
    array([-0.1537, -0.0522])
    """
    problem = read_quadratic(scenario, sampler, of="limit")
    t = check_times(time)
    return Moments(**fields(problem, derivatives(problem, t.ravel()).reshape(*t.shape, -1)))


def _at(problem: SwitchedQuadratic, time: float, v: Array, of: LawOf) -> Array:
    """Return v at one time."""
    if of == "limit":
        return _normal(problem, moment_system.flow(problem, np.array([time]), v))[0]
    return _normal(problem, moment_system.walk(problem, np.array([problem.whole_steps(time)]), v))[0]


def at_horizon(problem: SwitchedQuadratic, time: float, of: LawOf) -> Moments:
    """Return the moments at one time, of a problem that was already read."""
    problem = problem.forgetful if of == "limit" else problem
    return Moments(**fields(problem, _at(problem, time, moment_system.start(problem), of)))


def _normal(problem: SwitchedQuadratic, v: Array) -> Array:
    """Return v with the probabilities summing to 1 again: rounding grows along that direction, and only there."""
    return v / v[:, : problem.X].sum(axis=1, keepdims=True)


def check_law(of: str) -> None:
    """Refuse an unknown ``of``."""
    if of not in LAWS:
        raise ValueError(f'of: {of!r} must be "limit" or "algorithm"')


def check_times(times: ArrayLike) -> Array:
    """Return times as an array after checking that there are some, finite and not negative."""
    t = np.asarray(times, dtype=np.float64)
    if t.size == 0:
        raise ValueError("times: give at least one")
    if not (np.isfinite(t).all() and (t >= 0.0).all()):
        raise ValueError(f"times: {t.tolist()} must be finite and not negative")
    return t


def check_steps(steps: ArrayLike) -> Integers:
    """Return steps as an array after checking that there are some, whole and not negative."""
    k = np.asarray(steps)
    if k.size == 0:
        raise ValueError("steps: give at least one")
    if not np.issubdtype(k.dtype, np.integer) or (k < 0).any():
        raise ValueError(f"steps: {k.tolist()} must be whole numbers, not negative")
    return k.astype(np.int64)
