"""Strangers' directories under our file names, and run directories that attack whoever reads them."""

from __future__ import annotations

import resource
import shutil
import signal
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np
from attacks import COMMANDS, FINE, answer, plant
from directories import LAYOUTS, contents, foreign_directory, precious
from faults import kept_entries
from forging import identity_of

import tracker
from soaking.common import SHORT, Sizes, check, say
from tracker.advice.theory_of_run import theory_of
from tracker.engine.simulate import Snapshot, empty_ledger, prepare
from tracker.runs import CorruptRun, RunExists, checkpoints

CPU_SECONDS, MEGABYTES = 2.0, 500
PATIENCE, HUNG = 60, 1800  # seconds of CPU, and by the clock
SWEPT = SHORT.replace(trials=2, steps=40, burn_in=0, record_every=10, sweep={"chain.alpha": [0.01, 0.02]})
WAYS = ({}, {"replace": True}, {"resume": True})


def foreign(sizes: Sizes, folder: Path) -> None:
    """Run and sweep into directories that hold any of our names, with strangers' content: nothing may be lost."""
    began, refused, lost = time.monotonic(), 0, 0
    tracker.run(SHORT, folder / "finished", 1)
    for seed in range(sizes.foreign + len(LAYOUTS)):
        place = folder / "world"
        place.mkdir()
        outside = precious(place / "outside")
        theirs = place / "theirs"
        if seed < len(LAYOUTS):
            shutil.copytree(folder / "finished", theirs) if list(LAYOUTS)[seed] == "notes in a run" else theirs.mkdir()
            list(LAYOUTS.values())[seed](theirs)
        else:
            foreign_directory(theirs, seed, outside)
        before = contents(place)
        for way in WAYS:
            for begin, scenario in ((tracker.run, SHORT), (tracker.sweep, SWEPT)):
                try:
                    begin(scenario, theirs, 1, **way)
                except (RunExists, CorruptRun):
                    refused += 1
        lost += contents(place) != before
        check(contents(place) == before, f"foreign: seed {seed}: something changed")
        shutil.rmtree(place)
    say("foreign", directories=sizes.foreign + len(LAYOUTS), commands_refused=refused, with_a_change=lost, seconds=round(time.monotonic() - began))  # fmt: skip


def under_way(path: Path) -> None:
    """Leave a run of six shards after the third, with a snapshot of the fifth."""

    def stop(done: float, total: float, note: str) -> None:
        if note.startswith("running") and len(kept_entries(path)) >= 3:
            raise KeyboardInterrupt

    with suppress(KeyboardInterrupt):
        tracker.run(SHORT, path, 1, shard_size=1, progress=stop)
    problem = prepare(SHORT)
    ledgers = tuple(empty_ledger(problem, contestant, 1) for contestant in problem.contestants)
    empty = Snapshot(np.zeros(len(ledgers), dtype=np.int64), np.zeros(len(ledgers)), ledgers)
    (path / "checkpoints" / "000004.npz").write_bytes(checkpoints.encode(empty, f"{identity_of(path)}/4"))


def attacks(sizes: Sizes, folder: Path) -> None:
    """Plant every kind of attack in finished and unfinished runs, and ask every command."""
    theory_of(tracker.run(SHORT, folder / "finished", 1, shard_size=1))
    under_way(folder / "under_way")
    for number in (1, 2):
        theory_of(tracker.run(SHORT, folder / f"part{number}", 1, shard_size=1, part=(number, 2)))
    expected = tracker.run(SHORT).summary["hash"]
    answers, kinds, worst, began = Counter[str](), set[str](), 0.0, time.monotonic()

    def broken_off(*_: object) -> None:
        raise TimeoutError

    # a pipe that is waited for takes no CPU, and a busy machine no more than all it has: both clocks, one far longer
    signal.signal(signal.SIGPROF, broken_off)
    signal.signal(signal.SIGALRM, broken_off)
    tracker.open_run(folder / "finished").report(folder / "page.html")  # what is loaded once is no attack's cost
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for seed in range(sizes.attacks):
        command = COMMANDS[seed // 2 % len(COMMANDS)]
        source = folder / ("part1" if command == "merge" else "finished" if seed % 2 else "under_way")
        place = folder / "world"
        outside = precious(place / "outside")
        copy = Path(shutil.copytree(source, place / "run"))
        attack = plant(copy, seed // 2, outside)
        kinds.add(attack.name)
        safe = contents(outside)
        clock = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, PATIENCE)
        signal.alarm(HUNG)
        try:
            given = answer(command, copy, SHORT, expected, folder / "part2")
        except Exception as error:
            given = f"{type(error).__name__}: {error}"
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        seconds = time.process_time() - clock
        worst = max(worst, 0.0 if command == "report" else seconds)
        answers[given] += 1
        check(given in attack.answers[command], f"attacks: {attack.name}: {command}: {given}")
        drawn = command == "report" and given == FINE  # what was planted is none of its business: the page is drawn
        check(drawn or seconds <= CPU_SECONDS, f"attacks: {attack.name}: {command}: {seconds:.1f} s of CPU")
        check(contents(outside) == safe, f"attacks: {attack.name}: {command}: wrote outside")
        shutil.rmtree(place)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) // 1024
    check(grown <= MEGABYTES, f"attacks: {grown} MB")
    say("attacks", of=sizes.attacks, kinds=len(kinds), answers=dict(answers), longest=round(worst, 2), MB_grown=grown, seconds=round(time.monotonic() - began))  # fmt: skip
