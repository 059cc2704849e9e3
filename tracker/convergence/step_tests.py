"""Test whether single steps of the engine have the right law, and compute which faults the tests would have found.

docs/mathematics, "Implementation verdict". Each statistic is brought to a z that is standard normal for the right engine: a
sum of martingale differences over its standard deviation, or a chi-squared statistic by its tail probability (then z >= 0).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import chdtrc, gammaln, ndtri, ndtri_exp

from tracker.convergence.extrapolation import ONE_SIDED, RARE
from tracker.convergence.residuals import AGAINST, LEFT, SIZE, STARTED
from tracker.convergence.verdict import Residual, Sees

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tracker.convergence.residuals import StepLaw, Sums
    from tracker.convergence.verdict import Word

    Statistics = Iterator[tuple[str, float]]

    from tracker.array_types import Array

NOISE, DRIFT, RATE = "size of the noise", "size of the drift", "jumps"
LOST = 1e-9  # of the size of theta: noise so small is not told from rounding
FLAT = 1e-9  # of a correlation: such a combination does not vary
EACH = 50  # samples for each dimension of a covariance that is tested


class Steps(NamedTuple):
    """What the steps say.

    rejected : whether a statistic is
    reached : the largest relative error of noise, drift or rate that is not excluded (95 %)
    needed : how many times the trials would exclude errors of the resolution
    problem : why nothing can be said; "" where something can
    """

    residuals: tuple[Residual, ...] = ()
    sees: Sees = Sees()
    rejected: bool = False
    reached: float = 0.0
    needed: float = 1.0
    problem: str = ""

    def word(self, delta: float) -> Word:
        """The verdict of the steps alone."""
        if self.problem:
            return "unavailable"
        return "rejected" if self.rejected else "confirmed" if self.reached < delta else "inconclusive"


def judge_steps(law: StepLaw, sums: Sums, level: float, delta: float) -> Steps:
    """Judge the sums of all trials, with an error rate of ``level`` for all statistics together."""
    smallest = min(noise.smallest for noise in law.noise)
    if smallest < LOST * sums.extremes[SIZE]:
        return Steps(problem=f"noise of size {smallest:.2g} is lost in the rounding of theta")
    parts = (_noise, _drift, _dependence, _chain, _start, _paths)
    known = [found for part in parts for found in part(law, sums)]
    q = -float(ndtri(level / (2 * max(1, len(known)))))
    residuals = [Residual(name, z, abs(z) > q) for name, z in known]
    residuals += [Residual(name, None, wrong) for name, wrong in _certain(law, sums)]
    strength = sensitivities(law, sums)
    found = {
        name: (dict(known).get(name, 0.0), strength[name]) for name in (NOISE, DRIFT, RATE) if strength[name] > 0.0
    }
    reached = [(abs(z) + ONE_SIDED) / s for z, s in found.values()]
    needed = [((q + ONE_SIDED) / (s * delta)) ** 2 for _, s in found.values()]
    rejected = any(each.rejected for each in residuals)
    sees = smallest_faults(strength, q, float(sums.extremes[AGAINST]))
    return Steps(tuple(residuals), sees, rejected, max(reached, default=0.0), max(needed, default=1.0))


def smallest_faults(strength: dict[str, float], q: float, against: float) -> Sees:
    """Return the relative faults that are rejected with 95 %; ``against`` : the drift in directions without noise, over rounding.

    With the noise, v = (1 + delta)^2 times the variance, the spread of z grows too: (v - 1) s / 2 = q + 1.645 v. With the rate,
    u^2 = 1 + delta: s (u^2 - 1) = q + 1.645 u.
    """
    noise, drift, rate = (strength[name] for name in (NOISE, DRIFT, RATE))
    hidden = [(q + ONE_SIDED) / drift] if drift > 0.0 else []
    hidden += [1.0 / against] if against > 1.0 else []
    v = (q + noise / 2.0) / (noise / 2.0 - ONE_SIDED) if noise > 2.0 * ONE_SIDED else None
    u = (ONE_SIDED + math.sqrt(ONE_SIDED**2 + 4.0 * rate * (rate + q))) / (2.0 * rate) if rate > 0.0 else None
    return Sees(
        None if v is None else math.sqrt(v) - 1.0, min(hidden, default=None), None if u is None else u * u - 1.0
    )


def sensitivities(law: StepLaw, sums: Sums) -> dict[str, float]:
    """By how much z grows with a relative error of the noise, the drift and the rate; 0 where there is none."""
    n = sums.pairs[0].sum(axis=1)
    ranks = np.array([noise.rank for noise in law.noise])
    samples, exits, variance = n @ ranks, n @ law.exits, n @ (law.exits * (1.0 - law.exits))
    return {
        NOISE: float(2.0 * (n @ law.injected) / math.sqrt(2.0 * samples)) if samples > 0 else 0.0,
        DRIFT: math.sqrt(sums.along[1]),
        RATE: float(exits / math.sqrt(variance)) if min(exits, variance) >= RARE else 0.0,
    }


def chi_squared(statistic: float, df: float) -> float:
    """Return the z >= 0 whose two-sided tail probability is that of a chi-squared statistic."""
    p = float(chdtrc(df, statistic))
    half = statistic / 2.0
    # beyond the smallest number the leading term of the tail will do
    log_p = math.log(p) if p > 0.0 else (df / 2.0 - 1.0) * math.log(half) - half - float(gammaln(df / 2.0))
    return max(0.0, -float(ndtri_exp(log_p - math.log(2.0))))


def cube_root(statistic: float, df: float) -> float:
    """Return the z of a chi-squared statistic that may be too small as well as too large (Wilson and Hilferty)."""
    spread = 2.0 / (9.0 * df)
    return float((np.cbrt(statistic / df) - (1.0 - spread)) / math.sqrt(spread))


def covariance_ratio(squares: Array, n: float) -> float:
    """Return the likelihood ratio of "covariance I" for n samples of mean 0, chi-squared on p (p + 1) / 2 (Bartlett's factor)."""
    p = len(squares)
    _, log_det = np.linalg.slogdet(squares / n)
    factor = 1.0 - (2.0 * p * p + 3.0 * p - 1.0) / (6.0 * n * (p + 1.0))
    return float(factor * n * (np.trace(squares) / n - log_det - p))


def _noise(law: StepLaw, sums: Sums) -> Statistics:
    n = sums.pairs[0].sum(axis=1)
    ranks = np.array([noise.rank for noise in law.noise])
    samples = float(n @ ranks)
    if not samples:
        return
    yield NOISE, cube_root(float(np.trace(sums.squares.sum(axis=0))), samples)
    yield "shape of the noise", float((sums.inner[0] - samples / 2.0) / math.sqrt(samples / 4.0))
    many = [i for i, rank in enumerate(ranks) if rank and n[i] >= EACH * rank]
    if many:
        ratios = [covariance_ratio(sums.squares[i, : ranks[i], : ranks[i]], n[i]) for i in many]
        yield "covariance of the noise", chi_squared(sum(ratios), sum(ranks[i] * (ranks[i] + 1) / 2 for i in many))


def _drift(law: StepLaw, sums: Sums) -> Statistics:
    if sums.along[1] > 0.0:
        yield DRIFT, float(sums.along[0] / math.sqrt(sums.along[1]))
    total, df = 0.0, 0
    for i, noise in enumerate(law.noise):
        f, crossed = sums.features[i], sums.crossed[i]
        if f[0, 0] < RARE * len(f) or not noise.rank:
            continue
        unit = np.sqrt(np.maximum(np.diag(f), 1e-300))
        values, vectors = np.linalg.eigh(f / np.outer(unit, unit))
        live = values > FLAT
        scores = (crossed / unit) @ vectors[:, live] / np.sqrt(values[live])
        total, df = total + float(np.sum(scores**2)), df + noise.rank * int(live.sum())
    if df:
        yield "drift along theta, by mode", chi_squared(total, df)
    for name, counts, by in (
        ("drift before a switch", sums.pairs[0], sums.by_next),
        ("drift after a switch", sums.pairs[1], sums.by_last),
    ):
        switch = (counts > 0) & ~np.eye(len(counts), dtype=bool)
        ranks = np.array([noise.rank for noise in law.noise])
        which = ranks[:, None] if by is sums.by_next else ranks[None, :]
        df = int(np.sum(np.where(switch, which, 0)))
        if df:
            yield name, chi_squared(float(np.sum(by[switch] ** 2 / counts[switch][:, None])), df)


def _dependence(law: StepLaw, sums: Sums) -> Statistics:
    for name, (product, variance) in (
        ("noise of one step and the next", sums.lagged),
        ("noise of neighbouring trials", sums.neighbours),
        ("noise of the first step and the start", sums.with_noise),
    ):
        if variance >= RARE:
            yield name, float(product / math.sqrt(variance))
    coincidences = sums.jumps[1]
    if coincidences >= RARE:
        yield "jumps of neighbouring trials", float(sums.jumps[0] / math.sqrt(coincidences))


def _chain(law: StepLaw, sums: Sums) -> Statistics:
    counts, a = sums.pairs[0], law.exits
    n = counts.sum(axis=1)
    stays = np.trace(counts)
    variance = float(n @ (a * (1.0 - a)))
    if variance >= RARE:
        yield RATE, float((counts.sum() - stays - n @ a) / math.sqrt(variance))
    expected = n[:, None] * law.transitions
    common = (expected >= RARE) & ~np.eye(len(counts), dtype=bool)
    groups = common.sum(axis=1)
    if (groups > 1).any():  # where to, given that the mode is left: with one way out there is nothing to ask
        total, df = 0.0, 0
        for i in np.flatnonzero(groups > 1):
            seen, law_i = counts[i, common[i]], law.transitions[i, common[i]]
            due = seen.sum() * law_i / law_i.sum()
            total, df = total + float(np.sum((seen - due) ** 2 / due)), df + len(seen) - 1
        yield "jumps by where they lead", chi_squared(total, df)
    at_risk, left = sums.ages
    spread = at_risk * (a * (1.0 - a))[:, None]
    common = spread >= RARE
    surprise = left - at_risk * a[:, None]
    if common[:, 0].any():
        yield "leaving at once", float(surprise[common[:, 0], 0].sum() / math.sqrt(spread[common[:, 0], 0].sum()))
    if common.any():
        yield "leaving by age", chi_squared(float(np.sum(surprise[common] ** 2 / spread[common])), int(common.sum()))


def _start(law: StepLaw, sums: Sums) -> Statistics:
    R, rank = sums.trials, law.spread.rank
    if rank:
        yield "mean of the start", chi_squared(float(np.sum(sums.start**2)) / R, rank)
        yield "size of the start", cube_root(float(np.trace(sums.start_squares)), R * rank)
        if rank > 1 and EACH * rank <= R:
            ratio = covariance_ratio(sums.start_squares[:rank, :rank], R)
            yield "covariance of the start", chi_squared(ratio, rank * (rank + 1) / 2)
    due = R * law.field.initial
    common = due >= RARE
    if common.sum() > 1:
        due, seen = due[common], sums.first[common]
        due = due * seen.sum() / due.sum()
        yield "first mode", chi_squared(float(np.sum((seen - due) ** 2 / due)), len(seen) - 1)


def _paths(law: StepLaw, sums: Sums) -> Statistics:
    R, (below, size, squares) = sums.trials, sums.paths
    p = law.paths.survival
    if p is not None and R * min(p, 1.0 - p) >= RARE:
        yield "paths that stay below the level", float((below - R * p) / math.sqrt(R * p * (1.0 - p)))
    spread = (squares - size**2 / R) / max(1, R - 1)
    if law.paths.grid and R >= EACH and spread > 0.0:
        yield "increments of paths", float((size / R - law.paths.increments) / math.sqrt(spread / R))


def _certain(law: StepLaw, sums: Sums) -> Iterator[tuple[str, bool]]:
    """What is wrong for sure, or right: no chance is involved."""
    N = len(law.field.mean)
    if any(noise.rank < N for noise in law.noise):
        yield "steps where there is no noise", bool(sums.extremes[LEFT] > 1.0)
    if law.spread.rank < N:
        yield "start where it does not vary", bool(sums.extremes[STARTED] > 1.0)
    if len(law.noise) > 1:
        impossible = sums.pairs[0][law.transitions <= 0.0].sum() + sums.first[law.field.initial <= 0.0].sum()
        yield "jumps that cannot be", bool(impossible > 0)
