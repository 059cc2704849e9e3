"""The compiled pairs of paths against a plain loop over their equations, on the same normals and visits."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from worlds import shipped

from tracker import limits
from tracker.convergence import order_only, step_ladder
from tracker.costs.base import gradient, value
from tracker.limits.coupled_kernel import Adaptation, FixedSkew, Path, run_pair
from tracker.scenario import with_settings

H = np.array([[[2.0, 0.3], [0.3, 1.0]], [[1.0, -0.2], [-0.2, 1.5]]])
m = np.array([[1.0, -1.0], [-1.0, 0.5]])
FACTORS = np.array([[[0.7, 0.0], [0.1, 0.6]], [[0.5, 0.0], [0.0, 0.8]]])
STEPS, FINE, TRIALS = 6, 4, 3


def paths(n: float, ends: np.ndarray, factors: np.ndarray, pairs: int) -> Path:
    theta = np.array([[0.5, 0.0], [1.0, -2.0], [0.1, 0.3]])
    S = np.broadcast_to(np.array([[0.0, -0.7], [0.7, 0.0]]), (TRIALS, 2, 2)).copy()
    modes = np.tile(np.array([0, 1, 0, 1]), (TRIALS, 1))
    return Path(theta, S, np.zeros((TRIALS, pairs, 2)), np.zeros(TRIALS, dtype=np.int64), modes, ends, factors, 1.0 / n)


def walk(path: Path, w: np.ndarray, z: np.ndarray, rule: Any, t: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """theta, D(2,1) and S(2,1) of trial t after len(w) steps; in a step each mode counts by the time that it has."""
    theta, D, s = path.theta[t].copy(), np.zeros(2), path.S[t, 1, 0]
    begins = np.concatenate([[0.0], path.ends[t][:-1]])
    for k in range(len(w)):
        share = np.zeros(2)
        for mode, begin, end in zip(path.modes[t], begins, path.ends[t], strict=True):
            share[mode] += max(0.0, min(end, k + 1.0) - max(begin, float(k)))
        g = sum(share[i] * H[i] @ (theta - m[i]) for i in range(2))
        if path.factors.shape[2]:
            g = g + path.factors[int(share.argmax())] @ z[k]
        h, B = share[0] * H[0] + share[1] * H[1], np.array([[1.0, -s], [s, 1.0]])
        theta = theta - path.epsilon * B @ g + w[k]
        if isinstance(rule, Adaptation):
            s = float(np.clip(s - rule.kappa * path.epsilon * g @ D, rule.low, rule.high))
            D = D - path.epsilon * (B @ h @ D + np.array([-g[1], g[0]]))
    return theta, D, np.array(s)


@pytest.mark.parametrize("limit", [False, True])
@pytest.mark.parametrize("rule", [FixedSkew(is_zero=False), Adaptation(1.7, -0.8, 0.9)])
def test_pairs_of_paths_are_those_of_a_plain_loop(rule: Any, limit: bool) -> None:
    """Control: the fine ends are half a step later, and the paths are told apart."""
    costs = tuple(mode.build() for mode in shipped("example_a").modes)
    rng = np.random.default_rng(7)
    stops = np.array([[1.0, 3.0, 4.0, 99.0], [2.0, 5.0, 98.0, 99.0], [97.0, 98.0, 99.0, 100.0]])
    fine_ends = stops * FINE + (0.37 if limit else 0.0)
    w, z = rng.standard_normal((TRIALS, STEPS, FINE, 2)), rng.standard_normal((TRIALS, STEPS, 1 if limit else FINE, 2))
    pairs = 1 if isinstance(rule, Adaptation) else 0
    none = FACTORS[:, :, :0].copy()
    coarse, fine = paths(8.0, stops, FACTORS, pairs), paths(32.0, fine_ends, none if limit else FACTORS, pairs)
    scale = 0.3
    small = scale * w.reshape(TRIALS, -1, 2)
    flat = np.zeros_like(small) if limit else z.reshape(TRIALS, -1, 2)
    wanted = []
    for t in range(TRIALS):
        large, summed = scale * w[t].sum(axis=1), z[t].sum(axis=1) / np.sqrt(z.shape[2])
        wanted.append((walk(coarse, large, summed, rule, t), walk(fine, small[t], flat[t], rule, t)))
    later = walk(fine._replace(ends=fine_ends + 0.5), small[0], flat[0] * 0.0, rule, 0)[0]
    run_pair(rule, costs, coarse, fine, 0, w, z, scale, np.zeros(TRIALS))
    for t in range(TRIALS):
        for path, (theta, D, s) in zip((coarse, fine), wanted[t], strict=True):
            np.testing.assert_allclose(path.theta[t], theta, rtol=1e-12, atol=1e-13)
            if pairs:
                np.testing.assert_allclose(path.D[t, 0], D, rtol=1e-12, atol=1e-13)
                np.testing.assert_allclose(path.S[t, 1, 0], s, rtol=1e-12)
    assert np.abs(fine.theta[0] - later).max() > 1e-6


def test_threads_and_neighbours_do_not_matter_and_levels_may_have_trials_of_their_own() -> None:
    A, f = shipped("example_a"), lambda theta: theta[:, 0]
    one = limits.coupled(A, "skewed", f, [1.0], [8, 16], 1100, workers=1)
    two = limits.coupled(A, "skewed", [f], [1.0], [8, 16], [1100, 300], workers=2)[0]
    assert one.value[0, 0] == two.value[0, 0]
    assert one.stderr[0, 1] < two.stderr[0, 1]
    with pytest.raises(ValueError, match="1 numbers for 2 levels"):
        limits.coupled(A, "skewed", f, [1.0], [8, 16], [10])


class Bowl(NamedTuple):
    """A quadratic of one's own, without a Hessian."""

    curvature: Any
    centre: Any


@value.register(Bowl)
def _value(cost: Any, theta: Any, z: Any) -> float:
    total = 0.0
    for d in range(theta.size):
        for e in range(theta.size):
            total += 0.5 * (theta[d] - cost.centre[d]) * cost.curvature[d, e] * (theta[e] - cost.centre[e])
    return total


@gradient.register(Bowl)
def _gradient(cost: Any, theta: Any, z: Any, out: Any) -> None:
    for d in range(theta.size):
        out[d] = 0.0
        for e in range(theta.size):
            out[d] += cost.curvature[d, e] * (theta[e] - cost.centre[e])


def test_a_cost_of_ones_own_is_walked_too() -> None:
    """Against the shipped quadratics: same normals, same visits, equal to rounding. Control: other centres."""
    A = with_settings(shipped("example_a"), ['chain.initial="stationary"'])
    quiet = A.replace(modes=[mode.model_copy(update={"gradient_noise": None}) for mode in A.modes])

    def found(scenario: Any) -> Any:
        return limits.coupled(scenario, "skewed", lambda theta: theta[:, 0], [1.0], [8], 100).mean

    np.testing.assert_allclose(found(A.replace(modes=[Bowl(H[i], m[i]) for i in range(2)])), found(quiet), rtol=1e-9)
    other = A.replace(modes=[Bowl(H[i], m[i] + 0.1) for i in range(2)])
    assert np.abs(found(other) - found(quiet)).max() > 1e-6


def test_trials_are_shared_out_by_variance_and_cost() -> None:
    """Quiet Example A: variance n^2 is flat, so that trials fall like sqrt(1 / steps); the steps are those of equal trials."""
    scenario = with_settings(shipped("example_a"), ["start=[0.3, -0.2]"])
    scenario = scenario.replace(modes=[mode.model_copy(update={"gradient_noise": None}) for mode in scenario.modes])
    rungs = step_ladder.Ladder(scenario, "skewed", 1.0, (8, 16, 32, 64))
    counts = order_only.shared_out(rungs, [lambda theta: theta[:, 0]], 1000, None)
    steps = np.array(rungs.steps)
    assert 0.98 < np.dot(counts, steps) / (1000 * steps.sum()) <= 1.0
    np.testing.assert_allclose(np.array(counts) * np.sqrt(steps) / (counts[0] * np.sqrt(8)), 1.0, rtol=0.35)
    assert counts == order_only.shared_out(rungs, [lambda theta: theta[:, 0]], 1000, 1)
