"""The coupled Fokker-Planck equations by Fourier series: errors near 1e-12 where the box holds the law.

docs/mathematics, "Fourier series". N = 1: the dense matrix and its exponential. N = 2, and N = 1 with many modes:
Runge-Kutta of order 8, which for a linear equation is Taylor's polynomial, with products taken on the grid and derivatives by
FFT.

Where means to 1e-5 will do (``solve_for_means``): Lawson's integrating factor. With A the diffusion, which multiplies each wave
by -|k|^2 / beta, v = exp(-t A) rho obeys dv/dt = exp(-t A) B exp(t A) v, and the classical Runge-Kutta method of order 4 for v
has a step bound by drift and generator alone: |B| is at most max_theta sum_a |b_a| k_a + 2 max_i |r q_ii|.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.limits.scope import OutOfScope

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tracker.limits.drift_field import Field

    Waves = NDArray[np.complex128]

    from tracker.array_types import Array

FIRST_POINTS = {1: 96, 2: 48}  # a side; more until two resolutions agree
MOST_POINTS = {1: 768, 2: 256}
MOST_WORK = 6e9  # values of a right-hand side, about 2 minutes
LARGEST_DENSE = 1600
LARGEST_DENSE_FOR_MEANS = 400  # beyond, steps are cheaper than a dense exponential
MOST_WORK_FOR_MEANS = {
    1: 0.0,
    2: 4e7,
}  # values of a right-hand side, of all grids together: some 1.4 s; N = 1: dense only
SMALL_ARRAY = 2000  # values: fewer take as long
ORDER, STABLE = 8, 3.4  # Taylor's polynomial of degree 8 lets no wave with |lambda dt| <= 3.4 and Re lambda <= 0 grow
STAGES, STABLE_FACTOR = 4, 2.2  # of the integrating factor; |B dt| <= 2.8 is stable for waves that only travel
POWERS, MARGIN = 40, 1.15  # how often, and with what margin, the largest |lambda| is looked for by the power method


class TooMuchWork(OutOfScope):
    """More than is allowed: the drift is steep, or the law narrow, in a wide box."""


def point_axes(box: Array, points: int | tuple[int, ...]) -> tuple[Array, ...]:
    """The points of a periodic grid along each axis; the high end is the low end again."""
    counts = (points,) * len(box) if isinstance(points, int) else points
    return tuple(low + np.arange(n) * (high - low) / n for n, (low, high) in zip(counts, box, strict=True))


def initial_density(field: Field, axes: tuple[Array, ...], covariance: Array | None = None) -> Array:
    """The start, shape (X, n) or (X, n, n); ``covariance``: another one in place of its own."""
    V = field.covariance if covariance is None else covariance
    z = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1) - field.mean
    at = np.exp(-0.5 * np.einsum("...a,ab,...b", z, np.linalg.inv(V), z))
    at /= np.sqrt(np.linalg.det(2 * np.pi * V))
    return np.asarray(field.initial.reshape((-1,) + (1,) * len(axes)) * at)


def drifts(field: Field, axes: tuple[Array, ...]) -> Array:
    """M grad C_i at the points, shape (X, N, n) or (X, N, n, n)."""
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    return np.array([np.moveaxis(field.gradients(i, points) @ field.M.T, -1, 0) for i in range(len(field.costs))])


def solve(field: Field, box: Array, points: int, times: Array) -> Array:
    """Densities at increasing ``times``, shape (T, X, n) or (T, X, n, n); not finite where the grid is far too coarse."""
    dense = len(box) == 1 and len(field.costs) * points <= LARGEST_DENSE
    with np.errstate(over="ignore", invalid="ignore"):
        return (_dense if dense else _taylor)(field, box, points, times)


def _wave_numbers(box: Array, points: int, axis: int) -> Array:
    low, high = box[axis]
    return np.asarray(2 * np.pi * np.fft.fftfreq(points, (high - low) / points))


def _dense(field: Field, box: Array, points: int, times: Array) -> Array:
    from scipy.linalg import expm

    axes, X = point_axes(box, points), len(field.costs)
    k = _wave_numbers(box, points, 0)
    odd = np.where(np.arange(points) * 2 == points, 0.0, k)  # the saw-tooth wave has no slope on the grid
    F = np.fft.fft(np.eye(points), axis=0)
    D1 = np.fft.ifft(1j * odd[:, None] * F, axis=0).real
    D2 = np.fft.ifft(-(k**2)[:, None] * F, axis=0).real
    b = drifts(field, axes)[:, 0]
    L = np.kron(field.generator.T, np.eye(points))
    for i in range(X):
        block = slice(i * points, (i + 1) * points)
        L[block, block] += D1 * b[i] + D2 / field.beta
    rho = initial_density(field, axes)
    v, now, out = rho.ravel(), 0.0, []
    steps: dict[float, Array] = {}
    for t in times:
        gap = round(float(t) - now, 14)
        if gap not in steps:
            steps[gap] = expm(gap * L)
        v, now = steps[gap] @ v, float(t)
        out.append(v.reshape(rho.shape))
    return np.array(out)


def solve_for_means(field: Field, box: Array, points: int, times: Array) -> Array:
    """``solve`` for less work: the grid is compared with another, and the steps of time with it."""
    if len(box) == 1 and len(field.costs) * points <= LARGEST_DENSE_FOR_MEANS:
        return solve(field, box, points, times)
    with np.errstate(over="ignore", invalid="ignore"):
        return _factored(field, box, points, times)


def work_for_means(field: Field, box: Array, points: int, times: Array) -> float:
    """How many values of the right-hand side ``solve_for_means`` computes on such a grid; 0 for a small dense matrix."""
    if len(box) == 1 and len(field.costs) * points <= LARGEST_DENSE_FOR_MEANS:
        return 0.0
    axes = point_axes(box, points)
    with np.errstate(over="ignore", invalid="ignore"):
        b = drifts(field, axes)
        return STAGES * float(_counts(field, box, b, times).sum()) * max(SMALL_ARRAY, b.size / len(box))


def _counts(field: Field, box: Array, b: Array, times: Array) -> Array:
    """Steps of time up to each of ``times`` from the one before."""
    N, points = len(box), b.shape[-1]
    fastest = np.pi * points / (box[:, 1] - box[:, 0])
    bound = float((np.abs(b) * fastest.reshape((N,) + (1,) * N)).sum(axis=1).max())
    bound += 2.0 * float(np.abs(np.diag(field.generator)).max())
    return np.asarray(np.ceil(bound * np.diff(times, prepend=0.0) / STABLE_FACTOR))


def _factored(field: Field, box: Array, points: int, times: Array) -> Array:
    """Integrating factor for the diffusion, Runge-Kutta of order 4 for the rest."""
    b, waves, damping, rate = _pieces(field, box, points)
    N, out = len(box), []
    gaps, counts = np.diff(times, prepend=0.0), _counts(field, box, b, times)
    for gap, count in zip(gaps, counts, strict=True):
        dt = gap / max(1.0, count)
        half = np.exp(damping * (dt / 2))
        for _ in range(int(count)):
            k1 = rate(waves)
            moved = half * waves
            k2 = rate(moved + (dt / 2) * (half * k1))
            k3 = rate(moved + (dt / 2) * k2)
            carried = half * moved
            k4 = rate(carried + dt * (half * k3))
            waves = carried + (dt / 6) * (half * (half * k1 + 2.0 * (k2 + k3)) + k4)
        out.append(_on_grid(waves, points, N))
    return np.array(out)


def _pieces(field: Field, box: Array, points: int) -> tuple[Array, Waves, Array, Callable[[Waves], Waves]]:
    """The drifts, the start's waves, the damping of every wave, and the rate by drift and generator."""
    from scipy import fft

    N, axes = len(box), point_axes(box, points)
    b = drifts(field, axes)
    inner = tuple(range(-N, 0))
    k = [_wave_numbers(box, points, a) for a in range(N)]
    k[-1] = np.abs(k[-1][: points // 2 + 1])  # rfft keeps half of the last axis
    grid = np.stack(np.meshgrid(*k, indexing="ij"))
    slopes = 1j * np.where(np.abs(grid) * (box[:, 1] - box[:, 0]).reshape((N,) + (1,) * N) >= np.pi * points, 0.0, grid)
    G = field.generator.T
    size = (points,) * N

    def rate(waves: Waves) -> Waves:
        rho = fft.irfftn(waves, s=size, axes=inner)
        flux = fft.rfftn(b * rho[:, None], axes=inner, overwrite_x=True)
        flux *= slopes
        return np.asarray(flux.sum(axis=1) + np.tensordot(G, waves, axes=1))

    waves = np.asarray(fft.rfftn(initial_density(field, axes), axes=inner))
    return b, waves, -(grid**2).sum(axis=0) / field.beta, rate


def _on_grid(waves: Waves, points: int, N: int) -> Array:
    from scipy import fft

    return np.asarray(fft.irfftn(waves, s=(points,) * N, axes=tuple(range(-N, 0))))


def _taylor(field: Field, box: Array, points: int, times: Array) -> Array:
    b, waves, damping, by_drift = _pieces(field, box, points)
    N = len(box)

    def rate(waves: Waves) -> Waves:
        return np.asarray(by_drift(waves) + damping * waves)

    largest = _fastest(rate, waves.shape)
    work = ORDER * largest * float(times[-1]) / STABLE * b.size / N
    if work > MOST_WORK:
        raise TooMuchWork(
            f"density: the spectral method needs {work:.1g} values of the right-hand side at {points} points a side; "
            'use method="finite-volume", or a smaller box='
        )
    now, out = 0.0, []
    for t in times:
        count = int(np.ceil(largest * (float(t) - now) / STABLE))
        for _ in range(count):
            dt = (float(t) - now) / count
            term = waves
            for degree in range(1, ORDER + 1):
                term = rate(term) * (dt / degree)
                waves = waves + term
        now = float(t)
        out.append(_on_grid(waves, points, N))
    return np.array(out)


def _fastest(rate: Callable[[Waves], Waves], shape: tuple[int, ...]) -> float:
    """The largest |lambda| of a linear map of waves, with a margin."""
    rng = np.random.Generator(np.random.SFC64(0))
    w = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(np.complex128)
    sizes = []
    for _ in range(POWERS):
        w = rate(w / np.linalg.norm(w))
        sizes.append(float(np.linalg.norm(w)))
    return MARGIN * max(sizes[POWERS // 2 :])
