"""The law of the error that gradient noise leaves, over sqrt(epsilon), at beta = inf; quadratic costs.

Notes
-----
docs/mathematics, "Scaled error". vartheta is the recursion without gradient noise on the same path of the chain, and
u = (theta - vartheta) / sqrt(epsilon). Then u_{k+1} = (I - epsilon A_x) u_k - sqrt(epsilon) M z_k, u_0 = 0, which tends to
du = -A_x u dt + M Sigma_x^{1/2} dW.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tracker.limits import moment_system
from tracker.limits.exact_moments import LawOf, check_law, check_steps, check_times
from tracker.limits.scope import OutOfScope
from tracker.limits.switched_quadratic import SwitchedQuadratic, read_quadratic

if TYPE_CHECKING:
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
    problem = read_quadratic(scenario, sampler)
    if np.isfinite(problem.beta):
        reason = f"the scaled error is a statement about beta = inf, and the sampler has beta = {problem.beta:g}"
        raise OutOfScope(reason, 'give it beta = "inf"', sampler)
    N = problem.N
    # theta - vartheta obeys the same recursion with all minima and the start at 0
    error = replace(problem, m=0.0 * problem.m, mean0=np.zeros(N), second0=np.zeros((N, N)))
    v = moment_system.start(error)
    if of == "limit":
        found = moment_system.flow_of(_generator(error.limit), check_times(times).ravel(), v)
    else:
        found = moment_system.walk(error, check_steps(times).ravel(), v) / problem.epsilon
    U = moment_system.split(error, found.reshape(*np.shape(times), -1))[2][..., :N, :N]
    U = (U + np.swapaxes(U, -1, -2)) / 2.0
    return ScaledError(second_by_mode=U, second=U.sum(axis=-3))


def _generator(error: SwitchedQuadratic) -> Array:
    """Return the limit's system, in which the noise is that of the gradients, M Sigma_i M'."""
    heat = error.M @ error.Sigma @ error.M.T
    within = moment_system.drift_matrix(error, error.A, error.a, heat)
    system: Array = within + error.ratio * moment_system.mixing(error)
    return system
