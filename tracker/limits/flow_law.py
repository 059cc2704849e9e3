"""The law of the limit by short transitions (``flow_transitions``) on a grid that resolves their noise.

Notes
-----
The modes switch by exp(h G / 2) before and after each transition. The error is of order h^2 where all is smooth, and
independent of how steep the drift or how narrow the law is: only the grid must resolve the noise of a step. Points that never
hold mass (``mass_places``) are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tracker.limits.drift_field import NUMBERS, numbers_of
from tracker.limits.flow_transitions import REACH, conditional_spreads, scale_columns, switching, transition
from tracker.limits.sampler_law import sparse_kernel
from tracker.limits.scope import OutOfScope
from tracker.limits.spectral import TooMuchWork, initial_density, point_axes

if TYPE_CHECKING:
    from tracker.array_types import Array, Integers
    from tracker.limits.drift_field import Field
    from tracker.limits.mass_places import Places

LEAST_POINTS = {1: 128, 2: 40}
DENSITY = {1: 1.2, 2: 0.85}  # points in the narrowest standard deviation of a step
FEWEST_STEPS, EASY_SUBSTEPS, EASY = 8, 16, 0.95  # the first number of steps is one whose flows mostly settle so soon
MOST_STEPS = 4096
# Work is counted in products of an entry and a mass, about 1e-9 s: an entry takes so many to build, and a point of the grid, or of
# the coarse law, so many to follow the flow; more where the cost is made of many numbers.
BUILDING, FLOW = 40, 20_000
MOST_ENTRIES = 30_000_000  # 0.25 GB, and half as much again while they are built


class TooLarge(OutOfScope):
    """More entries than fit into memory."""


class Level(NamedTuple):
    """One number of steps: the grid that resolves their noise, and where every point that holds mass goes.

    held : for each mode the flat indices of those points; means, covariances : of where they go, (P, N), (P, N, N)
    work : of the transitions and the steps, in products
    """

    points: tuple[int, ...]
    held: list[Integers]
    means: list[Array]
    covariances: list[Array]
    work: float


def first_steps(field: Field, found: Places, horizon: float) -> int:
    """A number of steps whose flows are short enough for errors of order 2 to be seen."""
    at = np.stack(np.meshgrid(*point_axes(found.box, found.any.shape[1]), indexing="ij"), axis=-1)
    steps = FEWEST_STEPS
    for mode in range(len(field.costs)):
        while steps < MOST_STEPS and found.much[mode].any():
            mean, _ = transition(field, mode, at[found.much[mode]], horizon / steps, most=EASY_SUBSTEPS)
            if np.isfinite(mean).all(axis=1).mean() >= EASY:
                break
            steps *= 2
    return steps


def following(field: Field, points: float) -> float:
    """The work of following so many points."""
    return points * FLOW * (1.0 + max(map(numbers_of, field.costs)) / NUMBERS)


def level(field: Field, found: Places, horizon: float, steps: int, most: float) -> Level:
    """The grid for so many steps, and its transitions.

    Raises
    ------
    TooLarge, TooMuchWork
        Where they are too many, or the work is more than ``most``; before it is done.
    """
    N, X, h = len(found.box), len(field.costs), horizon / steps
    lengths = found.box[:, 1] - found.box[:, 0]
    points = _points(field, found, h)
    look = found.any.shape[1]
    _refuse(
        points, float(np.prod(np.array(points, dtype=float))) * float(found.any.sum(axis=0).mean()), 0.0, steps, most
    )
    index = np.ix_(*(np.arange(n) * look // n for n in points))
    held = [np.flatnonzero(found.any[mode][index]) for mode in range(X)]
    flows = following(field, sum(map(len, held)))
    _refuse(points, 0.0, flows, steps, most)
    grid = np.stack(np.meshgrid(*point_axes(found.box, points), indexing="ij"), axis=-1).reshape(-1, N)
    means, covariances, entries = [], [], 0.0
    for mode in range(X):
        mean, V = transition(field, mode, grid[held[mode]], h)
        fine = np.isfinite(mean).all(axis=1) & np.isfinite(V).all(axis=(1, 2))
        held[mode] = held[mode][fine]
        means.append(mean[fine])
        covariances.append(V[fine])
        reached = 2 * REACH[N] * np.sqrt(np.einsum("pii->pi", V[fine])) / (lengths / points) + 1
        entries += float(np.prod(reached, axis=1).sum())
    return Level(points, held, means, covariances, _refuse(points, entries, flows, steps, most))


def _points(field: Field, found: Places, h: float) -> tuple[int, ...]:
    """Points a side that resolve the start and the noise of a step, wherever there is much mass."""
    N = len(found.box)
    at = np.stack(np.meshgrid(*point_axes(found.box, found.any.shape[1]), indexing="ij"), axis=-1)
    spreads = [conditional_spreads(field.covariance[None])[0]]
    for mode in range(len(field.costs)):
        if found.much[mode].any():
            V = transition(field, mode, at[found.much[mode]], h)[1]
            spreads.append(np.nanmin(conditional_spreads(V), axis=0, initial=np.inf))
    wanted = (found.box[:, 1] - found.box[:, 0]) * DENSITY[N] / np.min(spreads, axis=0)
    return tuple(int(np.ceil(max(n, LEAST_POINTS[N]))) for n in np.minimum(wanted, 1e6))


def _refuse(points: tuple[int, ...], entries: float, flows: float, steps: int, most: float) -> float:
    """The work; refused where it is too much."""
    work = flows + entries * (BUILDING + steps)
    grid = " x ".join(map(str, points))
    if entries > MOST_ENTRIES:
        raise TooLarge(f"{steps} steps on {grid} points need {entries:.1g} entries, more than {MOST_ENTRIES:.1g}")
    if work > most:
        raise TooMuchWork(
            f"density: {steps} steps on {grid} points take {work:.1g} products, and {most:.1g} are left of those allowed"
        )
    return work


def solve(field: Field, box: Array, on: Level, times: Array, steps: int) -> Array:
    """Densities at ``times``, which are whole numbers of the ``steps`` that lead to the last, shape (T, X, n) or (T, X, n, n)."""
    h = float(times[-1]) / steps
    axes = point_axes(box, on.points)
    N = len(box)
    dtype = np.float64 if N == 1 else np.float32
    # single precision for N = 2: its 6e-8 is far below what is left out above, and entries are what takes memory
    kernels = [
        scale_columns(sparse_kernel(mean, V, axes, REACH[N], dtype))
        for mean, V in zip(on.means, on.covariances, strict=True)
    ]
    half = switching(field, h / 2)
    start = initial_density(field, axes)
    rho, out, k = start.reshape(len(start), -1), [], 0
    for t in times:
        for _ in range(k, round(float(t) / h)):
            rho = half @ rho
            rho = half @ np.array([K @ r[own].astype(dtype) for K, r, own in zip(kernels, rho, on.held, strict=True)])
        k = round(float(t) / h)
        out.append(rho.reshape(start.shape))
    return np.array(out)
