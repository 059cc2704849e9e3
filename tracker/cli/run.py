"""``tracker run``: a scenario file to results on disk, and a table of them."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rich.text import Text

from tracker.cli.directory_errors import drawn_from, written_by
from tracker.cli.error_messages import FAILED, INVALID, REFUSED, USAGE, Refused, say
from tracker.cli.options import File, RunOptions, taking_run_options
from tracker.cli.printing import console, print_json
from tracker.cli.progress import reporter
from tracker.cli.summary_printing import print_summary
from tracker.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tracker.runs import Run, Sweep
    from tracker.scenario import Scenario

DEFAULT_FOLDER = Path("reports")
T = TypeVar("T")


@taking_run_options
def run(file: File, options: RunOptions) -> None:
    """Run a scenario and print what came out.

    For example:

        tracker run scenarios/swapping_wells.toml

        tracker run scenarios/swapping_wells.toml --set trials=4 --set steps=100_000 --out /tmp/quick

        tracker run scenarios/example_a.toml --json > summary.json

        tracker run scenarios/swapping_wells.toml --resume
    """
    from tracker.runs import run as run_scenario
    from tracker.runs.forecast import ResourceLimits, refusals
    from tracker.scenario import build_modes, doubtful_targets, load, unstable_when_switched, warnings

    if options.replace and options.resume:
        raise Refused(USAGE, "--replace begins anew, --resume continues: choose one")
    scenario = load(file, options.settings or (), options.plugins or ())
    if scenario.sweep:
        address = next(iter(scenario.sweep))
        line = f"sweep: this file asks for many runs; for one of them: --set sweep={{}} --set {address}=..."
        raise Refused(INVALID, line)
    if refused := refusals(scenario, ResourceLimits(**options.limits)):
        raise Refused(REFUSED, *refused)
    for warning in warnings(scenario):
        say(f"warning: {warning}")

    folder = options.out if options.out is not None else DEFAULT_FOLDER / scenario.name
    complete = options.resume and _is_complete(folder)
    result = carry_out("run", run_scenario, scenario, folder, options, command(file, options))
    if complete:
        say(f"{folder}: complete already, nothing was left to compute")
    if options.json:
        print_json(result.summary)
    else:
        print_summary(result.summary, result.path)
    for warning in (*unstable_when_switched(scenario), *doubtful_targets(scenario, build_modes(scenario))):
        say(f"warning: {warning}")
    failed = result.summary.get("failed")
    if failed:
        say(f"failed and left out: {counted(len(failed), 'shard')}; again: {command(file, options)}")
    lost = all_diverged(result.summary)
    if lost:
        say(
            "every trial of every sampler diverged: smaller steps (epsilon) may help; tracker validate tells the limits"
        )
    write_page(result, folder, options)
    if failed or lost:
        raise Refused(FAILED)


def all_diverged(summary: Mapping[str, Any]) -> bool:
    """Tell whether nothing is left to measure: the baselines never diverge, and do not count."""
    from tracker.samplers.baselines import BASELINES

    trials = summary["scenario"]["trials"] - sum(shard["stop"] - shard["first"] for shard in summary.get("failed", ()))
    return trials > 0 and all(
        row.get("diverged", 0) == trials for row in summary["samplers"] if row["name"] not in BASELINES
    )


def _is_complete(folder: Path) -> bool:
    from tracker.runs.ownership import read_manifest
    from tracker.runs.run_errors import CorruptRun

    try:
        return read_manifest(folder).complete
    except CorruptRun:
        return False


def write_page(result: Run | Sweep, folder: Path, options: RunOptions) -> None:
    """Write report.html into the directory; the results are there and told already, so that what fails here loses nothing."""
    if options.no_report or result.path is None:
        return
    from tracker.cli.report import PAGE

    again = [
        "tracker",
        "report",
        str(folder),
        *(word for name in options.plugins or () for word in ("--allow-plugins", name)),
    ]
    if not options.quiet:
        say("writing the report")
    with drawn_from(folder, "the page", shlex.join(again)):
        page = result.path / PAGE
        result.report(page)
    if not options.json:
        console().print(Text(f"report: {result.path / PAGE}"))


def carry_out(
    what: str, runner: Callable[..., T], scenario: Scenario, folder: Path, options: RunOptions, again: str, **more: Any
) -> T:
    """Let ``runner`` carry out ``what`` ("run" or "sweep") in ``folder``, with progress; ``again`` is the command that continues it."""
    with written_by(what, folder, again), reporter(quiet=options.quiet) as progress:
        return runner(
            scenario,
            folder,
            options.workers,
            engine=options.engine,
            replace=options.replace,
            resume=options.resume,
            progress=progress,
            notice=say,
            **more,
        )


def command(file: Path, options: RunOptions) -> str:
    """Return the command that continues a run."""
    flags = {"max_steps": 1.0, "max_memory": 1e-9, "max_disk": 1e-9}
    words = ["tracker", "run", str(file)]
    words += ["--out", str(options.out)] if options.out is not None else []
    words += ["--workers", str(options.workers)] if options.workers is not None else []
    words += ["--engine", options.engine] if options.engine != "threads" else []
    words += [word for setting in options.settings or () for word in ("--set", setting)]
    words += [word for name in options.plugins or () for word in ("--allow-plugins", name)]
    for key, limit in options.limits.items():
        words += [f"--{key.replace('_', '-')}", f"{limit * flags[key]:g}"]
    words += ["--json"] if options.json else []
    words += ["--quiet"] if options.quiet else []
    words += ["--no-report"] if options.no_report and "TRACKER_NO_REPORT" not in os.environ else []
    return shlex.join([*words, "--resume"])
