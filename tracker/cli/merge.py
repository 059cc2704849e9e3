"""``tracker merge``: make one run of parts that were computed apart."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracker.cli.directory_errors import written_by
from tracker.cli.error_messages import EXISTS, Refused, say
from tracker.cli.options import Code, Json, Plugins
from tracker.cli.printing import print_json
from tracker.cli.summary_printing import print_summary
from tracker.cli.verdict_printing import print_verdict_of_run
from tracker.formatting import counted


def merge(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The directory of the whole run.", show_default=False)],
    parts: Annotated[
        list[Path], typer.Argument(metavar="PART...", help="The directories of all parts.", show_default=False)
    ],
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite a run that OUT holds already.")] = False,
    plugins: Plugins = None,
    code: Code = None,
    json: Json = False,
) -> None:
    """Make one run of parts that `tracker run FILE --part P/Q` computed, each perhaps on another machine.

    The result, with its hash, is that of a run computed in one piece. All parts are needed, in any order; one that is
    missing, given twice, not finished or of another run is named.

    For example, as a job array of ten:

        tracker run scenarios/swapping_wells.toml --part $TASK/10 --out parts/$TASK

        tracker merge reports/swapping-wells parts/*
    """
    from tracker.runs import CorruptRun
    from tracker.runs import merge as merge_parts

    with written_by("run", out, "the same command", "--replace overwrites it", "name another OUT"):
        try:
            result = merge_parts(out, parts, replace=replace, plugins=plugins or (), code=code, notice=say)
        except CorruptRun as found:  # it names the part, which is not where we write
            raise Refused(EXISTS, str(found)) from None
    if json:
        print_json(result.summary)
    else:
        print_verdict_of_run(result)
        print_summary(result.summary, result.path)
    say(f"{counted(len(parts), 'part')} merged; tracker report {out} writes the page")
