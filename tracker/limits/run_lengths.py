"""Average run lengths of a CUSUM detector: how long it stays silent without a change, and how late it is after one.

Notes
-----
docs/mathematics, "Restart". L(u) = 1 + L(0) F(-u) + int_0^c L(v) f(v - u) dv (Brook and Evans, 1972), solved at Gauss-Legendre points
with the atom at 0 as one more unknown.
"""

from __future__ import annotations

import numpy as np

POINTS_PER_DEVIATION = 6  # of an increment
FEWEST_POINTS, MOST_POINTS = 40, 4000


def run_length(mean: float, threshold: float, shift: float, noise_variance: float = 1.0) -> float:
    """Return the mean number of steps until U = max(0, U + shift (r - shift/2) / noise_variance), from 0, is above ``threshold``.

    r ~ N(mean, noise_variance). The step of the alarm counts: an alarm at the first gradient has run length 1. For the detector of
    ``restart``, which watches both sides, 1/L = 1/L(mean) + 1/L(-mean).

    Examples
    --------
    >>> from tracker import limits
    >>> round(limits.run_length(mean=0.0, threshold=4.0, shift=1.0), 3)
    335.368
    """
    from scipy.special import ndtr

    for name, value in (("threshold", threshold), ("shift", shift), ("noise_variance", noise_variance)):
        if not value > 0.0:
            raise ValueError(f"{name}: {value} must be above 0")
    drift, spread = shift * (mean - shift / 2.0) / noise_variance, shift / np.sqrt(noise_variance)
    count = int(np.clip(POINTS_PER_DEVIATION * threshold / spread, FEWEST_POINTS, MOST_POINTS))
    x, weights = np.polynomial.legendre.leggauss(count)
    u = np.r_[0.0, threshold * (x + 1.0) / 2.0]
    kernel = np.exp(-0.5 * ((u - u[:, np.newaxis] - drift) / spread) ** 2) / (spread * np.sqrt(2.0 * np.pi))
    kernel *= np.r_[0.0, weights * threshold / 2.0]
    kernel[:, 0] = ndtr((-u - drift) / spread)  # it is 0 next
    return float(np.linalg.solve(np.eye(count + 1) - kernel, np.ones(count + 1))[0])
