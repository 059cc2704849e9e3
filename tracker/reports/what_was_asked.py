"""What a page says first: the claim of its scenario, the world in a sentence, and what became of each claim."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tracker.formatting import counted, number, percent, with_interval
from tracker.metrics.claims import read_side
from tracker.metrics.table import METRICS
from tracker.reports.exhibit import Asked, ClaimOutcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tracker.scenario import Scenario

NOT_JUDGED = "not judged"
TONES = {"holds": "good", "does not hold": "bad", "not told": "warn"}


def head_of_page(scenario: Scenario, judged: Sequence[Mapping[str, Any]]) -> Asked:
    """Return the head of a run's page; ``judged`` are the claims of its summary, in the file's order."""
    pairs = zip(scenario.claims, judged, strict=False)  # a summary of an older version has none
    outcomes = [
        ClaimOutcome(claim.text, one["outcome"], TONES[one["outcome"]], _numbers(claim, one)) for claim, one in pairs
    ]
    outcomes += _unjudged(scenario)
    return Asked(scenario.claim, scenario.description, tuple(outcomes))


def asked_at_points(scenario: Scenario, judged: Sequence[Sequence[Mapping[str, Any]]]) -> Asked:
    """Return the head of a sweep's page; ``judged`` are the claims of each point."""
    outcomes = []
    for n, claim in enumerate(scenario.claims):
        words = [claims[n]["outcome"] for claims in judged if n < len(claims)]
        told = [f"{word} at {words.count(word)}" for word in TONES if word in words]
        tone = TONES[words[0]] if len(set(words)) == 1 else "plain"
        word = f"{', '.join(told)} of {counted(len(words), 'point')}" if words else NOT_JUDGED
        outcomes.append(ClaimOutcome(claim.text, word, tone))
    outcomes += _unjudged(scenario)
    return Asked(scenario.claim, scenario.description, tuple(outcomes))


def _unjudged(scenario: Scenario) -> list[ClaimOutcome]:
    """Mark a claim that nothing judges: a sentence without ``[[claims]]``."""
    alone = bool(scenario.claim) and not scenario.claims
    return [ClaimOutcome("the scenario has no [[claims]]", NOT_JUDGED)] if alone else []


def _numbers(claim: Any, one: Mapping[str, Any]) -> str:
    """Return what was judged: "recovery time: 0.55 times [0.47, 0.65]"."""
    if one["estimate"] is None:
        return ""
    ratio = isinstance(claim.left, str) and isinstance(claim.right, str)
    metric = METRICS[read_side(claim.left if isinstance(claim.left, str) else claim.right).quantity]
    share = metric.unit == "share" and not ratio
    claimed = next((float(side) for side in (claim.left, claim.right) if not isinstance(side, str)), None)
    estimate, low, high = one["estimate"], one["low"], one["high"]
    if low is None or high is None:
        found = f"{percent(estimate) if share else number(estimate)}, no interval"
    elif share:
        found = f"{percent(estimate)} [{percent(low)}, {percent(high)}]"
    else:
        found = with_interval(estimate, low, high, 1.0 if ratio else claimed)
    mean = f"mean {metric.title}" if metric.kind == "time" else metric.title
    against = f"{mean}, ratio" if ratio else metric.label
    return f"{against} {found}"
