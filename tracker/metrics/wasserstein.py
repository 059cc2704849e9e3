"""W1 between a sample and a known law: the area between two distribution functions, and how large chance makes it.

Between two laws of theory: ``tracker.limits.grid_law.w1_of_laws``. Theory does not import measurements, so that each can check the
other; what they share is the area under a line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.line_area import mean_height
from tracker.metrics.averages import CONFIDENCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from tracker.array_types import Array, Integers


RESAMPLES = 400
MOST_DRAWS = 4000  # of a sample: the quantile scales with 1 / sqrt(trials)
RESAMPLING_SEED = 20_171


def w1(sample: ArrayLike, points: ArrayLike, cdf: ArrayLike) -> float:
    """Return the integral of |F_n - F| over the line, F_n the empirical law of ``sample`` (n,).

    Parameters
    ----------
    sample : array_like, shape (n,)
        In any order.
    points, cdf : array_like, shape (m,)
        F at points that do not decrease, straight lines between; two equal points make a jump. Before the first point
        F is 0 and after the last one 1, so that a two-point law is points (a, a, b, b), cdf (0, p, p, 1).

    Notes
    -----
    Both functions are piecewise linear: between neighbouring breakpoints the area is that of a trapezium, or of two
    triangles where they cross. So the result is exact for the tabulated law.
    """
    x = np.sort(np.asarray(sample, dtype=np.float64).ravel())
    at, level = np.asarray(points, dtype=np.float64), np.asarray(cdf, dtype=np.float64)
    if x.size == 0 or not (np.isfinite(x[0]) and np.isfinite(x[-1])):
        return float("nan")
    if np.any(np.diff(at) < 0) or np.any(np.diff(level) < 0):
        raise ValueError("w1: points and cdf must not decrease")
    breaks = np.unique(np.concatenate([x, at]))
    left, right = breaks[:-1], breaks[1:]
    # both functions on the open interval between two breakpoints: F_n is constant, F a line
    empirical = np.searchsorted(x, left, side="right") / x.size
    begin = _after(at, level, left) - empirical
    end = _before(at, level, right) - empirical
    return float((mean_height(begin, end) * (right - left)).sum())


def w1_on_grid(sample: Array, points: Array, cdf: Array) -> float:
    """Return W1 between a ``sample`` and the law with the distribution function ``cdf`` at evenly spaced ``points``, as a sum.

    Right to the distance of two points, and many times as fast as ``w1``: for the resampling of ``w1_quantile``, and for what
    is compared with its outcome.
    """
    outside = np.maximum(points[0] - sample, 0.0).mean() + np.maximum(sample - points[-1], 0.0).mean()
    return _area_on_grid(np.sort(sample), points, points, cdf) + float(outside)


def _area_on_grid(rising: Array, levels: Array, points: Array, cdf: Array) -> float:
    """The area between ``cdf`` and the share of the sorted numbers ``rising`` that are not above each level."""
    empirical = np.searchsorted(rising, levels, side="right") / len(rising)
    return float(np.abs(empirical - cdf).sum() * (points[1] - points[0]))


def w1_quantile(points: Array, cdf: Array, trials: int) -> float:
    """Return the 95 % quantile of W1(F_n, F) for n = ``trials`` independent draws from F."""
    rng = np.random.default_rng(RESAMPLING_SEED)
    rising = np.maximum.accumulate(cdf / cdf[-1])
    size = min(trials, MOST_DRAWS)
    # a draw F^-1(u) lies at or below a point where u <= F there: the empirical law needs the uniform numbers alone
    found = [_area_on_grid(np.sort(rng.random(size)), rising, points, cdf) for _ in range(RESAMPLES)]
    return float(np.quantile(found, CONFIDENCE)) * float(np.sqrt(size / trials))


def tabulate(cdf: Callable[[Array], Array], low: float, high: float, points: int = 20_001) -> tuple[Array, Array]:
    """Return points and values of a distribution function for ``w1``; the mass outside [low, high] goes to its ends."""
    x = np.linspace(low, high, points)
    level = np.maximum.accumulate(np.clip(np.asarray(cdf(x), dtype=np.float64), 0.0, 1.0))
    return np.concatenate([[low], x, [high]]), np.concatenate([[0.0], level, [1.0]])


def _after(at: Array, level: Array, x: Array) -> Array:
    """F just after each x."""
    i = np.searchsorted(at, x, side="right") - 1  # the last point that is not beyond x
    return np.where(i < 0, 0.0, np.where(i >= at.size - 1, 1.0, _line(at, level, x, np.clip(i, 0, at.size - 2))))


def _before(at: Array, level: Array, x: Array) -> Array:
    """F just before each x."""
    i = np.searchsorted(at, x, side="left") - 1  # the last point before x
    return np.where(i < 0, 0.0, np.where(i >= at.size - 1, 1.0, _line(at, level, x, np.clip(i, 0, at.size - 2))))


def _line(at: Array, level: Array, x: Array, i: Integers) -> Array:
    """The line from point i to the next, at x; a jump between equal points is no line and is not asked for."""
    width = at[i + 1] - at[i]
    share = np.divide(x - at[i], width, out=np.zeros_like(x), where=width > 0)
    return np.asarray(level[i] + share * (level[i + 1] - level[i]))
