"""What share of a run does the SimPy world take? Swapping wells with shorter and shorter dwells.

python benchmarks/environment.py
"""

from __future__ import annotations

import time
from pathlib import Path

import tracker
from tracker.engine.simulate import compile_kernels, prepare, simulate
from tracker.environment import Environment

SCENARIO = Path(__file__).resolve().parent.parent / "scenarios" / "swapping_wells.toml"
TRIALS, STEPS = 10, 200_000


def main() -> None:
    scenario = tracker.load(SCENARIO).replace(trials=TRIALS, steps=STEPS)
    print(f"{'mean dwell':>10} {'switches':>9} {'world s':>8} {'run s':>8} {'share':>7} {'us/switch':>10}")
    for alpha in (1e-5, 1e-4, 1e-3, 1e-2):
        problem = prepare(scenario.replace(chain=scenario.chain.model_copy(update={"alpha": alpha})))
        compile_kernels(problem)
        begun = time.process_time()
        for trial in range(TRIALS):
            simulate(problem, [trial])
        whole = time.process_time() - begun
        begun = time.process_time()
        switches = 0
        for trial in range(TRIALS):
            world = Environment(problem.plan, scenario.seed, [trial])
            for stop in range(50_000, STEPS + 1, 50_000):
                world.advance(stop)
            world.close()
            switches += int(world.switches.sum())
        alone = time.process_time() - begun
        each = 1e6 * alone / max(switches, 1)
        print(f"{1 / alpha:10.0f} {switches:9d} {alone:8.3f} {whole:8.3f} {alone / whole:7.1%} {each:10.1f}")


if __name__ == "__main__":
    main()
