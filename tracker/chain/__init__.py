r"""The hidden Markov chain: its generator, its laws, and estimates from a path.

A primer
--------
A hidden mode x_k in {0, ..., X-1} moves with transition matrix P = I + alpha Q,
where the rows of Q sum to 0 and q_ij >= 0 off the diagonal. P is stochastic if and
only if alpha max|q_ii| <= 1; its stationary law pi, pi Q = 0, does not depend on
alpha.

Mode i is left at each step with probability a_i = alpha |q_ii|, so a visit lasts a
geometric number of steps,

    P(dwell = n) = a_i (1 - a_i)^(n-1),  n = 1, 2, ...,  mean 1/a_i,

and is followed by mode j with probability q_ij / |q_ii|. A visit therefore needs one
uniform (where to) and one unit exponential E (for how long):

    dwell = max(1, ceil(E / -log(1 - a_i)))   is exactly geometric(a_i),

and the same E gives the dwell of the limiting continuous-time chain (skeleton
coupling; docs/mathematics, "Coupling"): chains with different alpha can share their randomness.

From a path x_0, ..., x_K, with n_ij jumps i -> j and n_i steps taken from i (stays
included), the likelihood is largest at q_ij = n_ij / (alpha n_i). A visit that is
still going on has been seen for l steps and survived l - 1 of them, which is its
factor (1 - a_i)^(l-1): censored visits belong in n_i, and averaging the completed
ones alone is biased towards short visits (docs/mathematics, "Estimating the chain").
"""

from __future__ import annotations

from tracker.chain.dwell_counts import DwellCounts, age_edges, count_dwells, counts_of
from tracker.chain.dwell_laws import BILLIONTHS, DwellLaw, fixed_lengths, hazard, staged_generator, survival
from tracker.chain.dwell_times import Estimate, HazardTest, estimate, hazard_test, rate_test
from tracker.chain.generator import (
    NEVER,
    dwell,
    embedded_law,
    exit_probability,
    is_irreducible,
    next_mode,
    problems,
    stationary_law,
    transition_matrix,
    validate,
)

__all__ = [
    "BILLIONTHS",
    "NEVER",
    "DwellCounts",
    "DwellLaw",
    "Estimate",
    "HazardTest",
    "age_edges",
    "count_dwells",
    "counts_of",
    "dwell",
    "embedded_law",
    "estimate",
    "exit_probability",
    "fixed_lengths",
    "hazard",
    "hazard_test",
    "is_irreducible",
    "next_mode",
    "problems",
    "rate_test",
    "staged_generator",
    "stationary_law",
    "survival",
    "transition_matrix",
    "validate",
]
