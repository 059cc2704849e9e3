"""How much faster are two workers than one?

Whole runs in memory, one worker and two in turn within one process, wall time. The machine is often shared, so each pair
also tells how many cores other processes (and, on a virtual machine, other guests) took meanwhile, from /proc/stat: only
pairs on a quiet machine say something about us.

    python benchmarks/scaling.py [rounds]
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

import tracker

SCENARIOS = Path(__file__).resolve().parent.parent / "scenarios"
QUIET = 0.1  # cores taken by others: below this the machine counts as idle
TARGET = 1.8
# name: file, samplers, changes; about ten seconds each on one core
WORKLOADS = {
    "example 1, 2 samplers, N = 2": ("example_1.toml", 2, {"trials": 64, "steps": 600_000}),
    "example 2, 2 samplers, N = 10": ("example_2.toml", 2, {"trials": 64, "steps": 300_000}),
    "swapping wells, 6 samplers": ("swapping_wells.toml", 6, {"trials": 40, "steps": 600_000}),
}


class Clock(NamedTuple):
    """Seconds since some time in the past: the wall's, those of our own process, those of all processors."""

    wall: float
    own: float
    all_busy: float

    @classmethod
    def now(cls) -> Clock:
        """Read the clocks."""
        user, nice, system, _, _, irq, softirq, steal, *_ = map(float, Path("/proc/stat").read_text().split()[1:11])
        busy = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
        return cls(time.perf_counter(), time.process_time(), busy)


class Measured(NamedTuple):
    """One run: wall seconds, own CPU seconds, cores taken by others."""

    wall: float
    own: float
    others: float


def measured(scenario: tracker.Scenario, workers: int) -> Measured:
    begun = Clock.now()
    tracker.run(scenario, executor=workers)
    ended = Clock.now()
    wall, own, busy = (after - before for before, after in zip(begun, ended, strict=True))
    return Measured(wall, own, max(0.0, (busy - own) / wall))


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    scenarios = {}
    for name, (file, samplers, keys) in WORKLOADS.items():
        whole = tracker.load(SCENARIOS / file)
        scenarios[name] = whole.replace(samplers=whole.samplers[:samplers], **keys)
    for scenario in scenarios.values():
        tracker.run(scenario.replace(trials=2, steps=1000), executor=1)  # compiles
    print(f"{os.cpu_count()} cores; load average before: {' '.join(f'{load:.2f}' for load in os.getloadavg())}")
    print(f"{'workload':29} {'1 worker s':>10} {'2 workers s':>11} {'speed-up':>8} {'CPU 2/1':>8} {'others':>7}")
    ratios: dict[str, list[tuple[float, float]]] = {name: [] for name in scenarios}
    for _ in range(rounds):
        for name, scenario in scenarios.items():
            one, two = measured(scenario, 1), measured(scenario, 2)
            others = max(one.others, two.others)
            ratios[name].append((others, one.wall / two.wall))
            times = f"{one.wall:10.2f} {two.wall:11.2f} {one.wall / two.wall:8.2f} {two.own / one.own:8.2f}"
            print(f"{name:29} {times} {others:7.2f}", flush=True)
    for name, pairs in ratios.items():
        quiet = [ratio for others, ratio in pairs if others < QUIET]
        if quiet:
            state = f"{np.median(quiet):.2f} (median of {len(quiet)} pairs on an idle machine)"
        else:
            others, ratio = min(pairs)
            state = f"{ratio:.2f} in the quietest pair; the machine was NOT idle: others took {others:.2f} cores"
        print(f"{name}: {state}; target {TARGET}")


if __name__ == "__main__":
    main()
