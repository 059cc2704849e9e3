"""The law of the time at which a path first reaches a level, N = 1: of the switched diffusion, and of the sampler itself.

Notes
-----
docs/mathematics, "First passage". Both are solved backwards, from P(theta stays below the level) = 1 at no time left. The limit
by collocation at Chebyshev's points between a place that no path reaches and the level; the sampler by Gauss-Legendre
quadrature of its kernel, on panels that are a few deviations of its noise wide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.linalg import expm
from scipy.special import ndtr

from tracker.limits.density_solvers import increasing
from tracker.limits.drift_field import Field, read_field
from tracker.limits.exact_moments import LawOf, check_law
from tracker.limits.grid_box import DEVIATIONS, automatic_box
from tracker.limits.sampler_law import noise_covariances
from tracker.limits.scope import OutOfScope

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tracker.array_types import Array
    from tracker.scenario.model import Scenario

POINTS, REFINEMENT, MOST_UNKNOWNS = 64, 1.5, 1200  # of the collocation, in all modes together
AGREEMENT = 1e-9  # of two resolutions, and of two bounds on what leaves the grid
PANEL, NODES, REACH = 3.0, 16, 8.2  # deviations of the noise to a panel, nodes on it, deviations that are kept
MOST_NODES, MOST_PRODUCTS = 40_000, 4e9
WIDENINGS = 4
START_NODES = 200
RAISE = 0.5825971579390107  # -zeta(1/2) / sqrt(2 pi)


@dataclass(frozen=True)
class FirstPassage:
    """How long a path stays below a level.

    survival : ndarray, P(theta stays below ``level`` up to each time); a start at or above it has passed
    level : the level
    raised : the level at which the limit passes nearly as the sampler does at ``level``: higher by .5826 deviations of the noise of
        one step, because a path that is looked at only every epsilon is seen to pass later; None where that noise is not known
    """

    survival: Array
    level: float
    raised: float | None


def first_passage(
    scenario: Scenario, sampler: str, level: float, times: ArrayLike, of: LawOf = "limit"
) -> FirstPassage:
    """Return P(theta stays below ``level``) up to each of ``times``; of the algorithm ``times`` are steps, k = 0 is looked at too.

    >>> import tracker
    >>> wells = tracker.load("scenarios/example_b.toml")
    >>> tracker.limits.first_passage(wells, "classical", 1.0, [32], of="algorithm").survival.round(6)
    array([0.722361])
    """
    check_law(of)
    at, shape = np.atleast_1d(np.asarray(times, dtype=np.float64)), np.shape(times)
    increasing(at.ravel(), "times" if of == "limit" else "steps")
    if of == "algorithm" and np.any(at != np.rint(at)):
        raise ValueError(f"steps: {at.tolist()} must be whole numbers")
    if not np.isfinite(level):
        raise ValueError(f"level: {level} must be finite")
    if scenario.dimension != 1:
        raise OutOfScope(
            f"first_passage: N = {scenario.dimension}, and a level is passed where N = 1", "simulate instead"
        )
    field = read_field(scenario, sampler)
    if of == "limit" and not np.isfinite(field.beta):
        raise OutOfScope(
            'first_passage: beta = "inf" leaves no diffusion', 'use of="algorithm", or give a finite beta', sampler
        )
    found = _of_limit(field, level, at) if of == "limit" else _of_algorithm(field, level, at.astype(np.int64))
    return FirstPassage(survival=found.reshape(shape), level=float(level), raised=_raised(field, level))


def _raised(field: Field, level: float) -> float | None:
    try:
        covariances = noise_covariances(field, "first_passage")
    except OutOfScope:
        return None
    return float(level) + RAISE * float(np.sqrt(np.mean([V[0, 0] for V in covariances])))


def _bottom(field: Field, level: float) -> tuple[float, float]:
    """Return a place that no path reaches, below the level, and the width of the box that holds all of them."""
    wide = Field(**{**field.__dict__, "beta": field.beta if np.isfinite(field.beta) else 1.0})
    low, high = automatic_box(wide)[0]
    return float(min(low, level - (high - low) / 2.0)), float(high - low)


def _start(field: Field, level: float) -> tuple[Array, Array]:
    """Return points below the level and weights with which the start is integrated there."""
    mean, deviation = float(field.mean[0]), float(np.sqrt(field.covariance[0, 0]))
    if deviation == 0.0:
        return np.array([mean]), np.array([float(mean < level)])
    low, high = mean - DEVIATIONS * deviation, min(level, mean + DEVIATIONS * deviation)
    if high <= low:
        return np.array([mean]), np.zeros(1)
    x, w = np.polynomial.legendre.leggauss(START_NODES)
    points = (low + high + (high - low) * x) / 2.0
    bell = np.exp(-0.5 * ((points - mean) / deviation) ** 2) / (deviation * np.sqrt(2.0 * np.pi))
    return points, w * (high - low) / 2.0 * bell


# --- the limit


def _of_limit(field: Field, level: float, times: Array) -> Array:
    """The survival on so many points that two resolutions agree."""
    low, _ = _bottom(field, level)
    points, weights = _start(field, level)
    low = min(low, float(points.min()) - 1e-9)
    n, X = POINTS, len(field.costs)
    before: Array | None = None
    while n * X <= MOST_UNKNOWNS:
        found = _collocated(field, low, level, n, times, points, weights)
        if before is not None and float(np.abs(found - before).max()) < AGREEMENT:
            return found
        before, n = found, int(n * REFINEMENT)
    raise OutOfScope(
        f"first_passage: {int(n / REFINEMENT)} points do not resolve the survival",
        'times that are not so short may; or use of="algorithm"',
    )


def _collocated(field: Field, low: float, level: float, n: int, times: Array, points: Array, weights: Array) -> Array:
    X = len(field.costs)
    D, nodes = _chebyshev(n)
    half = (level - low) / 2.0
    D = D / half
    x = low + (nodes + 1.0) * half
    slopes = np.array([field.gradients(i, x[:, None])[:, 0] for i in range(X)])
    # u = 0 at the level (node 0) is left out; at the bottom (node n) u' = 0, from which u there follows
    inner = slice(1, n)
    reduced = np.zeros((n + 1, n - 1))
    reduced[inner] = np.eye(n - 1)
    reduced[n] = -D[n, inner] / D[n, n]
    first, second = D @ reduced, D @ (D @ reduced)
    L = np.kron(field.generator, np.eye(n - 1))
    for i in range(X):
        block = slice(i * (n - 1), (i + 1) * (n - 1))
        L[block, block] += second[inner] / field.beta - slopes[i, inner, None] * first[inner]
    read = _interpolation(nodes, (points - low) / half - 1.0) @ reduced
    functional = np.concatenate([p * (weights @ read) for p in field.initial])
    u, now, out = np.ones(X * (n - 1)), 0.0, []
    steps: dict[float, Array] = {}
    for t in times:
        gap = round(float(t) - now, 14)
        if t == 0.0:
            out.append(float(weights.sum()))
            continue
        if gap not in steps:
            steps[gap] = expm(gap * L)
        u, now = steps[gap] @ u, float(t)
        out.append(float(functional @ u))
    return np.array(out)


def _chebyshev(n: int) -> tuple[Array, Array]:
    """Return the differentiation matrix on the n + 1 points cos(pi j / n), and the points."""
    nodes = np.cos(np.pi * np.arange(n + 1) / n)
    c = np.ones(n + 1)
    c[[0, n]] = 2.0
    c *= (-1.0) ** np.arange(n + 1)
    # differences of cosines as products of sines: their digits are kept near the ends
    angles = np.pi * np.arange(n + 1) / n
    gaps = -2.0 * np.sin((angles[:, None] + angles) / 2.0) * np.sin((angles[:, None] - angles) / 2.0)
    D = (c[:, None] / c) / (gaps + np.eye(n + 1))
    return D - np.diag(D.sum(axis=1)), nodes


def _interpolation(nodes: Array, at: Array) -> Array:
    """Return the matrix that takes values at Chebyshev's points to ``at``, by the barycentric formula."""
    w = (-1.0) ** np.arange(len(nodes))
    w[[0, -1]] /= 2.0
    gaps = at[:, None] - nodes
    hit = gaps == 0.0
    parts = w / np.where(hit, 1.0, gaps)
    parts[hit.any(axis=1)] = 0.0
    parts[hit] = 1.0
    return np.asarray(parts / parts.sum(axis=1, keepdims=True))


# --- the sampler


def _of_algorithm(field: Field, level: float, steps: Any) -> Array:
    """The survival, bounded by what becomes of paths that leave the grid at its bottom: they stay below, or come back and pass."""
    deviations = np.array([np.sqrt(V[0, 0]) for V in noise_covariances(field, "first_passage")])
    low, width = _bottom(field, level)
    for _ in range(WIDENINGS):
        below, above = (_walked(field, low, level, deviations, steps, kept) for kept in (0.0, 1.0))
        if float(np.abs(above - below).max()) < AGREEMENT:
            return above
        low -= width
    raise OutOfScope("first_passage: paths leave every grid", "take a smaller epsilon")


def _walked(field: Field, low: float, level: float, deviations: Array, steps: Any, kept: float) -> Array:
    """The survival; ``kept`` is that of a path below the grid."""
    panels = int(np.ceil((level - low) / (PANEL * deviations.min())))
    if panels * NODES > MOST_NODES:
        raise OutOfScope(
            f"first_passage: {panels * NODES} nodes are needed, more than {MOST_NODES}",
            "take a larger epsilon, or the limit",
        )
    g, w = np.polynomial.legendre.leggauss(NODES)
    edges = np.linspace(low, level, panels + 1)
    half = (edges[1] - edges[0]) / 2.0
    y, weights = ((edges[:-1] + half)[:, None] + half * g).ravel(), np.tile(w * half, panels)
    begin, start = _start(field, level)
    X, P = len(field.costs), field.transitions
    moves, first = ([_kernel(field, i, float(deviations[i]), x, y, weights) for i in range(X)] for x in (y, begin))
    leaks, first_leaks = ([_leak(field, i, float(deviations[i]), x, low) for i in range(X)] for x in (y, begin))
    products = sum(K.nnz for K in moves) * float(steps.max(initial=0))
    if products > MOST_PRODUCTS:
        raise OutOfScope(
            f"first_passage: {products:.2g} products are more than {MOST_PRODUCTS:.2g}", "take the limit instead"
        )
    v, k, out = np.ones((X, y.size)), 0, []
    for wanted in steps:
        while k < wanted - 1:  # the last step is taken from the start itself
            mixed = P @ v
            v = np.array([moves[i] @ mixed[i] + kept * leaks[i] for i in range(X)])
            k += 1
        if wanted == 0:
            out.append(float(start.sum()))
            continue
        mixed = P @ v
        out.append(
            sum(field.initial[i] * float(start @ (first[i] @ mixed[i] + kept * first_leaks[i])) for i in range(X))
        )
    return np.array(out)


def _targets(field: Field, mode: int, x: Array) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        moved = x - field.epsilon * field.gradients(mode, x[:, None])[:, 0]
    return np.nan_to_num(moved, nan=1e300, posinf=1e300, neginf=-1e300)


def _leak(field: Field, mode: int, deviation: float, x: Array, low: float) -> Array:
    """The probability to step below the grid."""
    with np.errstate(over="ignore"):
        return np.asarray(ndtr((low - _targets(field, mode, x)) / deviation))


def _kernel(field: Field, mode: int, deviation: float, x: Array, y: Array, weights: Array) -> Any:
    """The density of a step from x (rows) to y (columns) times the weights of y, sparse."""
    target = _targets(field, mode, x)
    first, last = (np.searchsorted(y, target + sign * REACH * deviation) for sign in (-1.0, 1.0))
    counts = last - first
    rows = np.repeat(np.arange(x.size), counts)
    columns = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(first, counts)
    z = (y[columns] - target[rows]) / deviation
    entries = weights[columns] * np.exp(-0.5 * z * z) / (deviation * np.sqrt(2.0 * np.pi))
    starts = np.concatenate([[0], np.cumsum(counts)])
    return sparse.csr_array((entries, columns, starts), shape=(x.size, y.size))
