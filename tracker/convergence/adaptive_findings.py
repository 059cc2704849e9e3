"""Compare (theta, D, S) of a sampler whose S moves with its limit, where the limit is known.

docs/mathematics, "Adaptive path". D itself is compared, because "S upwards" and "sign of E_ij" leave the same theta and S.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracker import limits
from tracker.convergence.trials import rung_seed, without_baselines
from tracker.costs.facts import additive_noise
from tracker.engine import simulate
from tracker.limits.coupled_levels import coupled
from tracker.limits.drift_field import cost_gradients, cost_hessians
from tracker.samplers.base import unpack
from tracker.scenario import skew_matrix
from tracker.skew import clip, pairs, to_pairs

if TYPE_CHECKING:
    from collections.abc import Callable

    from tracker.array_types import Array
    from tracker.convergence.step_ladder import Ladder


class Triple(NamedTuple):
    """theta, D and S at T as one row of numbers, by name.

    algorithm, stderr : (rungs, J); scale : (J,), the size of theta, D or S in the limit, the unit of the resolution
    own : (J,), the recursion at the largest step by the theory's own code; None where it is random
    """

    names: tuple[str, ...]
    limit: Array
    algorithm: Array
    stderr: Array
    scale: Array
    own: Array | None


def has_path(ladder: Ladder) -> bool:
    """Whether the limit is the ODE of Algorithm 1."""
    scenario, keys = ladder.scenario, ladder.keys
    return keys.tangent and np.isinf(keys.beta) and len(scenario.modes) == 1 and not scenario.start_factor.size


def names(N: int) -> tuple[str, ...]:
    """theta_1, ..., D(2,1)_1, ..., S(2,1), ..."""
    of = [f"({i + 1},{j + 1})" for i, j in pairs(N)]
    tangent = [f"D{pair}_{a + 1}" for pair in of for a in range(N)]
    return (*(f"theta_{a + 1}" for a in range(N)), *tangent, *(f"S{pair}" for pair in of))


def triple(ladder: Ladder, trials: int) -> Triple:
    """Return the ODE's values, and the engine's at every rung: one trial where nothing is random."""
    scenario, keys = ladder.scenario, ladder.keys
    cost, N = scenario.modes[0].build(), scenario.dimension
    S = skew_matrix(keys, scenario)
    assert S is not None  # a random one was refused
    kappa = keys.skew_step / keys.epsilon
    path = limits.adaptive_path(
        lambda theta: _gradient(cost, theta),
        lambda theta: _hessian(cost, theta),
        scenario.start_mean,
        clip(S, *keys.skew_bounds),
        kappa,
        [ladder.horizon],
        bounds=keys.skew_bounds,
    )
    groups = (path.theta[0], path.tangent[0].ravel(), to_pairs(path.skew[0]))
    F = additive_noise(cost, N)
    noisy = F is None or bool(F.any())
    rungs = [_rung(ladder, rung, trials if noisy else 1) for rung in range(len(ladder.steps))]
    scale = np.concatenate([np.full(len(g), max(float(np.abs(g).max(initial=0.0)), 1e-12)) for g in groups])
    stderr = [r.std(axis=0, ddof=1) / np.sqrt(len(r)) if len(r) > 1 else np.zeros(r.shape[1]) for r in rungs]
    own = None if noisy else recursion(ladder, N)
    means = np.array([r.mean(axis=0) for r in rungs])
    return Triple(names(N), np.concatenate(groups), means, np.array(stderr), scale, own)


def _gradient(cost: Any, theta: Array) -> Array:
    out = np.empty((1, theta.size))
    cost_gradients(cost, np.ascontiguousarray(theta[None]), out)
    return out[0]


def _hessian(cost: Any, theta: Array) -> Array:
    out = np.empty((1, theta.size, theta.size))
    cost_hessians(cost, np.ascontiguousarray(theta[None]), out)
    return out[0]


class StateProbe:
    """Sees the ledgers of a shard, in which the engine leaves the whole state of the samplers, D among it."""

    state: Array

    def load(self, empty: simulate.Snapshot) -> simulate.Snapshot | None:
        """Remember where the state will be; nothing was done before."""
        self.state = empty.ledgers[0].state
        return None

    def due(self) -> bool:
        """Never: nothing is kept."""
        return False

    def save(self, snapshot: simulate.Snapshot) -> None:
        """Keep nothing."""


def _rung(ladder: Ladder, rung: int, trials: int) -> Array:
    """theta, D and S of the engine at T, shape (trials, J)."""
    scenario = ladder.at(rung, trials=trials, seed=rung_seed(ladder.scenario.seed, rung))
    problem, probe = without_baselines(scenario), StateProbe()
    simulate.simulate(problem, range(trials), keeper=probe)
    parameters, N = problem.contestants[0].parameters, scenario.dimension
    states = [unpack(parameters, N, row) for row in probe.state]
    theta, D, S = (np.array(part) for part in zip(*((s.theta, s.D.T, s.S) for s in states), strict=True))
    return _rows(theta, D, S)


def recursion(ladder: Ladder, N: int) -> Array | None:
    """theta, D and S after the largest steps, by the paths of the coupling, which know nothing of the engine."""
    per_unit = 1.0 / ladder.epsilons[0]
    if abs(per_unit - round(per_unit)) > 1e-9 * per_unit:
        return None

    def entry(j: int) -> Callable[[Array, Array, Array], Array]:
        return lambda theta, D, S: np.asarray(_rows(theta, D, S)[:, j])

    entries = [entry(j) for j in range(len(names(N)))]
    found = coupled(ladder.at(0), ladder.sampler, entries, [ladder.horizon], [round(per_unit)], 2)
    return np.array([float(each.value[0, 0]) for each in found])


def _rows(theta: Array, D: Array, S: Array) -> Array:
    """Theta (trials, N), D (trials, pairs, N) and S (trials, N, N) as rows of numbers in the order of ``names``."""
    return np.concatenate([theta, D.reshape(len(theta), -1), np.array([to_pairs(each) for each in S])], axis=1)
