"""``tracker report``: the page of a finished run, and its figures one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracker.cli.guard import EXISTS, Refused, say

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tracker.reports.drawing import Format
    from tracker.runs import Run

PAGE = "report.html"


def report_run(folder: Path, out: Path | None, figures: Format | None, plugins: Sequence[str] = ()) -> None:
    """Write the page of the run in ``folder``, and say where it is."""
    from tracker.reports.report import write_figures

    run = opened(folder, plugins)
    page = out if out is not None else folder / PAGE
    write_page(run, page)
    print(page)
    if figures is not None:
        for path in write_figures(run, page.parent / "figures", figures):
            print(path)


def write_page(run: Run, page: Path) -> None:
    """Write the page of a run."""
    from tracker.reports.report import write_report

    say("writing the report")
    write_report(run, page)


def opened(folder: Path, plugins: Sequence[str] = ()) -> Run:
    """Return the finished run in ``folder``, or refuse."""
    from tracker.runs import CorruptRun, open_run

    try:
        return open_run(folder, plugins=plugins)
    except CorruptRun as error:
        raise Refused(EXISTS, f"{folder}: {error.reason}") from None
