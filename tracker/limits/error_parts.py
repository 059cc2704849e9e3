"""What the error of a sampler is made of: temperature, noise, lag and the rest (docs/mathematics, "Expansion of the error")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tracker.limits.best_constant_step import split_error
from tracker.limits.exact_moments import fields
from tracker.limits.stationary_moments import Steady, check_radius
from tracker.limits.switched_quadratic import read_quadratic

if TYPE_CHECKING:
    from tracker.scenario.model import Scenario


@dataclass(frozen=True)
class ErrorParts:
    """The stationary mean square error of a sampler at its step, total = temperature + noise + lag + remainder.

    temperature : what is left as the step and the chain become slow: the spread of its limit in each mode alone
    noise : Kn epsilon: gradient noise and the step itself
    lag : Ks alpha / epsilon: the way to the new minimiser after a switch
    remainder : what is of higher order in epsilon and alpha / epsilon; may be negative
    total : exact
    """

    temperature: float
    noise: float
    lag: float
    remainder: float
    total: float


def error_split(scenario: Scenario, sampler: str) -> ErrorParts:
    """Return what the error of ``sampler`` is made of; quadratic costs.

    Raises
    ------
    OutOfScope
        Where theory is not exact.
    Unstable
        Where there is no stationary law.

    Examples
    --------
    >>> import tracker
    >>> parts = tracker.limits.error_split(tracker.load("scenarios/example_a.toml"), "skewed")
    >>> round(parts.temperature, 6), round(parts.noise, 6)
    (0.829605, 0.019707)
    """
    problem = read_quadratic(scenario, sampler, of="algorithm")
    check_radius(problem, "algorithm")
    total = float(fields(problem, Steady(problem, "algorithm").v)["mean_square_error"])
    floor, Kn, Ks = split_error(problem)
    noise, lag = Kn * problem.epsilon, Ks * problem.ratio
    return ErrorParts(floor, noise, lag, total - floor - noise - lag, total)
