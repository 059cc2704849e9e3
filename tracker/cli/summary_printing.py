"""The summary of a run as a table for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from tracker.cli.printing import console, evaluates, number, print_table, step_cell, with_error
from tracker.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

HEAD = (
    "sampler", "epsilon", "of its limit", "a step takes", "tracking error", "mean square", "excess cost", "recovery [95 %]",
    "diverged", "steps/s",
)  # fmt: skip
SPARE = ("steps/s", "mean square", "excess cost", "a step takes", "of its limit")  # on a narrow terminal
P_VALUES = ("rate_p_value", "p_value")  # is a mode left as often as the law says, and at every age alike


def print_summary(summary: Mapping[str, Any], path: Path | None) -> None:
    """Print what came out, for people."""
    from tracker.metrics.averages import FEWEST, no_interval

    screen = console()
    about = summary["scenario"]
    screen.print(Text(f"{about['name']}: {size_of(about)}"))
    print_table(screen, HEAD, [_row(sampler) for sampler in summary["samplers"]], spare=SPARE)
    if about["trials"] < FEWEST:
        screen.print(Text(no_interval(about["trials"])))
    for line in (*_chain_lines(summary.get("chain")), *regime_lines(summary.get("regime"))):
        screen.print(Text(line))
    if path is not None:
        screen.print(Text(f"results: {path}"))


def size_of(about: Mapping[str, Any]) -> str:
    """Return how large a run is, and its seed."""
    return f"{counted(about['trials'], 'trial')} x {counted(about['steps'], 'step')}, seed {about['seed']}"


def _row(sampler: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        sampler["name"],
        number(sampler.get("epsilon")),
        step_cell(sampler),
        evaluates(sampler.get("evaluations")),
        with_error(sampler.get("tracking_error")),
        with_error(sampler.get("mean_square_error")),
        with_error(sampler.get("excess_cost")),
        _recovery(sampler.get("recovery")),
        str(sampler.get("diverged", 0)),
        number(sampler.get("steps_per_second"), 2),
    )


def _recovery(recovery: Mapping[str, Any] | None) -> str:
    if recovery is None or recovery.get("median") is None:
        return "-"
    if recovery.get("low") is None and recovery.get("high") is None:
        return number(recovery["median"])
    return f"{number(recovery['median'])} [{number(recovery.get('low'))}, {number(recovery.get('high'))}]"


def _chain_lines(chain: Mapping[str, Any] | None) -> Iterator[str]:
    if not chain:
        return
    from tracker.metrics.multiple_tests import family

    yield f"chain: {counted(chain.get('switches', 0), 'switch', 'switches')}"
    for dwell in chain.get("dwell") or ():
        counts = f"{dwell['completed']} completed, {dwell['censored']} censored"
        rate, ages = (f"p = {p:.2g}" if (p := dwell.get(key)) is not None else "no test" for key in P_VALUES)
        mean = f"mean dwell {number(dwell['mean'])}, expected {number(dwell['expected'])} ({rate})"
        yield f"  {dwell['mode']}: {mean}; geometric: {ages}; {counts}"
    together = family(dwell.get(key) for dwell in chain.get("dwell") or () for key in P_VALUES)
    if together.tests > 1:
        yield f"  smallest p of {together.tests} tests, times {together.tests}: {together.corrected:.2g}"


def regime_lines(regime: Sequence[Mapping[str, Any]] | None) -> Iterator[str]:
    """One line for all samplers that share a ratio."""
    shared: dict[tuple[float, str], list[str]] = {}
    for entry in regime or ():
        if entry.get("ratio") is not None:
            shared.setdefault((entry["ratio"], entry["class"]), []).append(entry["sampler"])
    for (ratio, kind), samplers in shared.items():
        yield f"regime: {kind} (alpha/epsilon = {ratio:.3g}): {', '.join(samplers)}"
