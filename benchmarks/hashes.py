"""Do all runs still have the hash that they had? A refactoring must not change one bit of a result.

Runs every shipped scenario, shortened, and a few of our own (an outage, a forced switch, a trial that diverges, N = 1,
20 modes, a cost and a sampler of one's own) and compares their hashes with those in ``benchmarks/hashes.txt``. Hashes
belong to one machine and one set of versions: ``--write`` takes them anew, before the change that is to be judged.

    python benchmarks/hashes.py [--write] [--interpreted] [NAME ...]
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

import tracker
from tracker.costs.base import gradient, hessian, value

HERE = Path(__file__).resolve().parent
SCENARIOS = HERE.parent / "scenarios"
TABLES = {False: HERE / "hashes.txt", True: HERE / "hashes_interpreted.txt"}
STEPS, TRIALS = 300, 2

SAMPLERS = """
[[samplers]]
name = "classical"
kind = "langevin"
epsilon = 0.05
beta = 4.0
[[samplers]]
name = "fixed"
kind = "accelerated"
epsilon = 0.05
beta = 4.0
skew = "random"
[[samplers]]
name = "tangent"
kind = "hessian"
epsilon = 0.05
beta = 4.0
skew = "random"
skew_step = 0.01
skew_bounds = [-5.0, 5.0]
[[samplers]]
name = "spsa"
kind = "spsa"
epsilon = 0.05
beta = 4.0
skew = "random"
skew_step = 0.01
skew_bounds = [-5.0, 5.0]
hold = 3
[[samplers]]
name = "two"
kind = "two-timescale-spsa"
epsilon = 0.05
beta = 4.0
skew = "random"
skew_step = 0.01
skew_bounds = [-5.0, 5.0]
inner_steps = 4
[[samplers]]
name = "wandering"
kind = "wandering"
epsilon = 0.05
beta = 4.0
skew = 0.5
skew_step = 0.01
skew_bounds = [-5.0, 5.0]
[[samplers]]
name = "tempered"
kind = "tempered"
epsilon = 0.05
beta = 4.0
noise_step = 0.01
noise_bounds = [0.1, 3.0]
"""
QUADRATICS = """
name = "own"
seed = 3
trials = 2
steps = 300
record_every = 7
start = [0.5, 0.0]
[chain]
alpha = 0.02
Q = [[-1.0, 1.0], [1.0, -1.0]]
[[modes]]
name = "one"
cost = "quadratic"
minimum = [1.0, -1.0]
curvature = [[2.0, 0.3], [0.3, 1.0]]
gradient_noise = [[0.5, 0.1], [0.1, 0.4]]
target = { radius = 0.5 }
[[modes]]
name = "two"
cost = "quadratic"
minimum = [-1.0, 0.5]
curvature = [[1.0, -0.2], [-0.2, 1.5]]
"""
EVENTS = """
[[interventions]]
kind = "outage"
at = 60
steps = 40
[[interventions]]
kind = "switch"
at = 170
to = "two"
"""
SCALAR = """
name = "scalar"
seed = 4
trials = 2
steps = 300
start = [0.0]
[chain]
alpha = 0.02
Q = [[-1.0, 1.0], [2.0, -2.0]]
[[modes]]
name = "up"
cost = "quadratic"
minimum = [1.0]
curvature = [[1.0]]
gradient_noise = [[1.0]]
[[modes]]
name = "wells"
cost = "polynomial"
variables = ["a"]
formula = "(a^2 - 1)^2 + 0.3*a"
gradient_noise = [[1.0]]
[[samplers]]
name = "classical"
kind = "langevin"
epsilon = 0.02
[[samplers]]
name = "runs-away"
kind = "langevin"
epsilon = 2.5
"""


class Ripple(NamedTuple):
    """A cost of one's own: |theta - (centre, 0)|^2 / 2 + sin(3 theta_1) / 10."""

    centre: float


@value.register(Ripple)
def _value(cost: Ripple, theta: Any, z: Any) -> float:
    return 0.5 * ((theta[0] - cost.centre) ** 2 + theta[1] ** 2) + 0.1 * np.sin(3.0 * theta[0])


@gradient.register(Ripple)
def _gradient(cost: Ripple, theta: Any, z: Any, out: Any) -> None:
    out[0] = theta[0] - cost.centre + 0.3 * np.cos(3.0 * theta[0])
    out[1] = theta[1]


@hessian.register(Ripple)
def _hessian(cost: Ripple, theta: Any, z: Any, out: Any) -> None:
    out[0, 0] = 1.0 - 0.9 * np.sin(3.0 * theta[0])
    out[0, 1] = out[1, 0] = 0.0
    out[1, 1] = 1.0


def many_modes() -> str:
    """Return a world of 20 quadratics."""
    rows = [[-19.0 if i == j else 1.0 for j in range(20)] for i in range(20)]
    head = f'name = "many"\nseed = 5\ntrials = 2\nsteps = 300\nstart = [0.0, 0.0]\n[chain]\nalpha = 0.001\nQ = {rows}\n'
    modes = [
        f'[[modes]]\nname = "m{i}"\ncost = "quadratic"\nminimum = [{np.cos(i):.6f}, {np.sin(i):.6f}]\n'
        f"curvature = [[{1 + i / 10}, 0.0], [0.0, 1.0]]\n"
        for i in range(20)
    ]
    return head + "".join(modes) + '[[samplers]]\nname = "classical"\nkind = "langevin"\nepsilon = 0.05\n'


def shortened(path: Path) -> tracker.Scenario:
    """Return a shipped scenario with few trials and steps, and switches that happen in them."""
    scenario = tracker.load(path)
    if scenario.sweep is not None:
        scenario = scenario.replace(sweep=None)
    changes: dict[str, Any] = {"trials": TRIALS}
    changes |= {"steps": STEPS, "burn_in": min(scenario.burn_in, STEPS // 4), "record_every": 9}
    if scenario.chain is not None:
        changes["chain"] = {**scenario.chain.model_dump(), "alpha": 0.01}
    if scenario.schedule is not None and scenario.schedule.from_ is None:
        near = [(step * STEPS // scenario.steps, mode) for step, mode in scenario.schedule.switches]
        changes["schedule"] = {"switches": list({step: [step, mode] for step, mode in near}.values())}
    return scenario.replace(**changes)


def with_first_baselines(scenario: tracker.Scenario) -> tracker.Scenario:
    """Return the scenario with the baselines that it had when hashes were first taken: a later one would change them."""
    return scenario.replace(baselines=["frozen", "oracle"])


def worlds() -> dict[str, Any]:
    """Return what builds each scenario, by name."""
    shipped = {path.stem: lambda path=path: shortened(path) for path in sorted(SCENARIOS.glob("*.toml"))}
    own = {
        "own_quadratics": lambda: tracker.parse(QUADRATICS + SAMPLERS),
        "own_events": lambda: tracker.parse(QUADRATICS + EVENTS + SAMPLERS),
        "own_scalar_diverges": lambda: tracker.parse(SCALAR),
        "own_cost": lambda: tracker.parse(QUADRATICS + SAMPLERS).replace(modes=[Ripple(-1.0), Ripple(1.0)]),
        "own_many_modes": lambda: tracker.parse(many_modes()),
    }
    return {**shipped, **own}


def interpreted() -> Any:
    """Let runs go through the interpreter: no compiling after each edit."""
    from tracker.compiled import Unit
    from tracker.engine import loop

    compiled = loop.drive

    def quietly(*arguments: object) -> None:
        with np.errstate(over="ignore"):  # streams count modulo 2^64
            compiled.interpreted(*arguments)

    patches = ExitStack()
    patches.enter_context(mock.patch.object(loop, "drive", quietly))
    patches.enter_context(mock.patch.object(Unit, "at", Unit.in_python))
    return patches


def main(arguments: list[str]) -> int:
    """Print each hash and whether it is the one in the table."""
    slow = "--interpreted" in arguments
    table = TABLES[slow]
    known = dict(line.split() for line in table.read_text().splitlines()) if table.exists() else {}
    names = [name for name in arguments if not name.startswith("--")]
    found = {}
    for name, build in worlds().items():
        if names and name not in names:
            continue
        scenario = with_first_baselines(build())
        if slow:
            with interpreted():
                run = tracker.run(scenario, executor=1)
        else:
            run = tracker.run(scenario, executor=1)
        found[name] = run.summary["hash"]
        print(f"{name:24} {found[name][:16]}  {'equal' if known.get(name) == found[name] else 'DIFFERS'}", flush=True)
    if "--write" in arguments:
        table.write_text("".join(f"{name} {value}\n" for name, value in {**known, **found}.items()))
        return 0
    return int(any(known.get(name) != value for name, value in found.items()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
