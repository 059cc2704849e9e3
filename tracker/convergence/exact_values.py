"""Compute the exact values of the statistics, in the limit and for the algorithm at each step size."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import expm

from tracker import limits
from tracker.convergence.statistics import (
    SPENT,
    Panel,
    Statistic,
    density_panel,
    function,
    moment_panel,
    of_law,
    of_moments,
)
from tracker.limits.density_means import (
    MOST_PRODUCTS,
    OWN_SHARE,
    algorithm_density_for_means,
    density_for_means,
    refuse_algorithm_density,
)
from tracker.limits.scope import OutOfScope, refusal_of
from tracker.limits.spectral import TooMuchWork
from tracker.scenario import initial_law

if TYPE_CHECKING:
    from collections.abc import Callable

    from tracker.array_types import Array
    from tracker.convergence.step_ladder import Ladder
    from tracker.convergence.verdict import Reference
    from tracker.limits.grid_law import Law
    from tracker.limits.occupation_moments import Occupation
    from tracker.scenario import Scenario


AGREEMENT = {1: 1e-4, 2: 2e-2}  # error of a mean, in units of the resolution: trials see 0.2 of it, and N = 1 is cheap
ENOUGH = 0.1  # of the resolution: the error of a mean of a law that is only looked at from afar
FROM_AFAR = 0.2  # of the work allowed is allowed for such a law
FAINT = 1e-2  # a statistic of a rare mode is looked at in units of this share of its spread over all modes, or its own
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

    @property
    def finest(self) -> Law | None:
        """The algorithm's law at the smallest step; None where that rung is out of reach."""
        return self.laws[-1] if self.algorithm is not None and self.laws else None


def exact_values(
    ladder: Ladder, tell: Callable[[str], None], resolution: float = 0.05, work: float = MOST_PRODUCTS
) -> Exact:
    """Return the exact values, by moments if the costs are quadratic, else by densities as fine as the resolution asks.

    Raises
    ------
    OutOfScope
        Where neither is possible.
    """
    if ladder.scenario.quadratic:
        try:
            return _by_moments(ladder)
        except ValueError as error:
            raise refusal_of(error) from error
    if ladder.scenario.dimension > 2:
        N = ladder.scenario.dimension
        raise OutOfScope(f"costs that are not quadratic have an exact law here for N = 1 and 2 only, and N = {N}")
    return _by_density(ladder, tell, resolution, work)


# --- quadratic costs


def _by_moments(ladder: Ladder) -> Exact:
    scenario, name = ladder.scenario, ladder.sampler
    panel = moment_panel(scenario.dimension, _names(scenario), halves=ladder.halves)
    T = ladder.horizon
    at_rung = ladder.at(len(ladder.steps) - 1)
    moments = limits.moments(at_rung, name, T)
    lagged, spent = _lagged(at_rung, name, T, "limit", ladder), _spent(panel, at_rung, name, T, "limit")
    limit = of_moments(panel, moments, lagged, stay_limit(ladder), spent)
    found = []
    for rung, n in enumerate(ladder.steps):
        here = ladder.at(rung)
        own = limits.algorithm_moments(here, name, n)
        lagged, spent = _lagged(here, name, T, "algorithm", ladder), _spent(panel, here, name, n, "algorithm")
        found.append(of_moments(panel, own, lagged, stay_algorithm(ladder, rung), spent))
    return Exact("moments", panel, limit, np.array(found), found[0])


def _lagged(scenario: Scenario, name: str, T: float, of: Any, ladder: Ladder) -> Array:
    N = scenario.dimension
    return limits.two_time(scenario, name, T / 2, T, of=of) if ladder.halves else np.zeros((N, N))


def _spent(panel: Panel, scenario: Scenario, name: str, time: float, of: Any) -> Occupation | None:
    """The moments of A, where the panel has them; ``time`` is T, or the number of steps."""
    return limits.occupation(scenario, name, time, of=of) if any(s.kind in SPENT for s in panel.tested) else None


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


def _by_density(ladder: Ladder, tell: Callable[[str], None], resolution: float, work: float) -> Exact:
    scenario, T = ladder.scenario, ladder.horizon
    panel = density_panel(scenario.dimension, _names(scenario), halves=ladder.halves)
    tell("computing the limit's law")
    times = [T / 2, T]
    law = limit_law(ladder.at(len(ladder.steps) - 1), ladder.sampler, times, panel, resolution, work)
    limit = of_law(panel, law, stay_limit(ladder))
    laws, why_not = algorithm_laws(ladder, tell, law.box, work)
    own = np.array([of_law(panel, each, stay_algorithm(ladder, rung)) for rung, each in enumerate(laws)])
    complete = len(laws) == len(ladder.steps)
    return Exact("density", panel, limit, own if complete else None, own[0] if len(own) else None, why_not, law, laws)


def limit_law(
    scenario: Scenario,
    sampler: str,
    times: list[float],
    panel: Panel,
    resolution: float = 0.05,
    work: float = MOST_PRODUCTS,
    *,
    precise: bool = True,
) -> Law:
    """The law of the limit, as fine as the statistics need.

    Without ``precise`` a tenth of the resolution will do.

    Raises
    ------
    OutOfScope
        If there is no such law, it does not fit into a box, or it is too much work.
    """
    allowed = resolution * AGREEMENT[scenario.dimension]
    if not precise:
        allowed, work = resolution * ENOUGH, FROM_AFAR * work
    try:
        return density_for_means(
            scenario, sampler, times, lambda fine, coarse: _apart(panel, fine, coarse), allowed, work
        )
    except TooMuchWork as error:
        raise OutOfScope(f"{error}; --max-work allows more") from error
    except ValueError as error:
        raise refusal_of(error) from error


def _apart(panel: Panel, fine: Law, coarse: Law) -> float:
    """The largest difference of a statistic between two grids, in its standard deviations."""
    nothing = np.zeros(len(panel.modes))  # what the chain alone decides is no matter of grids
    gap = np.abs(of_law(panel, fine, nothing) - of_law(panel, coarse, nothing))
    return float(np.max(gap / [_spread(s, fine) for s in panel.all], initial=0.0))


def _spread(s: Statistic, law: Law) -> float:
    """The standard deviation of what is averaged, and of a rare mode's at least a share of that over all modes."""
    if s.kind in ("stay", "probability"):
        return 1.0
    when = 0 if s.early else -1

    def deviation(mode: int | None) -> float:
        mean = law.expectation(lambda *theta: function(s, theta), mode)[when]
        square = law.expectation(lambda *theta: function(s, theta) ** 2, mode)[when]
        return float(np.sqrt(max(square - mean**2, 0.0)))

    return max(deviation(s.mode), FAINT * deviation(None), 1e-300)


def algorithm_laws(
    ladder: Ladder, tell: Callable[[str], None], box: Array | None = None, work: float = MOST_PRODUCTS
) -> tuple[tuple[Law, ...], str]:
    """The algorithm's own law at T / 2 and T, from the largest step down as far as it is within reach, and why no further.

    box : one that holds the limit's law, to begin with; work : of which the laws of all steps may take OWN_SHARE
    """
    found: list[Law] = []
    reason, left = "", OWN_SHARE * work
    if box is not None and len(box) == 2:
        # Only the whole ladder is of use beyond the largest step, so one that is out of reach is refused before the others.
        reason = _out_of_reach(ladder, box, left)
        ladder = replace(ladder, steps=ladder.steps[:1]) if reason else ladder
    for rung, n in enumerate(ladder.steps):
        epsilon = ladder.epsilons[rung]
        if n > MOST_KERNEL_STEPS:
            return tuple(found), f"{n} steps of the algorithm's own law are more than {MOST_KERNEL_STEPS}"
        tell(f"computing the algorithm's law at epsilon = {epsilon:g}")
        try:
            law = algorithm_density_for_means(ladder.at(rung), ladder.sampler, [n // 2, n], box, left)
        except ValueError as error:
            return tuple(found), f"at epsilon = {epsilon:g}: {error}"
        box = law.box
        left -= refuse_algorithm_density(ladder.at(rung), ladder.sampler, n, box, np.inf)
        found.append(law)
    return tuple(found), reason


def _out_of_reach(ladder: Ladder, box: Array, left: float) -> str:
    """Why the algorithm's own law on this box is too much work at some rung; nothing where it is not."""
    for rung, n in enumerate(ladder.steps):
        try:
            left -= refuse_algorithm_density(ladder.at(rung), ladder.sampler, n, box, left)
        except ValueError as error:
            return f"at epsilon = {ladder.epsilons[rung]:g}: {error}"
    return ""
