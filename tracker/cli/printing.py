"""Print results: tables for people, one JSON object for scripts."""

from __future__ import annotations

import json
import math
import sys
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from tracker.jsonable import jsonable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

WIDTH_OFF_TERMINAL = 10_000  # files and pipes wrap nothing
LARGEST_ROUNDING_ERROR = 1e-12  # of a mean: a smaller standard error is that of adding up


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Let `guard` end it quietly: rich would exit with 1."""
        raise BrokenPipeError


def console() -> Console:
    """Return stdout, made when it is needed: tests and pipes replace it. Files get no cut and no colours."""
    terminal = sys.stdout is not None and sys.stdout.isatty()  # none: it was closed
    return _Console(file=sys.stdout, width=None if terminal else WIDTH_OFF_TERMINAL, highlight=False)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> Table:
    """Return a table; the first ``left`` columns are text, the others numbers. Cells are plain text, not markup."""
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for n, title in enumerate(head):
        made.add_column(title, justify="left" if n < left else "right", overflow="fold")
    for row in rows:
        made.add_row(*(Text(cell) for cell in row))
    return made


def print_table(
    screen: Console, head: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1, spare: Sequence[str] = ()
) -> None:
    """Print a table. For a terminal that is too narrow, columns in ``spare`` are left out, the first one first.

    Where that does not help, each row becomes a block of lines, with all columns.
    """
    wide = screen.options.update(max_width=WIDTH_OFF_TERMINAL)
    for n in range(len(spare) + 1):
        shown = [i for i, title in enumerate(head) if title not in spare[:n]]
        made = table([head[i] for i in shown], [[row[i] for i in shown] for row in rows], left=left)
        if Measurement.get(screen, wide, made).maximum <= screen.width:
            screen.print(made)
            if n > 0:
                screen.print(Text(f"the terminal is too narrow for these columns: {', '.join(spare[:n])}"))
            return
    for row in rows:
        screen.print(Text(f"{head[0]}: {row[0]}"))
        for title, cell in zip(head[1:], row[1:], strict=True):
            screen.print(Text(f"  {title}: {cell}"))


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
    return plus_minus(entry["mean"], entry.get("stderr"))


def plus_minus(mean: float, error: float | None) -> str:
    """Return mean ± error; what is only rounding is no error."""
    if error is None or math.isnan(error) or math.isnan(mean):
        return number(mean)
    return f"{number(mean)} ± {number(error if error > LARGEST_ROUNDING_ERROR * abs(mean) else 0.0, 2)}"


def step_cell(row: Mapping[str, Any]) -> str:
    """Return epsilon over its stability limit; "-" for what has no step."""
    if row.get("epsilon") is None:
        return "-"
    return "not computed" if row.get("step_over_limit") is None else number(float(row["step_over_limit"]), 2)


def evaluates(calls: Mapping[str, int] | None) -> str:
    """Return what a step evaluates, e.g. "2 grad + 2 cost"; "-" where nothing is."""
    short = {"gradient": "grad", "hessian": "Hess", "cost": "cost"}
    return " + ".join(f"{(calls or {})[key]} {word}" for key, word in short.items() if (calls or {}).get(key)) or "-"


def duration(seconds: float) -> str:
    """Return a time for people."""
    if seconds < 1:
        return "1 s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.3g} hours" if seconds < 172_800 else f"{seconds / 86_400:.3g} days"
