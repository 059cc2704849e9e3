"""The area under |f| for a line f: what W1 between distribution functions is made of, in theory and in measurements alike."""

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
