"""The exact law proportional to exp(-beta C) of one mode: mean, covariance and marginal distribution functions.

Notes
-----
A cost says which coordinates u of theta = origin + B u + rest are no Gaussian (``costs.facts.reduced_law``): none of a
quadratic cost, at most two of a mixture, all of a polynomial. The density exp(-beta C(origin + B u)) of u, one or two
coordinates, is integrated on a lattice; rest is normal and independent of u.

The distribution function of coordinate i is that of B_i u + s n, s^2 the variance left over. The lattice is turned so
that its first axis lies along B_i. Where s spans a few lattice spacings, the trapezoidal sum of normal distribution
functions is exact to rounding. Where it does not (N = 2: s = 0), the density of B_i u is band-limited to the lattice's
accuracy, and its sinc series is integrated: each point contributes 1/2 + Si(pi x / h) / pi; n is averaged over by
Gauss-Hermite nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr, sici

from tracker.compiled import kernel
from tracker.costs.base import expected
from tracker.costs.facts import ReducedLaw, reduced_law
from tracker.costs.minimise.search import global_minimisers
from tracker.references.lattice_integrals import DEPTH, Lattice, integrate
from tracker.scenario.builders import mode_index
from tracker.scenario.complaints import place_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from tracker.array_types import Array
    from tracker.scenario.model import Scenario


RESOLVED = 1.5  # a normal law this many spacings wide is summed with an error of exp(-2 pi^2 1.5^2) = 1e-19
HERMITE = 40  # nodes for a normal law narrower than that
PLANE = 2  # the most coordinates that a lattice has
DOUBLINGS = 40
ANY_COST = "use references.metropolis, which takes any cost"
SLIVER = 1e-9  # a direction whose share of the variance is below this is rounding


@dataclass(frozen=True)
class Posterior:
    """The law proportional to exp(-beta C).

    Attributes
    ----------
    mean : ndarray, shape (N,)
    covariance : ndarray, shape (N, N)
    error : float
        How much mean and covariance moved when the lattice was last refined, in units of standard deviations.
    """

    mean: Array
    covariance: Array
    error: float
    reduced: Reduced = field(repr=False)

    @property
    def deviation(self) -> Array:
        """The standard deviations, shape (N,)."""
        return np.sqrt(np.diag(self.covariance))

    def cdf(self, coordinate: int, points: ArrayLike) -> Array:
        """Return P(theta[coordinate] <= point) at each of ``points``; coordinates count from 0, as in ``mean``."""
        N = self.mean.size
        if isinstance(coordinate, bool) or coordinate != int(coordinate) or not 0 <= coordinate < N:
            raise ValueError(f"coordinate: {coordinate} is not one of 0, ..., {N - 1}: coordinates count from 0")
        return self.reduced.cdf(int(coordinate), np.asarray(points, dtype=float))


@dataclass(frozen=True, eq=False)
class Reduced:
    """theta = origin + basis u + rest: u has the density exp(-f(u)), rest is normal and independent of it.

    origin (N,); basis (N, r); rest (N, N), the covariance; potential: f, from points (n, r) to values (n,); reach: no
    coordinate of u is larger; wells (w, r): where f is known to have minima, which no lattice may lose.
    """

    origin: Array
    basis: Array
    rest: Array
    potential: Callable[[Array], Array]
    reach: float
    wells: Array

    @property
    def rank(self) -> int:
        """The number of coordinates of u."""
        return self.basis.shape[1]

    def cdf(self, coordinate: int, points: Array) -> Array:
        """Return P(theta[coordinate] <= point) at each of ``points``."""
        x = points - self.origin[coordinate]
        slope = float(np.linalg.norm(self.basis[coordinate]))
        left = float(np.sqrt(self.rest[coordinate, coordinate]))
        if slope <= SLIVER * left:
            return np.asarray(ndtr(x / left))
        knots, weight, spacing = _along(self, coordinate)
        return np.clip(_distribution(x / slope, left / slope, knots, weight, spacing), 0.0, 1.0)


@lru_cache(maxsize=64)
def _along(reduced: Reduced, coordinate: int) -> tuple[Array, Array, float]:
    """Return knots, weights and spacing of the law of u along the direction that moves a coordinate of theta."""
    direction = reduced.basis[coordinate]
    turn = _turned(direction / np.linalg.norm(direction))
    turned = reduced.wells @ turn
    reach = np.sqrt(reduced.rank) * reduced.reach
    lattice = integrate(lambda v: reduced.potential(v @ turn.T), reduced.rank, reach, turned)
    return (*lattice.marginal(), lattice.spacing)


def _turned(direction: Array) -> Array:
    """Return a rotation (r, r) whose first column is ``direction``."""
    if direction.size == 1:
        return direction.reshape(1, 1)
    a, b = direction
    return np.array([[a, -b], [b, a]])


def _distribution(x: Array, left: float, knots: Array, weight: Array, spacing: float) -> Array:
    """Return P(t + left n <= x), t with the density that ``weight`` samples at ``knots``."""
    flat = x.reshape(-1)
    if left >= RESOLVED * spacing:
        found = [float(weight @ ndtr((point - knots) / left)) for point in flat]
        return np.array(found).reshape(x.shape)
    nodes, shares = (np.zeros(1), np.ones(1))
    if left > SLIVER * spacing:
        nodes, shares = np.polynomial.hermite_e.hermegauss(HERMITE)
        shares = shares / shares.sum()
    found = []
    for point in flat:
        places = (point - left * nodes)[:, np.newaxis] - knots
        found.append(float(shares @ (0.5 + sici(np.pi * places / spacing)[0] / np.pi) @ weight))
    return np.array(found).reshape(x.shape)


def posterior(scenario: Scenario, mode: int | str | None = None, beta: float = 1.0) -> Posterior:
    """Return the exact law proportional to exp(-beta C) of a mode.

    Parameters
    ----------
    mode : str or int, optional
        The mode's name or its place in the file, from 0; may be left out where there is one mode.
    beta : float
        The inverse temperature. With stored data and beta = 1 the law is the Bayesian posterior.

    Examples
    --------
    >>> import tracker
    >>> scenario = tracker.load("scenarios/example_a.toml")
    >>> tracker.references.posterior(scenario, "one", beta=2.0).mean.round(6)
    array([ 1., -1.])
    """
    place, cost = chosen_mode(scenario, mode)
    if not (np.isfinite(beta) and beta > 0.0):
        raise ValueError(f"beta: {beta} must be positive and finite: at beta = inf the law sits on the minimisers")
    try:
        return law_of(cost, beta, scenario.start_mean)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from error


def chosen_mode(scenario: Scenario, mode: int | str | None) -> tuple[str, Any]:
    """Return where a mode stands in the file, for messages, and its cost."""
    names = [keys.name for keys in scenario.modes]
    if mode is None and len(names) > 1:
        raise ValueError(f"mode: {scenario.name} has {len(names)} modes, name one of {', '.join(names)}")
    index = mode_index(mode, names) if mode is not None else 0
    return place_of("modes", index, scenario.modes[index]), scenario.modes[index].build()


def law_of(cost: Any, beta: float, start: Array) -> Posterior:
    """Return the law proportional to exp(-beta C) for built parameters; ``start`` helps to find minimisers."""
    reduced = reduce(cost, beta, start)
    lattice: Lattice = integrate(reduced.potential, reduced.rank, reduced.reach, reduced.wells)
    mean = reduced.origin + reduced.basis @ lattice.mean
    covariance = reduced.rest + reduced.basis @ lattice.covariance @ reduced.basis.T
    return Posterior(mean, (covariance + covariance.T) / 2.0, lattice.error, reduced)


def reduce(cost: Any, beta: float, start: Array) -> Reduced:
    """Return what is left to integrate of the law proportional to exp(-beta C)."""
    law = reduced_law(cost, beta, DEPTH)
    if law is None:
        raise ValueError(f"no exact law is known for {type(cost).__name__}: {ANY_COST}")
    rank = law.directions.shape[1]
    if rank > PLANE:
        raise ValueError(f"no exact law of {rank} coordinates together is computed, at most of {PLANE}: {ANY_COST}")
    if law.reach is None:
        return _whole(cost, beta, start)
    basis = law.scale[:, np.newaxis] * law.directions
    if rank == 0:
        return Reduced(law.origin, basis, law.rest, _nothing, 0.0, np.zeros((0, 0)))
    wells = _wells(cost, beta, start, law, law.reach)
    return Reduced(law.origin, basis, law.rest, _potential(cost, beta, law.origin, basis), law.reach, wells)


@kernel
def _costs(cost: Any, points: Array, out: Array) -> None:
    """Write C at the rows of ``points`` (n, N) to ``out`` (n,)."""
    for i in range(points.shape[0]):
        out[i] = expected(cost, points[i])


def _potential(cost: Any, beta: float, origin: Array, basis: Array) -> Callable[[Array], Array]:
    def f(u: Array) -> Array:
        out = np.empty(len(u))
        _costs(cost, np.ascontiguousarray(origin + u @ basis.T), out)
        return beta * out

    return f


def _nothing(u: Array) -> Array:
    return np.zeros(len(u))


def _wells(cost: Any, beta: float, start: Array, law: ReducedLaw, reach: float) -> Array:
    """Return the minima of the potential of u: away from the plane of u only what is normal changes, and is lowest there."""
    lowest = global_minimisers(cost, start)
    wells = (lowest.wells[lowest.depths <= lowest.value + DEPTH / beta] - law.origin) / law.scale @ law.directions
    return np.asarray(wells[np.abs(wells).max(axis=1, initial=0.0) <= reach])


def _whole(cost: Any, beta: float, start: Array) -> Reduced:
    """Double a box around all wells that matter until the cost on its edge is out of reach, then once more for safety.

    Beyond a barrier the cost may come down again, so it is looked at twice and four times as far out too.
    """
    N = start.size
    lowest = global_minimisers(cost, start)
    wells = np.vstack([lowest.points, lowest.wells[lowest.depths <= lowest.value + DEPTH / beta]])
    origin = (wells.min(axis=0) + wells.max(axis=0)) / 2.0
    f = _potential(cost, beta, origin, np.eye(N))
    reach = 1.0 + float(np.abs(wells - origin).max())
    for _ in range(DOUBLINGS):
        rim = np.concatenate([factor * reach * _edge(N) for factor in (1.0, 2.0, 4.0)])
        with np.errstate(over="ignore"):
            least = float(f(rim).min())
        if least > beta * lowest.value + DEPTH:
            return Reduced(origin, np.eye(N), np.zeros((N, N)), f, 2.0 * reach, wells - origin)
        reach *= 2.0
    raise ValueError(
        f"exp(-beta C) is not integrable: C does not grow in every direction ({reach:.0e} away at the latest)"
    )


def _edge(N: int) -> Array:
    """Return points on the edge of the box [-1, 1]^N."""
    if N == 1:
        return np.array([[-1.0], [1.0]])
    side = np.linspace(-1.0, 1.0, 201)
    one = np.ones_like(side)
    return np.concatenate([np.stack(pair, axis=1) for pair in ((side, one), (side, -one), (one, side), (-one, side))])
