"""Tests that can fail: plant small faults, one at a time, wherever a number or a verdict is computed, and see who notices.

    python benchmarks/mutants.py                      all of them; two at a time; a table by room at the end
    python benchmarks/mutants.py samplers chain       some rooms
    python benchmarks/mutants.py --only 'ratio'       those whose fault or file holds a word
    python benchmarks/mutants.py --list               what would be planted

A fault is a piece of source, what stands in its place, and the tests that should notice. Each is planted in a copy of the
tree; the copy without a fault must pass the same tests first. Exits with 1 if fewer than 97 % are noticed.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(Path(__file__).parent))

from planted import ROOMS, Fault  # noqa: E402  (found by path)

COPIED = ("tracker", "tests", "scenarios", "benchmarks", "pyproject.toml", "README.md", "CHANGELOG.md")
SECONDS = 900  # a fault that makes a test run for ever is noticed too
ENOUGH = 0.97


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


def passes(folder: Path, tests: str) -> tuple[bool | None, str]:
    """Run ``tests`` (pytest's words) in a copy; None if they did not end in time."""
    env = {
        **os.environ,
        "PYTHONPATH": str(folder),
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    words = _words(tests)
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider", *words]
    try:
        done = subprocess.run(
            command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return None, "not finished"
    last = [line for line in done.stdout.splitlines() if line.strip()][-3:]
    if done.returncode not in (0, 1):
        last = (done.stdout + done.stderr).splitlines()[-5:]
    # 2 is a collection that broke: a fault that stops a module from loading is noticed; 4 and 5 mean wrong words here
    return (None if done.returncode in (4, 5) else done.returncode == 0), " | ".join(last)


def _words(tests: str) -> list[str]:
    return [
        f"tests/{word}" if word.startswith("test_") and word.endswith(".py") else word for word in shlex.split(tests)
    ]


class Sound:
    """Whether tests pass without a fault, each selection looked at once."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._known, self._lock = folder, dict[str, tuple[bool | None, str]](), threading.Lock()
        self._locks: dict[str, threading.Lock] = {}

    def __call__(self, tests: str) -> tuple[bool | None, str]:
        """Run the tests in the sound copy, or remember how they ended."""
        with self._lock:
            own = self._locks.setdefault(tests, threading.Lock())
        with own:
            if tests not in self._known:
                self._known[tests] = passes(self._folder, tests)
            return self._known[tests]


def plant(room: str, fault: Fault, sound: Sound, base: Path) -> Outcome:
    """Plant one fault in a copy of its own and run the tests that should notice."""
    began = time.monotonic()
    text = (ROOT / fault.file).read_text()
    if text.count(fault.before) != 1:
        return Outcome(room, fault, "no such place", 0.0, f"found {text.count(fault.before)} times")
    fine, told = sound(fault.tests)
    if not fine:
        return Outcome(room, fault, "no such place", 0.0, f"the tests do not pass without it: {told}")
    with tempfile.TemporaryDirectory(dir=base) as folder:
        copy = tree(Path(folder))
        (copy / fault.file).write_text(text.replace(fault.before, fault.after))
        passed, told = passes(copy, fault.tests)
    state = {True: "survived", False: "noticed", None: "hung"}[passed]
    return Outcome(room, fault, state, time.monotonic() - began, told)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="*", default=list(ROOMS), help=", ".join(ROOMS))
    parser.add_argument("--only", default="")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    chosen = [
        (room, fault)
        for room in options.rooms
        for fault in ROOMS[room]
        if options.only in f"{fault.file} {fault.before} {fault.after} {fault.tests}"
    ]
    if options.list:
        for room, fault in chosen:
            print(f"{room}: {fault.file}: {fault.before.strip()!r} -> {fault.after.strip()!r}; {fault.tests}")
        return
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        base = Path(folder)
        (base / "sound").mkdir()
        sound = Sound(tree(base / "sound"))
        found = []
        for outcome in pool.map(lambda pair: plant(*pair, sound, base), chosen):
            found.append(outcome)
            fault = outcome.fault
            print(
                f"{outcome.state:13} {outcome.seconds:5.0f} s  {fault.file}: {fault.before.strip()!r} -> {fault.after.strip()!r}"
                + (f"\n              {outcome.told}" if outcome.state in ("survived", "no such place") else ""),
                flush=True,
            )
    table = {room: Counter(o.state for o in found if o.room == room) for room in options.rooms}
    print(f"\n{'room':14} {'planted':>8} {'noticed':>8} {'survived':>9} {'not planted':>12}")
    for room, counts in table.items():
        noticed = counts["noticed"] + counts["hung"]
        planted = noticed + counts["survived"]
        print(f"{room:14} {planted:8} {noticed:8} {counts['survived']:9} {counts['no such place']:12}")
    noticed = sum(o.state in ("noticed", "hung") for o in found)
    planted = noticed + sum(o.state == "survived" for o in found)
    print(f"{'all':14} {planted:8} {noticed:8}   {100 * noticed / max(1, planted):.1f} %")
    sys.exit(0 if noticed >= ENOUGH * len(found) else 1)


if __name__ == "__main__":
    main()
