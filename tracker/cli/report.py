"""``tracker report``: write the page of a finished run or sweep, and on request each figure alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tracker.cli.directory_errors import read_from
from tracker.cli.error_messages import say
from tracker.cli.options import Code, Plugins
from tracker.formatting import counted

if TYPE_CHECKING:
    from tracker.runs import Run, Sweep

PAGE = "report.html"


def report(
    folder: Annotated[
        Path, typer.Argument(metavar="RUN", help="The directory of a finished run or sweep.", show_default=False)
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE.html", help="Where the page is written.", show_default="RUN/report.html"),
    ] = None,
    figures: Annotated[
        Literal["pdf", "svg", "png"] | None,
        typer.Option(help="Write each figure alone, too, into figures/ beside the page."),
    ] = None,
    plugins: Plugins = None,
    code: Code = None,
) -> None:
    """Write the page of a run or a sweep: one HTML file that needs nothing else.

    For example:

        tracker report reports/swapping-wells

        tracker report reports/swapping-wells --out page.html --figures pdf
    """
    from tracker.reports.run_page import write_figures
    from tracker.reports.sweep_page import write_sweep_figures
    from tracker.runs import Run, open_run, open_sweep
    from tracker.runs.file_names import is_sweep

    with read_from(folder):
        result = (open_sweep if is_sweep(folder) else open_run)(folder, plugins=plugins or (), code=code)
    page = out if out is not None else folder / PAGE
    solve_theory(result)
    say(f"writing the report: {_size(result)}")
    result.report(page)
    print(page)
    if figures is not None:
        place = page.parent / "figures"
        one_by_one = (
            write_figures(result, place, figures)
            if isinstance(result, Run)
            else write_sweep_figures(result, place, figures)
        )
        for path in one_by_one:
            print(path)


def solve_theory(result: Run | Sweep, *, quiet: bool = False) -> None:
    """Solve what theory says for the page of a run, with a line of progress, unless it was kept."""
    from tracker.advice.theory_of_run import theory_of
    from tracker.runs import Run

    if isinstance(result, Run):
        theory_of(result, (lambda _: None) if quiet else say)


def _size(result: Run | Sweep) -> str:
    about = result.scenario
    points = f"{counted(len(result.outcomes), 'point')} of " if hasattr(result, "outcomes") else ""
    return f"{points}{counted(about.trials, 'trial')} x {counted(len(about.samplers), 'sampler')}"
