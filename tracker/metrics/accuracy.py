"""Accuracy of a linear classifier along a trace, and the wait until it is reached again after a switch.

A row x with label l = +-1 is right where l x'theta > 0, and half right where it is 0, as a guess would be. Accuracy lives in the stiff directions of theta: it says more
about a classifier than the distance of theta to the minimiser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tracker.array_types import Array, Integers


POINTS_AT_A_TIME = 4096  # points at a time: a product of all at once would need gigabytes


class Classes(NamedTuple):
    """What one mode asks of a classifier: rows (n, N), labels (n,), +1 or -1."""

    rows: Array
    labels: Array


def accuracy(classes: Sequence[Classes], theta: Array, mode: NDArray[np.integer]) -> Array:
    """Return the share of rows that are right, shape (...), for theta (..., N) under ``mode`` (...); nan where unknown."""
    found = np.full(mode.shape, np.nan)
    for x, (rows, labels) in enumerate(classes):
        places = np.argwhere((mode == x) & np.isfinite(theta).all(axis=-1))
        for first in range(0, len(places), POINTS_AT_A_TIME):
            some = tuple(places[first : first + POINTS_AT_A_TIME].T)
            margin = (theta[some] @ rows.T) * labels
            found[some] = ((margin > 0).sum(axis=1) + 0.5 * (margin == 0).sum(axis=1)) / len(labels)
    return found


def accuracy_waits(accurate: Array, mode: NDArray[np.integer], every: int, level: float, edges: Array) -> Integers:
    """Return counts of re-acquisitions and of censored waits, shape (T, bins, 2), from traces (T, R), one point each ``every`` steps.

    A wait goes from the first recorded point in a new mode to the first with an accuracy above ``level``, and is censored at
    the last one before the next switch or the end: the same counts as those of the distance, but only as fine as the trace.
    """
    counts = np.zeros((len(mode), len(edges) - 1, 2), dtype=np.int64)
    for trial, (levels, modes) in enumerate(zip(accurate, mode, strict=True)):
        switches = 1 + np.flatnonzero(np.diff(modes))
        for start, stop in zip(switches, [*switches[1:], len(modes)], strict=True):
            reached = np.flatnonzero(levels[start:stop] > level)
            wait = every * (int(reached[0]) if reached.size else stop - start - 1)
            counts[trial, np.searchsorted(edges, wait, side="right") - 1, int(not reached.size)] += 1
    return counts
