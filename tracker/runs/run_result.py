"""A finished run: its summary, its arrays, and the same as an xarray dataset."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tracker import skew
from tracker.engine.bins import AGE_BITS, WAIT_BITS, bin_edges
from tracker.engine.loop import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import xarray
    from numpy.typing import NDArray

    from tracker.engine.simulate import Problem
    from tracker.scenario import Scenario

# Axes of the arrays that `simulate.collect` names.
DIMENSIONS: dict[str, tuple[str, ...]] = {
    "mode": ("trial", "time"),
    "final_mode": ("trial",),
    "switches": ("trial",),
    "jumps": ("trial", "mode_from", "mode_to"),
    "censored": ("trial", "mode_from"),
    "exits": ("trial", "mode_from", "dwell_age"),
    "at_risk": ("trial", "mode_from", "dwell_age"),
    "error": ("trial", "sampler", "time"),
    "excess": ("trial", "sampler", "time"),
    "theta": ("trial", "sampler", "time", "theta"),
    "skew": ("trial", "skew_sampler", "time", "pair"),
    "sigma": ("trial", "sigma_sampler", "time"),
    "final": ("trial", "sampler", "theta"),
    "final_skew": ("trial", "sampler", "pair"),
    "moments": ("trial", "sampler", "moment", "theta"),
    "by_mode": ("trial", "sampler", "mode_from", "sum"),
    "by_age": ("trial", "sampler", "age", "sum"),
    "waits": ("trial", "sampler", "mode_to", "wait", "outcome"),
    "stays": ("trial", "sampler", "mode_to", "look"),
    "diverged": ("trial", "sampler"),
    "resets": ("trial", "sampler"),
}
RENAMED = {"theta": "theta_trace"}  # a variable cannot share its name with one of its axes
LEADING = ("sampler", "trial", "time")  # axes that come first in the dataset, in this order


@dataclass(frozen=True)
class Run:
    """A finished run.

    Attributes
    ----------
    summary : dict
        The content of summary.json (DESIGN section 4).
    arrays : dict of ndarray
        All results with a leading trial axis; ``summary["hash"]`` is over these.
    path : Path or None
        The run directory; None for a run in memory.
    """

    scenario: Scenario
    summary: dict[str, Any]
    arrays: Mapping[str, NDArray[Any]] = field(repr=False)
    problem: Problem = field(repr=False)
    path: Path | None = None

    def report(self, path: str | Path) -> None:
        """Write the page of this run to ``path``: one HTML file that needs nothing else."""
        from pathlib import Path

        import tracker  # reports look at runs, so runs know them only as a user does

        tracker.reports.write_run_page(self, Path(path))

    def _repr_html_(self) -> str:
        import tracker

        return tracker.reports.run_html(self)

    @cached_property
    def dataset(self) -> xarray.Dataset:
        """The results as an xarray dataset with the axes ``sampler``, ``trial``, ``time``, ``theta``."""
        import xarray

        problem, layout = self.problem, self.problem.layout
        names = [contestant.name for contestant in problem.contestants]
        N = problem.origin.size
        modes = [mode.name for mode in self.scenario.modes]
        coordinates: dict[str, Any] = {
            "sampler": names,
            "trial": self.arrays["trial"],
            "time": np.arange(problem.records) * layout.record_every,
            "theta": np.arange(1, N + 1),
            "skew_sampler": [c.name for c in problem.contestants if c.moves_skew],
            "sigma_sampler": [c.name for c in problem.contestants if c.moves_noise],
            "pair": [f"({i + 1},{j + 1})" for i, j in skew.pairs(N)],
            "mode_from": modes,
            "mode_to": modes,
            "sum": list(COLUMNS),
            "outcome": ["reached", "censored"],
            "look": ["all", "inside"],
            "age": bin_edges(layout.steps, AGE_BITS)[:-1],
            "wait": bin_edges(layout.steps, WAIT_BITS)[:-1],
        }
        variables = {
            RENAMED.get(name, name): xarray.Variable(axes, self.arrays[name]) for name, axes in DIMENSIONS.items()
        }
        dataset = xarray.Dataset(variables, coords=coordinates, attrs={"cost_every": layout.cost_every})
        leading = [axis for axis in LEADING if axis in dataset.dims]
        return dataset.transpose(*leading, ...)

    def to_arviz(self, sampler: str | None = None) -> xarray.DataTree:
        """Return the recorded steps as ArviZ wants them; see ``tracker.runs.csv_and_arviz.to_arviz``."""
        from tracker.runs.csv_and_arviz import to_arviz

        return to_arviz(self, sampler)

    def to_csv(self, folder: str | Path) -> list[Path]:
        """Write ``summary.csv``, ``traces.csv`` and ``chain.csv`` into ``folder``; see ``tracker.runs.csv_and_arviz.to_csv``."""
        from tracker.runs.csv_and_arviz import to_csv

        return [written.path for written in to_csv(self, folder)]
