"""How much faster are two workers than one?

Whole runs in memory, one worker and two in turn within one process, wall time. Virtual machines share their host, which no
guest can see: so each pair stands beside a ceiling, taken at the same moment, of what this machine gives to two threads that
share nothing at all (numpy drawing normals into buffers of their own), and tells how many cores other processes of this
machine took meanwhile, from /proc/stat.

    python benchmarks/scaling.py [rounds]
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

import tracker

SCENARIOS = Path(__file__).resolve().parent.parent / "scenarios"
QUIET = 0.1  # cores taken by others: below this the machine counts as idle
TARGET = 1.8
DRAWS, NORMALS = (
    600,
    1 << 16,
)  # for each thread of the ceiling: a third of a second, in calls too long for Python's lock to matter
# name: file, samplers, changes; five to twelve seconds each on one core
WORKLOADS = {
    "example 1, 2 samplers, N = 2": ("example_1.toml", 2, {"trials": 64, "steps": 600_000}),
    "example 2, 2 samplers, N = 10": ("example_2.toml", 2, {"trials": 64, "steps": 300_000}),
    "swapping wells, 6 samplers": ("swapping_wells.toml", 6, {"trials": 50, "steps": 600_000}),
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
    """Wall seconds, own CPU seconds, cores taken by others."""

    wall: float
    own: float
    others: float


class Pair(NamedTuple):
    """One worker and two, and the ceiling at that moment."""

    one: Measured
    two: Measured
    ceiling: float

    @property
    def others(self) -> float:
        """Cores taken by others in the worse of the two runs."""
        return max(self.one.others, self.two.others)

    @property
    def speed_up(self) -> float:
        """How much sooner two workers are done."""
        return self.one.wall / self.two.wall


def measured(work, *args) -> Measured:
    begun = Clock.now()
    work(*args)
    ended = Clock.now()
    wall, own, busy = (after - before for before, after in zip(begun, ended, strict=True))
    return Measured(wall, own, max(0.0, (busy - own) / wall))


def draw(seed: int) -> None:
    generator, buffer = np.random.Generator(np.random.SFC64(seed)), np.empty(NORMALS)
    for _ in range(DRAWS):
        generator.standard_normal(out=buffer)


def draw_twice_at_once() -> None:
    threads = [threading.Thread(target=draw, args=(seed,)) for seed in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def ceiling() -> float:
    alone = [measured(draw, seed).wall for seed in range(2)]
    return sum(alone) / measured(draw_twice_at_once).wall


def run(scenario: tracker.Scenario, workers: int) -> None:
    tracker.run(scenario, executor=workers)


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    scenarios = {}
    for name, (file, samplers, keys) in WORKLOADS.items():
        whole = tracker.load(SCENARIOS / file)
        scenarios[name] = whole.replace(samplers=whole.samplers[:samplers], **keys)
    for scenario in scenarios.values():
        tracker.run(scenario.replace(trials=2, steps=1000), executor=1)  # compiles
    print(f"{os.cpu_count()} cores; load average before: {' '.join(f'{load:.2f}' for load in os.getloadavg())}")
    print(
        f"{'workload':29} {'1 worker s':>10} {'2 workers s':>11} {'speed-up':>8} {'ceiling':>8} {'CPU 2/1':>8} {'others':>7}"
    )
    pairs: dict[str, list[Pair]] = {name: [] for name in scenarios}
    for _ in range(rounds):
        for name, scenario in scenarios.items():
            pair = Pair(measured(run, scenario, 1), measured(run, scenario, 2), ceiling())
            pairs[name].append(pair)
            times = f"{pair.one.wall:10.2f} {pair.two.wall:11.2f} {pair.speed_up:8.2f} {pair.ceiling:8.2f}"
            print(f"{name:29} {times} {pair.two.own / pair.one.own:8.2f} {pair.others:7.2f}", flush=True)
    for name, found in pairs.items():
        report(name, found)
    everything = [pair for found in pairs.values() for pair in found]
    total = sum(pair.one.wall for pair in everything) / sum(pair.two.wall for pair in everything)
    print(f"all {len(everything)} pairs together: {total:.2f}; target {TARGET}")


def report(name: str, pairs: list[Pair]) -> None:
    least = min(pair.one.wall for pair in pairs) / min(pair.two.wall for pair in pairs)
    middle, ceilings = np.median([pair.speed_up for pair in pairs]), np.median([pair.ceiling for pair in pairs])
    busy = sum(pair.others >= QUIET for pair in pairs)
    state = "the machine was idle" if not busy else f"the machine was NOT idle in {busy} pairs"
    print(
        f"{name}: least disturbed {least:.2f}, median {middle:.2f} of {len(pairs)}; target {TARGET}; "
        f"median ceiling of the machine {ceilings:.2f}; {state}"
    )


if __name__ == "__main__":
    main()
