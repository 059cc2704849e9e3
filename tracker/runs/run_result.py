"""A finished run: its summary, its arrays, and the same as an xarray dataset."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tracker.engine.array_axes import axis_labels
from tracker.engine.arrays import rows_of
from tracker.runs.array_shapes import LEADING_AXES
from tracker.runs.labelled_arrays import LabelledArray, LabelledArrays, labels_of
from tracker.runs.manifest import FORMAT
from tracker.runs.stored_world import world_variables

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pandas as pd
    import xarray
    from numpy.typing import NDArray

    from tracker.engine.simulate import Problem
    from tracker.metrics.measured_run import MeasuredRun
    from tracker.scenario import Scenario


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a sampler's entry of the summary as columns: numbers and words; matrices and tables in it are left out."""
    flat: dict[str, Any] = {}
    for key, entry in row.items():
        if isinstance(entry, dict) and "mean" in entry and "stderr" in entry:
            flat[key], flat[f"{key}_stderr"] = entry["mean"], entry["stderr"]
        elif isinstance(entry, dict):
            parts = {part: value for part, value in entry.items() if value is None or isinstance(value, (int, float))}
            flat |= {f"{key}_{part}": value for part, value in parts.items()}
            nested = {part: value for part, value in entry.items() if isinstance(value, dict) and "stderr" in value}
            flat |= {f"{key}_{part}": value["mean"] for part, value in nested.items()}
            flat |= {f"{key}_{part}_stderr": value["stderr"] for part, value in nested.items()}
        elif entry is None or isinstance(entry, (int, float, str)):
            flat[key] = entry
    return flat


@dataclass(frozen=True)
class Run:
    """A finished run.

    Attributes
    ----------
    summary : dict
        The content of summary.json (docs/architecture, "What a run leaves").
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

    def __repr__(self) -> str:
        """One line."""
        about = self.summary["scenario"]
        names = ", ".join(row["name"] for row in self.summary["samplers"])
        return (
            f"<Run {about['name']}: {about['trials']} trials x {about['steps']} steps, seed {about['seed']}: {names}>"
        )

    def __str__(self) -> str:
        """The table that the terminal shows."""
        import tracker

        return tracker.reports.run_text(self.summary, self.path)

    @property
    def plot(self) -> Any:
        """The exhibits of the page by name: ``run.plot.one_trial()`` returns a matplotlib figure."""
        import tracker

        return tracker.reports.RunPlot(self)

    @property
    def table(self) -> pd.DataFrame:
        """The numbers of the summary: a row for each sampler, ``NAME`` and ``NAME_stderr`` for each average, medians of times."""
        import pandas as pd

        rows = [_flat(row) for row in self.summary["samplers"]]
        return pd.DataFrame(rows).set_index("name")

    @cached_property
    def measured(self) -> MeasuredRun:
        """The run as metrics see it (``tracker.metrics.estimates``)."""
        from tracker.runs.summary import measured_run

        return measured_run(self.problem, self.arrays)

    @property
    def labelled(self) -> LabelledArrays:
        """The results with the names of axes and places, as they are written to ``result.nc``."""
        problem, layout = self.problem, self.problem.layout
        variables = {
            row.stored_name: LabelledArray(
                row.axes, self.arrays[row.name], {"units": row.unit, "long_name": row.long_name}
            )
            for row in rows_of(problem)
            if row.axes != (row.name,)  # the index of the trial is a coordinate
        } | world_variables(problem)
        return LabelledArrays(
            {name: one.with_axes_first(LEADING_AXES) for name, one in variables.items()},
            labels_of(axis_labels(problem, self.arrays["trial"])),
            {"format": FORMAT, "cost_every": layout.cost_every, "first_look": layout.first_look},
        )

    @cached_property
    def dataset(self) -> xarray.Dataset:
        """The results as an xarray dataset with the axes ``sampler``, ``trial``, ``time``, ``theta``."""
        return self.labelled.dataset()

    def to_arviz(self, sampler: str | None = None) -> xarray.DataTree:
        """Return the recorded steps as ArviZ wants them; see ``tracker.runs.csv_and_arviz.to_arviz``."""
        from tracker.runs.csv_and_arviz import to_arviz

        return to_arviz(self, sampler)

    def to_csv(self, folder: str | Path) -> list[Path]:
        """Write ``summary.csv``, ``traces.csv`` and ``chain.csv`` into ``folder``; see ``tracker.runs.csv_and_arviz.to_csv``."""
        from tracker.runs.csv_and_arviz import to_csv

        return [written.path for written in to_csv(self, folder)]
