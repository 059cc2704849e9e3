"""Say before a run whether a sampler is stable under switching, which can fail although each mode alone is stable.

It covers kinds that declare a linear step and whose S stands still. About all others it says nothing.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tracker import skew
from tracker.costs.facts import as_quadratic
from tracker.scenario.builders import skew_matrix
from tracker.scenario.complaints import ScenarioError
from tracker.scenario.dwell_stages import by_stages
from tracker.skew import switched_moments

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tracker.array_types import Array
    from tracker.costs.facts import QuadraticForm
    from tracker.scenario.model import Scenario


class Switched(NamedTuple):
    """A sampler on quadratic modes that the chain switches.

    radius : of a step on the second moments by mode; they stay bounded below 1; None where it was not computed
    abscissa : the rate at which they grow in the limit of small steps, alpha / epsilon kept; bounded below 0
    stable : both are; None where it was not computed
    alone : the largest epsilon below which each mode alone is stable; nan for what has more state than theta
    """

    sampler: str
    epsilon: float
    radius: float | None
    abscissa: float | None
    stable: bool | None
    alone: float

    @property
    def sentence(self) -> str:
        """What to say of one that is not stable though each mode is; empty of others."""
        if self.stable is not False or self.radius is None or self.abscissa is None or self.epsilon >= self.alone:
            return ""
        if self.radius >= 1.0:
            how = f"a step multiplies the second moments by {self.radius:.9g}"
        else:
            how = f"in the limit of small steps at this alpha / epsilon the second moments grow at the rate {self.abscissa:.6g}"
        if math.isnan(self.alone):
            return f'samplers "{self.sampler}": unstable: {how}: make epsilon smaller'
        return (
            f'samplers "{self.sampler}": unstable: switched by this chain, {how}, though each mode alone is stable (epsilon = '
            f"{self.epsilon:g} is below {self.alone:.6g}); S pumps energy: make S smaller, or the chain slower or faster"
        )


def switched_systems(scenario: Scenario) -> list[Switched]:
    """Return a row for each sampler that theory covers; none without a chain, with fixed stays, or a mode that is not quadratic."""
    if scenario.chain is None or scenario.chain.law.fixed or not scenario.quadratic or len(scenario.modes) == 1:
        return []
    try:
        scenario = by_stages(scenario)
    except ScenarioError:  # too many stages for theory
        return []
    chain = scenario.chain
    assert chain is not None  # of the same world
    bowls = [bowl for mode in scenario.modes if (bowl := as_quadratic(mode.build())) is not None]
    found, known = [], dict[bytes, float]()  # many samplers begin with the same S
    for sampler in scenario.samplers:
        S = skew_matrix(sampler, scenario) if sampler.skew_is != "moving" else None
        if S is not None and sampler.linear(sampler.epsilon, S) is not None:
            S = clip_skew(sampler, S)
            if sampler.euler and S.tobytes() not in known:
                known[S.tobytes()] = min(limit_alone(bowl, S) for bowl in bowls)
            alone = known[S.tobytes()] if sampler.euler else math.nan
            found.append(_switched(sampler, S, bowls, np.array(chain.Q, dtype=float), chain.alpha, alone))
    return found


def limit_alone(bowl: QuadraticForm, S: Array) -> float:
    """Return the epsilon below which a mode alone is mean-square stable."""
    if bowl.regressors is None:
        return skew.stability_limit(bowl.curvature, S)
    return skew.regressor_limit(bowl.curvature, bowl.regressors.covariance, S)


def _switched(sampler: Any, S: Array, bowls: Sequence[QuadraticForm], Q: Array, alpha: float, alone: float) -> Switched:
    epsilon = sampler.epsilon
    step, limit = sampler.linear(epsilon, S), sampler.linear(0.0, S)
    if switched_moments.unknowns(len(bowls), len(step.drift)) > switched_moments.MOST_UNKNOWNS:
        return Switched(sampler.name, epsilon, None, None, None, alone)
    H, none = np.array([bowl.curvature for bowl in bowls]), np.zeros_like(S)
    A, of_limit = (each.gain @ H @ each.reads - each.drift for each in (step, limit))
    R = np.array([none if bowl.regressors is None else bowl.regressors.covariance for bowl in bowls])
    M, seen = step.gain, step.reads
    scatter = switched_moments.scatter_of(M @ R @ seen, M @ R @ M.T, seen.T @ R @ seen) if R.any() else None
    abscissa = switched_moments.abscissa(switched_moments.generator(of_limit, Q, alpha / epsilon))
    growth = switched_moments.log_radius(switched_moments.step_map(A, Q, alpha, epsilon, scatter))
    radius = math.exp(min(growth, 700.0))
    return Switched(sampler.name, epsilon, radius, abscissa, bool(growth < 0.0 and abscissa < 0.0), alone)


def clip_skew(sampler: Any, S: Array) -> Array:
    """Return the S that a sampler with bounds begins with."""
    bounds = getattr(sampler, "skew_bounds", None)
    return S if bounds is None or sampler.skew_is == "none" else skew.clip(S, *bounds)


def unstable_when_switched(scenario: Scenario) -> list[str]:
    """Return a sentence for each sampler that is stable in each mode alone, and unstable in the world of the chain."""
    return [row.sentence for row in switched_systems(scenario) if row.sentence]
