"""``tracker compare``: two runs against each other on the same trials, and conditions on which a script fails."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from tracker.cli.directory_errors import read_from
from tracker.cli.error_messages import CHECK, USAGE, Refused, say
from tracker.cli.options import FinishedRun, Json, Plugins
from tracker.cli.printing import console, number, print_json, print_table
from tracker.formatting import counted
from tracker.metrics.table import METRICS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tracker.metrics.paired import Paired
    from tracker.reports.run_vs_run import Change
    from tracker.runs import Run


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
    code: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE.py",
            help="The file of costs and samplers that a run was made with; twice where the runs were made with two. It is run.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Compare two runs on the same trials: ratios with 95 % intervals, and in how many trials the second is better.

    Runs whose trials met different chains are refused.

    For example:

        tracker compare reports/before reports/after

        tracker compare reports/before reports/after --fail-if 'tracking_error.classical > 1.05' --out compare.html
    """
    from tracker.reports.fail_conditions import failures, parse_condition
    from tracker.reports.html_page import write
    from tracker.reports.run_vs_run import NotPaired, as_rows, page, steps, steps_line
    from tracker.reports.run_vs_run import compare as changes_between
    from tracker.reports.what_differs import differences, summary_lines

    try:
        conditions = [parse_condition(text) for text in fail_if or ()]
        one, two = (_open(folder, plugins, code or ()) for folder in (first, second))
        changes = changes_between(one, two)
        failed = failures(changes, conditions)
    except NotPaired as error:
        head = (
            "not paired: the trials of these runs did not meet the same chain, so they cannot be compared one by one:"
        )
        raise Refused(USAGE, head, *(f"  {reason}" for reason in error.reasons)) from None
    except ValueError as error:
        if hasattr(error, "problems"):
            raise
        raise Refused(USAGE, str(error)) from None
    if json:
        about = {"first": str(first), "second": str(second), "steps": steps(one, two)}
        print_json({**about, "differences": differences(one, two), "changes": as_rows(changes), "failed": failed})
    else:
        differ = differences(one, two)
        heads = [f"differs: {line}" for line in differ] or ["the scenarios are the same"]
        for line in (*heads, *summary_lines(changes)):
            console().print(Text(line))
        shown = [c for c in changes if METRICS[c.quantity].shown and not _unmoved(c)]
        print_table(console(), HEAD, [_row(c) for c in shown], left=2, spare=SPARE)
        for line in (*_diverged(changes), steps_line(one, two)):
            console().print(Text(line))
    if out is not None:
        write(out, lambda: page(one, two, changes))
        say(f"drawn: {out}")
    if failed:
        raise Refused(CHECK, *failed)


def _open(folder: Path, plugins: Sequence[str] | None, files: Sequence[Path]) -> Run:
    from tracker.runs import open_run
    from tracker.runs.ownership import read_manifest
    from tracker.scenario.code_file import read_code

    with read_from(folder):
        codes = [read_code(file) for file in files]
        wanted = read_manifest(folder).code if len(codes) > 1 else ""
        code = next((one for one in codes if one.sha256 == wanted), codes[0] if codes else None)
        return open_run(folder, plugins=plugins or (), code=code)


WON = "second better in"
HEAD = ("sampler", "quantity", "first", "second", "ratio [95 %]", "difference [95 %]", WON)
SPARE = ("difference [95 %]", "first", "second", WON)  # what a narrow terminal leaves out


def _unmoved(change: Change) -> bool:
    """Tell whether it is a baseline that is the same in both runs: a row of ones."""
    from tracker.samplers.baselines import BASELINES

    return change.sampler in BASELINES and (change.ratio[:3] == (1.0, 1.0, 1.0) or change.ratio.trials == 0)


def _row(change: Change) -> tuple[str, ...]:
    """Means of each run, the paired ratio, the paired difference (second - first), and in how many pairs the second is better."""
    means, pairs = (change.first, change.second), (change.ratio, change.difference)
    wins = f"{change.difference.wins}/{change.difference.trials}"
    return change.sampler, change.quantity, *map(number, means), *map(_with_interval, pairs), wins


def _diverged(changes: Sequence[Change]) -> Iterator[str]:
    """Tell for each sampler how many trials diverged, where any did."""
    for name, *counts in dict.fromkeys((c.sampler, c.first_diverged, c.second_diverged) for c in changes):
        if any(counts):
            yield f"{name}: {counted(counts[0], 'trial')} diverged in the first run, {counts[1]} in the second"


def _with_interval(pair: Paired) -> str:
    bounds = f" [{number(pair.low, 3)}, {number(pair.high, 3)}]" if pair.low == pair.low else ""
    return f"{number(pair.estimate, 3)}{bounds}"
