"""Progress for Python: ``progress=True`` shows a bar in a terminal and in a notebook, and lines elsewhere."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Progress = Callable[[float, float, str], None]

BETWEEN = 0.2  # seconds between two looks of a notebook's bar


@contextmanager
def progress_of(asked: Any) -> Iterator[Progress]:
    """Give the function that a run calls with (done, total, note): a bar for True, nothing for None, the caller's own."""
    if asked is None or asked is False:
        yield lambda *_: None
    elif asked is not True:
        yield asked
    elif _in_notebook():
        yield _cell()
    elif sys.stderr.isatty():
        with _bar() as show:
            yield show
    else:
        yield _lines()


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


@contextmanager
def _bar() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total, note: bar.update(task, completed=done, total=total, description=note)


def _cell() -> Progress:
    """One output of the cell, written anew: rich's bar would need ipywidgets there."""
    from IPython.display import HTML, display

    output, next_look, told = display(HTML(""), display_id=True), 0.0, ""

    def show(done: float, total: float, note: str) -> None:
        nonlocal next_look, told
        now, share = time.monotonic(), done / total if total > 0 else 0.0
        text = f'<progress value="{share:.3f}"></progress> {share:.0%} {escape(note)}'
        if text == told or (now < next_look and done < total):
            return
        next_look, told = now + BETWEEN, text
        output.update(HTML(text))

    return show


def _lines() -> Progress:
    told, last = 0, ""

    def show(done: float, total: float, note: str) -> None:
        nonlocal told, last
        tenths = int(10 * done / total) if total > 0 else 0
        if tenths > told:
            told = tenths
            print(f"{10 * tenths:3d} %  {done:.3g} of {total:.3g} steps", file=sys.stderr)
        elif note and note != last and done == 0:
            print(note, file=sys.stderr)
        last = note

    return show
