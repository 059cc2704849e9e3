"""A finished sweep: how each of its points ended, and all numbers as one xarray dataset."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracker.metrics.estimates import trial_values
from tracker.metrics.table import METRICS
from tracker.runs.sweep_points import Axis, Point
from tracker.runs.sweep_table import sweep_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    import xarray

    from tracker.array_types import Array
    from tracker.runs.labelled_arrays import LabelledArrays
    from tracker.runs.run_result import Run
    from tracker.scenario import Scenario


@dataclass(frozen=True)
class Outcome:
    """How a point ended.

    state : "complete", "diverged" (some trials did; the others count) or "failed" (no result, or not of all trials)
    message : what went wrong, "" where nothing did
    errors : the tracking error of each trial and sampler, shape (T, S), in the order of the summary; nan where diverged
    squares : the mean square error, likewise
    """

    point: Point
    state: str
    message: str = ""
    summary: Mapping[str, Any] | None = None
    errors: Array | None = field(default=None, repr=False, compare=False)
    squares: Array | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Sweep:
    """A finished sweep; ``path`` is None for one in memory."""

    scenario: Scenario
    axes: tuple[Axis, ...]
    outcomes: tuple[Outcome, ...]
    path: Path | None = None

    @property
    def labelled(self) -> LabelledArrays:
        """All numbers of the summaries over the swept addresses and ``sampler``, as they are written to ``sweep.nc``."""
        return sweep_table(self.scenario, self.axes, self.outcomes)

    @cached_property
    def dataset(self) -> xarray.Dataset:
        """The same as an xarray dataset."""
        return self.labelled.dataset()

    @property
    def troubled(self) -> tuple[Outcome, ...]:
        """The points that failed or diverged."""
        return tuple(outcome for outcome in self.outcomes if outcome.state != "complete")

    def report(self, path: str | Path) -> None:
        """Write the page of this sweep to ``path``: one HTML file that needs nothing else."""
        import tracker  # reports look at sweeps, so sweeps know them only as a user does

        tracker.reports.write_sweep_page(self, Path(path))

    def _repr_html_(self) -> str:
        import tracker

        return tracker.reports.sweep_html(self)

    def __str__(self) -> str:
        """The tables that the terminal shows."""
        import tracker

        return tracker.reports.sweep_text(self)

    def __repr__(self) -> str:
        """One line."""
        swept = ", ".join(f"{axis.address} ({len(axis.values)} values)" for axis in self.axes)
        return f"<Sweep {self.scenario.name}: {swept}>"


def outcome_of_run(point: Point, result: Run) -> Outcome:
    """Return the outcome of a point that has a result."""
    first = "tracking_error" if result.measured.distance else "excess_cost"
    values = (trial_values(METRICS[key], result.measured) for key in (first, "mean_square_error"))
    return Outcome(point, *state_and_message(result.summary), result.summary, *values)


def state_and_message(summary: Mapping[str, Any]) -> tuple[str, str]:
    """Return the state of a point with this summary, and what went wrong."""
    if failed := summary.get("failed"):
        lines = [f"trials {shard['first']} to {shard['stop'] - 1} failed: {shard['error']}" for shard in failed]
        return "failed", "; ".join(lines)
    message = _divergence(summary)
    return "diverged" if message else "complete", message


def _divergence(summary: Mapping[str, Any]) -> str:
    trials = summary["scenario"]["trials"]
    return "; ".join(
        f"{row['name']} diverged in {row['diverged']} of {trials} trials, first at step {row['first_divergence']}"
        for row in summary["samplers"]
        if row["diverged"]
    )
