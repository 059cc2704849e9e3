"""Measure what a run costs beside its steps: CPU seconds of tiny runs, sweep points, commands, and many short trials.

    python benchmarks/overhead.py [ROW ...]

prints a table with the goal of each row; compiled code comes from the cache, so run it twice after a change. The figures are
the least of several rounds: a busy machine adds to CPU time too, through its caches.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import tracker

SCENARIO = Path(__file__).resolve().parents[1] / "scenarios" / "example_a.toml"
TINY = ("trials=2", "steps=10")
BASELINES = ('baselines=["frozen", "oracle"]',)
ROUNDS = 5


def cpu() -> float:
    """Return the CPU seconds of this process and of the children that ended."""
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def least(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Return the least CPU seconds of several rounds, after one that nobody times."""
    work()
    found = []
    for _ in range(rounds):
        begun = cpu()
        work()
        found.append(cpu() - begun)
    return min(found)


def command(*words: str) -> Callable[[], object]:
    """Return what runs the command line."""
    return lambda: subprocess.run([sys.executable, "-m", "tracker", *words], check=True, capture_output=True)


def in_memory(_: Path) -> float:
    scenario = tracker.load(SCENARIO, TINY)
    return least(lambda: tracker.run(scenario, executor=1))


def on_disk(folder: Path) -> float:
    scenario = tracker.load(SCENARIO, TINY)
    return least(lambda: tracker.run(scenario, folder / "tiny", 1, replace=True))


def sweep_point(folder: Path) -> float:
    values = [0.001 + 0.0005 * n for n in range(20)]
    scenario = tracker.load(SCENARIO, TINY).replace(sweep={"chain.alpha": values})
    return least(lambda: tracker.sweep(scenario, folder / "sweep", 1, replace=True), 3) / len(values)


def run_command(folder: Path, *more: str) -> float:
    settings = [word for one in ("trials=4", "steps=1000") for word in ("--set", one)]
    return least(
        command("run", str(SCENARIO), "--out", str(folder / "run"), "--replace", "--quiet", *settings, *more), 3
    )


def help_(_: Path) -> float:
    return least(command("--help"))


def status(folder: Path) -> float:
    tracker.run(tracker.load(SCENARIO, TINY), folder / "done", 1, replace=True)
    return least(command("status", str(folder / "done")))


def short_trials(_: Path) -> float:
    count = 100_000
    scenario = tracker.load(SCENARIO, (f"trials={count}", "steps=10", "record_every=10", *BASELINES))
    return least(lambda: tracker.run(scenario, executor=1), 1) * (1_000_000 / count)


ROWS: dict[str, tuple[str, float, Callable[[Path], float]]] = {
    "memory": ("a tiny run again, in memory", 0.03, in_memory),
    "disk": ("a tiny run again, on disk", 0.1, on_disk),
    "sweep": ("a point of a sweep", 0.1, sweep_point),
    "run": ("run of 4 x 1000 steps, without page", 1.5, lambda folder: run_command(folder, "--no-report")),
    "page": ("run of 4 x 1000 steps, with page", 3.0, run_command),
    "help": ("--help", 0.25, help_),
    "status": ("status", 0.4, status),
    "trials": ("1e6 trials x 10 steps (measured on 1e5)", 30.0, short_trials),
}


def main() -> None:
    """Print the table."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    asked = sys.argv[1:] or list(ROWS)
    print(
        f"CPU seconds, least of a few rounds; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores, {time.strftime('%F')}"
    )
    print(f"{'':45} {'measured':>9} {'goal':>6}")
    for name in asked:
        title, goal, measure = ROWS[name]
        with tempfile.TemporaryDirectory() as folder:
            found = measure(Path(folder))
        print(f"{title:45} {found:9.3f} {goal:6.2f}{'' if found <= goal else '   above its goal'}", flush=True)


if __name__ == "__main__":
    main()
