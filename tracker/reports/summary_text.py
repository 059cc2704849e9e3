"""The summary of a run as text: what the terminal shows, and what ``print(run)`` says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from tracker.formatting import DASH, counted, percent, plain, step_size
from tracker.metrics.table import METRICS
from tracker.reports.median_waits import median_wait
from tracker.reports.text_tables import evaluates, number, plain_screen, print_table, rate, step_cell, with_error

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from rich.console import Console

    from tracker.metrics.table import Metric

ALREADY = "already there"
LIMITS = {"slow": "frozen", "matched": "switched", "fast": "averaged"}  # of a regime, as `tracker limit` calls them
P_VALUES = ("rate_p_value", "p_value")  # is a mode left as often as the law says, and at every age alike


def run_text(summary: Mapping[str, Any], path: Path | None) -> str:
    """Return what came out as text, no line of it cut."""
    return plain_screen(lambda screen: show_summary(screen, summary, path))


def show_summary(screen: Console, summary: Mapping[str, Any], path: Path | None) -> None:
    """Print what came out, for people."""
    from tracker.metrics.averages import FEWEST_TRIALS, no_interval

    about = summary["scenario"]
    screen.print(Text(f"{about['name']}: {size_of(about)}"))
    metrics = metrics_shown(summary["samplers"])
    head, spare = summary_columns(metrics)
    print_table(screen, head, [_row(sampler, metrics) for sampler in summary["samplers"]], spare=spare)
    if about["trials"] < FEWEST_TRIALS:
        screen.print(Text(no_interval(about["trials"])))
    for line in (*_chain_lines(summary.get("chain")), *regime_lines(summary.get("regime"))):
        screen.print(Text(line))
    for note in summary.get("notes") or ():
        screen.print(Text(f"note: {note}"))
    if path is not None:
        screen.print(Text(f"results: {path}"), soft_wrap=True)


def size_of(about: Mapping[str, Any]) -> str:
    """Return how large a run is, and its seed."""
    return f"{counted(about['trials'], 'trial')} x {counted(about['steps'], 'step')}, seed {about['seed']}"


def metrics_shown(samplers: Sequence[Mapping[str, Any]]) -> list[Metric]:
    """Return the metrics that the terminal has a column for, the leading ones first; optional ones where a sampler has them."""
    shown = [metric for metric in METRICS.values() if "terminal" in metric.shown]
    known = [metric for metric in shown if not metric.optional or any(metric.key in row for row in samplers)]
    told = [metric for metric in known if any(_has(metric, row) for row in samplers)]
    return sorted(told or known, key=lambda metric: not metric.leads)


def _has(metric: Metric, row: Mapping[str, Any]) -> bool:
    return (row.get(metric.key) or {}).get("already" if metric.kind == "time" else "mean") is not None


def summary_columns(metrics: Sequence[Metric]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the head of the table, and which columns a narrow terminal leaves out, the first one first."""
    times = [metric.key for metric in metrics if metric.kind == "time"]
    heads = {metric.key: _heads(metric, alone=metric.key in times[:1]) for metric in metrics}
    spare = [head for metric in metrics[1:] if metric.kind == "mean" for head in heads[metric.key]]
    shown = [head for several in heads.values() for head in several]
    head = ("sampler", "epsilon", "of its limit", "a step takes", *shown, "diverged", "steps/s")
    return head, ("steps/s", *spare, "a step takes", "of its limit")


def _heads(metric: Metric, *, alone: bool) -> tuple[str, ...]:
    """The columns of a metric; of several times, those after the first are named apart."""
    already = ALREADY if alone else f"{ALREADY} ({metric.head})"
    return (already, f"{metric.head} [95 %]") if metric.kind == "time" else (metric.head,)


def _cells(metric: Metric, sampler: Mapping[str, Any]) -> tuple[str, ...]:
    """Of a time, the share of switches without a wait, and the median wait of the others."""
    entry = sampler.get(metric.key)
    if metric.kind == "time":
        already = (entry or {}).get("already")
        return percent(already) if already is not None else "-", median_wait(entry, interval=True).replace(DASH, "-")
    mean = (entry or {}).get("mean")
    return (f"{100 * mean:.1f} %" if metric.unit == "share" and mean is not None else with_error(entry),)


def _row(sampler: Mapping[str, Any], metrics: Sequence[Metric]) -> tuple[str, ...]:
    return (
        sampler["name"],
        step_size(sampler["epsilon"], sampler.get("effective_step")) if sampler.get("epsilon") is not None else "-",
        step_cell(sampler),
        evaluates(sampler.get("evaluations")),
        *(cell for metric in metrics for cell in _cells(metric, sampler)),
        str(sampler.get("diverged", 0)),
        rate(sampler.get("steps_per_second")),
    )


def _chain_lines(chain: Mapping[str, Any] | None) -> Iterator[str]:
    if not chain:
        return
    from tracker.metrics.multiple_tests import family

    yield f"chain: {counted(chain.get('switches', 0), 'switch', 'switches')}"
    for dwell in chain.get("dwell") or ():
        counts = f"{dwell['completed']} completed, {dwell['censored']} censored"
        rate, ages = (f"p = {p:.2g}" if (p := dwell.get(key)) is not None else "no test" for key in P_VALUES)
        mean = f"mean dwell {number(dwell['mean'])}, expected {number(dwell['expected'])} ({rate})"
        yield f"  {dwell['mode']}: {mean}; {chain.get('law') or 'geometric'}: {ages}; {counts}"
    together = family(dwell.get(key) for dwell in chain.get("dwell") or () for key in P_VALUES)
    if together.tests > 1:
        yield f"  smallest p of {together.tests} tests, times {together.tests}: {together.corrected:.2g}"


def regime_lines(regime: Sequence[Mapping[str, Any]] | None) -> Iterator[str]:
    """One line for all samplers that share a ratio, and what is relative to the time in which theta settles, where it is told."""
    shared: dict[tuple[float, str, float | None], list[str]] = {}
    for entry in regime or ():
        if entry.get("ratio") is not None:
            shared.setdefault((entry["ratio"], entry["class"], entry.get("relative")), []).append(entry["sampler"])
    for (ratio, kind, relative), samplers in shared.items():
        more = f", relative to settling {plain(relative)}" if relative is not None else ""
        yield f"regime: {kind} (limit: {LIMITS[kind]}), alpha/epsilon = {plain(ratio)}{more}: {', '.join(samplers)}"
