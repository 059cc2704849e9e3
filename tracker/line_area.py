"""The mean of |f| where f is a straight line: W1 between distribution functions, exact or measured, is a sum of these."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tracker.array_types import Array


def mean_height(begin: Array, end: Array) -> Array:
    """Return the mean of |f| over an interval on which f runs straight from ``begin`` to ``end``.

    A trapezium, or two triangles where the line crosses 0.
    """
    size = np.abs(begin) + np.abs(end)
    crossing = (begin**2 + end**2) / np.where(size > 0, size, 1.0)
    return np.asarray(np.where(begin * end < 0, crossing, size) / 2.0)
