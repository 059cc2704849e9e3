"""What differs between the scenarios of two runs, key by key, and what the second run gained, in a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.baseline_names import BASELINES
from tracker.formatting import counted, few, sentence
from tracker.metrics.table import METRICS
from tracker.reports.exhibit import Answer, VerdictBox

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tracker.reports.run_vs_run import Change
    from tracker.runs import Run

MOST_DIFFERENCES = 12
LONGEST_VALUE = 60
IGNORED = {"claim", "claims", "description"}  # words, which change no number


def differences(first: Run, second: Run) -> list[str]:
    """Return a line for each key that the two scenarios do not share: "samplers.classical.beta: 4.0 → 6.0"."""
    one, two = (dict(_flat("", run.scenario.content())) for run in (first, second))
    changes = {
        key: f"{_shown(one, key)} → {_shown(two, key)}"
        for key in dict.fromkeys((*one, *two))
        if one.get(key) != two.get(key) and key.partition(".")[0] not in IGNORED
    }
    found = [f"{key}: {change}" for key, change in _for_all(changes, (*one, *two)).items()]
    more = len(found) - MOST_DIFFERENCES
    return [*found[:MOST_DIFFERENCES], f"and {counted(more, 'more key')}"] if more > 0 else found


def _for_all(changes: dict[str, str], keys: Sequence[str]) -> dict[str, str]:
    """Return the changes, one in the place of those that all samplers share: "samplers.*.beta"."""
    found: dict[str, str] = {}
    for key, change in changes.items():
        table, _, rest = key.partition(".")
        last = rest.rpartition(".")[2]
        alike = {other for other in keys if other.startswith("samplers.") and other.endswith(f".{last}")}
        shared = table == "samplers" and len(alike) > 1 and all(changes.get(other) == change for other in alike)
        found[f"samplers.*.{last}" if shared else key] = change
    return found


def _flat(place: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield every key with its address; entries of arrays of tables go by their names."""
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from _flat(f"{place}.{key}" if place else str(key), entry)
    elif isinstance(value, (list, tuple)) and value and all(isinstance(entry, dict) for entry in value):
        for n, entry in enumerate(value):
            yield from _flat(f"{place}.{entry.get('name', n)}", entry)
    else:
        yield place, value


def _shown(keys: dict[str, Any], key: str) -> str:
    text = str(keys[key]) if key in keys else "not given"
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


def _sides(changes: Sequence[Change], quantity: str) -> tuple[list[str], list[str], list[Change]]:
    """Return the samplers of which the interval says that the second run is better, and worse, and all changes."""
    mine = [change for change in changes if change.quantity == quantity and change.sampler not in BASELINES]
    smaller = [change.sampler for change in mine if change.ratio.high < 1.0]
    larger = [change.sampler for change in mine if change.ratio.low > 1.0]
    return (*((smaller, larger) if METRICS[quantity].smaller_is_better else (larger, smaller)), mine)


def in_a_line(changes: Sequence[Change], quantity: str) -> str:
    """Return for how many samplers the second run is better in a quantity, and for how many that is not told."""
    metric = METRICS[quantity]
    better, worse, mine = _sides(changes, quantity)
    known = [change for change in mine if np.isfinite(change.ratio.low) and np.isfinite(change.ratio.high)]
    level = len(known) - len(better) - len(worse)
    parts = [f"second run better for {few(better, 'sampler', len(mine))}"] if better else []
    parts += [f"{'' if better else 'second run '}worse for {few(worse, 'sampler', len(mine))}"] if worse else []
    parts += [f"not told for {level} of {len(mine)}"] if level else []
    parts += [f"no interval for {len(mine) - len(known)} of {len(mine)}"] if len(known) < len(mine) else []
    return f"{metric.label}: {', '.join(parts) or 'nothing to compare'}"


def summary_lines(changes: Sequence[Change]) -> list[str]:
    """Return a line for each quantity that people look at."""
    told = dict.fromkeys(change.quantity for change in changes if METRICS[change.quantity].shown)
    return [in_a_line(changes, quantity) for quantity in told]


def comparison_box(first: Run, second: Run, changes: Sequence[Change]) -> VerdictBox:
    """Return the box on top of the page of a comparison."""
    lines, differ = summary_lines(changes), differences(first, second)
    words = "; ".join(differ[:2]) if differ else "Nothing but names: the scenarios are the same."
    told = [change.quantity for change in changes if METRICS[change.quantity].shown]
    mark, tone = better_or_worse(changes, told[0]) if told else ("", "plain")
    answers = (
        Answer("What differs?", "", words, "plain", tuple(differ[2:])),
        Answer(
            "Is the second run better?",
            mark,
            f"{sentence(lines[0])}." if lines else "Nothing to compare.",
            tone,
            tuple(f"{sentence(line)}." for line in lines[1:]),
            "changes",
        ),
    )
    return VerdictBox((), answers)


def better_or_worse(changes: Sequence[Change], quantity: str) -> tuple[str, str]:
    """Return the mark of a comparison by one quantity, and its tone: the intervals decide for all samplers, for some, or none."""
    better, worse, mine = _sides(changes, quantity)
    if better and worse:
        return "for some better, for some worse", "warn"
    one_way, word, tone = (better, "better", "good") if better else (worse, "worse", "bad")
    if not one_way:
        return "not told", "plain"
    return (word if len(one_way) == len(mine) else f"{word} for {len(one_way)} of {len(mine)}"), tone
