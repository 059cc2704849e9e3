"""``tracker new``: write a scenario that runs as it is: a commented starter, or a copy of one that came with the program."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from tracker.cli.error_messages import USAGE, Refused
from tracker.cli.starters import starter
from tracker.regular_files import read_regular, stands_there


def new(
    name: Annotated[str, typer.Argument(help="What the scenario is called; NAME.toml is written here.")],
    like: Annotated[
        str | None,
        typer.Option("--like", metavar="COST", help="Begin with the starter of this family of costs."),
    ] = None,
    from_: Annotated[
        str | None,
        typer.Option("--from", metavar="SCENARIO", help="Copy a scenario that came with the program, and its data."),
    ] = None,
) -> None:
    """Write a commented scenario to start from; it runs as it is. `tracker list` shows what there is to begin with.

    For example:

        tracker new my-world && tracker run my-world.toml

        tracker new my-data --like logistic

        tracker new mine --from swapping_wells
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", name):
        rule = "must be 1 to 64 letters, digits, _ or -, the first a letter or a digit"
        raise Refused(USAGE, f"NAME: {name!r} {rule}")
    if like is not None and from_ is not None:
        raise Refused(USAGE, "--like and --from exclude each other: a starter, or a copy")
    text, files = _begun_like(like, name) if from_ is None else _copied(from_, name)
    path = Path(f"{name}.toml")
    contents = {path: text.encode(), **{Path(file): content for file, content in files.items()}}
    # a scenario is never written over; data that are there already may stay if they are the same
    there = [one for one in contents if stands_there(one)]
    taken = [one for one in there if one == path or not _holds(one, contents[one])]
    if taken:
        raise Refused(USAGE, f"{taken[0]}: exists already")
    for one, content in contents.items():
        if one not in there:
            with one.open("xb") as file:
                file.write(content)
    print(f"wrote {', '.join(map(str, contents))}; try: tracker validate {path}")


def _holds(file: Path, content: bytes) -> bool:
    """Tell whether a file has this content; what is no file, a pipe for one, has none."""
    try:
        return read_regular(file, len(content), links=True) == content
    except OSError:
        return False


def _begun_like(family: str | None, name: str) -> tuple[str, dict[str, bytes]]:
    try:
        return starter(family, name)
    except LookupError as error:
        raise Refused(USAGE, f"--like: {error.args[0]}") from None


def _copied(scenario: str, name: str) -> tuple[str, dict[str, bytes]]:
    from tracker.scenario.shipped import copy_of_shipped

    try:
        return copy_of_shipped(scenario, name)
    except LookupError as error:
        raise Refused(USAGE, f"--from: {error.args[0]}") from None
