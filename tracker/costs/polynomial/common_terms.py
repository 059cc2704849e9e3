"""Polynomials of several modes written with the same terms, so that trials in different modes can go side by side.

A term that a mode lacks gets the coefficient 0. The order of terms is one for all polynomials (by degree, then a before b), so a
mode's own terms stay in their order, and its sums have the same bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.costs.gaussian_noise import noise_in_form
from tracker.costs.polynomial.monomials import Terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracker.costs.polynomial.monomials import PolynomialCost

    Row = dict[tuple[int, ...], float]  # coefficients by factors

MOST = 1.5  # times the terms of the longest polynomial: with more the zeros would take longer than is gained
HIGHEST_DEGREE = 30  # up to here 0 times a term is 0 wherever a trial has not run away


def rows_of(terms: Terms) -> list[Row]:
    """Return the coefficients of each polynomial by the factors of its terms."""
    factors = [tuple(part.tolist()) for part in np.split(terms.factors, terms.starts[1:-1])]
    pairs = list(zip(factors, terms.coefficients.tolist(), strict=False))
    return [dict(pairs[begin:end]) for begin, end in zip(terms.rows[:-1], terms.rows[1:], strict=True)]


def with_terms(rows: Sequence[Row], keys: Sequence[Sequence[tuple[int, ...]]]) -> Terms:
    """Return polynomials that have the terms ``keys``, those that ``rows`` lack with the coefficient 0."""
    listed = [(key, row.get(key, 0.0)) for row, wanted in zip(rows, keys, strict=True) for key in wanted]
    return Terms(
        rows=np.cumsum([0, *map(len, keys)], dtype=np.int64),
        coefficients=np.array([coefficient for _, coefficient in listed]),
        starts=np.cumsum([0, *(len(key) for key, _ in listed)], dtype=np.int64),
        factors=np.array([factor for key, _ in listed for factor in key], dtype=np.int64),
    )


def in_common_terms(cost: PolynomialCost, costs: Sequence[PolynomialCost]) -> PolynomialCost:
    """Return ``cost`` with the terms of all ``costs``, and as many columns of noise; its own terms where they are too different."""
    cost = noise_in_form(cost, costs)
    if all(_structure(one.terms) == _structure(cost.terms) for one in costs):
        return cost
    polynomials = [rows_of(one.terms) for one in costs]
    keys = [sorted(set().union(*rows), key=lambda key: (len(key), key)) for rows in zip(*polynomials, strict=True)]
    in_order = all(
        list(row) == [key for key in wanted if key in row]
        for rows in polynomials
        for row, wanted in zip(rows, keys, strict=True)
    )
    longest = max(one.terms.coefficients.size for one in costs)
    degree = max(len(key) for wanted in keys for key in wanted)
    if not in_order or sum(map(len, keys)) > MOST * longest or degree > HIGHEST_DEGREE:
        return cost
    return cost._replace(terms=with_terms(rows_of(cost.terms), keys))


def _structure(terms: Terms) -> tuple[bytes, ...]:
    return terms.rows.tobytes(), terms.starts.tobytes(), terms.factors.tobytes()
