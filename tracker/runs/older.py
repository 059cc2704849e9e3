"""Runs of an older version, opened: what they did not measure is not known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.bins import WAIT_BITS, bin_of
from tracker.loop import COLUMNS
from tracker.runs.result import MISSING_BEFORE
from tracker.runs.summary import RECOVERY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tracker.simulate import Problem

NOTE = (
    "run by an older version: excess costs are averages over the recorded steps, and recovery counts waits of 0 and pools all modes; "
    "neither is compared, and what was not measured is not known"
)


def is_older(arrays: Mapping[str, NDArray[Any]]) -> bool:
    """Tell whether these are the arrays of a version that measured the cost at the recorded steps only."""
    return any(name not in arrays for name in MISSING_BEFORE)


def completed(arrays: Mapping[str, NDArray[Any]], problem: Problem) -> dict[str, NDArray[Any]]:
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


def with_all_keys(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return the summary as it was written, and null for every key that it lacks."""
    rows = []
    for row in summary["samplers"]:
        recovery = dict.fromkeys(RECOVERY) | (row.get("recovery") or {})
        empty = {"mean": None, "stderr": None}
        rows.append({"regret": empty, "recovery_mean": empty, **row, "recovery": recovery})
    return {**summary, "samplers": rows, "cost_every": None, "notes": [*summary.get("notes", ()), NOTE]}
