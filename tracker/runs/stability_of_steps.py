"""The step of each sampler divided by its largest mean-square stable step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tracker import skew
from tracker.scenario.step_warnings import least_limit, linearise, takes_long

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tracker.array_types import Array
    from tracker.engine.simulate import Problem


TRIALS_LOOKED_AT = 50
MOST_DIFFERENT_SKEWS = 10
MANY = 200  # coordinates, beyond which the eigenvalues of one matrix take a second


def steps_over_limits(
    problem: Problem, arrays: Mapping[str, NDArray[Any]], *, at_once: bool = False
) -> dict[str, float]:
    """Return epsilon over its stability limit for each sampler; nan where no limit is known, inf where no step is stable.

    The limit is the smallest over all minimisers of all modes, each alone, with S as it is at the end of the trials; the
    largest ratio over trials counts. A cost that is not quadratic is linearised at its minimisers. ``at_once``: also nan
    where every observation has a Hessian of its own, whose limit takes seconds.
    """
    scenario = problem.scenario
    nearby = [one for pair in zip(scenario.modes, problem.modes, strict=True) for one in linearise(*pair)]
    if at_once and takes_long(nearby):
        return {keys.name: float("nan") for keys in scenario.samplers}
    found = {}
    for n, keys in enumerate(scenario.samplers):
        if not keys.classical_limit:
            found[keys.name] = float("nan")
            continue
        different = list({S.tobytes(): S for S in final_skews(arrays, n, scenario.dimension)}.values())
        different = different[: MOST_DIFFERENT_SKEWS if scenario.dimension <= MANY else 1]
        limits = [least_limit(nearby, S) for S in different]
        known = [keys.epsilon / limit if limit > 0.0 else float("inf") for limit in limits if not np.isnan(limit)]
        found[keys.name] = max(known, default=float("nan"))
    return found


def final_skews(arrays: Mapping[str, NDArray[Any]], n: int, dimension: int) -> list[Array]:
    """Return S of sampler n at the end of the first trials, or 0."""
    pairs = arrays["final_skew"][:TRIALS_LOOKED_AT, n]
    pairs = pairs[np.isfinite(pairs).all(axis=1)] if pairs.shape[1] else pairs[:0]
    return [skew.from_pairs(row, dimension) for row in pairs] or [np.zeros((dimension, dimension))]
