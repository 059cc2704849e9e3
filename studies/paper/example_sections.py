"""The two examples of the paper as sections of its page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from studies.paper import figures
from studies.paper.figures import label
from studies.paper.numbers import against, average, compare
from tracker.reports.exhibit import Exhibit, Item, Section, Shown, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from studies.paper.numbers import Experiment, Numbers

PAPERS = ("classical", "accelerated", "algorithm-1", "algorithm-2", "algorithm-3")
CONTROLS_1 = ("accelerated", "fixed-2", "fixed-4", "algorithm-1-fast", "ascent", "ascent-fast", "wandering")
CONTROLS_2 = ("accelerated", "algorithm-1-slow", "ascent", "algorithm-2-fast", "wandering", "wandering-fast")
MIXING = (
    "classical",
    "accelerated",
    "fixed-2",
    "fixed-4",
    "algorithm-1",
    "ascent",
    "algorithm-2",
    "algorithm-3",
    "wandering",
)


def _curve_table(experiment: Experiment, names: Sequence[str]) -> Table:
    columns = (
        "sampler",
        "mean θ(1)",
        "mean θ(2)",
        "error at the end",
        "area",
        "W1 at the end",
        "second moment / exact",
    )
    rows = []
    for name in names:
        one = experiment[name]
        cells = (average(one.last_error), average(one.area), average(one.w1), average(one.spread))
        rows.append((label(name), len(one.area), float(one.mean[-1, 0]), float(one.mean[-1, 1]), *cells))
    return Table(
        columns, (("exact", None, float(experiment.truth[0]), float(experiment.truth[1]), 0.0, 0.0, 0.0, 1.0), *rows)
    )


def _ablation(far: Experiment) -> Shown:
    columns = ("sampler", "error at 1,000", "3,000", "10,000", "area", "area against accelerated", "W1", "W1 against accelerated",
               "s at 3,000", "size of S at the end", "second moment / exact")  # fmt: skip
    rows = []
    for name, one in far.samplers.items():
        own = name == "accelerated"
        rows.append(
            (
                label(name),
                *(float(one.error[step].mean()) for step in ("1000", "3000", "10000")),
                average(one.area),
                None if own else str(against(far, name, "accelerated")),
                average(one.w1),
                None if own else str(against(far, name, "accelerated", "w1")),
                None if one.skew_3000 is None else average(one.skew_3000),
                None if one.last_skew is None else float(one.last_skew.mean()),
                average(one.spread),
            )
        )
    return Shown(
        f"All samplers of Example 1 from (4, 4), {far.trials} trials, epsilon = 1e-4.", Table(columns, tuple(rows))
    )


def example_1(numbers: Numbers) -> Section:
    """Return the section about Example 1."""
    far, long, ridge = (numbers.experiments[name] for name in ("far", "long", "ridge"))
    names = [name for name in PAPERS if name in far.samplers]
    controls = [name for name in CONTROLS_1 if name in far.samplers]
    table = _curve_table(far, [*names, *controls[1:]])
    items: list[Item] = [
        Exhibit(
            "means-1",
            "How fast does the posterior mean come in? (the paper's second figure)",
            f"Averages over {far.trials} trials from (4, 4). Area of the error: classical {average(far['classical'].area)}, "
            f"accelerated {average(far['accelerated'].area)}, Algorithm 1 {average(far['algorithm-1'].area)}.",
            "Running posterior means of two coordinates against iterations, for five samplers and the exact value",
            figures.posterior_means(far, names),
            table,
        ),
        Exhibit(
            "error-1",
            "Is it the gradient of S that helps, or just a large S?",
            f"Error of the running posterior mean. A constant s = 4 (area {average(far['fixed-4'].area)}) does as well as any "
            f"adaptive sampler, and going up the gradient (area {average(far['ascent'].area)}) as well as going down "
            f"({average(far['algorithm-1'].area)}). Bands: one standard error.",
            "Error against iterations: the paper's samplers on the left, controls on the right",
            figures.curves(far, names, controls, "error_curve", "error"),
            table,
        ),
        Exhibit(
            "w1-1",
            "How fast does the whole law come in?",
            f"W1 to the exact marginals. At the end: classical {average(far['classical'].w1)}, accelerated "
            f"{average(far['accelerated'].w1)}, Algorithm 1 {average(far['algorithm-1'].w1)}, fixed s = 4 "
            f"{average(far['fixed-4'].w1)}, wandering {average(far['wandering'].w1)}.",
            "W1 against iterations: the paper's samplers on the left, controls on the right",
            figures.curves(far, names, controls, "w1_curve", "W1"),
            table,
        ),
        _ablation(far),
        _ridge(ridge),
        _iact(long, "mixing-1", 1, "Started on the ridge, where Algorithm 1 has little to learn from. A large S pays."),
    ]
    return Section("Example 1: two dimensions", (), tuple(items))


def _ridge(ridge: Experiment) -> Shown:
    rows = tuple(
        (label(name), average(one.area), str(against(ridge, name, "accelerated")), str(against(ridge, name, "accelerated", "w1")),
         average(one.spread))
        for name, one in ridge.samplers.items() if name != "accelerated"
    )  # fmt: skip
    columns = ("sampler", "area", "area against accelerated", "W1 against accelerated", "second moment / exact")
    return Shown(
        f"The same from the ridge (0.5, 0): nothing to learn on the way in. {ridge.trials} trials.",
        Table(columns, rows),
    )


def _iact(long: Experiment, key: str, coordinate: int, remark: str) -> Exhibit:
    """Show the integrated autocorrelation time of a coordinate (0 or 1), in steps and in gradients."""
    names = [name for name in MIXING if name in long.samplers]
    steps = [np.asarray(long[name].iact)[coordinate] for name in names]
    by_gradient = [values * long[name].gradients for name, values in zip(names, steps, strict=True)]
    rows = tuple(
        (label(name), average(own / 1000.0), average(dear / 1000.0), long[name].gradients, average(long[name].spread))
        for name, own, dear in zip(names, steps, by_gradient, strict=True)
    )
    columns = ("sampler", "thousand steps", "thousand gradients", "gradients a step", "second moment / exact")
    theta = f"θ({coordinate + 1})"
    return Exhibit(
        key,
        "What does an independent draw cost, in gradients?",
        f"Integrated autocorrelation time of {theta}, times the gradients of a step; {long.trials} chains of {long.steps:,} "
        f"steps. {remark}",
        "Gradient evaluations per independent draw for each sampler, on a logarithmic scale",
        figures.intervals(names, by_gradient, f"gradients per independent draw of {theta}", None, log=True),
        Table(columns, rows),
    )


def example_2(numbers: Numbers) -> Section:
    """Return the section about Example 2."""
    ten = numbers.experiments["ten"]
    names = [name for name in PAPERS if name in ten.samplers]
    controls = [name for name in CONTROLS_2 if name in ten.samplers]
    table = _curve_table(ten, [*names, *controls[1:], "algorithm-1-wide"])
    wander = against(ten, "algorithm-2", "wandering", "w1")
    moving = [name for name in ("algorithm-1", "algorithm-1-slow", "algorithm-2", "algorithm-2-fast", "wandering", "wandering-fast")
              if name in ten.samplers]  # fmt: skip
    spreads = [
        name for name in figures.LOOKS if name in ten.samplers and name != "algorithm-1-wide"
    ]  # of which S explodes
    items: list[Item] = [
        Exhibit(
            "means-2",
            "How fast does the posterior mean come in? (the paper's third figure, upper half)",
            f"Averages over {ten.trials} trials. Area of the error: classical {average(ten['classical'].area)}, accelerated "
            f"{average(ten['accelerated'].area)}, Algorithm 2 {average(ten['algorithm-2'].area)}.",
            "Running posterior means of two coordinates against iterations, for five samplers and the exact value",
            figures.posterior_means(ten, names),
            table,
        ),
        Exhibit(
            "w1-2",
            "How fast do the marginals come in? (the paper's third figure, lower half)",
            f"W1 after {ten.steps:,} steps: classical {average(ten['classical'].w1)}, accelerated {average(ten['accelerated'].w1)}, "
            f"Algorithm 2 {average(ten['algorithm-2'].w1)}; and an S that wanders at random {average(ten['wandering'].w1)} "
            f"(Algorithm 2 against it: {wander}).",
            "W1 against iterations: the paper's samplers on the left, controls on the right",
            figures.curves(ten, names, controls, "w1_curve", "W1"),
            table,
        ),
        Exhibit(
            "skew-2",
            "Does Algorithm 2 go anywhere that a random walk would not?",
            f"The size of S. That of the wandering control grows much as that of Algorithm 2 does, for which its step was chosen: "
            f"{average(np.asarray(ten['wandering'].last_skew))} and {average(np.asarray(ten['algorithm-2'].last_skew))} at the end.",
            "Root mean square of S against iterations for six samplers",
            figures.skew_sizes(ten, moving),
            _skew_table(ten, moving),
        ),
        Exhibit(
            "spread-2",
            "Is the law right, or only its mean?",
            f"Second moment about the exact mean over the exact variance, over the second half of {ten.steps:,} steps: 1 is "
            f"right. Algorithm 1 at skew_step = epsilon: {average(ten['algorithm-1'].spread)}; at a tenth of it "
            f"{average(ten['algorithm-1-slow'].spread)}. S then depends on θ, which a constant step does not correct for.",
            "Variance ratios with intervals for each sampler, and a line at 1",
            figures.intervals(spreads, [ten[name].spread for name in spreads], "second moment / exact", 1.0, log=False),
            Table(("sampler", "trials", "second moment / exact"),
                  tuple((label(name), len(ten[name].spread), average(ten[name].spread)) for name in spreads)),
        ),
        _iact(numbers.experiments["ten-long"], "mixing-2", 0, "In steps Algorithm 2 and the random walk gain the same. So few chains give classical only roughly."),
    ]  # fmt: skip
    return Section("Example 2: ten dimensions", (), tuple(items))


def _skew_table(ten: Experiment, names: Sequence[str]) -> Table:
    rows = []
    for name in names:
        one = ten[name]
        versus = str(compare(one.w1, ten["accelerated"].w1))
        rows.append((label(name), average(np.asarray(one.last_skew)), versus, float(one.resets), float(one.diverged)))
    return Table(
        ("sampler", "rms of S at the end", "W1 against accelerated", "resets of D", "trials lost"), tuple(rows)
    )
