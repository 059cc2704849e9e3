"""How long a visit lasts beside the geometric law: Erlang, made of stages, and a fixed number of steps.

Notes
-----
The mean of a visit to mode i is 1/a_i, a_i = alpha |q_ii|, under every law, and the next mode is drawn from q_ij/|q_ii|.

Erlang of shape m: m geometric stages in a row, each left with probability m a_i. (mode, stage) is a Markov chain of X m
states whose generator is ``staged_generator``; shape 1 is the geometric law. The chance that a visit ends at age n is

    h(n) = m a P(J = m - 1 | J <= m - 1),   J ~ Binomial(n - 1, m a):

the last stage was reached, and is left now. Where h is not constant, steps at an age cannot simply be counted: a visit seen
for l steps was expected to end h(1) + ... + h(l) times, and the number of ends less this sum is a martingale
(docs/mathematics, "Other laws of a visit").
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tracker.array_types import Array, Integers

BILLIONTHS = 1_000_000_000  # sums of expectations are whole numbers of billionths: they do not depend on their order
EXACT_AGES = 4096  # beyond, sums over ages are integrals
GROWTH = 1.002  # of the ages between which they are interpolated
WHOLE = 1e-9  # how near to a whole number 1/a_i must be


class DwellLaw(NamedTuple):
    """The law of a visit: ``shape`` stages, or a fixed number of steps.

    >>> from tracker import chain
    >>> chain.DwellLaw(shape=3).is_geometric
    False
    """

    shape: int = 1
    fixed: bool = False

    @property
    def is_geometric(self) -> bool:
        """Whether the chance to leave is the same at every age."""
        return self.shape == 1 and not self.fixed

    @property
    def word(self) -> str:
        """What it is called in a sentence."""
        if self.fixed:
            return "fixed"
        return "geometric" if self.shape == 1 else f"Erlang of shape {self.shape}"


def fixed_lengths(a: ArrayLike) -> Integers:
    """1/a_i in whole steps, shape (X,); 0 for a mode that is never left.

    Raises
    ------
    ValueError
        Where one is not a whole number.

    Examples
    --------
    >>> from tracker import chain
    >>> chain.fixed_lengths([0.25, 0.1, 0.0])
    array([ 4, 10,  0])
    """
    leaving = np.asarray(a, dtype=np.float64)
    lengths = np.divide(1.0, leaving, out=np.zeros_like(leaving), where=leaving > 0.0)
    whole = np.round(lengths)
    for i in np.flatnonzero(np.abs(lengths - whole) > WHOLE * lengths):
        raise ValueError(
            f"1/(alpha |Q[{i}][{i}]|) = {lengths[i]:.12g} must be a whole number of steps for a fixed stay in mode {i}"
        )
    return whole.astype(np.int64)


def staged_generator(Q: ArrayLike, shape: int) -> Array:
    """The generator of (mode, stage), stage by stage within each mode, shape (X m, X m).

    >>> from tracker import chain
    >>> chain.staged_generator([[-1.0, 1.0], [2.0, -2.0]], 2).tolist()
    [[-2.0, 2.0, 0.0, 0.0], [0.0, -2.0, 2.0, 0.0], [0.0, 0.0, -4.0, 4.0], [4.0, 0.0, 0.0, -4.0]]
    """
    q = shape * np.asarray(Q, dtype=np.float64)
    first, last = (np.arange(len(q)) * shape + stage for stage in (0, shape - 1))
    staged = np.zeros((len(q) * shape,) * 2)
    staged[np.ix_(last, first)] = np.where(np.eye(len(q), dtype=bool), 0.0, q)
    for i, rate in enumerate(np.abs(np.diag(q))):
        for stage in range(shape):
            staged[i * shape + stage, i * shape + stage] = -rate
            if stage + 1 < shape:
                staged[i * shape + stage, i * shape + stage + 1] = rate
    return staged


def hazard(age: ArrayLike, leaving: float, shape: int) -> Array:
    """h(n): the chance that a visit of age n ends at this step; ``leaving`` = m a_i is that of a stage.

    >>> from tracker import chain
    >>> chain.hazard([1, 2, 3], 0.5, 2).round(4)
    array([0.    , 0.25  , 0.3333])
    """
    n = np.asarray(age, dtype=np.float64) - 1.0
    odds = (1.0 - leaving) / leaving if leaving > 0.0 else np.inf
    weight, total = np.ones_like(n), np.ones_like(n)  # of J = j, relative to J = m - 1
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        for j in range(shape - 1, 0, -1):
            weight = weight * (j / np.maximum(n - j + 1.0, 0.0)) * odds
            total = total + weight
    return np.where(n < shape - 1, 0.0, leaving / total)


def survival(length: ArrayLike, a: float, law: DwellLaw) -> Array:
    """P(a visit lasts longer than ``length`` steps); between whole numbers a smooth line, or steps of a fixed length.

    >>> from tracker import chain
    >>> [float(chain.survival(2, 0.25, law).round(4)) for law in (chain.DwellLaw(), chain.DwellLaw(2), chain.DwellLaw(fixed=True))]
    [0.5625, 0.75, 1.0]
    """
    n = np.asarray(length, dtype=np.float64)
    if a <= 0.0:
        return np.ones_like(n)
    if law.fixed:
        return np.where(n < 1.0 / a - WHOLE, 1.0, 0.0)
    if law.shape == 1:
        return np.exp(n * np.log1p(-min(a, 1.0 - 1e-12)))
    from scipy.special import betainc

    p, k = min(law.shape * a, 1.0), law.shape - 1  # fewer than m of n stages were left
    return np.where(n > k, betainc(np.maximum(n - k, 1e-9), k + 1.0, 1.0 - p), 1.0)


class ExpectedEnds(NamedTuple):
    """Sums over ages 1, ..., l of h and of h (1 - h), at the ages l of ``ages``; in between they are nearly straight lines."""

    ages: Array
    ends: Array
    variance: Array

    def up_to(self, age: ArrayLike) -> tuple[Array, Array]:
        """Return both sums at whole ages >= 0."""
        at = np.asarray(age, dtype=np.float64)
        return np.interp(at, self.ages, self.ends), np.interp(at, self.ages, self.variance)


def expected_ends(leaving: float, shape: int, oldest: int) -> ExpectedEnds:
    """Return the sums up to the age ``oldest``."""
    table = np.arange(1.0, min(oldest, EXACT_AGES) + 1.0)
    h = hazard(table, leaving, shape)
    ages, parts = [np.zeros(1), table], [np.zeros((2, 1)), np.array([h, h * (1.0 - h)])]
    if oldest > EXACT_AGES:
        count = int(np.ceil(np.log(oldest / EXACT_AGES) / np.log(GROWTH)))
        edges = EXACT_AGES * GROWTH ** np.arange(count + 1)
        # a sum over whole ages is the integral between half ages, up to 1e-8 of it here; two Gauss points an interval
        middle, half = (edges[1:] + edges[:-1]) / 2.0 + 0.5, (edges[1:] - edges[:-1]) / 2.0
        found = np.array([hazard(middle + side * half / np.sqrt(3.0), leaving, shape) for side in (-1.0, 1.0)])
        ages.append(edges[1:])
        parts.append(np.array([half * found.sum(axis=0), half * (found * (1.0 - found)).sum(axis=0)]))
    ends, variance = np.cumsum(np.concatenate(parts, axis=1), axis=1)
    return ExpectedEnds(np.concatenate(ages), ends, variance)
