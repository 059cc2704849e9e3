"""``tracker watch``: a run as it goes, in the terminal; also one that was started elsewhere."""

from __future__ import annotations

import math
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from tracker.cli.directory_errors import read_from
from tracker.cli.options import Code, Plugins
from tracker.cli.printing import console, duration, number, table
from tracker.formatting import counted, plus_minus

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from tracker.runs.run_status import Status
    from tracker.runs.so_far import ErrorSoFar, FinishedShards

BAR = 30  # characters
PATIENCE = 10.0  # seconds that a directory may be away while another run takes its place


def watch(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="The directory of a run.", show_default=False)],
    every: Annotated[float, typer.Option(min=0.1, max=3600.0, help="Seconds between two looks.")] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Look once, print what is there, and end.")] = False,
    plugins: Plugins = None,
    code: Code = None,
) -> None:
    """Watch a run: how much is done, the error of each sampler so far with its interval, the time left.

    It reads the journal and the finished shards, takes no lock and changes nothing. A run that is killed is waited for, a run
    that is replaced is watched anew; it ends when the run is complete, or with Ctrl-C. Intervals are those of the trials so
    far: a verdict is told when the run is complete.

    For example:

        tracker watch reports/swapping-wells

        tracker watch reports/swapping-wells --once
    """
    from tracker.runs.so_far import FinishedShards

    with read_from(folder):
        seen = FinishedShards(folder, plugins or (), code)
        shown, state = look(seen)
    screen = console()
    if once or not screen.is_terminal:
        _plainly(screen, seen, shown, state, every=every, once=once)
        return
    from rich.live import Live

    with Live(shown, console=screen, auto_refresh=False) as live:
        while state != "complete":
            time.sleep(every)
            shown, state = patiently(seen)
            live.update(shown, refresh=True)


def _plainly(
    screen: Console, seen: FinishedShards, shown: RenderableType, state: str, *, every: float, once: bool
) -> None:
    """For files and pipes: print a look whenever another shard is finished; end when nobody computes."""
    screen.print(shown)
    finished = len(seen.errors)
    while not once and state == "running":
        time.sleep(every)
        shown, state = patiently(seen)
        if len(seen.errors) != finished or state != "running":
            finished = len(seen.errors)
            screen.print(shown)
            sys.stdout.flush()


def patiently(seen: FinishedShards) -> tuple[RenderableType, str]:
    """Look again; while a run is replaced its directory may be away or half there for a moment."""
    from tracker.runs.run_errors import CorruptRun
    from tracker.scenario import ScenarioError

    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return look(seen)
        except (OSError, CorruptRun, ScenarioError, ValueError):
            if time.monotonic() > deadline:
                with read_from(seen.path):
                    return look(seen)
            time.sleep(0.1)


def look(seen: FinishedShards) -> tuple[RenderableType, str]:
    """Return what is to be shown now, and the state of the run."""
    from rich.console import Group

    from tracker.runs.run_status import status_of

    status = status_of(seen.path, verify=False)
    if status.state == "complete":
        return _of_complete(seen, status), status.state
    seen.look()
    rows = seen.rows()
    parts: list[RenderableType] = [Text(line) for line in _lines(status)]
    return Group(*parts, *([_table(rows, seen.title)] if rows else [Text("no trial is finished yet")])), status.state


def _of_complete(seen: FinishedShards, status: Status) -> RenderableType:
    from rich.console import Group

    from tracker.runs.run_reading import open_run_or_part

    summary = open_run_or_part(seen.path, None, seen.plugins, seen.code).summary
    told = [(row["name"], row[seen.judged], str(row["diverged"])) for row in summary["samplers"]]
    rows = [(name, plus_minus(error["mean"], error["stderr"]), lost) for name, error, lost in told]
    words = f"{status.name}: complete, {counted(status.trials, 'trial')}; tracker report {seen.path} writes its page"
    return Group(Text(words), table(("sampler", seen.title, "diverged"), rows))


def _lines(status: Status) -> list[str]:
    filled = round(BAR * status.part)
    bar = f"[{'#' * filled}{'.' * (BAR - filled)}] {100 * status.part:.0f} %"
    left = f", {duration(status.seconds_left)} left" if status.seconds_left is not None else ""
    lines = [
        f"{status.name}: {status.state}",
        f"{bar}, {status.trials_done} of {counted(status.trials, 'trial')}{left}",
    ]
    if status.state == "resumable":
        lines.append(f"nobody computes; to continue: {status.resume or 'tracker run FILE --resume'}")
    return lines


def _table(rows: list[ErrorSoFar], title: str) -> RenderableType:
    cells = [(row.sampler, number(row.mean), _interval(row), str(row.trials), str(row.diverged)) for row in rows]
    return table(("so far", title, "95 % interval", "trials", "diverged"), cells)


def _interval(row: ErrorSoFar) -> str:
    """Return the interval; a dash while trials are too few for one."""
    return f"{number(row.low)} to {number(row.high)}" if math.isfinite(row.low) else number(None)
