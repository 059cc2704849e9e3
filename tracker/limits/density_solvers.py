"""Densities for N = 1 and 2: of the switched diffusion, and of the sampler itself."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tracker.limits import finite_volume, sampler_law, spectral
from tracker.limits.drift_field import Field, read_field
from tracker.limits.grid_box import CELL_EDGE_MASS, EDGE_MASS, automatic_box, edge_mass, read_box, warn_too_small, wider
from tracker.limits.grid_law import Law
from tracker.limits.scope import OutOfScope, put_together

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from tracker.array_types import Array
    from tracker.scenario import Scenario

    Solve = Callable[[Field, Array, Any, Array], Array]
    Counts = int | tuple[int, ...]

INSTEAD = "use coupled, which takes any dimension and any skew"
AGREEMENT = 2e-9  # of two resolutions of the spectral method: the finer one's error is then about this to the power 1.5
UNRESOLVED = 1e-4  # and by more: not a solution
REFINEMENT = 1.5
WIDENINGS = 4
LEAST_CELLS = 8  # a side
COARSE = 1e-2  # error of a density of cells above which it is said; so is a second moment that is off by such a share


def density(
    scenario: Scenario,
    sampler: str,
    times: ArrayLike,
    method: Literal["finite-volume", "spectral"] = "finite-volume",
    cells: int | None = None,
    box: ArrayLike | None = None,
) -> Law:
    """Return the law of the switched diffusion that a sampler tends to, at given times.

    Parameters
    ----------
    times : array_like
        Increasing, in units of t = k epsilon.
    method : "finite-volume" or "spectral"
        Positive and of order 2, or accurate to about 1e-11 for smooth costs.
    cells : int, optional
        Cells (points, for the spectral method) along each axis; an odd number of cells is made even.
    box : array_like, optional
        (low, high) for each axis; chosen from the costs and the start if not given.

    Raises
    ------
    OutOfScope
        For what is out of reach; it says what to use instead.

    Examples
    --------
    >>> import tracker
    >>> wells = tracker.load("scenarios/example_b.toml")
    >>> law = tracker.limits.density(wells, "classical", [1.0], method="spectral")
    >>> law.cdf([-1.0, 0.0, 1.0]).round(6)
    array([[0.100238, 0.439765, 0.848103]])
    """
    field = density_field(scenario, sampler, "density")
    refuse_no_density(field)
    at = increasing(times, "times")
    if method == "finite-volume":
        n = _count(cells, finite_volume.CELLS[scenario.dimension])
        n += n % 2
        law = _fitted(field, box, float(at[-1]), "density", lambda sides: _of_cells(field, sides, at, n))
        return _warned_if_coarse(law, scenario, sampler)
    if method != "spectral":
        raise ValueError(f'method: {method!r} must be "finite-volume" or "spectral"')
    return _fitted(field, box, float(at[-1]), "density", lambda sides: _spectral(field, sides, at, cells))


def algorithm_density(scenario: Scenario, sampler: str, steps: ArrayLike, box: ArrayLike | None = None) -> Law:
    """Return the law of the sampler itself after given numbers of steps; the fields are those of ``density``.

    Raises
    ------
    OutOfScope
        For what is out of reach; it says what to use instead.

    Examples
    --------
    >>> import tracker
    >>> wells = tracker.load("scenarios/example_b.toml")
    >>> tracker.limits.algorithm_density(wells, "classical", [4]).cdf([0.0]).round(6)
    array([[0.462895]])
    """
    field = density_field(scenario, sampler, "algorithm_density")
    at = increasing(steps, "steps")
    if np.any(at != np.rint(at)):
        raise ValueError(f"steps: {at.tolist()} must be whole numbers")
    if field.covariance.any() and not np.linalg.eigvalsh(field.covariance)[0] > 0.0:
        raise OutOfScope("algorithm_density: the start's covariance is singular", "give a point or a regular one")

    def law(sides: Array) -> Law:
        p = sampler_law.DENSITY[len(sides)]
        fine, coarse = (sampler_law.points_needed(field, sides, q) for q in (p, p / 1.25))
        sampler_law.refuse_too_many(field, sides, fine)  # before the coarse one is computed in vain
        return _refined(field, sides, at, sampler_law.solve, fine, coarse)

    sampler_law.noise_covariances(field)  # refuses before any work
    return _fitted(field, box, float(at[-1]) * field.epsilon, "algorithm_density", law)


def refuse_no_density(field: Field) -> None:
    """Refuse a limit whose law has no density."""
    if not np.isfinite(field.beta):
        raise OutOfScope('density: beta = "inf" leaves no diffusion, so no density', "use coupled")
    if not np.linalg.eigvalsh(field.covariance)[0] > 0.0:
        raise OutOfScope(
            "density: the start has no density (a point, or a singular covariance)",
            "give start = { mean, covariance }, or use algorithm_density, which is exact from the first step on, or coupled",
        )


def density_field(scenario: Scenario, sampler: str, tool: str) -> Field:
    """The field of a sampler, N = 1 or 2."""
    if scenario.dimension > 2:
        raise OutOfScope(f"{tool}: N = {scenario.dimension}, but densities are for N = 1 and 2", INSTEAD)
    return read_field(scenario, sampler)


def increasing(times: ArrayLike, name: str) -> Array:
    """Times or steps as an array, refused unless finite, >= 0 and increasing."""
    at = np.atleast_1d(np.asarray(times, dtype=np.float64))
    if at.ndim != 1 or at.size == 0 or not np.all(np.isfinite(at)) or at[0] < 0 or np.any(np.diff(at) < 0):
        raise ValueError(f"{name}: {at.tolist()} must be finite, >= 0 and increasing")
    return at


def _count(cells: int | None, default: int) -> int:
    if cells is None:
        return default
    if cells < LEAST_CELLS:
        raise ValueError(f"cells: {cells} is too few, at least {LEAST_CELLS} are needed")
    return int(cells)


def law_on_grid(field: Field, sides: Array, at: Array, solve: Solve, n: Counts, coarse: Law | None = None) -> Law:
    """The law by one solver, on one grid."""
    of_cells = solve is finite_volume.solve
    axes = finite_volume.cell_axes(sides, n) if isinstance(n, int) and of_cells else spectral.point_axes(sides, n)
    return Law(
        at=at,
        grid=axes[0] if len(axes) == 1 else axes,
        density=put_together(solve(field, sides, n, at), field.stages, axis=1),
        box=sides,
        names=field.names,
        smooth=not of_cells,
        coarse=coarse,
    )


def _refined(field: Field, sides: Array, at: Array, solve: Solve, fine: Counts, coarse: Counts) -> Law:
    return law_on_grid(field, sides, at, solve, fine, coarse=law_on_grid(field, sides, at, solve, coarse))


def _of_cells(field: Field, sides: Array, at: Array, n: int) -> Law:
    """Three grids, each with half the cells of the one before, so that their order can be seen; two where n is small."""
    law = None
    for cells in (n // 4, n // 2, n) if n % 4 == 0 and n // 4 >= LEAST_CELLS else (n // 2, n):
        law = law_on_grid(field, sides, at, finite_volume.solve, cells, coarse=law)
    assert law is not None  # there is a grid
    return law


def _warned_if_coarse(law: Law, scenario: Scenario, sampler: str) -> Law:
    """Say so where the cells are too coarse: by their own estimate, or by exact moments where the costs have them."""
    error, off = float(law.error_estimate.max()), _moments_off(law, scenario, sampler)
    if law.box_too_small or not max(error, off) > COARSE:
        return law
    known = f", and the largest second moment is off by {off:.2g} of itself" if off > COARSE else ""
    message = (
        f"density: {len(law.axes[0])} cells a side are too coarse for this drift: the error of the density is about {error:.2g}{known}; "
        'use method="spectral", or more cells='
    )
    warnings.warn(message, RuntimeWarning, stacklevel=3)
    return replace(law, too_coarse=True)


def _moments_off(law: Law, scenario: Scenario, sampler: str) -> float:
    """The largest error of E theta_a theta_b, as a share of the largest of them; 0 where they are not known exactly."""
    from tracker.limits.exact_moments import moments

    try:
        exact = moments(scenario, sampler, law.at).second
    except ValueError:
        return 0.0
    N = len(law.box)
    own = np.array([[law.expectation(lambda *z, a=a, b=b: z[a] * z[b]) for b in range(N)] for a in range(N)])
    gap = np.abs(np.moveaxis(own, -1, 0) - exact).max(axis=(1, 2))
    return float((gap / np.abs(exact).max(axis=(1, 2))).max())


def _spectral(field: Field, sides: Array, at: Array, cells: int | None) -> Law:
    """The law on so many points that two resolutions agree, or on the points asked for."""
    N = len(sides)
    if cells is not None:
        n = _count(cells, 0)
        return _refined(field, sides, at, spectral.solve, n, max(8, int(n / REFINEMENT)))
    n = spectral.FIRST_POINTS[N]
    law = law_on_grid(field, sides, at, spectral.solve, n)
    error = float("inf")
    while not error < AGREEMENT and n * REFINEMENT <= spectral.MOST_POINTS[N]:
        n = int(n * REFINEMENT) // 2 * 2
        try:
            law = law_on_grid(field, sides, at, spectral.solve, n, coarse=_without_coarse(law))
        except spectral.TooMuchWork:
            if not error < UNRESOLVED:
                raise
            break
        with np.errstate(over="ignore", invalid="ignore"):  # of a grid that is far too coarse
            error = float(law.error_estimate.max())
    if not error < UNRESOLVED:
        raise OutOfScope(
            f"density: {n} points a side do not resolve the law (error about {error:.2g}), which is narrow in a wide box",
            'use method="finite-volume", or give cells= or a smaller box=',
        )
    return law


def _without_coarse(law: Law) -> Law:
    return replace(law, coarse=None)


def _fitted(field: Field, box: ArrayLike | None, horizon: float, tool: str, solve: Callable[[Array], Law]) -> Law:
    """Solve on the box that was given, or on an automatic one; say if it is too small."""
    if box is not None:
        sides = read_box(box, len(field.mean))
    else:
        sides = automatic_box(field)
        if field.covariance.any() and np.isfinite(field.beta) and (len(sides) == 2 or tool == "density"):
            sides = finite_volume.trim_box(field, sides, horizon)
    # the box of the limit's law must not depend on the cells, or their order could not be seen
    attempts = WIDENINGS if box is None and tool == "algorithm_density" else 1
    for _ in range(attempts):
        law = solve(sides)
        near_edge = max(edge_mass(law.density * law.volume, len(sides)), float(law.mass_error.max()))
        if near_edge <= (EDGE_MASS if law.smooth else CELL_EDGE_MASS):
            return law
        sides = wider(sides)
    warn_too_small(law.box, near_edge, tool)
    return replace(law, box_too_small=True)
