"""Exhibit: all samplers of a run against one of them, trial by trial."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tracker.baseline_names import BASELINES, FROZEN, ORACLE
from tracker.formatting import counted, listed, number, with_interval
from tracker.metrics.averages import CONFIDENCE, FEWEST_TRIALS, no_interval
from tracker.metrics.estimates import paired_comparison, trial_waits
from tracker.metrics.paired import ratio_of_means
from tracker.metrics.table import leading_metric, metrics_of
from tracker.reports.best_of_sweep import confidence_of_best
from tracker.reports.exhibit import Exhibit, Omitted, Table
from tracker.reports.figure_style import MODES, figure, shorten
from tracker.reports.forest_plot import forest_of_ratios, paired_row, reach_of
from tracker.reports.judged_by import MEAN_OF_THE_LAW
from tracker.reports.step_notes import choice_note, per_gradient, steps_of

if TYPE_CHECKING:
    from tracker.metrics.estimates import Contender
    from tracker.metrics.paired import Paired
    from tracker.metrics.table import Metric
    from tracker.reports.forest_plot import Row
    from tracker.reports.run_view import View

KEY, QUESTION = "comparison", "Which sampler is better, on the same trials?"


class Quantity(NamedTuple):
    """A metric of which less is better; a time may be counted in gradient evaluations, of a share the rest is taken.

    metric : None for the error of the mean of a law, by which a page without switches ranks
    """

    metric: Metric | None
    in_gradients: bool = False
    rest: bool = False

    @property
    def is_time(self) -> bool:
        """Whether it is a time."""
        return self.metric is not None and self.metric.kind == "time"

    @property
    def title(self) -> str:
        """With the unit of a time."""
        if self.metric is None:
            return MEAN_OF_THE_LAW
        if self.rest:
            return f"100 % − {self.metric.title}"
        unit = "gradient evaluations" if self.in_gradients else self.metric.unit
        return f"{self.metric.title}, in {unit}" if self.is_time else self.metric.title


def quantities(view: View) -> list[Quantity]:
    """Return what is compared in this run; times also in gradient evaluations, where samplers take different numbers a step."""
    leader = leading_metric(view.measured)
    found = [Quantity(leader, rest=True)] if leader.unit == "share" and not leader.smaller_is_better else []
    if view.score.title == MEAN_OF_THE_LAW:
        found = [Quantity(None)]
    for metric in metrics_of(view.measured):
        if not ("page" in metric.shown and metric.smaller_is_better):
            continue
        if metric.kind == "mean":
            found.append(Quantity(metric))
        elif any(trial_waits(metric, view.contender(name)).any() for name in view.samplers):
            several = len(set(view.evaluations[: len(view.samplers)])) > 1
            found += [Quantity(metric, in_gradients) for in_gradients in (False, True)[: 1 + several]]
    return found


def exhibit(view: View) -> Exhibit | Omitted:
    """Draw a forest plot of paired ratios to a reference."""
    if view.trials < 2:
        return Omitted(KEY, QUESTION, f"one trial: a paired interval needs at least {FEWEST_TRIALS}.")
    lost = [name for name in view.samplers if name not in view.alive]
    if not view.alive:
        return Omitted(KEY, QUESTION, "every trial of every sampler diverged.")
    reference = reference_of(view)
    others = [name for name in view.names if name != reference and name not in lost]
    if not [name for name in others if name != ORACLE]:
        return Omitted(KEY, QUESTION, "one sampler and no frozen baseline: there is nothing to compare it with.")
    compared = [(quantity, against(view, quantity, reference)) for quantity in quantities(view)]
    compared = [(quantity, found) for quantity, found in compared if _tells(view, quantity, found)]
    if not compared:
        return Omitted(KEY, QUESTION, "no quantity has a ratio in every trial.")
    drawn = [name for name in others if name != ORACLE]
    with figure(height=0.45 + len(compared) * (0.42 + 0.19 * len(drawn))) as fig:
        axes = np.atleast_1d(fig.subplots(len(compared), 1))
        plots = [
            _sorted([paired_row(name, found[name]) for name in drawn if name in found and found[name].trials])
            for _, found in compared
        ]
        own = [row for rows in plots for row in rows if row.name not in BASELINES]
        reach = reach_of(own, 1.5) if own else None  # one axis for all, and baselines do not stretch it
        for ax, (quantity, _), rows in zip(axes, compared, plots, strict=True):
            forest_of_ratios(ax, rows, view.looks, "wins", 1.5, reach)
            ax.axvspan(1e-9, 1.0, color=MODES[2], alpha=0.06, linewidth=0)  # the better side
            ax.set_title(quantity.title)
        axes[-1].set_xlabel(f"ratio to {shorten(view.names)[view.index(reference)]} (left of 1 is better)")
    caption, method = _caption(view, reference, others, compared), _method(view, compared)
    method += _about_gradients(view) if any(quantity.is_time for quantity, _ in compared) else ""
    law = view.scenario.chain
    if len(set(view.evaluations[: len(view.samplers)])) > 1:
        method += f" {per_gradient(_gradients(view), law.alpha if law is not None else None)}"
    caption += f" Not drawn, as all their trials diverged: {listed(lost)}." if lost else ""
    alt = f"Forest plot: ratios of {len(drawn)} samplers to {reference} with 95 % intervals, for {len(compared)} quantities."
    return Exhibit(KEY, QUESTION, caption, alt, fig, _table(reference, compared), method)


def _tells(view: View, quantity: Quantity, found: dict[str, Paired]) -> bool:
    """Whether there is a ratio to draw: waits of samplers that were all cut short have the ratio 1 of two bounds."""
    if quantity.is_time and all(view.summary[name]["recovery"]["censored"] == 1.0 for name in view.alive):
        return False
    return any(pair.estimate > 0 for pair in found.values())


def _sorted(rows: list[Row]) -> list[Row]:
    """The best first; baselines, and what has no ratio, last."""
    return sorted(rows, key=lambda row: (row.name in BASELINES, np.isnan(row.estimate), row.estimate))


def reference_of(view: View) -> str:
    """The first sampler of which a trial survived; standing still, where the run has it and one sampler only."""
    return view.alive[0] if view.alive and (len(view.samplers) > 1 or FROZEN not in view.names) else FROZEN


def against(view: View, quantity: Quantity, reference: str, confidence: float = CONFIDENCE) -> dict[str, Paired]:
    """Return the ratio of the mean of each other sampler to that of the reference."""
    if quantity.metric is None or quantity.rest:
        left = view.score.values if quantity.metric is None else 1.0 - view.values(quantity.metric.key)
        own = left[:, view.index(reference)]
        others = [name for name in view.names if name != reference and np.isfinite(left[:, view.index(name)]).any()]
        return {name: ratio_of_means(left[:, view.index(name)], own, confidence) for name in others}
    price = view.evaluations if quantity.in_gradients else np.ones(len(view.names))

    def contender(name: str) -> Contender:
        return view.contender(name, float(price[view.index(name)]))

    metric = quantity.metric
    return {
        name: paired_comparison(metric, contender(name), contender(reference), confidence).ratio
        for name in view.names
        if name != reference
    }


def _caption(view: View, reference: str, others: list[str], compared: list[tuple[Quantity, dict[str, Paired]]]) -> str:
    """Quote the best of each quantity, with an interval that allows for its having been chosen among all others."""
    sentences = []
    for quantity, found in compared:
        if quantity.in_gradients or not (quantity.is_time or quantity == compared[0][0]):
            continue  # one error and the times are enough for a caption
        own = [name for name in others if name in found and name not in BASELINES]
        real = {name: found[name] for name in own if found[name].estimate > 0}
        if not real or all(pair.low == pair.high == 1.0 for pair in real.values()):  # all waits were cut short
            continue
        best = min(real, key=lambda n: real[n].estimate)
        pair = against(view, quantity, reference, confidence_of_best([1 + len(real)]))[best]
        sentences.append(
            f"{quantity.title.split(',')[0]}: {best} has {_times(pair)} times that of {reference}, "
            f"{_how_sure(pair, choice_note(list(real)))}"
        )
    text = "; ".join(sentences) or "ratios of the trials' averages"
    if len(view.samplers) > 1:
        text = f"at these steps ({steps_of(view, view.alive)}): {text}"
    text = text[0].upper() + text[1:]
    return f"{text}."


def _method(view: View, compared: list[tuple[Quantity, dict[str, Paired]]]) -> str:
    times = any(quantity.is_time for quantity, _ in compared)
    kinds = "Ratios are ratios of the means over paired trials"
    kinds += ", those of times of restricted means of all waits" if times else ""
    oracle = "; the oracle, with no error, has no place on this axis" if ORACLE in view.names else ""
    return f"{kinds}{oracle}."


def _gradients(view: View) -> dict[str, int]:
    return {name: int(view.evaluations[view.index(name)]) for name in view.samplers}


def _about_gradients(view: View) -> str:
    """Say how a time in steps becomes one in gradient evaluations, and what these leave out."""
    if len(view.samplers) < 2:
        return ""
    first, *more = set(view.evaluations[: len(view.samplers)].astype(int).tolist())
    same = f" All take {counted(first, 'gradient')} a step: times compare alike per step and per gradient evaluation."
    others = [f"{name} also takes {text} a step" for name, text in view.other_evaluations.items()]
    left_out = f" Not counted as gradient evaluations: {listed(others)}." if others else ""
    return f"{'' if more else same}{left_out}"


def _how_sure(pair: Paired, choice: str) -> str:
    wins = f"smaller in {pair.wins:,} of {counted(pair.trials, 'trial')}"
    if not (np.isfinite(pair.low) and np.isfinite(pair.high)):
        return (
            f"{wins} (undecided: {no_interval(pair.trials) if pair.trials < FEWEST_TRIALS else 'no interval is known'})"
        )
    sure = "" if pair.high < 1 else " (undecided: the interval holds 1)" if pair.low <= 1 else " (worse)"
    ends = with_interval(*pair[:3], 1.0).partition(" ")[2]
    return f"95 % interval {ends}{choice}, {wins}{sure}"


def _times(pair: Paired) -> str:
    known = np.isfinite(pair.low) and np.isfinite(pair.high)
    return with_interval(*pair[:3], 1.0).partition(" ")[0] if known else number(pair.estimate)


def _table(reference: str, compared: list[tuple[Quantity, dict[str, Paired]]]) -> Table:
    rows = [(name, quantity.title, *pair) for quantity, found in compared for name, pair in found.items()]
    return Table(("sampler", "quantity", f"ratio to {reference}", "low", "high", "wins", "trials"), tuple(rows))
