"""Decide whether the switched system is stable, for which steps, and up to which size of S.

Notes
-----
What is looked at are the second moments by mode (``tracker.skew.switched_moments``): the radius of the algorithm's step and the
abscissa of the limit. With alpha as in the file, a small enough epsilon sees the averaged cost and is stable; there may be a
band of unstable steps above it, and stable ones again beyond, where the chain is slow. ``first_interval`` walks upwards from
the averaged end; where the margin dips between two steps that it looks at, it looks at the bottom of the dip.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import brentq
from threadpoolctl import threadpool_limits

from tracker.limits.stationary_moments import log_radius
from tracker.limits.switched_quadratic import SwitchedQuadratic, read_quadratic
from tracker.skew import switched_moments

if TYPE_CHECKING:
    from collections.abc import Callable

    from tracker.scenario.model import Scenario

PER_DECADE = 8  # of steps, or sizes of S, looked at on the way up
BEGIN = 1e-3  # of the scale on which averaging holds
MOST_SKEW = 1e9  # size of S beyond which nothing is looked for
TRIES, SECTIONS = 4, 24


@dataclass(frozen=True)
class Stability:
    """Of the switched system, as a whole.

    radius : of a step of the algorithm on its second moments by mode; mean-square stable below 1
    abscissa : the largest rate at which second moments of the limit grow; stable below 0
    """

    radius: float
    abscissa: float
    problem: SwitchedQuadratic = field(repr=False)

    @property
    def stable(self) -> bool:
        """Whether both are stable, the algorithm and its limit."""
        return self.radius < 1.0 and self.abscissa < 0.0

    @cached_property
    def largest_epsilon(self) -> float | None:
        """The end of the first interval of stable steps, alpha as in the file; None if no step is stable."""
        with threadpool_limits(1, user_api="blas"):  # many small matrices: threads would only wait for each other
            return first_interval(self.problem)

    @cached_property
    def largest_skew(self) -> float:
        """The largest c such that all of 0 to c times S is stable; inf if all are, 0 if not even S = 0 is."""
        with threadpool_limits(1, user_api="blas"):
            return _largest_skew(self.problem)


def stability(scenario: Scenario, sampler: str) -> Stability:
    """Return whether the second moments of ``sampler`` and of its limit stay bounded, switched by the chain.

    Raises
    ------
    ValueError
        Where theory does not cover it: costs that are not quadratic, an S that moves.

    Examples
    --------
    >>> import tracker
    >>> scenario = tracker.load("scenarios/example_a.toml")
    >>> found = tracker.limits.stability(scenario, "skewed")
    >>> round(found.radius, 6), round(found.abscissa, 6)
    (0.962815, -2.412697)
    """
    problem = read_quadratic(scenario, sampler, of="algorithm")
    with np.errstate(over="ignore"), threadpool_limits(1, user_api="blas"):
        radius = float(np.exp(log_radius(problem, "algorithm")))
        return Stability(radius=radius, abscissa=log_radius(problem, "limit"), problem=problem)


def first_interval(problem: SwitchedQuadratic) -> float | None:
    """Return the end of the first interval of stable steps, alpha as it is; None if there is none."""
    low = averaging_step(problem)
    if not low > 0.0:
        return None
    margin = _margins(problem)
    for _ in range(TRIES):
        if margin(low) > 0.0:
            return _climb(margin, low, np.inf)
        low *= BEGIN
    return None


def averaging_step(problem: SwitchedQuadratic) -> float:
    """Return a step so small that theta sees the averaged cost only: the chain mixes long before theta moves; 0 if none is."""
    A = problem.limit.A
    largest = float(np.linalg.norm(A, ord=2, axis=(1, 2)).max())
    slowest = float(np.linalg.eigvals(A.mean(axis=0)).real.min())
    if not (slowest > 0.0 and np.isfinite(largest)):
        return 0.0
    return BEGIN * min(1.0, problem.alpha * _mixing(problem) or 1.0) * (slowest / largest) / largest


def _mixing(problem: SwitchedQuadratic) -> float:
    """The slowest rate at which the chain forgets, at alpha = 1."""
    rates = np.abs(np.linalg.eigvals(problem.Q).real)
    return float(rates[rates > 1e-12 * max(1.0, rates.max())].min(initial=np.inf)) if rates.any() else 0.0


def _margins(problem: SwitchedQuadratic) -> Callable[[float], float]:
    """Return epsilon -> the margin of the algorithm, alpha as it is."""
    X, n = problem.X, problem.n
    if problem.steady_form and switched_moments.unknowns(X, n) <= switched_moments.MOST_UNKNOWNS:
        at = problem.second_moment_steps()
        return lambda epsilon: switched_moments.margin(at(epsilon), X, n) / epsilon
    return lambda epsilon: -log_radius(replace(problem, epsilon=epsilon), "algorithm") / epsilon


def _largest_skew(problem: SwitchedQuadratic) -> float:
    X, n, Q = problem.X, problem.n, problem.Q
    size = float(np.linalg.norm(problem.S, ord=2))

    def margin(c: float) -> float:
        here = replace(problem, S=c * problem.S)
        step = here.second_moment_steps()(problem.epsilon)
        found = switched_moments.margin(step, X, n) / problem.epsilon
        flow = switched_moments.generator(here.limit.A, Q, problem.ratio)
        return min(found, switched_moments.margin(flow, X, here.limit.n))

    if not margin(0.0) > 0.0:
        return 0.0
    return _climb(margin, 0.01 / size, MOST_SKEW / size) if size > 0.0 else float("inf")


def _climb(margin: Callable[[float], float], low: float, most: float) -> float:
    """Return where ``margin`` first vanishes above ``low``, where it does not; inf if that is beyond ``most``."""
    seen = [(low, margin(low))]
    while seen[-1][0] < most:
        here = seen[-1][0] * 10.0 ** (1.0 / PER_DECADE)
        seen = [*seen[-2:], (here, margin(here))]
        if len(seen) == 3 and seen[1][1] < min(seen[0][1], seen[2][1]):
            bottom = _bottom(margin, seen[0][0], seen[2][0])
            if not margin(bottom) > 0.0:
                return _edge(margin, seen[0][0], bottom)
        if not seen[-1][1] > 0.0:
            return _edge(margin, seen[-2][0], here)
    return float("inf")


def _bottom(margin: Callable[[float], float], low: float, high: float) -> float:
    """Return where the margin is least between two places, by golden sections of the logarithm."""
    golden = (np.sqrt(5.0) - 1.0) / 2.0
    a, b = np.log(low), np.log(high)
    c, d = b - golden * (b - a), a + golden * (b - a)
    at_c, at_d = margin(float(np.exp(c))), margin(float(np.exp(d)))
    for _ in range(SECTIONS):
        if at_c <= at_d:
            b, d, at_d = d, c, at_c
            c = b - golden * (b - a)
            at_c = margin(float(np.exp(c)))
        else:
            a, c, at_c = c, d, at_d
            d = a + golden * (b - a)
            at_d = margin(float(np.exp(d)))
    return float(np.exp(c if at_c <= at_d else d))


def _edge(margin: Callable[[float], float], low: float, high: float) -> float:
    """Return where the margin vanishes between a stable place and an unstable one above it."""
    return float(brentq(margin, low, high, xtol=1e-14 * high, rtol=1e-12))
