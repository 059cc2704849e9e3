"""Moments of the time average of a path: A = int_0^T theta dt, and its sum along the algorithm; quadratic costs.

Notes
-----
docs/mathematics, "Occupation". (u, A) is linear where u is, with dA = theta dt, so the moments are those of a larger state.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tracker.limits import moment_system
from tracker.limits.exact_moments import LawOf, check_law, check_steps, check_times
from tracker.limits.switched_quadratic import read_quadratic
from tracker.samplers.linear_step import LinearStep

if TYPE_CHECKING:
    from collections.abc import Callable

    from tracker.array_types import Array
    from tracker.scenario.model import Scenario


@dataclass(frozen=True)
class Occupation:
    """Moments of A = int_0^T theta dt.

    mean : ndarray, shape (N,), E A
    second : ndarray, shape (N, N), E A A'
    with_theta : ndarray, shape (N, N), E theta(T) A'
    """

    mean: Array
    second: Array
    with_theta: Array


def occupation(scenario: Scenario, sampler: str, time: float, of: LawOf = "limit") -> Occupation:
    """Return the moments of A = int_0^time theta dt; of the algorithm ``time`` is n and A = epsilon sum_{k<n} theta_k.

    >>> import tracker
    >>> scenario = tracker.load("scenarios/example_a.toml")
    >>> tracker.limits.occupation(scenario, "skewed", 1.0).mean.round(6)
    array([ 0.486692, -0.161803])
    """
    check_law(of)
    problem = read_quadratic(scenario, sampler, of=of)
    N, n = problem.N, len(problem.step.gain)
    problem = replace(problem, form=_with_sum(problem.form))
    v = moment_system.start(problem)
    if of == "limit":
        v = moment_system.flow(problem, check_times([time]), v)[0]
    else:
        v = moment_system.walk(problem, check_steps([time]), v)[0]
    _, mu, Pi = moment_system.split(problem, v)
    mean, second = mu.sum(axis=0), Pi.sum(axis=0)
    A = slice(n, n + N)  # what is remembered stands behind it
    return Occupation(mean[A], (second[A, A] + second[A, A].T) / 2.0, second[:N, A])


def _with_sum(form: Callable[[float, Array], LinearStep]) -> Callable[[float, Array], LinearStep]:
    """Return the matrices of a sampler whose state also carries A, with A_{k+1} = A_k + epsilon theta_k."""

    def longer(epsilon: float, S: Array) -> LinearStep:
        step = form(epsilon, S)
        n, N = step.gain.shape
        none = np.zeros((N, N))
        return LinearStep(
            gain=np.vstack([step.gain, none]),
            heat=np.pad(step.heat, (0, N)),
            drift=np.block([[step.drift, np.zeros((n, N))], [np.eye(N, n), none]]),
            reads=np.hstack([step.reads, none]),
            begins=np.vstack([step.begins, none]),
            smooth=step.smooth,
        )

    return longer
