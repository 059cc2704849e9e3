"""The box on top of a page: whether it tracked, which sampler is best, and warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.baseline_names import FROZEN, ORACLE
from tracker.formatting import counted, interval, listed, number, percent, plain
from tracker.metrics.averages import CONFIDENCE, FEWEST_TRIALS, confidence_of_each, no_interval
from tracker.metrics.paired import Paired, gap_closed, ratio_of_means
from tracker.reports.best_of_sweep import confidence_of_best
from tracker.reports.exhibit import Answer, VerdictBox
from tracker.reports.exhibits.diagnostics import recomputed_difference
from tracker.reports.exhibits.dwells import counts_of, suspicions
from tracker.reports.exhibits.skew_path import at_bounds, samplers_that_move_skew
from tracker.reports.step_notes import at_steps
from tracker.scenario.step_warnings import aliased_records, doubtful_targets
from tracker.scenario.switching_check import unstable_when_switched

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tracker.reports.exhibits.diagnostics import Health
    from tracker.reports.run_view import View

FEW_TRIALS = 20  # below it intervals cover less than they say
FEW_SWITCHES = 10
NOISE_WORTH_A_WORD = 0.1  # gradient noise over injected noise
STEP_WORTH_A_WORD = 0.5  # step over its stability limit
MOSTLY_CENSORED = 0.5
OFTEN_AT_BOUNDS = 0.2
SHARE_THAT_COUNTS_AS_TRACKING = 0.5  # of the gap between standing still and knowing the mode
WRONG_RECORDS = 1e-9
# An excess cost below this times 1 + |least cost| is no rounding: a hundred times what the search for minimisers calls equal.
BELOW_THE_LEAST = -1e-6
MOST_COORDINATES_SHOWN = 6


def verdict(view: View, health: dict[str, Health]) -> VerdictBox:
    """Return the warnings and the three answers."""
    warnings = tuple(_warnings(view, health))
    return VerdictBox(warnings, (did_it_track(view), which_sampler(view), trust(warnings)))


def did_it_track(view: View) -> Answer:
    """Compare the best sampler's error with standing still and with knowing the mode."""
    question = "Did it track?"
    best = smallest(view)
    if best is None:
        return Answer(question, "no", "every trial of every sampler diverged.", "bad")
    if view.switches == 0:
        what = "There was nothing to track: the mode never changed."
        error = view.summary[best]["tracking_error"]["mean"]
        step = f" (epsilon = {plain(view.epsilons[best])})" if len(view.alive) > 1 else ""
        return Answer(
            question, "no switch", f"{what} {best}{step} stayed {number(error)} from the minimiser on average."
        )
    if missing := [name for name in (FROZEN, ORACLE) if name not in view.names]:
        error = view.summary[best]["tracking_error"]["mean"]
        return Answer(
            question,
            "not told",
            f"{best} has a tracking error of {number(error)}; the run has no {listed(missing)} to compare it with (key baselines).",
        )
    among = len(view.alive)
    closed = closed_gap(view, best, confidence_of_each(among))  # holds for all of them, so for the one that was chosen
    error, still = view.summary[best]["tracking_error"]["mean"], view.summary[FROZEN]["tracking_error"]["mean"]
    step = f" (epsilon = {plain(view.epsilons[best])})" if among > 1 else ""
    facts = (
        f"{best}{step} has a tracking error of {number(error)}, standing still {number(still)}: it closes {percent(closed.estimate)} "
        f"of the gap between standing still and knowing the mode"
    )
    if not np.isfinite(closed.estimate):
        return Answer(question, "unclear", "standing still has no error that could be made smaller.", "warn")
    if not np.isfinite(closed.low):
        left = "" if closed.trials == view.trials else f" (of {view.trials}, the others diverged)"
        return Answer(question, "unclear", f"{facts}: {no_interval(closed.trials)}{left}.", "warn")
    chosen = f", widened for the choice among {among} samplers" if among > 1 else ""
    facts += f" (95 % interval {percent(closed.low)} to {percent(closed.high)}{chosen})."
    if closed.low > SHARE_THAT_COUNTS_AS_TRACKING:
        return Answer(question, "yes", facts, "good")
    if closed.low > 0.0:
        return Answer(question, "partly", facts, "warn")
    if closed.high < 0.0:
        return Answer(
            question,
            "no",
            f"{facts} Standing still is better: the samplers' own noise is larger than what they follow.",
            "bad",
        )
    return Answer(
        question,
        "no",
        f"{facts} It is no better than standing still, as far as {counted(view.trials, 'trial')} tell.",
        "bad",
    )


def closed_gap(view: View, name: str, confidence: float = CONFIDENCE) -> Paired:
    """Return the share of the gap from frozen to oracle that a sampler closes; nan where the run has not both."""
    if FROZEN not in view.names or ORACLE not in view.names:
        return Paired(np.nan, np.nan, np.nan, 0, 0)
    own, still, known = (view.tracking_error[:, view.index(one)] for one in (name, FROZEN, ORACLE))
    return gap_closed(own, still, known, confidence)


def which_sampler(view: View) -> Answer:
    """Name the sampler with the smallest error, if the paired trials decide; intervals are those of a contest."""
    question = "Which sampler?"
    best = smallest(view)
    if best is None:
        return Answer(question, "none", "every trial of every sampler diverged.", "bad")
    alive = view.alive
    lost = [name for name in view.samplers if name not in alive]
    gone = f" {listed(lost)} diverged in every trial." if lost else ""  # no trial to compare with
    others = [name for name in alive if name != best]
    if not others:
        alone = f"the only one with a trial that did not diverge.{gone}" if lost else "the only one in this run."
        return Answer(question, best, alone)
    if view.trials < FEWEST_TRIALS:
        few = f"{counted(view.trials, 'trial')} cannot tell samplers apart: that takes {FEWEST_TRIALS}."
        return Answer(question, "undecided", f"{few}{gone}", "warn")
    confidence = confidence_of_best([len(alive)])
    found = {name: _against(view, best, name, confidence) for name in others}
    level = [name for name, pair in found.items() if not pair.high < 1.0]
    beaten = [name for name in others if name not in level]
    nearest = max(found, key=lambda n: np.nan_to_num(found[n].estimate, nan=-1.0))
    facts = _how_much(best, nearest, found[nearest])
    steps = f"At these steps ({at_steps({name: view.epsilons[name] for name in alive})})"
    work = _per_gradient(view, best, others)
    fewest = view.summary[best]["diverged"]
    which = " of those that diverged least" if any(view.summary[name]["diverged"] > fewest for name in others) else ""
    if not level:
        text = f"{steps} its tracking error is the smallest{which}, and the paired trials tell it from every other one. {facts}{work}{gone}"
        return Answer(question, best, text, "good")
    rest = f" It is ahead of {listed(beaten)}." if beaten else ""
    text = f"{steps} {best} has the smallest tracking error{which}, but the trials do not tell it from {listed(level)}. {facts}{rest}{work}{gone}"
    return Answer(question, "undecided", text, "warn")


def _how_much(best: str, other: str, pair: Paired) -> str:
    if not np.isfinite(pair.estimate):
        why = "neither of them has an error" if pair.trials else "there is no trial in which neither of them diverged"
        return f"Against {other} there is no ratio: {why}."
    head = f"Against {other}, the next one, its error is {number(pair.estimate)} times as large"
    if not np.isfinite(pair.low):
        return (
            f"{head} (in {counted(pair.trials, 'trial')} in which neither diverged; an interval takes {FEWEST_TRIALS})."
        )
    return f"{head} (interval {interval(pair.low, pair.high)}, smaller in {pair.wins} of {pair.trials} trials)."


def _per_gradient(view: View, best: str, others: list[str]) -> str:
    """Say so where the best one pays with more gradients per step."""
    own = view.evaluations[view.index(best)]
    cheaper = [name for name in others if view.evaluations[view.index(name)] < own]
    return f" It takes {own:.0f} gradients a step; {listed(cheaper)} fewer: errors are per step." if cheaper else ""


def _against(view: View, name: str, other: str, confidence: float) -> Paired:
    error = view.tracking_error
    return ratio_of_means(error[:, view.index(name)], error[:, view.index(other)], confidence)


def smallest(view: View) -> str | None:
    """The sampler with the smallest mean error among those with the fewest divergences."""
    rows = [view.summary[name] for name in view.samplers if view.summary[name]["tracking_error"]["mean"] is not None]
    if not rows:
        return None
    whole = min(row["diverged"] for row in rows)
    return str(
        min((r for r in rows if r["diverged"] == whole), key=lambda r: float(r["tracking_error"]["mean"]))["name"]
    )


def trust(warnings: tuple[str, ...], fine: str = "No check found anything: see the diagnostics below.") -> Answer:
    """Count the warnings."""
    if not warnings:
        return Answer("Can I trust it?", "yes", fine, "good")
    return Answer("Can I trust it?", "with care", f"{counted(len(warnings), 'warning')} above.", "warn")


def _warnings(view: View, health: dict[str, Health]) -> Iterator[str]:
    """What a careful reader would ask about, the worst first."""
    for name in view.samplers:
        row = view.summary[name]
        if row["diverged"]:
            yield f"{name}: {row['diverged']} of {view.trials} trials diverged, the first at step {row['first_divergence']}; they are left out of all averages."
    difference = recomputed_difference(view)
    if difference is not None and difference > WRONG_RECORDS:
        yield f"The recorded errors do not belong to the recorded points and modes (difference {number(difference, 2)}): this result is not to be used."
    yield from unstable_when_switched(view.scenario)
    yield from _about_the_minimisers(view)
    missing = int(view.scenario.trials) - view.trials
    if missing > 0:
        yield f"{missing} of {view.scenario.trials} trials are missing: some shards failed."
    yield from (*aliased_records(view.scenario), *doubtful_targets(view.scenario, view.modes))
    if view.trials < FEW_TRIALS:
        yield f"Only {counted(view.trials, 'trial')}: intervals are rough, and differences between samplers may be chance."
    yield from _about_the_chain(view)
    yield from _about_the_samplers(view, health)


def _about_the_minimisers(view: View) -> Iterator[str]:
    """A recorded point with less than the least cost of its mode shows that the search for minimisers missed a deeper one."""
    excess, modes = view.arrays["excess"], view.arrays["mode"][:, np.newaxis]
    for x, (name, mode) in enumerate(zip(view.mode_names, view.modes, strict=True)):
        least = float(np.fmin.reduce(excess, axis=None, where=modes == x, initial=0.0))
        if least < BELOW_THE_LEAST * (1.0 + abs(mode.floor)):
            trial, n, record = np.argwhere((excess == least) & (modes == x))[0]
            theta = view.arrays["theta"][trial, n, record]
            point = ", ".join(number(float(one)) for one in theta[:MOST_COORDINATES_SHOWN]) + (
                ", ..." if theta.size > MOST_COORDINATES_SHOWN else ""
            )
            yield (
                f"{name} has a deeper minimum than was found: {view.names[n]} was recorded at θ = ({point}) with an excess cost of "
                f"{number(least)}, so errors and excess costs are about the wrong point."
            )


def _about_the_chain(view: View) -> Iterator[str]:
    counts = counts_of(view)
    if counts is not None:
        for suspicion in suspicions(view, counts):
            yield f"{suspicion[0].upper()}{suspicion[1:]}: the chain is not the one that was asked for."
    if len(view.modes) > 1 and view.switches < FEW_SWITCHES and view.scenario.schedule is None:
        yield f"Only {counted(view.switches, 'switch', 'switches')} in the whole run: re-acquisition is hardly measured."
    if view.has_targets and view.switches:
        shares = {name: view.summary[name]["recovery"]["censored"] for name in view.samplers}
        lost = [name for name, share in shares.items() if share is not None and share > MOSTLY_CENSORED]
        if lost:
            yield f"{listed(lost)}: more than half of the waits for re-acquisition were cut off by the next switch."


def _about_the_samplers(view: View, health: dict[str, Health]) -> Iterator[str]:
    unstable = [name for name, h in health.items() if h.step >= 1.0]
    near = [name for name, h in health.items() if STEP_WORTH_A_WORD < h.step < 1.0]
    if unstable:
        yield f"{listed(unstable)}: the step is beyond its mean-square stability limit."
    if near:
        yield f"{listed(near)}: the step is more than half of its stability limit."
    hot = [name for name, h in health.items() if np.isfinite(h.any_noise) and h.any_noise > NOISE_WORTH_A_WORD]
    if hot:
        worst = max(hot, key=lambda n: health[n].any_noise)
        yield (
            f"{listed(hot)}: gradient noise adds up to {number(health[worst].any_noise, 2)} times the injected noise in its worst "
            f"direction, so the law is hotter than beta says."
        )
    for contestant in view.run.problem.contestants:
        if resets := view.summary[contestant.name]["resets"]:
            yield f"{contestant.name}: its derivative process outgrew its limit and was reset {counted(resets, 'time')}."
    for name in samplers_that_move_skew(view):
        if view.scenario.dimension > 1 and (share := at_bounds(view, name)) > OFTEN_AT_BOUNDS:
            yield f"{name}: S is at its bounds {percent(share)} of the time, so the bounds decide."
    yield from _about_the_start(view)


def _about_the_start(view: View) -> Iterator[str]:
    """Averages that hold the way from the start are not those of tracking."""
    far = {name: excess for name in view.samplers if (excess := _early_excess(view, name)) is not None}
    if far:
        most = f"{'up to ' if len(far) > 1 else ''}{number(max(far.values()), 2)}"
        yield (
            f"{listed(list(far))}: the first tenth of the run has {most} times the error of its second half: set a burn_in."
        )


def _early_excess(view: View, name: str) -> float | None:
    """Return how many times larger the error is at first than later, where that tells in the average over all."""
    n, error = view.index(name), view.arrays["error"]
    if view.scenario.burn_in > 0 or error.shape[2] < 20 or not view.kept[:, n].any():
        return None
    mean = error[:, n].mean(axis=0, where=view.kept[:, n, np.newaxis])
    early, late, whole = (float(part.mean()) for part in (mean[: mean.size // 10], mean[mean.size // 2 :], mean))
    if early > 2.0 * late and abs(whole - late) > 0.05 * late:
        return early / late if late > 0.0 else float("inf")
    return None
