"""The integrated autocorrelation time: how many draws of a chain are worth one independent draw.

Notes
-----
tau = 1 + 2 sum_{t >= 1} rho(t), rho the autocorrelation, so that the variance of the mean of n draws is about
tau Var / n. The sum is cut at Sokal's window: the smallest M with M >= 5 max(tau(M), 2), beyond which noise would be
added and little else. Autocovariances are averaged over chains, about the mean of all of them (or a given one), so that chains that
sit in different places count as correlated, not as converged. Tau may be below 1: non-reversible chains can do that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tracker.array_types import Array


WINDOW_IN_TAUS = 5.0  # times tau
SHORTEST_TAU = 2.0  # taken for tau where it is smaller: an alternating chain must be seen to alternate


class Mixing(NamedTuple):
    """time: tau, in draws; window: the lags summed; draws: over all chains. Trust tau where draws are 50 tau or more."""

    time: float
    window: int
    draws: int

    @property
    def effective_size(self) -> float:
        """How many independent draws the chains are worth."""
        return self.draws / self.time


def autocovariance(chains: ArrayLike, mean: float | None = None) -> Array:
    """Return the autocovariance at lags 0, ..., n - 1 of ``chains`` (c, n) or (n,), averaged over chains."""
    x = np.atleast_2d(np.asarray(chains, dtype=float))
    x = x - (x.mean() if mean is None else mean)
    n = x.shape[1]
    spectrum = np.abs(np.fft.rfft(x, n=2 << (n - 1).bit_length(), axis=1)) ** 2
    return np.asarray(np.fft.irfft(spectrum.mean(axis=0))[:n] / n)


def estimate_mixing(chains: ArrayLike, mean: float | None = None) -> Mixing:
    """Return the integrated autocorrelation time of ``chains`` (c, n) or (n,), one number per draw.

    ``mean`` is the true mean where it is known. Tau is nan for a chain that never moves.
    """
    covariance = autocovariance(chains, mean)
    draws = int(np.size(chains))
    if not covariance[0] > 0.0:
        return Mixing(float("nan"), 0, draws)
    sums = 2.0 * np.cumsum(covariance / covariance[0]) - 1.0
    enough = np.arange(sums.size) >= WINDOW_IN_TAUS * np.maximum(sums, SHORTEST_TAU)
    window = int(enough.argmax()) if enough.any() else sums.size - 1
    return Mixing(float(max(sums[window], 1.0 / sums.size)), window, draws)
