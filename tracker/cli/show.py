"""Printing: tables for people, one JSON object for scripts."""

from __future__ import annotations

import json
import math
import sys
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tracker.plain import jsonable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

WIDTH_OFF_TERMINAL = 120


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Let `guard` end it quietly: rich would exit with 1."""
        raise BrokenPipeError


def console() -> Console:
    """Return stdout, made when it is needed: tests and pipes replace it. Files get no cut and no colours."""
    return _Console(file=sys.stdout, width=None if sys.stdout.isatty() else WIDTH_OFF_TERMINAL, highlight=False)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> Table:
    """Return a table; the first ``left`` columns are text, the others numbers. Cells are plain text, not markup."""
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for n, title in enumerate(head):
        made.add_column(title, justify="left" if n < left else "right", overflow="fold")
    for row in rows:
        made.add_row(*(Text(cell) for cell in row))
    return made


def print_json(value: Any, indent: int | None = None) -> None:
    """Print ``value`` as one JSON object: nan as null, infinity as "inf"."""
    print(json.dumps(jsonable(value), allow_nan=False, indent=indent), flush=True)


def number(value: float | None, digits: int = 4) -> str:
    """Return a number for a table; "-" where there is none."""
    return "-" if value is None or (isinstance(value, float) and math.isnan(value)) else f"{value:.{digits}g}"


def with_error(entry: dict[str, Any] | None) -> str:
    """Return mean ± stderr."""
    if entry is None or entry.get("mean") is None:
        return "-"
    error = entry.get("stderr")
    return number(entry["mean"]) + (f" ± {number(error, 2)}" if error is not None else "")


def duration(seconds: float) -> str:
    """Return a time for people."""
    if seconds < 1:
        return "1 s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.3g} hours" if seconds < 172_800 else f"{seconds / 86_400:.3g} days"
