"""Exact values of the statistics: in the limit, and for the algorithm at each step size."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import expm

from tracker import limits
from tracker.convergence.statistics import Panel, density_panel, moment_panel, of_law, of_moments
from tracker.scenario import initial_law

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tracker.convergence.ladder import Ladder
    from tracker.convergence.verdict import Reference
    from tracker.limits.law import Law
    from tracker.scenario import Scenario

    Array = NDArray[np.float64]

CELLS = 120  # of finite volumes along each axis, N = 2; order 2, and extrapolated
POINTS, RESOLVED = (
    80,
    1e-5,
)  # of Fourier series, tried first; two resolutions that agree so far: the finer one has more digits
MOST_KERNEL_STEPS = 8192  # of the sampler's own law; beyond, simulation is the cheaper way


@dataclass(frozen=True, eq=False)
class Exact:
    """What theory says.

    limit : (J,)
    algorithm : (rungs, J); None where the algorithm's own law is out of reach at some rung, ``why_not`` says why
    largest : (J,), the algorithm at the largest step; None where even that is out of reach
    law, laws : of theta and the mode at T, in the limit and at each rung; where the reference is a density
    """

    reference: Reference
    panel: Panel
    limit: Array
    algorithm: Array | None
    largest: Array | None
    why_not: str = ""
    law: Law | None = None
    laws: tuple[Law, ...] = ()


class OutOfReach(ValueError):
    """No independent law of the limit; the message says why."""


def exact_values(ladder: Ladder, tell: Callable[[str], None]) -> Exact:
    """Return the exact values, by moments if the costs are quadratic, else by densities.

    Raises
    ------
    OutOfReach
        Where neither is possible.
    """
    if all(keys.cost == "quadratic" for keys in ladder.scenario.modes):
        try:
            return _by_moments(ladder)
        except ValueError as error:
            raise OutOfReach(str(error)) from error
    if ladder.scenario.dimension > 2:
        N = ladder.scenario.dimension
        raise OutOfReach(f"costs that are not quadratic have an exact law here for N = 1 and 2 only, and N = {N}")
    return _by_density(ladder, tell)


# --- quadratic costs


def _by_moments(ladder: Ladder) -> Exact:
    scenario, name = ladder.scenario, ladder.sampler
    panel = moment_panel(scenario.dimension, _names(scenario), halves=ladder.halves)
    T = ladder.horizon
    at_rung = ladder.at(len(ladder.steps) - 1)
    moments = limits.moments(at_rung, name, T)
    limit = of_moments(panel, moments, _lagged(at_rung, name, T, "limit", ladder), stay_limit(ladder))
    found = []
    for rung, n in enumerate(ladder.steps):
        here = ladder.at(rung)
        own = limits.algorithm_moments(here, name, n)
        found.append(of_moments(panel, own, _lagged(here, name, T, "algorithm", ladder), stay_algorithm(ladder, rung)))
    return Exact("moments", panel, limit, np.array(found), found[0])


def _lagged(scenario: Scenario, name: str, T: float, of: Any, ladder: Ladder) -> Array:
    N = scenario.dimension
    return limits.two_time(scenario, name, T / 2, T, of=of) if ladder.halves else np.zeros((N, N))


def _names(scenario: Scenario) -> tuple[str, ...]:
    return tuple(mode.name for mode in scenario.modes)


# --- the chain alone


def stay_limit(ladder: Ladder) -> Array:
    """P(x(T/2) = x(T) = i) in the limit, shape (X,)."""
    start = initial_law(ladder.scenario)
    if ladder.scenario.chain is None:
        return start
    half = expm(float(ladder.ratio or 0.0) * ladder.horizon / 2 * np.array(ladder.scenario.chain.Q))
    return np.asarray((start @ half) * np.diag(half))


def stay_algorithm(ladder: Ladder, rung: int) -> Array:
    """The same for the algorithm at a rung."""
    start = initial_law(ladder.scenario)
    if ladder.scenario.chain is None:
        return start
    step = np.eye(len(start)) + ladder.alpha(rung) * np.array(ladder.scenario.chain.Q)
    half = np.linalg.matrix_power(step, ladder.steps[rung] // 2)
    return np.asarray((start @ half) * np.diag(half))


# --- other costs, N = 1 and 2


def _by_density(ladder: Ladder, tell: Callable[[str], None]) -> Exact:
    scenario, T = ladder.scenario, ladder.horizon
    panel = density_panel(scenario.dimension, _names(scenario), halves=ladder.halves)
    tell("computing the limit's law")
    law = limit_law(ladder.at(len(ladder.steps) - 1), ladder.sampler, [T / 2, T])
    limit = of_law(panel, law, stay_limit(ladder))
    laws, why_not = algorithm_laws(ladder, tell)
    own = np.array([of_law(panel, each, stay_algorithm(ladder, rung)) for rung, each in enumerate(laws)])
    complete = len(laws) == len(ladder.steps)
    return Exact("density", panel, limit, own if complete else None, own[0] if len(own) else None, why_not, law, laws)


def limit_law(scenario: Scenario, sampler: str, times: list[float], *, precise: bool = True) -> Law:
    """The law of the limit: by Fourier series where they resolve it, else (or if 1e-5 will do) by finite volumes.

    Raises
    ------
    OutOfReach
        If there is no such law, or it does not fit into its box.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # said below, as a reason
        law = _spectral(scenario, sampler, times) if precise or scenario.dimension == 1 else None
        if law is None or law.box_too_small:
            cells = CELLS if scenario.dimension == 2 else None
            try:
                law = limits.density(scenario, sampler, times, cells=cells)
            except ValueError as error:
                raise OutOfReach(str(error)) from error
    if law.box_too_small:
        raise OutOfReach("density: the law does not fit into a box that can be computed")
    return law


def _spectral(scenario: Scenario, sampler: str, times: list[float]) -> Law | None:
    """None where Fourier series do not resolve the law; what else is wrong, finite volumes find wrong too, and say so."""
    try:
        if scenario.dimension == 2:
            law = limits.density(scenario, sampler, times, method="spectral", cells=POINTS)
            if float(law.error_estimate.max()) < RESOLVED:
                return law
        return limits.density(scenario, sampler, times, method="spectral")
    except ValueError:
        return None


def algorithm_laws(ladder: Ladder, tell: Callable[[str], None]) -> tuple[tuple[Law, ...], str]:
    """The algorithm's own law at T / 2 and T, from the largest step down as far as it is within reach, and why no further."""
    found: list[Law] = []
    for rung, n in enumerate(ladder.steps):
        epsilon = ladder.epsilons[rung]
        if n > MOST_KERNEL_STEPS:
            return tuple(found), f"{n} steps of the algorithm's own law are more than {MOST_KERNEL_STEPS}"
        tell(f"computing the algorithm's law at epsilon = {epsilon:g}")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # said below, as a reason
                law = limits.algorithm_density(ladder.at(rung), ladder.sampler, [n // 2, n])
        except ValueError as error:
            return tuple(found), str(error)
        if law.box_too_small:
            return tuple(found), f"at epsilon = {epsilon:g} the algorithm's own law does not fit into a box"
        found.append(law)
    return tuple(found), ""
