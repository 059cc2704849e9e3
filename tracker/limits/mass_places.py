"""Find where the law of the limit ever has mass, by a coarse law, and trim the box to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.limits.flow_transitions import REACH, conditional_spreads, scale_columns, switching, transition
from tracker.limits.grid_box import EDGE, wider
from tracker.limits.sampler_law import sparse_kernel
from tracker.limits.spectral import initial_density, point_axes

if TYPE_CHECKING:
    from tracker.array_types import Array, Booleans, Integers
    from tracker.limits.drift_field import Field

LOOK_STEPS, LOOKS, WIDENINGS = 64, 6, 3  # of the coarse law; how often it is computed, and how often in a wider box
LOOK_POINTS, LOOK_DENSITY = {1: 256, 2: 128}, 0.5  # a side; of them in the narrowest standard deviation
# Neighbours whose transitions are computed with those that have mass, so that it is done a few times only.
NEIGHBOURS_AHEAD = {1: 64, 2: 6}
SHRINKS = 0.8  # a box that keeps this share of its sides is not trimmed again
NO_MASS, LITTLE_MASS = 1e-10, 1e-5  # of a point of the coarse law: is never there; need not be resolved
SUBSTEPS_NEARLY_AGREE = 0.1  # share of the noise


class Places(NamedTuple):
    """Where mass is: on a coarse grid of ``box``, by mode, ever more than NO_MASS and LITTLE_MASS of it."""

    box: Array
    any: Booleans
    much: Booleans


def places(field: Field, box: Array, horizon: float) -> Places:
    """Trim the box to where a coarse law ever has mass. Its noise is widened to its grid, so it errs towards too much."""
    widenings = 0
    for _ in range(LOOKS):
        found = _look(field, box, horizon)
        if _fills(found.any) and widenings < WIDENINGS:
            # switches climb: what one mode holds may lie high up in the other
            box, widenings = wider(box), widenings + 1
            continue
        trimmed = _around(found)
        kept = (trimmed[:, 1] - trimmed[:, 0]) / (box[:, 1] - box[:, 0])
        if kept.min() > SHRINKS:
            break
        box = trimmed
    return found


def _fills(held: Booleans) -> bool:
    return any(np.take(held, [0, -1], axis=axis).any() for axis in range(1, held.ndim))


def _look(field: Field, box: Array, horizon: float) -> Places:
    """Where the coarse law has mass; transitions are computed of points that have some, when they first have."""
    N, X, h = len(box), len(field.costs), horizon / LOOK_STEPS
    axes = point_axes(box, LOOK_POINTS[N])
    sides = np.array([axis[1] - axis[0] for axis in axes])
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, N)
    least = np.diag((LOOK_DENSITY * sides) ** 2)
    rho = initial_density(field, axes, field.covariance + least).reshape(X, -1) * float(np.prod(sides))
    most, known = np.zeros_like(rho), np.zeros(rho.shape, dtype=bool)
    kernels: list[list[tuple[Integers, Any]]] = [[] for _ in range(X)]
    switch, shape = switching(field, h), (X, *(len(axis) for axis in axes))
    for _ in range(LOOK_STEPS):
        most = np.maximum(most, rho)
        for mode in range(X):
            held = rho[mode] > NO_MASS
            if not known[mode][held].all():
                new = np.flatnonzero(_grown(held.reshape(1, *shape[1:]), NEIGHBOURS_AHEAD[N]).ravel() & ~known[mode])
                known[mode, new] = True
                mean, V = transition(field, mode, grid[new], h, SUBSTEPS_NEARLY_AGREE)
                narrow = (conditional_spreads(V) ** 2 < np.diag(least)).any(axis=1)
                V[narrow] += least
                kernels[mode].append((new, scale_columns(sparse_kernel(mean, V, axes, REACH[N]))))
        rho = switch @ np.array(
            [sum((K @ r[own] for own, K in kernels[mode]), np.zeros(len(grid))) for mode, r in enumerate(rho)]
        )
    most = np.maximum(most, rho)
    return Places(box, _grown((most > NO_MASS).reshape(shape)), (most > LITTLE_MASS).reshape(shape))


def _grown(mask: Booleans, by: int = 1) -> Booleans:
    """With the neighbours of every point that is in, so many along each axis; the first axis is the mode's."""
    from scipy.ndimage import maximum_filter

    return np.asarray(maximum_filter(mask, size=(1, *(2 * by + 1,) * (mask.ndim - 1)), mode="constant"))


def _around(found: Places) -> Array:
    """The part of the box that holds mass, with an empty edge."""
    sides = []
    for a, (low, high) in enumerate(found.box):
        held = np.flatnonzero(found.any.any(axis=tuple(b for b in range(found.any.ndim) if b != a + 1)))
        h = (high - low) / found.any.shape[a + 1]
        first, last = low + h * held[0], low + h * (held[-1] + 1)
        sides.append([first - EDGE * (last - first), last + EDGE * (last - first)])
    return np.array(sides)
