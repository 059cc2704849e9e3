"""Laws for their means alone, N = 1 and 2: less work, stopped by the means themselves, and refused by their size.

Notes
-----
A check of convergence compares means with trials, which see 1e-2 standard deviations at best. So the grid is refined until
the means agree, not the density, and no law may take more than a number of values that is known before it begins.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tracker.limits import finite_volume, kernel_law, spectral
from tracker.limits.box import automatic_box, edge_mass, read_box, wider
from tracker.limits.density import density_field, increasing, law_on_grid, refuse_no_density
from tracker.limits.law import Law

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from tracker.limits.field import Field
    from tracker.scenario import Scenario

    Array = NDArray[np.float64]

REFINEMENT = 4.0 / 3.0
WIDENINGS = 4
MOST_EDGE_MASS = 1e-6


def density_for_means(
    scenario: Scenario, sampler: str, times: ArrayLike, agree: Callable[[Law, Law], bool], points: int | None = None
) -> Law:
    """Return the law of the limit by Fourier series, on the first grid whose means ``agree`` with those of a coarser one.

    ``points``: a side, of the first grid, if a similar law is known already. A grid may take so many steps and no more.

    Raises
    ------
    ValueError
        Where no grid within reach agrees, or the law does not fit into a box; the message says which.
    """
    field = density_field(scenario, sampler, "density")
    refuse_no_density(field)
    at, N = increasing(times, "times"), scenario.dimension
    sides = finite_volume.trimmed(field, automatic_box(field), float(at[-1]), widenings=0)
    n = points or spectral.FIRST_POINTS[N]
    for _ in range(WIDENINGS):
        law = _agreed(field, sides, at, n, agree)
        near_edge = max(edge_mass(law.density * law.volume, N), float(law.mass_error.max()))
        if near_edge <= MOST_EDGE_MASS:
            return law
        sides, n = wider(sides), len(law.axes[0])
    raise ValueError(
        f"density: mass {near_edge:.2g} lies near the edge of every box tried: the law has no end within reach"
    )


def _agreed(field: Field, sides: Array, at: Array, n: int, agree: Callable[[Law, Law], bool]) -> Law:
    """The law on the first of growing grids that agrees with the one before."""
    from scipy.fft import next_fast_len

    law = law_on_grid(field, sides, at, spectral.solve_for_means, n)
    while n * REFINEMENT <= spectral.MOST_POINTS[len(sides)]:
        n = next_fast_len(int(n * REFINEMENT) // 2 * 2, real=True)
        before = replace(law, coarse=None)
        law = law_on_grid(field, sides, at, spectral.solve_for_means, n, coarse=before)
        if np.isfinite(law.density).all() and np.isfinite(before.density).all() and agree(law, before):
            return law
    raise ValueError(f"density: {n} points a side do not resolve the law: it is narrow in a wide box")


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
    N, reach = scenario.dimension, kernel_law.FOR_MEANS_REACH
    kernel_law.noise_covariances(field)  # refuses before any work
    sides = automatic_box(field) if box is None else read_box(box, N)
    if box is None and field.covariance.any() and np.isfinite(field.beta):
        sides = finite_volume.trimmed(field, sides, float(at[-1]) * field.epsilon, widenings=0)
    for _ in range(WIDENINGS):
        points = kernel_law.points_needed(field, sides, kernel_law.FOR_MEANS_DENSITY)
        kernel_law.refuse_too_long(field, sides, points, int(at[-1]), reach)
        found = kernel_law.solve(field, sides, points, at, reach)
        axes = spectral.point_axes(sides, points)
        law = Law(at, axes[0] if N == 1 else axes, found, sides, field.names, smooth=True)
        near_edge = max(edge_mass(law.density * law.volume, N), float(law.mass_error.max()))
        if near_edge <= MOST_EDGE_MASS:
            return law
        sides = wider(sides)
    raise ValueError(f"algorithm_density: mass {near_edge:.2g} lies near the edge of every box tried")
