"""The coupled Fokker-Planck equations by finite volumes: positive, and mass is kept (docs/mathematics, "Finite volumes").

Off the diagonal no entry of the matrix L is negative, and its columns sum to 0. In time, exp(t L) is a Poisson sum of powers
of I + L / q: no subtraction anywhere, so rounding cannot make a density negative either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.limits.grid_box import EDGE, wider

if TYPE_CHECKING:
    from tracker.array_types import Array
    from tracker.limits.drift_field import Field


CELLS = {1: 960, 2: 160}  # a side
CHUNK = 400.0  # q t at once: exp(-400) is still a number
LARGEST_COST = 1e200
# Where beta C rises by more from one cell to the next, mass falls through the cell at once, and only 1e-13 of it climbs.
# Such cells lie in corners of the box that hold nothing, yet the fastest of them would decide how many steps are taken.
STEEPEST = 30.0
TRIM_CELLS, NO_MASS = {1: 160, 2: 80}, 1e-14
WIDENINGS, FULL = 3, 1e-10


def cell_axes(box: Array, cells: int) -> tuple[Array, ...]:
    """The middles of the cells along each axis."""
    return tuple(low + (np.arange(cells) + 0.5) * (high - low) / cells for low, high in box)


def bernoulli(x: Array) -> Array:
    """B(x) = x / (e^x - 1), B(0) = 1, never negative."""
    small = np.abs(x) < 1e-5
    y = np.clip(np.where(small, 1.0, x), -700.0, 700.0)
    large = np.where(x < -700.0, -x, y / np.expm1(y))
    return np.where(small, 1.0 - x / 2 + x * x / 12, large)


def initial_masses(field: Field, box: Array, cells: int) -> Array:
    """Masses of the start in the cells, shape (X, n) or (X, n, n): exact for N = 1, by Gauss's rule for N = 2."""
    from scipy.special import ndtr

    if len(box) == 1:
        faces = np.linspace(box[0, 0], box[0, 1], cells + 1)
        shares = np.diff(ndtr((faces - field.mean[0]) / np.sqrt(field.covariance[0, 0])))
    else:
        nodes, weights = np.polynomial.legendre.leggauss(4)
        axes = cell_axes(box, cells)
        sides = (box[:, 1] - box[:, 0]) / cells
        x, y = ((axis[:, None] + nodes * h / 2).ravel() for axis, h in zip(axes, sides, strict=True))
        z = np.stack(np.meshgrid(x - field.mean[0], y - field.mean[1], indexing="ij"), axis=-1)
        at = np.exp(-0.5 * np.einsum("...a,ab,...b", z, np.linalg.inv(field.covariance), z))
        at /= 2 * np.pi * np.sqrt(np.linalg.det(field.covariance))
        parts = at.reshape(cells, 4, cells, 4)
        shares = np.einsum("iajb,a,b->ij", parts, weights, weights) * sides.prod() / 4
    shares = shares / shares.sum()
    return field.initial.reshape((-1,) + (1,) * len(box)) * shares


def rate_matrix(field: Field, box: Array, cells: int) -> Any:
    """L, sparse, on the masses of all modes, mode after mode; columns sum to 0."""
    from scipy import sparse

    blocks = [_mode_rates(field, i, box, cells) for i in range(len(field.costs))]
    switching = sparse.kron(sparse.csr_array(field.generator.T), sparse.eye_array(cells ** len(box)))
    off = sparse.block_diag(blocks, format="csr") + switching
    off = sparse.csr_array(off - sparse.diags_array(off.diagonal()))
    return sparse.csr_array(off - sparse.diags_array(np.asarray(off.sum(axis=0)).ravel()))


def _mode_rates(field: Field, mode: int, box: Array, cells: int) -> Any:
    """The rates between neighbouring cells in one mode, sparse, without a diagonal."""
    from scipy import sparse

    axes = cell_axes(box, cells)
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    with np.errstate(over="ignore", invalid="ignore"):
        C = np.clip(np.nan_to_num(field.values(mode, points), nan=LARGEST_COST), -LARGEST_COST, LARGEST_COST)
    S = field.M - np.eye(len(box))
    number = np.arange(C.size).reshape(C.shape)
    rows, columns, rates = [], [], []
    for a, (low, high) in enumerate(box):
        h = (high - low) / cells
        d = np.diff(C, axis=a)
        left, right = (np.take(number, range(s, cells - 1 + s), axis=a).ravel() for s in (0, 1))
        if S.any():
            middles = np.take(points, range(cells - 1), axis=a).copy()
            middles[..., a] += h / 2
            d = d + h * (field.gradients(mode, middles) @ S[a])
        d = np.clip(d.ravel(), -STEEPEST / field.beta, STEEPEST / field.beta)
        up, down = (bernoulli(sign * field.beta * d) / (field.beta * h * h) for sign in (1.0, -1.0))
        rows += [right, left]
        columns += [left, right]
        rates += [up, down]
    entries = (np.concatenate(rates), (np.concatenate(rows), np.concatenate(columns)))
    return sparse.csr_array(sparse.coo_array(entries, shape=(C.size, C.size)))


def propagate(L: Any, v: Array, t: float) -> Array:
    """exp(t L) v for a rate matrix L and v >= 0, by uniformisation."""
    from scipy import sparse

    fastest = float(-L.diagonal().min())
    if t == 0.0 or fastest == 0.0:
        return v.copy()
    step = sparse.csr_array(L / fastest + sparse.eye_array(len(v)))
    step.data = np.maximum(step.data, 0.0)  # the fastest cell's diagonal is 0 up to rounding
    chunks = int(np.ceil(fastest * t / CHUNK))
    weights = _poisson(fastest * t / chunks)
    for _ in range(chunks):
        before, v = v, _mixed_powers(step, weights, v)
        if float(np.abs(v - before).sum()) < 1e-14:
            break  # stationary: more time changes nothing
    return v


def _poisson(mean: float) -> Array:
    """The Poisson probabilities 0, 1, ..., as far as they matter, summing to 1."""
    from scipy.special import gammaln

    k = np.arange(int(mean + 10.0 * np.sqrt(mean) + 30.0))
    p = np.exp(k * np.log(mean) - mean - gammaln(k + 1.0))
    return np.asarray(p / p.sum())


def _mixed_powers(step: Any, weights: Array, v: Array) -> Array:
    out = weights[0] * v
    for weight in weights[1:]:
        v = step @ v
        if weight > 1e-18:
            out += weight * v
    return out


def solve(field: Field, box: Array, cells: int, times: Array) -> Array:
    """Densities at increasing ``times``, shape (T, X, n) or (T, X, n, n)."""
    L = rate_matrix(field, box, cells)
    masses = initial_masses(field, box, cells)
    volume = float(np.prod((box[:, 1] - box[:, 0]) / cells))
    v, now, out = masses.ravel(), 0.0, []
    for t in times:
        v, now = propagate(L, v, float(t) - now), float(t)
        out.append(v.reshape(masses.shape) / volume)
    return np.array(out)


def trim_box(field: Field, box: Array, horizon: float) -> Array:
    """Return the part of the box outside of which a coarse solution never has mass, a little more on each side.

    A box that the coarse solution fills is widened first, at most WIDENINGS times. What comes out does not depend on the cells
    asked for later.
    """
    times = horizon * np.array([0.0, 0.01, 0.03, 0.1, 0.3, 1.0])
    cells, inner = TRIM_CELLS[len(box)], tuple(range(1, len(box) + 1))
    for left in range(WIDENINGS, -1, -1):
        law = solve(field, box, cells, times).sum(axis=1)
        marginals = [law.sum(axis=tuple(b for b in inner if b != a)) for a in inner]
        masses = [m / m.sum(axis=1, keepdims=True) for m in marginals]
        if max(float(np.maximum(m[:, 0], m[:, -1]).max()) for m in masses) < FULL or left == 0:
            break
        box = wider(box)
    sides = []
    for (low, high), mass in zip(box, masses, strict=True):
        before, after = (np.cumsum(m, axis=1).max(axis=0) for m in (mass, mass[:, ::-1]))
        cut = [int(np.sum(sums < NO_MASS)) * (high - low) / cells for sums in (before, after)]
        margin = EDGE * (high - low - sum(cut))  # so that what counts as near the edge is empty
        sides.append([low + cut[0] - margin, high - cut[1] + margin])
    return np.array(sides)
