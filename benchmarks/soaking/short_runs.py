"""A billion steps in short runs: memory stays flat, and no file, process or semaphore is left."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import psutil

import tracker
from soaking.common import SHORT, Sizes, check, say

FIXED_COST = 1e6  # the steps that a short run's fixed costs are worth: 0.05 s at 20 million steps a second
GROWTH = 1.02  # of memory, after the first tenth
SEMAPHORES = Path("/dev/shm")  # noqa: S108  (where Linux keeps them)


def short_runs(sizes: Sizes, folder: Path) -> None:
    """Run, write, open and remove short runs in one process until they are worth the steps asked for."""
    process, began, done, runs = psutil.Process(), time.monotonic(), 0.0, 0
    worth = SHORT.trials * SHORT.steps * 3 + FIXED_COST
    expected, early = tracker.run(SHORT).summary["hash"], 0
    before = _left(process)
    while done < sizes.step_equivalents:
        path = folder / "short"
        run = tracker.run(SHORT, path if runs % 4 == 0 else None, executor=1 + runs % 2, replace=True)
        check(run.summary["hash"] == expected, f"short run {runs}: another hash")
        done, runs = done + worth, runs + 1
        if early == 0 and done >= sizes.step_equivalents / 10:
            early = process.memory_info().rss
    late, after = process.memory_info().rss, _left(process)
    check(late <= early * GROWTH, f"short runs: memory grew from {early} to {late} bytes")
    check(after == before, f"short runs: files, processes, threads, semaphores were {before}, are {after}")
    say(
        "short runs",
        runs=runs,
        step_equivalents=f"{done:.1e}",
        MB_after_a_tenth=early // 2**20,
        MB_at_the_end=late // 2**20,
        left_open=sum(after) - sum(before),
        seconds=round(time.monotonic() - began),
    )


def _left(process: psutil.Process) -> tuple[int, int, int, int]:
    """Count open files, child processes, threads and semaphores."""
    semaphores = len(list(SEMAPHORES.glob("sem.*"))) if SEMAPHORES.exists() else 0
    return process.num_fds(), len(process.children()), threading.active_count(), semaphores
