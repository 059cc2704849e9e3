"""Stability of a system that a chain switches, by its half-vectorised second moments by mode.

Notes
-----
With A_i = (I + S) H_i, B_i = I - epsilon A_i and Pi_i = E[theta theta' 1{x = i}], and without what noise and minima add,

    algorithm:  Pi_i -> sum_j P_ji B_j Pi_j B_j',  P = I + alpha Q
    limit:      Pi_i' = -A_i Pi_i - Pi_i A_i' + sum_j ratio Q_ji Pi_j

The second moments stay bounded where the radius of the first map is below 1, and the largest real part in the spectrum
of the second, its abscissa, below 0. Gradient noise that grows with theta adds epsilon^2 (L_j Pi_j L_j' + G_j tr(W_j Pi_j))
to what the algorithm mixes (docs/mathematics, "Regression"). Each mode may be stable alone and the whole not: where curvatures differ and the chain
switches about every quarter turn, S pumps energy.

Both maps keep symmetric matrices symmetric, and covariances in their cone. So half of the entries tell all of the
spectrum that matters, and a map is stable if and only if what it leads to from the identity, added up for ever, is a
covariance: one linear solve tells, without any eigenvalue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from tracker.array_types import Array


MOST_UNKNOWNS = 700  # of a dense matrix: eigenvalues take a second, a solve 20 milliseconds


def unknowns(modes: int, dimension: int) -> int:
    """Return the number of second moments by mode, each pair of coordinates once."""
    return modes * dimension * (dimension + 1) // 2


def steps_of(A: Array, Q: Array, alpha: float, scatter: Array | None = None) -> Callable[[float], Array]:
    """Return epsilon -> the map of one step of the algorithm less the identity, shape (n, n).

    A : ndarray, shape (X, N, N), (I + S) H of each mode
    scatter : ndarray, shape (X, h, h), what gradient noise that grows with theta adds at epsilon = 1; None where it does not
    """
    eye = np.broadcast_to(np.eye(A.shape[1]), A.shape)
    linear, quadratic = _both(A, eye), 0.5 * _both(A, A)
    if scatter is not None:
        quadratic = quadratic + scatter
    stay = np.eye(linear.shape[1])

    def at(epsilon: float) -> Array:
        move = -epsilon * linear + epsilon**2 * quadratic  # not I + move: a small epsilon keeps its digits
        # mixed after the move: Pi_j <- sum_i P_ij (I + move_i) Pi_i
        return _with_diagonal(alpha * np.einsum("ij,iab->jaib", Q, stay + move), move)

    return at


def step_map(A: Array, Q: Array, alpha: float, epsilon: float, scatter: Array | None = None) -> Array:
    """Return the map of one step of the algorithm less the identity, shape (n, n)."""
    return steps_of(A, Q, alpha, scatter)(epsilon)


def scatter_of(left: Array, size: Array, weight: Array) -> Array:
    """Return Pi -> L Pi L' + G tr(W Pi) of each mode on the lower triangles of symmetric matrices, shape (X, h, h)."""
    a, b = np.tril_indices(left.shape[1])
    pairs = weight[:, a, b] + np.where(a == b, 0.0, weight[:, b, a])
    return 0.5 * _both(left, left) + size[:, a, b][:, :, None] * pairs[:, None, :]


def generator(A: Array, Q: Array, ratio: float) -> Array:
    """Return the generator of the limit's second moments, shape (n, n)."""
    eye = np.broadcast_to(np.eye(A.shape[1]), A.shape)
    move = -_both(A, eye)
    return _with_diagonal(ratio * np.einsum("ij,ab->jaib", Q, np.eye(move.shape[1])), move)


def _both(left: Array, right: Array) -> Array:
    """Return Pi -> L Pi R' + R Pi L' of each mode on the lower triangles of symmetric matrices, shape (X, h, h)."""
    X, N = left.shape[:2]
    a, b = np.tril_indices(N)
    below, above = a * N + b, b * N + a
    L, R = left[:, a], right[:, b]  # rows (a, b) of what multiplies Pi[c, d] from both sides
    whole = L[:, :, :, None] * R[:, :, None, :]
    L, R = left[:, b], right[:, a]
    whole += L[:, :, None, :] * R[:, :, :, None]
    flat = whole.reshape(X, a.size, N * N)
    found = flat.take(below, axis=2)
    found[:, :, a != b] += flat.take(above[a != b], axis=2)
    return found


def _with_diagonal(mixed: Array, move: Array) -> Array:
    X, h = move.shape[:2]
    for i in range(X):
        mixed[i, :, i, :] += move[i]
    return mixed.reshape(X * h, X * h)


def log_radius(change: Array) -> float:
    """Return the logarithm of the spectral radius of I + change."""
    values = np.linalg.eigvals(change)
    square = np.maximum(2.0 * values.real + np.abs(values) ** 2, -1.0)  # |1 + value|^2 - 1, where rounding may go below
    with np.errstate(divide="ignore"):
        return float(np.log1p(square).max()) / 2.0


def abscissa(matrix: Array) -> float:
    """Return the largest real part of the eigenvalues."""
    return float(np.linalg.eigvals(matrix).real.max())


def margin(change: Array, modes: int, dimension: int) -> float:
    """Return how far I + change (a step), or the flow of change (a generator), is from unstable: positive where it is stable.

    It is the inverse of the trace of all that comes of the identity: of the order of the slowest rate, and smooth where it
    passes through 0. Farther from there, where it is unstable, only the sign has a meaning.
    """
    a, b = np.tril_indices(dimension)
    try:
        halves = -np.linalg.solve(change, np.tile(np.where(a == b, 1.0, 0.0), modes)).reshape(modes, -1)
    except np.linalg.LinAlgError:
        return 0.0
    if not np.isfinite(halves).all():
        return 0.0
    found = np.zeros((modes, dimension, dimension))
    found[:, a, b] = found[:, b, a] = halves
    size = abs(1.0 / float(np.einsum("iaa->", found)))
    return size if np.linalg.eigvalsh(found)[:, 0].min() > 0.0 else -size
