"""The rungs of the ladder of knowledge that theory knows (docs/mathematics, "Ladder of knowledge")."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tracker.limits.best_constant_step import best_step
from tracker.limits.filter_quadrature import BayesFilter, best_filter
from tracker.limits.riccati_filter import best_linear
from tracker.limits.rung_names import AT_BETA, BEST_FILTER, BEST_LINEAR, BEST_STEP, KNOWS
from tracker.limits.scope import OutOfScope, sampler_keys
from tracker.limits.temperature_error import gibbs_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from tracker.scenario.model import Scenario


def row_of(rung: str, error: float, keys: Any, *, bound: bool = False) -> dict[str, Any]:
    """Return a rung as a row of the ladder of the sampler with these keys, with what it sees and evaluates a step."""
    sees = int(rung != AT_BETA)  # a filter: one gradient
    evaluations = {"gradient": sees, "cost": 0, "hessian": 0}
    return {
        "rung": rung,
        "knows": KNOWS[rung],
        "mean_square_error": {"mean": error, "stderr": None},
        "exact": True,
        "bound": bound,
        "observations": keys.observations if rung == BEST_STEP else sees,
        "evaluations": keys.evaluations._asdict() if rung == BEST_STEP else evaluations,
    }


def bounds(found: BayesFilter, keys: Any) -> bool:
    """Tell whether the filter bounds the sampler with these keys: it sees one gradient a step, no cost, and is told no switch."""
    sees_more = keys.evaluations.gradient != 1 or keys.evaluations.cost != 0 or keys.told_switches
    return bool(found.bound and not sees_more)


def ladder(scenario: Scenario, sampler: str) -> list[dict[str, Any]]:
    """Return the rungs that theory knows here, as rows {rung, knows, mean_square_error, exact, bound, observations, evaluations}.

    ``bound`` is true where no algorithm that sees one gradient a step, as ``sampler`` does, can have a smaller error.

    >>> import tracker
    >>> wells = tracker.load("scenarios/swapping_wells.toml")
    >>> [row["rung"] for row in tracker.limits.ladder(wells, "classical")]
    ['knows the mode, samples at this beta', 'best linear filter', 'best filter']
    """
    keys = sampler_keys(scenario, sampler)  # an unknown name is no missing rung
    questions: dict[str, Callable[[], dict[str, Any]]] = {
        AT_BETA: lambda: row_of(AT_BETA, gibbs_error(scenario, sampler).mean_square_error, keys),
        BEST_STEP: lambda: row_of(BEST_STEP, best_step(scenario, sampler).mean_square_error, keys),
        BEST_LINEAR: lambda: row_of(BEST_LINEAR, best_linear(scenario).mean_square_error, keys),
        BEST_FILTER: lambda: _filter_row(best_filter(scenario), keys),
    }
    rows = []
    for question in questions.values():
        try:
            rows.append(question())
        except OutOfScope:
            continue
    return rows


def _filter_row(found: BayesFilter, keys: Any) -> dict[str, Any]:
    return row_of(BEST_FILTER, found.mean_square_error, keys, bound=bounds(found, keys))
