"""The box on top of a sweep's page: best sampler and setting, whether it tracked, and warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tracker.formatting import counted, few, interval, number, percent, percent_with_interval, who
from tracker.reports.checks import trust
from tracker.reports.checks_of_sweep import best_at_edges, in_worlds, sweep_checks
from tracker.reports.exhibit import Answer, VerdictBox
from tracker.reports.step_notes import at_steps
from tracker.reports.tuning import tunes
from tracker.reports.verdict_box import SHARE_THAT_COUNTS_AS_TRACKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tracker.reports.best_of_sweep import Candidate, Contest
    from tracker.runs.sweep_result import Sweep

MOST_IN_A_FOLD = 40  # settings
MOST_NAMED = 6  # worlds, points or samplers in one sentence
NOTHING = "no point came to an end without divergence."


def sweep_verdict(sweep: Sweep, found: Sequence[Contest]) -> VerdictBox:
    """Return the warnings and the answers; ``found`` is what ``contests`` made of the sweep."""
    made = sweep_checks(sweep, found)
    warnings = tuple(warning for check in made for warning in check.warnings)
    answers = [which_sampler(found), which_setting(found), did_it_track(found), trust(made)]
    return VerdictBox(warnings, tuple(answer for answer in answers if answer is not None), made)


def which_sampler(found: Sequence[Contest]) -> Answer:
    """Name the best sampler of each world, where the trials decide."""
    question = "Which sampler?"
    if not found:
        return Answer(question, "none", NOTHING, "bad")
    if len({candidate.sampler for contest in found for candidate in contest.all}) == 1:
        return Answer(question, found[0].best.sampler, "the only one that came to an end in this sweep.")
    decided: dict[str, list[Contest]] = {}
    for contest in found:
        decided.setdefault(contest.samplers[0] if len(contest.samplers) == 1 else "", []).append(contest)
    level = decided.pop("", [])
    parts = [part for name, won in decided.items() for part in _won(name, won, found)]
    if level:
        rivals = list(dict.fromkeys(name for contest in level for name in contest.samplers))
        parts.append(f"{few(rivals, 'sampler')} are not told apart {_at(level, found)}")
    more = tuple(filter(None, (_example(found), _steps(found))))
    text = "; ".join(parts) + "."
    losers = sorted({name for name, _ in best_at_edges(found)} - decided.keys())
    if decided and losers:  # a race that another step may turn round
        text += f" {who(losers, 'sampler')} may be better beyond the edge of the grid."
    if level:
        return Answer(question, "undecided" if not decided else "partly decided", text, "warn", more)
    tone = "warn" if losers else "good"
    return Answer(question, next(iter(decided)) if len(decided) == 1 else "it depends", text, tone, more)


def _steps(found: Sequence[Contest]) -> str:
    """Say at which steps the samplers were compared: the one of the file, or the best of those that were tried."""
    steps: dict[str, list[Candidate]] = {}
    tried: set[str] = set()
    for contest in found:
        for name in dict.fromkeys(candidate.sampler for candidate in contest.all):
            own = [candidate for candidate in contest.all if candidate.sampler == name]
            steps.setdefault(name, []).append(min(own, key=lambda one: one.error.mean))
            tried.update(name for one in own if any(tunes(axis) for axis, _ in one.places))
    if not tried and all(len({one.epsilon for one in some}) == 1 for some in steps.values()):
        at = {name: some[0] for name, some in steps.items()}
        effective = {name: one.keys.effective_step for name, one in at.items()}
        return f"At these steps: {at_steps({name: one.epsilon for name, one in at.items()}, effective)}."
    ranges = [f"{name} at epsilon = {_range(some)}" for name, some in steps.items()]
    more = f", {len(ranges) - MOST_NAMED} more in the table" if len(ranges) > MOST_NAMED else ""
    return f"Each stands at its own best step of those tried: {', '.join(ranges[:MOST_NAMED])}{more}."


def _range(found: Sequence[Candidate]) -> str:
    low, high = (end(found, key=lambda one: one.epsilon).step for end in (min, max))
    return low if low == high else f"{low} to {high}"


def _won(name: str, won: Sequence[Contest], found: Sequence[Contest]) -> Iterator[str]:
    """Tell where a sampler is the best, and where only because no other one came to an end."""
    alone = [contest for contest in won if all(other.sampler == name for other in contest.all)]
    raced = [contest for contest in won if contest not in alone]
    if raced:
        yield f"{name} has the smallest error {_at(raced, found)}"
    if alone:
        yield f"only {name} came to an end without divergence {_at(alone, found)}"


def which_setting(found: Sequence[Contest]) -> Answer | None:
    """Name the best setting of each world; nothing where no key of the samplers is swept."""
    question = "Which setting?"
    if not any(len({other.setting for other in contest.all}) > 1 for contest in found):
        return None
    decided = [contest for contest in found if not contest.level]
    shown = tuple(f"{_of(contest)}{_count(contest)}." for contest in found[:MOST_IN_A_FOLD])
    named = found[0] if len(found) == 1 else None
    text = f"Smallest error: {_of(named)}{_count(named)}." if named is not None else (
        f"In {len(decided) or 'none'} of {counted(len(found), 'world')} the best setting is told from all others; the table has them."
    )  # fmt: skip
    if len(decided) == len(found):
        return Answer(question, "decided", text, "good", shown)
    return Answer(
        question, "undecided" if not decided else f"decided in {len(decided)} of {len(found)}", text, "warn", shown
    )


def _of(contest: Contest) -> str:
    return f"{contest.best.label}{_for(contest)}"


def _count(contest: Contest) -> str:
    return f" (not told from {counted(len(contest.level), 'other')})" if contest.level else ""


def _at(some: Sequence[Contest], found: Sequence[Contest]) -> str:
    """Name the worlds of ``some``."""
    if len(found) == 1:
        return f"for {found[0].where}" if found[0].where else "here"
    values = [contest.where for contest in some]
    if len(found[0].world) == 1:  # the key once, then its values
        values = [values[0], *(value.partition(" = ")[2] for value in values[1:])]
    if len(some) == len(found) or len(some) > MOST_NAMED:
        return in_worlds(len(some), found)
    return f"for {(', ' if len(found[0].world) == 1 else '; ').join(values)}"


def _example(found: Sequence[Contest]) -> str:
    """Tell the closest of the races, in numbers."""
    races = [
        (contest, other, pair)
        for contest in found
        for other, pair in contest.against
        if other.sampler != contest.best.sampler
    ]
    if not races:
        return ""
    contest, other, pair = max(races, key=lambda race: np.nan_to_num(race[2].estimate, nan=-1.0))
    where = _for(contest) if len(found) > 1 else ""
    head = f" The closest race{where}: {contest.best.label} against {other.label}"
    if not np.isfinite(pair.low):
        alone = contest.best.outcome.point.scenario.trials < 2
        return f"{head}; {'one trial cannot tell them apart' if alone else 'there is no interval of their ratio'}."
    wins = f", smaller in {pair.wins} of {pair.trials} paired trials" if pair.trials else ", from standard errors"
    return f"{head}, {number(pair.estimate)} times its error (interval {interval(pair.low, pair.high)}{wins})."


def did_it_track(found: Sequence[Contest]) -> Answer | None:
    """Tell how much of the gap between standing still and knowing the mode the best of each world closes."""
    known = [(contest, gap) for contest in found if (gap := contest.gap) is not None and np.isfinite(gap.estimate)]
    if not known:
        return None
    low, high = min(known, key=lambda one: one[1].estimate), max(known, key=lambda one: one[1].estimate)
    more = tuple(
        f"{_named(contest.best)}{_for(contest)}: {percent_with_interval(gap.estimate, gap.low, gap.high)} of the way."
        for contest, gap in ([low] if low is high else [low, high])
        if np.isfinite(gap.low)
    )
    among = found[0].candidates
    more += (f"Intervals hold 95 %{f', widened for the choice among {among}' if among > 1 else ''}.",)
    most, some = (sum(gap.low > least for _, gap in known) for least in (SHARE_THAT_COUNTS_AS_TRACKING, 0.0))
    worlds = [contest for contest, _ in known]
    span = percent(low[1].estimate) if low is high else f"{percent(low[1].estimate)} to {percent(high[1].estimate)}"
    text = f"The best goes {span} of the way from standing still to perfect"
    if len(known) > 1:
        text += f"; surely more than half of it {in_worlds(most, worlds)}"
    elif np.isfinite(low[1].low):
        text = f"The best goes {percent_with_interval(*low[1][:3])} of the way from standing still to perfect"
    if most == len(known):
        return Answer("Did it track?", "mostly", f"{text}.", "good", more)
    return Answer("Did it track?", "partly" if some else "no", f"{text}.", "warn" if some else "bad", more)


def _named(best: Candidate) -> str:
    return best.label if any(tunes(axis) for axis, _ in best.places) else f"{best.label} at epsilon = {best.step}"


def _for(contest: Contest) -> str:
    return f" for {contest.where}" if contest.where else ""
