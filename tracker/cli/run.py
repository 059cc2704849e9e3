"""``tracker run``: run a scenario, write the results to disk, and print a table."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.text import Text

from tracker.cli.directory_errors import drawn_from, written_by
from tracker.cli.error_messages import FAILED, INVALID, REFUSED, USAGE, Refused, say
from tracker.cli.own_thread import apart
from tracker.cli.printing import console, evaluates, number, print_json, print_table, step_cell, with_error
from tracker.cli.progress import reporter
from tracker.formatting import counted
from tracker.metrics.averages import FEWEST, no_interval
from tracker.metrics.multiple_tests import family
from tracker.metrics.table import METRICS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tracker.metrics.table import Metric
    from tracker.runs import Run, Sweep
    from tracker.scenario import Scenario

DEFAULT_FOLDER = Path("reports")
P_VALUES = ("rate_p_value", "p_value")  # is a mode left as often as the law says, and at every age alike


class Wishes(NamedTuple):
    """The options of ``tracker run``, as they were given."""

    out: Path | None = None
    workers: int | None = None
    engine: str = "threads"
    settings: Sequence[str] = ()
    plugins: Sequence[str] = ()
    limits: Mapping[str, float] = MappingProxyType({})
    replace: bool = False
    resume: bool = False
    json: bool = False
    quiet: bool = False
    report: bool = True


def run_file(file: Path, wishes: Wishes) -> None:
    """Run the scenario in ``file`` and print its summary."""
    from tracker.scenario import Limits, build_modes, doubtful_targets, load, refusals, unstable_when_switched, warnings

    if wishes.replace and wishes.resume:
        raise Refused(USAGE, "--replace begins anew, --resume continues: choose one")
    scenario = load(file, wishes.settings, wishes.plugins)
    if scenario.sweep:
        address = next(iter(scenario.sweep))
        line = f"sweep: this file asks for many runs; for one of them: --set sweep={{}} --set {address}=..."
        raise Refused(INVALID, line)
    if refused := refusals(scenario, Limits(**wishes.limits)):
        raise Refused(REFUSED, *refused)
    for warning in warnings(scenario):
        say(f"warning: {warning}")

    folder = wishes.out if wishes.out is not None else DEFAULT_FOLDER / scenario.name
    complete = wishes.resume and _is_complete(folder)
    result = _carried_out(scenario, folder, file, wishes)
    if complete:
        say(f"{folder}: complete already, nothing was left to compute")
    if wishes.json:
        print_json(result.summary)
    else:
        print_summary(result.summary, result.path)
    for warning in (*unstable_when_switched(scenario), *doubtful_targets(scenario, build_modes(scenario))):
        say(f"warning: {warning}")
    failed = result.summary.get("failed")
    if failed:
        say(f"failed and left out: {counted(len(failed), 'shard')}; again: {command(file, wishes)}")
    lost = all_diverged(result.summary)
    if lost:
        say(
            "every trial of every sampler diverged: smaller steps (epsilon) may help; tracker validate tells the limits"
        )
    write_page(result, folder, wishes)
    if failed or lost:
        raise Refused(FAILED)


def all_diverged(summary: Mapping[str, Any]) -> bool:
    """Tell whether nothing is left to measure: the baselines never diverge, and do not count."""
    from tracker.samplers.baselines import BASELINES

    trials = summary["scenario"]["trials"] - sum(shard["stop"] - shard["first"] for shard in summary.get("failed", ()))
    return trials > 0 and all(
        row.get("diverged", 0) == trials for row in summary["samplers"] if row["name"] not in BASELINES
    )


def _is_complete(folder: Path) -> bool:
    from tracker.runs.run_directory import read_manifest
    from tracker.runs.run_errors import CorruptRun

    try:
        return read_manifest(folder).complete
    except CorruptRun:
        return False


def write_page(result: Run | Sweep, folder: Path, wishes: Wishes) -> None:
    """Write report.html into the directory; the results are there and told already, so that what fails here loses nothing."""
    if not wishes.report or result.path is None:
        return
    from tracker.cli.report import PAGE

    again = ["tracker", "report", str(folder), *(word for name in wishes.plugins for word in ("--allow-plugins", name))]
    if not wishes.quiet:
        say("writing the report")
    with drawn_from(folder, "the page", shlex.join(again)):
        page = result.path / PAGE
        apart(lambda: result.report(page))
    if not wishes.json:
        console().print(Text(f"report: {result.path / PAGE}"))


def _carried_out(scenario: Scenario, folder: Path, file: Path, wishes: Wishes) -> Run:
    from tracker.runs import run

    with written_by("run", folder, command(file, wishes)), reporter(quiet=wishes.quiet) as progress:
        return run(
            scenario,
            folder,
            wishes.workers,
            engine=wishes.engine,
            replace=wishes.replace,
            resume=wishes.resume,
            progress=progress,
            notice=say,
        )


def command(file: Path, wishes: Wishes) -> str:
    """Return the command that continues a run."""
    flags = {"max_steps": 1.0, "max_memory": 1e-9, "max_disk": 1e-9}
    words = ["tracker", "run", str(file)]
    words += ["--out", str(wishes.out)] if wishes.out is not None else []
    words += ["--workers", str(wishes.workers)] if wishes.workers is not None else []
    words += ["--engine", wishes.engine] if wishes.engine != "threads" else []
    words += [word for setting in wishes.settings for word in ("--set", setting)]
    words += [word for name in wishes.plugins for word in ("--allow-plugins", name)]
    for key, limit in wishes.limits.items():
        words += [f"--{key.replace('_', '-')}", f"{limit * flags[key]:g}"]
    words += ["--json"] if wishes.json else []
    words += ["--quiet"] if wishes.quiet else []
    words += [] if wishes.report or "TRACKER_NO_REPORT" in os.environ else ["--no-report"]
    return shlex.join([*words, "--resume"])


def print_summary(summary: Mapping[str, Any], path: Path | None) -> None:
    """Print what came out, for people."""
    screen = console()
    about = summary["scenario"]
    screen.print(Text(f"{about['name']}: {size_of(about)}"))
    metrics = metrics_shown(summary["samplers"])
    head, spare = columns(metrics)
    print_table(screen, head, [_row(sampler, metrics) for sampler in summary["samplers"]], spare=spare)
    if about["trials"] < FEWEST:
        screen.print(Text(no_interval(about["trials"])))
    for line in (*_chain_lines(summary.get("chain")), *_regime_lines(summary.get("regime"))):
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


def columns(metrics: Sequence[Metric]) -> tuple[tuple[str, ...], tuple[str, ...]]:
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
    yield f"chain: {counted(chain.get('switches', 0), 'switch', 'switches')}"
    for dwell in chain.get("dwell") or ():
        counts = f"{dwell['completed']} completed, {dwell['censored']} censored"
        rate, ages = (f"p = {p:.2g}" if (p := dwell.get(key)) is not None else "no test" for key in P_VALUES)
        mean = f"mean dwell {number(dwell['mean'])}, expected {number(dwell['expected'])} ({rate})"
        yield f"  {dwell['mode']}: {mean}; geometric: {ages}; {counts}"
    together = family(dwell.get(key) for dwell in chain.get("dwell") or () for key in P_VALUES)
    if together.tests > 1:
        yield f"  smallest p of {together.tests} tests, times {together.tests}: {together.corrected:.2g}"


def _regime_lines(regime: Sequence[Mapping[str, Any]] | None) -> Iterator[str]:
    """One line for all samplers that share a ratio."""
    shared: dict[tuple[float, str], list[str]] = {}
    for entry in regime or ():
        if entry.get("ratio") is not None:
            shared.setdefault((entry["ratio"], entry["class"]), []).append(entry["sampler"])
    for (ratio, kind), samplers in shared.items():
        yield f"regime: {kind} (alpha/epsilon = {ratio:.3g}): {', '.join(samplers)}"
