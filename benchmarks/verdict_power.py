"""How often the two verdicts of ``tracker limit`` say no: to correct engines, and to engines with a planted fault.

Two tables. The panel alone, on Example A with the start N((0.5, 0), 0.3^2 I), with few trials and large faults; and the whole
judgement of the implementation (panel, single steps, and the whole law where N = 1) at default settings, with small faults on
the same world, and with right engines in ten worlds. Every replicate is a check with its own seed. Faults are planted at the
inputs of the compiled kernels.

    python benchmarks/verdict_power.py > benchmarks/verdict_power.txt
    python benchmarks/verdict_power.py --parts steps --faulty 5 --right 4
    python benchmarks/verdict_power.py --store outcomes.jsonl          # goes on where it was stopped
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import verdict_steps
from scipy.special import betaincinv
from verdict_faults import (
    Ahead,
    Behind,
    EverySecond,
    chain_faster,
    drift_changed,
    nothing,
    sampler_changed,
    without_second_row,
    world,
)
from verdict_models import example_a, models

from tracker.convergence import extrapolation, step_ladder
from tracker.convergence.exact_values import exact_values
from tracker.convergence.trials import RungTrials

SEED = 606


class Case(NamedTuple):
    """``caught_by``: the verdict that must say no; "" for a correct engine."""

    name: str
    fault: Callable[[], Any]
    caught_by: str = ""
    gradient_noise: bool = False


CASES = (
    Case("correct", nothing),
    Case("correct, gradient noise", nothing, gradient_noise=True),
    Case(
        "noise sqrt(eps/beta)",
        lambda: sampler_changed(parameters=lambda p: p._replace(noise=p.noise / np.sqrt(2.0))),
        "limit",
    ),
    Case("chain rate x 2", lambda: chain_faster(2.0), "limit"),
    Case("chain rate x 1.2", lambda: chain_faster(1.2), "limit"),
    Case("chain moved every 2nd step", lambda: world(EverySecond), "limit"),
    Case("S flipped", lambda: sampler_changed(skew=lambda S: -S), "limit"),
    Case("S flipped in mode 2", lambda: drift_changed(lambda S: np.eye(2) - S, (1,)), "limit"),
    Case("S missing in row 2", lambda: drift_changed(without_second_row, (0, 1)), "limit"),
    Case("lag +1: x_{k+1}", lambda: world(Ahead), "implementation"),
    Case("lag -1: x_{k-1}", lambda: world(Behind), "implementation"),
)


class Outcome(NamedTuple):
    """Both verdicts of a check, and the largest |z| of each test."""

    limit: str
    implementation: str
    limit_z: float
    implementation_z: float


@lru_cache
def theory(gradient_noise: bool) -> tuple[Any, Any]:
    """The ladder and the exact values, which no seed changes."""
    rungs = step_ladder.build(example_a(gradient_noise=gradient_noise))
    return rungs, exact_values(rungs, lambda _: None)


def outcome(case: int, replicate: int, trials: int, delta: float) -> Outcome:
    """One check, as ``tracker limit --trials`` makes it, without the parts that decide nothing."""
    chosen = CASES[case]
    rungs, exact = theory(chosen.gradient_noise)
    rungs = replace(rungs, scenario=rungs.scenario.replace(seed=SEED + 10_000 * case + replicate))
    engine = RungTrials(rungs, exact.panel, trials, list(range(len(rungs.steps))), workers=1)
    with chosen.fault():
        tallies = [engine.run(rung) for rung in range(len(rungs.steps))]
    tested = len(exact.panel.tested)
    limit = extrapolation.limit_from_samples(rungs.epsilons, tallies, exact.limit, delta, tested)
    own = extrapolation.implementation(tallies[0], exact.algorithm[0], delta, tested)
    return Outcome(limit.verdict, own.verdict, limit.largest_z, own.largest_z)


class Store:
    """Outcomes by key, kept in a file if there is one."""

    def __init__(self, path: Path | None) -> None:
        self.path, self.found = path, {}
        if path is not None and path.exists():
            self.found = {json.dumps(key): found for key, found in map(json.loads, path.read_text().splitlines())}

    def get(
        self, pool: ProcessPoolExecutor, kind: Any, compute: Callable[..., Any], keys: list[tuple[Any, ...]]
    ) -> list[Any]:
        """The outcomes of ``compute`` for every tuple of arguments in ``keys``; those in the file are not computed again."""
        names = self._names(compute, keys)
        waiting = {
            name: pool.submit(compute, *key) for name, key in zip(names, keys, strict=True) if name not in self.found
        }
        for name, future in waiting.items():
            self.found[name] = list(future.result())
            if self.path is not None:
                with self.path.open("a") as file:
                    file.write(json.dumps([json.loads(name), self.found[name]]) + "\n")
        return [kind(*self.found[name]) for name in names]

    def lacks(self, compute: Callable[..., Any], keys: list[tuple[Any, ...]]) -> bool:
        """Whether something is still to be computed."""
        return any(name not in self.found for name in self._names(compute, keys))

    def _names(self, compute: Callable[..., Any], keys: list[tuple[Any, ...]]) -> list[str]:
        return [json.dumps([compute.__module__, *key]) for key in keys]


def upper(count: int, total: int) -> float:
    """The largest rate that ``count`` of ``total`` does not exclude with 95 % confidence (Clopper and Pearson)."""
    return 1.0 if count == total else float(betaincinv(count + 1, total - count, 0.95))


def row(case: Case, found: list[Outcome]) -> str:
    total = len(found)
    shares = [np.mean([o.limit == word for o in found]) for word in ("rejected", "confirmed", "inconclusive")]
    own = np.mean([o.implementation == "rejected" for o in found])
    z, own_z = (np.median([getattr(o, key) for o in found]) for key in ("limit_z", "implementation_z"))
    return (
        f"{case.name:28} {shares[0]:9.3f} {shares[1]:10.3f} {shares[2]:13.3f} {z:8.1f} {own:15.3f} {own_z:8.1f} "
        f"{total:11d}  {case.caught_by or '-'}"
    )


def panel_table(asked: argparse.Namespace, known: Store) -> None:
    """Large faults, few trials: the panel alone."""
    print(
        f"Example A, start N((0.5, 0), 0.3^2 I), T = 1, n = 8, 16, 32, 64, 128; {asked.trials} trials per level, "
        f"delta = {asked.resolution:g};\nthe panel alone, both tests at 1 %; the implementation is judged by the trials at n = 8.\n"
    )
    print(
        f"{'engine':28} {'rejected':>9} {'confirmed':>10} {'inconclusive':>13} {'median z':>8} {'impl. rejected':>15} "
        f"{'median z':>8} {'replicates':>11}  must be caught by",
        flush=True,
    )
    right: list[Outcome] = []
    theory(False), theory(True)
    outcome(0, 0, 200, asked.resolution)  # compiled here, once, before the processes part
    with ProcessPoolExecutor(asked.workers, mp_context=multiprocessing.get_context("fork")) as pool:
        for index in asked.cases:
            case = CASES[index]
            count = asked.mutants if case.caught_by else asked.correct
            keys = [(index, r, asked.trials, asked.resolution) for r in range(count)]
            found = known.get(pool, Outcome, outcome, keys)
            print(row(case, found), flush=True)
            right += found if not case.caught_by else []
    print(f"\nboth correct engines together, {len(right)} replicates:")
    for which in ("limit", "implementation"):
        rejected = sum(getattr(o, which) == "rejected" for o in right)
        print(f"  {which} rejected {rejected} times: at most {upper(rejected, len(right)):.2%} with 95 % confidence")


def steps_table(asked: argparse.Namespace, known: Store) -> None:
    """Small faults at default settings, and right engines in ten worlds."""
    print(
        f"Implementation at default settings (resolution {verdict_steps.RESOLUTION:g}): the panel, single steps and the whole law "
        f"(N = 1) together, at 1 %;\nfaults in {verdict_steps.WORLD}, start N((0.5, 0), 0.3^2 I), gradient noise, n = 8.\n"
    )
    print(verdict_steps.head(), flush=True)
    fork = multiprocessing.get_context("fork")
    verdict_steps.outcome(verdict_steps.WORLD, -1, 999)  # compiled here, once, before the processes part
    with ProcessPoolExecutor(asked.workers, mp_context=fork) as pool:
        for n, fault in sorted(enumerate(verdict_steps.FAULTS), key=lambda pair: not pair[1].most):
            keys = [(verdict_steps.WORLD, n, r) for r in range(asked.faulty)]
            found = known.get(pool, verdict_steps.Outcome, verdict_steps.outcome, keys)
            print(verdict_steps.row(fault.name, found, ">= 18 of 20" if fault.most else "-"), flush=True)
    right = []
    for name in models() if asked.right else []:
        keys = [(name, -1, r) for r in range(asked.right)]
        if known.lacks(verdict_steps.outcome, keys):
            verdict_steps.outcome(name, -1, 999)
        with ProcessPoolExecutor(asked.workers, mp_context=fork) as pool:
            found = known.get(pool, verdict_steps.Outcome, verdict_steps.outcome, keys)
        print(verdict_steps.row(f"right: {name}", found, "-"), flush=True)
        right += found
    rejected = sum(each.word == "rejected" for each in right)
    if right:
        print(
            f"\nright engines together: {rejected} of {len(right)} rejected, at most {upper(rejected, len(right)):.2%} (95 %)"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="*", choices=("panel", "steps"), default=["panel", "steps"])
    parser.add_argument("--trials", type=int, default=4000, help="of the panel's table")
    parser.add_argument("--resolution", type=float, default=0.1, help="of the panel's table")
    parser.add_argument("--correct", type=int, default=340)
    parser.add_argument("--mutants", type=int, default=40)
    parser.add_argument("--faulty", type=int, default=20, help="replicates of each small fault")
    parser.add_argument("--right", type=int, default=40, help="replicates of a right engine in each world")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--cases", type=int, nargs="*", default=list(range(len(CASES))), help="numbers from 0")
    parser.add_argument("--store", type=Path, help="a file of outcomes: those in it are not computed again")
    asked = parser.parse_args()
    known = Store(asked.store)
    for n, part in enumerate(asked.parts):
        print("\n" if n else "", end="")
        {"panel": panel_table, "steps": steps_table}[part](asked, known)


if __name__ == "__main__":
    main()
