"""Files that want to hang, crash or fill the program: the fuzzer's, the bombs, and what becomes of those accepted."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bombs as bombs_of
import fuzzing
from later_keys import data_files

from soaking.common import Sizes, check, say
from soaking.warmed import FILE, Job, Outcome, outcomes
from tracker.scenario import ScenarioError, parse

CPU_SECONDS, MEGABYTES = 2.0, 500
PERTURBED = ("0", "165")  # the byte with which glibc fills fresh memory
CHUNK = 2500  # files of one process
VALIDATED = (0, 3, 4)
COMPLETED = (0, 3, 4, 5, 6)  # a limit may be rejected or refused, a trial may diverge
WITHOUT_A_RUN = (2, 7)  # what could not run has nothing to report or to export
FIRST_ACCEPTED = 10_000_000  # seeds that the stage of all files does not reach


def judge(outcome: Outcome, stage: str, codes: Sequence[int]) -> None:
    """Count a traceback, a leaked warning or an exit code that says something else."""
    name = f"{stage}: {outcome.name}: {outcome.command}"
    check(outcome.error is None, f"{name}: {outcome.error}")
    check(not outcome.warnings, f"{name}: warned: {outcome.warnings[:1]}")
    check(outcome.code in codes, f"{name}: exit code {outcome.code}")


def judge_cost(outcome: Outcome, stage: str, seconds: float = CPU_SECONDS) -> None:
    """Count what took too long or too much."""
    check(outcome.seconds <= seconds, f"{stage}: {outcome.name}: {outcome.seconds} s of CPU")
    check(outcome.megabytes <= MEGABYTES, f"{stage}: {outcome.name}: {outcome.megabytes} MB")


def scenarios(sizes: Sizes, folder: Path) -> None:
    """Validate tens of thousands of files that nobody would write, half of them with perturbed memory."""
    began, found = time.monotonic(), list[Outcome]()
    for n, first in enumerate(range(0, sizes.scenarios, CHUNK)):
        seeds = range(first, min(first + CHUNK, sizes.scenarios))
        jobs = [Job(f"seed {seed}", seed, [["validate", FILE]]) for seed in seeds]
        for outcome in outcomes(jobs, folder / "fuzz", PERTURBED[n % len(PERTURBED)]):
            judge(outcome, "scenarios", VALIDATED)
            judge_cost(outcome, "scenarios")
            found.append(outcome)
        say("  scenarios so far", **_facts(found), seconds=round(time.monotonic() - began))
    say("scenarios", **_facts(found), seconds=round(time.monotonic() - began))


def bombs(_: Sizes, folder: Path) -> None:
    """Validate small files that ask for much."""
    began, found = time.monotonic(), list[Outcome]()
    files = [bombs_of.write(name, folder / "bombs" / name) for name in bombs_of.BOMBS]
    jobs = [Job(file.parent.name, None, [["validate", str(file)]], own_process=True) for file in files]
    for outcome in outcomes(jobs, folder / "bombs", PERTURBED[1]):
        judge(outcome, "bombs", VALIDATED)
        announced = outcome.name in bombs_of.ANNOUNCED
        judge_cost(outcome, "bombs", bombs_of.ANNOUNCED_SECONDS if announced else CPU_SECONDS)
        if outcome.seconds > CPU_SECONDS:
            say(f"  bombs, {outcome.name}", code=outcome.code, CPU=outcome.seconds)
        found.append(outcome)
    say("bombs", **_facts(found), seconds=round(time.monotonic() - began))


def accepted(sizes: Sizes, folder: Path) -> None:
    """Run, watch, report and export files that the fuzzer made and the reader accepted."""
    run = ["run", FILE, "--out", "run", "--quiet", "--workers", "1", "--no-report"]
    of_a_run = [["watch", "run", "--once"], ["report", "run"], ["export", "run", "--csv", "csv"]]
    _carried_out("accepted", sizes, folder, [run, *of_a_run])


def limited(sizes: Sizes, folder: Path) -> None:
    """Ask for the limit of the same files, and for advice."""
    _carried_out("limited", sizes, folder, [["limit", FILE], ["advise", FILE]])


def _carried_out(stage: str, sizes: Sizes, folder: Path, commands: list[list[str]]) -> None:
    began, found = time.monotonic(), list[Outcome]()
    jobs = [Job(f"seed {seed}", seed, commands, own_process=True) for seed in _accepted_seeds(sizes.accepted, folder)]
    for outcome in outcomes(jobs, folder / stage, PERTURBED[1]):
        needs_a_run = outcome.command in ("watch", "report", "export")
        judge(outcome, stage, (*COMPLETED, *WITHOUT_A_RUN) if needs_a_run else COMPLETED)
        found.append(outcome)
        if outcome.seconds > CPU_SECONDS:
            say(f"  {stage}, {outcome.name}", command=outcome.command, code=outcome.code, CPU=outcome.seconds)
    for arguments in commands:
        of_one = [outcome for outcome in found if outcome.command == arguments[0]]
        say(f"{stage}: {arguments[0]}", **_facts(of_one))
    say(stage, files=len(jobs), seconds=round(time.monotonic() - began))


def _accepted_seeds(count: int, folder: Path) -> list[int]:
    for name, content in data_files().items():
        (folder / name).write_bytes(content)
    found, seed = list[int](), FIRST_ACCEPTED
    while len(found) < count:
        seed += 1
        try:
            scenario = parse(fuzzing.hostile(seed), folder=folder)
        except ScenarioError:
            continue
        if not scenario.sweep and scenario.trials <= 10 and scenario.steps <= 10_000:
            found.append(seed)
    return found


def _facts(found: list[Outcome]) -> dict[str, Any]:
    seconds = sorted(outcome.seconds for outcome in found)
    return {
        "commands": len(found),
        "exit_codes": dict(sorted(Counter(outcome.code for outcome in found).items())),
        "tracebacks": sum(outcome.error is not None for outcome in found),
        "with_a_warning": sum(bool(outcome.warnings) for outcome in found),
        "above_2_s_of_CPU": sum(second > CPU_SECONDS for second in seconds),
        "median_CPU": seconds[len(seconds) // 2],
        "longest_CPU": seconds[-1],
        "peak_MB": max(outcome.megabytes for outcome in found),
    }
