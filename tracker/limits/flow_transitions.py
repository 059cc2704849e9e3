"""The transition of one mode over a short time: the flow carries every point, and noise spreads it as a Gaussian.

Notes
-----
In a short time h in mode i, theta goes from a point to nearly N(m(h), V(h)), where m(0) is the point, V(0) = 0, and

    dm/dt = E b(z),   dV/dt = E[(z - m) b(z)'] + its transpose + (2 / beta) I,   z ~ N(m, V),   b = -(I + S) grad C_i.

The expectations are taken over the 2 N points m +- sqrt(N) L e_a with L L' = V, which is exact for quadratic costs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tracker.array_types import Array
    from tracker.limits.drift_field import Field

# How many of its standard deviations a step reaches. Columns are scaled to 1, so what is left out changes the variance of
# a step by 2e-5 of itself for N = 2. One dimension is cheap.
REACH = {1: 7.0, 2: 5.2}
SUBSTEPS_AGREE, MOST_SUBSTEPS = 1e-3, 128  # two numbers of substeps differ by at most this share of the noise
POINTS_AT_ONCE = 4096
COLUMN_LEAVES_BOX = 5e-2  # a column whose sum is further from 1 leads out of the box, and keeps its sum


def transition(
    field: Field, mode: int, points: Array, h: float, same: float = SUBSTEPS_AGREE, most: int = MOST_SUBSTEPS
) -> tuple[Array, Array]:
    """m(h) and V(h) from each of ``points`` (P, N); nan where no number of substeps up to ``most`` settles it to ``same``."""
    parts = [
        _settled(field, mode, points[k : k + POINTS_AT_ONCE], h, same, most)
        for k in range(0, max(1, len(points)), POINTS_AT_ONCE)
    ]
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


def conditional_spreads(V: Array) -> Array:
    """The standard deviation of each coordinate given the other, (P, N)."""
    given = V[:, 0, 1] ** 2 if V.shape[1] == 2 else np.zeros(len(V))
    variances = np.einsum("pii->pi", V)
    return np.asarray(np.sqrt(np.maximum(variances - given[:, None] / variances[:, ::-1], 0.0)))


def switching(field: Field, h: float) -> Array:
    """exp(h G)', which carries the masses of the modes (X, ...) over a time h."""
    from scipy.linalg import expm

    return np.asarray(expm(h * field.generator.T))


def scale_columns(K: Any) -> Any:
    """Return K with columns that sum to 1, where they nearly do."""
    sums = np.asarray(K.sum(axis=0)).ravel()
    scale = np.where(np.abs(sums - 1.0) < COLUMN_LEAVES_BOX, sums, 1.0).astype(K.dtype)
    K.data /= np.repeat(scale, np.diff(K.indptr))
    return K
