"""``tracker export``: write a finished run for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracker.cli.directory_errors import read_from
from tracker.cli.error_messages import USAGE, Refused
from tracker.cli.options import Code, FinishedRun, Plugins
from tracker.formatting import counted

if TYPE_CHECKING:
    from tracker.runs import Run


def export(
    folder: FinishedRun,
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
    code: Code = None,
) -> None:
    """Write a finished run for other programs: CSV for anything, a DataTree for ArviZ.

    `RUN/result.nc` itself opens in xarray, with axes sampler, trial, time, theta.

    For example:

        tracker export reports/swapping-wells --csv tables

        tracker export reports/example-1 --arviz draws.nc --sampler classical
    """
    if csv is None and arviz is None:
        raise Refused(USAGE, "nothing to write: give --csv DIR, --arviz FILE, or both")
    if arviz is not None and (not arviz.name or arviz.is_dir()):  # "" and "." are the folder where we are
        raise Refused(USAGE, f"--arviz: {str(arviz)!r} is no name of a file to write")
    from tracker.runs import open_run
    from tracker.runs.csv_and_arviz import to_csv

    with read_from(folder):
        run = open_run(folder, plugins=plugins or (), code=code)
    if csv is not None:
        for file, rows in to_csv(run, csv):
            print(f"wrote {file}: {counted(rows, 'row')}")
    if arviz is not None:
        _write_arviz(run, arviz, sampler)
        print(f"wrote {arviz}: xarray.open_datatree('{arviz}')")


def _write_arviz(run: Run, file: Path, sampler: str | None) -> None:
    try:
        tree = run.to_arviz(sampler)
    except ValueError as error:
        raise Refused(USAGE, str(error)) from None
    from tracker.runs import atomic_files

    file.parent.mkdir(parents=True, exist_ok=True)
    atomic_files.write_with(file, lambda path: tree.to_netcdf(path, engine="h5netcdf"))
