"""Compute the distances from the algorithm to the frozen, the switched and the averaged limit, by exact laws.

docs/mathematics, "Three regimes". The distance is the largest difference in E theta and the upper triangle of
E theta theta' at T. Along alpha = epsilon^P the distance to the right limit shrinks as epsilon^|1 - P|, or as epsilon where
that is faster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tracker import limits
from tracker.chain import stationary_law
from tracker.convergence.exact_values import algorithm_laws, limit_law
from tracker.convergence.statistics import Panel, Statistic, of_law
from tracker.convergence.verdict import Distances
from tracker.limits.density_means import MOST_PRODUCTS
from tracker.limits.scope import OutOfScope

if TYPE_CHECKING:
    from collections.abc import Callable

    from tracker.array_types import Array
    from tracker.convergence.step_ladder import Ladder
    from tracker.scenario import Scenario


NAMES = ("frozen", "switched", "averaged")
STILL = 1e-12  # ratio of the frozen limit: no jump in any horizon


class Three(NamedTuple):
    """E theta and the upper triangle of E theta theta' at T in the three limits, each (J,); None where not computed."""

    frozen: Array | None
    switched: Array | None
    averaged: Array | None


class Others(NamedTuple):
    """The three limits, and by name why one of them is not computed."""

    three: Three
    why_not: dict[str, str]


def total_panel(N: int, modes: tuple[str, ...]) -> Panel:
    """E theta and the upper triangle of E theta theta', over all modes."""
    products = [(a, b) for a in range(N) for b in range(a, N)]
    tested = [Statistic("mean", None, a) for a in range(N)] + [Statistic("second", None, a, b) for a, b in products]
    return Panel(tuple(tested), (), modes)


def expected_regime(path: float | None) -> str:
    """The limit along alpha = epsilon^path, or at a fixed ratio."""
    if path is None or path == 1.0:
        return "switched"
    return "frozen" if path > 1.0 else "averaged"


def approach(path: float | None) -> float:
    """The order in epsilon at which the limit is approached."""
    return 1.0 if path is None or path == 1.0 else min(1.0, abs(path - 1.0))


# --- the three limits


def quadratic_limits(ladder: Ladder) -> tuple[Three, Array]:
    """The three limits, and the algorithm at every rung (rungs, J), of quadratic costs."""
    N = ladder.scenario.dimension
    upper = np.triu_indices(N)
    found, own = None, []
    for rung in range(len(ladder.steps)):
        ratio = 1.0 if ladder.path is not None else ladder.ratio
        found = limits.regimes(ladder.at(rung), ladder.sampler, ladder.horizon, ratio=ratio)
        own.append(np.concatenate([found.algorithm.mean, found.algorithm.second[upper]]))
    assert found is not None  # a ladder has rungs
    three = [np.concatenate([m.mean, m.second[upper]]) for m in (found.frozen, found.switched, found.averaged)]
    return Three(*three), np.array(own)


def density_limits(
    ladder: Ladder, tell: Callable[[str], None], known: Array | None = None, work: float = MOST_PRODUCTS
) -> Others:
    """The three limits of other costs, N = 1, 2; the averaged one where the family writes down the average.

    Where the switched one is ``known`` already, the others are only looked at from afar: a tenth of the resolution will do.
    """
    panel = total_panel(ladder.scenario.dimension, ())
    scenario, name = ladder.scenario, ladder.sampler
    why_not: dict[str, str] = {}

    def values(changed: Scenario | None, which: str) -> Array | None:
        if changed is None:
            why_not[which] = "no family of costs writes down the average of these"
            return None
        tell(f"computing the {which} limit")
        try:
            law = limit_law(changed, name, [ladder.horizon], panel, work=work, precise=known is None)
        except OutOfScope as reason:
            why_not[which] = str(reason)
            return None
        return of_law(panel, law, np.zeros(0))

    chain = scenario.chain
    if chain is None or len(scenario.modes) == 1:
        alone = values(scenario, "switched") if known is None else known
        return Others(Three(alone, alone, alone), dict.fromkeys(NAMES, why_not["switched"]) if why_not else {})
    still = scenario.replace(chain=chain.model_copy(update={"alpha": STILL * ladder.keys.epsilon}))
    matched = scenario.replace(chain=chain.model_copy(update={"alpha": ladder.keys.epsilon}))
    three = Three(
        values(still, "frozen"),
        values(matched, "switched") if known is None else known,
        values(averaged_scenario(scenario), "averaged"),
    )
    return Others(three, why_not)


def left_out(why_not: dict[str, str]) -> list[str]:
    """In words, the distances that are not computed."""
    return [f"distance to the {name} limit: not computed: {reason}" for name, reason in why_not.items()]


def averaged_scenario(scenario: Scenario) -> Scenario | None:
    """Return the scenario with the one cost sum_i pi_i C_i; None where it cannot be written down."""
    if scenario.chain is None:
        return None
    pi = stationary_law(np.array(scenario.chain.Q))
    average = scenario.modes[0].average(pi.tolist(), scenario.modes)
    return None if average is None else scenario.replace(modes=[average], chain=None)


def density_algorithm(ladder: Ladder, tell: Callable[[str], None], work: float) -> tuple[Array, str]:
    """The algorithm at the rungs within reach, (rungs, J), by its own law, and why not at all of them."""
    panel = total_panel(ladder.scenario.dimension, ())
    laws, why_not = algorithm_laws(ladder, tell, work=work)
    return np.array([of_law(panel, law, np.zeros(0)) for law in laws]), why_not


# --- distances


def distances(three: Three, own: Array, epsilons: tuple[float, ...]) -> tuple[Distances, Distances]:
    """Distances at the smallest epsilon, and the order at which each shrinks over the last two rungs; own : (rungs, J)."""
    far: list[float | None] = []
    rates: list[float | None] = []
    for limit in three:
        if limit is None:
            far.append(None)
            rates.append(None)
            continue
        gap = np.abs(own - limit).max(axis=1)
        far.append(float(gap[-1]))
        shrinks = len(gap) > 1 and gap[-1] > 0.0 and gap[-2] > 0.0
        rates.append(float(np.log(gap[-2] / gap[-1]) / np.log(epsilons[-2] / epsilons[-1])) if shrinks else None)
    return Distances(*far), Distances(*rates)


def totals(panel: Panel, values: Array, N: int) -> Array:
    """E theta and the upper triangle of E theta theta' from the statistics of a panel (..., J): sums over modes."""
    wanted = [("mean", a, 0) for a in range(N)] + [("second", a, b) for a in range(N) for b in range(a, N)]
    columns = []
    for kind, a, b in wanted:
        own = [
            j
            for j, s in enumerate(panel.tested)
            if s.kind == kind and not s.early and (s.a, s.b) == (a, b) and s.mode is not None
        ]
        columns.append(values[..., own].sum(axis=-1))
    return np.stack(columns, axis=-1)
