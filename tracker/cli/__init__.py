"""The command line. Commands only: no mathematics, and heavy imports inside the commands that need them.

Results go to stdout; progress, warnings and errors to stderr, one line each.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
    epilog="Exit codes: 0 fine, 2 usage, 3 scenario invalid, 4 refused by a limit, 5 finished with failed shards, "
    "7 run directory exists, is damaged or holds another run, 130 interrupted (--resume continues).",
)

File = Annotated[Path, typer.Argument(metavar="FILE", help="A scenario file (TOML).", show_default=False)]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a key for this time; VALUE is TOML. Repeatable. "
        "E.g. chain.alpha=1e-4, 'samplers.\\*.epsilon=1e-3', 'modes.left.minimum=[0, 1]'.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
MaxSteps = Annotated[
    float | None, typer.Option("--max-steps", min=1, help="Steps of all trials and samplers.", show_default="1e11")
]
MaxMemory = Annotated[
    float | None, typer.Option("--max-memory", min=1, help="Gigabytes of memory.", show_default="half of the machine's")
]
MaxDisk = Annotated[float | None, typer.Option("--max-disk", min=0, help="Gigabytes on disk.", show_default="10")]


def _say_version(asked: bool) -> None:
    if asked:
        from tracker import __version__

        print(f"tracker {__version__}")
        raise typer.Exit


def _known_engine(name: str) -> str:
    if name in ("threads", "processes", "dask") or (name.startswith("dask:") and len(name) > len("dask:")):
        return name
    raise typer.BadParameter(f"{name} is none of threads, processes, dask, dask:ADDRESS")


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
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the run in the directory, if there is one.")
    ] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite an existing run directory.")] = False,
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
    run_file(file, Wishes(out, workers, engine, settings or [], limits, replace, resume, json, quiet))


@app.command()
@guarded
def status(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.", show_default=False)],
    json: Json = False,
) -> None:
    """Say how far a run is; it may be running in another terminal.

    For example:

        tracker status reports/swapping-wells
    """
    from tracker.cli.status import show_status

    show_status(folder, json)


@app.command()
@guarded
def validate(
    file: File,
    settings: Settings = None,
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

    validate_file(file, settings or [], _limits(max_steps, max_memory, max_disk), json)


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
