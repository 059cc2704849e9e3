"""The command line. It holds no mathematics, and heavy imports stand inside the commands that need them.

Results go to stdout; progress, warnings and errors to stderr, one line each.
"""

from __future__ import annotations

import os

from tracker.cli import signals
from tracker.cli.commands import carrying_out, results, scenarios  # in this order in the help
from tracker.cli.error_messages import DEFECT, USAGE, open_closed_streams, spell_out
from tracker.cli.plain_warnings import warn_plainly
from tracker.cli.program import app
from tracker.cli.waiting_parent import watch_over_a_child


def main() -> None:
    """Run the command line."""
    watch_over_a_child()
    signals.begin_program()
    open_closed_streams()
    spell_out()
    warn_plainly()
    os.environ["MPLBACKEND"] = "agg"  # only files are drawn; another, or one that is none, has no say here
    code = DEFECT
    try:
        app()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else USAGE
        raise
    finally:
        signals.end_program(code)


__all__ = ["app", "carrying_out", "main", "results", "scenarios"]
