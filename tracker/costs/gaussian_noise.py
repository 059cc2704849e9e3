"""Gaussian gradient noise: a factor of its covariance, and draws of it; c(theta, z) = C(theta) + z'theta, z ~ N(0, F F')."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.compiled import helper, room_for
from tracker.streams import draw_normals

if TYPE_CHECKING:
    from tracker.array_types import Array, Words


def noise_factor(covariance: Array) -> Array:
    """Return F, shape (N, rank), with F F' = covariance; rank normals are drawn a step, none for a zero covariance.

    Cholesky's factor where the covariance is positive definite, else by eigenvectors.
    """
    if not covariance.any():
        return np.zeros((covariance.shape[0], 0))
    try:
        return np.ascontiguousarray(np.linalg.cholesky(covariance), dtype=np.float64)
    except np.linalg.LinAlgError:
        eigenvalues, vectors = np.linalg.eigh(covariance)
        keep = eigenvalues > 1e-14 * max(float(eigenvalues[-1]), 0.0)
        return np.ascontiguousarray(vectors[:, keep] * np.sqrt(eigenvalues[keep]))


@helper
def observe_noise(factor: Array, count: int, stream: Words, out: Array) -> None:
    """Write ``count`` draws of z = factor n, n standard normal, to the rows of ``out``."""
    size, rank = factor.shape
    n = room_for(stream, count * rank)
    draw_normals(stream, n)
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
