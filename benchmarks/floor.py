"""How near is a whole run to the cost of its random numbers alone?

CPU nanoseconds per trial-step of the classical sampler, with all that a run measures, against numpy's SFC64 drawing the
same normals and doing nothing else. Everything is interleaved in one process and one thread, because machines are shared
and noisy: only the ratios mean something.

    python benchmarks/floor.py [rounds]
    python benchmarks/floor.py --quick     # W1 to W3, fewer trials; exit code 1 above twice a target

The width of vectors that is printed is the machine's; ``TRACKER_LANES`` sets how many trials go side by side.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np

import tracker
from tracker.engine.simulate import Problem, compile_kernels, prepare, simulate

SCENARIOS = Path(__file__).resolve().parent.parent / "scenarios"
SWITCHING_QUADRATIC = """
name = "two-quadratics"
trials = 1000
steps = 10_000
start = [0.5, 0.0]
[chain]
alpha = 1e-3
Q = [[-1.0, 1.0], [1.0, -1.0]]
[[modes]]
name = "one"
cost = "quadratic"
minimum = [1.0, -1.0]
curvature = [[2.0, 0.3], [0.3, 1.0]]
gradient_noise = [[0.5, 0.1], [0.1, 0.4]]
[[modes]]
name = "two"
cost = "quadratic"
minimum = [-1.0, 0.5]
curvature = [[1.0, -0.2], [-0.2, 1.5]]
gradient_noise = [[0.3, 0.0], [0.0, 0.6]]
[[samplers]]
name = "classical"
kind = "langevin"
epsilon = 1e-2
beta = 2.0
"""
# name, what it is, normals per step, the ratio that is aimed at with vectors of four doubles (AVX2)
WORKLOADS = {
    "W1": ("Example 1: N = 2, 30 trials x 1e5 steps", 2, 1.4),
    "W2": ("Example 2: N = 10, 50 trials x 1e5 steps", 10, 0.75),
    "W3": ("two switching quadratics: N = 2, gradient noise, 1000 trials x 1e4 steps", 4, 1.0),
}
WELLS = {  # samplers of swapping wells, 16 trials x 1e5 steps: three normals a step
    "classical": ("swapping wells, classical", 3, 0.85),
    "algorithm-1": ("swapping wells, Algorithm 1", 3, 1.2),
    "algorithm-2": ("swapping wells, Algorithm 2", 3, 1.5),
}
BASELINES = ["frozen", "oracle"]
VECTORS = {"avx512f": "AVX-512", "avx2": "AVX2", "sse2": "SSE2"}


def problems(*, quick: bool = False) -> dict[str, Problem]:
    one = tracker.load(SCENARIOS / "example_1.toml")
    two = tracker.load(SCENARIOS / "example_2.toml")
    count = {"W1": 8, "W2": 8, "W3": 200} if quick else {"W1": 30, "W2": 50, "W3": 1000}  # whole groups of 8 where few
    scenarios = {
        "W1": one.replace(trials=count["W1"], steps=100_000, samplers=one.samplers[:1]),
        "W2": two.replace(trials=count["W2"], steps=100_000, samplers=two.samplers[:1]),
        "W3": tracker.parse(SWITCHING_QUADRATIC).replace(trials=count["W3"]),
    }
    return {name: alone(scenario) for name, scenario in scenarios.items()}


def wells() -> dict[str, Problem]:
    whole = tracker.load(SCENARIOS / "swapping_wells.toml")
    samplers = {keys.name: keys for keys in whole.samplers if keys.name in WELLS}
    return {
        name: alone(whole.replace(trials=16, steps=100_000, samplers=[keys], claims=[]))
        for name, keys in samplers.items()
    }


def alone(scenario: tracker.Scenario) -> Problem:
    """The first sampler alone, and warm: all that is compiled is there."""
    problem = prepare(scenario.replace(baselines=BASELINES))
    found = problem._replace(contestants=problem.contestants[:1])
    compile_kernels(found)
    simulate(found, range(1))
    return found


def vectors() -> str:
    try:
        flags = set(Path("/proc/cpuinfo").read_text().split())
    except OSError:
        return "unknown"
    return next((name for flag, name in VECTORS.items() if flag in flags), "unknown")


def cpu(work, *args) -> float:
    begun = time.process_time()
    work(*args)
    return time.process_time() - begun


def draw(normals: int) -> None:
    generator = np.random.Generator(np.random.SFC64(1))
    buffer = np.empty(1280)
    for _ in range(normals // buffer.size):
        generator.standard_normal(out=buffer)


def main() -> int:
    os.environ.setdefault("TRACKER_LANES", "8")  # also for the fewer trials of --quick
    words = sys.argv[1:]
    quick = "--quick" in words
    rounds = next((int(word) for word in words if word.isdigit()), 3 if quick else 9)
    workloads = WORKLOADS if quick else WORKLOADS | WELLS
    built = problems(quick=quick) | ({} if quick else wells())
    ours = {name: [] for name in built}
    floor = {name: [] for name in built}
    for _ in range(rounds):
        for name, problem in built.items():
            steps = problem.scenario.trials * problem.scenario.steps
            ours[name].append(1e9 * cpu(simulate, problem, range(problem.scenario.trials)) / steps)
            floor[name].append(1e9 * cpu(draw, steps * workloads[name][1]) / steps)
    print(
        f"CPU ns per trial-step: the least disturbed of {rounds} rounds, and the median of the rounds' ratios; {vectors()}"
    )
    print(f"{'':11} {'ours':>7} {'floor':>7} {'ratio':>6} {'median':>7} {'target':>7}")
    above = []
    for name, (what, _, target) in workloads.items():
        mine, least = min(ours[name]), min(floor[name])
        median = np.median(np.array(ours[name]) / np.array(floor[name]))
        print(f"{name:11} {mine:7.1f} {least:7.1f} {mine / least:6.2f} {median:7.2f} {target:7.2f}   {what}")
        above += [name] * int(min(mine / least, median) > 2.0 * target)  # others at work make either too large
    if above:
        print(f"more than twice the target: {', '.join(above)}")
    return int(quick and bool(above))


if __name__ == "__main__":
    sys.exit(main())
