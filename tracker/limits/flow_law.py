"""The law of the limit by short transitions: the flow of a mode carries every point, and noise spreads it as a Gaussian.

Notes
-----
In a short time h in mode i, theta goes from a point to nearly N(m(h), V(h)), where m(0) is the point, V(0) = 0, and

    dm/dt = E b(z),   dV/dt = E[(z - m) b(z)'] + its transpose + (2 / beta) I,   z ~ N(m, V),   b = -(I + S) grad C_i.

The expectations are taken over the 2 N points m +- sqrt(N) L e_a with L L' = V, which is exact for quadratic costs. The modes
switch by exp(h G / 2) before and after. The error is of order h^2 where all is smooth, and independent of how steep the drift
or how narrow the law is: only the grid must resolve the noise of a step. Points that never hold mass are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.limits.drift_field import NUMBERS, numbers_of
from tracker.limits.grid_box import EDGE, wider
from tracker.limits.sampler_law import sparse_kernel
from tracker.limits.scope import OutOfScope
from tracker.limits.spectral import TooMuchWork, initial_density, point_axes

if TYPE_CHECKING:
    from tracker.array_types import Array, Booleans, Integers
    from tracker.limits.drift_field import Field


LOOK_STEPS, LOOKS, WIDENINGS = 64, 6, 3  # of the coarse law that shows where mass is; how often, and how often wider
LOOK_POINTS, LOOK_DENSITY = {1: 256, 2: 128}, 0.5  # a side; of them in the narrowest standard deviation
AHEAD = {
    1: 64,
    2: 6,
}  # neighbours whose transitions are computed with those that have mass, so that it is done a few times only
SHRINKS = 0.8  # a box that keeps this share of its sides is not trimmed again
NO_MASS, LITTLE_MASS = 1e-10, 1e-5  # of a point of the coarse law: is never there; need not be resolved
LEAST_POINTS = {1: 128, 2: 40}
# Points in the narrowest standard deviation of a step, and how many of those a step reaches. Columns are scaled to 1, so what
# is left out changes the variance of a step by 2e-5 of itself for N = 2. One dimension is cheap.
DENSITY, REACH = {1: 1.2, 2: 0.85}, {1: 7.0, 2: 5.2}
NEARLY = 5e-2  # a column whose sum is further from 1 leads out of the box, and keeps its sum
# Of a flow: two numbers of substeps agree to this share of the noise, and for the coarse law; substeps at most.
SAME, ROUGHLY_SAME, MOST_SUBSTEPS = 1e-3, 0.1, 128
FEWEST_STEPS, EASY_SUBSTEPS, EASY = 8, 16, 0.95  # the first number of steps is one whose flows mostly settle so soon
MOST_STEPS = 4096
CHUNK = 4096  # points whose flows are computed together
# Work is counted in products of an entry and a mass, about 1e-9 s: an entry takes so many to build, and a point of the grid, or of
# the coarse law, so many to follow the flow; more where the cost is made of many numbers.
BUILDING, FLOW = 40, 20_000
MOST_ENTRIES = 30_000_000  # 0.25 GB, and half as much again while they are built


class TooLarge(OutOfScope):
    """More entries than fit into memory."""


class Places(NamedTuple):
    """Where mass is: on a coarse grid of ``box``, by mode, ever more than NO_MASS and LITTLE_MASS of it."""

    box: Array
    any: Booleans
    much: Booleans


class Level(NamedTuple):
    """One number of steps: the grid that resolves their noise, and where every point that holds mass goes.

    held : for each mode the flat indices of those points; means, covariances : of where they go, (P, N), (P, N, N)
    work : of the transitions and the steps, in products
    """

    points: tuple[int, ...]
    held: list[Integers]
    means: list[Array]
    covariances: list[Array]
    work: float


# --- the transition of a mode


def transition(
    field: Field, mode: int, points: Array, h: float, same: float = SAME, most: int = MOST_SUBSTEPS
) -> tuple[Array, Array]:
    """m(h) and V(h) from each of ``points`` (P, N); nan where no number of substeps up to ``most`` settles it to ``same``."""
    parts = [_settled(field, mode, points[k : k + CHUNK], h, same, most) for k in range(0, max(1, len(points)), CHUNK)]
    return np.concatenate([mean for mean, _ in parts]), np.concatenate([V for _, V in parts])


def _settled(field: Field, mode: int, points: Array, h: float, same: float, most: int) -> tuple[Array, Array]:
    P, N = points.shape
    mean, covariance = np.full((P, N), np.nan), np.full((P, N, N), np.nan)
    left, count = np.arange(P), 2
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        last = _flow(field, mode, points, h, 1)
        while len(left) and count <= most:
            m, V = _flow(field, mode, points[left], h, count)
            variance = np.einsum("pii->pi", V)
            off = np.abs(m - last[0]).max(axis=1) / np.sqrt(variance.min(axis=1))
            off = np.maximum(off, np.abs(V - last[1]).max(axis=(1, 2)) / variance.min(axis=1))
            done = off <= same
            mean[left[done]], covariance[left[done]] = m[done], V[done]
            left, last, count = left[~done], (m[~done], V[~done]), 2 * count
    return mean, covariance


def _flow(field: Field, mode: int, points: Array, h: float, count: int) -> tuple[Array, Array]:
    """Runge and Kutta's method of order 4 in ``count`` steps."""
    m, V = points, np.zeros((*points.shape, points.shape[1]))
    dt = h / count
    for _ in range(count):
        m1, V1 = _rates(field, mode, m, V)
        m2, V2 = _rates(field, mode, m + dt / 2 * m1, V + dt / 2 * V1)
        m3, V3 = _rates(field, mode, m + dt / 2 * m2, V + dt / 2 * V2)
        m4, V4 = _rates(field, mode, m + dt * m3, V + dt * V3)
        m, V = m + dt / 6 * (m1 + 2 * (m2 + m3) + m4), V + dt / 6 * (V1 + 2 * (V2 + V3) + V4)
    return m, V


def _rates(field: Field, mode: int, m: Array, V: Array) -> tuple[Array, Array]:
    N = m.shape[1]
    arms = np.sqrt(N) * np.swapaxes(_root(V), 1, 2)  # (P, N, N), row a: sqrt(N) L e_a
    around = np.stack([m[:, None] + arms, m[:, None] - arms], axis=1)
    b = -field.gradients(mode, around) @ field.M.T
    slope = np.einsum("pai,paj->pij", arms, b[:, 0] - b[:, 1]) / (2 * N)
    return b.mean(axis=(1, 2)), slope + np.swapaxes(slope, 1, 2) + 2.0 / field.beta * np.eye(N)


def _root(V: Array) -> Array:
    """Lower triangular L with L L' = V for N = 1, 2; V may be 0."""
    L = np.zeros_like(V)
    L[:, 0, 0] = np.sqrt(np.maximum(V[:, 0, 0], 0.0))
    if V.shape[1] == 2:
        L[:, 1, 0] = np.divide(V[:, 1, 0], L[:, 0, 0], out=np.zeros(len(V)), where=L[:, 0, 0] > 0.0)
        L[:, 1, 1] = np.sqrt(np.maximum(V[:, 1, 1] - L[:, 1, 0] ** 2, 0.0))
    return L


# --- where mass is


def places(field: Field, box: Array, horizon: float) -> Places:
    """Trim the box to where a coarse law ever has mass. Its noise is widened to its grid, so it errs towards too much."""
    widenings = 0
    for _ in range(LOOKS):
        found = _look(field, box, horizon)
        if _fills(found.any) and widenings < WIDENINGS:
            box, widenings = (
                wider(box),
                widenings + 1,
            )  # switches climb: what one mode holds may lie high up in the other
            continue
        trimmed = _around(found)
        kept = (trimmed[:, 1] - trimmed[:, 0]) / (box[:, 1] - box[:, 0])
        if kept.min() > SHRINKS:
            break
        box = trimmed
    return found


def _fills(held: Booleans) -> bool:
    return any(np.take(held, [0, -1], axis=axis).any() for axis in range(1, held.ndim))


def _look(field: Field, box: Array, horizon: float) -> Places:
    """Where the coarse law has mass; transitions are computed of points that have some, when they first have."""
    N, X, h = len(box), len(field.costs), horizon / LOOK_STEPS
    axes = point_axes(box, LOOK_POINTS[N])
    sides = np.array([axis[1] - axis[0] for axis in axes])
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, N)
    least = np.diag((LOOK_DENSITY * sides) ** 2)
    rho = initial_density(field, axes, field.covariance + least).reshape(X, -1) * float(np.prod(sides))
    most, known = np.zeros_like(rho), np.zeros(rho.shape, dtype=bool)
    kernels: list[list[tuple[Integers, Any]]] = [[] for _ in range(X)]
    switch, shape = _switching(field, h), (X, *(len(axis) for axis in axes))
    for _ in range(LOOK_STEPS):
        most = np.maximum(most, rho)
        for mode in range(X):
            held = rho[mode] > NO_MASS
            if not known[mode][held].all():
                new = np.flatnonzero(_grown(held.reshape(1, *shape[1:]), AHEAD[N]).ravel() & ~known[mode])
                known[mode, new] = True
                mean, V = transition(field, mode, grid[new], h, ROUGHLY_SAME)
                narrow = (_conditional(V) ** 2 < np.diag(least)).any(axis=1)
                V[narrow] += least
                kernels[mode].append((new, _scaled(sparse_kernel(mean, V, axes, REACH[N]))))
        rho = switch @ np.array(
            [sum((K @ r[own] for own, K in kernels[mode]), np.zeros(len(grid))) for mode, r in enumerate(rho)]
        )
    most = np.maximum(most, rho)
    return Places(box, _grown((most > NO_MASS).reshape(shape)), (most > LITTLE_MASS).reshape(shape))


def _grown(mask: Booleans, by: int = 1) -> Booleans:
    """With the neighbours of every point that is in, so many along each axis; the first axis is the mode's."""
    from scipy.ndimage import maximum_filter

    return np.asarray(maximum_filter(mask, size=(1, *(2 * by + 1,) * (mask.ndim - 1)), mode="constant"))


def _around(found: Places) -> Array:
    """The part of the box that holds mass, with an empty edge."""
    sides = []
    for a, (low, high) in enumerate(found.box):
        held = np.flatnonzero(found.any.any(axis=tuple(b for b in range(found.any.ndim) if b != a + 1)))
        h = (high - low) / found.any.shape[a + 1]
        first, last = low + h * held[0], low + h * (held[-1] + 1)
        sides.append([first - EDGE * (last - first), last + EDGE * (last - first)])
    return np.array(sides)


def _switching(field: Field, h: float) -> Array:
    from scipy.linalg import expm

    return np.asarray(expm(h * field.generator.T))


# --- the law


def first_steps(field: Field, found: Places, horizon: float) -> int:
    """A number of steps whose flows are short enough for errors of order 2 to be seen."""
    at = np.stack(np.meshgrid(*point_axes(found.box, found.any.shape[1]), indexing="ij"), axis=-1)
    steps = FEWEST_STEPS
    for mode in range(len(field.costs)):
        while steps < MOST_STEPS and found.much[mode].any():
            mean, _ = transition(field, mode, at[found.much[mode]], horizon / steps, most=EASY_SUBSTEPS)
            if np.isfinite(mean).all(axis=1).mean() >= EASY:
                break
            steps *= 2
    return steps


def following(field: Field, points: float) -> float:
    """The work of following so many points."""
    return points * FLOW * (1.0 + max(map(numbers_of, field.costs)) / NUMBERS)


def level(field: Field, found: Places, horizon: float, steps: int, most: float) -> Level:
    """The grid for so many steps, and its transitions.

    Raises
    ------
    TooLarge, TooMuchWork
        Where they are too many, or the work is more than ``most``; before it is done.
    """
    N, X, h = len(found.box), len(field.costs), horizon / steps
    lengths = found.box[:, 1] - found.box[:, 0]
    points = _points(field, found, h)
    look = found.any.shape[1]
    _refuse(
        points, float(np.prod(np.array(points, dtype=float))) * float(found.any.sum(axis=0).mean()), 0.0, steps, most
    )
    index = np.ix_(*(np.arange(n) * look // n for n in points))
    held = [np.flatnonzero(found.any[mode][index]) for mode in range(X)]
    flows = following(field, sum(map(len, held)))
    _refuse(points, 0.0, flows, steps, most)
    grid = np.stack(np.meshgrid(*point_axes(found.box, points), indexing="ij"), axis=-1).reshape(-1, N)
    means, covariances, entries = [], [], 0.0
    for mode in range(X):
        mean, V = transition(field, mode, grid[held[mode]], h)
        fine = np.isfinite(mean).all(axis=1) & np.isfinite(V).all(axis=(1, 2))
        held[mode] = held[mode][fine]
        means.append(mean[fine])
        covariances.append(V[fine])
        reached = 2 * REACH[N] * np.sqrt(np.einsum("pii->pi", V[fine])) / (lengths / points) + 1
        entries += float(np.prod(reached, axis=1).sum())
    return Level(points, held, means, covariances, _refuse(points, entries, flows, steps, most))


def _points(field: Field, found: Places, h: float) -> tuple[int, ...]:
    """Points a side that resolve the start and the noise of a step, wherever there is much mass."""
    N = len(found.box)
    at = np.stack(np.meshgrid(*point_axes(found.box, found.any.shape[1]), indexing="ij"), axis=-1)
    spreads = [_conditional(field.covariance[None])[0]]
    for mode in range(len(field.costs)):
        if found.much[mode].any():
            V = transition(field, mode, at[found.much[mode]], h)[1]
            spreads.append(np.nanmin(_conditional(V), axis=0, initial=np.inf))
    wanted = (found.box[:, 1] - found.box[:, 0]) * DENSITY[N] / np.min(spreads, axis=0)
    return tuple(int(np.ceil(max(n, LEAST_POINTS[N]))) for n in np.minimum(wanted, 1e6))


def _refuse(points: tuple[int, ...], entries: float, flows: float, steps: int, most: float) -> float:
    """The work; refused where it is too much."""
    work = flows + entries * (BUILDING + steps)
    grid = " x ".join(map(str, points))
    if entries > MOST_ENTRIES:
        raise TooLarge(f"{steps} steps on {grid} points need {entries:.1g} entries, more than {MOST_ENTRIES:.1g}")
    if work > most:
        raise TooMuchWork(
            f"density: {steps} steps on {grid} points take {work:.1g} products, and {most:.1g} are left of those allowed"
        )
    return work


def _conditional(V: Array) -> Array:
    """The standard deviation of each coordinate given the other, (P, N)."""
    given = V[:, 0, 1] ** 2 if V.shape[1] == 2 else np.zeros(len(V))
    variances = np.einsum("pii->pi", V)
    return np.asarray(np.sqrt(np.maximum(variances - given[:, None] / variances[:, ::-1], 0.0)))


def solve(field: Field, box: Array, on: Level, times: Array, steps: int) -> Array:
    """Densities at ``times``, which are whole numbers of the ``steps`` that lead to the last, shape (T, X, n) or (T, X, n, n)."""
    h = float(times[-1]) / steps
    axes = point_axes(box, on.points)
    N = len(box)
    dtype = np.float64 if N == 1 else np.float32
    # single precision for N = 2: its 6e-8 is far below what is left out above, and entries are what takes memory
    kernels = [
        _scaled(sparse_kernel(mean, V, axes, REACH[N], dtype)) for mean, V in zip(on.means, on.covariances, strict=True)
    ]
    half = _switching(field, h / 2)
    start = initial_density(field, axes)
    rho, out, k = start.reshape(len(start), -1), [], 0
    for t in times:
        for _ in range(k, round(float(t) / h)):
            rho = half @ rho
            rho = half @ np.array([K @ r[own].astype(dtype) for K, r, own in zip(kernels, rho, on.held, strict=True)])
        k = round(float(t) / h)
        out.append(rho.reshape(start.shape))
    return np.array(out)


def _scaled(K: Any) -> Any:
    """With columns that sum to 1, where they nearly do."""
    sums = np.asarray(K.sum(axis=0)).ravel()
    scale = np.where(np.abs(sums - 1.0) < NEARLY, sums, 1.0).astype(K.dtype)
    K.data /= np.repeat(scale, np.diff(K.indptr))
    return K
