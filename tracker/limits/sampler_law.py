"""Compute the exact law of a sampler by quadrature of its transition kernel (docs/mathematics, "Law of the sampler")."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.limits.scope import OutOfScope
from tracker.limits.spectral import initial_density, point_axes

if TYPE_CHECKING:
    from tracker.array_types import Array, Integers
    from tracker.limits.drift_field import Field


DENSITY = {1: 2.0, 2: 1.5}  # points per standard deviation of the noise: 5e-35 and 5e-20
REACH = 7.8  # standard deviations of the noise that are kept: 6e-15 beyond
# Where means to 1e-6 will do, which is far below what trials can see: 4e-11, and for N = 2 a step loses mass 9e-11.
FOR_MEANS_DENSITY, FOR_MEANS_REACH = 1.1, 6.8
LEAST_POINTS = {1: 192, 2: 64}  # a side
BAND, BAND_ENTRIES = 2048, 2_000_000  # columns of a kernel that are built at once, and entries, at most
MOST_ENTRIES = 60_000_000  # of the kernels of all modes together: 0.7 GB


def noise_covariances(field: Field, tool: str = "algorithm_density") -> list[Array]:
    """V_i for each mode; ``tool`` is named where it is refused.

    Raises
    ------
    ValueError
        If the noise of a step has no density, or not the same Gaussian one at every theta.
    """
    found = []
    for i in range(len(field.costs)):
        Sigma, name = field.gradient_covariance(i), field.names[i // field.stages]
        if Sigma is None:
            raise OutOfScope(
                f"{tool}: the gradient noise of mode {name!r} comes from data and is not a Gaussian of "
                "constant covariance",
                "use coupled, or simulate with tracker.run",
            )
        V = 2 * field.epsilon / field.beta * np.eye(len(field.M)) + field.epsilon**2 * field.M @ Sigma @ field.M.T
        if not np.linalg.eigvalsh(V)[0] > 0.0:
            raise OutOfScope(f"{tool}: no noise in some direction in mode {name!r}, so no density", "use coupled")
        found.append(V)
    return found


def points_needed(field: Field, box: Array, density: float) -> tuple[int, ...]:
    """Points along each axis so that the least noise, and the start, have ``density`` per standard deviation."""
    spreads = [np.diag(V) * (1.0 - _correlation(V) ** 2) for V in noise_covariances(field)]
    if field.covariance.any():
        spreads.append(np.diag(field.covariance) * (1.0 - _correlation(field.covariance) ** 2))
    narrowest = np.sqrt(np.min(spreads, axis=0))
    least = LEAST_POINTS[len(box)] * density / DENSITY[len(box)]
    wanted = (box[:, 1] - box[:, 0]) * density / narrowest
    return tuple(int(np.ceil(max(n, least))) for n in wanted)


def _correlation(V: Array) -> float:
    return 0.0 if len(V) == 1 else float(V[0, 1] / np.sqrt(V[0, 0] * V[1, 1]))


def solve(field: Field, box: Array, points: int | tuple[int, ...], steps: Array, reach: float = REACH) -> Array:
    """Densities at increasing ``steps``, shape (T, X, n) or (T, X, n, n)."""
    axes = point_axes(box, points)
    covariances = noise_covariances(field)
    refuse_too_many(field, box, points, reach)
    kernels = [_kernel(field, i, V, axes, reach) for i, V in enumerate(covariances)]
    P = field.transitions
    k, rho, out = _first(field, covariances, axes, int(steps[0]))
    for wanted in steps:
        for _ in range(k, int(wanted)):
            moved = np.array([K @ r.ravel() for K, r in zip(kernels, rho, strict=True)])
            rho = (P.T @ moved).reshape(rho.shape)
        k = int(wanted)
        out.append(rho.copy())
    return np.array(out)


def _first(
    field: Field, covariances: list[Array], axes: tuple[Array, ...], step: int
) -> tuple[int, Array, list[Array]]:
    """The first law with a density: the start, or that of theta_1 if the start is a point."""
    if field.covariance.any():
        return 0, initial_density(field, axes), []
    if step == 0:
        raise OutOfScope("algorithm_density: the start is a point, so at step 0 there is no density", "begin at step 1")
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    moved = []
    for i, V in enumerate(covariances):
        z = points - (field.mean - field.epsilon * field.M @ field.gradients(i, field.mean[None])[0])
        at = np.exp(-0.5 * np.einsum("...a,ab,...b", z, np.linalg.inv(V), z)) / np.sqrt(np.linalg.det(2 * np.pi * V))
        moved.append(field.initial[i] * at)
    return 1, np.tensordot(field.transitions.T, np.array(moved), axes=1), []


def _widths(V: Array, sides: Array, reach: float) -> list[int]:
    """How many points to each side a kernel reaches along each axis."""
    return [int(np.ceil(reach * np.sqrt(V[a, a]) / sides[a])) for a in range(len(V))]


def kernel_entries(field: Field, box: Array, points: int | tuple[int, ...], reach: float = REACH) -> int:
    """How many entries the kernels of all modes have, at most."""
    axes = point_axes(box, points)
    sides = np.array([axis[1] - axis[0] for axis in axes])
    count = int(np.prod([len(axis) for axis in axes]))
    return sum(count * int(np.prod([2 * w + 1 for w in _widths(V, sides, reach)])) for V in noise_covariances(field))


def refuse_too_many(field: Field, box: Array, points: int | tuple[int, ...], reach: float = REACH) -> None:
    """Refuse, before any work, kernels that do not fit into memory."""
    entries = kernel_entries(field, box, points, reach)
    if entries > MOST_ENTRIES:
        raise OutOfScope(
            f"algorithm_density: {entries:.2g} kernel entries are needed, more than {MOST_ENTRIES:.2g}",
            "take a larger epsilon or a smaller box, or use coupled",
        )


def refuse_too_long(
    field: Field, box: Array, points: int | tuple[int, ...], steps: int, reach: float, most: float
) -> float:
    """Refuse, before any work, a law for means that would take longer than trials do; return its products."""
    products = float(kernel_entries(field, box, points, reach)) * steps
    if products > most:
        raise OutOfScope(
            f"algorithm_density: {steps} steps of {products / steps:.2g} kernel entries are {products:.2g} products, "
            f"more than {most:.2g}",
            "simulation is the cheaper way",
        )
    return products


def _kernel(field: Field, mode: int, V: Array, axes: tuple[Array, ...], reach: float) -> Any:
    """phi(y - m(theta); V) times the cell, sparse, from theta (columns) to y (rows) on the grid."""
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    with np.errstate(over="ignore", invalid="ignore"):
        target = points - field.epsilon * field.gradients(mode, points) @ field.M.T
    return sparse_kernel(target, np.broadcast_to(V, (len(points), *V.shape)), axes, reach)


def sparse_kernel(target: Array, V: Array, axes: tuple[Array, ...], reach: float, dtype: Any = np.float64) -> Any:
    """phi(y - target; V) times the cell, sparse, a column for each target (P, N) with its V (P, N, N), rows on the grid."""
    from scipy import sparse

    sides, size = np.array([axis[1] - axis[0] for axis in axes]), tuple(len(axis) for axis in axes)
    with np.errstate(over="ignore", invalid="ignore"):
        place = (target - np.array([axis[0] for axis in axes])) / sides
    place = np.where(np.isfinite(place), np.clip(place, -1e6, 1e6), 1e6)
    V = np.where(np.isfinite(V).all(axis=(1, 2), keepdims=True), V, np.eye(len(size)) * sides**2)
    bands, first = [], 0
    while first < len(place):
        ahead = V[first : first + BAND].max(axis=0)
        last = first + max(
            1, min(BAND, BAND_ENTRIES // int(np.prod([2 * w + 1 for w in _widths(ahead, sides, reach)])))
        )
        entries, rows, counts = _columns(place[first:last], V[first:last], sides, size, reach)
        bands.append((entries.astype(dtype), rows.astype(np.int32), counts))
        first = last
    entries, rows, counts = (np.concatenate(parts) for parts in zip(*bands, strict=True))
    starts = np.concatenate([[0], np.cumsum(counts)])
    shape = (int(np.prod(size)), len(place))
    return sparse.csc_array((entries, rows, starts.astype(np.int32)), shape=shape)


def _columns(
    place: Array, V: Array, sides: Array, size: tuple[int, ...], reach: float
) -> tuple[Array, Integers, Integers]:
    """The kernel's columns for targets at ``place`` (k, N), in units of the grid: entries, rows, how many in each."""
    inverse, widths = np.linalg.inv(V), _widths(V.max(axis=0), sides, reach)
    reached = [
        np.rint(p).astype(np.int64)[:, None] + np.arange(-w, w + 1) for p, w in zip(place.T, widths, strict=True)
    ]
    z = [(r - p[:, None]) * h for r, p, h in zip(reached, place.T, sides, strict=True)]
    inside = [(r >= 0) & (r < n) for r, n in zip(reached, size, strict=True)]
    bell = [np.exp(-0.5 * inverse[:, a, a, None] * z[a] ** 2) * inside[a] for a in range(len(size))]
    weights, rows = bell[0], reached[0]
    if len(size) == 2:
        weights = weights[:, :, None] * bell[1][:, None, :]
        if inverse[:, 0, 1].any():
            weights *= np.exp(-inverse[:, 0, 1, None, None] * z[0][:, :, None] * z[1][:, None, :])
        rows = rows[:, :, None] * size[1] + reached[1][:, None, :]
    keep = weights > np.exp(-0.5 * reach**2)
    counts = keep.reshape(len(place), -1).sum(axis=1)
    scale = float(np.prod(sides)) / np.sqrt(np.linalg.det(2 * np.pi * V))
    return np.repeat(scale, counts) * weights[keep], rows[keep], counts
