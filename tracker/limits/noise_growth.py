"""Gradient noise that grows with theta, as that of random regressors does."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from tracker.array_types import Array
    from tracker.costs.facts import QuadraticForm


class NoiseGrowth(NamedTuple):
    """Gradient noise has covariance Sigma + L E L' + G tr(W E), E = (theta - centre)(theta - centre)', in each mode.

    Of Gaussian regressors L, G and W are their covariance R (docs/mathematics, "Regression").

    left, size, weight : ndarray, shape (X, N, N), L, G and W
    centre : ndarray, shape (X, N)
    """

    left: Array
    size: Array
    weight: Array
    centre: Array

    def around(self, reads: Array, p: Array, mu: Array, Pi: Array) -> Array:
        """Return E[(theta - centre)(theta - centre)' 1{x = i}], theta = reads u, from the moments of u."""
        cross = (mu @ reads.T)[:, :, None] * self.centre[:, None, :]
        own = self.centre[:, :, None] * self.centre[:, None, :]
        return np.asarray(reads @ Pi @ reads.T - cross - cross.transpose(0, 2, 1) + p[:, None, None] * own)

    def covariance(self, E: Array) -> Array:
        """Return L E L' + G tr(W E), shape (X, N, N)."""
        trace = np.einsum("iab,iba->i", self.weight, E)
        return np.asarray(self.left @ E @ self.left.transpose(0, 2, 1) + trace[:, None, None] * self.size)


def growth_of(costs: list[QuadraticForm]) -> NoiseGrowth | None:
    """Return how the gradient noise of these costs grows; None where all of it is additive."""
    if all(cost.regressors is None for cost in costs):
        return None
    N = len(costs[0].minimum)
    laws = [cost.regressors for cost in costs]
    R = np.array([np.zeros((N, N)) if law is None else law.covariance for law in laws])
    return NoiseGrowth(R, R, R, np.array([np.zeros(N) if law is None else law.centre for law in laws]))
