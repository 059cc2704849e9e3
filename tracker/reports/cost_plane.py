"""Where a landscape is drawn: the line of theta for N = 1, its plane for N = 2, the plane in which it moves most for N > 2.

The cost and the target of a mode are evaluated on a grid of that plane through the mode's minimiser. The target is drawn as
the set of points that count as inside: distances are taken where the cost measures them, so twins have rings of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tracker.costs.base import expected_of_each
from tracker.scenario.builders import distance_coordinates

if TYPE_CHECKING:
    from tracker.array_types import Array
    from tracker.reports.run_view import View

GRID = {1: 201, 2: 33}  # points a side
COARSE_GRID = 23  # of a plane through more dimensions, where a cost takes longer
MOST_RECORDS = 4000  # that decide where the plane lies and how far it reaches
FAR_ABOVE = 4.0  # times the median error of the samplers: such a sampler would shrink all others to a dot
REACH = (0.004, 0.996)  # quantiles of the records that are drawn
MARGIN = 0.06  # of the reach
LEVELS = (0.1, 0.3, 0.5, 0.7, 0.85, 0.95, 0.99)  # quantiles of the excess cost at the records: the contours


class Surface(NamedTuple):
    """The excess cost of a mode on the grid, and the distance to its nearest target over its radius: 1 at the edge."""

    cost: Array
    target: Array | None


@dataclass(frozen=True)
class Plane:
    """The plane of a run: ``axes`` (2, N) or (1, N), orthonormal rows; a point theta stands at axes @ theta."""

    view: View
    axes: Array
    kept: dict[int, Surface] = field(default_factory=dict, compare=False)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the axes."""
        if self.axes.shape[1] <= 2:
            return ("θ₁", "θ₂")[: len(self.axes)]
        return ("direction that moves most", "the next")

    def places(self, theta: Array) -> Array:
        """Return where points (..., N) stand, shape (..., 2) or (..., 1)."""
        return np.asarray(theta @ self.axes.T)

    @cached_property
    def limits(self) -> Array:
        """The ends of what is drawn, shape (axes, 2): records, minimisers and targets of the usual size."""
        found = self.places(records_of(self.view))
        ends = np.quantile(found, REACH, axis=0).T if len(found) else np.zeros((len(self.axes), 2))
        for mode in self.view.modes:
            points = self.places(mode.minimisers)
            reach = (
                np.sqrt(mode.radius2)
                if np.isfinite(mode.radius2) and mode.targets.shape == mode.minimisers.shape
                else 0.0
            )
            ends[:, 0] = np.minimum(ends[:, 0], points.min(axis=0) - reach)
            ends[:, 1] = np.maximum(ends[:, 1], points.max(axis=0) + reach)
        start = self.places(np.asarray(self.view.scenario.start_mean, dtype=float))
        width = np.diff(ends, axis=1)[:, 0]
        near = np.all(
            (start > ends[:, 0] - width) & (start < ends[:, 1] + width)
        )  # else the way in would shrink all else
        if near:
            ends = np.stack([np.minimum(ends[:, 0], start), np.maximum(ends[:, 1], start)], axis=1)
        width = np.maximum(np.diff(ends, axis=1)[:, 0], 1e-9)
        return np.stack([ends[:, 0] - MARGIN * width, ends[:, 1] + MARGIN * width], axis=1)

    @cached_property
    def ticks(self) -> list[Array]:
        """The points of the grid along each axis."""
        points = GRID[len(self.axes)] if self.axes.shape[1] <= 2 else COARSE_GRID
        return [np.linspace(low, high, points) for low, high in self.limits]

    def surface(self, x: int) -> Surface:
        """Return the landscape of mode x; rows of the grid follow the second axis. Several exhibits draw it: it is kept."""
        if x not in self.kept:
            self.kept[x] = self._surface(x)
        return self.kept[x]

    def _surface(self, x: int) -> Surface:
        mode = self.view.modes[x]
        grid = np.stack(np.meshgrid(*self.ticks, indexing="xy"), axis=-1)
        base = mode.minimisers[0] - self.axes.T @ (self.axes @ mode.minimisers[0])
        points = grid @ self.axes + base
        flat = np.ascontiguousarray(points.reshape(-1, points.shape[-1]))
        with np.errstate(over="ignore", invalid="ignore"):
            cost = expected_of_each(mode.cost, flat) - mode.floor
        target = None
        if np.isfinite(mode.radius2) and mode.radius2 > 0.0:
            places = np.array([distance_coordinates(mode.cost, point) for point in flat])
            away = ((places[:, np.newaxis] - mode.targets) ** 2).sum(axis=2).min(axis=1)
            target = np.sqrt(away / mode.radius2).reshape(points.shape[:-1])
        return Surface(cost.reshape(points.shape[:-1]), target)

    @cached_property
    def levels(self) -> Array:
        """Contours of the excess cost, the same in all panels: quantiles of what the records met."""
        excess = self.view.arrays["excess"][:, usual_samplers(self.view)]
        excess = excess[np.isfinite(excess) & (excess > 0.0)]
        found = np.unique(np.quantile(excess, LEVELS)) if excess.size else np.linspace(0.1, 1.0, 5)
        return np.asarray(found if found.size > 1 else np.array([found[0], 2.0 * found[0]]))


def plane_of(view: View) -> Plane:
    """Return the plane that shows most: all of theta for N <= 2, else the two directions in which the records move most."""
    N = view.scenario.dimension
    if N <= 2:
        return Plane(view, np.eye(N))
    found = records_of(view)
    points = np.concatenate([mode.minimisers for mode in view.modes])
    spread = np.concatenate([found - found.mean(axis=0), points - points.mean(axis=0)]) if len(found) else points
    vectors = np.linalg.svd(spread, full_matrices=False)[2][:2]
    largest = np.abs(vectors).argmax(axis=1)
    signs = np.sign(vectors[np.arange(len(vectors)), largest])  # else the sign is an accident of the solver
    return Plane(view, vectors * signs[:, np.newaxis])


def usual_samplers(view: View) -> list[int]:
    """Return the places of the samplers that decide what is drawn: all but those whose error is far above the median one."""
    errors = np.array([mean_or_nan(view.tracking_error[:, n]) for n in range(len(view.samplers))])
    usual = np.flatnonzero(errors <= FAR_ABOVE * np.nanmedian(errors)) if np.isfinite(errors).any() else ()
    return [int(n) for n in usual] or list(range(len(view.samplers)))


def mean_or_nan(values: Array) -> float:
    """Return the mean of what is finite; nan where nothing is."""
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if finite.size else float("nan")


def records_of(view: View) -> Array:
    """Return recorded points of the usual samplers after the burn-in, thinned evenly, shape (n, N), without diverged trials."""
    names = usual_samplers(view)
    theta = view.theta[:, names][:, :, view.averaged]
    kept = theta[np.broadcast_to(view.kept[:, names, np.newaxis], theta.shape[:3])]
    kept = kept[np.isfinite(kept).all(axis=-1)]
    return np.asarray(kept[:: max(1, -(-len(kept) // MOST_RECORDS))], dtype=float)
