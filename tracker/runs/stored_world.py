"""Keep in result.nc what the numbers of a run refer to: minimisers, targets, lowest costs, the origin of moments.

A run is read back against the world that it was measured in, never against one that is searched for anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.runs.labelled_arrays import LabelledArray
from tracker.scenario import Mode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracker.array_types import Array
    from tracker.engine.problem import Problem
    from tracker.scenario import Scenario

MOST_POINTS = 10_000  # minimisers or targets of a mode
NUMBERS_OF_A_MODE = {  # one for each mode: unit, meaning
    "radius2": ("theta^2", "squared radius of the target set; nan without one"),
    "floor": ("cost", "least expected cost"),
    "relaxation": ("time", "1/h, h the smallest curvature at a minimiser"),
}
POINTS_OF_A_MODE = {  # several for each mode: axes, unit, meaning; nan where a mode has fewer
    "minimisers": (("mode_from", "minimiser", "theta"), "theta", "global minimisers of the expected cost"),
    "targets": (
        ("mode_from", "target", "measured"),
        "theta",
        "minimisers and their twins where distances are measured",
    ),
}


def world_variables(problem: Problem) -> dict[str, LabelledArray]:
    """Return what belongs to the world, as variables of the dataset."""
    found = {
        name: LabelledArray(axes, _stacked([getattr(mode, name) for mode in problem.modes]), _about(unit, meaning))
        for name, (axes, unit, meaning) in POINTS_OF_A_MODE.items()
    }
    for name, (unit, meaning) in NUMBERS_OF_A_MODE.items():
        numbers = np.array([getattr(mode, name) for mode in problem.modes], dtype=np.float64)
        found[name] = LabelledArray(("mode_from",), numbers, _about(unit, meaning))
    kinds = np.array([str(getattr(mode, "cost", type(mode).__name__)) for mode in problem.scenario.modes])
    found["cost"] = LabelledArray(("mode_from",), kinds, _about("1", "family of the cost"))
    about = _about("theta", "point about which moments are taken")
    return found | {"origin": LabelledArray(("theta",), problem.origin, about)}


def read_world(found: Any, scenario: Scenario) -> tuple[tuple[Mode, ...], Array]:
    """Return the modes with their costs built anew, and the origin, from an open result.nc; ValueError where they cannot be."""
    X, N = len(scenario.modes), scenario.dimension
    minimisers, targets = (_read(found, name, 3, X) for name in POINTS_OF_A_MODE)
    numbers = {name: _read(found, name, 1, X) for name in NUMBERS_OF_A_MODE}
    origin = _read(found, "origin", 1, N)
    if minimisers.shape[2] != N or not np.isfinite(origin).all():
        raise ValueError("minimisers: not points of this scenario")
    modes = tuple(
        Mode(
            keys.build(),
            _points(minimisers[i]),
            _points(targets[i]),
            float(numbers["radius2"][i]),
            float(numbers["floor"][i]),
            float(numbers["relaxation"][i]),
        )
        for i, keys in enumerate(scenario.modes)
    )
    return modes, origin


def _about(unit: str, meaning: str) -> dict[str, str]:
    return {"units": unit, "long_name": meaning}


def _stacked(parts: Sequence[Array]) -> Array:
    out = np.full((len(parts), max(len(part) for part in parts), max(part.shape[1] for part in parts)), np.nan)
    for i, part in enumerate(parts):
        out[i, : len(part), : part.shape[1]] = part
    return out


def _points(rows: Array) -> Array:
    kept = rows[:, ~np.isnan(rows).all(axis=0)]
    kept = kept[~np.isnan(kept).all(axis=1)]
    if not kept.size or not np.isfinite(kept).all():
        raise ValueError("minimisers: a mode has none")
    return np.ascontiguousarray(kept, dtype=np.float64)


def _read(found: Any, name: str, axes: int, first: int) -> Array:
    """Return a small array of floats of the file, its size compared before it is read."""
    data = found.get(name)
    shape = getattr(data, "shape", None)
    if (
        shape is None
        or len(shape) != axes
        or shape[0] != first
        or data.dtype != np.float64
        or data.external
        or data.is_virtual
    ):
        raise ValueError(f"{name}: not as a run writes it")
    if axes > 1 and not (
        0 < shape[1] <= MOST_POINTS and 0 < shape[2] <= MOST_POINTS and np.prod(shape) < MOST_POINTS * 1000
    ):
        raise ValueError(f"{name}: more points than a run writes")
    return np.asarray(data[()])
