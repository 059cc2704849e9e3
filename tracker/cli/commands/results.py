"""The commands that read finished runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from tracker.cli.error_messages import guarded
from tracker.cli.options import FinishedRun, Json, Plugins
from tracker.cli.program import app
from tracker.metrics.table import METRICS


@app.command()
@guarded
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
) -> None:
    """Write the page of a run or a sweep: one HTML file that needs nothing else.

    For example:

        tracker report reports/swapping-wells

        tracker report reports/swapping-wells --out page.html --figures pdf
    """
    from tracker.cli.report import report_run

    report_run(folder, out, figures, plugins or [])


@app.command()
@guarded
def compare(
    first: FinishedRun,
    second: Annotated[Path, typer.Argument(metavar="RUN", help="Another, on the same trials.", show_default=False)],
    out: Annotated[Path | None, typer.Option(metavar="FILE.html", help="Draw the comparison, too.")] = None,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONDITION",
            help="Exit with 6 if QUANTITY.SAMPLER > NUMBER (or <, >=, <=) holds for the ratio of the second run to the first; "
            "QUANTITY.SAMPLER.low and .high are the ends of its interval, \\* is any sampler. QUANTITY: "
            f"{', '.join(METRICS)}. Repeatable.",
        ),
    ] = None,
    plugins: Plugins = None,
    json: Json = False,
) -> None:
    """Compare two runs on the same trials: ratios with 95 % intervals, and in how many trials the second is better.

    Runs whose trials met different chains are refused.

    For example:

        tracker compare reports/before reports/after

        tracker compare reports/before reports/after --fail-if 'tracking_error.classical > 1.05' --out compare.html
    """
    from tracker.cli.compare import compare_runs

    compare_runs(first, second, out, fail_if or [], json, plugins or [])


@app.command()
@guarded
def export(
    run: FinishedRun,
    csv: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write summary.csv (a row per sampler), traces.csv (a row per sampler, trial and recorded step) and "
            "chain.csv (a row per mode) there.",
        ),
    ] = None,
    arviz: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the recorded steps as a netCDF DataTree: posterior (chain, draw, ...)."
        ),
    ] = None,
    sampler: Annotated[
        str | None, typer.Option(help="The sampler for --arviz.", show_default="all, along an axis of their own")
    ] = None,
    plugins: Plugins = None,
) -> None:
    """Write a finished run for other programs: CSV for anything, a DataTree for ArviZ.

    `RUN/result.nc` itself opens in xarray, with axes sampler, trial, time, theta.

    For example:

        tracker export reports/swapping-wells --csv tables

        tracker export reports/example-1 --arviz draws.nc --sampler classical
    """
    from tracker.cli.export import export_run

    export_run(run, csv, arviz, sampler, plugins or [])
