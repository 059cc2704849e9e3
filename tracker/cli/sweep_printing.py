"""Print a sweep: its points before they run, its results, and each sampler at its own best step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from tracker.cli.printing import console, duration, plus_minus, print_table
from tracker.cli.sweep_checks import sweep_cost
from tracker.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from tracker.reports.tuning import Tuned
    from tracker.runs import Sweep
    from tracker.runs.sweep_points import Axis, Point

MOST_ROWS = 60  # of a table; the rest is in sweep.nc


def print_points(points: Sequence[Point], axes: Sequence[Axis]) -> None:
    """Print the points before they run."""
    screen = console()
    rows = [(str(point.index), *_values(point, axes)) for point in _some(points)]
    print_table(screen, ("point", *(axis.address for axis in axes)), rows)
    screen.print(
        Text(f"{_cut(points)}{counted(len(points), 'point')}, {duration(sweep_cost(points).seconds)} or so on one core")
    )


def print_results(result: Sweep, metric: str) -> None:
    """Print the metric of every point and sampler."""
    from tracker.metrics.table import METRICS

    screen, data = console(), result.dataset
    names = [str(name) for name in data["sampler"].values]
    rows = []
    for outcome in _some(result.outcomes):
        place = outcome.point.place
        cells = [_with_error(data, metric, place, n) for n in range(len(names))]
        rows.append((str(outcome.point.index), *_values(outcome.point, result.axes), *cells, outcome.state))
    screen.print(Text(f"{result.scenario.name}: {METRICS[metric].label}"))
    print_table(screen, ("point", *(axis.address for axis in result.axes), *names, "outcome"), rows)
    print_tuning(screen, tuning_of(result, metric))
    screen.print(Text(f"{_cut(result.outcomes)}results: {result.path} (sweep.nc, sweep.png, sweep.svg, points/)"))


def tuning_of(result: Sweep, metric: str) -> Sequence[Tuned]:
    """Return each sampler at its own best step, by mean square error if that is what was asked for, else by tracking error."""
    from tracker.reports.best_of_sweep import SQUARE, TRACKING
    from tracker.reports.tuning import best_steps

    return best_steps(result, SQUARE if metric == SQUARE else TRACKING)


def print_tuning(screen: Console, rows: Sequence[Tuned]) -> None:
    """Print each sampler at its own best step beside the same step for all."""
    from tracker.reports.tuning import cells, columns

    if rows:
        about = rows[0].best.metric.replace("_", " ")
        screen.print(
            Text(f"each sampler at its own best step, by {about}; intervals are widened as the steps were chosen")
        )
        print_table(
            screen, columns(rows), [cells(row) for row in _some(rows)], left=2, spare=("world", "not told from")
        )


def _with_error(data: Any, metric: str, place: tuple[int, ...], n: int) -> str:
    value = float(data[metric].values[(*place, n)])
    stderr = float(data[f"{metric}_stderr"].values[(*place, n)]) if f"{metric}_stderr" in data else float("nan")
    return plus_minus(value, stderr)


def _values(point: Point, axes: Sequence[Axis]) -> list[str]:
    return [axis.labels[n] for axis, n in zip(axes, point.place, strict=True)]


def _some(rows: Sequence[Any]) -> Sequence[Any]:
    return rows[:MOST_ROWS]


def _cut(rows: Sequence[Any]) -> str:
    return f"(the first {MOST_ROWS} rows) " if len(rows) > MOST_ROWS else ""
