"""The program itself: its help text and its own options. Commands join it in ``tracker/cli/__init__.py``."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

app = typer.Typer(
    name="tracker",
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="""A wind tunnel for Langevin samplers in a world that switches.

A hidden Markov chain picks one of several cost functions at every step; samplers see noisy gradients only.
`tracker` measures how well they follow.

Begin with

    tracker tour                  # a guided first run, two minutes

    tracker new my-world          # writes my-world.toml, commented

    tracker validate my-world.toml

    tracker run my-world.toml
""",
    epilog="Exit codes: 0 fine, 2 usage, 3 scenario invalid, 4 refused by a limit, 5 finished with failed shards, points, or every trial diverged, 6 a check failed, "
    "7 run directory exists, is damaged or holds another run, 130 interrupted (--resume continues).",
)


def _say_version(asked: bool) -> None:
    if asked:
        from tracker import __version__

        print(f"tracker {__version__}")
        raise typer.Exit


@app.callback()
def common(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Say which version this is.")
    ] = False,
) -> None:
    """Options of the program itself; the help text is that of ``app``."""
    if context.invoked_subcommand is None:
        print(context.get_help())
        print("usage: a command is missing, as in: tracker run FILE", file=sys.stderr)
        raise typer.Exit(2)
