"""The area under |f| for a line f: what W1 between distribution functions is made of, in theory and in measurements alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def mean_height(begin: NDArray[np.float64], end: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of |f| over an interval on which f runs straight from ``begin`` to ``end``.

    A trapezium, or two triangles where the line crosses 0.
    """
    size = np.abs(begin) + np.abs(end)
    crossing = (begin**2 + end**2) / np.where(size > 0, size, 1.0)
    return np.asarray(np.where(begin * end < 0, crossing, size) / 2.0)
