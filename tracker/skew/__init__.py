"""Algebra of skew matrices: the S in the drift -(I + S) grad C.

Sums over S run over the pairs i > j in the order (2,1), (3,1), (3,2), (4,1)...
of the paper, counted from 0 here.
"""

from __future__ import annotations

from tracker.skew.contraction_rates import (
    contraction,
    cyclic_limit,
    independent_limit,
    regressor_limit,
    spectral_gap,
    stability_limit,
    stationary_covariance,
)
from tracker.skew.matrices import basis, clip, from_pairs, is_skew, pairs, symmetric_eigenvalues, to_pairs, tridiagonal
from tracker.skew.optimal_skew import best_for_step, optimal

__all__ = [
    "basis",
    "best_for_step",
    "clip",
    "contraction",
    "cyclic_limit",
    "from_pairs",
    "independent_limit",
    "is_skew",
    "optimal",
    "pairs",
    "regressor_limit",
    "spectral_gap",
    "stability_limit",
    "stationary_covariance",
    "symmetric_eigenvalues",
    "to_pairs",
    "tridiagonal",
]
