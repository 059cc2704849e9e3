"""One primary comparison for each of the paper's comparative claims, fixed in this file before it was run.

    python -m studies.paper run primary

The measure is W1 to the exact marginals after a budget of evaluations: a gradient, a cost and a Hessian of one observation count one each. The
condition is that each sampler runs at its own best step of GRID, chosen by trials of another seed at the same budget. Beside it stand
the paper's condition (equal epsilon, equal steps) and equal epsilon at equal cost, which are exploratory, as is all else on the page.
Whoever changes a line of PRIMARY, GRID or BUDGET measures anew. The budget and the trials of Example 2 were cut, for time, after trials that choose a
step had been seen of two samplers, and before any comparison.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import tracker


class Primary(NamedTuple):
    """The sampler that should have the smaller W1, the one it is compared with, and the example."""

    claim: str
    left: str
    right: str
    file: str


PRIMARY = (
    Primary("Algorithm 1 beats the accelerated algorithm", "algorithm-1", "accelerated", "example_1"),
    Primary("accelerated beats classical Langevin", "accelerated", "classical", "example_1"),
    Primary("the gradient of S helps: Algorithm 1 beats its flipped sign", "algorithm-1", "ascent", "example_1"),
    Primary("adapting S beats a constant s = 4", "algorithm-1", "fixed-4", "example_1"),
    Primary("Algorithm 2 beats the accelerated algorithm", "algorithm-2", "accelerated", "example_2"),
    Primary("Algorithm 1 beats the accelerated algorithm", "algorithm-1", "accelerated", "example_2"),
    Primary("Algorithm 2 learns: it beats an S that wanders", "algorithm-2", "wandering", "example_2"),
)
LEVEL = 0.05  # of a primary comparison, two-sided; one for each claim, so that nothing is corrected
EXPLORATORY = 100  # other comparisons on the page, at most: a test counts them
CORRECTED = 0.05 / EXPLORATORY  # Bonferroni
GRID = (3e-5, 1e-4, 3e-4, 1e-3, 3e-3)
PAPERS = 1e-4  # epsilon of the paper
BUDGET = {"example_1": 100_000, "example_2": 100_000}  # evaluations
TRIALS = {"example_1": 100, "example_2": 20}
CHOOSING = {"example_1": 30, "example_2": 5}  # trials that choose the best step
SEEDS = {"choice": 101, "comparison": 102}  # neither is that of a scenario file
POINTS = 2000  # recorded, of a trial
SWEEP = 100  # observations in both examples
CONDITIONS = {
    "steps": "equal epsilon, equal steps",
    "cost": "equal epsilon, equal cost",
    "best": "own best step, equal cost",
}


def names(file: str) -> list[str]:
    """Return the samplers of an example that take part."""
    return list(dict.fromkeys(name for one in PRIMARY if one.file == file for name in (one.left, one.right)))


def scenario_of(path: Path, name: str, epsilon: float, steps: int, trials: int, seed: str) -> tracker.Scenario:
    """Return the example with one sampler at a step of its own; records do not meet the sweep of the data in one phase."""
    scenario = tracker.load(path)
    [keys] = [keys for keys in scenario.samplers if keys.name == name]
    every = next(n for n in range(max(1, steps // POINTS), steps + 1) if np.gcd(n, SWEEP) == 1)
    return scenario.replace(
        samplers=[keys.model_copy(update={"epsilon": epsilon})], steps=steps, trials=trials, seed=SEEDS[seed], record_every=every, baselines=[]
    )  # fmt: skip


def evaluations(scenario: tracker.Scenario) -> int:
    """Return how many a step of the only sampler takes."""
    short = scenario.replace(steps=2, trials=1, record_every=1, burn_in=0)
    return int(sum(tracker.run(short).summary["samplers"][0]["evaluations"].values()))


def measure(path: Path, file: str, truth: Any, distance: Any, workers: int, say: Any) -> dict[str, Any]:
    """Choose the best steps, then compare; returns W1 by condition, sampler and trial, and what was chosen."""

    def w1(name: str, epsilon: float, steps: int, trials: int, seed: str) -> list[float | None]:
        run = tracker.run(scenario_of(path, name, epsilon, steps, trials, seed), executor=workers)
        lost = run.arrays["diverged"][:, 0] >= 0
        found = [
            np.nan if gone else distance(points, truth)
            for points, gone in zip(run.arrays["theta"][:, 0], lost, strict=True)
        ]
        return [float(f"{one:.5g}") if np.isfinite(one) else None for one in found]

    entry: dict[str, Any] = {"evaluations": {}, "scan": {}, "chosen": {}, "w1": {key: {} for key in CONDITIONS}}
    for name in names(file):
        count = evaluations(scenario_of(path, name, PAPERS, 2, 1, "choice"))
        steps = BUDGET[file] // count
        scan = [w1(name, epsilon, steps, CHOOSING[file], "choice") for epsilon in GRID]
        means = [float(np.mean([np.inf if one is None else one for one in values])) for values in scan]
        best = GRID[int(np.argmin(means))]
        entry["evaluations"][name], entry["chosen"][name] = count, best
        entry["scan"][name] = [round(mean, 5) if np.isfinite(mean) else None for mean in means]
        asked = {"steps": (PAPERS, BUDGET[file]), "cost": (PAPERS, steps), "best": (best, steps)}
        for condition, (epsilon, long) in asked.items():
            entry["w1"][condition][name] = w1(name, epsilon, long, TRIALS[file], "comparison")
        say(f"{file} {name}: {count} evaluations a step, best step {best:g}, scan {entry['scan'][name]}")
    return entry
