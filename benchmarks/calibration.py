"""Simulation-based calibration of the two references over many data sets, with planted mistakes that must be found.

    python benchmarks/calibration.py > reports/gallery/calibration.txt

The parameter is drawn from the prior of Example 1 and T = 100 observations from the parameter; its rank among 99 draws of
Metropolis-Hastings, or the exact distribution function at it, is then uniform. The p-value at the end of a line is of all
its tests together (Bonferroni): for a correct sampler it is below 0.001 with probability 0.001 at most. This is at the paper's
variance of 2; Metropolis-Hastings is known to fail at 0.3 (tracker/references/metropolis_hastings.py).
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

import tracker
from tracker import references
from tracker.references.simulation_based_calibration import TESTS

SCENARIO = Path(__file__).resolve().parent.parent / "scenarios" / "example_1.toml"
DATA_SETS, EXACT_DATA_SETS = 500, 200
QUANTITIES = ("theta(1)", "theta(2)", "p + q", "|p - q|")
LEVEL = 1e-3


def doubled(cost):
    """The likelihood counts twice: the posterior is too narrow."""
    return cost._replace(weights=2.0 * cost.weights)


def shifted(cost):
    """The prior of theta(2) sits half a standard deviation too far right."""
    return cost._replace(prior_mean=cost.prior_mean + np.array([0.0, 0.5]))


def show(what: str, u, *, wrong: bool = False) -> None:
    result = references.calibration(u)
    found = result.p_value < LEVEL
    word = ("found, as it must be" if found else "NOT FOUND") if wrong else ("REJECTED" if found else "passes")
    print(f"{what}, {len(u)} data sets: {word}; p-value {result.p_value:.3g}")
    for name, row in zip(QUANTITIES, result.p_values, strict=False):
        print(f"    {name:9}" + "".join(f"  {test} {p:9.3g}" for test, p in zip(TESTS, row, strict=True)))


def main() -> None:
    begun = time.process_time()
    problems = references.draw_problems(tracker.load(SCENARIO), DATA_SETS, seed=2024)
    few = problems[:EXACT_DATA_SETS]
    show("Metropolis-Hastings", references.sampled_ranks(problems, seed=1))
    show("Metropolis-Hastings, likelihood counted twice", references.sampled_ranks(problems, 1, doubled), wrong=True)
    show("Metropolis-Hastings, prior moved", references.sampled_ranks(problems, 1, shifted), wrong=True)
    show("Quadrature", references.exact_ranks(few))
    show("Quadrature, likelihood counted twice", references.exact_ranks(few, doubled), wrong=True)
    print(f"{time.process_time() - begun:.0f} s of one core")


if __name__ == "__main__":
    main()
