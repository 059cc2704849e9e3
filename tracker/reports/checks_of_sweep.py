"""What was looked at before a sweep is believed: points, trials, chains, and best values at the edge of the grid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tracker.baseline_names import BASELINES
from tracker.formatting import counted, listed, number
from tracker.metrics.multiple_tests import family
from tracker.reports.best_of_sweep import rows_of
from tracker.reports.checks import FEW_SWITCHES, FEW_TRIALS, MOSTLY_CENSORED, Check
from tracker.reports.exhibits.dwells import SUSPICIOUS_P_VALUE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tracker.reports.best_of_sweep import Contest
    from tracker.runs.sweep_result import Outcome, Sweep

MOST_NAMED = 6  # points in one sentence
WRONG_WITH_VISITS = {  # a p-value of a mode in a summary, and what is wrong where it is small
    "rate_p_value": "a mode is not left as often as alpha and Q say",
    "p_value": "the visits to a mode do not last as their law says",
}


def sweep_checks(sweep: Sweep, found: Sequence[Contest]) -> tuple[Check, ...]:
    """Return what was looked at: points that failed or diverged, the trials, the chain, the edges of the grid."""
    whole = [outcome for outcome in sweep.outcomes if outcome.summary is not None]
    few_trials = min(outcome.point.scenario.trials for outcome in sweep.outcomes)
    rough = f"Only {counted(few_trials, 'trial')}: intervals are rough, and differences may be chance."
    ended = sum(outcome.state not in ("failed", "diverged") for outcome in sweep.outcomes)
    points = counted(len(sweep.outcomes), "point")
    chain, edges = tuple(_about_the_chain(whole)), tuple(at_edges(found))
    return (
        Check(
            "points",
            f"{points} came to an end" if ended == len(sweep.outcomes) else f"{ended} of {points} came to an end",
            tuple(_troubled(sweep)),
        ),
        Check("trials", f"{counted(few_trials, 'trial')} a point", (rough,) if few_trials < FEW_TRIALS else ()),
        Check("chain", "switches, waits or visits are in doubt" if chain else "chains as their laws say", chain),
        Check("grid", f"{'best values' if edges else 'no best value'} at the edge of the grid", edges),
    )


def _troubled(sweep: Sweep) -> Iterator[str]:
    for state, tail in (("failed", ""), ("diverged", "; left out of the averages, and of what is named best")):
        troubled = [outcome for outcome in sweep.outcomes if outcome.state == state]
        for outcome in troubled[:MOST_NAMED]:
            about = f": {outcome.message}" if outcome.message else ""
            yield f"{outcome.point.label} {state}{about}{tail}."
        if len(troubled) > MOST_NAMED:
            yield f"... and {len(troubled) - MOST_NAMED} more points {state}: see the table."


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


def at_edges(found: Sequence[Contest]) -> Iterator[str]:
    """Warn where the best value of a sampler is the last one that was tried: the race is unfair to it.

    Every sampler is looked at, not only the winner: one whose own best value lies at an end might win beyond it.
    """
    for (name, key), count in best_at_edges(found).items():
        yield f"{name}: its best {key} is at the edge of the grid {in_worlds(count, found)}; widen it: a better one may lie beyond."


def best_at_edges(found: Sequence[Contest]) -> dict[tuple[str, str], int]:
    """Count in how many worlds the best value of a sampler's key is the last one that was tried, by (sampler, key)."""
    at: dict[tuple[str, str], int] = {}
    for contest in found:
        for name in dict.fromkeys(candidate.sampler for candidate in contest.all):
            own = min((one for one in contest.all if one.sampler == name), key=lambda one: one.error.mean)
            for axis, n in own.places:
                numbers = axis.numbers
                if numbers is not None and numbers.size > 2 and numbers[n] in (numbers.min(), numbers.max()):
                    place = (name, axis.address.rpartition(".")[2])
                    at[place] = at.get(place, 0) + 1
    return at


def in_worlds(count: int, found: Sequence[Contest]) -> str:
    """Tell in how many worlds."""
    if len(found) == 1:
        return "here"
    share = f"all {count}" if count == len(found) else f"{count} of {len(found)}"
    axes = [axis.address for axis, _ in found[0].world]
    return f"for {share} values of {axes[0]}" if len(axes) == 1 else f"in {share} worlds"
