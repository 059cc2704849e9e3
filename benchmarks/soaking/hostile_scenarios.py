"""Files that want to hang, crash or fill the program: the fuzzer's, the bombs, and what becomes of those accepted."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import bombs as bombs_of
import fuzzing

from soaking.common import ROOT, Sizes, check, say
from tracker.scenario import ScenarioError, parse

CPU_SECONDS, MEGABYTES = 2.0, 500
PERTURBED = ("0", "165")  # the byte with which glibc fills fresh memory
CHUNK = 1000
ACCEPTED_CODES = (0, 3, 4, 5, 6)  # a limit may be rejected or refused, a trial may diverge

# Commands in one process, each with its own measure: loading everything anew would be most of the time.
CHILD = """
import json, logging, os, resource, shutil, sys, time, warnings
sys.path[:0] = [{root!r}, {tests!r}]
from pathlib import Path
import fuzzing
from typer.testing import CliRunner
from tracker.cli import app
logging.disable()
os.chdir(sys.argv[1])
runner = CliRunner()
runner.invoke(app, ["validate", {warm!r}])  # what is imported or loaded once is not the file's cost
for line in sys.stdin:
    seed, commands = json.loads(line)
    if seed is not None:
        Path("fuzz.toml").write_bytes(fuzzing.hostile(seed).encode("utf-8", "surrogatepass"))
    for arguments in commands:
        began = time.process_time()
        with warnings.catch_warnings(record=True) as leaked:
            warnings.simplefilter("always")
            result = runner.invoke(app, arguments)
        ended = result.exception is None or isinstance(result.exception, SystemExit)
        print(json.dumps([seed, arguments[0], result.exit_code, round(time.process_time() - began, 3),
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, None if ended else repr(result.exception)[:300],
            [str(w.message)[:200] for w in leaked]]), flush=True)
    shutil.rmtree("run", ignore_errors=True), shutil.rmtree("csv", ignore_errors=True)
    Path("draws.nc").unlink(missing_ok=True)
"""


class Outcome(NamedTuple):
    """How a command on a file ended."""

    seed: int | None
    command: str
    code: int
    seconds: float  # of CPU
    megabytes: float  # the most that the process ever had
    error: str | None
    warnings: list[str]


def in_a_child(jobs: Sequence[tuple[int | None, list[list[str]]]], folder: Path, perturb: str) -> list[Outcome]:
    """Carry out the commands on the fuzzer's files, one after another in one process."""
    folder.mkdir(exist_ok=True)
    shutil.copy(ROOT / "scenarios" / "breast_cancer.csv", folder)
    warm = str(ROOT / "scenarios" / "swapping_wells.toml")
    code = CHILD.format(root=str(ROOT), tests=str(ROOT / "tests"), warm=warm)
    env = {**os.environ, "MALLOC_PERTURB_": perturb, "OPENBLAS_NUM_THREADS": "1", "TRACKER_NO_REPORT": "1"}
    said = "\n".join(json.dumps(job) for job in jobs)
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], env=env, input=said, capture_output=True, text=True, check=False
    )
    found = [Outcome(*json.loads(line)) for line in done.stdout.splitlines()]
    if done.returncode:
        last = found[-1].seed if found else None
        check(False, f"the process ended with {done.returncode} after seed {last}: {done.stderr[-500:]}")
    return found


def judge(outcome: Outcome, stage: str) -> None:
    """Count a traceback or a leaked warning."""
    name = f"{stage}: seed {outcome.seed}: {outcome.command}"
    check(outcome.error is None, f"{name}: {outcome.error}")
    check(not outcome.warnings, f"{name}: warned: {outcome.warnings[:1]}")


def scenarios(sizes: Sizes, folder: Path) -> None:
    """Validate tens of thousands of files that nobody would write, half of them with perturbed memory."""
    began, codes, found = time.monotonic(), Counter[int](), list[Outcome]()
    for first in range(0, sizes.scenarios, CHUNK):
        seeds = range(first, min(first + CHUNK, sizes.scenarios))
        jobs = [(seed, [["validate", "fuzz.toml"]]) for seed in seeds]
        new = in_a_child(jobs, folder / "fuzz", PERTURBED[first // CHUNK % len(PERTURBED)])
        for outcome in new:
            codes[outcome.code] += 1
            judge(outcome, "scenarios")
            check(outcome.seconds <= CPU_SECONDS, f"scenarios: seed {outcome.seed}: {outcome.seconds} s of CPU")
            check(outcome.code in (0, 3, 4), f"scenarios: seed {outcome.seed}: exit code {outcome.code}")
        found += new
        if seeds.stop % 10_000 == 0:
            say("  scenarios so far", of=seeds.stop, exit_codes=dict(codes))
    peak = max(outcome.megabytes for outcome in found)
    check(peak <= MEGABYTES, f"scenarios: {peak} MB")
    say("scenarios", **_facts(found), exit_codes=dict(sorted(codes.items())), seconds=round(time.monotonic() - began))


def _facts(found: list[Outcome]) -> dict[str, Any]:
    return {
        "commands": len(found),
        "tracebacks": sum(outcome.error is not None for outcome in found),
        "above_2_s_of_CPU": sum(outcome.seconds > CPU_SECONDS for outcome in found),
        "longest": max(outcome.seconds for outcome in found),
        "peak_MB": max(outcome.megabytes for outcome in found),
        "with_a_warning": sum(bool(outcome.warnings) for outcome in found),
    }


def bombs(_: Sizes, folder: Path) -> None:
    """Validate small files that ask for much."""
    began, place = time.monotonic(), folder / "bombs"
    found = list[Outcome]()
    for name in bombs_of.BOMBS:
        own = place / name
        own.mkdir(parents=True)
        file = bombs_of.write(name, own)
        for outcome in in_a_child([(None, [["validate", file.name]])], own, "165"):
            judge(outcome, f"bombs: {name}")
            check(outcome.seconds <= CPU_SECONDS, f"bombs: {name}: {outcome.seconds} s of CPU")
            check(outcome.megabytes <= MEGABYTES, f"bombs: {name}: {outcome.megabytes} MB")
            check(outcome.code in (0, 3, 4), f"bombs: {name}: exit code {outcome.code}")
            found.append(outcome)
    codes = Counter(outcome.code for outcome in found)
    say("bombs", **_facts(found), exit_codes=dict(sorted(codes.items())), seconds=round(time.monotonic() - began))


def accepted(sizes: Sizes, folder: Path) -> None:
    """Run, report, export and limit files that the fuzzer made and the reader accepted."""
    began, seed, jobs = time.monotonic(), 10_000_000, list[tuple[int, list[list[str]]]]()
    commands = [
        ["run", "fuzz.toml", "--out", "run", "--quiet", "--workers", "1"],
        ["report", "run"],
        ["export", "run", "--csv", "csv"],
        ["limit", "fuzz.toml"],
    ]
    while len(jobs) < sizes.accepted:
        seed += 1
        try:
            scenario = parse(fuzzing.hostile(seed), folder=ROOT / "scenarios")
        except ScenarioError:
            continue
        if not scenario.sweep and scenario.trials <= 10 and scenario.steps <= 10_000:
            jobs.append((seed, commands))
    found = in_a_child(jobs, folder / "accepted", "165")
    codes = Counter(f"{outcome.command} {outcome.code}" for outcome in found)
    for outcome in found:
        judge(outcome, "accepted")
        # what could not run (a run that was refused) has nothing to report or to export
        allowed = (*ACCEPTED_CODES, 2, 7) if outcome.command in ("report", "export") else ACCEPTED_CODES
        check(outcome.code in allowed, f"accepted: seed {outcome.seed}: {outcome.command}: exit code {outcome.code}")
    longest = {
        name: max(o.seconds for o in found if o.command == name) for name in ("run", "report", "export", "limit")
    }
    say("accepted", of=len(jobs), exit_codes=dict(sorted(codes.items())), longest_CPU=longest, **_facts(found), seconds=round(time.monotonic() - began))  # fmt: skip
