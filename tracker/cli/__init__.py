"""The command line. Commands only: no mathematics, and heavy imports inside the commands that need them.

Results go to stdout; progress, warnings and errors to stderr, one line each.
"""

from __future__ import annotations

from tracker.cli.commands import carrying_out, results, scenarios  # in this order in the help
from tracker.cli.guard import spell_out
from tracker.cli.plain import warn_plainly
from tracker.cli.program import app


def main() -> None:
    """Run the command line."""
    spell_out()
    warn_plainly()
    app()


__all__ = ["app", "carrying_out", "main", "results", "scenarios"]
