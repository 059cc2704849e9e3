"""Does a run get dear all of a sudden? Many coordinates, modes, trials, records or switches: what a step costs beside its neighbours.

Each row of a table is a run in memory with the classical sampler on quadratic costs and everything that is measured (no
baselines), in CPU nanoseconds per trial, step and coordinate; per pair of coordinates where curvature and S are full. The last
column is the quotient with the row above: more than ``MOST`` is a cliff.

    python benchmarks/cliffs.py [--full] [TABLE ...]

``--full`` adds the largest row of each table: minutes, and gigabytes for 1e6 trials.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import tracker

MOST = 3.0
ROUNDS = 3
TRIALS = 8
BASE = """
name = "cliffs"
trials = 8
steps = 1000
start = [0.0, 0.0]
baselines = []
chain = { alpha = 1e-3, Q = [[-1.0, 1.0], [1.0, -1.0]] }
modes = [
  { name = "one", cost = "quadratic", minimum = [1.0, 0.0], curvature = 1.0, gradient_noise = 0.5 },
  { name = "two", cost = "quadratic", minimum = [-1.0, 0.5], curvature = 2.0, gradient_noise = 0.5 },
]
samplers = [{ name = "classical", kind = "langevin", epsilon = 1e-2, beta = 5.0 }]
"""


class Row(NamedTuple):
    """A run: what is large in it, how often it does what is priced, and whether it belongs to ``--full`` only."""

    size: int
    scenario: tracker.Scenario
    units: float
    long: bool = False


def base(**keys: Any) -> tracker.Scenario:
    keys.setdefault("record_every", keys.get("steps", 1000))
    return tracker.parse(BASE).replace(**keys)


def coordinates() -> Iterator[Row]:
    for N in (2, 5, 10, 20, 50, 100, 200, 500, 1000):
        steps = max(200, 1_000_000 // (TRIALS * N))
        modes = [
            {
                "name": f"mode-{i}",
                "cost": "quadratic",
                "minimum": [0.1 * i] * N,
                "curvature": 1.0 + i,
                "gradient_noise": 0.5,
            }
            for i in range(2)
        ]
        scenario = base(steps=steps, start=[0.0] * N, modes=modes, moments="diagonal")
        yield Row(N, scenario, TRIALS * steps * N, N == 1000)


def pairs() -> Iterator[Row]:
    rng = np.random.default_rng(1)
    for N in (2, 5, 10, 20, 50, 100, 200):
        steps = max(100, 4_000_000 // (TRIALS * N * N))
        A = rng.standard_normal((2, N, N))
        curvature = [np.eye(N) + one @ one.T / N for one in A]
        S = A[0] - A[0].T
        modes = [
            {
                "name": f"mode-{i}",
                "cost": "quadratic",
                "minimum": [0.1 * i] * N,
                "curvature": H.tolist(),
                "gradient_noise": 0.5,
            }
            for i, H in enumerate(curvature)
        ]
        sampler = {
            "name": "skewed", "kind": "accelerated", "epsilon": 1e-4, "beta": 5.0, "skew": (S / np.linalg.norm(S, 2)).tolist(),
        }  # fmt: skip
        scenario = base(steps=steps, start=[0.0] * N, modes=modes, samplers=[sampler], moments="diagonal")
        yield Row(N, scenario, TRIALS * steps * N * N, N == 200)


def many_modes() -> Iterator[Row]:
    steps = 50_000
    for X in (2, 5, 10, 20, 50, 100, 200):
        Q = np.full((X, X), 1.0 / (X - 1))
        np.fill_diagonal(Q, -1.0)
        modes = [
            {
                "name": f"mode-{i}",
                "cost": "quadratic",
                "minimum": [np.cos(i), np.sin(i)],
                "curvature": 1.0 + i / X,
                "gradient_noise": 0.5,
            }
            for i in range(X)
        ]
        yield Row(
            X, base(steps=steps, modes=modes, chain={"alpha": 1e-3, "Q": Q.tolist()}), 2 * TRIALS * steps, X == 200
        )


def trials() -> Iterator[Row]:
    for count in (1, 10, 100, 1000, 10_000, 100_000, 1_000_000):
        steps = max(1000, 1_000_000 // count)
        yield Row(count, base(trials=count, steps=steps), 2 * count * steps, count >= 100_000)


def records() -> Iterator[Row]:
    steps = 100_000
    for count in (1, 10, 100, 1000, 10_000, 100_000):
        yield Row(count, base(steps=steps, record_every=steps // count), 2 * TRIALS * steps, count == 100_000)


def dwells() -> Iterator[Row]:
    steps = 100_000
    for dwell in (5, 20, 100, 1000, 10_000, 100_000, 1_000_000):
        chain = {"alpha": 1.0 / dwell, "Q": [[-1.0, 1.0], [1.0, -1.0]]}
        yield Row(dwell, base(steps=steps, chain=chain), 2 * TRIALS * steps)


TABLES: dict[str, tuple[str, Callable[[], Iterator[Row]]]] = {
    "N": ("coordinates, diagonal curvature: ns per trial-step-coordinate", coordinates),
    "pairs": ("coordinates, full curvature and S: ns per trial-step-pair", pairs),
    "X": ("modes: ns per trial-step-coordinate", many_modes),
    "trials": ("trials: ns per trial-step-coordinate", trials),
    "records": ("records of a trial of 1e5 steps: ns per trial-step-coordinate", records),
    "dwell": ("mean dwell in steps: ns per trial-step-coordinate", dwells),
}


def cpu(scenario: tracker.Scenario) -> float:
    begun = time.process_time()
    tracker.run(scenario, executor=1, checks=False, notice=lambda _: None)
    return time.process_time() - begun


def main() -> None:
    full = "--full" in sys.argv
    asked = [word for word in sys.argv[1:] if word != "--full"] or list(TABLES)
    print(f"least of {ROUNDS} interleaved rounds, CPU time; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    cliffs = []
    for name in asked:
        title, rows_of = TABLES[name]
        rows = [row for row in rows_of() if full or not row.long]
        cpu(rows[0].scenario)  # compiles
        found: list[list[float]] = [[] for _ in rows]
        for _ in range(ROUNDS):
            for spent, row in zip(found, rows, strict=True):
                if not (row.long and spent):  # the longest once
                    spent.append(1e9 * cpu(row.scenario) / row.units)
        print(f"\n{title}")
        before = None
        for spent, row in zip(found, rows, strict=True):
            least = min(spent)
            ratio = least / before if before is not None else 1.0
            cliff = not 1.0 / MOST <= ratio <= MOST
            cliffs += [f"{name} {row.size}"] * cliff
            print(f"{row.size:10,d} {least:10.2f} {ratio:7.2f}{'   a cliff' if cliff else ''}", flush=True)
            before = least
    print(f"\nneighbours within a factor {MOST:g}, but for: {', '.join(cliffs) or 'none'}")


if __name__ == "__main__":
    main()
