"""Measure the path of the skew matrix S: its size, its time at the bounds, and the noise that it amplifies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tracker.array_types import Array


TOUCHING_A_BOUND = 1e-9  # of the width of the bounds: S is clipped to them exactly, or reflected just inside


def rms(pairs: Array) -> Array:
    """Return the root mean square over the entries S(i, j), i > j, shape (...), from (..., pairs)."""
    return np.asarray(np.sqrt(np.mean(pairs**2, axis=-1)))


def share_at_bounds(pairs: Array, low: float, high: float) -> float:
    """Return the share of finite entries that lie on a bound."""
    margin = TOUCHING_A_BOUND * (high - low)
    finite = np.isfinite(pairs)
    if not finite.any():
        return float("nan")
    return float(((pairs <= low + margin) | (pairs >= high - margin))[finite].mean())


def noise_ratio(S: Array, noise: Array, epsilon: float, beta: float) -> float:
    """Return the variance of gradient noise over that of injected noise in the direction where it is largest.

    S, noise : ndarray, shape (N, N); ``noise`` is the covariance Sigma of the gradient.

    Notes
    -----
    A step adds epsilon^2 M Sigma M' to (2 epsilon / beta) I, M = I + S: the ratio is epsilon beta / 2 times the largest
    eigenvalue of M Sigma M'. At 1 the sampler is twice as hot in that direction as it should be. inf where no noise is
    injected.
    """
    M = np.eye(len(S)) + S
    largest = float(np.linalg.eigvalsh(M @ noise @ M.T)[-1])
    if not np.isfinite(beta):
        return float("inf") if largest > 0.0 else 0.0
    return epsilon * beta / 2.0 * max(largest, 0.0)
