"""Bins of whole numbers for histograms of time: one number each at first, then a fixed number of bins per doubling.

Bin b of resolution r = 2**bits holds the single number b while b < 2 r; beyond, r bins to each doubling, so that a bin is at
most 1/r of its lower edge wide. A histogram of any length of time then has a bounded size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.compiled import helper

if TYPE_CHECKING:
    from tracker.array_types import Integers

AGE_BITS = 2  # 4 bins per doubling: the error curve after a switch
WAIT_BITS = 5  # 32 bins per doubling: times to re-acquisition, within 3 %


@helper
def bin_of(number: int, bits: int) -> int:
    """Return the bin that holds ``number`` >= 0."""
    shift = 0
    while number >> shift >= 2 << bits:
        shift += 1
    return (shift << bits) + (number >> shift)


@helper
def lower_edge(bin_: int, bits: int) -> int:
    """Return the smallest number in a bin."""
    shift = max((bin_ >> bits) - 1, 0)
    return (bin_ - (shift << bits)) << shift


def bin_edges(largest: int, bits: int) -> Integers:
    """Return the edges (bins + 1,) of all bins up to the one that holds ``largest``: bin b is edges[b] <= n < edges[b + 1]."""
    return np.array([lower_edge(b, bits) for b in range(bin_of(largest, bits) + 2)], dtype=np.int64)
