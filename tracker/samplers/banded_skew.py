"""A skew matrix with entries near its diagonal only: what is left out of a product are products with 0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.compiled import inlined

if TYPE_CHECKING:
    from tracker.array_types import Array

NO_BAND = 10**9  # entries may stand anywhere


def band_of(skew: Any) -> int:
    """Return how far from its diagonal S may have an entry, as a scenario file gives it: 1 for the tri-diagonal random S."""
    if isinstance(skew, str) and skew == "random":
        return 1
    if not isinstance(skew, tuple):
        return NO_BAND
    i, j = np.nonzero(np.array(skew))
    return int(np.abs(i - j).max(initial=0))


@inlined
def banded_move(theta: Array, S: Array, g: Array, w: Array, epsilon: float, noise: float, band: int) -> None:
    """Set theta to theta - epsilon (I + S) g + noise w; bit for bit what ``langevin_move`` gives."""
    N = theta.size
    for d in range(N):
        drift = g[d]
        for e in range(max(0, d - band), min(N, d + band + 1)):
            drift += S[d, e] * g[e]
        theta[d] = theta[d] + noise * w[d] - epsilon * drift
