"""The paper's claims, judged by the numbers: holds, holds only when ..., does not hold.

A comparison counts as shown when the 95 % interval of the paired difference excludes 0 and Wilcoxon's p is below 0.01.
The words of a verdict follow from the numbers: a new measurement may change them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tracker.reports.exhibit import Answer
from tracker.reports.paper_figures import label
from tracker.reports.paper_numbers import average, compare, p_text
from tracker.reports.words import number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tracker.reports.paper_numbers import Comparison, Experiment, Numbers

PAPERS_TRIALS = 30  # of Example 1
TONES = {"holds": "good", "holds only when": "warn", "does not hold": "bad"}


class Claim(NamedTuple):
    """What the paper says; ``mark`` is the verdict; ``short`` ends its sentence; ``numbers`` are the evidence."""

    claim: str
    mark: str
    short: str
    numbers: str

    @property
    def answer(self) -> Answer:
        """The claim as a line of the box on top."""
        return Answer(self.claim, self.mark, self.short, TONES[self.mark])


def claims(numbers: Numbers) -> tuple[Claim, ...]:
    """Return the paper's claims in its order, each with its verdict."""
    experiments = numbers.experiments
    far, ten = experiments["far"], experiments["ten"]
    return (
        _ground_truth(numbers),
        _adaptive(experiments),
        _accelerated(experiments["many"]),
        _learns(far, experiments["ridge"]),
        _constant(far),
        _ten_order(ten),
        _ten_algorithm_1(ten),
        _ten_wandering(ten),
        _same_data(experiments["long"]),
    )


def _verdict(shown: Sequence[bool]) -> str:
    if all(shown):
        return "holds"
    return "holds only when" if any(shown) else "does not hold"


def against(experiment: Experiment, name: str, other: str, what: str = "area", trials: int | None = None) -> Comparison:
    """Compare two samplers of an experiment, trial by trial."""
    return compare(getattr(experiment[name], what), getattr(experiment[other], what), trials)


def _ground_truth(numbers: Numbers) -> Claim:
    parts = []
    for name, title in (("example_1", "Example 1"), ("example_2", "Example 2")):
        check = numbers.checks[name]
        z = np.abs((check.sampled - check.exact) / check.stderr).max()
        parts.append(
            f"{title}: at most {z:.1f} standard errors from the exact means, in {check.exact.size} coordinates"
        )
    return Claim(
        "Metropolis-Hastings gives the ground truth",
        "holds only when",
        "the two labellings of the mixture are connected, as they are with the data used here.",
        f"{'; '.join(parts)}. For most parameters drawn from the prior of Example 2 a barrier separates the labellings, which "
        "no local sampler crosses: a random walk is then a false truth. Everything below is measured against quadrature.",
    )


def _adaptive(experiments: Mapping[str, Experiment]) -> Claim:
    far, middle, coarse = (experiments[name] for name in ("far", "middle", "coarse"))
    names = ("algorithm-1", "algorithm-1-fast", "algorithm-2", "algorithm-3")

    def listed(experiment: Experiment, which: Sequence[str], what: str = "area") -> str:
        return "; ".join(f"{label(name)}: {against(experiment, name, 'accelerated', what)}" for name in which)

    mark = _verdict([against(one, name, "accelerated").better for one in (far, coarse) for name in names])
    return Claim(
        "Example 1: Algorithms 1, 2 and 3 converge faster than the accelerated algorithm",
        mark,
        "epsilon is 1e-4 and S moves fast enough; at epsilon = 1e-3 Algorithms 1 and 3 gain nothing, and Algorithm 2 gets "
        "the mean sooner and the law wrong.",
        f"Area under the error of the posterior mean, difference to accelerated, epsilon = 1e-4: {listed(far, names)}. In W1 at "
        f"the end: {listed(far, names, 'w1')}. With small steps of S: {listed(far, ('algorithm-1-slow', 'algorithm-2-slow'))}. "
        f"At epsilon = 3e-4: {listed(middle, names)}. At epsilon = 1e-3: {listed(coarse, names)}; in W1: "
        f"{listed(coarse, names, 'w1')}; second moment over the exact variance: accelerated "
        f"{average(coarse['accelerated'].spread)}, Algorithm 2 {average(coarse['algorithm-2'].spread)}.",
    )


def _accelerated(many: Experiment) -> Claim:
    all_of_them, first = (against(many, "accelerated", "classical", trials=n) for n in (None, PAPERS_TRIALS))
    distance = against(many, "accelerated", "classical", "w1")
    seen = "holds" if first.better else "holds only when"
    return Claim(
        "Example 1: the accelerated algorithm converges faster than classical Langevin",
        seen if all_of_them.better else "does not hold",
        f"there are enough trials to see it: {many.trials} are; with the paper's {PAPERS_TRIALS}, {p_text(first.p)}."
        if all_of_them.better and not first.better
        else f"with {many.trials} trials and with the first {PAPERS_TRIALS}.",
        f"With {many.trials} trials the area differs by {all_of_them} and W1 at the end by {distance}; with the first "
        f"{PAPERS_TRIALS}, as many as the paper had, the area by {first}. Second moment over the exact variance: classical "
        f"{average(many['classical'].spread)}, accelerated {average(many['accelerated'].spread)}.",
    )


def _learns(far: Experiment, ridge: Experiment) -> Claim:
    plain, flipped = far["algorithm-1"].skew_3000, far["ascent"].skew_3000
    assert plain is not None
    assert flipped is not None
    fast, up = far["algorithm-1-fast"].error["1000"], far["ascent-fast"].error["1000"]
    return Claim(
        "The algorithm optimises the choice of the skew-symmetric matrix",
        "holds only when",
        "there is a way in to learn from: on the way from (4, 4) it finds the right sign of s. Afterwards, going up the "
        "gradient is as good as going down, and from a start on the ridge it gains nothing.",
        f"Mean s at step 3,000: {average(plain)}; with the sign of its step flipped {average(flipped)}. Error at step 1,000 with "
        f"a step of 1e-3: {average(fast)} against {average(up)} ({compare(fast, up)}). W1 at the end, down against up: "
        f"{against(far, 'algorithm-1', 'ascent', 'w1')}. From the ridge, against accelerated: area "
        f"{against(ridge, 'algorithm-1', 'accelerated')}, W1 {against(ridge, 'algorithm-1', 'accelerated', 'w1')}; ten times "
        f"faster {against(ridge, 'algorithm-1-fast', 'accelerated')}, and so does the flipped sign, "
        f"{against(ridge, 'ascent-fast', 'accelerated')}: S has become large.",
    )


def _constant(far: Experiment) -> Claim:
    names = ("algorithm-1", "algorithm-1-fast", "algorithm-2", "algorithm-3")
    better = [against(far, name, "fixed-4", what).better for name in names for what in ("area", "w1")]
    parts = [f"{label(n)}: area {against(far, n, 'fixed-4')}, W1 {against(far, n, 'fixed-4', 'w1')}" for n in names]
    return Claim(
        "Example 1: adapting S is better than fixing it",
        _verdict(better),
        f"a constant s = 4 is at least as good as {'all' if not any(better) else 'most'} of them.",
        f"Constant s = 4: area {average(far['fixed-4'].area)}, W1 {average(far['fixed-4'].w1)}, second moment over the exact "
        f"variance {average(far['fixed-4'].spread)}. Differences to it: {'; '.join(parts)}.",
    )


def _ten_order(ten: Experiment) -> Claim:
    first, second = against(ten, "accelerated", "classical", "w1"), against(ten, "algorithm-2", "accelerated", "w1")
    third = against(ten, "algorithm-3", "accelerated", "w1")
    return Claim(
        "Example 2: Algorithm 2 converges faster than accelerated, which converges faster than classical",
        _verdict([first.better, second.better]),
        f"W1 after 1e6 steps: classical {average(ten['classical'].w1)}, accelerated {average(ten['accelerated'].w1)}, "
        f"Algorithm 2 {average(ten['algorithm-2'].w1)}.",
        f"In W1 after 1e6 steps, {ten.trials} trials: accelerated against classical {first}; Algorithm 2 against accelerated "
        f"{second}; Algorithm 3 against accelerated {third} ({len(ten['algorithm-3'].area)} trials).",
    )


def _ten_algorithm_1(ten: Experiment) -> Claim:
    area, distance = against(ten, "algorithm-1", "accelerated"), against(ten, "algorithm-1", "accelerated", "w1")
    wide, spread = ten["algorithm-1-wide"], {name: average(one.spread) for name, one in ten.samplers.items()}
    return Claim(
        "Example 2: Algorithm 1 converges faster than the accelerated algorithm",
        "holds only when" if area.better or distance.better else "does not hold",
        f"S is held within ±1; and its law is then too narrow by {1.0 - float(ten['algorithm-1'].spread.mean()):.0%} of the "
        "variance, unless S moves much more slowly than θ."
        if area.better or distance.better
        else "not with bounds of ±1, and with ±5 its derivative process explodes.",
        f"Finite in {ten.trials - ten['algorithm-1'].diverged} of {ten.trials} trials; area {area}; W1 {distance}. Second moment "
        f"over the exact variance: {spread['algorithm-1']}; classical {spread['classical']}, accelerated "
        f"{spread['accelerated']}; at a tenth of the step {spread['algorithm-1-slow']}; sign flipped {spread['ascent']}. With "
        f"bounds of ±5 the derivative process exploded and was reset {wide.resets} times in {len(wide.area)} trials, of which "
        f"{wide.diverged} were lost; W1 against accelerated {against(ten, 'algorithm-1-wide', 'accelerated', 'w1')}.",
    )


def _ten_wandering(ten: Experiment) -> Claim:
    same = against(ten, "algorithm-2", "wandering", "w1")
    fast = against(ten, "algorithm-2-fast", "wandering-fast", "w1")
    return Claim(
        "Example 2: the gain of Algorithm 2 is that it learns S",
        _verdict([same.better, fast.better]),
        "an S that wanders at random, as quickly, does as well. What helps is that S grows and keeps moving.",
        f"Algorithm 2 against wandering in W1: {same}; both ten times faster: {fast}. Wandering against accelerated: "
        f"{against(ten, 'wandering', 'accelerated', 'w1')}.",
    )


def _same_data(long: Experiment) -> Claim:
    parts = []
    for name in ("classical", "accelerated", "fixed-4", "algorithm-1", "algorithm-2", "algorithm-3"):
        time = float(np.mean(np.asarray(long[name].iact)[1]))
        parts.append(f"{label(name)} {number(time, 2)} steps, {number(time * long[name].gradients, 2)} gradients")
    return Claim(
        "The algorithms use the same data as classical Langevin",
        "holds only when",
        "steps are counted. In gradient evaluations Algorithm 2 pays double and Algorithm 3, with 41 a step, loses its gain.",
        f"Autocorrelation time of θ(2) in Example 1: {'; '.join(parts)}.",
    )
