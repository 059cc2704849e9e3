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

from tracker.limits import flow_law, mass_places, sampler_law, spectral
from tracker.limits.density_solvers import density_field, increasing, law_on_grid, refuse_no_density
from tracker.limits.grid_box import automatic_box, edge_mass, read_box, wider
from tracker.limits.grid_law import ORDER_2, Law, resample
from tracker.limits.scope import OutOfScope, put_together

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from tracker.array_types import Array
    from tracker.limits.drift_field import Field
    from tracker.scenario import Scenario


REFINEMENT = 4.0 / 3.0
WIDENINGS = 4
MOST_EDGE_MASS, MOST_LOST = 1e-6, 2e-5  # by waves, and by flows, which leave out points that hardly hold mass
MOST_PRODUCTS = 1.5e10  # of all transitions of a law: some 15 s
OWN_SHARE = 0.2  # of it is allowed for the sampler's own law at all its step sizes
MOST_OWN_PRODUCTS = OWN_SHARE * MOST_PRODUCTS
LOOKS = 1.5  # at the whole box, about, until it is seen where mass is
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
    most_work: float | None = None,
) -> Law:
    """Return the law of the limit, refined until its means are right to ``allowed``; ``times``: one, or its half and itself.

    By Fourier series where they are cheap; else by transitions of the flow, which no steep drift and no narrow law makes
    dear. ``most_work``: products of the latter, MOST_PRODUCTS if not given.

    Raises
    ------
    ValueError
        Where nothing within reach agrees, or the law does not fit into a box; the message says which.
    """
    field = density_field(scenario, sampler, "density")
    refuse_no_density(field)
    at, X = increasing(times, "times"), len(field.costs)
    most = MOST_PRODUCTS if most_work is None else most_work
    if (looking := coarse_work(field)) > most:
        raise spectral.TooMuchWork(
            f"density: {X} modes, or their data, are too many: to see where mass is takes {looking:.1g} products, and {most:.1g} "
            "are allowed"
        )
    most -= looking
    found = mass_places.places(field, automatic_box(field), float(at[-1]))
    try:
        return by_waves(field, found.box, at, apart, allowed)
    except ValueError:
        return by_flows(field, found, at, apart, allowed, most)


def coarse_work(field: Field) -> float:
    """The work of finding out where mass is, about."""
    N = len(field.mean)
    return LOOKS * flow_law.following(field, len(field.costs) * mass_places.LOOK_POINTS[N] ** N)


def by_waves(field: Field, sides: Array, at: Array, apart: Callable[[Law, Law], float], allowed: float) -> Law:
    """The law by Fourier series, on the first grid whose means are right to ``allowed``.

    That is a grid whose means are ``allowed`` apart from a coarser one's; or three grids whose differences fall with order 4 or
    faster, so that less than ``allowed`` is left on the finest.
    """
    N = len(sides)
    left = [spectral.MOST_WORK_FOR_MEANS[N]]
    refuse_too_narrow(field, sides, at, left[0])
    law = _agreed(field, sides, at, spectral.FIRST_POINTS[N], apart, allowed, left)
    near_edge = max(edge_mass(law.density * law.volume, N), float(law.mass_error.max()))
    if near_edge > MOST_EDGE_MASS:
        raise OutOfScope(f"density: mass {near_edge:.2g} lies near the edge of the box")
    return law


def by_flows(
    field: Field, found: mass_places.Places, at: Array, apart: Callable[[Law, Law], float], allowed: float, most: float
) -> Law:
    """The law by transitions of the flow, in twice as many steps again and again until the means are right to ``allowed``.

    Where three numbers of steps show order 2, the leading error is taken off, and two such laws must agree; otherwise the laws
    themselves must.
    """
    horizon, gap = float(at[-1]), np.inf
    laws: list[Law] = []
    taken: Law | None = None
    steps = flow_law.first_steps(field, found, horizon)
    while steps <= flow_law.MOST_STEPS:
        try:
            level = flow_law.level(field, found, horizon, steps, most)
        except flow_law.TooLarge as error:
            raise OutOfScope(f"density: the law is narrow in a wide box: {error}") from None
        most -= level.work
        axes = spectral.point_axes(found.box, level.points)
        rho = flow_law.solve(field, found.box, level, at, steps)
        law = Law(
            at,
            axes[0] if len(axes) == 1 else axes,
            put_together(rho, field.stages, axis=1),
            found.box,
            field.names,
            smooth=True,
        )
        _refuse_lost(law)
        if laws:
            before, last = taken, gap
            gap, coarse = apart(law, laws[-1]), resample(laws[-1].density, law.density.shape[2:])
            taken = replace(law, density=np.asarray((4.0 * law.density - coarse) / 3.0))
            if before is not None and last > ORDER_2[0] * gap and apart(taken, before) <= allowed:
                return replace(taken, coarse=before)
            if gap <= allowed:
                return replace(law, coarse=laws[-1])
        laws.append(law)
        steps *= 2
    raise OutOfScope(f"density: {flow_law.MOST_STEPS} steps do not resolve the law")


def _refuse_lost(law: Law) -> None:
    near_edge = max(edge_mass(law.density * law.volume, len(law.box)), float(law.mass_error.max()))
    if not near_edge <= MOST_LOST:
        raise OutOfScope(
            f"density: mass {near_edge:.2g} lies near the edge of the box or beyond: the law has no end within reach"
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
    """Refuse, before any work, a law for which the points that it wants, and the grid to compare with, take too much."""
    wanted, limit = points_wanted(field, sides, float(at[-1])), spectral.MOST_POINTS[len(sides)]
    n = int(REFINEMENT * max(spectral.FIRST_POINTS[len(sides)], wanted))
    work = spectral.work_for_means(field, sides, n, at) if n <= limit else np.inf
    if not work <= most:
        raise OutOfScope(
            f"density: {n} points a side take {work:.1g} values of the right-hand side, more than {most:.1g}"
        )


def _agreed(
    field: Field, sides: Array, at: Array, n: int, apart: Callable[[Law, Law], float], allowed: float, left: list[float]
) -> Law:
    """The law on the first of growing grids that is right to ``allowed``; ``left``: work, from which each grid takes."""
    from scipy.fft import next_fast_len

    def on_grid(n: int, coarse: Law | None) -> Law:
        work = spectral.work_for_means(field, sides, n, at)
        if work > left[0]:
            raise OutOfScope(
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
    raise OutOfScope(f"density: {n} points a side do not resolve the law: it is narrow in a wide box")


def refuse_algorithm_density(scenario: Scenario, sampler: str, steps: int, box: Array, most: float) -> float:
    """Refuse, before any work, the sampler's own law where it takes more than ``most`` products; return how many."""
    field = density_field(scenario, sampler, "algorithm_density")
    points = sampler_law.points_needed(field, box, sampler_law.FOR_MEANS_DENSITY)
    sampler_law.refuse_too_many(field, box, points, sampler_law.FOR_MEANS_REACH)
    return sampler_law.refuse_too_long(field, box, points, steps, sampler_law.FOR_MEANS_REACH, most)


def algorithm_density_for_means(
    scenario: Scenario, sampler: str, steps: ArrayLike, box: ArrayLike | None = None, most: float = MOST_OWN_PRODUCTS
) -> Law:
    """Return the sampler's own law with means right to about 1e-6.

    ``box``: one that holds a similar law, to begin with; ``most``: products, at most.

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
        sides = mass_places.places(field, sides, float(at[-1]) * field.epsilon).box
    for _ in range(WIDENINGS):
        points = sampler_law.points_needed(field, sides, sampler_law.FOR_MEANS_DENSITY)
        sampler_law.refuse_too_long(field, sides, points, int(at[-1]), reach, most)
        found = sampler_law.solve(field, sides, points, at, reach)
        axes = spectral.point_axes(sides, points)
        by_mode = put_together(found, field.stages, axis=1)
        law = Law(at, axes[0] if N == 1 else axes, by_mode, sides, field.names, smooth=True)
        near_edge = max(edge_mass(law.density * law.volume, N), float(law.mass_error.max()))
        if near_edge <= MOST_EDGE_MASS:
            return law
        sides = wider(sides)
    raise OutOfScope(f"algorithm_density: mass {near_edge:.2g} lies near the edge of every box tried")
