"""How often the two verdicts of ``tracker limit`` say no: to correct engines, and to engines with a planted fault.

Example A with the start N((0.5, 0), 0.3^2 I); every replicate is a whole check with its own seed. Faults are planted at the
kernel's inputs: the sampler's parameters, the chain's plan, the skew matrix, the costs, the timeline of the modes.

    python benchmarks/verdict_power.py > benchmarks/verdict_power.txt
    python benchmarks/verdict_power.py --correct 20 --mutants 5 --trials 1000
    python benchmarks/verdict_power.py --store outcomes.jsonl          # goes on where it was stopped
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy.special import betaincinv

import tracker
from tracker import simulate
from tracker.convergence import extrapolation, ladder
from tracker.convergence.exact import exact_values
from tracker.convergence.sampling import Engine
from tracker.environment import Environment, Timeline

FILE = Path(__file__).resolve().parent.parent / "scenarios" / "example_a.toml"
NOISELESS = [[0.0, 0.0], [0.0, 0.0]]
SEED = 606


def example_a(*, gradient_noise: bool = False) -> tracker.Scenario:
    """Example A with a Gaussian start, with or without gradient noise."""
    scenario = tracker.load(FILE)
    start = {"mean": [0.5, 0.0], "covariance": [[0.09, 0.0], [0.0, 0.09]]}
    modes = [
        mode if gradient_noise else mode.model_copy(update={"gradient_noise": NOISELESS}) for mode in scenario.modes
    ]
    return scenario.replace(start=start, modes=modes)


# --- faults


@contextmanager
def prepared(change: Callable[[Any], Any]) -> Iterator[None]:
    """Give the kernels another problem than the one they were asked for."""
    honest = simulate.prepare
    with mock.patch.object(simulate, "prepare", lambda scenario: change(honest(scenario))):
        yield


def sampler_changed(**how: Callable[[Any], Any]) -> Any:
    """Change entries of what a sampler is: ``parameters`` or ``skew``."""

    def change(problem: Any) -> Any:
        first, *others = problem.contestants
        first = first._replace(**{key: f(getattr(first, key)) for key, f in how.items()})
        return problem._replace(contestants=(first, *others))

    return prepared(change)


def chain_faster(factor: float) -> Any:
    return prepared(lambda problem: problem._replace(plan=replace(problem.plan, Q=factor * problem.plan.Q)))


def drift_changed(matrix: Callable[[Any], Any], modes: tuple[int, ...]) -> Any:
    """Let (I + S) grad C be W grad C in some modes, by giving the kernel (I + S)^-1 W H as the curvature there."""

    def change(problem: Any) -> Any:
        S = problem.contestants[0].skew
        turn = np.linalg.solve(np.eye(2) + S, matrix(S))
        changed = list(problem.modes)
        for x in modes:
            cost = changed[x].cost
            changed[x] = changed[x]._replace(cost=cost._replace(curvature=np.ascontiguousarray(turn @ cost.curvature)))
        return problem._replace(modes=tuple(changed))

    return prepared(change)


def without_second_row(S: Any) -> Any:
    return np.eye(2) + np.array([S[0], [0.0, 0.0]])


class Ahead(Environment):
    """Hands out x_{k+1} where x_k is due; the mode at the end stays right."""

    def advance(self, stop: int) -> Timeline:
        """Go on to step `stop`, with the fault."""
        t = super().advance(stop)
        at = t.offsets[1:]  # a segment for x_stop goes in at the end of each trial
        end = np.insert(t.end - 1, at, stop)
        mode = np.insert(t.mode, at, self.present)
        since = np.insert(t.since, at, t.since[at - 1])
        trial = np.insert(np.repeat(np.arange(len(at)), np.diff(t.offsets)), at, np.arange(len(at)))
        keep = end > t.start
        offsets = np.searchsorted(trial[keep], np.arange(len(at) + 1))
        return Timeline(t.start, t.stop, offsets, mode[keep], end[keep], since[keep], np.ones(keep.sum(), dtype=bool))


class Behind(Environment):
    """Hands out x_{k-1} where x_k is due (x_0 at first); the mode at the end stays right. One block only."""

    def advance(self, stop: int) -> Timeline:
        """Go on to step `stop`, with the fault."""
        t = super().advance(stop)
        trial = np.repeat(np.arange(len(t.offsets) - 1), np.diff(t.offsets))
        begin = np.concatenate([[0], t.end[:-1]])
        begin[t.offsets[:-1]] = t.start
        keep = (begin == t.start) | (begin + 1 < stop)
        offsets = np.searchsorted(trial[keep], np.arange(len(t.offsets)))
        end = np.minimum(t.end + 1, stop)[keep]
        return Timeline(t.start, t.stop, offsets, t.mode[keep], end, t.since[keep], t.live[keep])


class EverySecond(Environment):
    """The chain moves at every second step only."""

    def advance(self, stop: int) -> Timeline:
        """Go on to step `stop`, with the fault."""
        t = super().advance(stop // 2)
        since = np.where(t.since >= 0, 2 * t.since, t.since)
        return Timeline(2 * t.start, stop, t.offsets, t.mode, 2 * t.end, since, t.live)


def world(kind: type[Environment]) -> Any:
    return mock.patch.object(simulate, "Environment", kind)


@contextmanager
def nothing() -> Iterator[None]:
    yield


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
    rungs = ladder.build(example_a(gradient_noise=gradient_noise))
    return rungs, exact_values(rungs, lambda _: None)


def outcome(case: int, replicate: int, trials: int, delta: float) -> Outcome:
    """One check, as ``tracker limit --trials`` makes it, without the parts that decide nothing."""
    chosen = CASES[case]
    rungs, exact = theory(chosen.gradient_noise)
    rungs = replace(rungs, scenario=rungs.scenario.replace(seed=SEED + 10_000 * case + replicate))
    engine = Engine(rungs, exact.panel, trials, list(range(len(rungs.steps))), workers=1)
    with chosen.fault():
        tallies = [engine.run(rung) for rung in range(len(rungs.steps))]
    tested = len(exact.panel.tested)
    limit = extrapolation.limit_from_samples(rungs.epsilons, tallies, exact.limit, delta, tested)
    own = extrapolation.implementation(tallies[0], exact.algorithm[0], delta, tested)
    return Outcome(limit.verdict, own.verdict, limit.largest_z, own.largest_z)


class Store:
    """Outcomes by case and replicate, kept in a file if there is one."""

    def __init__(self, path: Path | None, trials: int, delta: float) -> None:
        self.path, self.budget, self.found = path, [trials, delta], {}
        if path is not None and path.exists():
            for line in path.read_text().splitlines():
                budget, case, replicate, *rest = json.loads(line)
                if budget == self.budget:
                    self.found[case, replicate] = Outcome(*rest)

    def add(self, case: int, replicate: int, one: Outcome) -> None:
        """Keep an outcome."""
        self.found[case, replicate] = one
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps([self.budget, case, replicate, *one]) + "\n")


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=4000)
    parser.add_argument("--resolution", type=float, default=0.1)
    parser.add_argument("--correct", type=int, default=300)
    parser.add_argument("--mutants", type=int, default=40)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--cases", type=int, nargs="*", default=list(range(len(CASES))), help="numbers from 0")
    parser.add_argument("--store", type=Path, help="a file of outcomes: those in it are not computed again")
    asked = parser.parse_args()
    print(
        f"Example A, start N((0.5, 0), 0.3^2 I), T = 1, n = 8, 16, 32, 64, 128; {asked.trials} trials per level, "
        f"delta = {asked.resolution:g};\nboth tests at 1 %; the implementation is judged by the trials at n = 8.\n"
    )
    print(
        f"{'engine':28} {'rejected':>9} {'confirmed':>10} {'inconclusive':>13} {'median z':>8} {'impl. rejected':>15} "
        f"{'median z':>8} {'replicates':>11}  must be caught by",
        flush=True,
    )
    known = Store(asked.store, asked.trials, asked.resolution)
    right: list[Outcome] = []
    theory(False), theory(True)
    outcome(0, 0, 200, asked.resolution)  # compiled here, once, before the processes part
    with ProcessPoolExecutor(asked.workers, mp_context=multiprocessing.get_context("fork")) as pool:
        for index in asked.cases:
            case = CASES[index]
            count = asked.mutants if case.caught_by else asked.correct
            missing = [r for r in range(count) if (index, r) not in known.found]
            waiting = [pool.submit(outcome, index, r, asked.trials, asked.resolution) for r in missing]
            for r, future in zip(missing, waiting, strict=True):
                known.add(index, r, future.result())
            found = [known.found[key] for key in sorted(known.found) if key[0] == index]
            print(row(case, found), flush=True)
            right += found if not case.caught_by else []
    print(f"\nboth correct engines together, {len(right)} replicates:")
    for which in ("limit", "implementation"):
        rejected = sum(getattr(o, which) == "rejected" for o in right)
        print(f"  {which} rejected {rejected} times: at most {upper(rejected, len(right)):.2%} with 95 % confidence")


if __name__ == "__main__":
    main()
