"""Compute laws for N = 1 and 2 only as finely as their means need, and refuse laws that are too large.

Notes
-----
A check of convergence compares means with trials, which see 1e-2 standard deviations at best. So the grid is refined until
the means agree, not the density, and no law may take more than a number of values that is known before it begins.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tracker.limits import finite_volume, sampler_law, spectral
from tracker.limits.density_solvers import density_field, increasing, law_on_grid, refuse_no_density
from tracker.limits.grid_box import automatic_box, edge_mass, read_box, wider
from tracker.limits.grid_law import Law

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from tracker.limits.drift_field import Field
    from tracker.scenario import Scenario

    Array = NDArray[np.float64]

REFINEMENT = 4.0 / 3.0
WIDENINGS = 4
MOST_EDGE_MASS = 1e-6
# The error of both space and time falls at least as points^-4, the order of the steps of time; so what is left on the finer
# of two grids is at most this share of their difference, where three grids show such a fall.
FALL = REFINEMENT**-4
LEFT = FALL / (1.0 - FALL)
PER_DEVIATION = 1.4  # points in the narrowest standard deviation of the law: fewer than half of them say nothing


def density_for_means(
    scenario: Scenario,
    sampler: str,
    times: ArrayLike,
    apart: Callable[[Law, Law], float],
    allowed: float,
    points: int | None = None,
    most_work: float | None = None,
) -> Law:
    """Return the law of the limit by Fourier series, on the first grid whose means are right to ``allowed``.

    That is a grid whose means are ``allowed`` apart from a coarser one's; or three grids whose differences fall with order 4 or
    faster, so that less than ``allowed`` is left on the finest.
    ``points``: a side, of the first grid, if a similar law is known already. All grids together may take ``most_work`` values
    of the right-hand side and no more; where the law is surely too narrow for them, it is refused before any work.

    Raises
    ------
    ValueError
        Where no grid within reach agrees, or the law does not fit into a box; the message says which.
    """
    field = density_field(scenario, sampler, "density")
    refuse_no_density(field)
    at, N = increasing(times, "times"), scenario.dimension
    sides = finite_volume.trimmed(field, automatic_box(field), float(at[-1]), widenings=0)
    first = points or spectral.FIRST_POINTS[N]
    most = spectral.MOST_WORK_FOR_MEANS if most_work is None else most_work
    refuse_too_narrow(field, sides, at, most)
    n, left = first, [most]
    for _ in range(WIDENINGS):
        law = _agreed(field, sides, at, n, apart, allowed, left)
        near_edge = max(edge_mass(law.density * law.volume, N), float(law.mass_error.max()))
        if near_edge <= MOST_EDGE_MASS:
            return law
        sides, n = wider(sides), len((law.coarse or law).axes[0])
    raise ValueError(
        f"density: mass {near_edge:.2g} lies near the edge of every box tried: the law has no end within reach"
    )


def points_wanted(field: Field, sides: Array, horizon: float) -> int:
    """Points a side that resolve the narrowest of the start and, at each mode's minimum, of its law at the horizon.

    The waves of a Gaussian with covariance V reach as far along axis a as 1 / sqrt of 1 / (V^-1)_aa says. Around a minimum with
    Hessian H the law goes from the start's V to that of V^-1 = beta H, and along a has covered 1 - exp(-2 H_aa T) of the way.
    """
    axes = spectral.point_axes(sides, spectral.FIRST_POINTS[len(sides)])
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    start = 1.0 / np.diag(np.linalg.inv(field.covariance))
    squares = [start]
    for mode in range(len(field.costs)):
        lowest = points[np.argmin(field.values(mode, points))]
        H = np.zeros(len(sides))
        for a, axis in enumerate(axes):
            shift = (axis[1] - axis[0]) / 2 * np.eye(len(axes))[a]
            up, down = field.gradients(mode, np.array([lowest + shift, lowest - shift]))[:, a]
            H[a] = (up - down) / (2.0 * shift[a])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            still = np.exp(-2.0 * H * horizon)
            own = still * start + (1.0 - still) / (field.beta * H)
        squares.append(np.where((H > 0.0) & np.isfinite(own), own, start))
    narrowest = np.sqrt(np.min(squares, axis=0))
    return int(np.ceil(min(1e9, float(np.max((sides[:, 1] - sides[:, 0]) / narrowest)) * PER_DEVIATION)))


def refuse_too_narrow(field: Field, sides: Array, at: Array, most: float) -> None:
    """Refuse, before any work, a law of which half the points that it wants, and the grid to compare with, take too much."""
    wanted, limit = points_wanted(field, sides, float(at[-1])), spectral.MOST_POINTS[len(sides)]
    half = max(spectral.FIRST_POINTS[len(sides)], wanted // 2)
    work = spectral.work_for_means(field, sides, int(REFINEMENT * half), at) if REFINEMENT * half <= limit else np.inf
    if not work <= most:
        much = f", which take {work:.1g} values of the right-hand side, more than {most:.1g}" if work < np.inf else ""
        raise ValueError(
            f"density: the law is narrow, or the drift steep, in a wide box: it wants {wanted} points a side, and even half of "
            f"them are too many{much or f', where {limit} are the most'}"
        )


def _agreed(
    field: Field, sides: Array, at: Array, n: int, apart: Callable[[Law, Law], float], allowed: float, left: list[float]
) -> Law:
    """The law on the first of growing grids that is right to ``allowed``; ``left``: work, from which each grid takes."""
    from scipy.fft import next_fast_len

    def on_grid(n: int, coarse: Law | None) -> Law:
        work = spectral.work_for_means(field, sides, n, at)
        if work > left[0]:
            raise ValueError(
                f"density: {n} points a side need {work:.1g} values of the right-hand side, and {left[0]:.1g} are left of those "
                "allowed: the drift is steep, or the law narrow in a wide box"
            )
        left[0] -= work
        return law_on_grid(field, sides, at, spectral.solve_for_means, n, coarse=coarse)

    law, gap = on_grid(n, None), np.inf
    while n * REFINEMENT <= spectral.MOST_POINTS[len(sides)]:
        n = next_fast_len(int(n * REFINEMENT) // 2 * 2, real=True)
        before, last = replace(law, coarse=None), gap
        law = on_grid(n, before)
        finite = np.isfinite(law.density).all() and np.isfinite(before.density).all()
        gap = apart(law, before) if finite else np.inf
        if gap <= allowed or (gap <= FALL * last < np.inf and LEFT * gap <= allowed):
            return law
    raise ValueError(f"density: {n} points a side do not resolve the law: it is narrow in a wide box")


def refuse_algorithm_density(scenario: Scenario, sampler: str, steps: int, box: Array) -> None:
    """Refuse, before any work, the sampler's own law on a box where ``algorithm_density_for_means`` would refuse it."""
    field = density_field(scenario, sampler, "algorithm_density")
    points = sampler_law.points_needed(field, box, sampler_law.FOR_MEANS_DENSITY)
    sampler_law.refuse_too_many(field, box, points, sampler_law.FOR_MEANS_REACH)
    sampler_law.refuse_too_long(field, box, points, steps, sampler_law.FOR_MEANS_REACH)


def algorithm_density_for_means(
    scenario: Scenario, sampler: str, steps: ArrayLike, box: ArrayLike | None = None
) -> Law:
    """Return the sampler's own law with means right to about 1e-6; ``box``: one that holds a similar law, to begin with.

    Raises
    ------
    ValueError
        For what is out of reach, before any work, or where no box holds the law.
    """
    field, at = density_field(scenario, sampler, "algorithm_density"), increasing(steps, "steps")
    N, reach = scenario.dimension, sampler_law.FOR_MEANS_REACH
    sampler_law.noise_covariances(field)  # refuses before any work
    sides = automatic_box(field) if box is None else read_box(box, N)
    if box is None and field.covariance.any() and np.isfinite(field.beta):
        sides = finite_volume.trimmed(field, sides, float(at[-1]) * field.epsilon, widenings=0)
    for _ in range(WIDENINGS):
        points = sampler_law.points_needed(field, sides, sampler_law.FOR_MEANS_DENSITY)
        sampler_law.refuse_too_long(field, sides, points, int(at[-1]), reach)
        found = sampler_law.solve(field, sides, points, at, reach)
        axes = spectral.point_axes(sides, points)
        law = Law(at, axes[0] if N == 1 else axes, found, sides, field.names, smooth=True)
        near_edge = max(edge_mass(law.density * law.volume, N), float(law.mass_error.max()))
        if near_edge <= MOST_EDGE_MASS:
            return law
        sides = wider(sides)
    raise ValueError(f"algorithm_density: mass {near_edge:.2g} lies near the edge of every box tried")
