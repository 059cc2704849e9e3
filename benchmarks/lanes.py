"""Trials side by side against trials alone: every kind of sampler and family of costs, equal bit for bit, and how much sooner.

    python benchmarks/lanes.py            all cases; compiles two loops for most of them, some five minutes of CPU
    python benchmarks/lanes.py kinetic    some of them

Exits with 1 if any array of any case differs.
"""

from __future__ import annotations

import math
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import tracker
from tracker.engine.side_by_side import LANES_VARIABLE, lanes_of
from tracker.engine.simulate import compile_kernels, prepare, simulate

TRIALS, STEPS, LANES = 27, 4000, 8  # 27: the last group has idle lanes
CHAIN = {"alpha": 0.01, "Q": [[-1.0, 1.0], [1.0, -1.0]]}
MOVING = {"skew": "random", "skew_step": 0.01, "skew_bounds": [-5.0, 5.0]}
KINDS: dict[str, dict[str, Any]] = {
    "langevin": {},
    "langevin, beta = inf": {"kind": "langevin", "beta": "inf"},
    "accelerated": {"skew": "random"},
    "hessian": MOVING,
    "spsa": {**MOVING, "hold": 3},
    "two-timescale-spsa": {**MOVING, "inner_steps": 3},
    "wandering": MOVING,
    "tempered": {"noise_step": 0.01, "noise_bounds": [0.2, 2.0]},
    "adaptive-step": {"epsilon_step": 1e-4, "epsilon_bounds": [1e-3, 0.1]},
    "kinetic": {"friction": 2.0},
    "psgld": {},
    "averaged": {"rate": 0.1, "sampler": {"kind": "kinetic", "friction": 2.0}},
    "restart": {"detector": "true-times", "curvature": 1.0, "sampler": {"kind": "langevin"}},
}
BOWLS = (
    {"curvature": [[2.0, 0.3], [0.3, 1.0]], "gradient_noise": 0.5},
    {"curvature": [[1.0, -0.2], [-0.2, 1.5]], "gradient_noise": 0.7},
)
WAVY = "(a^2 - 1)^2 + s*a + 2*b^2 + exp(-b^2) + log(2 + a^2) + 0.3*sin(a) + logcosh(b) + (1 + b^2)^0.7"
ROWS = {"data": "rows.csv", "features": ["x"], "target": {"radius": 0.2}}
TABLE = "\n".join(
    [
        "x,up,down,side",
        *(f"{math.sin(n):.6f},{math.cos(3 * n):.6f},{math.sin(5 * n):.6f},{int(n % 3 > 0)}" for n in range(40)),
    ]
)
WELLS = ({"formula": "(a^2 - 1)^2 - 0.35*a + 2*b^2"}, {"formula": "(a^2 - 1)^2 + 0.35*a + 2*b^2"})
NOISY = {"variables": ["a", "b"], "gradient_noise": [[1.0, 0.0], [0.0, 0.0]], "target": {"radius": 0.35}}
LINE = {"regressor_covariance": [[1.0, 0.2], [0.2, 1.0]], "noise_variance": 0.5}
TWO_LAWS = {
    "means": [[1.0, 0.0], [1.0, 1.0]], "variance": 2.0, "prior_mean": [0.0, 0.0], "prior_variance": [10.0, 1.0], "horizon": 20, "target": {"radius": 0.5},
}  # fmt: skip


def at(key: str, common: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return two modes that differ in a place."""
    return {**common, key: [-1.0, 0.5]}, {**common, key: [1.0, 0.0]}


FAMILIES: dict[str, tuple[dict[str, Any], ...]] = {
    "quadratic": tuple({"cost": "quadratic", "minimum": [m, 0.5], **bowl} for m, bowl in zip((1.0, -1.0), BOWLS, strict=True)),
    "quadratic, one number": at("minimum", {"cost": "quadratic", "curvature": 1.0, "gradient_noise": 0.5}),
    "quadratic, memory": at("minimum", {"cost": "quadratic", "curvature": 1.0, "gradient_noise": 0.5, "noise_memory": 0.9}),
    "polynomial": tuple({"cost": "polynomial", **NOISY, **well} for well in WELLS),
    "polynomial, basis": tuple({"cost": "polynomial", "basis": [[0.8, 0.6], [-0.6, 0.8]], **NOISY, **well} for well in WELLS),
    "polynomial, other terms": tuple({"cost": "polynomial", **NOISY, "formula": f} for f in (WELLS[0]["formula"], "0.5*(a^2 - 1)^2 + a*b + b^2 + 0.1*b^4")),
    "formula": tuple({"cost": "formula", **NOISY, **well} for well in WELLS),
    "formula, parameters": tuple({"cost": "formula", **NOISY, "formula": WAVY, "parameters": {"s": s}} for s in (0.35, -0.35)),
    "quadratic, ranks 2, 0": at("minimum", {"cost": "quadratic", "curvature": 1.0, "gradient_noise": 0.5})[:1] + at("minimum", {"cost": "quadratic", "curvature": 1.0})[1:],
    "quadratic, ranks 1, 2": tuple({"cost": "quadratic", "minimum": [m, 0.5], "curvature": 1.0, "gradient_noise": [[1.0, 0.0], [0.0, v]]} for m, v in ((1.0, 0.0), (-1.0, 0.5))),
    "regression, stored": tuple({"cost": "regression", "loss": "huber", "threshold": 1.0, **ROWS, "response": y} for y in ("up", "down")),
    "logistic": tuple({"cost": "logistic", **ROWS, "label": "side", "horizon": 2, "prior_variance": 1.0, **change} for change in ({}, {"relabel": "flip"})),
    **{
        f"regression, {loss}": at("truth", {"cost": "regression", "loss": loss, **LINE, **({"threshold": 1.0} if loss == "huber" else {})})
        for loss in ("squared", "huber", "absolute")
    },
    "regression, memory": at("truth", {"cost": "regression", "loss": "squared", "regressor_memory": 0.8, **LINE}),
    **{
        f"mixture, {data}": at("truth", {"cost": "mixture", "data": data, **TWO_LAWS, **({} if data == "stream" else {"data_seed": 3})})
        for data in ("stream", "sweep", "shuffle", "full")
    },
    "mixture, sweep, one mode": ({"cost": "mixture", "data": "sweep", "data_seed": 3, "truth": [0.0, 1.0], **TWO_LAWS},),
}  # fmt: skip


def scenario(kind: str, family: str) -> tracker.Scenario:
    """Return a small world for a kind of sampler and a family of costs."""
    modes = [{"name": f"mode-{n}", **mode} for n, mode in enumerate(FAMILIES[family])]
    epsilon = 2e-3 if family.startswith("mixture") else 2e-2
    sampler = {"name": "one", "kind": kind, "epsilon": epsilon, "beta": 4.0, **KINDS[kind]}
    world = {"name": "lanes", "seed": 3, "trials": TRIALS, "steps": STEPS, "start": [0.5, 0.1], "baselines": []}
    keys = {**world, "modes": modes, "samplers": [sampler], **({"chain": CHAIN} if len(modes) > 1 else {})}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "rows.csv").write_text(TABLE)
        return tracker.parse(keys, folder=folder)


def carried_out(world: tracker.Scenario, lanes: int) -> tuple[dict[str, Any], float, str]:
    """Return all arrays, the seconds of the loop, and why trials went alone."""
    os.environ[LANES_VARIABLE] = str(lanes)
    problem = prepare(world)
    compile_kernels(problem)
    why = lanes_of(problem, problem.contestants[0])[1]
    best = np.inf
    for _ in range(3):
        begun = time.process_time()
        arrays, _ = simulate(problem, range(TRIALS))
        best = min(best, time.process_time() - begun)
    return arrays, best, why


def main(words: list[str]) -> int:
    """Compare all cases whose names hold one of ``words``."""
    cases = {kind: (kind, "quadratic") for kind in KINDS} | {family: ("langevin", family) for family in FAMILIES}
    cases |= {
        "hessian on other terms": ("hessian", "polynomial, other terms"),
        "two-timescale on ranks": ("two-timescale-spsa", "quadratic, ranks 1, 2"),
    }
    cases |= {"hessian on polynomial": ("hessian", "polynomial"), "spsa on mixture": ("spsa", "mixture, stream")}
    wrong = 0
    print(
        f"CPU ns per trial-step of whole simulations ({TRIALS} trials x {STEPS} steps), least of 3: alone, {LANES} side by side"
    )
    for name, (kind, family) in cases.items():
        if words and not any(word in name for word in words):
            continue
        world = scenario(kind, family)
        (alone, slow, _), (together, fast, why) = carried_out(world, 1), carried_out(world, LANES)
        differ = [
            key
            for key, array in alone.items()
            if not np.array_equal(array, together[key], equal_nan=array.dtype.kind == "f")
        ]
        wrong += bool(differ)
        told = f"DIFFERENT: {', '.join(differ)}" if differ else f"alone: {why}" if why else "equal"
        each = 1e9 / (TRIALS * STEPS)
        print(f"{name:28} {slow * each:7.0f} {fast * each:7.0f}   {told}", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
