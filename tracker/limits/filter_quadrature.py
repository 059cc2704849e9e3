"""The error of the exact Bayes filter of two modes, by quadrature (docs/mathematics, "Bayes filter").

Notes
-----
Let l be the log odds of the first mode before step k, p = 1/(1 + exp(-l)). The filter stands at theta = p m_1 + (1 - p) m_2, sees the
gradient there, adds its log likelihood ratio to l, and lets the chain move: l <- T(l + ratio), T(y) = logit(P_21 + (P_11 - P_21)/(1 + exp(-y))).
So (mode, l) is a Markov chain, and l stays between the two ends of T. Its operator K, (K f)_x(l) = sum_y P_xy E_x f_y(T(l + ratio)), acts on
functions that are as smooth as T: K is written down at Chebyshev points of l, expectations by the trapezoidal rule over the noise.
Its left null vector, with the law of the chain as the law of the mode, gives stationary means to about 1e-11.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtr

from tracker.limits.mode_signals import RUN_IT, Signals, read_signals
from tracker.limits.scope import OutOfScope

if TYPE_CHECKING:
    from tracker.array_types import Array
    from tracker.scenario.model import Scenario

FIRST, MOST = 32, 1024  # points of l
ENOUGH = 1e-10  # of the largest possible error: a change by twice the points that is none
CERTAIN = 80.0  # a distance in deviations of the noise at which one gradient tells the mode; farther is the same
REACH = 7.2  # deviations of the noise
PER_UNIT = 1.3  # points of the noise in the width in which the log odds change by 1
MOST_NOISE, MOST_WORK = 200_000, 1e9  # points of the noise; of them times the square of the points of l
EQUAL = 1e-12  # variances that differ by less are equal


@dataclass(frozen=True)
class BayesFilter:
    """The exact filter of the mode in stationarity, scored before it has seen step k.

    mean_square_error : E|theta_k - m_x|^2 of its mean
    wrong : the probability that the likelier mode is not the hidden one
    error : an estimate of the error of the mean square error: how much it changes with twice the points
    bound : whether no algorithm that sees one gradient a step has a smaller mean square error: what a gradient tells does not depend
        on where it is taken
    """

    mean_square_error: float
    wrong: float
    error: float
    bound: bool


def best_filter(scenario: Scenario, cells: int | None = None) -> BayesFilter:
    """Return the error of the exact Bayes filter of two modes; ``cells`` points of the log odds, else as many as it takes.

    Raises
    ------
    OutOfScope
        For more than two modes, noise that is not Gaussian or has another range in each mode.

    Examples
    --------
    >>> import tracker
    >>> modes = [{"name": n, "cost": "quadratic", "minimum": [m], "curvature": [[1.0]], "gradient_noise": 1.0}
    ...          for n, m in (("left", -1.0), ("right", 1.0))]
    >>> scenario = tracker.parse({"name": "two", "trials": 1, "steps": 10, "start": [0.0], "modes": modes,
    ...                           "chain": {"alpha": 0.01, "Q": [[-1.0, 1.0], [1.0, -1.0]]},
    ...                           "samplers": [{"name": "s", "kind": "langevin", "epsilon": 0.1}]})
    >>> round(tracker.limits.best_filter(scenario).mean_square_error, 9)
    0.107936807
    """
    if cells is not None and not FIRST // 4 <= cells <= MOST:
        raise ValueError(f"cells: {cells} must be between {FIRST // 4} and {MOST}")
    if len(scenario.modes) > 2:
        raise OutOfScope(f"best_filter: {len(scenario.modes)} modes are more than the 2 that quadrature takes", RUN_IT)
    signals = read_signals(scenario)
    world = _world(signals)
    n = FIRST if cells is None else cells // 2
    coarse, fine = _means(world, n), _means(world, 2 * n)
    work = 4 * n * n * len(_ratios(_shifts(world, np.zeros(1))[0], world.s, 0, 0.0)[0])
    while cells is None and abs(fine[0] - coarse[0]) > ENOUGH and 2 * n < MOST and (work := 4 * work) <= MOST_WORK:
        n *= 2
        coarse, fine = fine, _means(world, 2 * n)
    jump = float(np.square(signals.minimisers[0] - signals.minimisers[1]).sum())
    return BayesFilter(jump * float(fine[0]), float(fine[1]), jump * abs(float(fine[0] - coarse[0])), world.constant)


class _World(NamedTuple):
    """Two modes in coordinates u in which the noise of the first has variance 1, and that of the second the variances s^2.

    white : ndarray, shape (r, N), from gradients to u; in the first mode u ~ N(0, I), in the second u ~ N(shift, s^2)
    s : ndarray, shape (r,)
    constant : whether the shift is the same at every theta, and nothing is told outside of the range of the noise
    """

    signals: Signals
    white: Array
    s: Array
    constant: bool


def _world(signals: Signals) -> _World:
    values, vectors = np.linalg.eigh(signals.Sigma[0])
    noisy = values > 1e-12 * max(float(values[-1]), 0.0)
    U = vectors[:, noisy]
    outside = signals.Sigma[1] - U @ U.T @ signals.Sigma[1] @ U @ U.T
    other = np.linalg.eigvalsh(U.T @ signals.Sigma[1] @ U)
    if not (
        noisy.any()
        and np.abs(outside).max() <= EQUAL * np.abs(signals.Sigma).max()
        and other.min() > EQUAL * other.max()
    ):
        reason = "best_filter: the gradient noise must have the same range in both modes, and some range"
        raise OutOfScope(reason, "give both the same gradient_noise, not zero")
    white = U.T / np.sqrt(values[noisy])[:, None]
    squares, turned = np.linalg.eigh(white @ signals.Sigma[1] @ white.T)
    told = np.zeros(1) if signals.slopes is None else signals.slopes[1] - signals.slopes[0]
    inside = signals.slopes is not None and bool(
        np.abs(told - U @ (U.T @ told)).max() <= EQUAL * max(1e-300, float(np.abs(told).max()))
    )
    return _World(signals, turned.T @ white, np.sqrt(squares), inside)


def _means(world: _World, n: int) -> Array:
    """Return E p (1 - p) and the probability that the likelier mode is wrong, from n points of l."""
    P, law = world.signals.P, world.signals.law
    ends = np.sort(logit([P[1, 0], P[0, 0]]))
    if not ends[1] - ends[0] > 1e-12:  # the mode of a step says nothing about the next
        return np.array([law[0] * law[1], law.min()])
    x = np.cos(np.pi * np.arange(n) / (n - 1))
    l = ends.mean() + (ends[1] - ends[0]) / 2.0 * x
    polynomials = np.polynomial.chebyshev.chebvander(x, n - 1)
    back = np.linalg.inv(polynomials)
    after = [_after(world, mode, l, ends) for mode in (0, 1)]
    moves = [moved @ back for moved, _ in after]
    K = np.block([[P[i, j] * moves[i] for j in (0, 1)] for i in (0, 1)])
    mass = np.zeros((2, 2 * n))  # any vectors whose sums over the points of a mode are 1: they fix the law of the mode
    mass[0, :n], mass[1, n:] = 1.0 / n, 1.0 / n
    ones = np.kron(np.eye(2), np.ones((n, 1)))
    w = np.linalg.solve((np.eye(2 * n) - K + ones @ mass).T, law @ mass)
    unsure = expit(l) * expit(-l)
    wrong = np.concatenate([P[i, 0] * lower + P[i, 1] * (1.0 - lower) for i, (_, lower) in enumerate(after)])
    return np.array([w @ np.tile(unsure, 2), w @ wrong])


def _after(world: _World, mode: int, l: Array, ends: Array) -> tuple[Array, Array]:
    """Return the means of the Chebyshev polynomials of the next log odds, (n, n), and the probability that these are below 0.

    Both from each of the log odds ``l``, while the mode is ``mode``.
    """
    P = world.signals.P
    turn = (0.5 - P[1, 0]) / (P[0, 0] - P[1, 0])
    level = float(logit(turn)) if 0.0 < turn < 1.0 else np.inf * np.sign(0.5 - P[1, 0])  # where the next log odds are 0
    rows, lower = np.empty((len(l), len(l))), np.empty(len(l))
    for k, (here, shift) in enumerate(zip(l, _shifts(world, l), strict=True)):
        weights, ratio, below = _ratios(shift, world.s, mode, level - here)
        p = P[1, 0] + (P[0, 0] - P[1, 0]) * expit(here + ratio)
        x = np.clip((2.0 * logit(p) - ends.sum()) / (ends[1] - ends[0]), -1.0, 1.0)
        rows[k] = _chebyshev_means(weights, x, len(l))
        lower[k] = below if P[0, 0] > P[1, 0] else 1.0 - below
    return rows, lower


def _shifts(world: _World, l: Array) -> Array:
    """Return where the second mode's gradients lie in u, seen from the first mode's, at the filter's place; shape (n, r)."""
    signals, m = world.signals, world.signals.minimisers
    if signals.slopes is not None:
        return np.tile(world.white @ (signals.slopes[1] - signals.slopes[0]), (len(l), 1))
    places = expit(l)[:, None] * m[0] + expit(-l)[:, None] * m[1]
    found = np.array([signals.gradients(theta) for theta in places])
    return np.asarray((found[:, 1] - found[:, 0]) @ world.white.T)


def _ratios(shift: Array, s: Array, mode: int, level: float) -> tuple[Array, Array, float]:
    """Return weights and log likelihood ratios of the noise of one step, and the probability that the ratio is below ``level``.

    That probability is exact where the ratio is Gaussian; else to the spacing of the points, of which many places of l make an average.
    """
    equal = np.abs(s - 1.0) <= EQUAL
    distance = min(float(np.linalg.norm(shift[equal])), CERTAIN)
    sign = 1.0 if mode == 0 else -1.0
    if equal.all():  # the ratio itself is Gaussian
        z, weights = _normal(distance)
        mean = sign * distance**2 / 2.0
        below = float(ndtr((level - mean) / distance)) if distance > 0.0 else float(level > 0.0)
        return weights, mean + distance * z, below
    weights, ratio = np.ones(1), np.zeros(1)
    parts = [(distance, 1.0)] if distance > 0.0 else []
    for d, spread in [*parts, *zip(shift[~equal], s[~equal], strict=True)]:
        steepest = max(abs(d) / min(spread, 1.0) ** 2, abs(1.0 / spread**2 - 1.0) * REACH * max(spread, 1.0))
        z, more = _normal(steepest)
        u = z if mode == 0 else d + spread * z
        part = ((u - d) / spread) ** 2 / 2.0 - u**2 / 2.0 + np.log(spread)
        weights, ratio = np.multiply.outer(weights, more).ravel(), np.add.outer(ratio, part).ravel()
        if len(weights) > MOST_NOISE:
            raise OutOfScope("best_filter: noise that differs between the modes in many directions, or by much", RUN_IT)
    return weights, ratio, float(weights @ (ratio < level))


def _normal(slope: float) -> tuple[Array, Array]:
    """Points and weights of a standard normal for a function of slope * z that changes on the scale 1."""
    half = int(np.ceil(REACH * max(PER_UNIT, PER_UNIT * slope)))
    z = np.linspace(-REACH, REACH, 2 * half + 1)
    weights = np.exp(-0.5 * z * z)
    return z, weights / weights.sum()


def _chebyshev_means(weights: Array, x: Array, n: int) -> Array:
    """Return sum_k weights_k T_j(x_k) for j < n."""
    found = np.empty(n)
    before, here = np.ones_like(x), x
    found[0] = weights.sum()
    for j in range(1, n):
        found[j] = weights @ here
        before, here = here, 2.0 * x * here - before
    return found
