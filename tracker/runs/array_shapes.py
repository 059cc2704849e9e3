"""The names, types, shapes and ranges that the arrays of a run must have, known before any of them is read.

All of it follows from the table of recorded arrays and the scenario.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.engine.array_axes import axis_sizes
from tracker.engine.arrays import array_rows
from tracker.engine.simulate import empty_ledger

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tracker.array_types import Integers
    from tracker.engine.simulate import Problem
    from tracker.scenario import Scenario

    Arrays = Mapping[str, NDArray[Any]]


class Shape(NamedTuple):
    """The type of an array's numbers, and its shape."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def bytes(self) -> int:
        """How much memory it takes, in Python's numbers, which do not overflow."""
        count = 1
        for size in self.shape:
            count *= int(size)
        return count * self.dtype.itemsize


Shapes = dict[str, Shape]
LEADING_AXES = ("sampler", "trial", "time")  # axes that come first in the dataset of a run, in this order


def shapes_of(scenario: Scenario, trials: int) -> Shapes:
    """Return what a run keeps of so many trials."""
    sizes = {**axis_sizes(scenario), "trial": trials}
    return {
        row.name: Shape(np.dtype(row.dtype), tuple(sizes[axis] for axis in row.axes)) for row in array_rows(scenario)
    }


def with_trials(shapes: Shapes, trials: int) -> Shapes:
    """Return the same arrays for another number of trials."""
    return {name: Shape(shape.dtype, (trials, *shape.shape[1:])) for name, shape in shapes.items()}


def snapshot_shapes(problem: Problem, trials: int) -> Shapes:
    """Return what a snapshot of a shard of so many trials holds, by the names that it has in its file."""
    count = len(problem.contestants)
    shapes = {"reached": Shape(np.dtype(np.int64), (count,)), "seconds": Shape(np.dtype(np.float64), (count,))}
    for n, contestant in enumerate(problem.contestants):
        for name, array in empty_ledger(problem, contestant, 0)._asdict().items():
            shapes[f"{n}.{name}"] = Shape(array.dtype, (trials, *array.shape[1:]))
    return shapes


def shapes_in(arrays: Arrays) -> Shapes:
    """Return the shapes of arrays that are there."""
    return {name: Shape(array.dtype, array.shape) for name, array in arrays.items()}


def bytes_of(shapes: Shapes) -> int:
    """Return how much memory all of them take."""
    return sum(shape.bytes for shape in shapes.values())


def reason_impossible(scenario: Scenario, arrays: Arrays, trials: Sequence[int] | Integers) -> str | None:
    """Return what in the results of ``trials``, which have the right shapes, cannot be; None where all can."""
    modes, steps = len(scenario.modes), scenario.steps
    diverged = arrays["diverged"]
    if not np.array_equal(arrays["trial"], np.asarray(trials)):
        return "trial: other trials than those of the run"
    bounds = {"mode": (-1, modes), "final_mode": (0, modes), "diverged": (-1, steps + 1)}
    for name, (least, end) in bounds.items():
        if arrays[name].size and not (least <= arrays[name].min() and arrays[name].max() < end):
            return f"{name}: a number that is not between {least} and {end - 1}"
    for row in array_rows(scenario):
        array = arrays.get(row.name)
        if array is None:  # a run of an older version
            continue
        if array.dtype.kind in "iu" and array.size and array.min() < row.least:
            return f"{row.name}: a negative number"
        kept = array[diverged < 0] if row.axes[:2] == ("trial", "sampler") else array
        if row.finite and not np.isfinite(kept).all():
            return f"{row.name}: not finite in a trial that did not diverge"
    return None
