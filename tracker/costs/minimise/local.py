"""A cost near a point: its curvature, and the spread of gradients and Hessians over observations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.compiled import kernel
from tracker.costs.base import gradient, has_hessian, hessian, observation_size, observe, period, stored_observations
from tracker.costs.facts import additive_noise, constant_curvature
from tracker.costs.minimise.descent import (
    EQUAL_COSTS,
    FLAT_CURVATURE,
    Descent,
    expected_hessian,
    polish,
    value_and_gradient,
)
from tracker.streams import OBSERVATIONS, entropy_words, seed_stream

if TYPE_CHECKING:
    from tracker.array_types import Array, Words

NEARBY_DISTANCE = 1e-2  # how far away the next minimiser is looked for, in units of 1 + |theta|
OBSERVATIONS_DRAWN = 4096  # of observations that cannot be listed
MOST_NUMBERS = 15_000_000  # in the Hessians of all observations: 120 MB
MOST_IN_ORDER = 2_000_000  # and of those whose product is followed through all of them: seconds
KINKED = 0.5  # share of a curvature; where ten times wider differences change it by more, the gradient jumps


class Hessians(NamedTuple):
    """Hessians of equally likely observations, shape (n, N, N); cyclic: they come one after the other, in this order.

    n is 0 where there are so many observations that no question is answered with all of them.
    """

    values: Array
    cyclic: bool


def curvature(cost: Any, theta: Array) -> Array:
    """Return the Hessian of the expected cost at ``theta``; exact where it is the same everywhere."""
    H = constant_curvature(cost)
    return expected_hessian(cost, theta, 1.0 + np.abs(theta)) if H is None else H


def has_kink(cost: Any, theta: Array) -> bool:
    """Tell whether the gradient jumps at ``theta``: the wider its differences, the smaller the curvature that they give."""
    if has_hessian(cost):
        return False
    near, far = (expected_hessian(cost, theta, width * (1.0 + np.abs(theta))) for width in (1.0, 10.0))
    return not np.abs(far - near).max() <= KINKED * np.abs(near).max()


def neighbour(cost: Any, point: Array, lowest: float) -> Array | None:
    """Return another minimiser close to ``point``, where the cost is ``lowest``; None if it stands alone."""
    scale = 1.0 + np.abs(point)
    H = curvature(cost, point) * np.outer(scale, scale)
    if not np.isfinite(H).all():
        return None
    curvatures, directions = np.linalg.eigh(H)
    for direction in directions.T[curvatures <= FLAT_CURVATURE * np.abs(curvatures).max()]:
        moved = np.ascontiguousarray(point + NEARBY_DISTANCE * scale * direction)
        begun = Descent(value_and_gradient(cost, moved, np.empty(point.size)), moved, np.zeros(point.size))
        end = polish(cost, begun, scale)
        away = np.linalg.norm((end.point - point) / scale)
        if away > NEARBY_DISTANCE / 2 and end.value <= lowest + EQUAL_COSTS * (1.0 + abs(lowest)):
            return end.point
    return None


def gradient_noise(cost: Any, theta: Array) -> Array:
    """Return Sigma at ``theta``, shape (N, N): exact for additive noise and stored data, else from 4096 fixed draws."""
    F = additive_noise(cost, theta.size)
    if F is not None:
        return np.asarray(F @ F.T)
    z, all_of_them = _observations(cost)
    g = np.zeros((len(z), theta.size))
    _observed_gradients(cost, theta, z, g)
    return np.asarray(np.cov(g.T, bias=all_of_them).reshape(theta.size, theta.size))


def observed_hessians(cost: Any, theta: Array) -> Hessians | None:
    """Return the Hessians of single observations at ``theta``; None where all are the same, or the cost gives none."""
    if additive_noise(cost, theta.size) is not None or not has_hessian(cost):
        return None
    z, _ = _observations(cost)
    cyclic = period(cost) == len(z) > 1
    too_many = len(z) * theta.size**2 > (MOST_IN_ORDER if cyclic else MOST_NUMBERS)
    z = z[:0] if too_many else z
    found = np.zeros((len(z), theta.size, theta.size))
    _observed_hessians(cost, theta, z, found)
    return Hessians(found, cyclic)


def _observations(cost: Any) -> tuple[Array, bool]:
    """Return observations as rows, and whether these are all there are, each as likely as the others."""
    stored = stored_observations(cost)
    if stored is not None:
        return stored, True
    stream = np.zeros(4, dtype=np.uint64)
    z = np.zeros((OBSERVATIONS_DRAWN, observation_size(cost)))
    with np.errstate(over="ignore"):  # streams count modulo 2^64
        seed_stream(entropy_words(0), OBSERVATIONS, 0, stream)
    _draw(cost, stream, z)
    return z, False


# compiled: a scenario may have a hundred modes with 4096 observations each


@kernel
def _draw(cost: Any, stream: Words, out: Array) -> None:
    observe(cost, 0, len(out), stream, out)


@kernel
def _observed_gradients(cost: Any, theta: Array, z: Array, out: Array) -> None:
    for i in range(len(z)):
        gradient(cost, theta, z[i], out[i])


@kernel
def _observed_hessians(cost: Any, theta: Array, z: Array, out: Array) -> None:
    for i in range(len(z)):
        hessian(cost, theta, z[i], out[i])
