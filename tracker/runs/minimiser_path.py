"""The path length of online learning: how far the minimiser of the current mode travels."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.scenario.builders import distance_coordinates

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tracker.array_types import Array
    from tracker.engine.simulate import Problem
    from tracker.scenario import Mode


def path_lengths(problem: Problem, arrays: Mapping[str, NDArray[Any]]) -> Array | None:
    """Return sum_k |m_{x_{k+1}} - m_{x_k}|, k = 0, ..., K - 1, of each trial; None where it is not known.

    Forced switches in a chain are not counted by old and new mode, so with them it is not; nor is it where landscapes drift.
    """
    if problem.scenario.drift is not None:
        return None
    distances, names = _distances(problem.modes), [mode.name for mode in problem.scenario.modes]
    forced = [(event.at, names.index(event.to)) for event in problem.scenario.interventions if event.kind == "switch"]
    if problem.plan.Q is not None:
        return None if forced else np.einsum("tij,ij->t", arrays["jumps"], distances)
    events = [*problem.plan.switches, *forced]
    told = dict(sorted(events, key=lambda event: event[0]))  # at equal steps interventions come last, and count
    modes = [mode for step, mode in told.items() if step <= problem.layout.steps]
    length = sum(distances[one, other] for one, other in pairwise(modes))
    return np.full(len(arrays["trial"]), float(length))


def _distances(modes: tuple[Mode, ...]) -> Array:
    """Return the distances between the nearest minimisers of two modes, (X, X), as the cost that is left measures them."""
    out = np.zeros((len(modes), len(modes)))
    for i, one in enumerate(modes):
        here = np.array([distance_coordinates(one.cost, point) for point in one.minimisers])
        there = [_as_measured(other, here) for other in modes]
        among = np.concatenate(there)
        nearest = np.min([np.linalg.norm(among - point, axis=1) for point in here], axis=0)
        out[i] = np.minimum.reduceat(nearest, np.cumsum([0, *map(len, there[:-1])]))
    np.fill_diagonal(out, 0.0)
    return out


def _as_measured(other: Mode, here: Array) -> Array:
    """Return the minimisers of another mode in coordinates like those of ``here``, or ``here`` where it has none."""
    for points in (other.targets, other.minimisers):
        if points.shape[1] == here.shape[1]:
            return points
    return here
