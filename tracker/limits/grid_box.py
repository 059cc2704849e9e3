"""Choose the box on which a law is computed, and warn where it is too small.

Notes
-----
-(I + S) grad C_i never leaves a level set {C_i <= c}, and Gibbs' law has mass exp(-beta (c - min C_i)) outside. So the
box holds, for every mode, the level set DEPTH / beta above the minimum, the other modes' minimisers and the start (the
process may be there when the mode begins).
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from tracker.limits.scope import OutOfScope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from tracker.array_types import Array, Booleans
    from tracker.limits.drift_field import Field


DEPTH = 34.0  # exp(-34) = 2e-15
DEVIATIONS = 8.2  # of a Gaussian start: 2e-16 outside
SCAN = {1: 1601, 2: 161}  # points a side when level sets are looked for
GROWTH, MOST_GROWTHS = 1.6, 60
EDGE = 0.04  # part of a side that counts as near the edge
EDGE_MASS, CELL_EDGE_MASS = 1e-10, 1e-6  # more near the edge: the box is too small (cells smear a little)
_TOO_FAR = 1e150


def read_box(box: ArrayLike, N: int) -> Array:
    """Return a box as rows (low, high), shape (N, 2); one pair serves every axis."""
    sides = np.array(box, dtype=np.float64)
    sides = np.tile(sides, (N, 1)) if sides.shape == (2,) else sides
    if sides.shape != (N, 2) or not np.all(np.isfinite(sides)) or np.any(sides[:, 0] >= sides[:, 1]):
        raise ValueError(f"box: {sides.tolist()} must be {N} pair(s) (low, high) with low < high")
    return sides


def automatic_box(field: Field, wells: Array | None = None) -> Array:
    """Return a box, rows (low, high), that holds the law at all times to about 1e-14.

    wells : ndarray, shape (w, N), places that it must hold from the beginning: beyond a high barrier no growing finds them
    """
    spread = DEVIATIONS * np.sqrt(np.diag(field.covariance))
    start = np.column_stack([field.mean - spread, field.mean + spread])
    hull = start
    if wells is not None:
        hull = np.column_stack([np.minimum(start[:, 0], wells.min(axis=0)), np.maximum(start[:, 1], wells.max(axis=0))])
    sides = hull + np.array([-1.0, 1.0]) * np.maximum(1.0, np.abs(field.mean))[:, None]
    for _ in range(MOST_GROWTHS):
        inside, open_sides = _level_box(field, sides, start, hull)
        if wells is not None and not open_sides.any():
            open_sides[:] = _comes_down_again(field, sides)
        if not open_sides.any():
            break
        half = (sides[:, 1] - sides[:, 0]) / 2 * (GROWTH - 1.0)
        sides = np.column_stack([sides[:, 0] - half * open_sides[:, 0], sides[:, 1] + half * open_sides[:, 1]])
        if np.abs(sides).max() > _TOO_FAR:
            raise OutOfScope("box: no box holds the level sets of the costs", "give one with box=")
    else:
        raise OutOfScope("box: no box holds the level sets of the costs", "give one with box=")
    for _ in range(3):  # again on a finer scan, so that the margin of one scanned cell is small
        inside, _ = _level_box(field, inside, start, hull)
    return inside


def _comes_down_again(field: Field, sides: Array) -> bool:
    """Tell whether the level sets go on beyond a box whose edge they do not reach: seen twice and four times as far out."""
    level = float(field.values(0, field.mean[None])[0]) + DEPTH / field.beta
    for factor in (2.0, 4.0):
        axes = [np.linspace(low, high, SCAN[len(sides)]) for low, high in wider(sides, factor)]
        points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        rim = np.concatenate([np.moveaxis(points, a, 0)[[0, -1]].reshape(-1, len(sides)) for a in range(len(sides))])
        with np.errstate(over="ignore", invalid="ignore"):
            if (field.values(0, rim) <= level).any():
                return True
    return False


def _level_box(field: Field, sides: Array, start: Array, hull: Array) -> tuple[Array, Booleans]:
    """Return the bounding box, a cell wider, of what must be held, and the sides (N, 2) that it reaches."""
    N = len(sides)
    axes = [np.linspace(low, high, SCAN[N]) for low, high in sides]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    with np.errstate(over="ignore", invalid="ignore"):
        C = np.array([field.values(i, points) for i in range(len(field.costs))])
    C = np.where(np.isfinite(C), C, np.inf)
    flat = C.reshape(len(C), -1)
    held = np.zeros(points.shape[:-1], dtype=bool)
    deviations = np.concatenate([field.mean[None], *(_tips(start, field.mean, a) for a in range(N))])
    for i in range(len(C)):
        at_start = field.values(i, deviations)
        minimisers = flat[i, flat.argmin(axis=1)]
        base = max(float(minimisers.max()), float(at_start[0]))
        held |= C[i] <= max(base + DEPTH / field.beta, float(at_start.max()))
    box, reached = np.empty((N, 2)), np.zeros((N, 2), dtype=bool)
    for a, axis in enumerate(axes):
        inside = np.flatnonzero(held.any(axis=tuple(b for b in range(N) if b != a)))
        low, high = (int(inside[0]), int(inside[-1])) if len(inside) else (0, len(axis) - 1)
        reached[a] = low == 0, high == len(axis) - 1
        box[a] = axis[max(low - 1, 0)], axis[min(high + 1, len(axis) - 1)]
        box[a] = min(box[a, 0], hull[a, 0]), max(box[a, 1], hull[a, 1])
    return box, reached


def _tips(start: Array, mean: Array, axis: int) -> Array:
    """The ends of the start's box along one axis, shape (2, N)."""
    tips = np.tile(mean, (2, 1))
    tips[:, axis] = start[axis]
    return tips


def wider(box: Array, factor: float = 1.25) -> Array:
    """Return the box with every side longer."""
    middle, half = box.mean(axis=1), (box[:, 1] - box[:, 0]) / 2 * factor
    return np.column_stack([middle - half, middle + half])


def edge_mass(masses: Array, N: int) -> float:
    """Return the largest mass near the edge; masses : shape (times, X, n) or (times, X, n, n), by cells."""
    mixed = np.abs(masses).sum(axis=1)
    worst = 0.0
    for axis in range(1, N + 1):
        rim = max(1, round(EDGE * mixed.shape[axis]))
        moved = np.moveaxis(mixed, axis, -1)
        other: Sequence[int] = tuple(range(1, N + 1))
        worst = max(worst, float((moved[..., :rim].sum(axis=other) + moved[..., -rim:].sum(axis=other)).max()))
    return worst


def warn_too_small(box: Array, mass: float, tool: str) -> None:
    """Say that a law does not fit into its box."""
    sides = " x ".join(f"[{low:.4g}, {high:.4g}]" for low, high in box)
    message = f"{tool}: the box {sides} is too small: mass {mass:.2g} lies near its edge or beyond; give a wider box="
    warnings.warn(message, RuntimeWarning, stacklevel=4)
