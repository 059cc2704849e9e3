"""Build the parameters of the kernels from a scenario: floats and C-contiguous float64 arrays."""

from __future__ import annotations

from functools import cache
from itertools import filterfalse
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker import chain as hidden_chain
from tracker import skew
from tracker.costs.base import classes, measure, measure_size, twins
from tracker.costs.facts import constant_curvature
from tracker.costs.minimise.local import NEARBY_DISTANCE, curvature, has_kink, neighbour
from tracker.costs.minimise.search import Minimisers, global_minimisers
from tracker.scenario.complaints import ScenarioError, place_of, show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracker.array_types import Array, Booleans
    from tracker.samplers.base import SamplerKeys
    from tracker.scenario.model import Scenario


SAME_PLACE = 1e-6  # minimisers of two modes nearer than this, relative to their size, are one point
MOST_DIFFERENCES = 4_000_000  # of coordinates of places, at a time


class Mode(NamedTuple):
    """A mode for the kernels.

    cost : parameters, a ``NamedTuple``
    minimisers : ndarray, shape (m, N), of the expected cost
    targets : ndarray, shape (t, measure_size): the minimisers, and their twins, where distances are measured
    radius2 : the target set is within this squared distance of a target; nan without a target set
    floor : the least expected cost
    relaxation : 1/h, h the smallest curvature at a minimiser: 1/(epsilon h) steps are a relaxation time; inf where there is none
    """

    cost: Any
    minimisers: Array
    targets: Array
    radius2: float
    floor: float
    relaxation: float


def build_modes(scenario: Scenario) -> tuple[Mode, ...]:
    """Return the modes in the order of the file, with their minimisers found.

    Raises
    ------
    ScenarioError
        If a cost has no minimum, which its keys alone may not show.
    """
    start = scenario.start_mean
    costs = [keys.build() for keys in scenario.modes]
    places = [place_of("modes", i, keys) for i, keys in enumerate(scenario.modes)]
    lowest = _lowest(places, costs, start)
    points = [np.ascontiguousarray(found.points, dtype=np.float64) for found in lowest]
    # costs that take distances in theta itself have one default radius
    in_theta = cache(lambda: default_radius(next(filterfalse(measures_its_own_way, costs)), points))
    modes = []
    for i, (keys, cost, found) in enumerate(zip(scenario.modes, costs, lowest, strict=True)):
        if keys.target is not None:
            radius = keys.target.radius
        else:
            radius = default_radius(cost, points) if measures_its_own_way(cost) else in_theta()
        radius = float("nan") if scenario.no_distance else radius
        targets = np.concatenate([twins(cost, distance_coordinates(cost, point)) for point in points[i]])
        modes.append(
            Mode(
                cost, points[i], np.ascontiguousarray(targets), float(radius) ** 2, float(found.value),
                relaxation(cost, points[i]),
            ),
        )  # fmt: skip
    return tuple(modes)


def relaxation(cost: Any, points: Array) -> float:
    """Return 1/h, h the smallest curvature at any of the minimisers ``points`` (m, N); inf where one is flat, or a kink."""
    found = [curvature(cost, point) for point in points]
    if not np.isfinite(found).all() or any(has_kink(cost, point) for point in points):
        return float("inf")
    smallest = min(float(skew.symmetric_eigenvalues(H)[0]) for H in found)
    return 1.0 / smallest if smallest > 0.0 else float("inf")


def is_isolated(mode: Mode) -> bool:
    """Tell whether the minimisers stand alone, so that the distance to the nearest of them is what it says."""
    for point in mode.minimisers:
        other = neighbour(mode.cost, point, mode.floor)
        # a cost may measure distances in coordinates that are the same all along a valley
        if (
            other is not None
            and np.abs(distance_coordinates(mode.cost, other) - distance_coordinates(mode.cost, point)).max()
            > NEARBY_DISTANCE / 10
        ):
            return False
    return True


def share_minimisers(modes: Sequence[Mode]) -> bool:
    """Tell whether several modes have the same minimisers, as their costs measure distances, so that no switch moves them."""
    first = modes[0].targets
    return len(modes) > 1 and all(
        mode.targets.shape[1] == first.shape[1]
        and _are_among(mode.targets, first).all()
        and _are_among(first, mode.targets).all()
        for mode in modes[1:]
    )


def too_wide_targets(modes: Sequence[Mode]) -> list[tuple[int, int, float]]:
    """Return (i, j, distance) for each mode i whose target holds a minimiser of another mode j that is none of its own."""
    found = []
    for i, mode in enumerate(modes):
        for j, other in enumerate(modes):
            if i == j or not mode.radius2 > 0.0 or mode.targets.shape[1] != other.targets.shape[1]:
                continue
            strangers = other.targets[~_are_among(other.targets, mode.targets)]
            nearest = float(_distances(strangers, mode.targets).min(initial=np.inf))
            if nearest**2 <= mode.radius2:
                found.append((i, j, nearest))
                break
    return found


def _distances(points: Array, others: Array) -> Array:
    return np.asarray(np.linalg.norm(points[:, np.newaxis] - others, axis=2))


def _are_among(points: Array, others: Array) -> Booleans:
    """Tell of each of ``points`` whether it is one of ``others``."""
    return np.asarray(_distances(points, others).min(axis=1) <= SAME_PLACE * (1.0 + np.abs(points).max(axis=1)))


def mode_index(mode: int | str, names: Sequence[str]) -> int:
    """Return the place of a mode that is given by its name, or by its place from 0."""
    if isinstance(mode, str) and mode in names:
        return names.index(mode)
    if not isinstance(mode, str) and mode in range(len(names)):
        return int(mode)
    raise ValueError(f"mode: {show(mode)} is neither one of {', '.join(names)} nor a place from 0 to {len(names) - 1}")


def classifies(modes: tuple[Mode, ...]) -> bool:
    """Tell whether every mode is a classifier, so that its accuracy can be told."""
    return all(classes(mode.cost) for mode in modes)


def _lowest(places: list[str], costs: list[Any], start: Array) -> list[Minimisers]:
    found, problems = [], []
    for place, cost in zip(places, costs, strict=True):
        try:
            found.append(global_minimisers(cost, start))
        except ValueError as error:
            problems.append(f"{place}: {error}")
    if problems:
        raise ScenarioError(problems)
    return found


def distance_coordinates(cost: Any, theta: Array) -> Array:
    """Return the coordinates of ``theta`` in which distances are taken."""
    out = np.empty(measure_size(cost, theta.size))
    measure(cost, np.ascontiguousarray(theta, dtype=np.float64), out)
    return out


def measures_its_own_way(cost: Any) -> bool:
    """Tell whether distances are taken in other coordinates than theta's, or from several points that stand for one."""
    return measure.has_own(type(cost)) or twins.has_own(type(cost))


def default_radius(cost: Any, points: list[Array]) -> float:
    """Return a quarter of the smallest distance, as ``cost`` measures it, between minimisers of two different modes.

    Modes that share a minimiser say nothing about how near is near; nan if all do, or there is one mode.
    """
    places = np.array([distance_coordinates(cost, point) for minimisers in points for point in minimisers])
    mode = np.repeat(np.arange(len(points)), [len(minimisers) for minimisers in points])
    stand_for = [twins(cost, place) for place in places]
    most = max(map(len, stand_for))  # a point that is its own twin has fewer: the first once more changes no distance
    around = np.array([np.concatenate([own, np.repeat(own[:1], most - len(own), axis=0)]) for own in stand_for])
    same, smallest = SAME_PLACE * (1.0 + np.abs(places).max(axis=1)), np.inf
    at_once = max(1, MOST_DIFFERENCES // (around[0].size * len(places)))
    for start in range(0, len(places), at_once):
        part = slice(start, start + at_once)
        distances = np.linalg.norm(around[part, :, np.newaxis] - places, axis=3).min(axis=1)
        apart = distances[(distances > same[part, np.newaxis]) & (mode < mode[part, np.newaxis])]
        smallest = min(smallest, float(apart.min(initial=np.inf)))
    return smallest / 4 if np.isfinite(smallest) else float("nan")


def initial_law(scenario: Scenario) -> Array:
    """Return the law of the first mode, shape (X,)."""
    certain: Array = np.eye(len(scenario.modes))
    names = [mode.name for mode in scenario.modes]
    if scenario.chain is None:
        first = names.index(scenario.switches[0][1]) if scenario.schedule is not None else 0
        return np.array(certain[first])
    initial = scenario.chain.initial
    if initial == "stationary":
        return np.ascontiguousarray(hidden_chain.stationary_law(scenario.chain.Q), dtype=np.float64)
    if isinstance(initial, str):
        return np.array(certain[names.index(initial)])
    law: Array = np.array(initial, dtype=float)
    return np.asarray(law / law.sum())


def skew_matrix(sampler: SamplerKeys, scenario: Scenario) -> Array | None:
    """Return S_0, shape (N, N), before any clipping; None if it is drawn for each trial."""
    N = scenario.dimension
    given: Any = getattr(sampler, "skew", None)
    if sampler.skew_is == "none" or given is None:
        return np.zeros((N, N))
    if isinstance(given, float):
        return skew.from_pairs([given], 2)
    if given == "random":
        return None
    if given == "optimal":
        H = constant_curvature(scenario.modes[0].build())
        assert H is not None  # another mode was refused
        return np.ascontiguousarray(skew.optimal(H))
    return np.array(given, dtype=float)
