"""The primary comparisons as a section of the page; what temperature has to do with it; and whether any S helps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import tracker
from studies.paper.figures import label
from studies.paper.numbers import Comparison, average, compare
from studies.paper.primary import BUDGET, CONDITIONS, CORRECTED, EXPLORATORY, GRID, LEVEL, PRIMARY, Primary
from tracker import limits
from tracker.formatting import number
from tracker.reports.exhibit import Section, Shown, Table

if TYPE_CHECKING:
    from studies.paper.numbers import Numbers

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"
TITLES = {"example_1": "Example 1", "example_2": "Example 2"}


def compared(numbers: Numbers, one: Primary, condition: str = "best") -> Comparison:
    """Return the difference of W1, trial by trial; by default under the primary condition."""
    w1 = numbers.primary[one.file].w1[condition]
    return compare(w1[one.left], w1[one.right])


def outcome(found: Comparison) -> str:
    """Judge a primary comparison at its level."""
    if found.p < LEVEL and found.high < 0.0:
        return "holds"
    return "the reverse holds" if found.p < LEVEL and found.low > 0.0 else "not told"


def primary_section(numbers: Numbers) -> Section:
    """Return the section of the comparisons that were fixed beforehand."""
    rows = tuple(
        (
            one.claim,
            TITLES[one.file],
            str(compared(numbers, one)),
            outcome(compared(numbers, one)),
            *(
                f"{label(one.left)} − {label(one.right)}: {compared(numbers, one, other)}"
                for other in ("steps", "cost")
            ),
        )
        for one in PRIMARY
    )
    columns = (
        "claim",
        "example",
        "primary: W1, own best step, equal cost",
        "outcome",
        CONDITIONS["steps"],
        CONDITIONS["cost"],
    )
    samplers: list[tuple[str | float | None, ...]] = []
    for file, run in numbers.primary.items():
        for name in run.w1["best"]:
            tried = ", ".join(number(one, 2) for one in run.scan[name])
            own = (average(run.w1[condition][name]) for condition in CONDITIONS)
            samplers.append(
                (f"{TITLES[file]}: {label(name)}", run.evaluations[name], tried, f"{run.chosen[name]:g}", *own)
            )
    heads = (
        "sampler",
        "evaluations a step",
        f"W1 at steps {', '.join(f'{one:g}' for one in GRID)}",
        "best step",
        *CONDITIONS.values(),
    )
    budgets = " and ".join(f"{budget:,} ({TITLES[file]})" for file, budget in BUDGET.items())
    text: tuple[str, ...] = (
        (
            "One comparison for each comparative claim was fixed in studies/paper/primary.py before it was run: W1 to the exact marginals after equal cost, each sampler at the best of "
            f"{len(GRID)} steps, which trials of another seed had chosen at the same cost. A gradient, a cost and a Hessian of one observation count one each; the budget is {budgets}. "
            f"Its level is {LEVEL:g}. All other comparisons on this page are exploratory, {EXPLORATORY} different ones at most, and are called shown where p is below {LEVEL:g}/{EXPLORATORY} = {number(CORRECTED, 2)}."
        ),
    )
    edge = [
        f"{label(name)} ({TITLES[file]})"
        for file, run in numbers.primary.items()
        for name, step in run.chosen.items()
        if step in {GRID[0], GRID[-1]}
    ]
    if edge:
        told = f"The best step lies at the edge of the grid for {', '.join(edge)}: a larger grid might serve them better. So short a budget favours large steps."
        text = (*text, told)
    return Section(
        "The primary comparisons: own best step, equal cost",
        text,
        (Shown("Beside the primary comparison the paper's condition, and equal epsilon at equal cost, on the same trials.", Table(columns, rows)),
         Shown("The samplers, with the W1 of all steps that were tried.", Table(heads, tuple(samplers)))),
    )  # fmt: skip


def temperature_section(numbers: Numbers) -> Section:
    """Return how much of the distance of a point from the exact mean is temperature, which no sampler can avoid."""
    rows: list[tuple[str | float | None, ...]] = []
    for key, title in (
        ("far", "Example 1, epsilon = 1e-4"),
        ("coarse", "Example 1, epsilon = 1e-3"),
        ("ten", "Example 2"),
    ):
        for name, one in numbers.experiments[key].samplers.items():
            spread = one.spread[np.isfinite(one.spread)]
            error = spread.std(ddof=1) / np.sqrt(spread.size)
            rows.append((f"{title}: {label(name)}", 1.0, f"{spread.mean() - 1.0:+.3f} ± {error:.3f}".replace("-", "−")))
    exact = numbers.experiments["far"].deviation ** 2
    text = (
        (
            f"At beta = 1 the exact posterior of Example 1 has variance {number(exact[0])} and {number(exact[1])}: a perfect sampler's points are as far from the posterior mean as that. "
            "In units of this temperature share, 1 by definition, the rest is what discretisation, gradient noise, an S that depends on θ, and a start far away add or take. A claim about points "
            "would compare temperature with itself; the claims here are about running means and whole laws."
        ),
    )
    table = Table(("sampler", "temperature", "the rest"), tuple(rows))
    return Section(
        "How much is temperature?",
        text,
        (Shown("Second moment about the exact mean, second half, in units of the exact variance.", table),),
    )


def any_skew_section() -> Section:
    """Return what theory says of the claim that any skew matrix helps."""
    scenario = tracker.load(SCENARIOS / "skew_instability.toml")
    unit = scenario.replace(
        samplers=[
            {"name": "s", "kind": "accelerated", "epsilon": scenario.samplers[0].epsilon, "beta": 4.0, "skew": 1.0}
        ],
        claims=None,
    )
    best = limits.best_skew(unit, "s")
    found = limits.stability(unit, "s")
    rates = [float(limits.stability(unit.set("samplers.s.skew", s), "s").abscissa) for s in (2.0, 4.0)]
    size = abs(float(best.skew[1, 0]))
    text = (
        (
            "The paper says that any skew matrix helps. In one world that stands still no S changes the stationary law of the diffusion, none mixes slower, and a good one faster, until discretisation takes it back. In a world "
            f"that switches this fails: with curvatures diag(10, 1) and diag(1, 10) (scenarios/skew_instability.toml) second moments of the limit grow at the rate {number(rates[1])} at s = 4 (at s = 2: "
            f"{number(rates[0])}), at every step size while alpha/epsilon stays 10, though each mode is stable for every s; the sampler there is stable up to s = {number(found.largest_skew, 4)}, and the best S of all is "
            f"{'S = 0' if size < 1e-6 else f's = {number(size)}'}. Exact, by limits.stability and limits.best_skew. How far Algorithms 1-3 end from the best S is in learned_skew.md."
        ),
    )
    return Section("Does any S help?", text, ())
