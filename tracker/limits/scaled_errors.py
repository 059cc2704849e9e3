"""The law of the error that gradient noise leaves, over sqrt(epsilon), at beta = inf; quadratic costs.

Notes
-----
docs/mathematics, "Scaled error". vartheta is the recursion without gradient noise on the same path of the chain, and
u = (theta - vartheta) / sqrt(epsilon). Then u_{k+1} = (I - epsilon A_x) u_k - sqrt(epsilon) M z_k, u_0 = 0, which tends to
du = -A_x u dt + M Sigma_x^{1/2} dW. Where regressors are random, Sigma depends on where the path is, and vartheta is part of the
state.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tracker.limits import moment_system
from tracker.limits.exact_moments import LawOf, check_law, check_steps, check_times
from tracker.limits.noise_growth import NoiseGrowth
from tracker.limits.scope import OutOfScope, put_together
from tracker.limits.switched_quadratic import SwitchedQuadratic, read_quadratic
from tracker.samplers.linear_step import LinearStep

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from tracker.array_types import Array
    from tracker.scenario.model import Scenario


@dataclass(frozen=True)
class ScaledError:
    """Second moments of u; its mean is 0. The leading axes are those of the times or steps that were asked for.

    second_by_mode : ndarray, shape (..., X, N, N), E[u u' 1{x = i}]
    second : ndarray, shape (..., N, N)
    """

    second_by_mode: Array
    second: Array


def scaled_error(scenario: Scenario, sampler: str, times: ArrayLike, of: LawOf = "limit") -> ScaledError:
    """Return E u u' at ``times``; of the algorithm, exactly at this epsilon, ``times`` are steps.

    >>> import tracker
    >>> scenario = tracker.load("scenarios/example_a.toml").replace(samplers=[
    ...     {"name": "plain", "kind": "langevin", "epsilon": 1 / 64, "beta": "inf"}])
    >>> tracker.limits.scaled_error(scenario, "plain", [0.0, 1.0]).second.shape
    (2, 2, 2)
    """
    check_law(of)
    problem = read_quadratic(scenario, sampler, of=of)
    if np.isfinite(problem.beta):
        reason = f"the scaled error is a statement about beta = inf, and the sampler has beta = {problem.beta:g}"
        raise OutOfScope(reason, 'give it beta = "inf"', sampler)
    N = problem.N
    error = _error_alone(problem) if problem.growth is None else _error_with_path(problem, of)
    v = moment_system.start(error)
    if of == "limit":
        found = moment_system.flow_of(_generator(error.limit), check_times(times).ravel(), v)
    else:
        found = moment_system.walk(error, check_steps(times).ravel(), v)
    U = moment_system.split(error, found.reshape(*np.shape(times), -1))[2][..., :N, :N]
    U = (U + np.swapaxes(U, -1, -2)) / (2.0 if of == "limit" else 2.0 * problem.epsilon)
    return ScaledError(second_by_mode=put_together(U, problem.stages, axis=-3), second=U.sum(axis=-3))


def _error_alone(problem: SwitchedQuadratic) -> SwitchedQuadratic:
    """Return theta - vartheta as a problem: the same recursion with all minima and the start at 0."""
    N = problem.N
    return replace(problem, m=0.0 * problem.m, mean0=np.zeros(N), second0=np.zeros((N, N)))


def _error_with_path(problem: SwitchedQuadratic, of: LawOf) -> SwitchedQuadratic:
    """Return (theta - vartheta, vartheta) as one problem: noise that grows with theta depends on where the path is.

    It depends on theta, the sum of the two; in the limit on vartheta alone, from which theta differs by sqrt(epsilon) u.
    """
    assert problem.growth is not None
    N, pairs = problem.N, np.zeros((2 * problem.N, 2 * problem.N))
    looks = np.hstack([np.eye(N) if of == "algorithm" else np.zeros((N, N)), np.eye(N)])
    first = np.eye(2 * N, N)  # only the error gets noise
    left, size, weight, centre = problem.growth
    second0 = pairs.copy()
    second0[N:, N:] = problem.second0
    return replace(
        problem,
        H=_two(problem.H),
        m=np.hstack([0.0 * problem.m, problem.m]),
        Sigma=first @ problem.Sigma @ first.T,
        mean0=np.concatenate([np.zeros(N), problem.mean0]),
        second0=second0,
        form=_twice(problem.form),
        growth=NoiseGrowth(
            first @ left @ looks, first @ size @ first.T, looks.T @ weight @ looks, np.hstack([0.0 * centre, centre])
        ),
    )


def _twice(form: Callable[[float, Array], LinearStep]) -> Callable[[float, Array], LinearStep]:
    """Return the matrices of two copies of a sampler, the first coordinates of both in front."""

    def both(epsilon: float, S: Array) -> LinearStep:
        step = form(epsilon, S)
        n, N = step.gain.shape
        # (u, w) with theta of u, theta of w, the rest of u, the rest of w
        order = np.concatenate([np.arange(N), n + np.arange(N), np.arange(N, n), n + np.arange(N, n)])
        gain, heat, drift, reads, begins = map(_two, step[:5])
        return LinearStep(
            gain[order], heat[np.ix_(order, order)], drift[np.ix_(order, order)], reads[:, order], begins[order],
            smooth=step.smooth,
        )  # fmt: skip

    return both


def _two(matrix: Array) -> Array:
    """Return a matrix, or several, twice along the diagonal."""
    return np.asarray(np.kron(np.eye(2), matrix), dtype=np.float64)


def _generator(error: SwitchedQuadratic) -> Array:
    """Return the limit's system, in which the noise is that of the gradients."""
    heat = error.M @ error.Sigma @ error.M.T
    system: Array = moment_system.drift_matrix(error, error.A, error.a, heat) + error.ratio * moment_system.mixing(
        error
    )
    return system if error.growth is None else system + moment_system.growth(error)
