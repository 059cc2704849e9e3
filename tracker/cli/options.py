"""Options and arguments that several commands share, with the checks that need no file."""

from __future__ import annotations

import functools
import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_type_hints

import typer

if TYPE_CHECKING:
    from collections.abc import Callable


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


def code_words(plugins: list[str] | None, code: Path | None) -> list[str]:
    """Return the words of a command that allow the same packages and the same file of code."""
    words = [word for name in plugins or () for word in ("--allow-plugins", name)]
    return [*words, *(["--code", str(code)] if code is not None else [])]


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
Code = Annotated[
    Path | None,
    typer.Option(
        "--code",
        metavar="FILE.py",
        help='A Python file with costs and samplers of your own, costs = {"name": Class} and samplers = {"name": Class}: it is run. '
        "Its content belongs to the run.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
MaxSteps = Annotated[
    float | None, typer.Option("--max-steps", min=1, help="Steps of all trials and samplers.", show_default="1e11")
]
MaxWork = Annotated[
    float | None,
    typer.Option(
        "--max-work", min=1, help="Products that a law on a grid may take, 1e-9 s each.", show_default="1.5e10"
    ),
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


class RunOptions(NamedTuple):
    """The options that ``tracker run`` and ``tracker sweep`` share."""

    out: Out = None
    workers: Workers = None
    engine: Engine = "threads"
    settings: Settings = None
    plugins: Plugins = None
    code: Code = None
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue what is in the directory; what is finished is only read.")
    ] = False
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite an existing run or sweep directory.")] = False
    no_report: Annotated[
        bool, typer.Option("--no-report", envvar="TRACKER_NO_REPORT", help="Write no report.html.")
    ] = False
    json: Json = False
    quiet: Quiet = False
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Say also which trials went side by side, and why others did not.")
    ] = False
    max_steps: MaxSteps = None
    max_memory: MaxMemory = None
    max_disk: MaxDisk = None

    @property
    def code_words(self) -> list[str]:
        """The words of a command that allow the same code."""
        return code_words(self.plugins, self.code)

    @property
    def limits(self) -> dict[str, float]:
        """The limits that were given, in steps and bytes."""
        return limits_of(self.max_steps, self.max_memory, self.max_disk)


def taking_run_options(command: Callable[..., None]) -> Callable[..., None]:
    """Let the command line give the fields of the parameter ``options`` one by one: typer reads the signature."""
    fields = get_type_hints(RunOptions, include_extras=True)

    @functools.wraps(command)
    def inner(**given: Any) -> None:
        options = RunOptions(**{name: given.pop(name) for name in fields})
        command(**given, options=options)

    own = [each for each in inspect.signature(command, eval_str=True).parameters.values() if each.name != "options"]
    shared = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=RunOptions._field_defaults[name]
        )
        for name, kind in fields.items()
    ]
    inner.__signature__ = inspect.Signature([*own, *shared])  # type: ignore[attr-defined]
    inner.__annotations__ = {each.name: each.annotation for each in (*own, *shared)}
    return inner
