"""Bits that flip: in runs under way and finished, in snapshots, sweeps and the compile cache."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from faults import flipped, kept_entries

import tracker
from soaking.common import FEW, ROOT, SHORT, TEXT, Sizes, check, say
from tracker.advice.theory_of_run import theory_of
from tracker.runs import CorruptRun, checkpoints, open_run, open_sweep
from tracker.runs.file_names import THEORY
from tracker.runs.theory_file import theory_in

Attack = Callable[[random.Random], str]
REFUSED, AGAIN, ACCEPTED = "refused", "computed again", "accepted in silence"
SMALL = ("steps=200", "trials=2", "record_every=100")

# Forks a process with nothing compiled for each line. Small kernels nearly always, since each flip compiles one of them again;
# the loop of a run now and then.
CACHED = """
import os, sys
import tracker, xarray, h5netcdf
from tracker.scenario import stability_limits
from tracker.scenario.builders import build_modes
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        what, file = line.split()
        scenario = tracker.load(file)
        if what == "run":
            print(tracker.run(scenario, executor=1).summary["hash"], flush=True)
        else:
            modes = build_modes(scenario)
            found = [mode.floor for mode in modes] + [one.limit for one in stability_limits(scenario, modes)]
            print(*(number.hex() for number in found), flush=True)
        os._exit(0)
    print("exit", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
RUNS = 6  # one in so many flips of the cache


class Cached:
    """A server that computes with the kernels in ``cache``, each time in a process that has loaded none."""

    def __init__(self, cache: Path, small: Path, mixture: Path) -> None:
        self.cache, self._files = cache, {"run": small, "minimisers": mixture}
        env = {**os.environ, "PYTHONPATH": str(ROOT), "TRACKER_CACHE_DIR": str(cache), "OPENBLAS_NUM_THREADS": "1"}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen([sys.executable, "-c", CACHED], env=env, text=True, **pipes)
        self.expected = {what: self.answer(what) for what in self._files}

    def answer(self, what: str) -> tuple[str, ...]:
        """Return what it printed, and how it ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(what, self._files[what], file=self._process.stdin, flush=True)
        lines = [self._process.stdout.readline()]
        while not lines[-1].startswith("exit"):
            assert lines[-1], "the server has ended"
            lines.append(self._process.stdout.readline())
        return tuple(line.strip() for line in lines)

    def close(self) -> None:
        """End it."""
        self._process.communicate()


@contextmanager
def one_bit(path: Path, rng: random.Random) -> Iterator[None]:
    """Flip a bit of a file, and put everything back afterwards."""
    sound = path.read_bytes()
    path.write_bytes(flipped(sound, rng))
    try:
        yield
    finally:
        path.write_bytes(sound)


@contextmanager
def copied(folder: Path, rng: random.Random, choose: Callable[[Path], bool]) -> Iterator[tuple[Path, Path]]:
    """Copy a run directory and flip one bit of one of its files; give the copy and the file."""
    copy = folder.with_name("copy")
    shutil.copytree(folder, copy)
    victim = rng.choice(sorted(file for file in copy.rglob("*") if file.is_file() and choose(file)))
    victim.write_bytes(flipped(victim.read_bytes(), rng))
    try:
        yield copy, victim
    finally:
        shutil.rmtree(copy)


def resumed(folder: Path, rng: random.Random, scenario: tracker.Scenario, expected: str, kind: str) -> str:
    """Flip a bit of an unfinished run, go on with it, and compare the hash."""
    with copied(folder, rng, lambda file: kind in str(file.relative_to(folder.with_name("copy")))) as (copy, victim):
        notices: list[str] = []
        try:
            run = tracker.run(scenario, copy, 1, resume=True, notice=notices.append)
        except CorruptRun:
            return REFUSED
        except tracker.runs.RunDiffers:  # the flip made it another scenario, which is said
            return REFUSED
        check(run.summary["hash"] == expected, f"flip in {victim.name}: another hash")
        return AGAIN if run.summary["hash"] == expected else ACCEPTED


def finished(folder: Path, rng: random.Random) -> str:
    """Flip a bit of a finished run and open it."""
    with one_bit(rng.choice(sorted(file for file in folder.iterdir() if file.is_file() and file.name != THEORY)), rng):
        try:
            open_run(folder)
        except CorruptRun:
            return REFUSED
    return ACCEPTED


def swept(folder: Path, rng: random.Random) -> str:
    """Flip a bit of any file of a finished sweep and open it with all its points."""
    victim = rng.choice(sorted(file for file in folder.rglob("*") if file.is_file()))
    with one_bit(victim, rng):
        try:
            sweep = open_sweep(folder)
        except CorruptRun:
            return REFUSED
        lost = [outcome for outcome in sweep.outcomes if outcome.state == "failed"]
        return REFUSED if lost else ACCEPTED


def theory(folder: Path, rng: random.Random) -> str:
    """Flip a bit of what theory says of a finished run, and ask for it: only what was written to the last bit is believed."""
    whole = theory_in(folder)
    with one_bit(folder / THEORY, rng):
        found = theory_in(folder)
    return AGAIN if found is None else REFUSED if found != whole else ACCEPTED


def merged(parts: Path, rng: random.Random, expected: str) -> str:
    """Flip a bit of any file of a part that a merge reads, and merge the parts."""
    victim = rng.choice(sorted(file for file in (parts / "1").iterdir() if file.name != THEORY))
    with one_bit(victim, rng):
        try:
            run = tracker.merge(parts / "whole", [parts / "1", parts / "2"], replace=True)
        except CorruptRun:
            return REFUSED
    check(run.summary["hash"] == expected, f"flip in {victim.name} of a part: another hash")
    return ACCEPTED


def cached(server: Cached, rng: random.Random) -> str:
    """Flip a bit of a compiled kernel, of its index or its digest, and compute in a new process."""
    what = "run" if rng.randrange(RUNS) == 0 else "minimisers"
    with one_bit(
        rng.choice(sorted(path for path in server.cache.rglob("*") if path.is_file() and path.stat().st_size)), rng
    ):
        found = server.answer(what)
        check(found == server.expected[what], f"flip in the cache: {what}: {found}")
        return AGAIN if found == server.expected[what] else ACCEPTED


def flips(sizes: Sizes, folder: Path) -> None:
    """Flip one bit, in any kind of file, and see what is made of it."""
    short = tracker.run(SHORT).summary["hash"]
    long = FEW.replace(steps=400_000, record_every=50_000)
    whole = tracker.run(long).summary["hash"]
    file = folder / "small.toml"
    small = tracker.parse(TEXT, settings=SMALL)
    file.write_text(small.toml())
    under_way, inside = folder / "1" / "run", folder / "2" / "run"
    _broken_off(SHORT, under_way, lambda: len(kept_entries(under_way)) >= 3, shard_size=1)
    before, checkpoints.SECONDS_BETWEEN_SNAPSHOTS = checkpoints.SECONDS_BETWEEN_SNAPSHOTS, 0.02
    worth, checkpoints.SECONDS_WORTH_KEEPING = checkpoints.SECONDS_WORTH_KEEPING, 0.0
    _broken_off(long, inside, lambda: any(inside.glob("checkpoints/0*")), shard_size=2)
    checkpoints.SECONDS_BETWEEN_SNAPSHOTS, checkpoints.SECONDS_WORTH_KEEPING = before, worth
    complete, sweep = folder / "3" / "run", folder / "4" / "sweep"
    tracker.run(SHORT, complete, 1)
    tracker.sweep(SHORT.replace(sweep={"chain.alpha": [0.01, 0.02]}), sweep, 1)
    parts, few, adding = folder / "5", SHORT.replace(trials=3), folder / "6" / "run"
    for number in (1, 2):
        tracker.run(SHORT, parts / str(number), 1, part=(number, 2))
    theory_of(tracker.open_run(complete))
    tracker.run(few, adding, 1)
    _broken_off(SHORT, adding, lambda: bool(kept_entries(adding)), shard_size=1, add_trials=True)
    server = Cached(folder / "cache", file, ROOT / "scenarios" / "jumping_mixture.toml")
    attacks: dict[str, tuple[int, Attack]] = {
        "an unfinished run": (sizes.flips * 35 // 100, lambda rng: resumed(under_way, rng, SHORT, short, "")),
        "a snapshot": (sizes.flips * 10 // 100, lambda rng: resumed(inside, rng, long, whole, "checkpoints")),
        "a finished run": (sizes.flips * 22 // 100, lambda rng: finished(complete, rng)),
        "what theory says": (sizes.flips * 5 // 100, lambda rng: theory(complete, rng)),
        "a part of a run": (sizes.flips * 8 // 100, lambda rng: merged(parts, rng, short)),
        "a run that gets more trials": (sizes.flips * 8 // 100, lambda rng: resumed(adding, rng, SHORT, short, "")),
        "a finished sweep": (sizes.flips * 10 // 100, lambda rng: swept(sweep, rng)),
        "the compile cache": (sizes.flips * 2 // 100, lambda rng: cached(server, rng)),
    }
    for name, (times, attack) in attacks.items():
        rng, began = random.Random(2), time.monotonic()
        found = Counter(attack(rng) for _ in range(times))
        check(found[ACCEPTED] == 0, f"flips in {name}: {found[ACCEPTED]} accepted in silence")
        say(f"flips in {name}", of=times, outcomes=json.dumps(dict(found)), seconds=round(time.monotonic() - began))
    server.close()


def _broken_off(
    scenario: tracker.Scenario, path: Path, enough: Callable[[], bool], shard_size: int, **options: bool
) -> None:
    """Begin a run and break it off where there is enough to flip."""

    def stop(done: float, total: float, note: str) -> None:
        if note.startswith("running") and enough():
            raise KeyboardInterrupt

    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(KeyboardInterrupt):
        tracker.run(scenario, path, 1, shard_size=shard_size, progress=stop, **options)
