"""Open runs of older versions. What they did not measure is null."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.engine.bins import WAIT_BITS, bin_of
from tracker.engine.ledger import COLUMNS
from tracker.runs.array_shapes import Shape

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tracker.engine.simulate import Problem
    from tracker.runs.array_shapes import Shapes

NOTE = (
    "run by an older version, which measured costs at the recorded steps only and waits of all modes together: "
    "excess cost, accuracy and recovery are not known"
)


# how version 0.1 wrote results
AXES_BEFORE: dict[str, tuple[str, ...]] = {"waits": ("trial", "sampler", "wait", "outcome")}
MISSING_BEFORE = ("stays",)
COLUMNS_OF_SUMS_BEFORE = 4  # of sums: steps, error, square, inside


def shapes_before(expected: Shapes) -> Shapes:
    """Return the shapes that the arrays of a run had then."""
    found = {name: shape for name, shape in expected.items() if name not in MISSING_BEFORE}
    for name in ("by_mode", "by_age"):
        found[name] = Shape(expected[name].dtype, (*expected[name].shape[:-1], COLUMNS_OF_SUMS_BEFORE))
    trials, samplers, _, *bins = expected["waits"].shape
    found["waits"] = Shape(expected["waits"].dtype, (trials, samplers, *bins))
    return found


def is_of_format_0(arrays: Mapping[str, NDArray[Any]]) -> bool:
    """Tell whether these are the arrays of a version that measured the cost at the recorded steps only."""
    return any(name not in arrays for name in MISSING_BEFORE)


def with_missing_arrays(arrays: Mapping[str, NDArray[Any]], problem: Problem) -> dict[str, NDArray[Any]]:
    """Return the arrays with what later versions measure: nan for sums, no counts for waits by mode."""
    found = dict(arrays)
    for name in ("by_mode", "by_age"):
        missing = np.full((*arrays[name].shape[:-1], len(COLUMNS) - arrays[name].shape[-1]), np.nan)
        found[name] = np.concatenate([arrays[name], missing], axis=-1)
    trials, samplers = arrays["diverged"].shape
    modes, bins = problem.layout.modes, bin_of(problem.layout.steps, WAIT_BITS) + 1
    found["waits"] = np.zeros((trials, samplers, modes, bins, 2), dtype=np.int64)
    found["stays"] = np.zeros((trials, samplers, modes, 2), dtype=np.int64)
    return found


def summary_of_older_run(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return the summary of completed arrays with a note on what is not known; no count stands for no knowledge."""
    rows = [{**row, "recovery": _unknown(row["recovery"])} for row in summary["samplers"]]
    return {**summary, "samplers": rows, "cost_every": None, "format": 0, "notes": [*summary.get("notes", ()), NOTE]}


def _unknown(recovery: Mapping[str, Any]) -> dict[str, Any]:
    by_mode = [{**dict.fromkeys(row), "mode": row["mode"]} for row in recovery["by_mode"] or ()]
    return {**dict.fromkeys(recovery), "by_mode": by_mode}
