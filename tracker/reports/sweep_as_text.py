"""A sweep as text: what the terminal shows, and what ``print(sweep)`` says: its points, and each sampler at its own best step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from rich.text import Text

from tracker.metrics.table import METRICS
from tracker.reports.best_of_sweep import SQUARE, TRACKING
from tracker.reports.text_tables import plain_screen, plus_minus, print_table
from tracker.reports.tuning import best_steps, cells, columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from tracker.reports.tuning import Tuned
    from tracker.runs import Sweep
    from tracker.runs.sweep_points import Axis, Point

MOST_ROWS = 60  # of a table; the rest is in sweep.nc
WITHOUT_DISTANCES = "excess_cost"  # what is shown where no mode has distances


def sweep_text(sweep: Sweep) -> str:
    """Return what came out as text, no line of it cut."""
    measured = bool(np.isfinite(sweep.dataset[TRACKING].values).any())
    return plain_screen(lambda screen: show_sweep(screen, sweep, TRACKING if measured else WITHOUT_DISTANCES))


def show_sweep(screen: Console, sweep: Sweep, metric: str) -> None:
    """Print the metric of every point and sampler."""
    data = sweep.dataset
    names = [str(name) for name in data["sampler"].values]
    rows = []
    for outcome in first_rows(sweep.outcomes):
        errors = [_with_error(data, metric, outcome.point.place, n) for n in range(len(names))]
        rows.append((str(outcome.point.index), *values_at(outcome.point, sweep.axes), *errors, outcome.state))
    screen.print(Text(f"{sweep.scenario.name}: {METRICS[metric].label}"))
    print_table(screen, ("point", *(axis.address for axis in sweep.axes), *names, "outcome"), rows)
    show_tuning(screen, tuning_of(sweep, metric))
    if sweep.path is not None:
        files = "(sweep.nc, sweep.png, sweep.svg, points/)"
        screen.print(Text(f"{what_is_cut(sweep.outcomes)}results: {sweep.path} {files}"))


def tuning_of(sweep: Sweep, metric: str) -> Sequence[Tuned]:
    """Return each sampler at its own best step, by mean square error if that is what was asked for, else by tracking error."""
    return best_steps(sweep, SQUARE if metric == SQUARE else TRACKING)


def show_tuning(screen: Console, rows: Sequence[Tuned]) -> None:
    """Print each sampler at its own best step beside the same step for all."""
    if rows:
        about = rows[0].best.metric.replace("_", " ")
        screen.print(
            Text(f"each sampler at its own best step, by {about}; intervals are widened as the steps were chosen")
        )
        shown = [cells(row) for row in first_rows(rows)]
        print_table(screen, columns(rows), shown, left=2, spare=("world", "not told from"))


def _with_error(data: Any, metric: str, place: tuple[int, ...], n: int) -> str:
    value = float(data[metric].values[(*place, n)])
    stderr = float(data[f"{metric}_stderr"].values[(*place, n)]) if f"{metric}_stderr" in data else float("nan")
    return plus_minus(value, stderr)


def values_at(point: Point, axes: Sequence[Axis]) -> list[str]:
    """Return what is swept at a point, as text."""
    return [axis.labels[n] for axis, n in zip(axes, point.place, strict=True)]


def first_rows(rows: Sequence[Any]) -> Sequence[Any]:
    """Return as many rows as a table shows."""
    return rows[:MOST_ROWS]


def what_is_cut(rows: Sequence[Any]) -> str:
    """Say that not all rows are shown, where that is so."""
    return f"(the first {MOST_ROWS} rows) " if len(rows) > MOST_ROWS else ""
