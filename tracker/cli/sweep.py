"""``tracker sweep``: every point of a scenario with ``[sweep]``, one result over all, a picture and a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from tracker.cli.directory_errors import drawn_from
from tracker.cli.error_messages import FAILED, INVALID, REFUSED, USAGE, Refused, say
from tracker.cli.options import File, RunOptions, taking_run_options
from tracker.cli.printing import console, print_json
from tracker.cli.run import DEFAULT_FOLDER, carry_out, command, write_page
from tracker.cli.sweep_checks import say_warnings, sweep_cost, sweep_refusals, warnings_of
from tracker.cli.sweep_printing import print_points, print_results
from tracker.formatting import counted
from tracker.metrics.table import METRICS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tracker.runs import Sweep
    from tracker.runs.sweep_result import Outcome
    from tracker.scenario import Scenario

KEYS_BEFORE_METRICS = ("name", "epsilon", "step_over_limit", "evaluations")  # told of a sampler before its metrics


@taking_run_options
def sweep(
    file: File,
    options: RunOptions,
    metric: Annotated[
        str,
        typer.Option(help=f"What the table and the picture show: {', '.join(METRICS)}."),
    ] = "tracking_error",
) -> None:
    """Run every point of a scenario with a `[sweep]` table, and draw a metric against what is swept.

    The values in `[sweep]` are crossed. All points are checked before the first runs. A point that fails or diverges is
    told at once, the others go on, and the exit code is 5. Each point is a run directory in `DIR/points/`; `DIR/sweep.nc`
    holds all numbers over the swept keys, `DIR/report.html` is the page.

    For example:

        tracker sweep scenarios/swapping_wells_sweep.toml

        tracker sweep scenarios/swapping_wells_sweep.toml --resume --metric recovery

        tracker sweep my-world.toml --set 'sweep={"chain.alpha" = [1e-4, 1e-3]}'
    """
    from tracker.runs import axes_of, points_of
    from tracker.runs import sweep as run_sweep
    from tracker.runs.forecast import ResourceLimits
    from tracker.scenario import load
    from tracker.scenario.own_checks import check_at_start

    if metric not in METRICS:
        raise Refused(USAGE, f"--metric: {metric!r} is none of {', '.join(METRICS)}")
    if options.replace and options.resume:
        raise Refused(USAGE, "--replace begins anew, --resume continues: choose one")
    scenario = load(file, options.settings or (), options.plugins or (), options.code)
    _refuse_settings_of_axes(scenario, options.settings or ())
    check_at_start(scenario)
    points = points_of(scenario)
    if refused := sweep_refusals(sweep_cost(points), points, ResourceLimits(**options.limits)):
        raise Refused(REFUSED, *refused)
    if not options.json:
        print_points(points, axes_of(scenario))
    say_warnings(points, warnings_of(points))
    folder = options.out if options.out is not None else DEFAULT_FOLDER / scenario.name
    again = sweep_again(file, options, metric)
    result = carry_out("sweep", run_sweep, scenario, folder, options, again, tell=_tell)
    if options.verbose:
        from tracker.runs.trials_abreast import told_of

        for line in told_of(points[0].scenario):
            say(f"first point: {line}")
    if not options.json:
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
        if options.json:
            print_json(sweep_as_json(result, metric, caption))
    if not options.json:
        console().print(Text(caption))
    write_page(result, folder, options)
    if result.troubled:
        raise Refused(FAILED)


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


def sweep_again(file: Path, options: RunOptions, metric: str) -> str:
    """Return the command that continues the sweep."""
    return f"tracker sweep{command(file, options).removeprefix('tracker run')} --metric {metric}"


def _tell(outcome: Outcome) -> None:
    """Say at once what went wrong."""
    if outcome.message:
        say(f"{outcome.point.label}: {outcome.message}")


def write_picture(result: Sweep, metric: str) -> str:
    """Write sweep.png and sweep.svg, and return the caption."""
    from tracker.reports.figure_files import write_figure
    from tracker.reports.sweep_figures import sweep_exhibit

    exhibit = sweep_exhibit(result, metric)
    if result.path is not None:
        write_figure(exhibit.figure, result.path / "sweep.png", "png")
        write_figure(exhibit.figure, result.path / "sweep.svg", "svg")
    return exhibit.caption


def sweep_as_json(result: Sweep, metric: str, caption: str | None) -> dict[str, Any]:
    """Return the sweep as one JSON object."""
    from tracker.reports.sweep_as_text import tuning_of
    from tracker.reports.tuning import rows_as_json

    return {
        "scenario": {"name": result.scenario.name, "sha256": result.scenario.sha256, "seed": result.scenario.seed},
        "axes": [{"address": axis.address, "values": list(axis.values)} for axis in result.axes],
        "metric": metric,
        "caption": caption,
        "tuning": rows_as_json(tuning_of(result, metric)),
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
    rows = summary["samplers"] if summary is not None else []
    return [{key: row[key] for key in (*KEYS_BEFORE_METRICS, *METRICS, "diverged") if key in row} for row in rows]
