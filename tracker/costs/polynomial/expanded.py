"""A polynomial that is multiplied out: exponents and coefficients, its values and its derivatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tracker.array_types import Array, Integers


@dataclass(frozen=True, eq=False)
class Polynomial:
    """Sum over t of coefficients[t] prod_i theta_i^exponents[t, i].

    Attributes
    ----------
    exponents : ndarray of int64, shape (terms, N)
        Distinct rows, by total degree, then a before b.
    coefficients : ndarray of float64, shape (terms,)
        None of them zero; the zero polynomial has no terms.
    """

    exponents: Integers
    coefficients: Array

    @property
    def degree(self) -> int:
        """Total degree; 0 for a constant and for the zero polynomial."""
        return int(self.exponents.sum(axis=1).max(initial=0))

    def value(self, points: ArrayLike) -> Array:
        """Values, shape (M,), at points of shape (M, N)."""
        return self.coefficients @ monomials(self.exponents, np.asarray(points, np.float64))

    def derivative(self, i: int) -> Polynomial:
        """The polynomial d/d theta_i."""
        power = self.exponents[:, i]
        lowered = self.exponents[power > 0]
        lowered[:, i] -= 1
        return Polynomial(lowered, (self.coefficients * power)[power > 0])


def monomials(exponents: Integers, points: Array) -> Array:
    """theta^e for every row of exponents and every point, shape (terms, M)."""
    powers = np.ones((int(exponents.max(initial=0)) + 1, *points.T.shape))
    for k in range(1, len(powers)):
        powers[k] = powers[k - 1] * points.T
    result = np.ones((len(exponents), len(points)))
    for i in range(points.shape[1]):
        result *= powers[exponents[:, i], i]
    return result
