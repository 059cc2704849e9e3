"""Compute stationary moments, after a check that second moments stay bounded (docs/mathematics, "Stationary law").

The stationary v solves K v = 0 with sum p = 1, where K is L for the limit and E for the algorithm (``moment_system``). The
radius of the second-moment block must be below 1; that of the limit is after one unit of time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.optimize import brentq

from tracker import chain
from tracker.limits import large_systems, moment_system
from tracker.limits.exact_moments import LawOf, Moments, check_law, fields
from tracker.limits.switched_quadratic import SwitchedQuadratic, read_quadratic
from tracker.skew import switched_moments

if TYPE_CHECKING:
    from collections.abc import Callable

    from tracker.array_types import Array
    from tracker.scenario.model import Scenario


HALVINGS = 60  # down to which a stable epsilon is looked for


class Unstable(ValueError):
    """Second moments grow without bound.

    radius : of the second-moment block, at least 1
    largest_epsilon : mean-square stable below it, with alpha / epsilon kept; 0 if no step is (the limit itself is unstable)
    """

    def __init__(self, radius: float, largest_epsilon: float, epsilon: float) -> None:
        self.radius, self.largest_epsilon = radius, largest_epsilon
        advice = f"epsilon must be below {largest_epsilon:.6g} at this alpha / epsilon"
        super().__init__(
            f"epsilon: {epsilon:g} is not mean-square stable, so there is no stationary law: the spectral radius of the "
            f"second moments is {radius:.9g} >= 1; {advice if largest_epsilon > 0 else 'no epsilon is stable at this ratio'}"
        )


@dataclass(frozen=True)
class Stationary(Moments):
    """Moments of the stationary law.

    radius : the spectral radius of the second moments, below 1: of a step of the algorithm, or of a unit of time of the limit
    """

    radius: float


def stationary(scenario: Scenario, sampler: str, of: LawOf = "algorithm") -> Stationary:
    """Return the stationary moments; those of theta - d where landscapes drift by a random walk d (of the algorithm).

    Raises
    ------
    Unstable
        If the law is not mean-square stable.

    Examples
    --------
    >>> import tracker
    >>> scenario = tracker.load("scenarios/example_a.toml")
    >>> round(float(tracker.limits.stationary(scenario, "skewed").mean_square_error), 6)
    1.992427
    """
    check_law(of)
    problem = read_quadratic(scenario, sampler, of=of, walk="relative" if of == "algorithm" else "refused")
    radius = check_radius(problem, of)
    return Stationary(**fields(problem, Steady(problem, of).v), radius=radius)


def check_radius(problem: SwitchedQuadratic, of: LawOf) -> float:
    """Return the radius, or raise ``Unstable``."""
    with np.errstate(over="ignore"):
        radius = float(np.exp(growth := log_radius(problem, of)))
    if not growth < 0.0:
        raise Unstable(radius, 0.0 if of == "limit" else largest_step(problem, "ratio"), problem.epsilon)
    return radius


def log_radius(problem: SwitchedQuadratic, of: LawOf) -> float:
    """Return the logarithm of the radius of the second-moment block."""
    problem = problem.forgetful if of == "limit" else problem
    if switched_moments.unknowns(problem.X, problem.n) <= switched_moments.MOST_UNKNOWNS:
        if of == "limit":
            return switched_moments.abscissa(switched_moments.generator(problem.limit.A, problem.Q, problem.ratio))
        return switched_moments.log_radius(problem.second_moment_steps()(problem.epsilon))
    return large_systems.log_radius(problem, of)


def largest_step(problem: SwitchedQuadratic, hold: Literal["ratio", "alpha"]) -> float:
    """Return the epsilon where the algorithm stops being mean-square stable, with the ratio or alpha kept; 0 if there is none.

    From an unstable epsilon it is the next one below, from a stable one the next one above.
    """

    def growth(epsilon: float) -> float:
        alpha = problem.ratio * epsilon if hold == "ratio" else problem.alpha
        return log_radius(replace(problem, epsilon=epsilon, alpha=alpha), "algorithm") / epsilon

    epsilon = problem.epsilon
    unstable = growth(epsilon) >= 0.0
    for _ in range(HALVINGS):
        other = epsilon / 2.0 if unstable else 2.0 * epsilon
        if (growth(other) >= 0.0) != unstable:
            return float(brentq(growth, epsilon, other, xtol=1e-14 * epsilon, rtol=1e-12))
        epsilon = other
    return 0.0 if unstable else float("inf")


# --- the linear solve


def matrix(problem: SwitchedQuadratic, of: LawOf) -> Array:
    """K, of a small system."""
    return np.asarray(moment_system.generator(problem) if of == "limit" else moment_system.increment(problem))


class Steady:
    """The stationary v of a stable problem, and its derivatives with respect to what K depends on.

    LinAlgError where rounding hides it.
    """

    def __init__(self, problem: SwitchedQuadratic, of: LawOf) -> None:
        self.problem, self.of = problem, of
        pi = chain.stationary_law(problem.Q)
        alone = np.concatenate([pi, np.zeros(moment_system.size(problem) - problem.X)])
        if moment_system.size(problem) <= moment_system.DENSE:
            X, K = problem.X, matrix(problem, of)
            self._solve: Callable[[Array], Array] = large_systems.eliminate(K[X:, X:])
            source = K @ alone
        else:
            self._solve = large_systems.solver(problem, of)
            source = large_systems.operator_of(problem, of)(alone)
        self.v: Array = alone
        self.v[problem.X :] = -self._solve(source[problem.X :])

    def derivative(self, ahead: SwitchedQuadratic, behind: SwitchedQuadratic, width: float) -> Array:
        """Return dv from K(ahead) - K(behind) over ``width``: exact, because K is a polynomial of degree 2 in S and epsilon.

        With K v = 0 and p fixed, K dv = -dK v.
        """
        change = (_image(ahead, self.of, self.v) - _image(behind, self.of, self.v)) / width
        change[self.problem.X :] = -self._solve(change[self.problem.X :])
        change[: self.problem.X] = 0.0
        return change


def _image(problem: SwitchedQuadratic, of: LawOf, v: Array) -> Array:
    """K v."""
    if moment_system.size(problem) <= moment_system.DENSE:
        return np.asarray(matrix(problem, of) @ v)
    return large_systems.operator_of(problem, of)(v)
