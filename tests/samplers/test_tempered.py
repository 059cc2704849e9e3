"""``tempered``: zeta is the derivative of the path in sigma, sigma keeps its bounds, and does what the docstring says."""

from __future__ import annotations

from typing import Any

import naive
import numpy as np
import pytest
from interpreting import interpreted
from worlds import scenario_of

import tracker
from tracker import limits
from tracker.scenario import ScenarioError

DERIVATIVE = 1e-6  # relative, central differences of step 1e-5: h^2 times the third derivative is below 1e-9
STEP = 1e-5
STEPS = 150
H, M, COVARIANCE = [[2.0, 0.3], [0.3, 1.0]], [1.0, -1.0], [[0.5, 0.1], [0.1, 0.4]]


def wells() -> naive.Smooth:
    """Not convex between its wells: zeta also grows."""
    return naive.Smooth(
        C=lambda u: (u[0] ** 2 - 1) ** 2 + u[0] * u[1] / 2 + u[1] ** 2,
        slope=lambda u: np.array([4 * u[0] * (u[0] ** 2 - 1) + u[1] / 2, u[0] / 2 + 2 * u[1]]),
        curvature=lambda u: np.array([[12 * u[0] ** 2 - 4, 0.5], [0.5, 2.0]]),
        factor=np.linalg.cholesky(np.array(COVARIANCE)),
        minimisers=np.zeros((1, 2)),
        radius=1.0,
    )


class Watched(naive.Tempered):
    """Keeps zeta of every step; ``sign`` = -1 is a control."""

    sign = 1.0

    def begin(self) -> None:
        super().begin()
        self.path = [self.zeta]

    def step(self, *arguments: Any) -> None:
        before = self.zeta
        super().step(*arguments)
        w = arguments[-1]
        self.zeta = self.zeta + (self.sign - 1.0) * self.noise * w
        assert before is not self.zeta
        self.path.append(self.zeta)


def follow(sigma: float, sign: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """The path of theta and of zeta with sigma held fixed: noise, observations and modes are the same whatever it is."""
    keys = {"epsilon": 0.04, "beta": 3.0, "noise_step": 0.0, "noise_bounds": [0.0, 9.0], "noise_start": sigma}
    sampler = Watched(keys, np.array([1.5, -1.0]), np.zeros((2, 2)), 4, 0)
    sampler.sign = sign
    costs = [wells(), naive.quadratic(H, M, COVARIANCE, 1.0)]
    trial = naive.run(sampler, costs, [k // 40 % 2 for k in range(STEPS + 1)], [False] * STEPS)
    return trial.theta, np.array(sampler.path)


def test_zeta_is_the_derivative_of_the_path_in_sigma() -> None:
    """The transcription, which the loop equals to 1e-12 (test_kernels), against central differences."""
    difference = (follow(0.8 + STEP)[0] - follow(0.8 - STEP)[0]) / (2 * STEP)
    scale = np.abs(difference).max()
    assert scale > 0.5
    np.testing.assert_allclose(follow(0.8)[1], difference, rtol=0, atol=DERIVATIVE * scale)
    # control: with the opposite sign of the noise the recursion, linear from 0, gives -zeta
    assert np.abs(follow(0.8, -1.0)[1] - difference).max() > 1.9 * scale


def test_sigma_one_that_stands_still_is_the_classical_sampler() -> None:
    """Bit for bit: the same noise, the same observations; sigma = 2 is the classical sampler at a quarter of beta."""
    mode = {"cost": "quadratic", "curvature": H, "minimum": M, "gradient_noise": COVARIANCE}
    still = {"kind": "tempered", "noise_step": 0.0, "noise_bounds": [0.5, 2.0]}
    samplers = [
        {"kind": "langevin"},
        still,
        {"kind": "langevin", "beta": 0.75},
        {**still, "noise_start": 2.0},
    ]
    arrays = paths(mode, samplers)
    np.testing.assert_array_equal(arrays["theta"][:, 1], arrays["theta"][:, 0])
    np.testing.assert_allclose(arrays["theta"][:, 3], arrays["theta"][:, 2], rtol=1e-12)
    assert (arrays["sigma"][:, 0] == 1.0).all()


def paths(mode: dict[str, Any], samplers: list[dict[str, Any]], **changes: Any) -> Any:
    """Arrays of a compiled run: two modes, so that the kernels are those that test_kernels compiles."""
    schedule = {"switches": [[0, "mode-0"]]}
    return tracker.run(scenario_of([mode, mode], samplers, schedule=schedule, **changes), executor=1).arrays


def test_in_stationarity_sigma_goes_to_its_lower_bound_and_up_the_gradient_to_the_upper() -> None:
    """E C rises with sigma: what the docstring says it optimises. The flipped sign is the control."""
    mode = {"cost": "quadratic", "curvature": H, "minimum": M, "gradient_noise": COVARIANCE}
    down = {"kind": "tempered", "noise_step": 2e-3, "noise_bounds": [0.2, 3.0]}
    sigma = paths(mode, [down, {**down, "noise_step": -2e-3}], steps=20_000, record_every=100)["sigma"][:, :, 100:]
    assert sigma[:, 0].mean() < 0.4
    assert sigma[:, 1].mean() > 2.0
    assert sigma.min() == 0.2  # the bounds hold, and are met
    assert sigma.max() == 3.0


def test_slope_is_the_derivative_of_the_expected_cost() -> None:
    """One quadratic well, sigma fixed: the mean of g'zeta over steps is d E C / d sigma of the recursion's own stationary law.

    theta's covariance solves P = A P A' + sigma^2 q^2 I + epsilon^2 Sigma, A = I - epsilon H, and E C = tr(H P)/2, so
    d E C / d sigma = sigma q^2 tr(H X), X = A X A' + I. Standard error from 8 independent trials.
    """
    epsilon, beta, sigma, trials, steps, burn = 0.04, 3.0, 0.8, 8, 4000, 200
    q2 = 2 * epsilon / beta
    A, X = np.eye(2) - epsilon * np.array(H), np.zeros((2, 2))
    for _ in range(5000):
        X = A @ X @ A.T + np.eye(2)
    exact = sigma * q2 * float(np.trace(np.array(H) @ X))
    keys = {"epsilon": epsilon, "beta": beta, "noise_step": 0.0, "noise_bounds": [0.0, 9.0], "noise_start": sigma}
    means = []
    for trial in range(trials):
        cost = naive.quadratic(H, M, COVARIANCE, 1.0)
        sampler = Watched(keys, np.array(M), np.zeros((2, 2)), 11, trial)
        theta = naive.run(sampler, [cost], [0] * (steps + 1), [False] * steps).theta
        slopes = np.einsum("kd,kd->k", (theta - np.array(M)) @ np.array(H), np.array(sampler.path))
        means.append(slopes[burn:].mean())
    error = float(np.std(means, ddof=1)) / np.sqrt(trials)
    assert error < exact / 10
    assert (
        abs(np.mean(means) - exact) < 5 * error
    )  # Student's t with 7 degrees of freedom: beyond it 2 times in 1000 seeds
    assert abs(np.mean(means) + exact) > 5 * error  # control: the other sign
    assert abs(np.mean(means) - 2 * exact) > 5 * error  # control: a factor of 2


BAD = [
    ({"noise_bounds": [-0.1, 1.0]}, "noise_bounds[0]: -0.1 must be at least 0"),
    ({"noise_bounds": [2.0, 1.0]}, "the lower bound 2 is not below the upper bound 1"),
    ({"noise_start": 3.0}, "noise_start: 3 is outside noise_bounds = [0.5, 2]"),
    ({"noise_bounds": [1.5, 2.0]}, "noise_start: 1 is outside noise_bounds = [1.5, 2]"),
    ({"noise_start": 0}, "noise_start"),
    ({"beta": "inf"}, 'beta: "inf" leaves no noise to adapt'),
    ({"tangent_limit": 0}, "tangent_limit"),
    ({"noise_step": True}, "noise_step"),
    ({"skew": 0.0}, "skew: unknown key"),
]


@pytest.mark.parametrize(("change", "fragment"), BAD, ids=range(len(BAD)))
def test_bad_keys_are_explained(change: dict[str, Any], fragment: str) -> None:
    mode = {"cost": "quadratic", "curvature": H, "minimum": M}
    keys = {"kind": "tempered", "noise_step": 0.1, "noise_bounds": [0.5, 2.0], **change}
    with pytest.raises(ScenarioError) as raised:
        scenario_of([mode], [keys])
    assert fragment in str(raised.value)


def test_the_size_of_the_noise_is_recorded() -> None:
    mode = {"cost": "quadratic", "curvature": H, "minimum": M}
    keys = {"kind": "tempered", "noise_step": 0.1, "noise_bounds": [0.5, 2.0]}
    run = interpreted(scenario_of([mode], [{"kind": "langevin"}, keys], steps=20, trials=3))
    assert run.arrays["sigma"].shape == (3, 1, 21)
    assert np.isfinite(run.arrays["sigma"]).all()
    assert dict(run.dataset["sigma"].sizes) == {"trial": 3, "time": 21, "sigma_sampler": 1}
    assert run.dataset["sigma_sampler"].item() == "sampler-1"


def test_theory_says_that_it_needs_noise_of_one_size() -> None:
    mode = {"cost": "quadratic", "curvature": H, "minimum": M}
    keys = {"kind": "tempered", "noise_step": 0.1, "noise_bounds": [0.5, 2.0]}
    scenario = scenario_of([mode, mode], [keys], chain={"alpha": 0.01, "Q": [[-1.0, 1.0], [1.0, -1.0]]})
    with pytest.raises(ValueError, match="tempered moves its noise"):
        limits.moments(scenario, "sampler-0", [1.0])
    with pytest.raises(ValueError, match="tempered moves its noise"):
        limits.density(scenario, "sampler-0", [1.0])
