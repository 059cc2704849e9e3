"""Progress on stderr: a bar on a terminal, otherwise a line for every tenth."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tracker.cli.guard import say
from tracker.cli.show import duration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Progress = Callable[[float, float, str], None]


@contextmanager
def reporter(*, quiet: bool) -> Iterator[Progress | None]:
    """Give the function that a run calls with (done, total, note)."""
    if quiet:
        yield None
    elif sys.stderr.isatty():
        with _bar() as progress:
            yield progress
    else:
        yield _lines()


@contextmanager
def _bar() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}", markup=False),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, rate="")
        began = time.monotonic()

        def show(done: float, total: float, note: str) -> None:
            nonlocal began
            began = began if done else time.monotonic()  # compiling is no stepping
            bar.update(task, completed=done, total=total, description=note, rate=_rate(done, began))

        yield show


def _lines() -> Progress:
    began = time.monotonic()
    told = 0
    last_note = ""

    def show(done: float, total: float, note: str) -> None:
        nonlocal began, told, last_note
        began = began if done else time.monotonic()  # compiling is no stepping
        tenths = int(10 * done / total) if total > 0 else 0
        if tenths > told:
            told = tenths
            left = (time.monotonic() - began) * (total - done) / done
            end = f", {duration(left)} left" if done < total else ""
            say(f"{10 * tenths:3d} %  {done:.3g} of {total:.3g} steps, {_rate(done, began)}{end}")
        elif note and note != last_note and done == 0:
            say(note)
        last_note = note

    return show


def _rate(done: float, began: float) -> str:
    return f"{done / max(time.monotonic() - began, 1e-9):.2g} steps/s"
