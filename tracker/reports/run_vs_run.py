"""Compare two runs trial by trial, and refuse runs that cannot be compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker.formatting import counted, interval, listed, number, plain
from tracker.metrics.after_switch import compare_waits, pooled_mean
from tracker.metrics.averages import FEWEST, over_trials
from tracker.metrics.paired import Paired, difference, ratio_of_means
from tracker.names import BASELINES
from tracker.reports.exhibit import Exhibit, Section, Shown, Table
from tracker.reports.html_page import render
from tracker.reports.run_view import View
from tracker.reports.step_notes import evaluations, over_limit, steps_of_both
from tracker.reports.style import INK, MUTED, RULE, figure, short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from tracker.runs import Run

    Array = NDArray[np.float64]

QUANTITIES = ("tracking_error", "mean_square_error", "excess_cost", "recovery")
EQUAL = 1e-12


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
    if not shared(first, second):
        found.append("samplers: no name in common")
    return found


def shared(first: Run, second: Run) -> list[str]:
    """Return the samplers that both runs have, in the order of the first, then the baselines."""
    names = [sampler.name for sampler in second.scenario.samplers]
    both = [sampler.name for sampler in first.scenario.samplers if sampler.name in names]
    return [*both, *BASELINES] if both else []


def compare(first: Run, second: Run) -> list[Change]:
    """Return all changes; NotPaired if the trials do not belong together."""
    if reasons := reasons_against(first, second):
        raise NotPaired(reasons)
    one, two = View(first), View(second)
    return [_change(one, two, name, quantity) for name in shared(first, second) for quantity in QUANTITIES]


def _change(one: View, two: View, name: str, quantity: str) -> Change:
    lost = [int((~view.kept[:, view.index(name)]).sum()) for view in (one, two)]
    if quantity == "recovery":
        return Change(name, quantity, *_recovery(one, two, name), *lost)
    before, after = (np.asarray(getattr(view, quantity))[:, view.index(name)] for view in (one, two))
    both = np.isfinite(before) & np.isfinite(after)
    same = both.any() and bool((np.abs(after - before)[both] <= EQUAL * np.abs(before)[both]).all())
    # what is the same in every trial has ratio 1, zeros included
    times = Paired(1.0, 1.0, 1.0, 0, int(both.sum())) if same else ratio_of_means(after, before)
    first, second = over_trials(before).mean, over_trials(after).mean
    return Change(name, quantity, first, second, times, difference(after, before), *lost)


def _recovery(one: View, two: View, name: str) -> tuple[float, float, Paired, Paired]:
    """Compare the restricted means of all waits; runs that can be paired have the same chain, so the same horizon."""
    means = [pooled_mean(view.waits(name), view.wait_edges, view.horizon).mean for view in (one, two)]
    both = one.kept[:, one.index(name)] & two.kept[:, two.index(name)]
    counts = [view.arrays["waits"][both, view.index(name)] for view in (one, two)]
    if counts[0].any() and np.array_equal(
        *counts
    ):  # the same at every switch; so are the baselines, which have no times
        trials = int((counts[0].sum(axis=(1, 2, 3)) > 0).sum())
        return means[0], means[1], Paired(1.0, 1.0, 1.0, 0, trials), Paired(0.0, 0.0, 0.0, 0, trials)
    before, after = (view.waits(name, both) for view in (one, two))
    return means[0], means[1], *compare_waits(after, before, one.wait_edges, one.horizon)


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
        title, subtitle, [Section("", (), (steps_table(first, second), _exhibit(changes, View(first), View(second))))]
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
                    "step_over_limit": view.steps_over_limits[name],
                    "evaluations": view.summary[name]["evaluations"],
                }
                for key, view in views.items()
            },
        }
        for name in shared(first, second)
        if name not in BASELINES
    ]


def steps_line(first: Run, second: Run) -> str:
    """Return in a sentence at which steps the samplers stand."""
    names = [name for name in shared(first, second) if name not in BASELINES]
    one, two = ({name: View(run).epsilons[name] for name in names} for run in (first, second))
    return f"At these steps: {steps_of_both(one, two)}."


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
                    plain(row[run]["epsilon"]), over_limit(row[run]["step_over_limit"]), evaluations(row[run]["evaluations"]),
                )
            ),
        )
        for row in steps(first, second)
    )  # fmt: skip
    return Shown("Errors belong to a sampler at its step: the steps of both runs.", Table(columns, rows))


def _exhibit(changes: Sequence[Change], view: View, second: View) -> Exhibit:
    drawn = [q for q in QUANTITIES if any(c.quantity == q and np.isfinite(c.ratio.estimate) for c in changes)] or [
        "tracking_error"
    ]
    names = [name for name in dict.fromkeys(c.sampler for c in changes) if name != "oracle"]
    with figure(height=0.45 + len(drawn) * (0.42 + 0.2 * len(names))) as fig:
        axes = fig.subplots(len(drawn), 2, squeeze=False)
        for (left, right), quantity in zip(axes, drawn, strict=True):
            shown = [c for c in changes if c.quantity == quantity and c.sampler in names]
            _ratios(left, view, shown)
            _differences(right, view, shown)
            left.set_title(quantity.replace("_", " "))
        axes[-1, 0].set_xlabel("ratio: second / first")
        axes[-1, 1].set_xlabel("difference: second − first")
    alt = (
        f"Paired ratios and differences of the second run to the first with 95 % intervals, for {len(names)} samplers and "
        f"{len(drawn)} quantities."
    )
    caption = f"{_caption(changes)} {steps_line(view.run, second.run)}"
    return Exhibit("changes", "What changed from the first run to the second?", caption, alt, fig, _table(changes))


def _ratios(ax: Axes, view: View, changes: Sequence[Change]) -> None:
    ends = [
        end for c in changes for end in (c.ratio.low, c.ratio.high, c.ratio.estimate) if np.isfinite(end) and end > 0
    ]
    reach = min(50.0, 1.1 * max([1.1, *ends, *(1 / end for end in ends)]))
    pairs = [c.ratio if c.ratio.estimate > 0 else Paired(np.nan, np.nan, np.nan, 0, 0) for c in changes]
    ax.set_xscale("log")
    _forest(ax, view, changes, pairs, (1 / reach, 1.0, reach))
    ticks = [t for t in (0.02, 0.1, 0.2, 0.5, 0.8, 0.9, 1, 1.1, 1.25, 2, 5, 10, 50) if 1 / reach <= t <= reach]
    crowded = (0.8, 0.9, 1.1, 1.25) if reach >= 1.6 else (0.9, 1.1) if reach >= 1.3 else ()
    ticks = [t for t in ticks if t not in crowded]
    ax.set_xticks(ticks, [f"{t:g}" for t in ticks])
    ax.minorticks_off()
    ax.set_yticks(range(len(changes)), [change.sampler for change in changes])


def _differences(ax: Axes, view: View, changes: Sequence[Change]) -> None:
    pairs = [c.difference for c in changes]
    ends = [abs(end) for pair in pairs for end in pair[:3] if np.isfinite(end)]
    reach = 1.1 * max(ends, default=0.0) or 1.0
    _forest(ax, view, changes, pairs, (-reach, 0.0, reach))
    ax.set_yticks(range(len(changes)), [""] * len(changes))
    ax.locator_params(axis="x", nbins=4)
    ax.xaxis.set_major_formatter(lambda x, _: ("−" if x < 0 else "") + short(abs(x)))
    for row, pair in enumerate(pairs):
        wins = f"{pair.wins}/{pair.trials}"
        ax.text(1.02, row, wins, transform=ax.get_yaxis_transform(), va="center", fontsize=8.0, color=INK)
    ax.text(1.02, -0.85, "wins", transform=ax.get_yaxis_transform(), va="center", fontsize=8.0, color=MUTED)


def _forest(
    ax: Axes, view: View, changes: Sequence[Change], pairs: Sequence[Paired], span: tuple[float, float, float]
) -> None:
    """Draw an estimate with its interval in each row; ``span`` is the least, the neutral and the largest value shown."""
    least, neutral, most = span
    ax.axvline(neutral, color=MUTED, linewidth=1.0)
    for row, (change, pair) in enumerate(zip(changes, pairs, strict=True)):
        look = view.looks[change.sampler]
        if row % 2:
            ax.axhspan(row - 0.5, row + 0.5, color=RULE, alpha=0.25, linewidth=0)
        if np.isfinite(pair.estimate):
            if np.isfinite(pair.low):
                ax.plot([max(pair.low, least), min(pair.high, most)], [row, row], color=look.color, linewidth=2.0)
            ax.plot([np.clip(pair.estimate, least, most)], [row], look.marker, color=look.color)
    ax.set_xlim(least, most)
    ax.set_ylim(len(changes) - 0.5, -0.5)
    ax.grid(visible=False, axis="y")


def _caption(changes: Sequence[Change]) -> str:
    errors = [c for c in changes if c.quantity == "tracking_error" and c.sampler not in BASELINES]
    better, worse = [c for c in errors if c.ratio.high < 1], [c for c in errors if c.ratio.low > 1]
    known = [c for c in errors if np.isfinite(c.ratio.low)]
    parts = [f"smaller for {listed([_in_numbers(c) for c in better])}"] if better else []
    parts += [f"larger for {listed([_in_numbers(c) for c in worse])}"] if worse else []
    level, unknown = len(known) - len(better) - len(worse), len(errors) - len(known)
    parts += [f"not told apart for {level} of {counted(len(errors), 'sampler')}"] if level else []
    parts += (
        [f"no interval for {unknown} of {counted(len(errors), 'sampler')}, fewer than {FEWEST} trials left"]
        if unknown
        else []
    )
    return (
        f"Tracking error of the second run over the first, same trials: {'; '.join(parts)}. Ratios are ratios of the "
        f"means over paired trials, those of recovery of restricted means of all waits; differences are those of the same "
        f"means, in the quantity's own units. Left of the line the second run is better."
    )


def _in_numbers(change: Change) -> str:
    times, by = change.ratio, change.difference
    return (
        f"{change.sampler} (ratio {number(times.estimate)} {interval(times.low, times.high)}, difference "
        f"{number(by.estimate)} {interval(by.low, by.high)})"
    )


def _table(changes: Sequence[Change]) -> Table:
    columns = (
        "sampler", "quantity", "first", "second", "ratio", "low", "high", "difference", "low ", "high ", "wins of the second",
        "trials", "diverged in the first", "diverged in the second",
    )  # fmt: skip
    rows = tuple(
        (
            c.sampler, c.quantity.replace("_", " "), c.first, c.second, c.ratio.estimate, c.ratio.low, c.ratio.high,
            c.difference.estimate, c.difference.low, c.difference.high, c.difference.wins, c.difference.trials,
            c.first_diverged, c.second_diverged,
        )
        for c in changes
    )  # fmt: skip
    return Table(columns, rows)
