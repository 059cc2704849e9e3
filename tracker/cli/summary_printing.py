"""Print the summary of a run as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from tracker.cli.printing import console, evaluates, number, print_table, step_cell, with_error
from tracker.formatting import counted
from tracker.metrics.table import METRICS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tracker.metrics.table import Metric

P_VALUES = ("rate_p_value", "p_value")  # is a mode left as often as the law says, and at every age alike


def print_summary(summary: Mapping[str, Any], path: Path | None) -> None:
    """Print what came out, for people."""
    from tracker.metrics.averages import FEWEST_TRIALS, no_interval

    screen = console()
    about = summary["scenario"]
    screen.print(Text(f"{about['name']}: {size_of(about)}"))
    metrics = metrics_shown(summary["samplers"])
    head, spare = summary_columns(metrics)
    print_table(screen, head, [_row(sampler, metrics) for sampler in summary["samplers"]], spare=spare)
    if about["trials"] < FEWEST_TRIALS:
        screen.print(Text(no_interval(about["trials"])))
    for line in (*_chain_lines(summary.get("chain")), *regime_lines(summary.get("regime"))):
        screen.print(Text(line))
    if path is not None:
        screen.print(Text(f"results: {path}"))


def size_of(about: Mapping[str, Any]) -> str:
    """Return how large a run is, and its seed."""
    return f"{counted(about['trials'], 'trial')} x {counted(about['steps'], 'step')}, seed {about['seed']}"


def metrics_shown(samplers: Sequence[Mapping[str, Any]]) -> list[Metric]:
    """Return the metrics that the terminal has a column for; optional ones only where a sampler has them."""
    shown = [metric for metric in METRICS.values() if "terminal" in metric.shown]
    return [metric for metric in shown if not metric.optional or any(metric.key in row for row in samplers)]


def summary_columns(metrics: Sequence[Metric]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the head of the table, and which columns a narrow terminal leaves out, the first one first."""
    heads = {metric.key: f"{metric.head} [95 %]" if metric.kind == "time" else metric.head for metric in metrics}
    spare = [heads[metric.key] for metric in metrics[1:] if metric.kind == "mean"]
    head = ("sampler", "epsilon", "of its limit", "a step takes", *heads.values(), "diverged", "steps/s")
    return head, ("steps/s", *spare, "a step takes", "of its limit")


def _row(sampler: Mapping[str, Any], metrics: Sequence[Metric]) -> tuple[str, ...]:
    cell = {"mean": with_error, "time": _median}
    return (
        sampler["name"],
        number(sampler.get("epsilon")),
        step_cell(sampler),
        evaluates(sampler.get("evaluations")),
        *(cell[metric.kind](sampler.get(metric.key)) for metric in metrics),
        str(sampler.get("diverged", 0)),
        number(sampler.get("steps_per_second"), 2),
    )


def _median(waits: Mapping[str, Any] | None) -> str:
    if waits is None or waits.get("median") is None:
        return "-"
    if waits.get("low") is None and waits.get("high") is None:
        return number(waits["median"])
    return f"{number(waits['median'])} [{number(waits.get('low'))}, {number(waits.get('high'))}]"


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
