"""Algorithm 1: D is the derivative of the path in S, and the triple (theta, D, S) has its limit.

docs/mathematics, "Tangent process", and docs/mathematics, "Adaptive path".
"""

from __future__ import annotations

from typing import Any

import naive
import numpy as np
import pytest
from stepping import Steps
from worlds import scenario_of

from tracker.engine import simulate as engine
from tracker.samplers.base import unpack

DERIVATIVE = 1e-6  # relative, central differences of step 1e-5: h^2 times the third derivative is below 1e-9
STEP = 1e-5
RICHARDSON = 2e-6  # extrapolated from epsilon = 1/1600 and 1/3200: what is left is of order epsilon^2 = 4e-7

# non-quadratic, two modes, gradient noise: the path is switched and noisy
COSTS = {
    2: ("a^4/4 + a*b/2 + b^2 + a^2*b^2/5", " - a + b^3/10 + b^4/8"),
    4: ("a^4/4 + a*b/2 + b^2 + c^2*d^2/5 + c^2/2 + d^4/6 - a*d/3", " - a + c + b^4/8"),
}
START = {2: [1.5, -1.0], 4: [1.5, -1.0, 0.7, 1.2]}
SKEW = {2: [0.7], 4: [0.5, -0.3, 0.2, 0.6, -0.8, 0.4]}
STEPS = 150


def problem_of(N: int) -> engine.Problem:
    """S is held fixed (skew_step = 0): noise, observations and modes are the same whatever it is."""
    formula, change = COSTS[N]
    mode = {
        "cost": "polynomial", "variables": list("abcd"[:N]), "formula": formula, "gradient_noise": 0.3,
        "target": {"radius": 1},
    }  # fmt: skip
    sampler = {"kind": "hessian", "skew": "random", "skew_step": 0, "skew_bounds": [-9, 9]}
    chain = {"alpha": 0.05, "Q": [[-1.0, 1.0], [1.0, -1.0]]}
    modes = [mode, {**mode, "formula": formula + change}]
    return engine.prepare(scenario_of(modes, [sampler], steps=STEPS, start=START[N], chain=chain))


@pytest.mark.parametrize("N", [2, 4])
def test_tangent_is_the_derivative_of_the_path(N):
    problem = problem_of(N)
    D = Steps(problem, 0, naive.skew_from(SKEW[N], N)).stack("D")  # (steps, N, pairs)
    assert D.shape == (STEPS, N, N * (N - 1) // 2)
    for p in range(len(SKEW[N])):
        shift = STEP * np.eye(len(SKEW[N]))[p]
        ahead = Steps(problem, 0, naive.skew_from(SKEW[N] + shift, N)).stack("theta")
        behind = Steps(problem, 0, naive.skew_from(SKEW[N] - shift, N)).stack("theta")
        difference = (ahead - behind) / (2 * STEP)
        scale = np.abs(difference).max()
        assert scale > 0.05
        np.testing.assert_allclose(D[:, :, p], difference, rtol=0, atol=DERIVATIVE * scale)
        # control: with the opposite sign of E_ij the recursion, linear from D = 0, gives -D
        assert np.abs(-D[:, :, p] - difference).max() > 1.9 * scale


def test_naive_tangent_with_the_wrong_sign_is_far_off():
    """The same control, through the transcription: sign = -1 leaves theta as it is and turns D round."""
    cost = naive.quadratic([[2.0, 0.3], [0.3, 1.0]], [1.0, -1.0], [[0.5, 0.1], [0.1, 0.4]], 1.0)
    keys = {"epsilon": 0.04, "beta": 3.0, "skew_step": 0.0, "skew_bounds": [-9.0, 9.0]}

    def run(s: float, sign: float) -> naive.Trial:
        sampler = naive.Hessian(keys, np.array([2.0, 1.0]), naive.skew_from([s], 2), 1, 0)
        sampler.sign = sign
        return naive.run(sampler, [cost], [0] * 101, [False] * 100)

    difference = (run(0.7 + STEP, 1.0).theta - run(0.7 - STEP, 1.0).theta) / (2 * STEP)
    scale = np.abs(difference).max()
    for sign, deviation in ((1.0, 0.0), (-1.0, 2.0 * scale)):
        D = np.array([tangent[1, 0] for tangent in run(0.7, sign).D])
        assert np.abs(D - difference).max() == pytest.approx(deviation, rel=DERIVATIVE, abs=DERIVATIVE * scale)


# --- docs/mathematics, "Adaptive path": beta = inf, N = 3, C = (theta - m)'H(theta - m)/2 + (.15/4) sum theta_d^4, kappa = 2

FORMULA = (
    "(2*(x - 0.5)^2 + 1.2*(y + 0.4)^2 + 0.8*(z - 0.2)^2)/2 + 0.4*(x - 0.5)*(y + 0.4) - 0.3*(x - 0.5)*(z - 0.2)"
    " + 0.2*(y + 0.4)*(z - 0.2) + 0.0375*(x^4 + y^4 + z^4)"
)
KAPPA = 2
TABLE = {  # T: theta, D21, D31, D32, (S21, S31, S32)
    0.5: (
        [0.9472815115, -1.2361158979, 1.0810863493],
        [[-0.3689592350, -0.2335086187, -0.0321010571], [0.1382244380, -0.0614858899, -0.4246565406],
         [0.0173084821, 0.1631679302, 0.3865403146]],
        [0.4339983925, -0.2086868571, 0.1583430847],
    ),
    2.0: (
        [0.5411855833, -0.5764479324, 0.5187045965],
        [[-0.1492160935, 0.2063950952, -0.1205256313], [0.1361156966, -0.1454752514, 0.0207937625],
         [0.0852601157, 0.1228850486, 0.3331401129]],
        [0.5934972628, -0.1134861600, -0.0777371089],
    ),
}  # fmt: skip


def triple(T: float, n: int, bounds: list[float], kappa: float = KAPPA) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """theta (3,), D (pairs, 3) and S (pairs,) at time T, by the engine with epsilon = 1/n."""
    mode = {"cost": "polynomial", "variables": ["x", "y", "z"], "formula": FORMULA, "target": {"radius": 1}}
    sampler: dict[str, Any] = {
        "kind": "hessian", "epsilon": 1 / n, "beta": "inf", "skew": naive.skew_from([0.5, -0.3, 0.2], 3).tolist(),
        "skew_step": kappa / n, "skew_bounds": bounds,
    }  # fmt: skip
    scenario = scenario_of(
        [mode, mode], [sampler], steps=round(T * n), record_every=round(T * n), start=[2.0, -1.5, 1.0], trials=2,
        schedule={"switches": [[0, "mode-0"]]},
    )  # fmt: skip
    problem = engine.prepare(scenario)
    contestant, index = problem.contestants[0], np.arange(2)
    ledger = engine.empty_ledger(problem, contestant, 2)
    environment = engine.Environment(problem.plan, scenario.seed, [0, 1])
    block = engine._block(environment.advance(scenario.steps), environment)
    starts, skews = engine.start_points(problem, index), engine.start_skews(problem, contestant, index)
    engine._advance(problem, engine.packed_modes(problem), contestant, index, starts, skews, block, ledger)
    state = unpack(contestant.parameters, 3, ledger.state[1])
    return state.theta, state.D.T, state.S[np.tril_indices(3, -1)]


def extrapolated(T: float, bounds: list[float], **changes: float) -> list[np.ndarray]:
    coarse, fine = triple(T, 1600, bounds, **changes), triple(T, 3200, bounds, **changes)
    return [2 * b - a for a, b in zip(coarse, fine, strict=True)]


@pytest.mark.parametrize("T", TABLE)
def test_the_limit_of_the_adaptive_triple(T):
    for got, wanted in zip(extrapolated(T, [-9.0, 9.0]), TABLE[T], strict=True):
        np.testing.assert_allclose(got, wanted, rtol=0, atol=RICHARDSON)


def test_one_step_size_alone_is_first_order():
    """The error halves with epsilon; after 1600 steps it is (.0002, .0002, .0003).

    docs/mathematics, "Adaptive path".
    """
    coarse, fine = triple(0.5, 1600, [-9.0, 9.0]), triple(0.5, 3200, [-9.0, 9.0])
    for a, b, wanted, stated in zip(coarse, fine, TABLE[0.5], (2e-4, 2e-4, 3e-4), strict=True):
        far, near = np.abs(a - wanted).max(), np.abs(b - wanted).max()
        assert near == pytest.approx(stated, abs=0.5e-4)  # printed to one digit
        assert far / near == pytest.approx(2.0, abs=0.01)


def test_ascent_is_far_from_the_limit():
    """Control: with skew_step of the opposite sign (docs/mathematics, "Adaptive path": .039, .037, .18 off)."""
    deviations = [
        np.abs(got - wanted).max()
        for got, wanted in zip(triple(0.5, 1600, [-9.0, 9.0], -KAPPA), TABLE[0.5], strict=True)
    ]
    np.testing.assert_allclose(deviations, [0.039, 0.037, 0.18], rtol=0.03)


def test_the_limit_with_the_projection_active():
    """docs/mathematics, "Adaptive path": S in [-.25, .52], S31(0) = -.25, T = 2; the reference itself is good to about 1e-6."""
    theta, _, S = extrapolated(2.0, [-0.25, 0.52])
    np.testing.assert_allclose(theta, [0.55449549, -0.58942950, 0.51908590], rtol=0, atol=5e-6)
    np.testing.assert_allclose(S, [0.52, -0.02844312, -0.09112778], rtol=0, atol=5e-6)
