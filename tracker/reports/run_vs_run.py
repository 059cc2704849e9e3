"""Compare two runs trial by trial, and refuse runs that cannot be compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.baseline_names import BASELINES, ORACLE
from tracker.formatting import counted, interval, listed, number, step_size, whole
from tracker.metrics.averages import FEWEST_TRIALS
from tracker.metrics.estimates import averages, paired_comparison, trials_alike
from tracker.metrics.paired import Comparison, Paired
from tracker.metrics.table import METRICS, metrics_of
from tracker.reports.exhibit import Exhibit, Section, Shown, Table
from tracker.reports.figure_style import figure, short
from tracker.reports.forest_plot import forest, forest_of_ratios, paired_row
from tracker.reports.html_page import render
from tracker.reports.run_view import View
from tracker.reports.step_notes import evaluations, over_limit, steps_of_both
from tracker.reports.what_differs import comparison_box

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from tracker.metrics.table import Metric
    from tracker.runs import Run


class NotPaired(ValueError):
    """The trials of two runs do not belong together; ``reasons`` says why."""

    def __init__(self, reasons: Sequence[str]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = tuple(reasons)


class Change(NamedTuple):
    """A quantity of a sampler in the second run against the first.

    first, second : means of each run over its own undiverged trials
    ratio, difference : over the trials that diverged in neither
    first_diverged, second_diverged : how many trials did
    """

    sampler: str
    quantity: str
    first: float
    second: float
    ratio: Paired
    difference: Paired
    first_diverged: int = 0
    second_diverged: int = 0


def reasons_against(first: Run, second: Run) -> list[str]:
    """Return why the trials of two runs cannot be paired; nothing if they can."""
    one, two = first.scenario, second.scenario
    found = [
        f"{key}: {getattr(one, key)} and {getattr(two, key)}"
        for key in ("seed", "steps", "burn_in", "dimension")
        if getattr(one, key) != getattr(two, key)
    ]
    if not np.array_equal(first.arrays["trial"], second.arrays["trial"]):
        found.append(f"trials: {len(first.arrays['trial'])} and {len(second.arrays['trial'])}, not the same ones")
    found += [
        f"{key}: not the same"
        for key in ("chain", "schedule", "interventions")
        if getattr(one, key) != getattr(two, key)
    ]
    if not found and not all(
        np.array_equal(first.arrays[key], second.arrays[key]) for key in ("switches", "jumps", "final_mode")
    ):
        found.append("the hidden modes took different paths")
    if not shared_samplers(first, second):
        found.append("samplers: no name in common")
    return found


def shared_samplers(first: Run, second: Run) -> list[str]:
    """Return the samplers that both runs have, in the order of the first, then the baselines."""
    names = [sampler.name for sampler in second.scenario.samplers]
    both = [sampler.name for sampler in first.scenario.samplers if sampler.name in names]
    beside = [name for name in first.scenario.baselines if name in second.scenario.baselines]
    return [*both, *beside] if both else []


def compare(first: Run, second: Run) -> list[Change]:
    """Return all changes; NotPaired if the trials do not belong together."""
    if reasons := reasons_against(first, second):
        raise NotPaired(reasons)
    one, two = View(first), View(second)
    metrics = [metric for metric in metrics_of(first.measured) if metric in metrics_of(second.measured)]
    means = {metric.key: [averages(metric, view.measured) for view in (one, two)] for metric in metrics}
    changes = []
    for name in shared_samplers(first, second):
        lost = [len(view.kept) - view.lasting(name) for view in (one, two)]
        for metric in metrics:
            before, after = (
                found[view.index(name)].mean for found, view in zip(means[metric.key], (one, two), strict=True)
            )
            if metric.optional and np.isnan(before) and np.isnan(after):  # of what raises no alarms there is no delay
                continue
            changes.append(Change(name, metric.key, before, after, *_pairs(metric, one, two, name), *lost))
    return changes


def _pairs(metric: Metric, one: View, two: View, name: str) -> Comparison:
    """Compare trial by trial; what is the same in every trial has ratio 1, zeros and baselines without times included."""
    before, after = one.contender(name), two.contender(name)
    found = paired_comparison(metric, after, before)
    if trials := trials_alike(metric, after, before):
        same = Paired(0.0, 0.0, 0.0, 0, trials) if metric.kind == "time" else found.difference
        return Comparison(Paired(1.0, 1.0, 1.0, 0, trials), same)
    return found


def as_rows(changes: Sequence[Change]) -> list[dict[str, Any]]:
    """Return the changes for JSON."""
    return [
        {**change._asdict(), "ratio": change.ratio._asdict(), "difference": change.difference._asdict()}
        for change in changes
    ]


def page(first: Run, second: Run, changes: Sequence[Change]) -> str:
    """Return the page of a comparison."""
    names = {id(run): run.path.name if run.path is not None else run.scenario.name for run in (first, second)}
    title = f"{names[id(second)]} against {names[id(first)]}"
    subtitle = f"{len(first.arrays['trial'])} paired trials × {first.scenario.steps} steps, seed {first.scenario.seed}"
    return render(
        title,
        subtitle,
        [
            Section("", (), (steps_table(first, second),)),
            Section("Quantity by quantity", (), (_exhibit(changes, View(first), View(second)),)),
        ],
        comparison_box(first, second, changes),
    )


def steps(first: Run, second: Run) -> list[dict[str, Any]]:
    """Return the step of each sampler of both runs, what it is of its stability limit, and what a step evaluates."""
    views = {"first": View(first), "second": View(second)}
    return [
        {
            "sampler": name,
            **{
                key: {
                    "epsilon": view.epsilons[name],
                    "effective_step": view.effective_steps[name],
                    "step_over_limit": view.steps_over_limits[name],
                    "evaluations": view.summary[name]["evaluations"],
                }
                for key, view in views.items()
            },
        }
        for name in shared_samplers(first, second)
        if name not in BASELINES
    ]


def steps_line(first: Run, second: Run) -> str:
    """Return in a sentence at which steps the samplers stand."""
    names = [name for name in shared_samplers(first, second) if name not in BASELINES]
    return f"At these steps: {steps_of_both(View(first), View(second), names)}."


def steps_table(first: Run, second: Run) -> Shown:
    """Return the steps as a table."""
    columns = (
        "sampler",
        *(f"{what}, {run}" for run in ("first", "second") for what in ("ε", "ε / its limit", "a step evaluates")),
    )
    rows = tuple(
        (
            row["sampler"],
            *(
                cell
                for run in ("first", "second")
                for cell in (
                    step_size(row[run]["epsilon"], row[run]["effective_step"]), over_limit(row[run]["step_over_limit"]), evaluations(row[run]["evaluations"]),
                )
            ),
        )
        for row in steps(first, second)
    )  # fmt: skip
    return Shown("Errors belong to a sampler at its step: the steps of both runs.", Table(columns, rows))


def _exhibit(changes: Sequence[Change], view: View, second: View) -> Exhibit:
    known = {c.quantity for c in changes if np.isfinite(c.ratio.estimate)}
    drawn = [metric for metric in _shown(changes) if metric.key in known] or _shown(changes)[:1]
    moved = [
        c
        for c in changes
        if c.sampler not in BASELINES or not (c.ratio[:3] == (1.0, 1.0, 1.0) or np.isnan(c.ratio.estimate))
    ]
    names = [name for name in dict.fromkeys(c.sampler for c in moved) if name != ORACLE]
    with figure(height=0.45 + len(drawn) * (0.42 + 0.2 * len(names))) as fig:
        axes = fig.subplots(len(drawn), 2, squeeze=False)
        for (left, right), metric in zip(axes, drawn, strict=True):
            shown = [c for c in changes if c.quantity == metric.key and c.sampler in names]
            forest_of_ratios(left, [paired_row(c.sampler, c.ratio) for c in shown], view.looks, narrow=True)
            _differences(right, view, shown)
            left.set_title(_name(metric, view.horizon))
        axes[-1, 0].set_xlabel("ratio: second / first")
        axes[-1, 1].set_xlabel("difference: second − first")
    alt = (
        f"Paired ratios and differences of the second run to the first with 95 % intervals, for {len(names)} samplers and "
        f"{len(drawn)} quantities."
    )
    caption = f"{_caption(changes)} {steps_line(view.run, second.run)}"
    question = "What changed from the first run to the second?"
    return Exhibit("changes", question, caption, alt, fig, _table(changes), _method(changes))


def _name(metric: Metric, horizon: int) -> str:
    """A time is told by its mean, which counts up to the horizon: the median has another name."""
    return f"mean {metric.title}, up to {whole(horizon)} steps" if metric.kind == "time" else metric.title


def _shown(changes: Sequence[Change]) -> list[Metric]:
    """Return the metrics of the changes that people look at."""
    told = {change.quantity for change in changes}
    return [metric for key, metric in METRICS.items() if key in told and metric.shown]


def _differences(ax: Axes, view: View, changes: Sequence[Change]) -> None:
    rows = [paired_row(change.sampler, change.difference) for change in changes]
    reach = 1.1 * max((abs(end) for row in rows for end in row[1:4] if np.isfinite(end)), default=0.0) or 1.0
    forest(ax, rows, view.looks, 0.0, (-reach, reach), "better in")
    ax.set_xlim(-reach, reach)
    ax.set_yticks(range(len(rows)), [""] * len(rows))
    ax.locator_params(axis="x", nbins=4)
    ax.xaxis.set_major_formatter(lambda x, _: ("−" if x < 0 else "") + short(abs(x)))


def _caption(changes: Sequence[Change]) -> str:
    first = _shown(changes)[0]
    errors = [c for c in changes if c.quantity == first.key and c.sampler not in BASELINES]
    better, worse = [c for c in errors if c.ratio.high < 1], [c for c in errors if c.ratio.low > 1]
    known = [c for c in errors if np.isfinite(c.ratio.low)]
    parts = [f"smaller for {listed([_in_numbers(c) for c in better])}"] if better else []
    parts += [f"larger for {listed([_in_numbers(c) for c in worse])}"] if worse else []
    level, unknown = len(known) - len(better) - len(worse), len(errors) - len(known)
    parts += [f"not told apart for {level} of {counted(len(errors), 'sampler')}"] if level else []
    parts += (
        [f"no interval for {unknown} of {counted(len(errors), 'sampler')}, fewer than {FEWEST_TRIALS} trials left"]
        if unknown
        else []
    )
    larger = [metric.title for metric in _shown(changes) if not metric.smaller_is_better]
    right = f"; right of it for {listed(larger)}" if larger else ""
    text = f"{first.title.capitalize()} of the second run over the first, same trials: {'; '.join(parts)}"
    return f"{text}. Left of the line the second run is better{right}."


def _method(changes: Sequence[Change]) -> str:
    times = [metric.title for metric in _shown(changes) if metric.kind == "time"]
    waits = f", those of {listed(times)} of restricted means of all waits" if times else ""
    return (
        f"Ratios are ratios of the means over paired trials{waits}; differences are those of the same means, in the quantity's "
        f"own units. To the right: in how many of the paired trials the second run is better."
    )


def _in_numbers(change: Change) -> str:
    times, by = change.ratio, change.difference
    return (
        f"{change.sampler} (ratio {number(times.estimate)} {interval(times.low, times.high)}, difference "
        f"{number(by.estimate)} {interval(by.low, by.high)})"
    )


def _table(changes: Sequence[Change]) -> Table:
    columns = (
        "sampler", "quantity", "first", "second", "ratio", "low", "high", "difference", "low ", "high ", "second run better in",
        "trials", "diverged in the first", "diverged in the second",
    )  # fmt: skip
    rows = tuple(
        (
            c.sampler, METRICS[c.quantity].label, c.first, c.second, c.ratio.estimate, c.ratio.low, c.ratio.high,
            c.difference.estimate, c.difference.low, c.difference.high, c.difference.wins, c.difference.trials,
            c.first_diverged, c.second_diverged,
        )
        for c in changes
    )  # fmt: skip
    return Table(columns, rows)
