"""Every fault of benchmarks/mutants.py has its place in the source and its tests; the table is of these faults.

Whether tests notice them takes an hour to find out: python benchmarks/mutants.py.
"""

from __future__ import annotations

import json
import re
import shlex
import sys

import pytest
from worlds import ROOT

sys.path.append(str(ROOT / "benchmarks"))
from planted import ROOMS, Fault
from planted.base import misplaced
from planted.record import NOTICED

FAULTS = [(room, fault) for room, faults in ROOMS.items() for fault in faults]


@pytest.mark.parametrize("room", list(ROOMS))
def test_every_fault_stands_once_in_its_file_and_has_tests(room: str) -> None:
    files = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    for fault in ROOMS[room]:
        assert misplaced(fault, ROOT) == "", f"{fault}: move it to where that code is now"
        named = [word for word in shlex.split(fault.tests) if word.endswith(".py")]
        assert named, f"{fault}: no tests"
        assert set(named) <= files, f"{fault}: no such tests"


def test_a_fault_without_a_place_is_told() -> None:
    """Control: code that moved, code that is gone, a file that is gone."""
    moved = Fault("tracker/streams.py", "while size < 0: pass", "", "")
    assert misplaced(moved, ROOT) == "stands there 0 times"
    assert misplaced(moved._replace(before="def draw_bits("), ROOT) == "stands there 0 times; once in tracker/sfc64.py"
    assert misplaced(moved._replace(file="tracker/none.py"), ROOT) == "no such file"


def test_the_record_and_the_table_are_of_these_faults() -> None:
    rows = map(json.loads, (ROOT / "benchmarks" / "mutants.jsonl").read_text(encoding="utf-8").splitlines())
    states = {(row["file"], row["before"], row["after"]): row["state"] for row in rows}
    assert states.keys() == {fault[:3] for _, fault in FAULTS}, "run python benchmarks/mutants.py --again"
    table = (ROOT / "benchmarks" / "mutants.txt").read_text(encoding="utf-8")
    for room in [*ROOMS, "all"]:
        found = [states[fault[:3]] in NOTICED for own, fault in FAULTS if room in (own, "all")]
        row = re.search(rf"^{room} +(\d+) +(\d+) +(\d+) ", table, re.MULTILINE)
        assert row is not None, "run python benchmarks/mutants.py --table"
        assert [int(number) for number in row.groups()] == [len(found), len(found), sum(found)], room
