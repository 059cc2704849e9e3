"""The box on top of a sweep's page: best sampler and setting, whether it tracked, and warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.baseline_names import BASELINES
from tracker.formatting import counted, interval, listed, number, percent, plain
from tracker.metrics.multiple_tests import family
from tracker.reports.best_of_sweep import rows_of
from tracker.reports.exhibit import Answer, VerdictBox
from tracker.reports.exhibits.dwells import SUSPICIOUS_P_VALUE
from tracker.reports.step_notes import at_steps
from tracker.reports.tuning import tunes
from tracker.reports.verdict_box import FEW_SWITCHES, FEW_TRIALS, MOSTLY_CENSORED, SHARE_THAT_COUNTS_AS_TRACKING, trust

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tracker.reports.best_of_sweep import Candidate, Contest
    from tracker.runs.sweep_result import Outcome, Sweep

MOST_NAMED = 6  # worlds, points or samplers in one sentence
NOTHING = "no point came to an end without divergence."
WRONG_WITH_VISITS = {  # a p-value of a mode in a summary, and what is wrong where it is small
    "rate_p_value": "a mode is not left as often as alpha and Q say",
    "p_value": "the visits to a mode do not look geometric",
}
FINE = "No point failed or diverged, and no check of the trials and the chain found anything."


def sweep_verdict(sweep: Sweep, found: Sequence[Contest]) -> VerdictBox:
    """Return the warnings and the answers; ``found`` is what ``contests`` made of the sweep."""
    warnings = tuple(_warnings(sweep))
    answers = [which_sampler(found), which_setting(found), did_it_track(found), trust(warnings, FINE)]
    return VerdictBox(warnings, tuple(answer for answer in answers if answer is not None))


def which_sampler(found: Sequence[Contest]) -> Answer:
    """Name the best sampler of each world, where the trials decide."""
    question = "Which sampler?"
    if not found:
        return Answer(question, "none", NOTHING, "bad")
    if len({candidate.sampler for contest in found for candidate in _all(contest)}) == 1:
        return Answer(question, found[0].best.sampler, "the only one that came to an end in this sweep.")
    decided: dict[str, list[Contest]] = {}
    for contest in found:
        decided.setdefault(contest.samplers[0] if len(contest.samplers) == 1 else "", []).append(contest)
    level = decided.pop("", [])
    parts = [part for name, won in decided.items() for part in _won(name, won, found)]
    if level:
        rivals = list(dict.fromkeys(name for contest in level for name in contest.samplers))
        parts.append(f"the trials do not tell {listed(rivals)} apart {_at(level, found)}")
    apart = "" if level else " The trials tell the best from every other sampler."
    facts = f"{'; '.join(parts)}.{apart}{_example(found)} {_steps(found)}"
    if level:
        return Answer(question, "undecided" if not decided else "partly decided", facts, "warn")
    return Answer(question, next(iter(decided)) if len(decided) == 1 else "it depends", facts, "good")


def _steps(found: Sequence[Contest]) -> str:
    """Say at which steps the samplers were compared: the one of the file, or the best of those that were tried."""
    steps: dict[str, list[float]] = {}
    tried: set[str] = set()
    for contest in found:
        for name in dict.fromkeys(candidate.sampler for candidate in _all(contest)):
            own = [candidate for candidate in _all(contest) if candidate.sampler == name]
            steps.setdefault(name, []).append(min(own, key=lambda one: one.error.mean).epsilon)
            tried.update(name for one in own if any(tunes(axis) for axis, _ in one.places))
    if not tried and all(len(set(some)) == 1 for some in steps.values()):
        return f"At these steps: {at_steps({name: some[0] for name, some in steps.items()})}."
    ranges = [f"{name} at epsilon = {_range(some)}" for name, some in steps.items()]
    more = f", {len(ranges) - MOST_NAMED} more in the table" if len(ranges) > MOST_NAMED else ""
    return f"Each stands at its own best step of those tried: {', '.join(ranges[:MOST_NAMED])}{more}."


def _range(steps: Sequence[float]) -> str:
    low, high = plain(min(steps)), plain(max(steps))
    return low if low == high else f"{low} to {high}"


def _won(name: str, won: Sequence[Contest], found: Sequence[Contest]) -> Iterator[str]:
    """Tell where a sampler is the best, and where only because no other one came to an end."""
    alone = [contest for contest in won if all(other.sampler == name for other in _all(contest))]
    raced = [contest for contest in won if contest not in alone]
    if raced:
        yield f"{name} has the smallest tracking error {_at(raced, found)}"
    if alone:
        yield f"only {name} came to an end without divergence {_at(alone, found)}"


def _all(contest: Contest) -> list[Candidate]:
    return [contest.best, *(other for other, _ in contest.against)]


def which_setting(found: Sequence[Contest]) -> Answer | None:
    """Name the best setting of each world; nothing where no key of the samplers is swept."""
    question = "Which setting?"
    if not any(len({other.setting for other in _all(contest)}) > 1 for contest in found):
        return None
    decided = [contest for contest in found if not contest.level]
    shown = [f"{_of(contest)}{_count(contest)}" for contest in found[:MOST_NAMED]]
    more = f"; the other {len(found) - MOST_NAMED} are in the table" if len(found) > MOST_NAMED else ""
    facts = f"Smallest tracking error: {'; '.join(shown)}{more}.{_edges(found)}"
    if len(decided) == len(found):
        return Answer(question, "decided", facts, "good")
    mark = "undecided" if not decided else f"decided in {len(decided)} of {len(found)}"
    return Answer(question, mark, facts, "warn")


def _of(contest: Contest) -> str:
    return f"{contest.best.label}{_for(contest)}"


def _count(contest: Contest) -> str:
    return f" (not told from {counted(len(contest.level), 'other')})" if contest.level else ""


def _edges(found: Sequence[Contest]) -> str:
    """Say so where the best value is the last one that was tried: beyond it may be a better one."""
    at: dict[str, int] = {}
    for contest in found:
        for axis, n in contest.best.places:
            numbers = axis.numbers
            if numbers is not None and numbers.size > 2 and numbers[n] in (numbers.min(), numbers.max()):
                at[axis.address] = at.get(axis.address, 0) + 1
    lines = [f"the best {address} stands at an end of what was tried {_in(n, found)}" for address, n in at.items()]
    return f" Note: {listed(lines)}: a better one may lie beyond." if lines else ""


def _in(count: int, found: Sequence[Contest]) -> str:
    """Tell in how many worlds."""
    if len(found) == 1:
        return "here"
    share = f"all {count}" if count == len(found) else f"{count} of {len(found)}"
    axes = [axis.address for axis, _ in found[0].world]
    return f"for {share} values of {axes[0]}" if len(axes) == 1 else f"in {share} worlds"


def _at(some: Sequence[Contest], found: Sequence[Contest]) -> str:
    """Name the worlds of ``some``."""
    if len(found) == 1:
        return f"for {found[0].where}" if found[0].where else "here"
    values = [contest.where for contest in some]
    if len(found[0].world) == 1:  # the key once, then its values
        values = [values[0], *(value.partition(" = ")[2] for value in values[1:])]
    if len(some) == len(found) or len(some) > MOST_NAMED:
        return _in(len(some), found)
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
    ends = [low] if low is high else [low, high]
    where = len(ends) == 2 or len(known) == 1
    share = " to ".join(
        f"{percent(gap.estimate)}{_for(contest) if where else ''} with {_named(contest.best)} (95 % interval {percent(gap.low)} to {percent(gap.high)})"
        for contest, gap in ends
    )
    facts = f"Of the gap between standing still and knowing the mode the best closes {'from ' * (len(ends) - 1)}{share}"
    among = found[0].candidates
    facts += (
        f", {'intervals' if len(ends) > 1 else 'interval'} widened for the choice among {among}" if among > 1 else ""
    )
    most, some = (sum(gap.low > least for _, gap in known) for least in (SHARE_THAT_COUNTS_AS_TRACKING, 0.0))
    if most == len(known):
        return Answer("Did it track?", "yes", f"{facts}.", "good")
    tail = f"; more than half of it {_in(most, [contest for contest, _ in known])}" if most and len(known) > 1 else ""
    return Answer("Did it track?", "partly" if some else "no", f"{facts}{tail}.", "warn" if some else "bad")


def _named(best: Candidate) -> str:
    return (
        best.label
        if any(tunes(axis) for axis, _ in best.places)
        else f"{best.label} at epsilon = {plain(best.epsilon)}"
    )


def _for(contest: Contest) -> str:
    return f" for {contest.where}" if contest.where else ""


# --- warnings


def _warnings(sweep: Sweep) -> Iterator[str]:
    """What a careful reader would ask about, the worst first: points that failed, then those that diverged."""
    for state, tail in (("failed", ""), ("diverged", "; left out of the averages, and of what is named best")):
        troubled = [outcome for outcome in sweep.outcomes if outcome.state == state]
        for outcome in troubled[:MOST_NAMED]:
            about = f": {outcome.message}" if outcome.message else ""
            yield f"{outcome.point.label} {state}{about}{tail}."
        if len(troubled) > MOST_NAMED:
            yield f"... and {len(troubled) - MOST_NAMED} more points {state}: see the table."
    few = min(outcome.point.scenario.trials for outcome in sweep.outcomes)
    if few < FEW_TRIALS:
        yield f"Only {counted(few, 'trial')}: intervals are rough, and differences may be chance."
    yield from _about_the_chain([outcome for outcome in sweep.outcomes if outcome.summary is not None])


def _about_the_chain(outcomes: Sequence[Outcome]) -> Iterator[str]:
    chains = [(outcome, (outcome.summary or {}).get("chain") or {}) for outcome in outcomes]
    yield from _strange_visits(chains)
    still = [
        outcome
        for outcome, chain in chains
        if outcome.point.scenario.chain is not None and chain.get("switches", FEW_SWITCHES) < FEW_SWITCHES
    ]
    if still:
        yield f"{_points(still)}: fewer than {FEW_SWITCHES} switches in all trials, so re-acquisition is hardly measured."
    lost = [outcome for outcome in outcomes if _mostly_censored(outcome)]
    if lost:
        yield f"{_points(lost)}: more than half of the waits for re-acquisition were cut off by the next switch."


def _strange_visits(chains: Sequence[tuple[Outcome, Mapping[str, Any]]]) -> Iterator[str]:
    """Tell at which points the visits are hardly those of the given law, corrected for all tests of all modes of all points."""
    dwells = [(outcome, dwell) for outcome, chain in chains for dwell in chain.get("dwell", ())]
    together = family(dwell.get(key) for _, dwell in dwells for key in WRONG_WITH_VISITS)
    for key, fact in WRONG_WITH_VISITS.items():
        known = [(outcome, together.correct(dwell[key])) for outcome, dwell in dwells if dwell.get(key) is not None]
        strange = [(outcome, p) for outcome, p in known if p < SUSPICIOUS_P_VALUE]
        if strange:
            least = number(min(p for _, p in strange), 2)
            yield (
                f"{_points([outcome for outcome, _ in strange])}: {fact}, so the chain is not the one that was asked for "
                f"(smallest p = {least}, corrected for {counted(together.tests, 'test')}: points × modes × 2)."
            )


def _mostly_censored(outcome: Outcome) -> bool:
    shares = [row["recovery"]["censored"] for row in rows_of(outcome) if row["name"] not in BASELINES]
    return any(share is not None and share > MOSTLY_CENSORED for share in shares)


def _points(outcomes: Sequence[Outcome]) -> str:
    """Name points: one in full, several by their numbers."""
    unique = list({outcome.point.index: outcome for outcome in outcomes}.values())
    if len(unique) == 1:
        return unique[0].point.label
    names = [str(outcome.point.index) for outcome in unique[:MOST_NAMED]]
    more = len(unique) - MOST_NAMED
    return f"points {listed([*names, f'{more} more'] if more > 0 else names)}"
