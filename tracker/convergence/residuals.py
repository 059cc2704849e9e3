"""Residuals of single steps: what a step adds to the drift, divided by the noise that the algorithm should have.

    e_k = L_x^-1 (theta_{k+1} - theta_k + epsilon M grad C_x(theta_k)),   L_x L_x' = V_x = (2 epsilon/beta) I + epsilon^2 M Sigma_x M'

(docs/mathematics, "Implementation verdict"). Where V_x is singular they are taken in its range, and in the other directions
the engine must agree with the algorithm to rounding. Paths become sums over trials here, so that memory does not grow with
the trials; ``step_tests`` judges the sums.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tracker.chain import age_edges, exit_probability
from tracker.convergence.path_functionals import PathLaw, path_law
from tracker.limits.drift_field import Field, read_field
from tracker.limits.scope import OutOfScope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracker.array_types import Array, Integers
    from tracker.convergence.step_ladder import Ladder
    from tracker.scenario import Scenario


FLAT = 1e-12  # of the largest variance: a direction with less has no noise
ROUNDING = 1e-10  # of the size of a step and its ends: two codes of one formula agree so far
MEDIAN = 0.6744897501960817  # of |N(0, 1)|
FEATURES = 8  # coordinates of theta against which residuals are held
MOST_FLOATS = 5e7  # of the path of one trial
LEFT, AGAINST, STARTED, SIZE = range(4)  # entries of Sums.extremes


class Whitening(NamedTuple):
    """How to bring noise of covariance V to standard normals.

    to : (N, N), from the noise to standard normals; the rows from ``rank`` on are 0
    back : (N, N), an isometry from there to coordinates that all modes share; the columns from ``rank`` on are 0
    rank : of V
    smallest : the smallest standard deviation that is not 0; inf where there is no noise
    """

    to: Array
    back: Array
    rank: int
    smallest: float


class StepLaw(NamedTuple):
    """The law of a step: noise and drift by mode, the chain, the start.

    noise : by mode; spread : of the start
    injected : (X,), the trace of the injected noise's covariance in the unit of the whole noise; of the gradient noise's
        where nothing is injected
    overlap : (X + 1, X), in how many directions the noise of two modes varies together; the last row is the start's
    transitions : (X, X); exits : (X,), the chance to leave a mode; edges : of the ages of a visit
    paths : functionals of the whole path
    """

    field: Field
    noise: tuple[Whitening, ...]
    spread: Whitening
    injected: Array
    overlap: Array
    transitions: Array
    exits: Array
    edges: Integers
    paths: PathLaw = PathLaw()


class Sums(NamedTuple):
    """Sums over trials and steps; N coordinates, X modes, A ages.

    squares : (X, N, N), e e' by mode; inner : how many |e| lie below the median
    along : e'b and b'b, b the drift in the unit of the noise
    features, crossed : (X, F, F) and (X, N, F), f f' and e f' with f = (1, theta - its mean at the start)
    pairs : (2, X, X), how often mode i is followed by mode j, and for k > 0 only
    by_next, by_last : (X, X, N), e by (x_k, x_{k+1}) and by (x_{k-1}, x_k)
    lagged, neighbours, jumps : products of one step and the next, of two trials; and their variance
    ages : (2, X, A), steps and exits by the age of the visit
    start : (N,), start_squares : (N, N), of the standardised start; with_noise : its product with the first e, and the variance
    first : (X,), of x_0
    paths : (3,), see ``PathLaw.sums``
    extremes : (4,), not sums but maxima: see LEFT, AGAINST, STARTED (in units of what rounding explains), SIZE
    """

    trials: int
    squares: Array
    inner: Array
    along: Array
    features: Array
    crossed: Array
    pairs: Array
    by_next: Array
    by_last: Array
    lagged: Array
    neighbours: Array
    jumps: Array
    ages: Array
    start: Array
    start_squares: Array
    with_noise: Array
    first: Array
    paths: Array
    extremes: Array


def step_law(ladder: Ladder, rung: int = 0) -> StepLaw:
    """Return the law of a step at a rung.

    Raises
    ------
    OutOfScope
        For a sampler that is not of this form, noise that comes from data, and paths too long to be looked at step by step.
    """
    keys, scenario = ladder.keys, ladder.at(rung)
    if keys.adapts:
        raise OutOfScope(
            f"a {keys.kind} sampler moves {keys.adapts}, so the law of its next step is not that of theta and the mode alone"
        )
    if not keys.euler:
        raise OutOfScope(f"the law of a step is not known for the kind {keys.kind}")
    if path_floats(scenario) > MOST_FLOATS:
        raise OutOfScope(
            f"{scenario.steps} steps in {scenario.dimension} dimensions are too many to be kept one by one"
        )
    field = read_field(scenario, ladder.sampler)
    N, epsilon = scenario.dimension, field.epsilon
    given = 2.0 * epsilon / field.beta * np.eye(N)
    noise, injected = [], []
    for i, name in enumerate(field.names):
        Sigma = field.gradient_covariance(i)
        if Sigma is None:
            raise OutOfScope(
                f"the gradient noise of mode {name!r} is not white and Gaussian with one covariance: it comes from data or regressors, or remembers"
            )
        found = whitening(given + epsilon**2 * field.M @ Sigma @ field.M.T)
        noise.append(found)
        injected.append(float(np.trace(found.to @ given @ found.to.T)) if np.isfinite(field.beta) else found.rank)
    alpha = field.alpha if scenario.chain is not None else 0.0
    a = exit_probability(field.Q, alpha)
    transitions = field.transitions if scenario.chain is not None else np.eye(len(noise))
    spread = whitening(field.covariance)
    ranges = np.array([(each.back @ each.back.T).ravel() for each in (*noise, spread)])  # projectors
    overlap = ranges @ ranges[:-1].T
    paths = path_law(ladder, rung)
    return StepLaw(field, tuple(noise), spread, np.array(injected), overlap, transitions, a, age_edges(a), paths)


def path_floats(scenario: Scenario) -> int:
    """Return how many numbers a trial leaves if every step is recorded."""
    return (scenario.steps + 1) * (scenario.dimension + 3)


def whitening(V: Array) -> Whitening:
    """Return how to whiten noise of covariance V: symmetric where V is regular, in the basis of its range where not."""
    N = len(V)
    values, vectors = np.linalg.eigh(V)
    live = values > FLAT * max(float(values[-1]), 0.0)
    rank, smallest = int(live.sum()), float(np.sqrt(values[live].min(initial=np.inf)))
    root = vectors[:, live] / np.sqrt(values[live])
    to, back = np.zeros((N, N)), np.zeros((N, N))
    if rank == N:
        to, back = root @ vectors.T, np.eye(N)
    else:
        to[:rank], back[:, :rank] = root.T, vectors[:, live]
    return Whitening(to, back, rank, smallest)


def gather(law: StepLaw, theta: Array, mode: Integers) -> Sums:
    """Return the sums of some neighbouring trials; theta : (R, K + 1, N), mode : (R, K + 1)."""
    R, K, N = theta.shape[0], theta.shape[1] - 1, theta.shape[2]
    X, F = len(law.noise), min(N, FEATURES) + 1
    x, then = mode[:, :-1], mode[:, 1:]
    e, shared = np.zeros((R, K, N)), np.zeros((R, K, N))  # in the range of the noise, and in coordinates of all modes
    squares, features, crossed = np.zeros((X, N, N)), np.zeros((X, F, F)), np.zeros((X, N, F))
    inner, along, extremes = np.zeros(1), np.zeros(2), np.zeros(4)
    for i, noise in enumerate(law.noise):
        here = x == i
        if not here.any():
            continue
        old, new = theta[:, :-1][here], theta[:, 1:][here]
        drift = law.field.epsilon * law.field.gradients(i, old) @ law.field.M.T
        raw = new - old + drift
        white, b = raw @ noise.to.T, drift @ noise.to.T
        e[here], shared[here] = white, white @ noise.back.T
        squares[i] = white.T @ white
        inner += np.sum(np.abs(white[:, : noise.rank]) < MEDIAN)
        along += np.sum(white * b), np.sum(b * b)
        f = np.concatenate([np.ones((len(old), 1)), (old - law.field.mean)[:, : F - 1]], axis=1)
        features[i], crossed[i] = f.T @ f, white.T @ f
        size = np.abs(old).max(axis=1) + np.abs(new).max(axis=1) + np.abs(drift).max(axis=1)
        unit = np.maximum(ROUNDING * size, 1e-300)
        outside = np.eye(N) - noise.back @ noise.back.T
        if noise.rank < N:
            extremes[LEFT] = max(extremes[LEFT], float((np.abs(raw @ outside).max(axis=1) / unit).max()))
            extremes[AGAINST] = max(extremes[AGAINST], float((np.abs(drift @ outside).max(axis=1) / unit).max()))
        extremes[SIZE] = max(extremes[SIZE], float(size.max()))
    start, start_squares, with_noise = _start(law, theta[:, 0], x[:, 0], shared[:, 0], extremes)
    overlap = law.overlap
    surprise, chance = (then != x) - law.exits[x], (law.exits * (1.0 - law.exits))[x]
    return Sums(
        R,
        squares,
        inner,
        along,
        features,
        crossed,
        np.array([_count(x, then, X), _count(x[:, :-1], x[:, 1:], X)]),
        _by_pair(x, then, e, X),
        _by_pair(x[:, :-1], x[:, 1:], e[:, 1:], X),
        np.array([np.sum(shared[:, 1:] * shared[:, :-1]), np.sum(overlap[x[:, 1:], x[:, :-1]])]),
        np.array([np.sum(shared[1:] * shared[:-1]), np.sum(overlap[x[1:], x[:-1]])]),
        np.array([np.sum(surprise[1:] * surprise[:-1]), np.sum(chance[1:] * chance[:-1])]),
        _ages(law, mode),
        start,
        start_squares,
        with_noise,
        np.bincount(x[:, 0], minlength=X).astype(np.float64),
        law.paths.sums(theta),
        extremes,
    )


def join_sums(parts: Sequence[Sums]) -> Sums:
    """Return the sums of all parts."""
    total = Sums(*(sum(values[1:], start=values[0]) for values in zip(*parts, strict=True)))
    return total._replace(extremes=np.max([part.extremes for part in parts], axis=0))


def _start(law: StepLaw, theta: Array, x: Integers, first: Array, extremes: Array) -> tuple[Array, Array, Array]:
    """Sums of the standardised start, of its squares, and of its product with the first residual."""
    spread, mean = law.spread, law.field.mean
    raw = theta - mean
    white = raw @ spread.to.T
    outside = raw - raw @ (spread.back @ spread.back.T)
    size = np.abs(theta).max() + np.abs(mean).max()
    extremes[STARTED] = float(np.abs(outside).max()) / max(ROUNDING * float(size), 1e-300)
    product = np.sum((white @ spread.back.T) * first)
    return white.sum(axis=0), white.T @ white, np.array([product, law.overlap[-1, x].sum()])


def _count(i: Integers, j: Integers, X: int) -> Array:
    return np.asarray(np.bincount((i * X + j).ravel(), minlength=X * X).reshape(X, X), dtype=np.float64)


def _by_pair(i: Integers, j: Integers, e: Array, X: int) -> Array:
    key, N = (i * X + j).ravel(), e.shape[2]
    found = [np.bincount(key, e[:, :, d].ravel(), minlength=X * X) for d in range(N)]
    return np.asarray(np.stack(found, axis=1).reshape(X, X, N), dtype=np.float64)


def _ages(law: StepLaw, mode: Integers) -> Array:
    """Steps and exits by mode and age: the first step of a visit has age 1."""
    x, leaves = mode[:, :-1], mode[:, 1:] != mode[:, :-1]
    k = np.arange(x.shape[1])
    entered = np.maximum.accumulate(
        np.where(np.pad(leaves[:, :-1], ((0, 0), (1, 0)), constant_values=True), k, 0), axis=1
    )
    A, X = len(law.edges), len(law.noise)
    key = x * A + np.searchsorted(law.edges, k - entered + 1, side="right") - 1
    steps, exits = np.bincount(key.ravel(), minlength=X * A), np.bincount(key[leaves], minlength=X * A)
    return np.array([steps, exits], dtype=np.float64).reshape(2, X, A)
