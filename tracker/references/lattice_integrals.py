"""Integrate exp(-f) over a line or a plane by the trapezoidal rule, on the lattice points that carry mass.

Notes
-----
For an analytic integrand on the whole plane the sum over a lattice of spacing h is exact up to terms like exp(-c/h): it
gains digits as fast as any rule, and halving h until nothing changes gives its own error estimate (the last change;
the error left is about its square). Nearly all points of a box are negligible where a law is narrow or has separate
modes, so only the children of points within ``DEPTH`` of the top are visited from one level to the next. On coarse
levels, where h may be wider than a mode, points within ``WIDE`` of the range of f are kept too.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from tracker.array_types import Array, Integers


DEPTH = 46.0  # exp(-46) = 1e-20 of the top: what is left out
WIDE = 0.02  # of the range of f; safe, because a cell is 1/64 of the box and f grows at least like a square
CELLS = 32  # of the first lattice, to each side of the centre
TOLERANCE = 1e-11  # of the last change, in units of standard deviations
MET = 1.0  # of f at the lattice point next to the bottom of a well, above that bottom, once the lattice resolves it
LEVELS = 60
MOST_POINTS = 2_000_000


class Lattice(NamedTuple):
    """The law with density proportional to exp(-f), as weights on lattice points.

    cells (n, r) whole numbers; points (n, r) = spacing * cells; weight (n,), sum 1; spacing; error: the last change of
    mass, mean and covariance when the spacing was halved, in units of standard deviations.
    """

    cells: Integers
    points: Array
    weight: Array
    spacing: float
    error: float

    @property
    def mean(self) -> Array:
        """The mean, shape (r,)."""
        return np.asarray(self.weight @ self.points)

    @property
    def covariance(self) -> Array:
        """The covariance, shape (r, r)."""
        centred = self.points - self.mean
        return np.asarray(centred.T @ (self.weight[:, np.newaxis] * centred))

    def marginal(self) -> tuple[Array, Array]:
        """Return the lattice of the first coordinate and its weights, which sum to 1."""
        first = self.cells[:, 0]
        low = first.min()
        weight = np.bincount(first - low, weights=self.weight)
        return self.spacing * (low + np.arange(weight.size)), np.asarray(weight)


class _Level(NamedTuple):
    """One lattice on the way: with ``settled`` only the points within ``DEPTH`` of the top were asked for."""

    lattice: Lattice
    mass: float
    settled: bool


def integrate(f: Callable[[Any], Array], rank: int, reach: float, wells: Array | None = None) -> Lattice:
    """Return the law proportional to exp(-f(u)), u in R^rank; beyond ``reach`` in any coordinate there is nothing.

    f : maps points (n, rank) to values (n,)
    wells : ndarray, shape (w, rank), known minima of f: however narrow they are, the lattice stays around them until it
        resolves them
    """
    if rank == 0:
        return Lattice(np.zeros((1, 0), dtype=np.int64), np.zeros((1, 0)), np.ones(1), 1.0, 0.0)
    spacing = reach / CELLS
    index = np.array(list(product(range(-CELLS, CELLS + 1), repeat=rank)), dtype=np.int64)
    before: _Level | None = None
    bottoms = np.zeros((0, rank)) if wells is None else wells
    depths = f(bottoms)
    for _ in range(LEVELS):
        values = f(spacing * index)
        least = float(values.min())
        depth = max(DEPTH, WIDE * float(values.max() - least))
        at_wells = np.rint(bottoms / spacing).astype(np.int64)
        # a lattice that is far above the known bottom of a well has not met it yet
        settled = depth == DEPTH and bool((f(spacing * at_wells) < depths + MET).all())
        level = _level(index, spacing, values - least, least, settled=settled)
        if before is not None and before.settled and level.settled:
            error = _change(before, level)
            # rounding of f itself, of size |f| ulp, is the floor
            if error < max(TOLERANCE, 32.0 * np.finfo(float).eps * abs(least)):
                return level.lattice._replace(error=error)
        before = level
        kept = np.vstack([index[values <= least + depth], at_wells])
        if len(kept) << rank > MOST_POINTS:
            break
        index = _children(kept)
        spacing /= 2.0
    raise ValueError(
        f"the law is too narrow for its extent: more than {MOST_POINTS} points would be needed to integrate it"
    )


def _level(index: Integers, spacing: float, above: Array, least: float, *, settled: bool) -> _Level:
    raw = np.exp(-above)
    total = float(raw.sum())
    mass = np.log(total) + index.shape[1] * np.log(spacing) - least
    return _Level(
        Lattice(index, np.asarray(spacing * index, dtype=float), raw / total, spacing, np.inf), float(mass), settled
    )


def _change(before: _Level, after: _Level) -> float:
    """Return how much the logarithm of the mass, the mean and the covariance moved, in units of standard deviations."""
    covariance = after.lattice.covariance
    deviations = np.sqrt(np.diag(covariance))
    if not (deviations > 0.0).all():
        return np.inf
    moved = np.abs(after.lattice.mean - before.lattice.mean) / deviations
    spread = np.abs(covariance - before.lattice.covariance) / np.outer(deviations, deviations)
    return float(max(abs(after.mass - before.mass), moved.max(), spread.max()))


def _children(kept: Integers) -> Integers:
    """Return the points of the lattice of half the spacing within one old cell of the kept ones."""
    low = 2 * kept.min(axis=0) - 2
    shape = tuple((2 * kept.max(axis=0) + 3 - low).tolist())
    offsets = np.array(list(product(range(-2, 3), repeat=kept.shape[1])), dtype=np.int64)
    near = (2 * kept[:, np.newaxis] + offsets - low).reshape(-1, kept.shape[1])
    codes = np.unique(np.ravel_multi_index(tuple(near.T), shape))
    return np.stack(np.unravel_index(codes, shape), axis=1) + low
