"""The box on top of a page: what was found, which sampler is best, whether to trust it. Each answer has at most 25 words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.baseline_names import FROZEN, ORACLE
from tracker.formatting import (
    counted,
    digits_of_percent,
    few,
    in_words,
    listed,
    number,
    percent,
    percent_with_interval,
    plus_minus,
    sentence,
    who,
)
from tracker.metrics.averages import FEWEST_TRIALS, confidence_of_each, no_interval, over_trials
from tracker.reports.best_of_sweep import confidence_of_best
from tracker.reports.checks import checks, trust
from tracker.reports.exhibit import Answer, VerdictBox
from tracker.reports.judged_by import advantage, best_of, closed_gap, mean_of, wins_of
from tracker.reports.metrics_disagree import cheapest_instead, still_opinion
from tracker.reports.own_best_step import WHICH
from tracker.reports.step_notes import steps_of
from tracker.scenario.builders import share_minimisers

if TYPE_CHECKING:
    from tracker.metrics.paired import Paired
    from tracker.reports.exhibits.diagnostics import Health
    from tracker.reports.run_view import View

# How far from standing still to knowing the mode, by the lower end of the interval.
WORDS_FOR_THE_WAY = ((0.9, "fully", "good"), (0.5, "mostly", "good"), (0.25, "partly", "warn"), (0.0, "hardly", "warn"))
SHARE_THAT_COUNTS_AS_TRACKING = 0.5  # "mostly"
ALL_DIVERGED = "Every trial of every sampler diverged."
THE_WORDS = (
    "hardly, partly, mostly, fully: the lower end of the interval is above 0, 25, 50, 90 % of the way from standing still to "
    "knowing the mode"
)


def verdict(view: View, health: dict[str, Health]) -> VerdictBox:
    """Return the three answers, the warnings and the checks."""
    made = checks(view, health)
    warnings = tuple(in_words(warning) for check in made for warning in check.warnings)
    return VerdictBox(warnings, (what_was_found(view), which_sampler(view), trust(made, nothing=not view.alive)), made)


def what_was_found(view: View) -> Answer:
    """Answer the first question: the law where nothing switches, tracking else."""
    if view.asks_for_law:
        return did_it_find_the_law(view)
    return did_it_track(view)


def did_it_find_the_law(view: View) -> Answer:
    """Tell which samplers are no further from the law than chance explains."""
    question, law = "Did it find the law?", view.law
    if not view.alive:
        return Answer(question, "no", ALL_DIVERGED, "bad")
    if law is None:
        return Answer(question, "not known", "Nothing switches, and the law is not known here.", link="running-mean")
    found = law.distances
    near, far = min(found, key=lambda n: found[n].w1), max(found, key=lambda n: found[n].w1)
    inside = law.within_chance
    vague = [name for name in inside if found[name].is_vague]
    mark = f"{len(inside)} of {len(found)}" if inside else "no"
    if len(inside) == len(found):
        mark = "not told apart" if vague else "yes"
    tone = "good" if mark == "yes" else "warn"
    each = "" if law.one_law else ", each at its own temperature"
    which = f" of {view.coordinate_name}" if view.scenario.dimension > 1 else ""
    text = f"W1{which} from the law{each}: {near} {number(found[near].w1, 2)}"
    text += f", {far} {number(found[far].w1, 2)}" if far != near else ""
    noise = [found[name].noise for name in inside if np.isfinite(found[name].noise)]
    chance = f" (up to {number(max(noise), 2)})" if noise else ""
    text += f"; {len(inside)} of {counted(len(found), 'sampler')} within chance{chance}."
    meaning = (
        "W1: the area between the distribution functions of the recorded points and of the law, in the coordinate "
        f"{view.coordinate_name}. Within chance: not above the 95 % quantile of as many independent draws from the law itself."
    )
    if vague:
        meaning += (
            f" For {few(vague, 'sampler')} that is more than a quarter of the law's standard deviation: "
            "points so few and so alike cannot show whether the law was found."
        )
    return Answer(question, mark, text, tone, (meaning,), "density")


def did_it_track(view: View) -> Answer:
    """Compare the best sampler with standing still and with knowing the mode."""
    question = "How often is it right?" if view.score.share else "Did it track?"
    best = best_of(view)
    if best is None:
        return Answer(question, "no", ALL_DIVERGED, "bad")
    if view.switches == 0 and view.scenario.drift is None:
        mean = number(mean_of(view, best))
        text = f"Nothing to track: the mode never changed. {best} has a {view.score.title} of {mean}."
        return Answer(question, "no switch", text, link="error-over-time")
    if view.scenario.drift is None and not view.no_distance and share_minimisers(view.modes):
        mean = number(mean_of(view, best))
        text = f"Nothing to track: all modes have the same minimisers. {best} has a {view.score.title} of {mean}."
        return Answer(question, "no move", text, link="error-over-time")
    if missing := [name for name in (FROZEN, ORACLE) if name not in view.names]:
        text = f"{_mean(view, best)} for {best}; the run has no {listed(missing)} to compare with (key baselines)."
        return Answer(question, "not told", sentence(text))
    closed = closed_gap(view, best, confidence_of_each(len(view.alive)))  # for all, so for the one that was chosen
    steps = f"At these steps: {steps_of(view, view.alive)}."
    more: tuple[str, ...] = (_means(view, best), _about_the_interval(view), sentence(THE_WORDS) + ".", steps)
    if view.no_distance:
        more = (f"Judged by the {view.score.title}, not by distances: {view.no_distance}.", *more)
    if not np.isfinite(closed.estimate):
        return Answer(question, "unclear", "Standing still cannot be improved on here.", "warn", more)
    way = f"of the way from standing still ({_mean(view, FROZEN)}) to perfect" if view.score.share else (
        "of the way from standing still to perfect"
    )  # fmt: skip
    if not np.isfinite(closed.low):
        left = "" if closed.trials == view.trials else f" (of {view.trials}, the others diverged)"
        text = f"{best} goes {percent(closed.estimate)} {way}; {no_interval(closed.trials)}{left}."
        return Answer(question, "unclear", text, "warn", more)
    facts = f"{best} goes {percent_with_interval(closed.estimate, closed.low, closed.high)} {way}."
    if view.score.share:
        more = (facts, *more)
        facts = f"{best} is right {_mean(view, best)} of the time; standing still {_mean(view, FROZEN)}, perfect {_mean(view, ORACLE)}."
    if closed.high < 0.0:
        text = f"Standing still is better than {best}, the best sampler: noise outweighs what it follows."
        return Answer(question, "no", text, "bad", (facts, *more))
    mark, tone = next(((word, tone) for cut, word, tone in WORDS_FOR_THE_WAY if closed.low > cut), ("no", "bad"))
    if mark == "no":
        facts, more = f"{best}, the best sampler, is not told from standing still.", (facts, *more)
    opinion = "" if view.no_distance else still_opinion(view)
    link = "right-answers" if view.score.share else "landscape"
    return Answer(question, mark, f"{facts} {opinion}".rstrip(), tone, more, link)


def which_sampler(view: View) -> Answer:
    """Name the best sampler, if the paired trials decide; intervals are those of a contest."""
    question, best = WHICH, best_of(view)
    if best is None:
        return Answer(question, "none", ALL_DIVERGED, "bad")
    lost = [name for name in view.samplers if name not in view.alive]
    gone = f" {who(lost, 'sampler')} diverged in every trial." if lost else ""
    others = [name for name in view.alive if name != best]
    if not others:
        return Answer(question, best, f"The only one{' that did not diverge' if lost else ' in this run'}.{gone}")
    if view.asks_for_law and view.law is not None and not view.law.one_law:
        text = "The samplers run at different temperatures: each has a law of its own."
        return Answer(question, "not asked", text, link="density")
    if view.trials < FEWEST_TRIALS:
        text = f"{sentence(counted(view.trials, 'trial'))} cannot tell samplers apart: that takes {FEWEST_TRIALS}."
        return Answer(question, "undecided", f"{text}{gone}", "warn", _details(view, best, others))
    confidence = confidence_of_best([len(view.alive)])
    found = {name: advantage(view, best, name, confidence) for name in others}
    level = [name for name, gain in found.items() if not gain.low > 0.0]
    nearest = min(found, key=lambda n: np.nan_to_num(found[n].estimate, nan=np.inf))
    against = f"Against {nearest}, the next one: {_how_much(view, best, nearest, found[nearest])}."
    cheapest = "" if view.no_distance or view.asks_for_law else cheapest_instead(view, best)
    by_cost = f" By cost {cheapest} is best." if cheapest else ""
    told = any(keys.name == best and keys.told_switches for keys in view.scenario.samplers)
    gone = f"{by_cost}{f' {best} is told each switch.' if told else ''}{gone}"
    more = _details(view, best, others)
    if level:
        more = (against, *more)
        ahead = len(others) - len(level)
        rest = f"; ahead of the other {ahead}" if ahead and not by_cost else ""
        text = f"{best} has the {_superlative(view)}, not told from {few(level, 'other')}{rest}, at these steps.{gone}"
        return Answer(question, "undecided", text, "warn", more, "comparison")
    text = f"Then {nearest}: {_how_much(view, best, nearest, found[nearest])}, at these steps.{gone}"
    if by_cost:
        return Answer(question, f"{best} by {view.score.title}", text, "warn", more, "comparison")
    return Answer(question, best, text, "good", more, "comparison")


def _superlative(view: View) -> str:
    return f"{'smallest' if view.score.smaller_is_better else 'largest'} {view.score.title}"


def _how_much(view: View, best: str, other: str, gain: Paired) -> str:
    """Return "18 % less error (10 to 25 %), in 18 of 20 trials"."""
    wins, trials = wins_of(view, best, other)
    if not np.isfinite(gain.estimate):
        return (
            "no ratio, neither of them has an error"
            if trials
            else "no ratio, there is no trial in which neither diverged"
        )
    less = "less" if view.score.smaller_is_better else "more"
    if view.score.share:
        known = np.isfinite(gain.low)
        digits = max(1, digits_of_percent(gain.low, gain.high)) if known else 1
        middle, low, high = (f"{100 * share:.{digits}f}" for share in (gain.estimate, gain.low, gain.high))
        ends = f"({low} to {high})" if known else "(no interval)"
        return f"{middle} points {less} {view.score.noun} {ends}, in {wins} of {trials} trials".replace("-", "−")
    if not np.isfinite(gain.low):
        return f"{percent(gain.estimate)} {less} {view.score.noun} in {counted(trials, 'trial')} in which neither diverged: {no_interval(trials)}"
    size = percent_with_interval(gain.estimate, gain.low, gain.high)
    middle, _, ends = size.partition(" (")
    return f"{middle} {less} {view.score.noun} ({ends}, in {wins} of {trials} trials"


def _details(view: View, best: str, others: list[str]) -> tuple[str, ...]:
    """What is folded: at which steps, how the intervals were widened, and what the best one pays."""
    steps = f"At these steps: {steps_of(view, view.alive)}."
    text = f"Ranked by the {view.score.title}, over paired trials; with 95 % the true best is the one named or among those not told from it."
    own = view.evaluations[view.index(best)]
    cheaper = [name for name in others if view.evaluations[view.index(name)] < own]
    work = (
        (f"{best} takes {own:.0f} gradients a step, {few(cheaper, 'sampler')} fewer: this is per step.",)
        if cheaper
        else ()
    )
    fewest = view.summary[best]["diverged"]
    worse = [name for name in others if view.summary[name]["diverged"] > fewest]
    less = (f"Chosen among those that diverged least; {few(worse, 'sampler')} diverged more often.",) if worse else ()
    return (steps, text, *work, *less)


def _mean(view: View, name: str) -> str:
    value = mean_of(view, name)
    return f"{100 * value:.1f} %" if view.score.share else number(value)


def _means(view: View, best: str) -> str:
    """The numbers behind the share of the way."""
    parts = []
    for name, words in ((best, best), (FROZEN, "standing still"), (ORACLE, "knowing the mode")):
        found = over_trials(view.score.values[:, view.index(name)])
        parts.append(f"{words} {_mean(view, name) if view.score.share else plus_minus(*found)}")
    return f"{sentence(view.score.title)}: {', '.join(parts)}."


def _about_the_interval(view: View) -> str:
    among = len(view.alive)
    chosen = f", widened for the choice among {among} samplers" if among > 1 else ""
    return f"In brackets the 95 % interval over trials{chosen}."
