"""Judge the paper's claims by the numbers: holds, holds only when ..., does not hold.

One comparison for each comparative claim is primary (studies/paper/primary.py). Another counts as shown when the 95 % interval of the paired
difference excludes 0 and Wilcoxon's p is below the corrected level.
Marks of comparisons follow from the numbers. Three marks (ground truth, learning, same data) and all sentences were written
after reading them: whoever measures anew must read them again; tests hold the committed numbers to what they say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from studies.paper.fairness import compared, outcome
from studies.paper.figures import label
from studies.paper.numbers import against, average, compare, p_text
from studies.paper.primary import PRIMARY
from tracker.formatting import number
from tracker.reports.exhibit import Answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from studies.paper.numbers import Comparison, Experiment, Numbers
    from studies.paper.primary import Primary

    Rows = tuple[tuple[str, str], ...]

PAPERS_TRIALS = 30  # of Example 1
ADAPTIVE = ("algorithm-1", "algorithm-1-fast", "algorithm-2", "algorithm-3")
WALKS = ("algorithm-2", "wandering", "algorithm-2-fast", "wandering-fast")
TONES = {"holds": "good", "holds only when": "warn", "not told": "plain", "does not hold": "bad"}


class Difference(NamedTuple):
    """What the first sampler has more than the second of a measure, trial by trial."""

    left: str
    right: str
    measure: str
    found: Comparison
    primary: bool = False

    @property
    def told(self) -> bool:
        """Whether it is shown, at the level of its kind of comparison."""
        return outcome(self.found) != "not told" if self.primary else self.found.better or self.found.worse

    @property
    def row(self) -> tuple[str, str]:
        """As a row of a table."""
        return f"{label(self.left)} − {label(self.right)}: {self.measure}", str(self.found)


class Claim(NamedTuple):
    """What the paper says; ``mark`` is the verdict; ``short`` ends its sentence.

    evidence : rows (what, number)
    differences : paired differences between samplers, which are drawn
    """

    claim: str
    mark: str
    short: str
    evidence: tuple[tuple[str, str], ...] = ()
    differences: tuple[Difference, ...] = ()

    @property
    def answer(self) -> Answer:
        """The claim as a line of the box on top."""
        return Answer(self.claim, self.mark, self.short, TONES[self.mark])


def claims(numbers: Numbers) -> tuple[Claim, ...]:
    """Return the paper's claims in its order, each with its verdict."""
    experiments = numbers.experiments
    far, ten = experiments["far"], experiments["ten"]
    comparative = (
        _adaptive(far, experiments["middle"], experiments["coarse"]),
        _accelerated(experiments["many"]),
        _learns(far, experiments["ridge"]),
        _constant(far),
        _ten_order(ten),
        _ten_algorithm_1(ten),
        _ten_wandering(ten),
    )
    judged = (_judged(claim, numbers, one) for claim, one in zip(comparative, PRIMARY, strict=True))
    return (_ground_truth(numbers), *judged, _same_data(experiments["long"]))


def _judged(claim: Claim, numbers: Numbers, one: Primary) -> Claim:
    """Return a claim with its primary comparison: it holds only if that holds as well."""
    found = compared(numbers, one)
    told = outcome(found)
    mark = claim.mark
    if (told == "holds" and mark != "holds") or (told != "holds" and mark == "holds"):
        mark = "holds only when"
    elif told == "the reverse holds" and mark == "not told":
        mark = "does not hold"
    words = {"holds": "so it is", "the reverse holds": "the reverse is so", "not told": "the trials do not tell"}[told]
    difference = f"{label(one.left)} − {label(one.right)}"
    short = f"{claim.short} At own best steps and equal cost (primary, W1): {words}, {difference} {found}."
    primary = Difference(one.left, one.right, "primary: W1, own best step, equal cost", found, primary=True)
    return claim._replace(mark=mark, short=short, differences=(primary, *claim.differences))


def _verdict(found: Sequence[Comparison]) -> str:
    """Judge exploratory comparisons of what should have the smaller number first; not shown is not refuted."""
    if all(one.better for one in found):
        return "holds"
    if any(one.better for one in found):
        return "holds only when"
    return "does not hold" if any(one.worse for one in found) else "not told"


def _differences(
    experiment: Experiment, names: Sequence[str], other: str, what: str, where: str = ""
) -> tuple[Difference, ...]:
    """Return the difference of each sampler to ``other``."""
    measure = f"{ {'area': 'area', 'w1': 'W1'}[what] }{where}"
    return tuple(Difference(name, other, measure, against(experiment, name, other, what)) for name in names)


def _widths(experiment: Experiment, names: Sequence[str], where: str = "") -> Rows:
    """Return a row for each sampler: the dispersion check beside a claim about a mean."""
    return tuple((f"{label(name)}: second moment / exact{where}", average(experiment[name].spread)) for name in names)


def _ground_truth(numbers: Numbers) -> Claim:
    rows = []
    for name, title in (("example_1", "Example 1"), ("example_2", "Example 2")):
        check = numbers.checks[name]
        z = np.abs((check.sampled - check.exact) / check.stderr).max()
        what = f"{title}: largest distance of {check.exact.size} means from quadrature, in standard errors"
        rows.append((what, f"{z:.2f} ({number(float(check.effective_size.min()), 2)} effective draws)"))
    return Claim(
        "Metropolis-Hastings gives the ground truth",
        "holds only when",
        "the two labellings of the mixture are connected, as they are with the data used here. In an earlier study 11 "
        "of 12 parameters drawn from the prior of Example 2 were separated by barriers that no local sampler crosses.",
        tuple(rows),
    )


def _adaptive(far: Experiment, middle: Experiment, coarse: Experiment) -> Claim:
    mark = _verdict([against(one, name, "accelerated") for one in (far, coarse) for name in ADAPTIVE])
    at = {"far": " (epsilon = 1e-4)", "middle": " (3e-4)", "coarse": " (1e-3)"}
    return Claim(
        "Example 1: Algorithms 1, 2 and 3 converge faster than the accelerated algorithm",
        mark,
        "epsilon is 1e-4 and S moves fast enough. At epsilon = 1e-3 Algorithms 1 and 3 gain nothing, and Algorithm 2 has the "
        "better mean and the worse law.",
        (
            *_widths(far, ("accelerated", *ADAPTIVE), at["far"]),
            *_widths(coarse, ("accelerated", *ADAPTIVE), at["coarse"]),
        ),
        (
            *_differences(far, (*ADAPTIVE, "algorithm-1-slow", "algorithm-2-slow"), "accelerated", "area", at["far"]),
            *_differences(far, ADAPTIVE, "accelerated", "w1", at["far"]),
            *_differences(middle, ADAPTIVE, "accelerated", "area", at["middle"]),
            *_differences(coarse, ADAPTIVE, "accelerated", "area", at["coarse"]),
            *_differences(coarse, ADAPTIVE, "accelerated", "w1", at["coarse"]),
        ),
    )


def _accelerated(many: Experiment) -> Claim:
    all_of_them, first = (against(many, "accelerated", "classical", trials=n) for n in (None, PAPERS_TRIALS))
    seen = "holds" if first.better else "holds only when"
    return Claim(
        "Example 1: the accelerated algorithm converges faster than classical Langevin",
        seen if all_of_them.better else "does not hold",
        f"there are enough trials to see it: {many.trials} are; with the paper's {PAPERS_TRIALS}, {p_text(first.p)}."
        if all_of_them.better and not first.better
        else f"with {many.trials} trials and with the first {PAPERS_TRIALS}.",
        (*_widths(many, ("classical", "accelerated")),),
        (
            Difference("accelerated", "classical", f"area, {many.trials} trials", all_of_them),
            *_differences(many, ("accelerated",), "classical", "w1", f", {many.trials} trials"),
            Difference("accelerated", "classical", f"area, first {PAPERS_TRIALS} trials", first),
        ),
    )


def _learns(far: Experiment, ridge: Experiment) -> Claim:
    plain, flipped = np.asarray(far["algorithm-1"].skew_3000), np.asarray(far["ascent"].skew_3000)
    fast, up = far["algorithm-1-fast"].error["1000"], far["ascent-fast"].error["1000"]
    from_ridge = ("algorithm-1", "ascent", "algorithm-1-fast", "ascent-fast")
    return Claim(
        "The algorithm optimises the choice of the skew-symmetric matrix",
        "holds only when",
        "there is a way in to learn from: on the way from (4, 4) it finds the right sign of s. Afterwards going up the gradient "
        "is as good as going down, and from a start on the ridge it gains nothing (ten times faster it does, and the flipped sign "
        "no less).",
        (
            ("Algorithm 1: mean s at step 3,000", average(plain)),
            ("Algorithm 1, sign flipped: mean s at step 3,000", average(flipped)),
            ("Algorithm 1, step × 10: error at step 1,000", average(fast)),
            ("sign flipped, step × 10: error at step 1,000", average(up)),
            *_widths(ridge, from_ridge, ", from the ridge"),
        ),
        (
            Difference("algorithm-1-fast", "ascent-fast", "error at step 1,000", compare(fast, up)),
            *_differences(far, ("algorithm-1",), "ascent", "w1", " at the end"),
            *_differences(far, ("algorithm-1-fast",), "ascent-fast", "w1", " at the end"),
            *_differences(ridge, from_ridge, "accelerated", "area", ", from the ridge"),
            *_differences(ridge, from_ridge, "accelerated", "w1", ", from the ridge"),
        ),
    )


def _constant(far: Experiment) -> Claim:
    found = [against(far, name, "fixed-4", what) for name in ADAPTIVE for what in ("area", "w1")]
    return Claim(
        "Example 1: adapting S is better than fixing it",
        _verdict(found),
        f"a constant s = 4 is at least as good as {'all' if not any(one.better for one in found) else 'most'} of them.",
        (
            ("fixed s = 4: area", average(far["fixed-4"].area)),
            ("fixed s = 4: W1", average(far["fixed-4"].w1)),
            *_widths(far, ("fixed-4",)),
        ),
        (
            *_differences(far, ADAPTIVE, "fixed-4", "area"),
            *_differences(far, ADAPTIVE, "fixed-4", "w1"),
        ),
    )


def _ten_order(ten: Experiment) -> Claim:
    first, second = against(ten, "accelerated", "classical", "w1"), against(ten, "algorithm-2", "accelerated", "w1")
    return Claim(
        "Example 2: Algorithm 2 converges faster than accelerated, which converges faster than classical",
        _verdict([first, second]),
        f"W1 after 1e6 steps: classical {average(ten['classical'].w1)}, accelerated {average(ten['accelerated'].w1)}, "
        f"Algorithm 2 {average(ten['algorithm-2'].w1)}.",
        (*_widths(ten, ("classical", "accelerated", "algorithm-2", "algorithm-3")),),
        (
            *_differences(ten, ("accelerated",), "classical", "w1"),
            *_differences(ten, ("algorithm-2",), "accelerated", "w1"),
            *_differences(ten, ("accelerated",), "classical", "area"),
            *_differences(ten, ("algorithm-2",), "accelerated", "area"),
            *_differences(ten, ("algorithm-3",), "accelerated", "w1", f", {len(ten['algorithm-3'].w1)} trials"),
        ),
    )


def _ten_algorithm_1(ten: Experiment) -> Claim:
    area, distance = against(ten, "algorithm-1", "accelerated"), against(ten, "algorithm-1", "accelerated", "w1")
    wide, names = ten["algorithm-1-wide"], ("algorithm-1", "algorithm-1-slow", "ascent", "algorithm-1-wide")
    return Claim(
        "Example 2: Algorithm 1 converges faster than the accelerated algorithm",
        "holds only when" if area.better or distance.better else "does not hold",
        f"S is held within ±1, and in the mean; its law is too narrow by {1.0 - float(ten['algorithm-1'].spread.mean()):.0%} of "
        "the variance, unless S moves much more slowly than θ."
        if area.better or distance.better
        else "with bounds of ±1; and with ±5 its derivative process explodes.",
        (
            ("Algorithm 1: trials that stayed finite", f"{ten.trials - ten['algorithm-1'].diverged} of {ten.trials}"),
            *_widths(ten, names),
            (
                "Algorithm 1, bounds ±5: resets of D",
                f"{wide.resets} in {len(wide.area)} trials, {wide.diverged} trials lost",
            ),
        ),
        (
            *_differences(ten, names, "accelerated", "area"),
            *_differences(ten, names, "accelerated", "w1"),
        ),
    )


def _ten_wandering(ten: Experiment) -> Claim:
    same = against(ten, "algorithm-2", "wandering", "w1")
    fast = against(ten, "algorithm-2-fast", "wandering-fast", "w1")
    sizes = ((f"{label(name)}: rms of S at the end", average(np.asarray(ten[name].last_skew))) for name in WALKS)
    return Claim(
        "Example 2: the gain of Algorithm 2 is that it learns S",
        _verdict([same, fast]),
        "an S that wanders at random, as quickly, is not shown to do worse.",
        (
            *_widths(ten, WALKS),
            *sizes,
        ),
        (
            *_differences(ten, ("algorithm-2",), "wandering", "w1"),
            *_differences(ten, ("algorithm-2-fast",), "wandering-fast", "w1"),
            *_differences(ten, ("wandering", "wandering-fast"), "accelerated", "w1"),
        ),
    )


def _same_data(long: Experiment) -> Claim:
    rows = []
    for name in ("classical", "accelerated", "fixed-4", *ADAPTIVE):
        time = float(np.mean(np.asarray(long[name].iact)[1]))
        price = f"{number(time, 2)} steps, {number(time * long[name].gradients, 2)} gradients"
        rows.append((f"{label(name)}: autocorrelation time of θ(2)", price))
    return Claim(
        "The algorithms use the same data as classical Langevin",
        "holds only when",
        "steps are counted. In gradient evaluations Algorithm 2 pays double and Algorithm 3, with 41 a step, loses its gain.",
        tuple(rows),
    )
