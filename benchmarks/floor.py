"""How near is a whole run to the cost of its random numbers alone?

CPU nanoseconds per trial-step of the classical sampler, with all that a run measures, against numpy's SFC64 drawing the
same normals and doing nothing else. Everything is interleaved in one process and one thread, because machines are shared
and noisy: only the ratios mean something.

    python benchmarks/floor.py [rounds]
"""

from __future__ import annotations

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
# name, what it is, normals per step, target ratio
WORKLOADS = {
    "W1": ("Example 1: N = 2, 30 trials x 1e5 steps", 2, 2.5),
    "W2": ("Example 2: N = 10, 50 trials x 1e5 steps", 10, 2.0),
    "W3": ("two switching quadratics: N = 2, gradient noise, 1000 trials x 1e4 steps", 4, 1.5),
}


def problems() -> dict[str, Problem]:
    one = tracker.load(SCENARIOS / "example_1.toml")
    two = tracker.load(SCENARIOS / "example_2.toml")
    scenarios = {
        "W1": one.replace(trials=30, steps=100_000, samplers=one.samplers[:1]),
        "W2": two.replace(trials=50, steps=100_000, samplers=two.samplers[:1]),
        "W3": tracker.parse(SWITCHING_QUADRATIC),
    }
    built = {}
    for name, scenario in scenarios.items():
        problem = prepare(scenario)
        built[name] = problem._replace(contestants=problem.contestants[:1])
        compile_kernels(built[name])
    return built


def cpu(work, *args) -> float:
    begun = time.process_time()
    work(*args)
    return time.process_time() - begun


def draw(normals: int) -> None:
    generator = np.random.Generator(np.random.SFC64(1))
    buffer = np.empty(1280)
    for _ in range(normals // buffer.size):
        generator.standard_normal(out=buffer)


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    built = problems()
    ours = {name: [] for name in built}
    floor = {name: [] for name in built}
    for _ in range(rounds):
        for name, problem in built.items():
            steps = problem.scenario.trials * problem.scenario.steps
            ours[name].append(1e9 * cpu(simulate, problem, range(problem.scenario.trials)) / steps)
            floor[name].append(1e9 * cpu(draw, steps * WORKLOADS[name][1]) / steps)
    print(f"CPU ns per trial-step: the least disturbed of {rounds} rounds, and the median of the rounds' ratios")
    print(f"{'':4} {'ours':>7} {'floor':>7} {'ratio':>6} {'median':>7} {'target':>7}")
    for name, (what, _, target) in WORKLOADS.items():
        mine, least = min(ours[name]), min(floor[name])
        median = np.median(np.array(ours[name]) / np.array(floor[name]))
        print(f"{name:4} {mine:7.1f} {least:7.1f} {mine / least:6.2f} {median:7.2f} {target:7.1f}   {what}")


if __name__ == "__main__":
    main()
