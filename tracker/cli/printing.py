"""Print results: tables for people, one JSON object for scripts."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console

from tracker.cli.error_messages import mute_stdout
from tracker.jsonable import jsonable
from tracker.reports.text_tables import (
    WIDTH_OFF_TERMINAL,
    evaluates,
    number,
    plus_minus,
    print_table,
    rate,
    step_cell,
    table,
    with_error,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "console", "duration", "evaluates", "number", "plus_minus", "print_json", "print_table", "rate", "step_cell", "table", "though_nobody_reads",
    "with_error",
]  # fmt: skip


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Let `guard` end it quietly: rich would exit with 1."""
        raise BrokenPipeError


@contextmanager
def though_nobody_reads() -> Iterator[None]:
    """Print, and go on where the reader has left: what is still to be written to disk does not need one."""
    try:
        yield
    except BrokenPipeError:
        mute_stdout()


def console() -> Console:
    """Return stdout, made when it is needed: tests and pipes replace it. Files get no cut and no colours."""
    terminal = sys.stdout is not None and sys.stdout.isatty()  # none: it was closed
    return _Console(file=sys.stdout, width=None if terminal else WIDTH_OFF_TERMINAL, highlight=False)


def print_json(value: Any, indent: int | None = None) -> None:
    """Print ``value`` as one JSON object: nan as null, infinity as "inf"."""
    print(json.dumps(jsonable(value), allow_nan=False, indent=indent), flush=True)


def duration(seconds: float) -> str:
    """Return a time for people."""
    if seconds < 1:
        return "1 s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.3g} hours" if seconds < 172_800 else f"{seconds / 86_400:.3g} days"
