"""What became of each planted fault: a file of one line each, and the table of it."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from planted.base import Fault

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

ENOUGH = 0.97
NOTICED = ("noticed", "hung")


class Outcome(NamedTuple):
    """What became of a fault: "noticed", "hung", "survived", "no such place", or "not run".

    seconds : of the processor, for the tests that were asked last
    by : the test that noticed
    told : the last words of the tests
    """

    room: str
    fault: Fault
    state: str
    seconds: float
    by: str
    told: str


class Record:
    """The last outcome of each fault, in a file that is written anew after each."""

    def __init__(self, file: Path) -> None:
        self._file = file
        lines = file.read_text().splitlines() if file.exists() else []
        self._kept = {(row["file"], row["before"], row["after"]): row for row in map(json.loads, lines)}

    def of(self, fault: Fault, room: str = "") -> Outcome:
        """Return what became of a fault the last time; "not run" if that is not known."""
        row = self._kept.get(fault[:3], {})
        return Outcome(room, fault, row.get("state", "not run"), row.get("seconds", 0.0), row.get("by", ""), "")

    def forget_all_but(self, faults: Iterable[Fault]) -> None:
        """Leave out what is planted no more."""
        kept = {fault[:3] for fault in faults}
        self._kept = {key: row for key, row in self._kept.items() if key in kept}

    def keep(self, outcome: Outcome) -> None:
        """Keep an outcome in place of the one before."""
        file, before, after = key = outcome.fault[:3]
        found = {"state": outcome.state, "seconds": round(outcome.seconds, 1), "by": outcome.by}
        self._kept[key] = {"room": outcome.room, "file": file, "before": before, "after": after, **found}
        rows = sorted(self._kept.values(), key=lambda row: (row["room"], row["file"], row["before"], row["after"]))
        self._file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def share(outcomes: list[Outcome]) -> float:
    """Return the share of all listed faults that was noticed."""
    return sum(one.state in NOTICED for one in outcomes) / max(1, len(outcomes))


def print_table(rooms: list[str], outcomes: list[Outcome]) -> None:
    """Print how many were listed, planted and noticed, by room; and those that were not noticed, with the reason."""
    print(f"{'room':14} {'listed':>7} {'planted':>8} {'noticed':>8} {'survived':>9} {'not planted':>12}")
    for room in [*rooms, "all"]:
        counts = Counter(one.state for one in outcomes if room in (one.room, "all"))
        noticed, survived, listed = sum(counts[state] for state in NOTICED), counts["survived"], counts.total()
        rest = listed - noticed - survived
        print(f"{room:14} {listed:7} {noticed + survived:8} {noticed:8} {survived:9} {rest:12}")
    print(f"\n{100.0 * share(outcomes):.1f} % of all are noticed.")
    for one in outcomes:
        if one.state not in NOTICED:
            print(f"\n{one.state}: {one.room}: {one.fault}\n    {one.fault.equivalent or 'no reason is known'}")
