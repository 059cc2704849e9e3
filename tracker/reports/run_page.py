"""Make the page of a run: which exhibits it has, in which order."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.advice.ten_lines import ten_lines
from tracker.advice.theory_of_run import theory_of
from tracker.baseline_names import FROZEN, ORACLE, explain_baselines
from tracker.formatting import DASH, average, counted, number, percent, plus_minus, step_size, whole
from tracker.metrics.table import in_order_of_reading
from tracker.reports import sampler_vs_sampler
from tracker.reports.exhibit import Exhibit, Item, Omitted, Section, Shown, Table, Toggle
from tracker.reports.exhibits import (
    best_step,
    densities,
    detections,
    diagnostics,
    dwells,
    error_over_time,
    escape_times,
    forecasts,
    known_share,
    landscape,
    mode_belief,
    one_trial,
    provenance,
    reconstruction,
    right_answers,
    running_mean,
    skew_path,
    state_paths,
    switches,
    time_in_target,
    world,
)
from tracker.reports.figure_style import COLOURS
from tracker.reports.html_page import render, write, write_each
from tracker.reports.judged_by import closed_gap, mean_of
from tracker.reports.median_waits import median_wait
from tracker.reports.own_best_step import own_steps, with_own_steps
from tracker.reports.run_view import View
from tracker.reports.step_notes import UNKNOWN, evaluations, over_limit, with_steps
from tracker.reports.trial_player import player_of
from tracker.reports.verdict_box import verdict, what_was_found, which_sampler
from tracker.reports.what_was_asked import head_of_page

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import ModuleType

    from tracker.metrics.table import Metric
    from tracker.reports.exhibits.diagnostics import Health
    from tracker.reports.figure_files import Format
    from tracker.runs import Run

# The order of the page. A part answers one question of the box on top.
PARTS = (
    ("What was asked?", (world,)),
    (
        "Did it track?",
        (landscape, one_trial, mode_belief, forecasts, error_over_time, running_mean, switches, time_in_target),
    ),
    ("Which sampler?", (sampler_vs_sampler, skew_path)),
    ("What could be known?", (known_share,)),
    ("Does it agree with theory?", (densities, reconstruction, dwells, best_step)),
)


def report(run: Run) -> str:
    """Return the page of a run."""
    view = View(run)
    health = diagnostics.health(view)
    notes = tuple(f"{note[:1].upper()}{note[1:]}." for note in run.summary.get("notes", ()))
    parts = [Section("", notes, (overview(view),)), *sections(view, health), provenance.section(view)]
    question = head_of_page(view.scenario, run.summary.get("claims", ()))
    return render(
        view.scenario.name,
        subtitle(view),
        parts,
        with_own_steps(verdict(view, health), view),
        question,
        toggles(view),
        player_of(view),
    )


def toggles(view: View) -> list[Toggle]:
    """Return the samplers that a reader can dim."""
    return [Toggle(name, COLOURS.index(view.looks[name].color)) for name in view.samplers]


def sections(view: View, health: dict[str, Health]) -> list[Section]:
    """Return the exhibits in their order."""
    drawn = {heading: [part.exhibit(view) for part in _in_order(view, parts)] for heading, parts in PARTS}
    drawn["Did it track?"][:0] = right_answers.exhibits(view)
    drawn["Which sampler?"] += state_paths.exhibits(view)
    drawn["Can I trust it?"] = [diagnostics.exhibit(view, health)]
    own = own_steps(view)
    noticed = detections.shown(view)
    beside: dict[str, tuple[Item, ...]] = {
        "Did it track?": (noticed,) if noticed is not None else (),
        "Which sampler?": (own,) if own is not None else (),
        "What could be known?": (advice_table(view),),
        "Does it agree with theory?": (waits,) if (waits := escape_times.shown(view)) is not None else (),
    }
    return [
        Section(_asked(view, heading), (), (*(with_steps(item, view) for item in items), *beside.get(heading, ())))
        for heading, items in drawn.items()
    ]


def _in_order(view: View, parts: Sequence[ModuleType]) -> list[ModuleType]:
    """The exhibits of a part: where a law is asked for, how soon its mean settles comes first."""
    return sorted(parts, key=lambda part: view.asks_for_law and part is not running_mean)


def _asked(view: View, heading: str) -> str:
    """The heading of a part: where nothing switches, that of the verdict."""
    return what_was_found(view).question if heading == "Did it track?" and view.asks_for_law else heading


def advice_table(view: View) -> Shown:
    """Return what ``tracker advise`` says, as a table."""
    caption = "What tracker advise says of this scenario. Each answer is exact, asymptotic, measured by this run, or not known."
    lines = ten_lines(view.theory["advice"])
    told = [(question, answer) for question, answer in lines if answer != UNKNOWN]
    if rest := [question for question, answer in lines if answer == UNKNOWN]:
        told.append(("Not known here", " ".join(rest)))
    return Shown(caption, Table(("question", "answer"), tuple(told)))


def exhibits(run: Run) -> list[Exhibit | Omitted]:
    """Return all exhibits of a run, in the order of the page."""
    view = View(run)
    parts = sections(view, diagnostics.health(view))
    return [item for part in parts for item in part.items if isinstance(item, (Exhibit, Omitted))]


def write_run_page(run: Run, path: Path) -> None:
    """Write the page of a run; what theory says of it is solved before, if it was not kept."""
    theory_of(run)
    write(path, lambda: report(run))


def write_figures(run: Run, folder: Path, kind: Format) -> list[Path]:
    """Write each figure to a file of its own; return their names."""
    return write_each(exhibits(run), folder, kind)


def subtitle(view: View) -> str:
    """Return what was run."""
    about = view.scenario
    modes = counted(len(about.modes), "mode")
    return f"{counted(view.trials, 'trial')} × {whole(about.steps)} steps, {modes}, N = {about.dimension}, seed {about.seed}"


def overview(view: View) -> Shown:
    """Return the table on top: the score of the verdict first, a column for each metric that a page shows, the best row first."""
    first, *others = [one for one in in_order_of_reading(view.measured) if view.switches or one.kind != "time"]
    columns = ["sampler", *_score_heads(view, first), *(head for metric in others for head in _heads(metric))]
    rows = []
    for name in _ranked(view):
        row, step = view.summary[name], view.epsilons.get(name)
        cells = [*_score_cells(view, first, name), *(cell for metric in others for cell in _cells(metric, row))]
        limit = over_limit(view.steps_over_limits.get(name)) if step is not None else None
        rows.append(
            (
                name,
                *cells,
                step_size(step, view.effective_steps[name]) if step is not None else None,
                limit,
                evaluations(row["evaluations"]),
                whole(row["diverged"]),
            )
        )
    columns += ["ε", "ε / its limit", "a step evaluates", "diverged"]
    table = Table(tuple(columns), tuple(rows), _best_row(view), _baselines(view))
    return Shown(_about_the_columns(view) + explain_baselines(view.names), table)


def _ranked(view: View) -> list[str]:
    """The samplers from the best to the worst by the score, then the baselines."""
    sign = 1.0 if view.score.smaller_is_better else -1.0
    means = {name: sign * mean_of(view, name) for name in view.samplers}
    order = sorted(view.samplers, key=lambda name: (np.isnan(means[name]), means[name]))
    return [*order, *(name for name in view.names if name not in view.samplers)]


def _best_row(view: View) -> int | None:
    """The row of the sampler that the verdict names, if it is told from all others."""
    answer = which_sampler(view)
    return _ranked(view).index(answer.mark) if answer.mark in view.samplers and answer.tone == "good" else None


def _baselines(view: View) -> int:
    return len(view.names) - len(view.samplers)


def _score_heads(view: View, first: Metric) -> tuple[str, ...]:
    if view.asks_for_law and view.law is not None:
        return ("W1 to the law", "error of the mean", "draws per 1,000 gradients", *_heads(first))
    return (*_heads(first), "gap closed") if _has_gap(view) else _heads(first)


def _has_gap(view: View) -> bool:
    return (bool(view.switches) or view.scenario.drift is not None) and FROZEN in view.names and ORACLE in view.names


def _score_cells(view: View, first: Metric, name: str) -> tuple[str, ...]:
    own = tuple(_cells(first, view.summary[name]))
    if not view.asks_for_law or view.law is None:
        return (*own, percent(closed_gap(view, name).estimate)) if _has_gap(view) else own
    found, n = view.law.distances.get(name), view.index(name)
    if found is None:
        return (DASH, DASH, DASH, *own)
    gradients = view.evaluations[n] * view.scenario.record_every * len(view.recorded) * view.lasting(name)
    draws = number(1000.0 * found.draws / gradients, 2) if gradients > 0 else DASH
    return (number(found.w1), plus_minus(*view.law.mean_error(n)), draws, *own)


def _heads(metric: Metric) -> tuple[str, ...]:
    if "page" not in metric.shown:
        return ()
    return ("already there", "the others: median wait") if metric.kind == "time" else (metric.head,)


def _cells(metric: Metric, row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what a summary says of a metric: of a time the share of switches without a wait, and the median of the others."""
    entry = row.get(metric.key) or {}
    if "page" not in metric.shown:
        return ()
    if metric.kind == "time":
        return percent(entry.get("already")), median_wait(entry)
    if (
        metric.unit == "share" and metric.leads and entry.get("stderr")
    ):  # what samplers are ranked by is told to its error
        return (f"{plus_minus(100.0 * entry['mean'], 100.0 * entry['stderr'])} %",)
    return (percent(entry.get("mean")) if metric.unit == "share" else average(entry) if entry else DASH,)


def _about_the_columns(view: View) -> str:
    first = "the best sampler first"
    if view.law is not None and not view.law.one_law:  # each has a law of its own: the order is no ranking
        first = f"in the order of the {view.score.title}"
    text = f"Averages over time and trials, ± standard errors over trials, {first}."
    if view.switches and view.has_targets:
        text += (
            " Already there: the share of switches at which it stood inside the new target, so that there was nothing to wait for. "
            "Median wait: steps from the other switches to the first one inside the target."
        )
    text += " The limit of a step ε is the largest that is mean-square stable in each mode alone."
    chain = view.scenario.chain
    if chain is not None and view.run.summary["chain"]["dwell"]:
        visits = [dwell["expected"] for dwell in view.run.summary["chain"]["dwell"] if dwell["expected"]]
        if visits:
            mean = float(np.mean(visits))
            text += f" A mean visit to a mode lasts {whole(mean)} steps, {times_of(view, mean)}."
    return text


def times_of(view: View, steps: float) -> str:
    """Return how long so many steps are in time units, k epsilon; for several steps from the least to the largest."""
    ends = sorted({steps * epsilon for epsilon in (min(view.epsilons.values()), max(view.epsilons.values()))})
    return f"{' to '.join(number(end) for end in ends)} time units"
