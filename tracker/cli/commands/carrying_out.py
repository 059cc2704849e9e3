"""The commands that run a scenario, and the one that tells how far a run is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracker.cli.error_messages import guarded
from tracker.cli.options import (
    Engine,
    File,
    Json,
    MaxDisk,
    MaxMemory,
    MaxSteps,
    NoReport,
    Out,
    Plugins,
    Quiet,
    Settings,
    Workers,
    limits_of,
)
from tracker.cli.program import app
from tracker.metrics.table import METRICS


@app.command()
@guarded
def run(
    file: File,
    out: Out = None,
    workers: Workers = None,
    engine: Engine = "threads",
    settings: Settings = None,
    plugins: Plugins = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the run in the directory, if there is one.")
    ] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite an existing run directory.")] = False,
    no_report: NoReport = False,
    json: Json = False,
    quiet: Quiet = False,
    max_steps: MaxSteps = None,
    max_memory: MaxMemory = None,
    max_disk: MaxDisk = None,
) -> None:
    """Run a scenario and print what came out.

    For example:

        tracker run scenarios/swapping_wells.toml

        tracker run scenarios/swapping_wells.toml --set trials=4 --set steps=100_000 --out /tmp/quick

        tracker run scenarios/example_a.toml --json > summary.json

        tracker run scenarios/swapping_wells.toml --resume
    """
    from tracker.cli.run import Wishes, run_file

    limits = limits_of(max_steps, max_memory, max_disk)
    run_file(
        file,
        Wishes(
            out, workers, engine, settings or [], plugins or [], limits, replace, resume, json, quiet, not no_report
        ),
    )


@app.command()
@guarded
def sweep(
    file: File,
    out: Out = None,
    metric: Annotated[
        str,
        typer.Option(help=f"What the table and the picture show: {', '.join(METRICS)}."),
    ] = "tracking_error",
    workers: Workers = None,
    engine: Engine = "threads",
    settings: Settings = None,
    plugins: Plugins = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue; points that are finished are only read.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite an existing sweep.")] = False,
    no_report: NoReport = False,
    json: Json = False,
    quiet: Quiet = False,
    max_steps: MaxSteps = None,
    max_memory: MaxMemory = None,
    max_disk: MaxDisk = None,
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
    from tracker.cli.run import Wishes
    from tracker.cli.sweep import sweep_file

    limits = limits_of(max_steps, max_memory, max_disk)
    wishes = Wishes(
        out, workers, engine, settings or [], plugins or [], limits, replace, resume, json, quiet, not no_report
    )
    sweep_file(file, wishes, metric)


@app.command()
@guarded
def status(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="The directory of a run or sweep.", show_default=False)],
    verify: Annotated[
        bool | None,
        typer.Option(
            "--verify/--no-verify",
            help="Read all that is kept and check its hashes, or only look whether it is there.",
            show_default="--verify up to 300 MB",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Say how far a run or a sweep is; it may be running in another terminal.

    What counts as done is what a resume would not compute again.

    For example:

        tracker status reports/swapping-wells

        tracker status reports/swapping-wells --verify
    """
    from tracker.cli.status import show_status

    show_status(folder, verify, json)
