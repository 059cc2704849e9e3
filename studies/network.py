"""A small network whose teacher switches: a user's own cost with exact derivatives (docs/network.md).

    python -m studies.network          # runs it, and writes reports/network/ with its page

The student sees one pair (x, y) a step, y from the teacher that holds now, plus noise. Which of two teachers that is, a hidden
chain decides. Student and teachers are networks of the same form, f(x) = sum_h v_h tanh(b_h + w_h x).
"""

from __future__ import annotations

from itertools import permutations, product
from pathlib import Path
from typing import NamedTuple

import numpy as np

import tracker
from tracker.array_types import Array
from tracker.compiled import helper
from tracker.costs.base import expected, gradient, hessian, known_minimisers, observation_size, observe, value
from tracker.costs.foretold import forecast_loss, predicts
from tracker.streams import draw_index, draw_normals

UNITS = 3
INPUTS = tuple(np.linspace(-2.0, 2.0, 41).tolist())
TEACHERS = {  # b, w, v of the units
    "slope": (0.0, 1.0, -1.0, 1.5, 2.0, 2.0, 1.0, 0.5, 0.5),
    "bump": (1.5, -1.5, 0.0, 2.0, 2.0, 1.0, 1.0, -1.0, 0.3),
}


class Network(NamedTuple):
    """c(theta, (x, y)) = (f(x; theta) - y)^2/2; x is one of ``inputs``, y = f(x; teacher) + noise n."""

    teacher: Array
    inputs: Array = np.array(INPUTS)
    noise: float = 0.1

    no_distance = "hidden units can change places and signs, so 48 weight vectors are one and the same network"


@helper
def output(theta, x):
    """Return f(x; theta), theta = (b, w, v)."""
    f = 0.0
    for h in range(UNITS):
        f += theta[2 * UNITS + h] * np.tanh(theta[h] + theta[UNITS + h] * x)
    return f


@value.register(Network)
def _value(cost, theta, z):
    return 0.5 * (output(theta, z[0]) - z[1]) ** 2


@gradient.register(Network)
def _gradient(cost, theta, z, out):
    x, residual = z[0], output(theta, z[0]) - z[1]
    for h in range(UNITS):
        t = np.tanh(theta[h] + theta[UNITS + h] * x)
        out[h] = residual * theta[2 * UNITS + h] * (1.0 - t * t)
        out[UNITS + h] = out[h] * x
        out[2 * UNITS + h] = residual * t


@hessian.register(Network)
def _hessian(cost, theta, z, out):
    x, residual = z[0], output(theta, z[0]) - z[1]
    slope = np.empty(theta.size)  # of f
    for h in range(UNITS):
        t = np.tanh(theta[h] + theta[UNITS + h] * x)
        slope[h] = theta[2 * UNITS + h] * (1.0 - t * t)
        slope[UNITS + h] = slope[h] * x
        slope[2 * UNITS + h] = t
    for i in range(theta.size):
        for j in range(theta.size):
            out[i, j] = slope[i] * slope[j]
    for h in range(UNITS):
        b, w, v, t = h, UNITS + h, 2 * UNITS + h, slope[2 * UNITS + h]
        bent, steep = -2.0 * residual * t * slope[b], residual * (1.0 - t * t)
        out[b, b] += bent
        out[b, w] += bent * x
        out[w, b] += bent * x
        out[w, w] += bent * x * x
        out[b, v] += steep
        out[v, b] += steep
        out[w, v] += steep * x
        out[v, w] += steep * x


@observation_size.register(Network)
def _size(cost):
    return 2


@observe.register(Network)
def _observe(cost, k, count, stream, out):
    for i in range(count):
        draw_normals(stream, out[i])
        x = cost.inputs[draw_index(stream, cost.inputs.size)]
        out[i, 0], out[i, 1] = x, output(cost.teacher, x) + cost.noise * out[i, 1]


@expected.register(Network)
def _expected(cost, theta):
    total = 0.0
    for x in cost.inputs:
        total += (output(theta, x) - output(cost.teacher, x)) ** 2
    return 0.5 * (total / cost.inputs.size + cost.noise**2)


@known_minimisers.register(Network)
def _known_minimisers(cost):
    return cost.teacher[np.newaxis].copy()


@predicts.register(Network)
def _predicts(cost):
    return True


@forecast_loss.register(Network)
def _forecast_loss(cost, theta, z):  # asked before the step learns from z
    return 0.5 * (output(theta, z[0]) - z[1]) ** 2


def equivalents(theta: Array) -> Array:
    """Return, as rows, all weights of the same network: units in another order, or with all their signs turned."""
    units = np.reshape(theta, (3, UNITS))
    turned = (
        units[:, order] * signs for order in permutations(range(UNITS)) for signs in product((1, -1), repeat=UNITS)
    )
    return np.array([one.ravel() for one in turned])


def world(trials: int = 40, steps: int = 100_000) -> tracker.Scenario:
    """Return the scenario: two teachers, each for 10,000 steps on average, and four ways to follow them."""
    start = np.random.default_rng(1).normal(0.0, 0.7, 3 * UNITS)
    return tracker.parse(
        {
            "name": "network",
            "description": "A student learns from one pair (x, y) a step, and a hidden chain changes the teacher.",
            "seed": 1,
            "trials": trials,
            "steps": steps,
            "start": start.round(3).tolist(),
            "chain": {"alpha": 1e-4, "Q": [[-1.0, 1.0], [1.0, -1.0]]},
            "modes": {name: Network(np.array(teacher)) for name, teacher in TEACHERS.items()},
            "samplers": [
                {"name": "sgd", "kind": "langevin", "epsilon": 0.05, "beta": "inf"},
                {"name": "langevin", "kind": "langevin", "epsilon": 0.05, "beta": 1e4},
                {"name": "momentum", "kind": "kinetic", "epsilon": 0.05, "friction": 1.0, "beta": "inf"},
                {"name": "rmsprop", "kind": "psgld", "epsilon": 0.002, "floor": 1e-2, "beta": "inf"},
            ],
        }
    )


def main(out: Path = Path("reports/network")) -> tracker.Run:
    """Run it, write the page, and print the table."""
    run = tracker.run(world(), out, progress=True)
    run.report(out / "report.html")
    print(run)
    return run


costs = {"network": Network}  # for --code

if __name__ == "__main__":
    main()
