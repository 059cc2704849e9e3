"""Tests that can fail: plant small faults, one at a time, wherever a number or a verdict is computed, and see who notices.

    python benchmarks/mutants.py                      all of them; a table by room at the end
    python benchmarks/mutants.py samplers chain       some rooms
    python benchmarks/mutants.py --only 'ratio'       those whose fault or file holds a word
    python benchmarks/mutants.py --list               what would be planted

A fault is a piece of source, what stands in its place, and the tests that should notice. Each is planted in a copy of the
tree; the copy without a fault must pass the same tests first. Exits with 1 if fewer than 97 % are noticed.

Tests run in forked processes: what takes long to import is imported once. A fault in a file that holds no compiled code
keeps the machine code of the sound tree, which it cannot change; with any other one kernels are interpreted, as compiling
them anew would take most of the time.
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
from collections import Counter
from pathlib import Path
from typing import NamedTuple

os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ.setdefault("TRACKER_NO_REPORT", "1")
ROOT = Path(__file__).resolve().parents[1]
HERE = str(Path(__file__).resolve().parent)
sys.path[:] = [HERE, *(part for part in sys.path if part != HERE)]
sys.dont_write_bytecode = True

from planted import ROOMS, Fault  # noqa: E402  (found by path)

sys.path.remove(HERE)  # a script here has the name of a library

COPIED = ("tracker", "tests", "scenarios", "studies", "benchmarks", "pyproject.toml", "README.md", "CHANGELOG.md")
# A fault that makes tests compute so many times as long, and so long, is noticed too; of processor time, not of the clock:
# on a machine that others use the clock says nothing.
LONGER, SECONDS = 8, 20
ENOUGH = 0.97
FILE = re.compile(r"test_\w+\.py")
# what python compiles, and numba does not
WITHOUT_KERNELS = (
    *(f"tracker/{room}/" for room in ("chain", "cli", "convergence", "environment", "limits", "metrics", "references")),
    *(f"tracker/{room}/" for room in ("reports", "runs", "scenario", "skew")),
    "tracker/costs/minimise/search.py",
    "tracker/engine/simulate.py",
)


class Outcome(NamedTuple):
    """What became of a fault: "noticed", "hung", "survived", or "no such place"."""

    room: str
    fault: Fault
    state: str
    seconds: float
    told: str


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
    """How tests ended: passed is None if they used up their time; ``seconds`` of the processor."""

    passed: bool | None
    told: str
    seconds: float


def passes(folder: Path, tests: str, code: str | None, seconds: float = 600.0) -> Ended:
    """Run ``tests`` (pytest's words) in a copy, in a process of its own.

    code : the name of the machine code to use; None to interpret all kernels
    """
    out = folder / "told.txt"
    child = os.fork()
    if child == 0:
        _run(folder, tests, out, code, seconds)
    _, status, used = os.wait4(child, 0)
    spent = used.ru_utime + used.ru_stime
    ended_with = os.waitstatus_to_exitcode(status)
    if ended_with == -signal.SIGXCPU:
        return Ended(None, "not finished", spent)
    lines = [line for line in out.read_text(errors="replace").splitlines() if line.strip()]
    # 2 is a collection that broke: a fault that stops a module from loading is noticed; 4 and 5 mean wrong words here
    return Ended(ended_with == 0, " | ".join(lines[-3:]), spent)


def _run(folder: Path, tests: str, out: Path, code: str | None, seconds: float) -> None:
    """Be the process of the tests; never return."""
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds) + 5))
    file = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, 1)
    os.dup2(file, 2)
    ended_with = 99
    try:
        os.chdir(folder)
        os.environ["PYTHONPATH"] = str(folder)
        sys.path[:0] = [str(folder)]
        import pytest

        if code is None:
            _interpret()
        else:
            from tracker.compiled import caching

            caching.source_fingerprint = lambda: code
        words = [f"tests/{word}" if FILE.fullmatch(word) else word for word in shlex.split(tests)]
        ended_with = int(pytest.main(["-x", "-q", "--no-header", "-p", "no:cacheprovider", "--assert=plain", *words]))
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        os._exit(ended_with)


def _interpret() -> None:
    """Let every kernel be an ordinary function."""
    import numpy as np

    from tracker.compiled import Kernel

    def call(self: Kernel[..., object], *args: object, **kwargs: object) -> object:
        with np.errstate(over="ignore"):  # streams count modulo 2^64
            return self.interpreted(*args, **kwargs)

    Kernel.__call__ = call


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


def plant(room: str, fault: Fault, sound: Sound, base: Path, code: str) -> Outcome:
    """Plant one fault in the copy, run the tests that should notice, and take it out again."""
    folder = base / "copy"
    place = folder / fault.file
    text = place.read_text()
    if text.count(fault.before) != 1:
        return Outcome(room, fault, "no such place", 0.0, f"found {text.count(fault.before)} times")
    own = code if fault.file.startswith(WITHOUT_KERNELS) else None
    if (fault.tests, own) not in sound:
        sound[fault.tests, own] = passes(folder, fault.tests, own)
    fine = sound[fault.tests, own]
    if not fine.passed:
        return Outcome(room, fault, "no such place", 0.0, f"the tests do not pass without it: {fine.told}")
    seconds = max(SECONDS, LONGER * fine.seconds)
    place.write_text(text.replace(fault.before, fault.after))
    try:
        found = passes(folder, fault.tests, own, seconds)
    finally:
        place.write_text(text)
    state = {True: "survived", False: "noticed", None: "hung"}[found.passed]
    return Outcome(room, fault, state, found.seconds, found.told)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="*", default=list(ROOMS), help=", ".join(ROOMS))
    parser.add_argument("--only", default="")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    chosen = [
        (room, fault)
        for room in options.rooms
        for fault in ROOMS[room]
        if options.only in f"{fault.file} {fault.before} {fault.after} {fault.tests}"
    ]
    if options.list:
        for room, fault in chosen:
            count = (ROOT / fault.file).read_text().count(fault.before)
            wrong = "" if count == 1 else f" (stands there {count} times)"
            print(f"{room}: {fault.file}: {fault.before.strip()!r} -> {fault.after.strip()!r}; {fault.tests}{wrong}")
        print(f"{len(chosen)} faults in {len(options.rooms)} rooms")
        return
    load_what_takes_long()
    found, sound = [], Sound()
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        (base / "copy").mkdir()
        code = fingerprint(tree(base / "copy"))
        for room, fault in chosen:
            outcome = plant(room, fault, sound, base, code)
            found.append(outcome)
            print(
                f"{outcome.state:13} {outcome.seconds:5.1f} s  {fault.file}: {fault.before.strip()!r} -> {fault.after.strip()!r}"
                + (f"\n              {outcome.told}" if outcome.state in ("survived", "no such place") else ""),
                flush=True,
            )
    print_table(options.rooms, found)
    noticed = sum(o.state in ("noticed", "hung") for o in found)
    sys.exit(0 if noticed >= ENOUGH * len(found) else 1)


def print_table(rooms: list[str], found: list[Outcome]) -> None:
    """Print how many were planted and noticed, by room."""
    print(f"\n{'room':14} {'planted':>8} {'noticed':>8} {'survived':>9} {'not planted':>12}")
    total: Counter[str] = Counter()
    for room in [*rooms, "all"]:
        counts = total if room == "all" else Counter(o.state for o in found if o.room == room)
        noticed = counts["noticed"] + counts["hung"]
        planted = noticed + counts["survived"]
        share = f"   {100 * noticed / max(1, planted):.1f} %" if room == "all" else ""
        print(f"{room:14} {planted:8} {noticed:8} {counts['survived']:9} {counts['no such place']:12}{share}")
        if room != "all":
            total += counts


if __name__ == "__main__":
    main()
