"""Estimate how many independent draws the recorded points of a sampler are worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.autocorrelation import estimate_mixing

if TYPE_CHECKING:
    from tracker.array_types import Array, Booleans


def effective_draws(values: Array, here: Booleans) -> float:
    """Return n / tau for the n entries of ``values`` (T, R) that ``here`` picks; nan where they never differ.

    Notes
    -----
    The mean of the picked entries has the variance sum_{k, l} c(k - l) / n^2, the sum over pairs of picked entries of one
    trial. With deviations set to 0 where nothing is picked, these pairs are what the autocovariance of the whole series adds
    up, gaps included; so tau of that series is the right one for visits to a mode that come and go.
    """
    count = int(here.sum())
    if count == 0:
        return float("nan")
    deviations = np.where(here, values - values[here].mean(), 0.0)
    return count / estimate_mixing(deviations, mean=0.0).time
