"""``tracker export``: write a finished run for other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracker.cli.error_messages import EXISTS, USAGE, Refused
from tracker.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tracker.runs import Run


def export_run(
    path: Path, csv: Path | None, arviz: Path | None, sampler: str | None, plugins: Sequence[str] = ()
) -> None:
    """Write the run in ``path`` as CSV, as a DataTree for ArviZ, or both."""
    if csv is None and arviz is None:
        raise Refused(USAGE, "nothing to write: give --csv DIR, --arviz FILE, or both")
    if arviz is not None and (not arviz.name or arviz.is_dir()):  # "" and "." are the folder where we are
        raise Refused(USAGE, f"--arviz: {str(arviz)!r} is no name of a file to write")
    from tracker.runs import CorruptRun, open_run
    from tracker.runs.csv_and_arviz import to_csv

    try:
        run = open_run(path, plugins=plugins)
    except CorruptRun as error:
        raise Refused(EXISTS, str(error)) from None
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
