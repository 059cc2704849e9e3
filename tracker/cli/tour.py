"""``tracker tour``: a guided first run. Each stop shows a command, carries it out, and says what to look at."""

from __future__ import annotations

import contextlib
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer
from rich.text import Text

from tracker.cli.error_messages import EXISTS, USAGE, Refused
from tracker.cli.printing import console

if TYPE_CHECKING:
    from collections.abc import Callable

SHORT = "--set trials=10 --set steps=200_000"


class Stop(NamedTuple):
    """What is said, the command that is carried out, and what is said of its outcome."""

    before: str
    command: str
    after: str = ""


STOPS = (
    Stop(
        "A world is a file. This one came with the program: two wells, and a hidden chain that decides which of them is deeper. The samplers "
        "see noisy gradients only.",
        "tracker new tour --from swapping_wells",
        "Open tour.toml in an editor: every number of the world and of each sampler is in it.",
    ),
    Stop(
        "What will it cost, are the steps stable, and is the chain slow or fast for these samplers?",
        f"tracker validate tour.toml {SHORT}",
    ),
    Stop(
        "Run it, shortened. The first run on a machine compiles the samplers; later ones do not.",
        f"tracker run tour.toml {SHORT} --out first",
        "The page is first/report.html: open it in a browser. It begins with what was claimed and what came out.",
    ),
    Stop(
        "Change one number: a colder world, in which samplers wander less and cross barriers later. All else, the hidden chain and the random "
        "numbers too, stays as it was.",
        f"tracker run tour.toml {SHORT} --set 'samplers.*.beta=8.0' --out second",
    ),
    Stop(
        "Which of the two tracks better? Trials are compared one by one, because they met the same chain.",
        "tracker compare first second --out compare.html",
        "A ratio below 1 is smaller in the second run; an interval that holds 1 tells nothing.",
    ),
)
NEXT = """Where to go on:
  tracker new my-world --like FAMILY       a world of your own; tracker list names the families of costs
  tracker limit tour.toml                  does the sampler converge to its diffusion?
  tracker sweep FILE                       many values of a number at once
  tracker --help                           everything else"""


def tour(
    folder: Annotated[
        Path, typer.Argument(help="A new folder, in which the tour writes its files.", show_default=True)
    ] = Path("tracker-tour"),
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Wait for Enter between stops, where there is a terminal.")
    ] = True,
) -> None:
    """Take a guided first run: a world, its page, one number changed, and the two compared. About two minutes.

    For example:

        tracker tour

        tracker tour somewhere/else --no-wait
    """
    if folder.exists():
        raise Refused(EXISTS, f"{folder}: exists already; name another folder, as in: tracker tour another-folder")
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise Refused(USAGE, f"{folder}: {error.strerror}") from None
    asks = wait and sys.stdin is not None and sys.stdin.isatty()
    screen = console()
    screen.print(Text(f"A tour in {len(STOPS)} stops. All that it writes is in {folder}/."))
    with contextlib.chdir(folder):
        for number, stop in enumerate(STOPS, 1):
            screen.print(Text(f"\n{number} of {len(STOPS)}. {stop.before}\n"))
            screen.print(Text(f"    $ {stop.command}\n"))
            if asks:
                _pause(screen.input)
            _carry_out(stop.command)
            if stop.after:
                screen.print(Text(f"\n{stop.after}"))
    screen.print(Text(f"\n{NEXT}"))


def _pause(ask: Callable[[str], str]) -> None:
    with contextlib.suppress(EOFError):
        ask("    Enter goes on, Ctrl-C ends the tour. ")


def _carry_out(line: str) -> None:
    """Run a command of this program as if it had been typed; what it refuses ends the tour with its exit code."""
    from tracker.cli.program import app

    code = typer.main.get_command(app).main(shlex.split(line)[1:], prog_name="tracker", standalone_mode=False)
    if code:
        raise typer.Exit(code)
