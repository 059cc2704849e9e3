"""The command line: one file per command, named like it. No mathematics, and heavy imports inside the functions.

Results go to stdout; progress, warnings and errors to stderr, one line each.
"""

from __future__ import annotations

import os

from tracker.cli import (
    advise,
    compare,
    export,
    limit,
    merge,
    new,
    report,
    run,
    schema,
    signals,
    status,
    sweep,
    tour,
    validate,
    watch,
)
from tracker.cli import list as listing
from tracker.cli.error_messages import open_closed_streams, spell_out, with_exit_codes
from tracker.cli.plain_warnings import warn_plainly
from tracker.cli.program import app
from tracker.cli.waiting_parent import watch_over_a_child

COMMANDS = (
    tour.tour,
    run.run,
    sweep.sweep,
    merge.merge,
    status.status,
    watch.watch,
    validate.validate,
    advise.advise,
    limit.limit,
    new.new,
    listing.list_,
    schema.schema,
    report.report,
    compare.compare,
    export.export,
)  # fmt: skip  (in the order of the help)
for command in COMMANDS:
    app.command(command.__name__.rstrip("_"))(with_exit_codes(command))


def main() -> None:
    """Run the command line."""
    watch_over_a_child()
    signals.begin_program()
    open_closed_streams()
    spell_out()
    warn_plainly()
    os.environ["MPLBACKEND"] = "agg"  # only files are drawn; another, or one that is none, has no say here
    try:
        app()
    finally:
        signals.end_program()


__all__ = ["COMMANDS", "app", "main"]
