"""Exhibit: the visits of the hidden chain against their law."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tracker import chain
from tracker.formatting import counted, interval, listed, number
from tracker.metrics.multiple_tests import Family, family
from tracker.reports.exhibit import Exhibit, Omitted, Table
from tracker.reports.figure_style import INK, MARKERS, figure, legend, mode_colours, steps_axis

if TYPE_CHECKING:
    from tracker.array_types import Array
    from tracker.chain import DwellCounts, DwellLaw, Estimate
    from tracker.reports.run_view import View


KEY, QUESTION = "dwell-times", "Did the hidden chain behave as its law says?"
SHORTEST_DRAWN = 0.02  # of the longest visit: what is shorter stands at 100 %
LEAST_LINEAR = 0.1  # half of the least share that is drawn: above it, the axis is linear
SIDES = 1.96  # standard errors of a share, for a band of 95 %
SUSPICIOUS_P_VALUE = 1e-3  # a p-value below it, corrected for the number of tests, is worth a warning


def visits_of(view: View) -> DwellCounts | None:
    """Return the counts of visits over all trials; None without a chain."""
    law = view.scenario.chain
    if law is None:
        return None
    return chain.counts_of(view.arrays, chain.exit_probability(law.Q, law.alpha))


def exhibit(view: View) -> Exhibit | Omitted:
    """Draw the survival of visits against their law, which is a straight line where a visit ends at every age alike."""
    from matplotlib.ticker import NullLocator

    law, counts = view.scenario.chain, visits_of(view)
    if law is None or counts is None:
        reason = "the modes follow a schedule." if view.scenario.schedule is not None else "one mode, and no chain."
        return Omitted(KEY, QUESTION, reason)
    if counts.completed.sum() == 0:
        return Omitted(KEY, QUESTION, "no visit ended in this run.")
    leaving = _leaving(view)
    estimate = chain.estimate(counts, law.alpha, leaving=leaving)
    colours, least = mode_colours(len(view.modes)), 0.5
    with figure(height=2.9) as fig:
        ax = fig.subplots()
        for x, mode in enumerate(view.mode_names):
            ages, alive = survival_of_dwells(counts, x, float(leaving[x]), law.law)
            counted_so = ages > SHORTEST_DRAWN * max(ages, default=0.0)
            ax.plot(ages[counted_so], alive[counted_so], MARKERS[x % len(MARKERS)], color=colours[x], label=mode)
            fine = np.linspace(1, max([*ages, 2]), 200)
            share, visits = chain.survival(fine, float(leaving[x]), law.law), max(1, int(counts.completed[x]))
            ax.plot(fine, share, color=colours[x], linewidth=1.1)
            band = SIDES * np.sqrt(share * (1.0 - share) / visits)
            ax.fill_between(
                fine, np.maximum(share - band, 1e-9), share + band, color=colours[x], alpha=0.15, linewidth=0
            )
            least = min(least, max(0.5 / visits, 0.5 * float(share[-1])))
        if least < LEAST_LINEAR:
            ax.set_yscale("log")
            ax.set_ylim(least, 1.3)
        else:  # no visit was seen for long: on a logarithmic axis all of it would stand at the top
            ax.set_ylim(0.0, 1.05)
        ax.yaxis.set_major_formatter(lambda share, _: f"{100 * share:g} %")
        ax.yaxis.set_minor_locator(NullLocator())
        steps_axis(ax)
        ax.locator_params(axis="x", nbins=6)
        ax.set_xlabel("length of a visit in steps")
        ax.set_title("share of visits that last longer", color=INK)
        legend(fig, ax)
    alt = f"Survival of visits to {len(view.modes)} modes against the {law.law.word} law."
    return Exhibit(KEY, QUESTION, _caption(view, counts, estimate, leaving), alt, fig, _table(view, counts, estimate))


def survival_of_dwells(
    counts: DwellCounts, x: int, leaving: float = 0.0, law: DwellLaw | None = None
) -> tuple[Array, Array]:
    """Return ages, and the share of visits to mode x that last longer, by the hazard in each bin of ages.

    Where the hazard depends on the age, that of the law is taken as many times as there were more ends than it expects; of
    fixed visits only whole ones are counted, and the share is a quotient of counts.
    """
    at_risk, exits = counts.at_risk[x].astype(float), counts.exits[x].astype(float)
    used = int(np.flatnonzero(at_risk)[-1]) if at_risk.any() else 0
    ages = np.asarray(counts.edges[1 : used + 1] - 1.0)
    if counts.expected is None:
        hazard = np.divide(exits, at_risk, out=np.zeros_like(exits), where=at_risk > 0)[:used]
        return ages, np.asarray(np.cumprod((1.0 - hazard) ** np.diff(counts.edges)[:used]))
    law = law or chain.DwellLaw()
    if law.fixed:
        return ages, np.asarray(1.0 - np.cumsum(exits)[:used] / exits.sum())
    expected = counts.expected[x, :used, 0] / chain.BILLIONTHS
    more = np.divide(exits[:used], expected, out=np.ones(used), where=expected > 0.0)
    decay = np.diff(np.log(chain.survival(np.append(0.0, ages), leaving, law)))
    return ages, np.exp(np.cumsum(more * decay))


class Tests(NamedTuple):
    """Two tests of each mode: is it left as often as alpha and Q say, and with the same chance at every age; p-values (X,)."""

    rate: Array
    age: Array

    @property
    def together(self) -> Family:
        """All tests that could be made."""
        return family([*self.rate.tolist(), *self.age.tolist()])


def tests_of(view: View, counts: DwellCounts) -> Tests:
    """Return the p-values of both tests in every mode."""
    return Tests(chain.rate_test(counts, _leaving(view)), np.asarray(chain.hazard_test(counts).p_value))


def suspicions(view: View, counts: DwellCounts) -> list[str]:
    """Return a clause for each mode and test that a chain with the given law would hardly fail, however many tests there are."""
    tests = tests_of(view, counts)
    together, found = tests.together, []
    for mode, rate, ages in zip(view.mode_names, tests.rate, tests.age, strict=True):
        if together.correct(float(rate)) < SUSPICIOUS_P_VALUE:
            found.append(f"{mode} is not left as often as alpha and Q say ({_worth(float(rate), together)})")
        if together.correct(float(ages)) < SUSPICIOUS_P_VALUE:
            word = view.scenario.chain.law.word if view.scenario.chain is not None else "geometric"
            found.append(f"the visits to {mode} do not look {word} ({_worth(float(ages), together)})")
    return found


def _worth(p_value: float, together: Family) -> str:
    return f"p = {number(together.correct(p_value), 2)}, corrected for {counted(together.tests, 'test')}"


def _leaving(view: View) -> Array:
    law = view.scenario.chain
    assert law is not None
    return np.asarray(chain.exit_probability(law.Q, law.alpha))


def _caption(view: View, counts: DwellCounts, estimate: Estimate, leaving: Array) -> str:
    parts = [
        f"{mode} {number(estimate.mean_dwell[x])} (law: {number(1 / leaving[x]) if leaving[x] > 0 else '∞'})"
        for x, mode in enumerate(view.mode_names)
    ]
    tests = tests_of(view, counts)
    test = listed(suspicions(view, counts))
    law = view.scenario.chain.law if view.scenario.chain is not None else chain.DwellLaw()
    total = counted(int(counts.completed.sum()), "completed visit")
    if law.fixed:
        return f"Mean visit in steps from {total}: {listed(parts)}; every visit lasts as long as its mean."
    if not test:
        chance = "the same at every age" if law.is_geometric else f"at every age that of the {law.word} law"
        same = f", and the chance to leave {chance}" if np.isfinite(tests.age).any() else ""
        worth = f"smallest p of {counted(tests.together.tests, 'test')}, times {tests.together.tests}"
        test = f"the mean is what the law says{same}, as far as the data tell ({worth}: {number(tests.together.corrected, 2)})"
    return f"Mean visit in steps from {total}, unfinished ones included: {listed(parts)}; {test}."


def _table(view: View, counts: DwellCounts, estimate: Estimate) -> Table:
    law = view.scenario.chain
    assert law is not None
    rows = []
    for i, mode in enumerate(view.mode_names):
        for j, other in enumerate(view.mode_names):
            if i != j:
                found = float(estimate.Q_hat[i, j])
                bounds = interval(float(estimate.low[i, j]), float(estimate.high[i, j]))
                rows.append((f"{mode} → {other}", law.Q[i][j], found, bounds, int(counts.jumps[i, j])))
    for i, mode in enumerate(view.mode_names):
        bounds = interval(float(estimate.exit_low[i]), float(estimate.exit_high[i]))
        rows.append((f"leave {mode}", -law.Q[i][i], -float(estimate.Q_hat[i, i]), bounds, int(counts.completed[i])))
    return Table(("entry of Q", "given", "estimated", "95 % interval", "jumps"), tuple(rows))
