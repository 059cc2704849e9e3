"""How fast is a run beside what else there is: JAX by hand, BlackJAX, and NumPy vectorised over trials?

The workloads of floor.py, all contestants in turn within one process, CPU time over all threads. We measure all that a run
measures (errors at every step, moments, recovery, excess cost at records); the peers only carry the sum of theta and a thinned
trace, are given the hidden modes ready-made, and are not charged for compiling. All work in double precision. The last
column tells that they sample the same law: the largest difference of time averages from ours, in standard errors over trials.

    pip install -e ".[bench]"
    python benchmarks/peers.py [rounds]
"""

from __future__ import annotations

import sys
import time
from functools import partial
from typing import Any, NamedTuple

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
from floor import WORKLOADS, cpu, problems

from tracker.engine.simulate import Problem, simulate

jax.config.update("jax_enable_x64", True)

BLOCK = 100  # steps between two entries of a peer's trace, and normals that are drawn at a time
GENERATORS = ("threefry2x32", "rbg")  # JAX's default, and the one that it calls fast


class World(NamedTuple):
    """A workload as plain arrays: z_k is row k of ``data``, by mode and trial where there are modes."""

    theta: np.ndarray
    epsilon: float
    noise: float
    steps: int
    modes: np.ndarray | None
    gradient: Any  # (np, theta (trials, N), z (trials, ...), mode (trials,)) -> (trials, N)
    data: np.ndarray | None
    factor: np.ndarray | None  # (modes, N, N): gradient noise


def world_of(problem: Problem) -> World:
    scenario, sampler, cost = problem.scenario, problem.contestants[0].parameters, problem.modes[0].cost
    theta = np.tile(scenario.start_mean, (scenario.trials, 1))
    if len(problem.modes) == 1:
        data = cost.data[np.arange(scenario.steps) % cost.data.size]
        return World(theta, sampler.epsilon, sampler.noise, scenario.steps, None, partial(mixture, cost), data, None)
    costs = [mode.cost for mode in problem.modes]
    factor = np.array([cost.noise for cost in costs])
    H, m = np.array([cost.curvature for cost in costs]), np.array([cost.minimum for cost in costs])
    modes = hidden_modes(scenario.chain.alpha, scenario.trials, scenario.steps)
    return World(theta, sampler.epsilon, sampler.noise, scenario.steps, modes, partial(quadratic, H, m), None, factor)


def hidden_modes(alpha: float, trials: int, steps: int) -> np.ndarray:
    """Two modes that are left with probability alpha, from the stationary law, shape (steps, trials)."""
    rng = np.random.default_rng(1)
    leaves = rng.random((steps, trials)) < alpha
    leaves[0] = rng.random(trials) < 0.5
    return (np.cumsum(leaves, axis=0) % 2).astype(np.int32)


def mixture(cost, xp, theta, z, _mode):
    p, q = theta @ cost.means[0], theta @ cost.means[1]
    w = 1.0 / (1.0 + xp.exp((q - p) * cost.half_precision * (2.0 * z - p - q)))
    pull = cost.slope * ((w * (p - z))[:, None] * cost.means[0] + ((1.0 - w) * (q - z))[:, None] * cost.means[1])
    return cost.precision * (theta - cost.prior_mean) + pull


def quadratic(H, m, xp, theta, z, mode):
    return xp.einsum("tij,tj->ti", xp.asarray(H)[mode], theta - xp.asarray(m)[mode]) + z


def by_numpy(world: World) -> np.ndarray:
    """All trials at once, one step after the other."""
    rng = np.random.Generator(np.random.SFC64(1))
    theta, total, trace = world.theta.copy(), np.zeros_like(world.theta), []
    for k in range(world.steps):
        if k % BLOCK == 0:
            w = world.noise * rng.standard_normal((BLOCK, *theta.shape))
            n = rng.standard_normal((BLOCK, *theta.shape)) if world.factor is not None else None
            trace.append(theta.copy())
        mode = world.modes[k] if world.modes is not None else None
        z = world.data[k] if n is None else (world.factor[mode] @ n[k % BLOCK][..., None])[..., 0]
        total += theta
        theta = theta + w[k % BLOCK] - world.epsilon * world.gradient(np, theta, z, mode)
    return total / world.steps


def jax_scan(world: World, generator: str):
    """The same as one compiled scan over blocks of steps, with the normals of a block drawn at once."""
    blocks = world.steps // BLOCK
    inputs = tuple(
        None if rows is None else jnp.asarray(rows).reshape(blocks, BLOCK, *rows.shape[1:])
        for rows in (world.modes, world.data)
    )
    factor = None if world.factor is None else jnp.asarray(world.factor)
    shape = (BLOCK, *world.theta.shape)

    def step(carry, row):
        theta, total = carry
        w, n, mode, z = row
        if n is not None:
            z = jnp.einsum("tij,tj->ti", factor[mode], n)
        moved = theta + world.noise * w - world.epsilon * world.gradient(jnp, theta, z, mode)
        return (moved, total + theta), None

    def block(carry, row):
        key, theta, total = carry
        key, one, two = jax.random.split(key, 3)
        w = jax.random.normal(one, shape)
        n = jax.random.normal(two, shape) if factor is not None else None
        (moved, total), _ = jax.lax.scan(step, (theta, total), (w, n, *row), unroll=4)
        return (key, moved, total), theta

    @jax.jit
    def run(seed):
        start = jnp.asarray(world.theta)
        key = jax.random.key(seed, impl=generator)
        (_, _, total), trace = jax.lax.scan(block, (key, start, jnp.zeros_like(start)), inputs)
        return total / world.steps, trace

    return run


def by_blackjax(world: World):
    """`blackjax.sgld`, scanned over steps and mapped over trials, a key for each step and trial."""
    factor = None if world.factor is None else jnp.asarray(world.factor)
    temperature = world.noise**2 / (2.0 * world.epsilon)

    def estimate(theta, batch):
        z, mode = batch
        return -world.gradient(jnp, theta[None], z[None], mode if mode is None else mode[None])[0]

    sgld = blackjax.sgld(estimate)

    def step(carry, row):
        key, theta, total = carry
        mode, z = row
        key, one, two = jax.random.split(key, 3)
        if factor is not None:
            z = factor[mode] @ jax.random.normal(two, theta.shape)
        moved = sgld.step(one, theta, (z, mode), world.epsilon, temperature)
        return (key, moved, total + theta), None

    def trial(key, theta, modes):
        inputs = (modes, None if world.data is None else jnp.asarray(world.data))
        (_, _, total), _ = jax.lax.scan(step, (key, theta, jnp.zeros_like(theta)), inputs)
        return total / world.steps

    @jax.jit
    def run(seed):
        keys = jax.random.split(jax.random.key(seed), len(world.theta))
        modes = None if world.modes is None else jnp.asarray(world.modes).T
        return jax.vmap(trial, in_axes=(0, 0, None if modes is None else 0))(keys, jnp.asarray(world.theta), modes)

    return run


def ours(problem: Problem) -> np.ndarray:
    arrays, _ = simulate(problem, range(problem.scenario.trials))
    return arrays["moments"][:, 0, 0] / problem.scenario.steps + problem.origin


def contestants(problem: Problem) -> dict[str, Any]:
    world = world_of(problem)
    scans = {name: jax_scan(world, name) for name in GENERATORS}
    sgld = by_blackjax(world)
    return {
        "tracker": partial(ours, problem),
        **{f"JAX scan, {name}": (lambda run=run: np.asarray(run(1)[0])) for name, run in scans.items()},
        "BlackJAX sgld": lambda: np.asarray(sgld(1)),
        "NumPy over trials": partial(by_numpy, world),
    }


def difference(found: np.ndarray, wanted: np.ndarray) -> float:
    """The largest difference of the means over trials, in standard errors."""
    errors = np.sqrt(found.var(axis=0, ddof=1) / len(found) + wanted.var(axis=0, ddof=1) / len(wanted))
    return float(np.abs((found.mean(axis=0) - wanted.mean(axis=0)) / errors).max())


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    print(
        f"CPU ns per trial-step, the least of {rounds} rounds; JAX {jax.__version__}, BlackJAX {blackjax.__version__}"
    )
    for workload, problem in problems().items():
        runs = contestants(problem)
        means = {name: run() for name, run in runs.items()}  # compiles
        spent: dict[str, list[float]] = {name: [] for name in runs}
        for _ in range(rounds):
            for name, run in runs.items():
                spent[name].append(cpu(run))
        steps = problem.scenario.trials * problem.scenario.steps
        print(f"{workload}: {WORKLOADS[workload][0]}")
        least = {name: 1e9 * min(seconds) / steps for name, seconds in spent.items()}
        for name, nanoseconds in least.items():
            times = f"{nanoseconds / least['tracker']:6.1f} times ours"
            print(
                f"  {name:24} {nanoseconds:8.1f}  {times}   {difference(means[name], means['tracker']):5.1f} se",
                flush=True,
            )


if __name__ == "__main__":
    began = time.perf_counter()
    main()
    print(f"{time.perf_counter() - began:.0f} s")
