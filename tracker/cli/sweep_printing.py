"""Print a sweep: its points before they run, and its results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from tracker.cli.printing import console, duration, print_table
from tracker.cli.sweep_checks import sweep_cost
from tracker.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracker.runs import Sweep
    from tracker.runs.sweep_points import Axis, Point


def print_points(points: Sequence[Point], axes: Sequence[Axis]) -> None:
    """Print the points before they run."""
    from tracker.reports.sweep_as_text import first_rows, values_at, what_is_cut

    screen = console()
    rows = [(str(point.index), *values_at(point, axes)) for point in first_rows(points)]
    print_table(screen, ("point", *(axis.address for axis in axes)), rows)
    size = f"{counted(len(points), 'point')}, {duration(sweep_cost(points).seconds)} or so on one core"
    screen.print(Text(f"{what_is_cut(points)}{size}"))


def print_results(result: Sweep, metric: str) -> None:
    """Print the metric of every point and sampler."""
    from tracker.reports.sweep_as_text import show_sweep

    show_sweep(console(), result, metric)
