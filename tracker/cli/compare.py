"""``tracker compare``: two runs against each other on the same trials, and conditions on which a script fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracker.cli.guard import CHECK, USAGE, Refused, say
from tracker.cli.report import opened
from tracker.cli.show import console, number, print_json, table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.table import Table

    from tracker.metrics.paired import Paired
    from tracker.reports.compare import Change


def compare_runs(
    first: Path, second: Path, out: Path | None, fail_if: Sequence[str], json: bool, plugins: Sequence[str] = ()
) -> None:
    """Print and draw what changed from ``first`` to ``second``; a condition that holds, or is not known not to, is exit code 6."""
    from tracker.reports.compare import NotPaired, as_rows, compare, page
    from tracker.reports.conditions import failures, parse_condition

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
        print_json({"first": str(first), "second": str(second), "changes": as_rows(changes), "failed": failed})
    else:
        console().print(_table(changes))
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(page(one, two, changes), encoding="utf-8", newline="\n")
        say(f"drawn: {out}")
    if failed:
        raise Refused(CHECK, *failed)


HEAD = ("sampler", "quantity", "first", "second", "ratio [95 %]", "wins")


def _table(changes: Sequence[Change]) -> Table:
    """Means of each run and the paired ratio; trials that diverged in the first and the second run, where any did."""
    if not any(change.first_diverged or change.second_diverged for change in changes):
        return table(HEAD, [_row(change) for change in changes], left=2)
    rows = [(*_row(change), f"{change.first_diverged}, {change.second_diverged}") for change in changes]
    return table((*HEAD, "diverged"), rows, left=2)


def _row(change: Change) -> tuple[str, ...]:
    wins = f"{change.difference.wins}/{change.difference.trials}"
    means = number(change.first), number(change.second)
    return change.sampler, change.quantity, *means, _with_interval(change.ratio), wins


def _with_interval(pair: Paired) -> str:
    bounds = f" [{number(pair.low)}, {number(pair.high)}]" if pair.low == pair.low else ""
    return f"{number(pair.estimate)}{bounds}"
