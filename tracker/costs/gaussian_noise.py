"""Gaussian gradient noise: a factor of its covariance, and draws of it; c(theta, z) = C(theta) + z'theta, z ~ N(0, F F')."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.compiled import any_of, helper, in_lanes, inlined, room_for, where
from tracker.streams import draw_normals

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tracker.array_types import Array, Words


def noise_factor(covariance: Array) -> Array:
    """Return F, shape (N, rank), with F F' = covariance; rank normals are drawn a step, none for a zero covariance.

    Cholesky's factor where the covariance is positive definite, else by eigenvectors.
    """
    if not covariance.any():
        return np.zeros((covariance.shape[0], 0))
    diagonal = np.diag(covariance)
    if diagonal.all() and np.count_nonzero(covariance) == diagonal.size and diagonal.min() > 0.0:
        return np.diag(np.sqrt(diagonal))  # Cholesky's factor too, to the last bit
    try:
        return np.ascontiguousarray(np.linalg.cholesky(covariance), dtype=np.float64)
    except np.linalg.LinAlgError:
        eigenvalues, vectors = np.linalg.eigh(covariance)
        keep = eigenvalues > 1e-14 * max(float(eigenvalues[-1]), 0.0)
        return np.ascontiguousarray(vectors[:, keep] * np.sqrt(eigenvalues[keep]))


def noise_in_form(cost: Any, costs: Sequence[Any]) -> Any:
    """Return ``cost`` with as many columns in its ``noise`` as the most of ``costs`` have: those that it lacks are 0."""
    factors = [one.noise for one in costs]
    if len({factor.shape for factor in factors}) == 1:
        return cost
    drawn = [factor.shape for factor in factors if factor.shape[1]]
    F = cost.noise
    if len(set(drawn)) > 1 and len(F) == 1 < F.shape[1]:  # the diagonal of a factor, beside whole ones
        F = np.diag(F[0])
    size = max(rows for rows, _ in drawn)
    wide = np.zeros((size, max(rank for _, rank in drawn)))
    wide[: len(F), : F.shape[1]] = F[:size]
    return cost._replace(noise=wide)


@inlined
def _has(factor: Array, column: int) -> bool:
    """Tell whether a column of ``factor`` is not 0."""
    size = 0.0
    for d in range(factor.shape[0]):
        size += abs(factor[d, column])
    return size > 0.0


def columns_drawn(factor: Array) -> int:
    """Return how many normals a draw takes: as many as there are columns before those that are 0 (``noise_in_form``)."""
    rank = factor.shape[1]
    while rank > 0 and not _has(factor, rank - 1):
        rank -= 1
    return rank


def _all_columns(*_: Any) -> Callable[..., Any]:
    return lambda factor: factor.shape[1]


in_lanes(columns_drawn, _all_columns)


@helper
def _draw_columns(factor: Array, rank: int, stream: Words, n: Array) -> None:
    """Fill ``n`` (draws x rank) with normals; where a trial has 0 for a column, its stream stays where it is."""
    lacks = 0.0
    for c in range(rank):
        lacks += where(_has(factor, c), 0.0, 1.0)
    if not any_of(lacks > 0.0):
        draw_normals(stream, n)
        return
    one = room_for(stream, 1)
    for i in range(n.size):
        has = _has(factor, i % rank)
        a, b, c, d = stream[0], stream[1], stream[2], stream[3]
        draw_normals(stream, one)
        n[i] = one[0]
        stream[0], stream[1] = where(has, stream[0], a), where(has, stream[1], b)
        stream[2], stream[3] = where(has, stream[2], c), where(has, stream[3], d)


@helper
def observe_noise(factor: Array, count: int, stream: Words, out: Array) -> None:
    """Write ``count`` draws of z = factor n, n standard normal, to the rows of ``out``."""
    size, rank = factor.shape[0], columns_drawn(factor)
    n = room_for(stream, count * rank)
    _draw_columns(factor, rank, stream, n)
    if size == 1 < rank:  # the diagonal of a factor that has nothing beside it
        for i in range(count):
            for d in range(rank):
                out[i, d] = factor[0, d] * n[i * rank + d]
        return
    for i in range(count):
        for d in range(size):
            z = 0.0
            for c in range(rank):
                z += factor[d, c] * n[i * rank + c]
            out[i, d] = z
