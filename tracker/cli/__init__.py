"""The command line. Commands only: no mathematics, and heavy imports inside the commands that need them.

Results go to stdout; progress, warnings and errors to stderr, one line each.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from tracker.cli.guard import guarded

app = typer.Typer(
    name="tracker",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="""A wind tunnel for Langevin samplers in a world that switches.

A hidden Markov chain picks one of several cost functions at every step; samplers see noisy gradients only.
`tracker` measures how well they follow.

Begin with

    tracker new my-world          # writes my-world.toml, commented

    tracker validate my-world.toml

    tracker run my-world.toml
""",
    epilog="Exit codes: 0 fine, 2 usage, 3 scenario invalid, 4 refused by a limit, 5 finished with failed shards, 6 a check failed, "
    "7 run directory exists, is damaged or holds another run, 130 interrupted (--resume continues).",
)


def _written_as_pairs(settings: list[str] | None) -> list[str] | None:
    """Refuse what is no setting at all; whether there is such a key, the scenario says."""
    for setting in settings or ():
        key, equals, value = setting.partition("=")
        if not (equals and key.strip() and value.strip()):
            raise typer.BadParameter(f"{setting!r} must be KEY=VALUE, as in trials=4")
    return settings


File = Annotated[Path, typer.Argument(metavar="FILE", help="A scenario file (TOML).", show_default=False)]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        callback=_written_as_pairs,
        help="Change a key for this time; VALUE is TOML. Repeatable. "
        "E.g. chain.alpha=1e-4, 'samplers.\\*.epsilon=1e-3', 'modes.left.minimum=[0, 1]'.",
    ),
]
Plugins = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-plugins",
        metavar="NAME",
        help="Use the costs and samplers of an installed package, by the name it is installed under: its code is run. "
        "Repeatable.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
MaxSteps = Annotated[
    float | None, typer.Option("--max-steps", min=1, help="Steps of all trials and samplers.", show_default="1e11")
]
MaxMemory = Annotated[
    float | None, typer.Option("--max-memory", min=0, help="Gigabytes of memory.", show_default="half of the machine's")
]
MaxDisk = Annotated[float | None, typer.Option("--max-disk", min=0, help="Gigabytes on disk.", show_default="10")]


def _say_version(asked: bool) -> None:
    if asked:
        from tracker import __version__

        print(f"tracker {__version__}")
        raise typer.Exit


def _known_engine(name: str) -> str:
    if name in ("threads", "processes", "dask"):
        return name
    from tracker.runs.engines import refuse_unknown

    try:
        refuse_unknown(name)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    return name


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Say which version this is.")
    ] = False,
) -> None:
    """Options of the program itself; the help text is that of ``app``."""


@app.command()
@guarded
def run(
    file: File,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where results are written.", show_default="reports/<name>")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, max=4096, help="How many at once; results do not depend on it.", show_default="all cores"),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            metavar="ENGINE",
            callback=_known_engine,
            help="threads, processes, dask (a local cluster) or dask:ADDRESS; results do not depend on it.",
        ),
    ] = "threads",
    settings: Settings = None,
    plugins: Plugins = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the run in the directory, if there is one.")
    ] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite an existing run directory.")] = False,
    no_report: Annotated[
        bool, typer.Option("--no-report", envvar="TRACKER_NO_REPORT", help="Write no report.html.")
    ] = False,
    json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
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

    limits = _limits(max_steps, max_memory, max_disk)
    run_file(
        file,
        Wishes(
            out, workers, engine, settings or [], plugins or [], limits, replace, resume, json, quiet, not no_report
        ),
    )


@app.command()
@guarded
def report(
    folder: Annotated[
        Path, typer.Argument(metavar="RUN", help="The directory of a finished run or sweep.", show_default=False)
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE.html", help="Where the page is written.", show_default="RUN/report.html"),
    ] = None,
    figures: Annotated[
        Literal["pdf", "svg", "png"] | None,
        typer.Option(help="Write each figure alone, too, into figures/ beside the page."),
    ] = None,
    plugins: Plugins = None,
) -> None:
    """Write the page of a run or a sweep: one HTML file that needs nothing else.

    For example:

        tracker report reports/swapping-wells

        tracker report reports/swapping-wells --out page.html --figures pdf
    """
    from tracker.cli.report import report_run

    report_run(folder, out, figures, plugins or [])


@app.command()
@guarded
def compare(
    first: Annotated[Path, typer.Argument(metavar="RUN", help="A finished run directory.", show_default=False)],
    second: Annotated[Path, typer.Argument(metavar="RUN", help="Another, on the same trials.", show_default=False)],
    out: Annotated[Path | None, typer.Option(metavar="FILE.html", help="Draw the comparison, too.")] = None,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONDITION",
            help="Exit with 6 if QUANTITY.SAMPLER > NUMBER (or <, >=, <=) holds for the ratio of the second run to the first; "
            "QUANTITY.SAMPLER.low and .high are the ends of its interval, \\* is any sampler. QUANTITY: tracking_error, "
            "mean_square_error, excess_cost, recovery. Repeatable.",
        ),
    ] = None,
    plugins: Plugins = None,
    json: Json = False,
) -> None:
    """Compare two runs on the same trials: ratios with 95 % intervals, and in how many trials the second is better.

    Runs whose trials met different chains are refused.

    For example:

        tracker compare reports/before reports/after

        tracker compare reports/before reports/after --fail-if 'tracking_error.classical > 1.05' --out compare.html
    """
    from tracker.cli.compare import compare_runs

    compare_runs(first, second, out, fail_if or [], json, plugins or [])


@app.command()
@guarded
def status(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.", show_default=False)],
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
    """Say how far a run is; it may be running in another terminal.

    What counts as done is what a resume would not compute again.

    For example:

        tracker status reports/swapping-wells

        tracker status reports/swapping-wells --verify
    """
    from tracker.cli.status import show_status

    show_status(folder, verify, json)


@app.command()
@guarded
def limit(
    file: File,
    sampler: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which sampler.", show_default="the first")
    ] = None,
    epsilons: Annotated[
        str | None,
        typer.Option(metavar="A,B,C", help="Step sizes, at least three.", show_default="five halvings"),
    ] = None,
    horizon: Annotated[
        float | None, typer.Option(metavar="T", help="Time at which laws are compared.", show_default="steps x epsilon")
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            metavar="R", help="Simulate every step size with R trials.", show_default="exact values where known"
        ),
    ] = None,
    resolution: Annotated[
        float | None,
        typer.Option(
            metavar="D", help="Standard deviations below which no difference is looked for.", show_default="0.05"
        ),
    ] = None,
    path: Annotated[
        float | None,
        typer.Option(
            metavar="POWER",
            help="alpha = epsilon^POWER: frozen above 1, averaged below.",
            show_default="alpha/epsilon kept",
        ),
    ] = None,
    settings: Settings = None,
    plugins: Plugins = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write a page and its figures.", show_default="none")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, max=4096, help="Threads; results do not depend on it.", show_default="all cores"),
    ] = None,
    json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
    max_steps: MaxSteps = None,
) -> None:
    """Check whether a sampler converges weakly to its limit, and whether the engine is that sampler.

    Two verdicts: the limit (what the algorithm tends to as epsilon goes to 0) and the implementation (the engine at the
    largest epsilon against its exact law there). Exit code 6 if one is rejected.

    For example:

        tracker limit scenarios/example_a.toml

        tracker limit scenarios/example_a.toml --trials 12000 --resolution 0.05

        tracker limit scenarios/example_a.toml --path 0.5 --json
    """
    from tracker.cli.limit import check_file

    check_file(
        file,
        sampler,
        epsilons,
        horizon,
        trials,
        resolution,
        path,
        settings or [],
        plugins or [],
        _limits(max_steps, None, None),
        out,
        workers,
        json,
        quiet,
    )


@app.command()
@guarded
def validate(
    file: File,
    settings: Settings = None,
    plugins: Plugins = None,
    json: Json = False,
    max_steps: MaxSteps = None,
    max_memory: MaxMemory = None,
    max_disk: MaxDisk = None,
) -> None:
    """Check a scenario without running it: its problems, or what it means.

    Prints the minimisers of each mode, the regime of each sampler, the stability limit of each step size, and what a
    run would cost.

    For example:

        tracker validate scenarios/swapping_wells.toml

        tracker validate scenarios/example_a.toml --set 'samplers.*.epsilon=2' --json
    """
    from tracker.cli.validate import validate_file

    validate_file(file, settings or [], plugins or [], _limits(max_steps, max_memory, max_disk), json)


@app.command()
@guarded
def sweep(
    file: File,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where results are written.", show_default="reports/<name>")
    ] = None,
    metric: Annotated[
        str,
        typer.Option(
            help="What the table and the picture show: tracking_error, mean_square_error, excess_cost, inside_target "
            "or recovery."
        ),
    ] = "tracking_error",
    workers: Annotated[
        int | None,
        typer.Option(min=1, max=4096, help="How many at once; results do not depend on it.", show_default="all cores"),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            metavar="ENGINE",
            callback=_known_engine,
            help="threads, processes, dask (a local cluster) or dask:ADDRESS; results do not depend on it.",
        ),
    ] = "threads",
    settings: Settings = None,
    plugins: Plugins = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue; points that are finished are only read.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite an existing sweep.")] = False,
    no_report: Annotated[
        bool, typer.Option("--no-report", envvar="TRACKER_NO_REPORT", help="Write no report.html.")
    ] = False,
    json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
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

    limits = _limits(max_steps, max_memory, max_disk)
    wishes = Wishes(
        out, workers, engine, settings or [], plugins or [], limits, replace, resume, json, quiet, not no_report
    )
    sweep_file(file, wishes, metric)


@app.command()
@guarded
def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A finished run directory.", show_default=False)],
    csv: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write summary.csv (a row per sampler), traces.csv (a row per sampler, trial and recorded step) and "
            "chain.csv (a row per mode) there.",
        ),
    ] = None,
    arviz: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the recorded steps as a netCDF DataTree: posterior (chain, draw, ...)."
        ),
    ] = None,
    sampler: Annotated[
        str | None, typer.Option(help="The sampler for --arviz.", show_default="all, along an axis of their own")
    ] = None,
    plugins: Plugins = None,
) -> None:
    """Write a finished run for other programs: CSV for anything, a DataTree for ArviZ.

    `RUN/result.nc` itself opens in xarray, with axes sampler, trial, time, theta.

    For example:

        tracker export reports/swapping-wells --csv tables

        tracker export reports/example-1 --arviz draws.nc --sampler classical
    """
    from tracker.cli.export import export_run

    export_run(run, csv, arviz, sampler, plugins or [])


@app.command()
@guarded
def new(name: Annotated[str, typer.Argument(help="What the scenario is called; NAME.toml is written here.")]) -> None:
    """Write a small commented scenario to start from; it runs as it is.

    For example:

        tracker new my-world && tracker run my-world.toml
    """
    from tracker.cli.starter import write_starter

    write_starter(name)


@app.command("list")
@guarded
def list_(
    folder: Annotated[Path, typer.Argument(help="Where scenario files are.")] = Path("scenarios"),
    json: Json = False,
) -> None:
    """List the scenarios in a folder with their claims, and the families of costs and kinds of samplers.

    For example:

        tracker list

        tracker list ../other/scenarios --json
    """
    from tracker.cli.listing import list_folder

    list_folder(folder, json)


@app.command()
@guarded
def schema() -> None:
    """Print the JSON schema of scenario files.

    Editors complete and check keys with it when a file begins with `#:schema ./scenario.schema.json`.

    For example:

        tracker schema > scenarios/scenario.schema.json
    """
    from tracker.cli.show import print_json
    from tracker.scenario import json_schema

    print_json(json_schema(), indent=2)


def _limits(steps: float | None, memory: float | None, disk: float | None) -> dict[str, float]:
    given = {"max_steps": steps, "max_memory": memory and memory * 1e9, "max_disk": disk and disk * 1e9}
    return {key: limit for key, limit in given.items() if limit is not None}


def main() -> None:
    """Run the command line."""
    app()


__all__ = ["app", "main"]
