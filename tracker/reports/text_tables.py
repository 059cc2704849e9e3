"""Tables of text, for terminals and for ``print``: columns that a narrow screen leaves out, numbers as they are read."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rich import box
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from tracker import formatting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rich.console import Console

WIDTH_OFF_TERMINAL = 10_000  # files and pipes wrap nothing


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


def plain_screen(show: Callable[[Console], None]) -> str:
    """Return what ``show`` prints as text, no line of it cut; in a notebook, too, where rich would draw it itself."""
    import io

    from rich.console import Console

    page = io.StringIO()
    show(Console(file=page, width=WIDTH_OFF_TERMINAL, highlight=False, force_terminal=False, force_jupyter=False))
    return "\n".join(line.rstrip() for line in page.getvalue().rstrip().splitlines())


def number(value: float | None, digits: int = 4) -> str:
    """Return a number for a table, as pages write it; "-" where there is none."""
    return "-" if value is None or math.isnan(value) else formatting.number(value, digits)


def with_error(entry: Mapping[str, Any] | None) -> str:
    """Return mean ± stderr."""
    if entry is None or entry.get("mean") is None:
        return "-"
    return plus_minus(entry["mean"], entry.get("stderr"))


def plus_minus(mean: float, error: float | None) -> str:
    """Return mean ± error, as pages write it; "-" where there is none."""
    return "-" if math.isnan(mean) else formatting.plus_minus(mean, error)


def step_cell(row: Mapping[str, Any]) -> str:
    """Return epsilon over its stability limit; "-" for what has no step."""
    if row.get("epsilon") is None:
        return "-"
    ratio = row.get("step_over_limit")
    return "not computed" if ratio is None else "not known" if math.isnan(ratio) else number(float(ratio), 2)


def evaluates(calls: Mapping[str, int] | None) -> str:
    """Return what a step evaluates, e.g. "2 grad + 2 cost"; "-" where nothing is."""
    short = {"gradient": "grad", "hessian": "Hess", "cost": "cost"}
    return " + ".join(f"{(calls or {})[key]} {word}" for key, word in short.items() if (calls or {}).get(key)) or "-"


def rate(per_second: float | None) -> str:
    """Return a speed, or a large count: 38 M, 950 k, 120, 2.5; "-" where it is not known."""
    if per_second is None:
        return "-"
    size, unit = next((known for known in ((1e9, " G"), (1e6, " M"), (1e3, " k")) if per_second >= known[0]), (1.0, ""))
    value = per_second / size
    return f"{value:.0f}{unit}" if value >= 10.0 else f"{value:.2g}{unit}"
