"""Options and arguments that several commands share, with the checks that need no file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def _written_as_pairs(settings: list[str] | None) -> list[str] | None:
    """Refuse what is no setting at all; whether there is such a key, the scenario says."""
    for setting in settings or ():
        key, equals, value = setting.partition("=")
        if not (equals and key.strip() and value.strip()):
            raise typer.BadParameter(f"{setting!r} must be KEY=VALUE, as in trials=4")
    return settings


def _known_engine(name: str) -> str:
    if name in ("threads", "processes", "dask"):
        return name
    from tracker.runs.executors import refuse_unknown

    try:
        refuse_unknown(name)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    return name


def limits_of(steps: float | None, memory: float | None, disk: float | None) -> dict[str, float]:
    """Return the limits that were given, in steps and bytes."""
    given = {"max_steps": steps, "max_memory": memory and memory * 1e9, "max_disk": disk and disk * 1e9}
    return {key: limit for key, limit in given.items() if limit is not None}


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
FinishedRun = Annotated[Path, typer.Argument(metavar="RUN", help="A finished run directory.", show_default=False)]
Out = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Where results are written.", show_default="reports/<name>")
]
Workers = Annotated[
    int | None,
    typer.Option(min=1, max=4096, help="How many at once; results do not depend on it.", show_default="all cores"),
]
Engine = Annotated[
    str,
    typer.Option(
        metavar="ENGINE",
        callback=_known_engine,
        help="threads, processes, dask (a local cluster, on loopback) or dask:ADDRESS, as in dask:tcp://HOST:8786 or, with the "
        "certificates of Dask's configuration, dask:tls://HOST:8786; results do not depend on it.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress.")]
NoReport = Annotated[bool, typer.Option("--no-report", envvar="TRACKER_NO_REPORT", help="Write no report.html.")]
