"""Make the page of a run: which exhibits it has, in which order."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracker.baseline_names import explained
from tracker.formatting import DASH, average, counted, number, percent, plain
from tracker.metrics.table import metrics_of
from tracker.reports import sampler_vs_sampler
from tracker.reports.exhibit import Exhibit, Omitted, Section, Shown, Table
from tracker.reports.exhibits import (
    best_step,
    densities,
    diagnostics,
    dwells,
    error_over_time,
    one_trial,
    provenance,
    running_mean,
    skew_path,
    state_paths,
    switches,
    time_in_target,
)
from tracker.reports.html_page import render, write, write_each
from tracker.reports.own_best_step import own_steps
from tracker.reports.run_view import View
from tracker.reports.step_notes import evaluations, over_limit, with_steps
from tracker.reports.verdict_box import closed_gap, verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tracker.metrics.table import Metric
    from tracker.reports.exhibits.diagnostics import Health
    from tracker.reports.figure_files import Format
    from tracker.runs import Run

# The order of the page. A part answers one question of the box on top.
PARTS = (
    ("Did it track?", (one_trial, error_over_time, running_mean, switches, time_in_target)),
    ("Which sampler?", (sampler_vs_sampler,)),
    ("Does it agree with theory?", (densities, dwells, best_step)),
)


def report(run: Run) -> str:
    """Return the page of a run."""
    view = View(run)
    health = diagnostics.health(view)
    parts = [Section("", (), (overview(view),)), *sections(view, health), provenance.section(view)]
    return render(view.scenario.name, subtitle(view), parts, verdict(view, health))


def sections(view: View, health: dict[str, Health]) -> list[Section]:
    """Return the exhibits in their order."""
    drawn = {heading: [part.exhibit(view) for part in parts] for heading, parts in PARTS}
    drawn["Can I trust it?"] = [
        skew_path.exhibit(view),
        *state_paths.exhibits(view),
        diagnostics.exhibit(view, health),
    ]
    own = own_steps(view)
    beside = {"Which sampler?": (own,) if own is not None else ()}
    return [
        Section(heading, (), (*(with_steps(item, view) for item in items), *beside.get(heading, ())))
        for heading, items in drawn.items()
    ]


def exhibits(run: Run) -> list[Exhibit | Omitted]:
    """Return all exhibits of a run, in the order of the page."""
    view = View(run)
    parts = sections(view, diagnostics.health(view))
    return [item for part in parts for item in part.items if isinstance(item, (Exhibit, Omitted))]


def write_run_page(run: Run, path: Path) -> None:
    """Write the page of a run."""
    write(path, lambda: report(run))


def write_figures(run: Run, folder: Path, kind: Format) -> list[Path]:
    """Write each figure to a file of its own; return their names."""
    return write_each(exhibits(run), folder, kind)


def subtitle(view: View) -> str:
    """Return what is claimed and what was run, a line each."""
    about = view.scenario
    modes = counted(len(about.modes), "mode")
    line = f"{counted(view.trials, 'trial')} × {about.steps} steps, {modes}, N = {about.dimension}, seed {about.seed}"
    claim = f"Claim: {about.claim}" if about.claim else ""
    return "\n".join(filter(None, (claim, about.description, line)))


def overview(view: View) -> Shown:
    """Return the table on top: a column for each metric that a page shows, the gap closed beside the first."""
    first, *others = [metric for metric in metrics_of(view.measured) if "page" in metric.shown]
    rows = []
    for name in view.names:
        row, step = view.summary[name], view.epsilons.get(name)
        rows.append((
            name, plain(step) if step is not None else None,
            over_limit(view.steps_over_limits.get(name)) if step is not None else None,
            evaluations(row["evaluations"]), _cell(first, row), percent(closed_gap(view, name).estimate),
            *(_cell(metric, row) for metric in others), row["diverged"],
        ))  # fmt: skip
    heads = (first.head, "gap closed", *(metric.head for metric in others))
    columns = ("sampler", "ε", "ε / its limit", "a step evaluates", *heads, "diverged")
    caption = (
        "Averages over time and trials, ± standard errors over trials; recovery is the median number of steps from a switch that "
        "led out of the target to the target. The limit of a step ε is the largest that is mean-square stable in each mode alone."
    )
    return Shown(caption + explained(view.names), Table(columns, tuple(rows)))


def _cell(metric: Metric, row: Mapping[str, Any]) -> str:
    """Return what a summary says of a metric: a median for a time, per cent for a share."""
    entry = row.get(metric.key) or {}
    if metric.kind == "time":
        return number(entry.get("median"))
    return percent(entry.get("mean")) if metric.unit == "share" else average(entry) if entry else DASH
