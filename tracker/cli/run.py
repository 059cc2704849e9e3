"""``tracker run``: a scenario file to results on disk, and a table of them."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from rich.text import Text

from tracker.cli.directory_errors import drawn_from, written_by
from tracker.cli.error_messages import FAILED, INVALID, REFUSED, USAGE, Refused, say
from tracker.cli.options import File, RunOptions, taking_run_options
from tracker.cli.printing import console, print_json, though_nobody_reads
from tracker.cli.progress import reporter
from tracker.cli.summary_printing import print_summary
from tracker.cli.verdict_printing import print_verdict_of_run
from tracker.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tracker.runs import Run, Sweep
    from tracker.runs.manifest import Part
    from tracker.scenario import Scenario

DEFAULT_FOLDER = Path("reports")
T = TypeVar("T")
_PART = re.compile(r"0*([1-9]\d{0,8})/0*([1-9]\d{0,8})", re.ASCII)


def _one_of_the_parts(text: str | None) -> str | None:
    """Refuse what is no part; whether there are trials enough, the scenario says."""
    if text is None:
        return None
    found = _PART.fullmatch(text.strip())
    if found is None or int(found[1]) > int(found[2]):
        raise typer.BadParameter(f"{text!r} must be P/Q with P from 1 to Q, as in 3/10")
    return f"{found[1]}/{found[2]}"


Trials = Annotated[
    int | None,
    typer.Option(
        "--trials",
        metavar="N",
        min=1,
        help="How many trials. A finished run of the same scenario with fewer gets those that it lacks: the result is that "
        "of a run with N from the start.",
        show_default="as in the file",
    ),
]
PartOption = Annotated[
    str | None,
    typer.Option(
        "--part",
        metavar="P/Q",
        callback=_one_of_the_parts,
        help="Compute only part P of Q of the trials, as in 3/10; tracker merge makes the run of all parts.",
    ),
]


@taking_run_options
def run(file: File, options: RunOptions, trials: Trials = None, part: PartOption = None) -> None:
    """Run a scenario and print what came out.

    For example:

        tracker run scenarios/swapping_wells.toml

        tracker run scenarios/swapping_wells.toml --set trials=4 --set steps=100_000 --out /tmp/quick

        tracker run scenarios/example_a.toml --json > summary.json

        tracker run scenarios/swapping_wells.toml --resume

        tracker run scenarios/swapping_wells.toml --trials 100       # adds what a finished run lacks

        tracker run scenarios/swapping_wells.toml --part 3/10 --out parts/3
    """
    from tracker.runs import run as run_scenario
    from tracker.runs.forecast import ResourceLimits, refusals
    from tracker.scenario import build_modes, doubtful_targets, load, unstable_when_switched, warnings

    if options.replace and options.resume:
        raise Refused(USAGE, "--replace begins anew, --resume continues: choose one")
    if trials is not None and part is not None:
        raise Refused(USAGE, "--trials adds to a whole run, --part computes a share of one: choose one")
    number = [f"trials={trials}"] if trials is not None else []
    scenario = load(file, [*(options.settings or ()), *number], options.plugins or (), options.code)
    if scenario.sweep:
        address = next(iter(scenario.sweep))
        line = f"sweep: this file asks for many runs; for one of them: --set sweep={{}} --set {address}=..."
        raise Refused(INVALID, line)
    share = part_of(part, scenario.trials)
    own = scenario.replace(trials=len(share.share(scenario.trials))) if share is not None else scenario
    if refused := refusals(own, ResourceLimits(**options.limits)):
        raise Refused(REFUSED, *refused)
    for warning in warnings(scenario):
        say(f"warning: {warning}")

    name = scenario.name if share is None else f"{scenario.name}-part-{share.number}-of-{share.of}"
    folder = options.out if options.out is not None else DEFAULT_FOLDER / name
    there = _finished_trials(folder) if not options.replace else None
    if trials is not None and there is not None and options.settings:
        line = f"{folder} is finished: --trials adds to it as it is, without --set; --replace begins anew"
        raise Refused(USAGE, line)
    again = command(file, options, trials, part)
    more = {"add_trials": trials is not None and not options.replace, "part": share}
    result = carry_out("run", run_scenario, scenario, folder, options, again, **more)
    if options.verbose:
        from tracker.runs.trials_abreast import told

        for line in told(result.problem):
            say(line)
    if there is not None and trials is not None and trials == there:
        say(f"{folder}: has {counted(there, 'trial')} already, nothing was left to compute")
    elif there is not None and trials is not None:
        say(f"{folder}: {counted(trials - there, 'trial')} added to {there}")
    elif options.resume and there is not None:
        say(f"{folder}: complete already, nothing was left to compute")
    with though_nobody_reads():
        if options.json:
            print_json(result.summary)
        else:
            summary = print_verdict_of_run(result) if share is None else result.summary
            print_summary(summary, result.path)
    for warning in (
        ()
        if share is None and not options.json
        else (*unstable_when_switched(scenario), *doubtful_targets(scenario, build_modes(scenario)))
    ):
        say(f"warning: {warning}")
    failed = result.summary.get("failed")
    if failed:
        say(f"failed and left out: {counted(len(failed), 'shard')}; again: {again}")
    lost = all_diverged(result.summary)
    if lost:
        say(
            "every trial of every sampler diverged: smaller steps (epsilon) may help; tracker validate tells the limits"
        )
    if share is None:
        write_page(result, folder, options)
    else:
        say(f"part {share} of the run is in {folder}; tracker merge OUT PART... makes the run of all {share.of} parts")
    if failed or lost:
        raise Refused(FAILED)


def part_of(text: str | None, trials: int) -> Part | None:
    """Return which part of a run of so many trials is meant; None for all of it."""
    if text is None:
        return None
    from tracker.runs.manifest import Part

    number, _, of = text.partition("/")
    if int(of) > trials:
        raise Refused(USAGE, f"--part {text}: {counted(trials, 'trial')} cannot be cut into {of} parts")
    return Part(int(number), int(of))


def all_diverged(summary: Mapping[str, Any]) -> bool:
    """Tell whether nothing is left to measure: the baselines never diverge, and do not count."""
    from tracker.samplers.baselines import BASELINES

    share = summary.get("part") or {"first": 0, "stop": summary["scenario"]["trials"]}
    trials = share["stop"] - share["first"] - sum(shard["stop"] - shard["first"] for shard in summary.get("failed", ()))
    return trials > 0 and all(
        row.get("diverged", 0) == trials for row in summary["samplers"] if row["name"] not in BASELINES
    )


def _finished_trials(folder: Path) -> int | None:
    """Return how many trials the finished run in ``folder`` has; None where there is none, or it is not finished."""
    from tracker.runs.ownership import read_manifest
    from tracker.runs.run_errors import CorruptRun

    try:
        manifest = read_manifest(folder)
    except CorruptRun:
        return None
    return manifest.trials if manifest.complete else None


def write_page(result: Run | Sweep, folder: Path, options: RunOptions) -> None:
    """Write report.html into the directory; the results are there and told already, so that what fails here loses nothing."""
    if options.no_report or result.path is None:
        return
    from tracker.cli.report import PAGE, solve_theory

    again = ["tracker", "report", str(folder), *options.code_words]
    with drawn_from(folder, "the page", shlex.join(again)):
        solve_theory(result, quiet=options.quiet)
        if not options.quiet:
            say("writing the report")
        page = result.path / PAGE
        result.report(page)
    if not options.json:
        link = Text(str(page), f"link {page.resolve().as_uri()}")  # terminals that know how open it at a click
        console().print(Text.assemble("report: ", link), soft_wrap=True)


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


def command(file: Path, options: RunOptions, trials: int | None = None, part: str | None = None) -> str:
    """Return the command that continues a run."""
    flags = {"max_steps": 1.0, "max_memory": 1e-9, "max_disk": 1e-9}
    words = ["tracker", "run", str(file)]
    words += ["--trials", str(trials)] if trials is not None else []
    words += ["--part", part] if part is not None else []
    words += ["--out", str(options.out)] if options.out is not None else []
    words += ["--workers", str(options.workers)] if options.workers is not None else []
    words += ["--engine", options.engine] if options.engine != "threads" else []
    words += [word for setting in options.settings or () for word in ("--set", setting)]
    words += options.code_words
    for key, limit in options.limits.items():
        words += [f"--{key.replace('_', '-')}", f"{limit * flags[key]:g}"]
    words += ["--json"] if options.json else []
    words += ["--quiet"] if options.quiet else []
    words += ["--verbose"] if options.verbose else []
    words += ["--no-report"] if options.no_report and "TRACKER_NO_REPORT" not in os.environ else []
    return shlex.join([*words, "--resume"])
