"""Draw the visits that paths at two step sizes share, and lay out the paths (docs/mathematics, "Coupling").

The Brownian increment of a coarse step is the sum of those of the fine steps in it; so is, with its own scale, the gradient
noise. The limit is run on fine cells, without gradient noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tracker.chain import dwell, embedded_law, next_mode
from tracker.limits.coupled_kernel import Path
from tracker.skew import pairs

if TYPE_CHECKING:
    from tracker.array_types import Array, Integers
    from tracker.limits.drift_field import Field


FOREVER = 2**40  # steps of a visit that outlasts every horizon; sums of them stay whole numbers


@dataclass(frozen=True, eq=False)
class Visits:
    """modes, exponentials : ndarrays, shape (trials, visits)."""

    modes: Integers
    exponentials: Array


def stops(field: Field, visits: Visits, alpha: float) -> Integers:
    """The step before which each visit ends, shape (trials, visits)."""
    a = np.minimum(alpha * np.abs(np.diag(field.Q)), 1.0)
    steps = np.minimum(dwell(visits.exponentials, a[visits.modes]), FOREVER)
    return np.cumsum(steps, axis=1)


def end_times(field: Field, visits: Visits) -> Array:
    """The time at which the continuous chain ends each visit, shape (trials, visits)."""
    rates = np.abs(np.diag(field.generator))  # not minus: 1 / -0.0 would end a visit for ever before it began
    with np.errstate(divide="ignore"):
        return np.cumsum(visits.exponentials / rates[visits.modes], axis=1)


def draw_visits(field: Field, trials: int, horizon: float, coarsest: float, rng: np.random.Generator) -> Visits:
    """Draw as many visits as the horizon needs, at every step size alpha between 0 and ``coarsest``.

    In time a visit lasts at least E / -log1p(-a) steps at alpha = ``coarsest``, before rounding up: -log1p(-a) / a grows
    with a, so every finer step, and the continuous chain, stays longer.
    """
    cumulative = np.cumsum(embedded_law(field.Q), axis=1)
    x = next_mode(rng.random(trials), np.broadcast_to(np.cumsum(field.initial), (trials, len(field.initial))))
    modes, exponentials = [x], [rng.standard_exponential(trials)]
    step = coarsest / (field.alpha / field.epsilon)  # of time
    a = np.minimum(coarsest * np.abs(np.diag(field.Q)), 1.0 - 1e-12)
    with np.errstate(divide="ignore"):
        longest = step / -np.log1p(-a)
    while True:
        visits = Visits(np.column_stack(modes), np.column_stack(exponentials))
        if np.all((visits.exponentials * longest[visits.modes]).sum(axis=1) > horizon + step):
            return visits
        for _ in range(max(1, len(modes) // 2)):
            following = next_mode(rng.random(trials), cumulative[modes[-1]])
            modes.append(np.where(following < 0, modes[-1], following))
            exponentials.append(rng.standard_exponential(trials))


def paths_of(
    field: Field, n: float, visits: Visits, theta: Array, factors: Array, *, limit: bool, tangent: bool
) -> Path:
    """All trials of the sampler, or of the limit, at n steps per unit of time, from ``theta`` (trials, N); D if ``tangent``."""
    trials, N = theta.shape
    ends = end_times(field, visits) * n if limit else stops(field, visits, field.alpha / field.epsilon / n)
    return Path(
        theta=theta.copy(),
        S=np.broadcast_to(field.M - np.eye(N), (trials, N, N)).copy(),
        D=np.zeros((trials, len(pairs(N)) if tangent else 0, N)),
        visit=np.zeros(trials, dtype=np.int64),
        modes=visits.modes,
        ends=ends.astype(np.float64),
        factors=factors[:, :, :0].copy() if limit else factors,
        epsilon=1.0 / n,
    )
