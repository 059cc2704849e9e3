"""The filter and the rivals at large counts: errors against exact values, detection against run lengths, and what each costs.

    python benchmarks/rivals.py [--write]

``--write`` keeps the table in ``benchmarks/rivals.txt``. The suite has short versions (tests/samplers/test_filter.py,
tests/samplers/test_wrappers.py, tests/samplers/test_rivals.py).
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ["TRACKER_CACHE_DIR"] = tempfile.mkdtemp()  # nothing was compiled before

import tracker
from tracker import limits
from tracker.engine import simulate

HERE = Path(__file__).resolve().parent
Q = [[-1.0, 1.0], [1.0, -1.0]]
SIZES = {1e-2: (200, 40_000), 1e-3: (200, 100_000), 1e-4: (100, 400_000)}  # trials, steps
EXACT_WELLS = 0.003166  # by quadrature: docs/mathematics, "Temperature"
CUSUM: dict[str, Any] = {
    "kind": "restart", "sampler": {"kind": "langevin"}, "beta": "inf", "epsilon": 0.0196, "noise_variance": 1.0, "curvature": 1.0,
}  # fmt: skip
ONE_OF_EACH: dict[str, dict[str, Any]] = {
    "langevin": {},
    "adaptive-step": {"epsilon_step": 1e-7, "epsilon_bounds": [1e-3, 0.5]},
    "kinetic": {"friction": 2.0},
    "psgld": {},
    "restart": {**CUSUM, "threshold": 10.0, "shift": 1.0, "floor": 1e-3},
    "averaged": {"sampler": {"kind": "langevin"}, "rate": 0.1},
}


def jumping(alpha: float, samplers: list[dict[str, Any]], trials: int, steps: int, **more: Any) -> tracker.Scenario:
    """Return the scalar world: minima at +-1, curvature, gradient noise and rate 1."""
    modes = [
        {"name": name, "cost": "quadratic", "minimum": [m], "curvature": [[1.0]], "gradient_noise": [[1.0]]}
        for name, m in (("up", 1.0), ("down", -1.0))
    ]
    head = {"name": "jumping", "seed": 5, "trials": trials, "steps": steps, "burn_in": steps // 20, "start": [0.0]}
    return tracker.parse(
        {
            **head,
            "record_every": steps // 50,
            "chain": {"alpha": alpha, "Q": Q},
            "modes": modes,
            "samplers": samplers,
            **more,
        }
    )


def rows_of(scenario: tracker.Scenario) -> dict[str, Any]:
    """Return the rows of the summary by name."""
    return {row["name"]: row for row in tracker.run(scenario, executor=1).summary["samplers"]}


def filter_lines() -> list[str]:
    """Compare the simulated filter with quadrature."""
    lines = [
        "filter: mean square error, simulated and by quadrature, distance in standard errors (rejected beyond 4.9)"
    ]
    plain = [{"name": "a", "kind": "langevin", "epsilon": 0.1, "beta": "inf"}]
    for alpha, (trials, steps) in SIZES.items():
        world = jumping(alpha, plain, trials, steps, baselines=["filter"])
        found, exact = rows_of(world)["filter"]["mean_square_error"], limits.best_filter(world).mean_square_error
        lines.append(_compared(f"alpha = {alpha:g}", found, exact))
    wells = tracker.load(HERE.parent / "scenarios" / "swapping_wells.toml", ["trials=20", "baselines=['filter']"])
    found = rows_of(wells.replace(samplers=[wells.samplers[0]], claims=None))["filter"]["mean_square_error"]
    return [*lines, _compared("swapping wells", found, EXACT_WELLS)]


def _compared(what: str, found: dict[str, float], exact: float) -> str:
    z = (found["mean"] - exact) / found["stderr"]
    return f"  {what:16} {found['mean']:.6f} +- {found['stderr']:.6f}   {exact:.9f}   {z:+.2f}"


def restart_lines() -> list[str]:
    """Return the errors and the detection of the restart at alpha = 1e-4."""
    lines = [
        "restart, alpha = 1e-4: mean square error; delay (run length - 1 from U = 0); false alarms per 1e4 steps; missed"
    ]
    choices = [(c, shift, floor) for floor in (1e-3, 0.0, 0.0196) for c in (10.0, 12.0) for shift in (1.0, 2.0)]
    samplers = [
        {"name": f"c{c:g}-s{shift:g}-f{floor:g}", **CUSUM, "threshold": c, "shift": shift, "floor": floor}
        for c, shift, floor in choices
    ]
    samplers.append({"name": "told", **CUSUM, "detector": "true-times"})
    found = rows_of(jumping(1e-4, samplers, 100, 200_000, baselines=[]))
    for (c, shift, floor), keys in zip(choices, samplers, strict=False):
        row = found[keys["name"]]
        error, seen = row["mean_square_error"], row["detection"]
        silent = limits.run_length(0.0, c, shift) / 2.0
        lines.append(
            f"  threshold {c:g} shift {shift:g} floor {floor:g}: {error['mean']:.5f} +- {error['stderr']:.5f}; {seen['delay']['mean']:.2f} "
            f"({limits.run_length(2.0, c, shift) - 1:.2f}); {seen['false_alarms']:.3f} (at rest {1e4 / silent:.3f}); {seen['missed']:.4f}"
        )
    told = found["told"]["mean_square_error"]
    return [*lines, f"  told the true times, floor 0: {told['mean']:.5f} +- {told['stderr']:.5f}"]


def cost_lines() -> list[str]:
    """Return the seconds of compiling and the nanoseconds of a step of each kind."""
    lines = ["seconds until a kernel is ready, nanoseconds per step (scalar world, 50 trials x 40,000 steps, one core)"]
    for kind, keys in ONE_OF_EACH.items():
        world = jumping(
            1e-3, [{"name": "one", "epsilon": 0.02, "beta": 4.0, **keys, "kind": kind}], 50, 40_000, baselines=[]
        )
        lines.append(_cost(kind, world))
    plain = [{"name": "one", "kind": "langevin", "epsilon": 0.02}]
    return [*lines, _cost("filter", jumping(1e-3, plain, 50, 40_000, baselines=["filter"]))]


def _cost(kind: str, world: tracker.Scenario) -> str:
    problem = simulate.prepare(world)
    problem = problem._replace(contestants=problem.contestants[-1:])
    begun = time.process_time()
    simulate.compile_kernels(problem)
    ready = time.process_time() - begun
    _, seconds = simulate.simulate(problem, range(world.trials))
    return f"  {kind:16} {ready:6.1f}   {1e9 * seconds[0] / (world.trials * world.steps):6.1f}"


def main(arguments: list[str]) -> int:
    """Print the table, and keep it if asked to."""
    lines = []
    for part in (cost_lines, filter_lines, restart_lines):
        for line in part():
            print(line, flush=True)
            lines.append(line)
    if "--write" in arguments:
        (HERE / "rivals.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
