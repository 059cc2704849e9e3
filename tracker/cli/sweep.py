"""``tracker sweep``: run every point of a scenario with ``[sweep]``, and write one result, a picture and a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from tracker.cli.directory_errors import drawn_from, written_by
from tracker.cli.error_messages import FAILED, INVALID, REFUSED, USAGE, Refused, say
from tracker.cli.printing import console, duration, plus_minus, print_json, print_table
from tracker.cli.progress import reporter
from tracker.cli.run import DEFAULT_FOLDER, Wishes, command, write_page
from tracker.cli.sweep_warnings import say_warnings, warnings_of
from tracker.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rich.console import Console

    from tracker.reports.tuning import Tuned
    from tracker.runs import Sweep
    from tracker.runs.sweep_points import Axis, Point
    from tracker.runs.sweep_running import Outcome
    from tracker.scenario import Limits, PredictedCost, Scenario

ABOUT = ("name", "epsilon", "step_over_limit", "evaluations")  # told of a sampler before its metrics
MOST_ROWS = 60  # of a table; the rest is in sweep.nc


def sweep_file(file: Path, wishes: Wishes, metric: str) -> None:
    """Run every point of the scenario in ``file``, and show ``metric`` over all."""
    from tracker.metrics.table import METRICS
    from tracker.runs import axes_of, points_of
    from tracker.scenario import Limits, load

    if metric not in METRICS:
        raise Refused(USAGE, f"--metric: {metric!r} is none of {', '.join(METRICS)}")
    if wishes.replace and wishes.resume:
        raise Refused(USAGE, "--replace begins anew, --resume continues: choose one")
    scenario = load(file, wishes.settings, wishes.plugins)
    _refuse_settings_of_axes(scenario, wishes.settings)
    points = points_of(scenario)
    if refused := sweep_refusals(sweep_cost(points), points, Limits(**wishes.limits)):
        raise Refused(REFUSED, *refused)
    if not wishes.json:
        print_points(points, axes_of(scenario))
    say_warnings(points, warnings_of(points))
    folder = wishes.out if wishes.out is not None else DEFAULT_FOLDER / scenario.name
    again = resuming(file, wishes, metric)
    result = _carried_out(scenario, folder, wishes, again)
    if not wishes.json:
        print_results(result, metric)
    if result.troubled:
        line = (
            f"{len(result.troubled)} of {counted(len(points), 'point')} diverged or failed: {_indices(result.troubled)}"
        )
        failed = any(outcome.state == "failed" for outcome in result.troubled)
        say(line + (f"; those that failed again: {again}" if failed else ""))
    caption = None
    try:
        with drawn_from(folder, "the picture", again):
            caption = write_picture(result, metric)
    finally:
        if wishes.json:
            print_json(described(result, metric, caption))
    if not wishes.json:
        console().print(Text(caption))
    write_page(result, folder, wishes)
    if result.troubled:
        raise Refused(FAILED)


def _carried_out(scenario: Scenario, folder: Path, wishes: Wishes, again: str) -> Sweep:
    from tracker.runs import sweep

    with written_by("sweep", folder, again), reporter(quiet=wishes.quiet) as progress:
        return sweep(
            scenario,
            folder,
            wishes.workers,
            engine=wishes.engine,
            replace=wishes.replace,
            resume=wishes.resume,
            progress=progress,
            notice=say,
            tell=_tell,
        )


def _indices(outcomes: Sequence[Outcome]) -> str:
    shown = [str(outcome.point.index) for outcome in outcomes[:20]]
    return ", ".join([*shown, *(["..."] if len(outcomes) > 20 else [])])


def _refuse_settings_of_axes(scenario: Scenario, settings: Sequence[str]) -> None:
    """A value given for an address that is swept would be overwritten in silence."""
    for setting in settings:
        address = setting.partition("=")[0].strip()
        if address in scenario.sweep:
            way_out = f"--set 'sweep={{\"{address}\" = [...]}}' changes what is swept"
            raise Refused(INVALID, f"--set {address}: is swept; {way_out}")


def sweep_cost(points: Sequence[Point]) -> PredictedCost:
    """Return what all points cost together; they run one after another and write no page of their own, but the sweep does."""
    from tracker.scenario import PredictedCost, predicted_cost
    from tracker.scenario.forecast import PAGE_DISK, PAGE_MEMORY

    costs = [predicted_cost(point.scenario, page=False) for point in points]
    disk = sum(cost.disk for cost in costs) + PAGE_DISK
    return PredictedCost(
        steps=sum(cost.steps for cost in costs),
        seconds=sum(cost.seconds for cost in costs),
        memory=max(cost.memory for cost in costs) + PAGE_MEMORY,
        disk=disk,
        disk_running=disk + max(cost.disk_running for cost in costs),
    )


def sweep_refusals(cost: PredictedCost, points: Sequence[Point], limits: Limits) -> list[str]:
    """Return a line for each limit that the sweep would break: steps and disk of all points, memory of the largest."""
    from tracker.scenario.forecast import broken_limits

    return broken_limits(cost, limits, counted(len(points), "point"))


def resuming(file: Path, wishes: Wishes, metric: str) -> str:
    """Return the command that continues the sweep."""
    return f"tracker sweep{command(file, wishes).removeprefix('tracker run')} --metric {metric}"


def _tell(outcome: Outcome) -> None:
    """Say at once what went wrong."""
    if outcome.message:
        say(f"{outcome.point.label}: {outcome.message}")


# --- what is printed


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
    from tracker.reports.tuning import tuning

    return tuning(result, SQUARE if metric == SQUARE else TRACKING)


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


def write_picture(result: Sweep, metric: str) -> str:
    """Write sweep.png and sweep.svg, and return the caption."""
    from tracker.reports.drawing import write_figure
    from tracker.reports.sweep_figures import sweep_exhibit

    exhibit = sweep_exhibit(result, metric)
    if result.path is not None:
        write_figure(exhibit.figure, result.path / "sweep.png", "png")
        write_figure(exhibit.figure, result.path / "sweep.svg", "svg")
    return exhibit.caption


def described(result: Sweep, metric: str, caption: str | None) -> dict[str, Any]:
    """Return the sweep as one JSON object."""
    from tracker.reports.tuning import described as described_tuning

    return {
        "scenario": {"name": result.scenario.name, "sha256": result.scenario.sha256, "seed": result.scenario.seed},
        "axes": [{"address": axis.address, "values": list(axis.values)} for axis in result.axes],
        "metric": metric,
        "caption": caption,
        "tuning": described_tuning(tuning_of(result, metric)),
        "points": [
            {
                "index": outcome.point.index,
                "settings": dict(outcome.point.settings),
                "state": outcome.state,
                "message": outcome.message,
                "samplers": _brief(outcome.summary),
            }
            for outcome in result.outcomes
        ],
    }


def _brief(summary: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    from tracker.metrics.table import METRICS

    rows = summary["samplers"] if summary is not None else []
    return [{key: row[key] for key in (*ABOUT, *METRICS, "diverged") if key in row} for row in rows]
