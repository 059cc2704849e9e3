"""The paper's two examples at full size, measured against exact truth: the numbers of reports/gallery/paper.html.

    python -m studies.paper run [far ridge ...]     measure what is missing; numbers go to reports/gallery/paper.json
    python -m studies.paper page                    write the page and its Markdown twin from these numbers

Samplers are run one after the other, and meet the same observations, noise, start and random S in the same trial, so
that all comparisons are paired. ``error`` is the distance of the running posterior mean (all steps from 0 on, as in the
paper's figures) from the exact one, in the first two coordinates; ``area`` is its average over all steps; ``w1`` the W1
distance of the recorded points up to a step to the exact marginal law, averaged over the first two coordinates;
``spread`` the second moment about the exact mean over the exact variance, averaged over coordinates, second half.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

import tracker
from studies.paper import primary
from tracker import references
from tracker.autocorrelation import estimate_mixing
from tracker.metrics.skew_matrix import rms
from tracker.metrics.wasserstein import tabulate, w1

ROOT = Path(__file__).resolve().parents[2]
GALLERY = ROOT / "reports" / "gallery"
NUMBERS = GALLERY / "paper.json"
PAPER = ("classical", "accelerated", "fixed-4", "algorithm-1", "algorithm-1-fast", "algorithm-2", "algorithm-3")
TABLE_POINTS = 2001  # of a distribution function: lines between them are off by less than 1e-5 standard deviations
CHECKPOINTS = 22
REACH = 9.0  # standard deviations


class Experiment(NamedTuple):
    """A scenario file with changes; ``samplers`` None means all; ``fewer`` trials for some, to save time."""

    file: str
    settings: tuple[str, ...]
    samplers: tuple[str, ...] | None = None
    fewer: Mapping[str, int] = MappingProxyType({})


EXPERIMENTS = {
    "far": Experiment("example_1.toml", ("trials=100",)),
    "many": Experiment("example_1.toml", ("trials=400",), ("classical", "accelerated")),
    "ridge": Experiment("example_1_ridge.toml", ("trials=100",)),
    "middle": Experiment("example_1.toml", ("trials=100", "samplers.*.epsilon=3e-4"), PAPER),
    "coarse": Experiment("example_1.toml", ("trials=100", "samplers.*.epsilon=1e-3"), PAPER),
    "long": Experiment(
        "example_1.toml",
        ("trials=6", "steps=2_000_000", "burn_in=100_000", "record_every=101", "start=[0.5, 0.0]"),
    ),
    "ten": Experiment(
        "example_2.toml", (), None, MappingProxyType({"ascent": 20, "algorithm-1-wide": 20, "algorithm-3": 10})
    ),
    "ten-long": Experiment(
        "example_2.toml",
        ("trials=4", "steps=2_000_000", "burn_in=200_000", "record_every=501"),
        ("classical", "accelerated", "algorithm-1", "algorithm-2", "wandering"),
    ),
}  # fmt: skip


class Truth(NamedTuple):
    """The exact law: its moments, and the tabulated distribution functions of the first two coordinates."""

    mean: np.ndarray
    variance: np.ndarray
    tables: tuple[tuple[np.ndarray, np.ndarray], ...]


def truth_of(scenario: tracker.Scenario) -> Truth:
    law = references.posterior(scenario)
    tables = []
    for d in range(2):
        low, high = law.mean[d] - REACH * law.deviation[d], law.mean[d] + REACH * law.deviation[d]
        tables.append(tabulate(lambda x, d=d: law.cdf(d, x), low, high, TABLE_POINTS))
    return Truth(law.mean, np.diag(law.covariance), tuple(tables))


def rounded(values: Any) -> Any:
    """Five digits are plenty, and keep the file small; nan becomes None."""
    if isinstance(values, dict):
        return {key: rounded(value) for key, value in values.items()}
    array = np.asarray(values, dtype=float)
    if array.ndim:
        return [rounded(value) for value in array]
    return float(f"{float(array):.5g}") if np.isfinite(array) else None


def measured(run: tracker.Run, truth: Truth) -> dict[str, Any]:
    """Return all that the page needs of one sampler's run."""
    theta = run.arrays["theta"][:, 0]  # (T, R, N)
    steps = np.arange(theta.shape[1]) * run.scenario.record_every
    at = np.unique(np.searchsorted(steps, np.geomspace(200, steps[-1], CHECKPOINTS)).clip(1, steps.size - 1))
    running = np.cumsum(theta[:, :, :2], axis=1) / np.arange(1, steps.size + 1)[:, np.newaxis]
    error = np.linalg.norm(running - truth.mean[:2], axis=2)
    distance = np.array([[distance_to(points[: r + 1], truth) for r in at] for points in theta])
    late = theta[:, steps >= max(run.scenario.burn_in, steps[-1] // 2)]
    spread = ((late - truth.mean) ** 2 / truth.variance).mean(axis=(1, 2))
    row = run.summary["samplers"][0]
    found: dict[str, Any] = {
        "steps": steps[at].tolist(),
        "mean": rounded(running[:, at].mean(axis=0)),
        "mean_spread": rounded(running[:, at].std(axis=0, ddof=1)),
        "error": rounded({str(int(k)): error[:, np.searchsorted(steps, k)] for k in (1000, 3000, 10_000)}),
        "error_curve": rounded([error[:, at].mean(axis=0), standard_error(error[:, at])]),
        "w1_curve": rounded([distance.mean(axis=0), standard_error(distance)]),
        "area": rounded(error.mean(axis=1)),
        "last_error": rounded(error[:, -1]),
        "w1": rounded(distance[:, -1]),
        "spread": rounded(spread),
        "gradients": row["evaluations"]["gradient"],
        "diverged": row["diverged"],
        "resets": int(run.arrays["resets"][:, 0].sum()),
        "nanoseconds": round(1e9 / row["steps_per_second"], 1),
    }
    if run.scenario.burn_in:
        kept = theta[:, steps >= run.scenario.burn_in]
        thin = run.scenario.record_every
        found["iact"] = rounded(
            [[thin * estimate_mixing(chain, truth.mean[d]).time for chain in kept[:, :, d]] for d in range(2)]
        )
    if run.arrays["skew"].size:
        path = run.arrays["skew"][:, 0]  # (T, R, pairs)
        found["skew_curve"] = rounded(np.sqrt((path[:, at] ** 2).mean(axis=(0, 2))))
        found["last_skew"] = rounded(rms(path[:, -1]))
        found["skew_3000"] = rounded(path[:, np.searchsorted(steps, 3000)].mean(axis=1))
    return found


def distance_to(points: np.ndarray, truth: Truth) -> float:
    return float(np.mean([w1(points[:, d], *truth.tables[d]) for d in range(2)]))


def standard_error(values: np.ndarray) -> np.ndarray:
    return values.std(axis=0, ddof=1) / np.sqrt(len(values))


def check_truth() -> None:
    """Compare Metropolis-Hastings with quadrature in both examples."""
    found = {}
    for name, draws in (("example_1", 100_000), ("example_2", 500_000)):
        scenario = tracker.load(ROOT / "scenarios" / f"{name}.toml")
        law, drawn = references.posterior(scenario), references.metropolis(scenario, draws=draws, seed=1)
        found[name] = {
            "exact": law.mean.tolist(),
            "deviation": law.deviation.tolist(),
            "error": law.error,
            "sampled": rounded(drawn.mean),
            "stderr": rounded(drawn.stderr),
            "effective_size": rounded(drawn.effective_size),
            "acceptance": rounded(drawn.acceptance),
            "points": rounded(drawn.theta[0, :: draws // 300, :2]),
        }
        z = (drawn.mean - law.mean) / drawn.stderr
        print(f"{name}: Metropolis-Hastings is {np.abs(z).max():.2f} standard errors away at most", flush=True)
    save_numbers({**load_numbers(), "truth": found})


def load_numbers() -> dict[str, Any]:
    return json.loads(NUMBERS.read_text()) if NUMBERS.exists() else {}


def save_numbers(numbers: dict[str, Any]) -> None:
    GALLERY.mkdir(parents=True, exist_ok=True)
    text = json.dumps(numbers, indent=None, separators=(",", ":"), allow_nan=False)
    temporary = NUMBERS.with_suffix(".tmp")
    temporary.write_text(text.replace('},"', '},\n"') + "\n")
    temporary.replace(NUMBERS)


def run_experiment(name: str, workers: int) -> None:
    """Measure the samplers of an experiment that the file of numbers does not have yet."""
    experiment = EXPERIMENTS[name]
    scenario = tracker.load(ROOT / "scenarios" / experiment.file, experiment.settings)
    truth = truth_of(scenario)
    for keys in sorted(
        scenario.samplers, key=lambda keys: keys.step_nanoseconds(scenario.dimension)
    ):  # cheap ones first
        have = load_numbers().get(name, {}).get("samplers", {})
        if keys.name in have or (experiment.samplers is not None and keys.name not in experiment.samplers):
            continue
        begun = time.perf_counter()
        trials = experiment.fewer.get(keys.name, scenario.trials)
        run = tracker.run(scenario.replace(samplers=[keys], trials=trials), executor=workers)
        spent = time.perf_counter() - begun
        numbers = load_numbers()
        entry = numbers.setdefault(name, {"samplers": {}})
        entry.update(trials=scenario.trials, steps=scenario.steps, truth=rounded(truth.mean[:2]),
                     deviation=rounded(np.sqrt(truth.variance[:2])))  # fmt: skip
        entry["samplers"][keys.name] = {**measured(run, truth), "epsilon": keys.epsilon, "seconds": round(spent, 1)}
        save_numbers(numbers)
        one = entry["samplers"][keys.name]
        print(f"{name:9} {keys.name:18} {spent:7.1f} s  area {np.nanmean(np.array(one['area'], dtype=float)):.3f}  "
              f"w1 {np.nanmean(np.array(one['w1'], dtype=float)):.3f}  "
              f"spread {np.nanmean(np.array(one['spread'], dtype=float)):.3f}", flush=True)  # fmt: skip


def run_primary(workers: int) -> None:
    """Measure the comparisons that were fixed beforehand, an example at a time."""
    for file in primary.BUDGET:
        if file in load_numbers().get("primary", {}):
            continue
        path = ROOT / "scenarios" / f"{file}.toml"
        truth = truth_of(tracker.load(path))
        entry = primary.measure(path, file, truth, distance_to, workers, lambda line: print(line, flush=True))
        numbers = load_numbers()
        save_numbers({**numbers, "primary": {**numbers.get("primary", {}), file: entry}})


def main(arguments: list[str]) -> None:
    command, names = (arguments[0] if arguments else "run"), arguments[1:]
    if command == "page":
        from studies.paper.page import write_pages

        write_pages(NUMBERS, tracker.load(ROOT / "scenarios" / "example_1.toml"), GALLERY)
        return
    workers = int(os.environ.get("WORKERS", "2"))
    for name in names or ["truth", *EXPERIMENTS, "primary"]:
        if name == "truth":
            check_truth()
        elif name == "primary":
            run_primary(workers)
        else:
            run_experiment(name, workers)
