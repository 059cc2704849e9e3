"""Tests that can fail: plant small faults, one at a time, wherever a number or a verdict is computed, and see who notices.

    python benchmarks/mutants.py                      all of them; a table by room at the end
    python benchmarks/mutants.py samplers chain       some rooms
    python benchmarks/mutants.py --only 'ratio'       those whose fault or file holds a word
    python benchmarks/mutants.py --again              those that the record does not call noticed
    python benchmarks/mutants.py --list               what would be planted, and whose place is gone
    python benchmarks/mutants.py --table              the table of the record, as in mutants.txt

A fault is a piece of source, what stands in its place, and the tests that should notice. Each is planted in a copy of the
tree; the test that notices must pass in the copy without it. What became of it goes to the record (mutants.jsonl), with the
test that noticed: that one is asked first the next time. Exits with 1 if fewer than 97 % are noticed.

Tests run in forked processes: what takes long to import is imported once. A fault in a file that holds no compiled code
keeps the machine code of the sound tree, which it cannot change. Kernels are compiled anew for a fault in the few kernels
outside the engine, and in what trials side by side have of their own, which is nothing but machine code; with any other one
they are interpreted, as compiling them would take most of the time.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import resource
import shlex
import shutil
import signal
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any, NamedTuple

os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ.setdefault("TRACKER_NO_REPORT", "1")
ROOT = Path(__file__).resolve().parents[1]
HERE = str(Path(__file__).resolve().parent)
sys.path[:] = [HERE, *(part for part in sys.path if part != HERE)]
sys.dont_write_bytecode = True

from planted import ROOMS, Fault  # noqa: E402  (found by path)
from planted.base import misplaced  # noqa: E402
from planted.record import ENOUGH, Outcome, Record, print_table, share  # noqa: E402

sys.path.remove(HERE)  # a script here has the name of a library

COPIED = (
    "tracker",
    "tests",
    "scenarios",
    "studies",
    "docs",
    "benchmarks",
    "pyproject.toml",
    "README.md",
    "CHANGELOG.md",
)
# A fault that makes tests compute so long, and so many times as long, is noticed too; of processor time, not of the clock:
# on a machine that others use the clock says nothing.
LONGER, SECONDS = 8, 240
RECORD = Path(__file__).with_suffix(".jsonl")
FILE = re.compile(r"test_\w+\.py")
# what python compiles, and numba does not
WITHOUT_KERNELS = (
    *(f"tracker/{room}/" for room in ("chain", "cli", "convergence", "environment", "limits", "metrics", "references")),
    *(f"tracker/{room}/" for room in ("reports", "runs", "scenario", "skew")),
    "tracker/costs/minimise/search.py",
    "tracker/engine/simulate.py",
)
# but for those of their files that mark functions for numba
MARKED = re.compile(r"from tracker\.compiled import .*\b(?:kernel|helper|inlined|disjoint)\b")
# what numba compiles and python cannot run
LANES = ("tracker/compiled/lane_", "tracker/lane_streams.py")
OF_LANES = "test_lanes.py"
INTERPRETED, ANEW = None, ""  # in place of the name of machine code


def tree(folder: Path) -> Path:
    """Copy what the tests need."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.html"))
        else:
            shutil.copy(source, folder / name)
    (folder / "reports").mkdir()
    shutil.copytree(
        ROOT / "reports" / "gallery", folder / "reports" / "gallery", ignore=shutil.ignore_patterns("*.html")
    )
    return folder


def load_what_takes_long() -> None:
    """Import what all tests import, but for the package itself."""
    import matplotlib.figure  # noqa: F401
    import numba.extending  # noqa: F401
    import pydantic  # noqa: F401
    import pytest  # noqa: F401
    import scipy.linalg
    import scipy.optimize
    import scipy.special  # noqa: F401
    import simpy  # noqa: F401
    import xarray  # noqa: F401


class Ended(NamedTuple):
    """How tests ended: passed is None if they used up their time; ``by``: the first that failed; ``seconds`` computed."""

    passed: bool | None
    by: str
    told: str
    seconds: float


class FirstFailure:
    """What pytest tells of the first test that fails, kept in a file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        file.write_text("")

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keep the name of a test that failed."""
        if report.failed:
            self._file.write_text(report.nodeid)


def passes(folder: Path, tests: str, code: str | None, seconds: float = SECONDS) -> Ended:
    """Run ``tests`` (pytest's words) in a copy, in a process of its own.

    code : the name of the machine code to use; INTERPRETED: none; ANEW: compile it, and do not keep it
    """
    out, first = folder / "told.txt", folder / "first.txt"
    child = os.fork()
    if child == 0:
        _run(folder, tests, out, code, seconds)
    _, status, used = os.wait4(child, 0)
    spent = used.ru_utime + used.ru_stime
    ended_with = os.waitstatus_to_exitcode(status)
    if ended_with == -signal.SIGXCPU:
        return Ended(None, "", "not finished", spent)
    lines = [line for line in out.read_text(errors="replace").splitlines() if line.strip()]
    # 2 is a collection that broke: a fault that stops a module from loading is noticed; 4 and 5 mean wrong words here
    return Ended(ended_with == 0, first.read_text(), " | ".join(lines[-3:]), spent)


def _run(folder: Path, tests: str, out: Path, code: str | None, seconds: float) -> None:
    """Be the process of the tests; never return."""
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds) + 5))
    file = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, 1)
    os.dup2(file, 2)
    ended_with = 99
    try:
        first = FirstFailure(folder / "first.txt")
        os.chdir(folder)
        os.environ["PYTHONPATH"] = str(folder)
        sys.path[:0] = [str(folder)]
        import pytest

        if code is INTERPRETED:
            _interpret()
        elif code == ANEW:
            os.environ["TRACKER_CACHE_DIR"] = "off"
        else:
            from tracker.compiled import caching

            caching.source_fingerprint = lambda: code
        words = [str(next(Path("tests").rglob(word))) if FILE.fullmatch(word) else word for word in shlex.split(tests)]
        quiet = ["-x", "-q", "--no-header", "-p", "no:cacheprovider", "--assert=plain"]
        ended_with = int(pytest.main([*quiet, *words], plugins=[first]))
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        os._exit(ended_with)


def _interpret() -> None:
    """Let every kernel be an ordinary function."""
    import numpy as np

    from tracker.compiled import Kernel, Unit

    def call(self: Kernel[..., object], *args: object, **kwargs: object) -> object:
        with np.errstate(over="ignore"):  # streams count modulo 2^64
            return self.interpreted(*args, **kwargs)

    Kernel.__call__ = call
    Unit.at = Unit.in_python


def fingerprint(folder: Path) -> str:
    """Return the name of the machine code of a copy."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        sys.path[:0] = [str(folder)]
        from tracker.compiled.caching import source_fingerprint

        os.write(writing, source_fingerprint().encode())
        os._exit(0)
    os.waitpid(child, 0)
    return os.read(reading, 100).decode()


Sound = dict[tuple[str, str | None], Ended]  # by tests, and by the machine code that they use


def plant(room: str, fault: Fault, by: str, sound: Sound, base: Path, code: str) -> Outcome:
    """Plant one fault in the copy, run the tests that should notice, and take it out again.

    by : the test that noticed the last time, asked first; "" if none is known
    """
    folder = base / "copy"
    wrong = misplaced(fault, folder)
    if wrong:
        return Outcome(room, fault, "no such place", 0.0, "", wrong)
    place = folder / fault.file
    text = place.read_text()
    own = INTERPRETED
    of_lanes = fault.file.startswith(LANES) or OF_LANES in fault.tests
    if fault.file.startswith(WITHOUT_KERNELS) or of_lanes:
        own = ANEW if MARKED.search(text) or of_lanes else code
    place.write_text(text.replace(fault.before, fault.after))
    try:
        found = passes(folder, shlex.quote(by), own) if by else None
        if found is None or found.passed:
            found = passes(folder, fault.tests, own)
    finally:
        place.write_text(text)
    state, told = _judged(found, fault.tests, own, sound, folder)
    return Outcome(room, fault, state, found.seconds, found.by, told)


def _judged(found: Ended, tests: str, own: str | None, sound: Sound, folder: Path) -> tuple[str, str]:
    """Return what a run of tests with a fault says of them, after a look whether they pass without it, and in less time."""
    if found.passed:
        return "survived", found.told
    asked = shlex.quote(found.by) if found.by else tests
    if (asked, own) not in sound:
        sound[asked, own] = passes(folder, asked, own)
    fine = sound[asked, own]
    if not fine.passed:
        return "not run", f"the tests do not pass without it: {fine.told}"
    if found.passed is None and LONGER * fine.seconds > SECONDS:
        return "not run", f"the tests take long without it too: {fine.seconds:.0f} s"
    return "noticed" if found.passed is False else "hung", found.told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="*", default=list(ROOMS), help=", ".join(ROOMS))
    parser.add_argument("--only", default="")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--record", type=Path, default=RECORD)
    options = parser.parse_args()
    record = Record(options.record)
    record.forget_all_but(fault for room in ROOMS.values() for fault in room)
    chosen = [
        (room, fault)
        for room in options.rooms
        for fault in ROOMS[room]
        if options.only in f"{fault.file} {fault.before} {fault.after} {fault.tests}"
        and not (options.again and record.of(fault).state in ("noticed", "hung"))
    ]
    if options.list:
        for room, fault in chosen:
            print(f"{room}: {fault}; {fault.tests}")
    for room, fault in chosen:
        if wrong := misplaced(fault, ROOT):
            print(f"NO SUCH PLACE  {room}: {fault}: {wrong}")
    if options.list:
        print(f"{len(chosen)} faults in {len(options.rooms)} rooms")
    elif not options.table:
        plant_all(chosen, record)
    if not options.list:
        outcomes = [record.of(fault, room) for room in options.rooms for fault in ROOMS[room]]
        print_table(options.rooms, outcomes)
        sys.exit(0 if share(outcomes) >= ENOUGH else 1)


def plant_all(chosen: list[tuple[str, Fault]], record: Record) -> None:
    """Plant each of the chosen faults in a copy of the tree as it is now, and keep what becomes of it."""
    load_what_takes_long()
    sound = Sound()
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        (base / "copy").mkdir()
        code = fingerprint(tree(base / "copy"))
        for room, fault in chosen:
            outcome = plant(room, fault, record.of(fault).by, sound, base, code)
            record.keep(outcome)
            told = outcome.by if outcome.state in ("noticed", "hung") else outcome.told
            print(f"{outcome.state:13} {outcome.seconds:5.1f} s  {fault}\n              {told}", flush=True)


if __name__ == "__main__":
    main()
