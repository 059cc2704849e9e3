"""Bins that widen with age: exact, contiguous, and never wide for where they are."""

from __future__ import annotations

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracker.engine.bins import AGE_BITS, WAIT_BITS, bin_edges, bin_of, lower_edge

numbers = st.integers(0, 10**15)
resolutions = st.integers(0, 8)


@given(numbers, resolutions)
@settings(deadline=None)
def test_a_number_lies_in_its_bin(number, bits):
    b = bin_of(number, bits)
    assert lower_edge(b, bits) <= number < lower_edge(b + 1, bits)


@given(numbers, resolutions)
@settings(deadline=None)
def test_edges_are_exact(number, bits):
    b = bin_of(number, bits)
    assert bin_of(lower_edge(b, bits), bits) == b
    assert bin_of(lower_edge(b + 1, bits) - 1, bits) == b  # the last number of the bin
    assert bin_of(lower_edge(b + 1, bits), bits) == b + 1  # no gap


@given(numbers, resolutions)
@settings(deadline=None)
def test_small_numbers_are_alone_and_bins_are_narrow(number, bits):
    b = bin_of(number, bits)
    width = lower_edge(b + 1, bits) - lower_edge(b, bits)
    if number < 2 << bits:
        assert (b, width) == (number, 1)
    else:
        assert width <= lower_edge(b, bits) / 2**bits
        assert 2 * width > lower_edge(b, bits) / 2**bits  # and no narrower than need be: within a factor of two


@pytest.mark.parametrize("bits", [0, 1, AGE_BITS, WAIT_BITS, 8])
@pytest.mark.parametrize("largest", [0, 1, 7, 8, 63, 64, 65, 100, 1023, 1024, 5000])
def test_bins_are_contiguous(bits, largest):
    """Every number up to ``largest``, one by one, against edges listed doubling by doubling."""
    *edges, end = bin_edges(largest, bits)
    assert bin_of(end, bits) == len(edges) == bin_of(end - 1, bits) + 1
    wanted = [edge for edge in naive.edges(largest, 2**bits) if edge <= largest]
    np.testing.assert_array_equal(edges, wanted)
    counted = np.searchsorted(edges, np.arange(largest + 1), side="right") - 1
    np.testing.assert_array_equal([bin_of(number, bits) for number in range(largest + 1)], counted)


def test_waits_below_64_and_ages_below_8_are_exact():
    assert [bin_of(n, WAIT_BITS) for n in (63, 64, 65, 66)] == [63, 64, 64, 65]
    assert [bin_of(n, AGE_BITS) for n in (7, 8, 9, 10)] == [7, 8, 8, 9]


def test_a_long_run_needs_few_bins():
    assert bin_of(10**9, AGE_BITS) < 120
    assert bin_of(10**9, WAIT_BITS) < 900
