"""Print the program's own warnings as one line on stderr, without file name and source line."""

from __future__ import annotations

import warnings
from typing import TextIO

from tracker.cli.error_messages import say
from tracker.cli.signals import raise_if_asked


def warn_plainly() -> None:
    """Print warnings of this package's own kinds as ``warning: ...``; all others stay Python's."""
    usual = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if category.__module__.partition(".")[0] == __package__.partition(".")[0]:
            raise_if_asked()  # what fails because of a signal is no news
            say(f"warning: {message}")
        else:
            usual(message, category, filename, lineno, file, line)

    warnings.showwarning = show
