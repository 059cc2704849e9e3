"""``tracker compare``: compare two runs on the same trials, and fail on conditions that a script gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from tracker.cli.error_messages import CHECK, USAGE, Refused, say
from tracker.cli.printing import console, number, print_json, print_table
from tracker.cli.report import opened
from tracker.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tracker.metrics.paired import Paired
    from tracker.reports.run_vs_run import Change


def compare_runs(
    first: Path, second: Path, out: Path | None, fail_if: Sequence[str], json: bool, plugins: Sequence[str] = ()
) -> None:
    """Print and draw what changed from ``first`` to ``second``; a condition that holds, or is not known not to, is exit code 6."""
    from tracker.metrics.table import METRICS
    from tracker.reports.fail_conditions import failures, parse_condition
    from tracker.reports.html_page import write
    from tracker.reports.run_vs_run import NotPaired, as_rows, compare, page, steps, steps_line

    try:
        conditions = [parse_condition(text) for text in fail_if]
        one, two = opened(first, plugins), opened(second, plugins)
        changes = compare(one, two)
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
        print_json({**about, "changes": as_rows(changes), "failed": failed})
    else:
        print_table(console(), HEAD, [_row(c) for c in changes if METRICS[c.quantity].shown], left=2)
        for line in (*_diverged(changes), steps_line(one, two)):
            console().print(Text(line))
    if out is not None:
        write(out, lambda: page(one, two, changes))
        say(f"drawn: {out}")
    if failed:
        raise Refused(CHECK, *failed)


HEAD = ("sampler", "quantity", "first", "second", "ratio [95 %]", "difference [95 %]", "wins")


def _row(change: Change) -> tuple[str, ...]:
    """Means of each run, the paired ratio, the paired difference (second - first), and in how many pairs the second is smaller."""
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
