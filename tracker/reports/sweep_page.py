"""Make the page of a sweep: the verdict, the best of each world, the points, and a picture for each metric."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tracker.baseline_names import BASELINES, explain_baselines
from tracker.formatting import DASH, average, counted, interval, number, sentence, whole
from tracker.metrics.table import METRICS
from tracker.reports.best_of_sweep import COST, TRACKING, contests, rows_of
from tracker.reports.exhibit import Cell, Exhibit, Omitted, Section, Shown, Table
from tracker.reports.exhibits.provenance import repeated_by
from tracker.reports.html_page import render, write, write_each
from tracker.reports.step_notes import UNKNOWN
from tracker.reports.sweep_axes import written
from tracker.reports.sweep_figures import sweep_exhibit
from tracker.reports.sweep_theory import METRIC, exact_errors, with_theory
from tracker.reports.sweep_verdict import sweep_verdict
from tracker.reports.sweep_words import claims_about
from tracker.reports.tuning import best_steps, cells, columns, exact_best
from tracker.reports.what_was_asked import asked_at_points
from tracker.reports.who_wins import who_wins
from tracker.runs.file_names import SWEEP_MANIFEST

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tracker.reports.best_of_sweep import Contest
    from tracker.reports.figure_files import Format
    from tracker.reports.tuning import Tuned
    from tracker.runs.sweep_result import Sweep

MOST_ROWS = 200  # of a table; the rest is in sweep.nc


def sweep_report(sweep: Sweep) -> str:
    """Return the page of a sweep."""
    found = contests(sweep)
    tuned = best_steps(sweep)
    tables = (
        *((best_table(found),) if any(one.against for one in found) else ()),
        *((tuning_table(tuned),) if tuned else ()),
    )
    parts = [
        Section("", (), tables),
        Section("How does it depend on what is swept?", (), tuple(sweep_exhibits(sweep))),
        Section("All points", (), (points_table(sweep),)),
        provenance(sweep),
    ]
    judged = [one.summary.get("claims", ()) for one in sweep.outcomes if one.summary is not None]
    question = asked_at_points(sweep.scenario, judged)
    return render(sweep.scenario.name, subtitle(sweep), parts, sweep_verdict(sweep, found), question)


def write_sweep_page(sweep: Sweep, path: Path) -> None:
    """Write the page of a sweep."""
    write(path, lambda: sweep_report(sweep))


def write_sweep_figures(sweep: Sweep, folder: Path, kind: Format) -> list[Path]:
    """Write each figure to a file of its own; return their names."""
    return write_each(sweep_exhibits(sweep), folder, kind)


def subtitle(sweep: Sweep) -> str:
    """Return what was run."""
    about = sweep.scenario
    axes = " × ".join(f"{axis.address} ({counted(len(axis.values), 'value')})" for axis in sweep.axes)
    swept = {axis.address for axis in sweep.axes}
    facts = {
        "trials": counted(about.trials, "trial"),
        "steps": f"{whole(about.steps)} steps",
        "seed": f"seed {about.seed}",
    }
    line = f"{counted(len(sweep.outcomes), 'point')}: {axes}"
    return ", ".join([line, *(fact for key, fact in facts.items() if key not in swept)])


# --- tables


def best_table(found: Sequence[Contest]) -> Shown:
    """Return the best of each world beside the one that comes next."""
    rows: list[tuple[Cell, ...]] = []
    for contest in found[:MOST_ROWS]:
        error = {"mean": contest.best.error.mean, "stderr": _known(contest.best.error.stderr)}
        row: list[Cell] = [contest.where or "everywhere", contest.best.label, _level(contest), average(error)]
        if contest.nearest is None:
            rows.append((*row, DASH, DASH, DASH))
            continue
        other, pair = contest.nearest
        wins = f"{pair.wins} of {pair.trials}" if pair.trials else DASH
        rows.append((*row, other.label, f"{number(pair.estimate)} {interval(pair.low, pair.high)}", wins))
    judged = METRICS[found[0].best.metric].title
    columns = ("world", "best", "not told from", judged, "next", "ratio to the next", "smaller in")
    caption = (
        f"The smallest {judged} in each world (what is swept, without the samplers' own keys), beside the one that comes "
        "next. Ratios are over paired trials, with intervals widened for the number of comparisons: with 95 % the true best of every "
        "world is the one named or one that it is not told from. What diverged or failed is left out."
    )
    return Shown(caption + _cut(len(found)), Table(columns, tuple(rows)))


def tuning_table(rows: Sequence[Tuned]) -> Shown:
    """Return each sampler at its own best step, beside the same step for all and the same number of gradients."""
    shown = rows[:MOST_ROWS]
    exact = exact_best(shown)
    unknown = exact[0] if len(set(exact)) == 1 and exact[0].startswith(UNKNOWN) else ""  # said once, not in each row
    body = tuple((*cells(row), *(() if unknown else (one,))) for row, one in zip(shown, exact, strict=True))
    caption = (
        f"Each sampler at its own best step of those that were tried, by {METRICS[rows[0].best.metric].title}, against {rows[0].reference}: each at its "
        "own best step, at one step for both (of many the smallest and the largest ratio), and at a fixed number of gradient "
        "evaluations, where a sampler that takes m gradients a step meets a chain with m times the alpha. All intervals hold "
        "together with 95 %, as the steps were chosen by looking. "
    )
    told = "The last column is what theory knows: the exact best step for the mean square error."
    caption += f"The exact best step is {unknown}." if unknown else told
    return Shown(caption + _cut(len(rows)), Table((*columns(rows), *(() if unknown else ("exact best step",))), body))


def _level(contest: Contest) -> str:
    if len(contest.level) == 1:
        return contest.level[0].label
    return counted(len(contest.level), "other") if contest.level else "none"


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value


def points_table(sweep: Sweep) -> Shown:
    """Return all points with how they ended and their tracking errors."""
    names = [str(name) for name in sweep.dataset["sampler"].values]
    judged = COST if sweep.scenario.no_distance else TRACKING
    rows: list[tuple[Cell, ...]] = []
    every = (row for outcome in sweep.outcomes for row in rows_of(outcome))
    told = dict.fromkeys((row["name"], key) for row in every for key in row.get("state", {}))
    for outcome in sweep.outcomes[:MOST_ROWS]:
        values = [written(axis)[n] for axis, n in zip(sweep.axes, outcome.point.place, strict=True)]
        errors = {row["name"]: average(row[judged]) for row in rows_of(outcome)}
        means = {
            (row["name"], key): average(mean) for row in rows_of(outcome) for key, mean in row.get("state", {}).items()
        }
        cells = (*(errors.get(name, DASH) for name in names), *(means.get(one, DASH) for one in told))
        rows.append((str(outcome.point.index), *values, outcome.state, *cells))
    states = (f"{key.replace('_', ' ')} of {name}" for name, key in told)
    columns = ("point", *(axis.address for axis in sweep.axes), "outcome", *names, *states)
    caption = f"{sentence(METRICS[judged].title)} at all points: averages over time and trials, ± standard errors over trials."
    return Shown(caption + explain_baselines(names) + _cut(len(sweep.outcomes)), Table(columns, tuple(rows)))


def _cut(count: int) -> str:
    return f" The first {MOST_ROWS} of {count} rows; sweep.nc holds all." if count > MOST_ROWS else ""


# --- pictures


def sweep_exhibits(sweep: Sweep) -> list[Exhibit | Omitted]:
    """Return who wins where, and a picture for each metric that people look at, or why there is none."""
    won = who_wins(sweep)
    return [*([won] if won is not None else []), *(_folded(sweep, item) for item in metric_exhibits(sweep))]


def metric_exhibits(sweep: Sweep) -> list[Exhibit | Omitted]:
    """Return a picture for each metric; optional ones only where measured."""
    shown = [metric for metric in METRICS.values() if metric.shown]
    measured = {metric.key for metric in shown if np.isfinite(sweep.dataset[metric.key]).any()}
    return [_exhibit(sweep, metric.key) for metric in shown if not metric.optional or metric.key in measured]


def _folded(sweep: Sweep, item: Exhibit | Omitted) -> Exhibit | Omitted:
    """Fold what says the same as another picture: neither what is judged, a wait or a share, nor in a claim or exact."""
    if isinstance(item, Omitted):
        return item
    metric = METRICS[item.key.replace("-", "_")]
    judged = metric.key == (COST if sweep.scenario.no_distance else TRACKING)
    plain = judged or metric.kind == "time" or metric.unit == "share" or claims_about(sweep, metric.key)
    return item if plain or (metric.key == METRIC and exact_errors(sweep)) else replace(item, folded=True)


def _exhibit(sweep: Sweep, metric: str) -> Exhibit | Omitted:
    if reason := _reason_against(sweep, metric):
        addresses = " and ".join(axis.address for axis in sweep.axes)
        question = f"How does the {METRICS[metric].label} depend on {addresses}?"
        return Omitted(metric.replace("_", "-"), question, reason)
    found = sweep_exhibit(sweep, metric)
    found = with_theory(found, sweep) if metric == METRIC else found
    table = Table(found.table.columns, found.table.rows[:MOST_ROWS])
    return replace(found, table=table, method=found.method + _cut(len(found.table.rows)))


def _reason_against(sweep: Sweep, metric: str) -> str:
    """Return why a metric has nothing to show; baselines alone are nothing."""
    data = sweep.dataset
    own = [str(name) for name in data["sampler"].values if name not in BASELINES]
    if own and np.isfinite(data[metric].sel(sampler=own)).any():
        return ""
    if not own or not np.isfinite(data[COST].sel(sampler=own)).any():
        return "no point has a result."
    if sweep.scenario.no_distance and {"distance", "target_radius"} & {*METRICS[metric].needs}:
        return f"{sweep.scenario.no_distance}."
    if "target_radius" in METRICS[metric].needs and not np.isfinite(data["inside_target"]).any():
        return "not every mode has a target."
    if METRICS[metric].kind == "time":
        return "at no point did half of the switches lead back into the target before the next one."
    return "no point has measured it."


# --- where it comes from


def provenance(sweep: Sweep) -> Section:
    """Return the scenario's text, its seed, the versions, the hash of all points and the command."""
    about = sweep.scenario
    rows = [
        ("scenario", about.name),
        ("seed", str(about.seed)),
        ("trials × steps", f"{whole(about.trials)} × {whole(about.steps)}"),
        ("points", str(len(sweep.outcomes))),
        ("sha256 of the scenario", about.sha256),
        ("sha256 of the points' hashes", result_hash(sweep)),
    ]
    return repeated_by("tracker sweep", about, rows, sweep.path / SWEEP_MANIFEST if sweep.path is not None else None)


def result_hash(sweep: Sweep) -> str:
    """Return one hash over those of all points, in their order; a point without a result counts as an empty line."""
    hashes = [str(outcome.summary.get("hash", "")) if outcome.summary is not None else "" for outcome in sweep.outcomes]
    return hashlib.sha256("\n".join(hashes).encode()).hexdigest()
