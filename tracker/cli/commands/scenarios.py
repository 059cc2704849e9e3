"""The commands that read scenario files and write no results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracker.cli.error_messages import guarded
from tracker.cli.options import File, Json, MaxDisk, MaxMemory, MaxSteps, Plugins, Quiet, Settings, limits_of
from tracker.cli.program import app


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

    validate_file(file, settings or [], plugins or [], limits_of(max_steps, max_memory, max_disk), json)


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
        float | None,
        typer.Option(
            metavar="T",
            help="Time at which laws are compared.",
            show_default="steps x epsilon, or less if that is long",
        ),
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
    quiet: Quiet = False,
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
        limits_of(max_steps, None, None),
        out,
        workers,
        json,
        quiet,
    )


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
    from tracker.cli.printing import print_json
    from tracker.scenario import json_schema

    print_json(json_schema(), indent=2)
