"""What differs between the scenarios of two runs, key by key, and what the second run gained, in a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tracker.baseline_names import BASELINES
from tracker.formatting import counted, few
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
    found = [
        f"{key}: {_shown(one, key)} → {_shown(two, key)}"
        for key in dict.fromkeys((*one, *two))
        if one.get(key) != two.get(key) and key.partition(".")[0] not in IGNORED
    ]
    more = len(found) - MOST_DIFFERENCES
    return [*found[:MOST_DIFFERENCES], f"and {counted(more, 'more key')}"] if more > 0 else found


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


def in_a_line(changes: Sequence[Change], quantity: str) -> str:
    """Return for how many samplers the second run is better in a quantity, and for how many that is not told."""
    metric = METRICS[quantity]
    mine = [change for change in changes if change.quantity == quantity and change.sampler not in BASELINES]
    known = [change for change in mine if np.isfinite(change.ratio.low) and np.isfinite(change.ratio.high)]
    smaller = [change.sampler for change in known if change.ratio.high < 1.0]
    larger = [change.sampler for change in known if change.ratio.low > 1.0]
    better, worse = (smaller, larger) if metric.smaller_is_better else (larger, smaller)
    level = len(known) - len(smaller) - len(larger)
    parts = [f"second run better for {few(better, 'sampler', len(mine))}"] if better else []
    parts += [f"worse for {few(worse, 'sampler', len(mine))}"] if worse else []
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
    more = tuple(differ[2:])
    return VerdictBox(
        (),
        (
            Answer("What differs?", counted(len(differ), "key") if differ else "nothing", words, "plain", more),
            Answer(
                "Is the second run better?",
                "",
                f"{lines[0]}." if lines else "Nothing to compare.",
                "plain",
                tuple(lines[1:]),
                "changes",
            ),
        ),
    )
