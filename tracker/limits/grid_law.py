"""The law of (theta, mode) on a grid, which every density function returns, and distances between two laws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.line_area import mean_height
from tracker.scenario.builders import mode_index

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from tracker.array_types import Array


DISTANCE_POINTS = 12_001  # where two CDFs are compared
FINER = 16  # times the points of a smooth law, where its CDF is tabulated: the spline between is then right to rounding
# Of order 2, halving the cells divides differences by 4. Three grids show it where the quotient lies between these.
ORDER_2 = (3.0, 5.5)
SLOWEST = 1.25  # a quotient below: nothing converges yet, and the error may be a few times the difference


@dataclass(frozen=True, eq=False)
class Law:
    """rho_i(theta) = density of theta and mode i together; the leading axis is time (or step).

    at : ndarray, shape (T,), the times or steps
    grid : ndarray, shape (n,), for N = 1; two of them for N = 2 (the points of axis 1 and of axis 2)
    density : ndarray, shape (T, X, n) or (T, X, n_1, n_2)
    box : ndarray, shape (N, 2)
    names : of the modes
    smooth : the grid values stand for a trigonometric polynomial (else for means over cells)
    box_too_small : mass lies near the edge of the box, so that no number here is to be trusted
    too_coarse : the cells are too coarse for the drift across them; a number here has its error beside it, and needs it
    coarse : the same law on a coarser grid, from which errors are estimated (cells: and it has one of its own, to show the
        order); None in the coarsest law itself
    """

    at: Array
    grid: Array | tuple[Array, ...]
    density: Array
    box: Array
    names: tuple[str, ...]
    smooth: bool
    box_too_small: bool = False
    too_coarse: bool = False
    coarse: Law | None = None

    @property
    def axes(self) -> tuple[Array, ...]:
        """The points of each axis."""
        return self.grid if isinstance(self.grid, tuple) else (self.grid,)

    @property
    def volume(self) -> float:
        """Of a cell."""
        lengths = self.box[:, 1] - self.box[:, 0]
        return float(np.prod([length / len(axis) for length, axis in zip(lengths, self.axes, strict=True)]))

    @property
    def probability(self) -> Array:
        """P(x = i), shape (T, X)."""
        return np.asarray(self.density.sum(axis=tuple(range(2, self.density.ndim))) * self.volume)

    @property
    def mass_error(self) -> Array:
        """|1 - total mass|, shape (T,)."""
        return np.abs(1.0 - self.probability.sum(axis=1))

    def expectation(self, f: Callable[..., Any], mode: int | str | None = None) -> Array:
        """E f(theta), or E[f(theta); x = mode] (not normalised), shape (T,); f(x) or f(x, y) takes arrays."""
        at_grid = np.asarray(f(*np.meshgrid(*self.axes, indexing="ij")), dtype=np.float64)
        weights = np.broadcast_to(at_grid, self.density.shape[2:]) * self.volume
        N = weights.ndim
        return np.asarray(np.tensordot(self._mixed(mode), weights, axes=N))

    def expectation_error(self, f: Callable[..., Any], mode: int | str | None = None) -> Array:
        """Estimate the error of ``expectation`` by refinement, shape (T,)."""
        gap, quotient = self._refinement(f, mode)
        return np.asarray(np.abs(gap) * self._gain(quotient))

    def extrapolated(self, f: Callable[..., Any], mode: int | str | None = None) -> Array:
        """``expectation``, and where three grids of cells show order 2 its leading error is taken off, shape (T,)."""
        found = self.expectation(f, mode)
        if self.smooth or self.coarse is None or self.coarse.coarse is None:
            return found
        gap, quotient = self._refinement(f, mode)
        return np.where((quotient > ORDER_2[0]) & (quotient < ORDER_2[1]), found + gap / 3.0, found)

    def _refinement(self, f: Callable[..., Any], mode: int | str | None) -> tuple[Array, Array]:
        """The difference to the coarser grid, and how often it goes into the one before; 4 where only two are known."""
        if self.coarse is None:
            raise ValueError("a coarse law has no error estimate of its own")
        coarse = self.coarse.expectation(f, mode)
        gap = self.expectation(f, mode) - coarse
        if self.coarse.coarse is None:
            return gap, np.full_like(gap, 4.0)
        before = coarse - self.coarse.coarse.expectation(f, mode)
        return gap, np.divide(before, gap, out=np.full_like(gap, 4.0), where=gap != 0.0)

    @property
    def error_estimate(self) -> Array:
        """The integral of |error of the density| over theta and modes, estimated by refinement, shape (T,)."""
        if self.coarse is None:
            raise ValueError("a coarse law has no error estimate of its own")
        if self.smooth:
            inner = tuple(range(1, self.density.ndim))
            difference = self.density - resample(self.coarse.density, self.density.shape[2:])
            return np.asarray(np.abs(difference).sum(axis=inner) * self.volume)
        gap = _cells_gap(self, self.coarse)
        if self.coarse.coarse is None:
            return gap / 3.0
        before = _cells_gap(self.coarse, self.coarse.coarse)
        quotient = np.divide(before, gap, out=np.full_like(gap, 4.0), where=gap > 0.0)
        return gap * self._gain(quotient)

    def cdf(self, points: ArrayLike, mode: int | str | None = None) -> Array:
        """P(theta <= point), or with x = mode (not normalised), shape (T, points); N = 1."""
        if len(self.box) != 1:
            raise ValueError("cdf: for N = 1 only; for N = 2 use expectation of an indicator")
        x = np.clip(np.atleast_1d(np.asarray(points, dtype=np.float64)), *self.box[0])
        rho = self._mixed(mode)
        return self._smooth_cdf(rho, x) if self.smooth else self._cell_cdf(rho, x)

    def _gain(self, quotient: Array) -> Array:
        """The share of the difference of two resolutions that is the error of the finer; ``quotient``: of two differences."""
        if self.smooth:
            return np.ones_like(quotient)
        return np.asarray(1.0 / (np.clip(quotient, SLOWEST, 4.0) - 1.0))

    def _mixed(self, mode: int | str | None) -> Array:
        if mode is None:
            return np.asarray(self.density.sum(axis=1))
        return self.density[:, mode_index(mode, self.names)]

    def _cell_cdf(self, rho: Array, x: Array) -> Array:
        from scipy.interpolate import PchipInterpolator  # monotone, as a CDF must be

        faces = np.linspace(self.box[0, 0], self.box[0, 1], rho.shape[1] + 1)
        sums = np.concatenate([np.zeros((len(rho), 1)), np.cumsum(rho, axis=1) * self.volume], axis=1)
        return np.asarray(PchipInterpolator(faces, sums, axis=1)(x))

    def _smooth_cdf(self, rho: Array, x: Array) -> Array:
        """Integrate the trigonometric polynomial through the grid values: by FFT on a finer grid, and a spline through that."""
        from scipy.interpolate import CubicSpline

        low, high = self.box[0]
        n = rho.shape[1]
        fine = FINER * n
        c = np.fft.rfft(rho, axis=1) / n
        wave = 2j * np.pi / (high - low) * np.arange(c.shape[1])
        if n % 2 == 0:
            c[:, -1] /= 2  # on the finer grid the saw-tooth wave is one wave of two, and counts twice
        c[:, 1:] /= wave[1:]
        mean, c[:, 0] = c[:, :1].real.copy(), 0.0
        waves = np.fft.irfft(c, n=fine, axis=1) * fine
        first = self.axes[0][0]
        at = first + (high - low) / fine * np.arange(fine + 1)
        periodic = CubicSpline(at, np.concatenate([waves, waves[:, :1]], axis=1), axis=1, bc_type="periodic")
        return np.asarray(periodic(x) - periodic(low)[:, None] + mean * (x - low))


def _cells_gap(fine: Law, coarse: Law) -> Array:
    """The integral of |difference| over theta and modes of two laws, one with twice the cells, shape (T,)."""
    pairs = fine.density
    for axis in range(2, pairs.ndim):
        pairs = (np.moveaxis(pairs, axis, -1)[..., ::2] + np.moveaxis(pairs, axis, -1)[..., 1::2]) / 2
        pairs = np.moveaxis(pairs, -1, axis)
    return np.asarray(np.abs(pairs - coarse.density).sum(axis=tuple(range(1, pairs.ndim))) * coarse.volume)


def resample(density: Array, sizes: tuple[int, ...]) -> Array:
    """The trigonometric polynomial on another grid of the same box, both beginning at its low corner."""
    for axis, n in enumerate(sizes, start=2):
        coefficients = np.fft.rfft(density, axis=axis) * (n / density.shape[axis])
        density = np.fft.irfft(coefficients, n=n, axis=axis)
    return density


def _gap(a: Law, b: Law) -> tuple[Array, Array]:
    """Points, and F_a - F_b there, shape (T, points)."""
    if len(a.box) != 1 or len(b.box) != 1:
        raise ValueError("w1 and ks: for N = 1 only")
    x = np.linspace(min(a.box[0, 0], b.box[0, 0]), max(a.box[0, 1], b.box[0, 1]), DISTANCE_POINTS)
    return x, a.cdf(x) - b.cdf(x)


def w1_of_laws(a: Law, b: Law) -> Array:
    """W1 between the laws of theta at each time, the integral of |F_a - F_b|, shape (T,); N = 1."""
    x, gap = _gap(a, b)
    return np.asarray(mean_height(gap[:, :-1], gap[:, 1:]).sum(axis=1) * (x[1] - x[0]))


def ks_of_laws(a: Law, b: Law) -> Array:
    """Kolmogorov's distance between the laws of theta at each time, max |F_a - F_b|, shape (T,); N = 1."""
    return np.asarray(np.abs(_gap(a, b)[1]).max(axis=1))
